/*
 * A follower is in one of three places: asking the log for more; among the sinks of its run; or
 * waiting for a moment, because the run is at work elsewhere; then it hears from the owner when there is
 * more, also while it asks the log. It is a sink itself, which passes
 * on to the client's.
 */

#include "core/run/follow.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/run/run.h"
#include "core/run/waiters.h"
#include "core/store/log_reader.h"
#include "core/store/wakeups.h"

#define READ_LIMIT ((size_t)64 << 10)

/* How often the log of a run that is elsewhere is looked at: at first, and after a while. */
#define WAIT_FIRST_NS (50 * NS_PER_MS)
#define WAIT_LAST_NS  (1000 * NS_PER_MS)
/* When its owner tells us of more: only in case that something gets lost. */
#define WAIT_TOLD_NS (5 * NS_PER_SECOND)

struct follower {
    struct sink sink; /* among the sinks of the run, once it has caught up */
    struct sink *client;
    struct engine *engine;
    struct loop *loop;
    const struct face *face;
    unsigned flags;
    int64_t next; /* number of the next frame for the client */
    uint64_t wait_ns;
    uint64_t ask_owner_ns; /* when to ask the owner (again); 0: it was not asked yet */
    bool told;             /* the owner has answered */
    bool again;            /* something happened while we were reading */
    bool reading;
    bool joined;
    bool left;  /* the client has */
    bool heard; /* and that was taken in: whatever is still under way releases the follower */
    struct log_read read;
    struct loop_timer timer;
    struct engine_waiter waiter;
    struct loop_task start;
    struct loop_task leave;
};

static struct follower *follower_of(struct sink *sink)
{
    return CONTAINER_OF(sink, struct follower, sink);
}

/* ---- To the client ---- */

/* Frames end in an empty line and have no other. */
static int64_t count_frames(const char *bytes, size_t length)
{
    const char *end = bytes + length;
    int64_t count = 0;

    while ((bytes = memmem(bytes, (size_t)(end - bytes), "\n\n", 2))) {
        bytes += 2;
        count++;
    }
    return count;
}

static void add_numbers(struct buf *out, const char *bytes, size_t length, int64_t number)
{
    const char *end = bytes + length;

    while (bytes < end) {
        const char *stop = memmem(bytes, (size_t)(end - bytes), "\n\n", 2);
        size_t size = stop ? (size_t)(stop - bytes) + 2 : (size_t)(end - bytes);

        buf_add_text(out, "id: ");
        buf_add_int(out, number++);
        buf_add_char(out, '\n');
        buf_add(out, bytes, size);
        bytes += size;
    }
}

static void pass_on(struct follower *follower, const char *bytes, size_t length)
{
    AUTO_BUF numbered = {0};
    int64_t number = follower->next;

    if (!length)
        return;
    follower->next += count_frames(bytes, length);
    follower->sink.from = follower->next;
    if (follower->flags & FOLLOW_NUMBERED) {
        add_numbers(&numbered, bytes, length, number);
        bytes = numbered.data;
        length = numbered.length;
    }
    follower->client->ops->events(follower->client, bytes, length);
}

static void stop_waiting(struct follower *follower)
{
    loop_timer_stop(follower->loop, &follower->timer);
    waiter_drop(&follower->waiter);
}

static void release(struct follower *follower)
{
    stop_waiting(follower);
    follower->client->ops->close(follower->client);
    free(follower->read.frames);
    free(follower);
}

/* A client that leaves in the middle of this has posted leave(), which releases the follower. */
static void end_stream(struct follower *follower)
{
    const char *end = follower->face->stream_end;

    follower->client->ops->events(follower->client, end, strlen(end));
    if (!follower->left)
        release(follower);
}

/* ---- From the run ---- */

static void ask_log(struct follower *follower);

static void take_events(struct sink *sink, const char *frames, size_t length)
{
    pass_on(follower_of(sink), frames, length);
}

/* The run has ended here: all of it was passed on. */
static void take_close(struct sink *sink)
{
    struct follower *follower = follower_of(sink);

    follower->joined = false;
    if (!follower->left)
        end_stream(follower);
}

static void take_pause(struct sink *sink)
{
    struct follower *follower = follower_of(sink);

    follower->joined = false;
    if (!follower->left)
        ask_log(follower);
}

static const struct sink_ops follower_ops = {
    .events = take_events,
    .close = take_close,
    .paused = take_pause,
};

/* ---- From the log ---- */

static void ask_log(struct follower *follower)
{
    follower->reading = true;
    follower->again = false;
    if (follower->ask_owner_ns && !follower->waiter.link)
        engine_wait_for_run(follower->engine, &follower->waiter);
    follower->read.first_seq = follower->next;
    follower->read.limit = READ_LIMIT;
    log_reader_ask(engine_options(follower->engine)->log_reader, &follower->read);
}

static void look_again(struct follower *follower)
{
    stop_waiting(follower);
    ask_log(follower);
}

/* The owner has nothing to say, or is none any more. */
static void wait_over(struct loop_timer *timer)
{
    struct follower *follower = CONTAINER_OF(timer, struct follower, timer);

    if (follower->told) {
        follower->told = false;
        follower->ask_owner_ns = loop_now(follower->loop);
    }
    look_again(follower);
}

