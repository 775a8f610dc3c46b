#ifndef RUNNEL_CORE_NET_LOOP_H
#define RUNNEL_CORE_NET_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

/*
 * loop.h -- an event loop: one thread, one epoll, one inbox, one heap of timers.
 *
 * Each run lives on one loop, and only that loop's thread touches it. Other threads post a task
 * into the loop's inbox; loop_post() is the only function here that any thread may call.
 * All others belong to the loop's own thread, or to the time before loop_start().
 *
 * A loop never blocks: a task or a callback that takes long delays every stream it serves.
 */

struct loop;

/* A message: `run` is called once, on the loop's thread, with the task itself. It is embedded in the
 * struct that it is about; the loop keeps no pointer to it once `run` was called. */
struct loop_task {
    struct loop_task *next; /* the inbox's */
    void (*run)(struct loop_task *task);
};

/* A descriptor to watch. Zero it, fill in fd and ready. */
struct loop_watch {
    int fd;
    void (*ready)(struct loop_watch *watch, uint32_t events); /* EPOLLIN | ... */
};

/* A timer. Zero it, fill in fire. */
struct loop_timer {
    void (*fire)(struct loop_timer *timer);
    uint64_t due_ns; /* monotonic; the loop's while it runs */
    size_t slot;     /* the loop's: place in the heap plus one, 0 when not running */
};

struct loop *loop_new(const char *name); /* at most 15 letters: the thread's name */
void loop_free(struct loop *loop);       /* after loop_stop() */

enum err_code loop_start(struct loop *loop, struct err *err) MUST_CHECK;

/* Ends the thread after everything posted before has run, and joins it. What is posted after
 * this call began may never run. Nothing happens when the loop was not started. */
void loop_stop(struct loop *loop);

/* After loop_stop(), when no thread posts any more: runs the tasks that came too late, on the caller's
 * thread. */
void loop_finish(struct loop *loop);

/* Any thread. Tasks run in the order in which they were posted. */
void loop_post(struct loop *loop, struct loop_task *task);

/* True on the loop's own thread. */
bool loop_is_here(const struct loop *loop);

/* Monotonic time as of this round of the loop. */
uint64_t loop_now(const struct loop *loop);

/* One watch per descriptor. `events` are epoll's; level-triggered unless EPOLLET is given.
 * A watch may be removed, and its memory released, inside any callback, also its own; it is
 * not called afterwards. Remove it before closing its descriptor. */
enum err_code loop_watch_add(struct loop *loop, struct loop_watch *watch, uint32_t events,
                             struct err *err) MUST_CHECK;
void loop_watch_change(struct loop *loop, struct loop_watch *watch, uint32_t events);
void loop_watch_remove(struct loop *loop, struct loop_watch *watch);

/* (Re)starts a timer; stopping one that does not run is fine. A timer that fired has stopped.
 * Timers fire in the order of their moments, never early, and to the millisecond. A running
 * timer may be released only after it was stopped. */
void loop_timer_start(struct loop *loop, struct loop_timer *timer, uint64_t due_ns);
void loop_timer_stop(struct loop *loop, struct loop_timer *timer);

/* For core/net/http_client.c: its transfers of this loop, made at first use and freed with the
 * loop by `release`. */
void *loop_http_state(struct loop *loop);
void loop_set_http_state(struct loop *loop, void *state, void (*release)(void *state));

#endif
