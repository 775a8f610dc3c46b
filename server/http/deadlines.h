#ifndef RUNNEL_SERVER_HTTP_DEADLINES_H
#define RUNNEL_SERVER_HTTP_DEADLINES_H

#include <stddef.h>
#include <stdint.h>

/*
 * deadlines.h -- until when a connection must have done what the server waits for.
 *
 * libmicrohttpd only knows inactivity: a client that sends one byte a second keeps its
 * connection for ever. So every connection is in one of four queues here, or in none while its
 * request is worked on. All deadlines of a queue are equally far away. So each queue is first
 * in, first out, and every operation takes constant time.
 *
 * No thread and no lock of its own: the holder's lock guards it.
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

/* Initializes a deadline that is in no queue. */
void deadline_init(struct deadline *deadline);

/* Moves it to the end of a queue; DEADLINE_NONE removes it. */
void deadlines_set(struct deadlines *deadlines, struct deadline *deadline,
                   enum deadline_kind kind, uint64_t now_ns);

/* Removes one that has passed and returns it with its queue; or NULL. */
struct deadline *deadlines_take_over(struct deadlines *deadlines, uint64_t now_ns,
                                     enum deadline_kind *ret_kind);

/* When the next one passes; UINT64_MAX if the queues are empty. */
uint64_t deadlines_next(const struct deadlines *deadlines);

#endif
