#ifndef RUNNEL_SERVER_HTTP_DEADLINES_H
#define RUNNEL_SERVER_HTTP_DEADLINES_H

#include <stddef.h>
#include <stdint.h>

/*
 * deadlines.h -- until when a connection must have done what we wait for.
 *
 * libmicrohttpd knows inactivity only: a client that sends one byte a second keeps its
 * connection for ever. So every connection stands in one of four queues here, or in none while
 * we work on its request. All deadlines of a queue are equally far away, which makes the
 * queues first in, first out, and every operation constant.
 *
 * No thread of its own and no lock: guarded by whoever has it.
 */

enum deadline_kind {
    DEADLINE_IDLE,   /* for the next request of a connection that is kept alive */
    DEADLINE_HEADER, /* for the end of the headers */
    DEADLINE_BODY,   /* for the end of the body */
    DEADLINE_LINGER, /* for the end of a body that was answered before its end */
    DEADLINE_KIND_COUNT,
    DEADLINE_NONE = DEADLINE_KIND_COUNT
};

struct deadline {
    struct deadline *prev, *next;
    enum deadline_kind kind;
    uint64_t due_ns;
};

struct deadlines {
    uint64_t patience_ns[DEADLINE_KIND_COUNT];
    struct deadline *first[DEADLINE_KIND_COUNT];
    struct deadline *last[DEADLINE_KIND_COUNT];
};

/* Makes a deadline that is in no queue. */
void deadline_init(struct deadline *deadline);

/* Moves it to the end of a queue; DEADLINE_NONE takes it out. */
void deadlines_set(struct deadlines *deadlines, struct deadline *deadline,
                   enum deadline_kind kind, uint64_t now_ns);

/* Takes out one that is over, and says of which queue; or NULL. */
struct deadline *deadlines_take_over(struct deadlines *deadlines, uint64_t now_ns,
                                     enum deadline_kind *ret_kind);

/* When the next one is over; UINT64_MAX when there is none. */
uint64_t deadlines_next(const struct deadlines *deadlines);

#endif
