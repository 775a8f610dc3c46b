#ifndef RUNNEL_CORE_CONTAINER_BOXES_H
#define RUNNEL_CORE_CONTAINER_BOXES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/sandbox/box.h"

struct proxies;
struct python;
struct workspace;

/*
 * boxes.h -- the live boxes of this node, one for each container that is in use.
 *
 *   boxes_take() ── a box of this container? ── yes ──────────────────────────▶ the call has it
 *                        └─ no: is there room? ── yes: box_open() ──────────────▶
 *                                  └─ no: stop the one unused longest, or wait in the queue
 *
 * A container is a row and a folder (containers.h). Its box is made for a call, stays for the next ones, and may be
 * stopped whenever no call has it: files stay, processes and variables do not. Calls of one container share its box,
 * side by side, but for Python, which one call has at a time. A call may also have a box of its own. It sees the same
 * files, and no process of another call.
 *
 * Room is memory and a number. A box is counted with its limit of memory, not with what it uses: so boxes that are all
 * at their limit still fit. Calls that need a new box wait in one queue, first come, first served, so that a small
 * box never overtakes a large one for ever. A call that waits for its own container's box is not in that queue.
 *
 * Two threads begin with the first call. One stops what was not used for long, and sleeps until then. The other
 * checks what boxes write, each second while a call has the box: no file tool limits that. A box whose workspace is
 * full and grows is ended, and its commands end as BOX_OVER_DISK.
 *
 * Any thread that may block.
 */

struct boxes;

struct boxes_options {
    size_t count;      /* boxes alive at once */
    uint64_t memory;   /* bytes of all of them; their /tmp and /dev/shm come on top */
    unsigned calls;    /* of one container at once */
    uint64_t idle_ns;  /* until a box that no call has is stopped */
    uint64_t queue_ns; /* how long a call waits for room */
    uint32_t user;     /* of boxes without a workspace; 0: the server's own, who is not root */
    /* Of each box. Its memory is that of the container */
    struct box_limits limits;
    /* Of all commands, beside the usual; NULL ends it. Copied. NULL: only the usual */
    const char *const *environment;
    struct proxies *proxies; /* of boxes with a network; borrowed. NULL: no box has one */
    /* A call waits for room. Ends one box that nothing uses now and that is not known here as idle, if there is such
     * a box; its boxes_give() serves the call, or asks for the next one. On any thread that may block; does not wait.
     * Not after boxes_drain() has returned. NULL: there are no such boxes. */
    void (*want_room)(void *argument);
    void *argument;
};

struct boxes *boxes_new(const struct boxes_options *options);

/* No new calls: ERR_CANCELLED for them and for those that wait. Boxes that no call has end at once, the others when the
 * last call gives them back. */
void boxes_drain(struct boxes *boxes);

/* Kills the boxes that calls still have: their commands end as BOX_GONE. After boxes_drain(). */
void boxes_kill(struct boxes *boxes);

/* Frees them. Waits for the calls that have boxes, so the caller has ended them. NULL is fine. */
void boxes_free(struct boxes *boxes);

/* ---- A call ---- */

enum boxes_use {
    BOXES_COMMAND, /* side by side with others */
    BOXES_PYTHON,  /* with the container's Python, alone; commands go on beside it */
    BOXES_ALONE,   /* in a box of its own, which is made for the call and ends with it */
};

struct boxes_request {
    const char *container; /* its id */
    const struct workspace
        *workspace; /* becomes /mnt/data, with /mnt/skills; says whose it is */
    /* Of a box of its own: whether it cannot change the workspace, and what it sees beside it. It may also have no
     * workspace, and then no container: "" */
    bool read_only;
    const struct box_folder *folders;
    size_t folder_count;
    uint64_t memory; /* bytes that the container may have: its tier */
    enum boxes_use use;
    bool had_python; /* the container's row says that Python has run in it, here or elsewhere */
    /* What its box may reach through a proxy (core/net/proxy/proxy.h); the same in all requests for the container.
     * None: no network */
    const char *const *domains;
    size_t domain_count;
    int cancel; /* a descriptor that ends the wait when it can be read; -1: none */
};

/* A call's right to a box. */
struct boxes_hold;

/* Waits until the call can have the box, and makes it if it is missing. Waits for room at most `queue_ns`; for other
 * calls of its container as long as it is not cancelled.
 *
 * ERR_LIMIT: no room in time. ERR_TOO_LARGE: `memory` is more than all boxes may have. ERR_CANCELLED: by the caller's
 * descriptor, by boxes_drain(), or the container has ended meanwhile. ERR_INVALID, ERR_INTERNAL, ERR_TIMEOUT: the box
 * could not be made; the text is for the log. */
enum err_code boxes_take(struct boxes *boxes, const struct boxes_request *request,
                         struct boxes_hold **ret_hold, struct err *err) MUST_CHECK;

/* Borrowed until boxes_give(). The box may end at any time. */
struct box *boxes_box(const struct boxes_hold *hold);

/* For python_run(). NULL if the request was for a command. */
struct python *boxes_python(const struct boxes_hold *hold);

/* A call's box is used for another request, which may reach the network as much as a call may. For a hold that serves
 * many of them. */
void boxes_renew(struct boxes_hold *hold);

/* What commands of a box have as their environment, as box.h wants it, without and with a network. Borrowed from the
 * boxes. */
const char *const *boxes_environment(const struct boxes *boxes);
const char *const *boxes_network_environment(const struct boxes *boxes);

/* What the call has asked the proxy for, as proxy_end() lists it. Once, when its commands have ended. NULL: nothing,
 * or the box has no network. New reference. */
json_t *boxes_places(struct boxes_hold *hold);

/* The call is over, and all of its commands have ended. NULL is fine. */
void boxes_give(struct boxes_hold *hold);

/* ---- A container ---- */

/* It was deleted, or has expired. Kills its box, and waits until its processes have ended, so that its folder can be
 * removed; calls that have it end soon. What is known of the container is forgotten. */
void boxes_end(struct boxes *boxes, const char *container);

/* ---- For the metrics ---- */

struct boxes_counts {
    size_t ready, busy; /* without and with a call */
    size_t waiting;     /* calls in the queue */
    uint64_t memory;    /* bytes of all boxes, by their limits */
    uint64_t started;   /* since the server's start, and the seconds that it took */
    double start_seconds;
    uint64_t ended_idle, ended_for_room, ended_full, ended_otherwise;
};

void boxes_count(struct boxes *boxes, struct boxes_counts *ret_counts);

#endif