static void woken(struct engine_waiter *waiter, enum engine_woken why)
{
    struct follower *follower = CONTAINER_OF(waiter, struct follower, waiter);

    follower->told = why == WOKEN_MORE;
    follower->wait_ns = 0;
    if (why == WOKEN_MOVED)
        follower->ask_owner_ns = loop_now(follower->loop);
    if (!follower->reading) {
        look_again(follower);
        return;
    }
    follower->again = true;
    engine_wait_for_run(follower->engine, waiter);
}

/* It may be one that does not answer. */
static void ask_owner(struct follower *follower)
{
    uint64_t now = loop_now(follower->loop);

    if (now < follower->ask_owner_ns)
        return;
    follower->ask_owner_ns = now + (follower->told ? FOLLOW_AGAIN_NS : WAIT_LAST_NS);
    store_wake_followed(engine_options(follower->engine)->store, follower->read.project,
                        follower->read.run_id);
}

/* While nobody tells us what happens on other nodes, we look, less and less often. */
static void wait_a_moment(struct follower *follower)
{
    if (engine_is_draining(follower->engine)) {
        release(follower); /* without an end: the client goes on at another node */
        return;
    }
    ask_owner(follower);
    follower->wait_ns = follower->wait_ns ? follower->wait_ns * 2 : WAIT_FIRST_NS;
    if (follower->wait_ns > WAIT_LAST_NS)
        follower->wait_ns = WAIT_LAST_NS;
    loop_timer_start(follower->loop, &follower->timer,
                     loop_now(follower->loop) +
                         (follower->told ? WAIT_TOLD_NS : follower->wait_ns));
    if (!follower->waiter.link)
        engine_wait_for_run(follower->engine, &follower->waiter);
}

static void join(struct follower *follower, struct run *run)
{
    stop_waiting(follower);
    follower->ask_owner_ns = 0;
    follower->joined = true;
    follower->sink.next = run->sinks;
    run->sinks = &follower->sink;
}

/* Nothing more in the log: has the run ended, is it here, or somewhere else? */
static void caught_up(struct follower *follower)
{
    struct run *run = engine_find(follower->engine, follower->read.run_id);
    enum run_status status = follower->read.status;

    if (run_status_is_final(status) ||
        (status == RUN_REQUIRES_ACTION && !(follower->flags & FOLLOW_WAITING)))
        end_stream(follower);
    else if (run && run->published <= follower->next)
        join(follower, run);
    else if (run || follower->again)
        ask_log(follower);
    else
        wait_a_moment(follower);
}

static void read_done(struct loop_task *task)
{
    struct log_read *read = CONTAINER_OF(task, struct log_read, done);
    struct follower *follower = read->arg;
    AUTO_FREE char *frames = TAKE(read->frames);

    follower->reading = false;
    if (follower->left) {
        if (follower->heard)
            release(follower);
        return;
    }
    if (read->rc && read->rc != ERR_STORE) {
        release(follower); /* deleted */
        return;
    }
    if (read->rc) {
        follower->told = false;
        wait_a_moment(follower);
        return;
    }
    if (!read->length) {
        caught_up(follower);
        return;
    }
    follower->wait_ns = 0;
    pass_on(follower, frames, read->length);
    ask_log(follower);
}

/* ---- Coming and going ---- */

/* The client has left, and we are in nobody's middle any more. */
static void leave(struct loop_task *task)
{
    struct follower *follower = CONTAINER_OF(task, struct follower, leave);
    struct run *run = engine_find(follower->engine, follower->read.run_id);

    follower->heard = true;
    if (follower->reading)
        return; /* released when the read comes back */
    if (follower->joined && run)
        run_listener_gone(run, &follower->sink);
    release(follower);
}

static void client_gone(struct sink *client, void *arg)
{
    struct follower *follower = arg;

    (void)client;
    if (follower->left)
        return;
    follower->left = true;
    follower->leave.run = leave;
    loop_post(follower->loop, &follower->leave);
}

static void started(struct loop_task *task)
{
    struct follower *follower = CONTAINER_OF(task, struct follower, start);

    if (!follower->left)
        ask_log(follower);
}

void engine_follow(struct engine *engine, const struct follow *follow)
{
    struct follower *follower = mem_new(struct follower);
    struct log_read *read = &follower->read;

    follower->sink.ops = &follower_ops;
    follower->sink.from = follow->first_seq;
    follower->client = follow->sink;
    follower->client->gone = client_gone;
    follower->client->gone_arg = follower;
    follower->engine = engine;
    follower->loop = engine_loop(engine, follow->run_id);
    follower->face = follow->face == FACE_ASSISTANTS ? engine_options(engine)->assistants
                                                     : engine_options(engine)->responses;
    follower->flags = follow->flags;
    follower->next = follow->first_seq;
    follower->timer.fire = wait_over;
    follower->waiter.woken = woken;
    (void)snprintf(follower->waiter.run_id, sizeof(follower->waiter.run_id), "%s",
                   follow->run_id);
    (void)snprintf(read->project, sizeof(read->project), "%s", follow->project);
    (void)snprintf(read->thread_id, sizeof(read->thread_id), "%s", follow->thread_id);
    (void)snprintf(read->run_id, sizeof(read->run_id), "%s", follow->run_id);
    read->loop = follower->loop;
    read->done.run = read_done;
    read->arg = follower;
    follower->start.run = started;
    loop_post(follower->loop, &follower->start);
}
