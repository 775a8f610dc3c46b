/*
 * held_poll.c -- suspended requests, in a list.
 *
 * A poll is its loop's: the timer, the client that leaves and the document that ends all reach it there. Only the last
 * comes from another thread. It takes the poll out of the list, under the lock, and posts its task. Who takes it out of
 * the list releases it, so there is always exactly one.
 */

#include "server/api/vector_stores/held_poll.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/base/lock.h"
#include "core/base/mem.h"
#include "core/event/sink.h"
#include "core/net/loop.h"
#include "core/run/engine/engine.h"
#include "server/server.h"

struct held_polls {
    atomic_uint_fast64_t ended;
    struct lock lock;
    struct held_poll *first; /* guarded by lock */
};

struct held_poll {
    struct held_polls *polls;
    struct loop *loop;
    struct sink *request;
    struct loop_task begin, wake;
    struct loop_timer timer;
    char document_id[ID_SIZE];
    uint64_t mark;
    bool listed; /* guarded by the lock, as the two below */
    struct held_poll *next, **link;
};

struct held_polls *held_polls_new(void)
{
    struct held_polls *polls = mem_zeroed(1, sizeof(*polls));

    lock_init(&polls->lock, LOCK_HELD_POLLS);
    return polls;
}

void held_polls_free(struct held_polls *polls)
{
    if (!polls)
        return;
    lock_destroy(&polls->lock);
    free(polls);
}

uint64_t held_polls_mark(struct held_polls *polls)
{
    return atomic_load(&polls->ended);
}

/* ---- The list ---- */

static void list_locked(struct held_poll *poll) REQUIRES(poll->polls->lock)
{
    struct held_polls *polls = poll->polls;

    poll->listed = true;
    poll->next = polls->first;
    poll->link = &polls->first;
    if (polls->first)
        polls->first->link = &poll->next;
    polls->first = poll;
}

static void unlist_locked(struct held_polls *polls, struct held_poll *poll)
    REQUIRES(polls->lock)
{
    (void)polls;
    poll->listed = false;
    *poll->link = poll->next;
    if (poll->next)
        poll->next->link = poll->link;
}

/* False: another thread has taken it, and its task comes. */
static bool take(struct held_poll *poll)
{
    bool listed;

    lock_acquire(&poll->polls->lock);
    listed = poll->listed;
    if (listed)
        unlist_locked(poll->polls, poll);
    lock_release(&poll->polls->lock);
    return listed;
}

void held_polls_ended(void *arg, const char *document_id)
{
    struct held_polls *polls = arg;
    struct held_poll *taken = NULL, *next;

    atomic_fetch_add(&polls->ended, 1);
    lock_acquire(&polls->lock);
    for (struct held_poll *poll = polls->first; poll; poll = next) {
        next = poll->next;
        if (strcmp(poll->document_id, document_id) != 0)
            continue;
        unlist_locked(polls, poll);
        poll->next = taken;
        taken = poll;
    }
    lock_release(&polls->lock);
    for (; taken; taken = next) {
        next = taken->next;
        loop_post(taken->loop, &taken->wake);
    }
}

/* ---- On the loop ---- */

static void release(struct held_poll *poll)
{
    struct sink *request = poll->request;

    loop_timer_stop(poll->loop, &poll->timer);
    free(poll);
    request->ops->answer(request, &(struct sink_answer){.status = REQUEST_CONTINUE});
    request->ops->close(request);
}

static void woken(struct loop_task *task)
{
    release(CONTAINER_OF(task, struct held_poll, wake));
}

static void out_of_time(struct loop_timer *timer)
{
    struct held_poll *poll = CONTAINER_OF(timer, struct held_poll, timer);

    if (take(poll))
        release(poll);
}

static void client_gone(struct sink *request, void *arg)
{
    struct held_poll *poll = arg;

    (void)request;
    if (take(poll))
        release(poll);
}

/* A document that ended before the poll was in the list has raised the number. */
static void begin(struct loop_task *task)
{
    struct held_poll *poll = CONTAINER_OF(task, struct held_poll, begin);

    lock_acquire(&poll->polls->lock);
    list_locked(poll);
    lock_release(&poll->polls->lock);
    poll->request->gone = client_gone;
    poll->request->gone_arg = poll;
    loop_timer_start(poll->loop, &poll->timer,
                     loop_now(poll->loop) + HELD_POLL_SECONDS * NS_PER_SECOND);
    if (poll->document_id[0] && held_polls_mark(poll->polls) != poll->mark && take(poll))
        release(poll);
}

/* ---- On a worker ---- */

struct held_request {
    endpoint_fn *then;
};

static enum err_code resume(struct request *request, void *arg, struct err *err)
{
    struct held_request *held = arg;
    endpoint_fn *then = held->then;

    free(held);
    return then(request, err);
}

bool is_poll(const struct request *request)
{
    const char *value = request_header(request, "x-stainless-poll-helper");

    return value && strcmp(value, "true") == 0;
}

void held_poll_wait(struct request *request, const char *document_id, uint64_t mark,
                    endpoint_fn *then)
{
    struct server *server = request_server(request);
    struct held_poll *poll = mem_zeroed(1, sizeof(*poll));
    struct held_request *held = mem_new(struct held_request);

    held->then = then;
    poll->polls = server->held_polls;
    poll->loop = engine_any_loop(server->engine);
    poll->begin.run = begin;
    poll->wake.run = woken;
    poll->timer.fire = out_of_time;
    poll->mark = mark;
    (void)snprintf(poll->document_id, sizeof(poll->document_id), "%s", document_id);
    poll->request =
        request_wait_then(request, poll->loop,
                          &(struct request_later){.resume = resume, .drop = free, .arg = held});
    loop_post(poll->loop, &poll->begin);
}

void poll_header_set(struct request *request, int64_t created_at)
{
    int64_t age = (clock_wall_us() - created_at) / US_PER_SECOND;

    request_set_header(request, "openai-poll-after-ms",
                       age < 10 ? "200" : (age < 120 ? "1000" : "5000"));
}
