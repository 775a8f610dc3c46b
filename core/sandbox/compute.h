#ifndef RUNNEL_CORE_SANDBOX_COMPUTE_H
#define RUNNEL_CORE_SANDBOX_COMPUTE_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/sandbox/confine.h"

/*
 * compute.h -- runs a function on hostile bytes in a process that can do nothing else.
 *
 * A document from a stranger is read by a parser, and parsers have bugs. So a parser never runs in the
 * server. It runs in a compute child: a process that has one descriptor to read, one to write, and is
 * confined as confine.h says. What comes back is bytes, which the caller treats as hostile, too.
 *
 *   server ── which task, input, output, end ──▶ spawner ── fork, confine ──▶ child: task->run()
 *      ▲                                                                        │
 *      └──────────────────────────── output ────────────────────────────────────┘
 *
 * A server with threads must not fork: the child would inherit locks that no thread of it will ever
 * release. So compute_start() forks first, before the first thread. It makes two processes: the spawner, which
 * forks the children, and the zygote, which does nothing but make another spawner when one was killed. A child is a
 * fork of the spawner, not a program that is executed: it needs no file, and starts in a fifth of a
 * millisecond.
 *
 * The children end with the spawner, and the spawner and the zygote end with the server, however it ends.
 */

/* What a child can run. It reads descriptor 0 and writes descriptor 1, and its result is the exit status. */
struct compute_task {
    const char *name; /* for the log */
    enum confine_for purpose;
    int (*run)(void);
};

/* Exit status of a child that could not be confined: its task has not run. */
#define COMPUTE_NOT_CONFINED 120

/* Children at once; one more is refused. */
#define COMPUTE_CHILDREN 64

/* Children that one call makes at most, if one spawner after the other ends under them. Two are not enough: the end
 * of a child may be seen a moment before that of its spawner, which still takes a request then. */
#define COMPUTE_ATTEMPTS 3

/* How a child ended. */
enum compute_why {
    COMPUTE_EXITED, /* by itself: `status` is the result of its task */
    COMPUTE_KILLED, /* by a signal, `status`: it crashed, or came to a limit of confine.h */
    COMPUTE_LATE,   /* its time was over */
    COMPUTE_BUSY,   /* not started: COMPUTE_CHILDREN are at work */
    COMPUTE_LOST,   /* the spawner ended, and the child with it, COMPUTE_ATTEMPTS times */
    COMPUTE_OVER_MEMORY, /* of a box: its processes had more than its limit, all together */
};

struct compute_end {
    enum compute_why why;
    int status;
};

struct compute_plan {
    size_t task; /* an index of compute_start()'s list */
    int input; /* becomes descriptor 0; borrowed. A file that can be read from any place serves all parsers */
    size_t output_max; /* bytes; a child that writes more is killed */
    uint32_t wall_ms;  /* time until it is killed */
    const char *
        argument; /* what compute_argument() says in the child; cut at COMPUTE_ARGUMENT - 1 bytes. NULL: "" */
};

#define COMPUTE_ARGUMENT ((size_t)128)

/* For a task, in its child. A constant there. */
const char *compute_argument(void);

/* Forks the zygote and the first spawner. `tasks` lives as long as the process. Call it once, before the
 * first thread and before anything is open that a child must not have. */
enum err_code compute_start(const struct compute_task *tasks, size_t count,
                            struct err *err) MUST_CHECK;

/* Ends the spawner, its children and the zygote, and waits for the zygote. No thread may be in compute_run(). */
void compute_stop(void);

/* Runs a task and waits for its end. The output is added to *ret_output, also when the child fails. A task that its
 * spawner took along runs again, from the same place of the input. Any thread that may wait.
 *
 * ERR_OK: *ret_end says how it ended. ERR_TOO_LARGE: more than output_max bytes. ERR_INTERNAL: no child could
 * be started, because compute_start() was not called or the zygote is gone. */
enum err_code compute_run(const struct compute_plan *plan, struct buf *ret_output,
                          struct compute_end *ret_end, struct err *err) MUST_CHECK;

#endif
