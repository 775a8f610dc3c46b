#ifndef RUNNEL_CORE_SANDBOX_BOX_H
#define RUNNEL_CORE_SANDBOX_BOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

/*
 * box.h -- a place where commands run that a model wrote.
 *
 *   box_open() ──▶ spawner ── bubblewrap ── PID 1 of the box
 *   box_run()  ──────────────────────────────▶ │── supervisor ── bash -c ...
 *      ▲ output, through pipes ────────────────────────────────────┘
 *
 * A box has processes, files, network and limits of its own (policy.h). Commands run in it one after the other or side
 * by side, see the same files, and are confined together. It may end at any time: by its limit of memory, by a
 * process that cannot be ended, with the spawner. Files in its folders stay, processes do not; another box can take
 * its place.
 *
 * What comes out of a box is hostile: bytes of any kind, in any amount, at any time.
 *
 * Any thread. box_close() is the last call, and no other may be going on then.
 */

/* A folder of the host that a box sees. The host's folder must not be where a box can replace it. */
struct box_folder {
    const char *source; /* on the host */
    const char *target; /* in the box, below /mnt; not below another folder of the list */
    bool writable;
};

struct box_limits {
    /* Bytes of all processes together; of one process, enforced by the kernel */
    uint64_t memory;
    uint64_t temporary; /* bytes of /tmp, and of /dev/shm; they come on top of `memory` */
    uint64_t file;      /* bytes of one file */
    uint32_t processes; /* and threads, all together */
    uint32_t cpus;      /* processors that its programs see */
};

struct box_plan {
    const struct box_folder *folders;
    size_t folder_count;
    struct box_limits limits;
    uint32_t user; /* who the box runs as; 0: the server's user, who must not be root */
    /* A port of the box's 127.0.0.1 on which the server listens: box_take_listener(). 0: none, and then nothing leads
     * out of the box */
    uint16_t port;
};

struct box;

/* Makes a box and waits until it takes commands. compute_start() was called before. ERR_INVALID: a folder is missing,
 * or is a link. ERR_INTERNAL: the text says what this machine refused. ERR_TIMEOUT: it took longer than BOX_OPEN_MS. */
#define BOX_OPEN_MS 10000
enum err_code box_open(const struct box_plan *plan, struct box **ret_box,
                       struct err *err) MUST_CHECK;

/* The socket that listens on the plan's port. It was made before any command could run. The caller's; the box's network
 * lives until it is closed, also without processes. -1: the plan had none, or it was taken before. */
int box_take_listener(struct box *box);

/* Kills all processes of the box, and waits until they have ended. NULL is fine. */
void box_close(struct box *box);

/* The same, while others use the box: their commands end as BOX_GONE. box_close() is still to come. */
void box_kill(struct box *box);

/* The same for a box that has written too much: its commands end as BOX_OVER_DISK. */
void box_kill_full(struct box *box);

/* False once it has ended by itself. */
bool box_is_alive(const struct box *box);

/* ---- Commands ---- */

struct box_command {
    const char *folder; /* where it starts; NULL: "/" */
    /* NULL ends them. The first is a path, or is looked up in PATH */
    const char *const *arguments;
    const char *const *environment; /* all of it; NULL ends it */
};

enum box_why {
    BOX_EXITED,      /* by itself: `status` is its exit status */
    BOX_SIGNALLED,   /* by the signal `status` */
    BOX_TIMED_OUT,   /* its time was over */
    BOX_CANCELLED,   /* by the caller's descriptor */
    BOX_UNWANTED,    /* by the caller's take_output() */
    BOX_OVER_MEMORY, /* the box came to its limit of memory, and has ended */
    BOX_OVER_DISK,   /* its workspace or the disk is full, and the box has ended */
    BOX_OVER_COUNT,  /* not started: as many commands or processes as the box may have */
    BOX_GONE,        /* the box has ended */
};

struct box_result {
    enum box_why why;
    int status;
    uint64_t cpu_us;     /* processor time, with the descendants that it waited for */
    uint64_t peak_bytes; /* of the largest of these processes */
};

/* A command that goes on while others come and go, such as an interpreter. */
struct box_process;

/* Starts it. fds[0], fds[1] ... become its descriptors 0, 1 ...; at least three, borrowed. ERR_TOO_LARGE: the
 * arguments do not fit into a message. ERR_NOT_FOUND: the box has ended. */
enum err_code box_start(struct box *box, const struct box_command *command, const int *fds,
                        size_t count, struct box_process **ret_process,
                        struct err *err) MUST_CHECK;

/* Sends SIGINT to its process group. */
void box_interrupt(struct box_process *process);

/* A descriptor that can be read when the process or its box has ended. Borrowed. */
int box_process_fd(const struct box_process *process);

/* Kills it with all that it has started, waits until they have ended, and frees it. *ret_result, which may be NULL,
 * says how it ended. */
void box_stop(struct box_process *process, struct box_result *ret_result);

enum box_stream { BOX_STDOUT, BOX_STDERR };

enum box_leftovers {
    BOX_KILL_LEFTOVERS, /* what the command leaves behind ends with it */
    BOX_KEEP_LEFTOVERS, /* it may go on until the box is closed */
};

struct box_run {
    struct box_command command;
    int input;           /* becomes its descriptor 0, borrowed; -1: empty */
    uint32_t timeout_ms; /* wall clock */
    /* After that it gets SIGINT, and is killed so much later; 0: killed at once */
    uint32_t grace_ms;
    int cancel; /* an eventfd that kills it when it can be read; -1: none */
    enum box_leftovers leftovers;
    /* Is called with each piece of output, on the thread of box_run(). While it does not return, the command's pipe
     * fills and the command waits. False kills the
     * command, and is the last call. */
    bool (*take_output)(void *argument, enum box_stream stream, const char *bytes, size_t size);
    /* It is also called without bytes when nothing came for so long after an output; 0: it is not. For callers that
     * collect small pieces */
    uint32_t pause_ms;
    void *argument;
};

/* Runs a command and waits for its end. It ends when the command does, not when its output is closed: what it has left
 * behind may hold that open.
 *
 * ERR_OK: *ret_result says how it ended. ERR_TOO_LARGE: the arguments do not fit into a message. ERR_INTERNAL: no
 * descriptors. */
enum err_code box_run(struct box *box, const struct box_run *run, struct box_result *ret_result,
                      struct err *err) MUST_CHECK;

#endif
