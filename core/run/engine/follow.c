/*
 * A stream that joins a run again: first its past from the log, then live.
 *
 * A follower is a sink that passes frames on to its client's sink. It is in one of four
 * places:
 *
 *   reading   it has requested the next piece of the log
 *   joined    it is among the sinks of its run, and the run sends to it
 *   waiting   the run is on another node: a timer or a wake-up makes it read the log again
 *   behind    its client does not read: what the run sends is dropped
 *
 * Little is kept for a client that does not read: AHEAD_LIMIT, or one frame that is longer. The log
 * has the frames already. When it has taken those, the follower reads the log from there and
 * catches up. It stays among the sinks of its run meanwhile, if it was there, and wants no frame.
 *
 * Without a gap or a duplicate. Frames are numbered, and the follower knows the number of the
 * next frame that its client needs. A frame of a resumable run is committed before it is
 * published, so whatever was published is in the log. When the log has nothing more, the
 * follower compares with what the run has published. If that is more than it has read, it reads
 * again. Otherwise it joins, in the same step on the run's loop, where nothing can be published
 * in between. When the run leaves the loop without having ended, the follower reads on.
 *
 * A run on another node. Its owner is asked to notify this node when the log grows, and asked
 * again every 10 s, because it forgets (run_peers.c). The log is polled all the same: after 50
 * ms, then less and less often, up to 1 s; every 5 s once the owner has answered. A
 * notification that arrives while the log is being read makes the follower read once more.
 *
 * A run that was deleted has neither rows nor a log, whatever node it was on. Its follower makes the
 * end of the stream by itself, from the row as it was when the stream began.
 *
 * Its client may leave at any moment. A read under way cannot be taken back, so the follower is
 * freed by whatever comes last: the read, or the message that the client has gone.
 *
 * Decided against: keeping the last frames of every run in memory, so that joining again needs
 * no database. The log must exist for other nodes and for restarts, and hardly any stream is
 * joined again. And against streams between nodes: they would have to find and trust each
 * other, where now each needs the database only.
 */

#include "core/run/engine/follow.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/engine/waiters.h"
#include "core/run/turn/run.h"
#include "core/store/cluster/log_reader.h"
#include "core/store/wakeup.h"

#define READ_LIMIT ((size_t)64 << 10)

/* Bytes that may wait for the client before it counts as slow. One frame more may wait, if it is longer. */
#define AHEAD_LIMIT ((size_t)64 << 10)

/* Between two polls of the log of a run on another node: the first time, and at most. */
#define WAIT_FIRST_NS (50 * NS_PER_MS)
#define WAIT_LAST_NS  (1000 * NS_PER_MS)
/* While its owner notifies this node: only in case a notification gets lost. */
#define WAIT_NOTIFIED_NS (5 * NS_PER_SECOND)

struct follower {
    struct sink sink; /* among the sinks of the run, once it has caught up */
    struct sink *client;
    struct engine *engine;
    struct loop *loop;
    const struct face *face;
    struct run_row row; /* as it was when the stream began */
    unsigned flags;
    int64_t next; /* number of the next frame for the client */
    uint64_t wait_ns;
    uint64_t ask_owner_ns; /* when to ask the owner (again); 0: it was not asked yet */
    bool notified;         /* the owner has answered: it notifies this node */
    bool again;            /* a wake-up came during the read: read once more */
    bool reading;
    bool joined;
    bool behind;   /* reads nothing and wants nothing until its client has taken what it has */
    bool left;     /* the client has; the message that says so is posted */
    bool received; /* that message has arrived: the read under way releases the follower */
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

static void leave_run(struct follower *follower)
{
    struct run *run = NULL;

    if (follower->joined)
        run = engine_find(follower->engine, follower->read.run_id);
    if (run)
        run_listener_gone(run, &follower->sink);
}

static void release(struct follower *follower)
{
    stop_waiting(follower);
    leave_run(follower);
    follower->client->ops->close(follower->client);
    free(follower->read.frames);
    run_row_clear(&follower->row);
    free(follower);
}

/* The client may leave from within events(). Then leave() is posted, and releases the follower. */
static void end_stream(struct follower *follower)
{
    const char *end = follower->face->stream_end;

    follower->client->ops->events(follower->client, end, strlen(end));
    if (!follower->left)
        release(follower);
}

/* What the run would have emitted, if it were here and had been deleted. */
static void emit_deleted(struct follower *follower)
{
    const bool thread_deleted = follower->read.thread_deleted;
    json_auto_t *error =
        json_build("{s:s, s:s}", "code", "server_error", "message",
                   thread_deleted ? RUN_CONVERSATION_DELETED : RUN_RESPONSE_DELETED);
    struct run *run = mem_new(struct run);
    struct frames frames = {.next = follower->next};
    bool assistants = follower->row.face == FACE_ASSISTANTS;

    run_row_copy(&run->row, &follower->row);
    run->row.status = assistants ? RUN_CANCELLED : RUN_FAILED;
    free(run->row.error);
    run->row.error = assistants ? NULL : json_text(error);
    run->row.cancelled_at = assistants ? clock_wall_us() : 0;
    follower->face->event(run, &(struct run_event){.kind = RUN_EVENT_STATUS}, &frames);
    pass_on(follower, frames.bytes.data, frames.bytes.length);
    frames_clear(&frames);
    run_row_clear(&run->row);
    free(run);
}

/* ---- From the run ---- */

static void read_more(struct follower *follower);
static void read_again(struct follower *follower);

/* Its client has not taken much of what it was sent. */
static bool is_slow(struct follower *follower)
{
    struct sink *client = follower->client;

    return client->ops->waiting && client->ops->waiting(client) > AHEAD_LIMIT;
}

static void fall_behind(struct follower *follower)
{
    stop_waiting(follower);
    follower->behind = true;
    follower->sink.from = INT64_MAX;
    engine_wait_for_run(follower->engine, &follower->waiter); /* for a drain */
}

/* Whole frames, as few as are more than the limit. */
static const char *end_of_piece(const char *bytes, const char *end)
{
    const char *stop = NULL;

    if ((size_t)(end - bytes) > AHEAD_LIMIT)
        stop =
            memmem(bytes + AHEAD_LIMIT - 2, (size_t)(end - bytes) - AHEAD_LIMIT + 2, "\n\n", 2);
    return stop ? stop + 2 : end;
}

/* Until all has been passed on, or the client has too much. What is left then is in the log. */
static void pass_on_all(struct follower *follower, const char *bytes, size_t length)
{
    const char *end = bytes + length;

    while (bytes < end && !follower->left && !follower->behind) {
        const char *stop = end_of_piece(bytes, end);

        pass_on(follower, bytes, (size_t)(stop - bytes));
        bytes = stop;
        if (bytes < end && is_slow(follower))
            fall_behind(follower);
    }
}

static void take_events(struct sink *sink, const char *frames, size_t length)
{
    struct follower *follower = follower_of(sink);

    if (is_slow(follower))
        fall_behind(follower);
    else
        pass_on_all(follower, frames, length);
    if (!follower->behind)
        sink->from = follower->next;
}

/* Of a follower that has joined: every frame so far was passed on. Otherwise a read is under way or waits,
 * or it is behind. */
static bool is_up_to_date(const struct follower *follower)
{
    return follower->sink.from == follower->next;
}

/* The run has ended on this loop. One that is not up to date finds the rest in the log. */
static void take_close(struct sink *sink)
{
    struct follower *follower = follower_of(sink);

    follower->joined = false;
    if (!follower->left && is_up_to_date(follower))
        end_stream(follower);
}

/* The run has left this loop: for its client, for another node, or because its lease was lost. The log
 * has whatever follows. */
static void take_pause(struct sink *sink)
{
    struct follower *follower = follower_of(sink);

    follower->joined = false;
    if (follower->left)
        return;
    if (is_up_to_date(follower))
        read_more(follower);
    else if (follower->behind && engine_is_draining(follower->engine))
        release(follower);
}

/* The client has taken all that waited for it. */
static void client_took(struct sink *client, void *arg)
{
    struct follower *follower = arg;

    (void)client;
    if (!follower->behind || follower->left)
        return;
    follower->behind = false;
    read_again(follower);
}

static const struct sink_ops follower_ops = {
    .events = take_events,
    .close = take_close,
    .paused = take_pause,
};

/* ---- From the log ---- */

/* What was read would have to be kept for a slow client, so it is read later. */
static void read_more(struct follower *follower)
{
    if (is_slow(follower)) {
        fall_behind(follower);
        return;
    }
    follower->reading = true;
    follower->again = false;
    /* A notification during the read must not be lost: the piece may have been read before it. */
    if (follower->ask_owner_ns && !follower->waiter.link)
        engine_wait_for_run(follower->engine, &follower->waiter);
    follower->read.first_seq = follower->next;
    follower->read.limit = READ_LIMIT;
    log_reader_ask(engine_options(follower->engine)->log_reader, &follower->read);
}

/* Out of a wait. */
static void read_again(struct follower *follower)
{
    stop_waiting(follower);
    read_more(follower);
}

/* An owner that had answered and is silent now may have died: it is asked again at once. */
static void wait_over(struct loop_timer *timer)
{
    struct follower *follower = CONTAINER_OF(timer, struct follower, timer);

    if (follower->notified) {
        follower->notified = false;
        follower->ask_owner_ns = loop_now(follower->loop);
    }
    read_again(follower);
}

/* The client has to take what it has first, unless the node drains. */
static void wait_behind(struct follower *follower)
{
    if (!follower->left && !follower->joined && engine_is_draining(follower->engine))
        release(follower);
    else
        engine_wait_for_run(follower->engine, &follower->waiter);
}

static void woken(struct engine_waiter *waiter, enum engine_woken why)
{
    struct follower *follower = CONTAINER_OF(waiter, struct follower, waiter);

    if (follower->behind) {
        wait_behind(follower);
        return;
    }
    follower->notified = why == WOKEN_MORE;
    follower->wait_ns = 0;
    if (why == WOKEN_MOVED)
        follower->ask_owner_ns = loop_now(follower->loop);
    if (!follower->reading) {
        read_again(follower);
        return;
    }
    follower->again = true;
    engine_wait_for_run(follower->engine, waiter);
}

/* An owner that has not answered is asked again after WAIT_LAST_NS: it may be dead, or not have
 * received the hint. One that has is asked before it forgets this node (run_peers.c). */
static void ask_owner(struct follower *follower)
{
    uint64_t now = loop_now(follower->loop);

    if (now < follower->ask_owner_ns)
        return;
    follower->ask_owner_ns = now + (follower->notified ? FOLLOW_AGAIN_NS : WAIT_LAST_NS);
    store_wake_followed(engine_options(follower->engine)->store, &follower->read.tenant,
                        follower->read.run_id);
}

/* The run is on another node, or the store did not answer. */
static void wait_for_more(struct follower *follower)
{
    if (engine_is_draining(follower->engine)) {
        release(follower); /* without an end: the client joins again at another node */
        return;
    }
    ask_owner(follower);
    follower->wait_ns = follower->wait_ns ? follower->wait_ns * 2 : WAIT_FIRST_NS;
    if (follower->wait_ns > WAIT_LAST_NS)
        follower->wait_ns = WAIT_LAST_NS;
    loop_timer_start(follower->loop, &follower->timer,
                     loop_now(follower->loop) +
                         (follower->notified ? WAIT_NOTIFIED_NS : follower->wait_ns));
    if (!follower->waiter.link)
        engine_wait_for_run(follower->engine, &follower->waiter);
}

/* From here to the next frame nothing happens on this loop, so no frame is missed. */
static void join(struct follower *follower, struct run *run)
{
    stop_waiting(follower);
    follower->ask_owner_ns = 0;
    follower->sink.from = follower->next;
    if (follower->joined)
        return;
    follower->joined = true;
    follower->sink.next = run->publishing.sinks;
    run->publishing.sinks = &follower->sink;
}

/* The log has nothing more. The status was read before the frames, so a final status means that all
 * frames were read. A run that is here and has published more than was read is read again, because
 * the read came before that commit. */
static void caught_up(struct follower *follower)
{
    struct run *run = engine_find(follower->engine, follower->read.run_id);
    enum run_status status = follower->read.status;

    if (run_status_is_final(status) ||
        (status == RUN_REQUIRES_ACTION && !(follower->flags & FOLLOW_WAITING)))
        end_stream(follower);
    else if (run && run->publishing.published <= follower->next)
        join(follower, run);
    else if (run || follower->again)
        read_more(follower);
    else
        wait_for_more(follower);
}

static void read_done(struct loop_task *task)
{
    struct log_read *read = CONTAINER_OF(task, struct log_read, done);
    struct follower *follower = read->arg;
    AUTO_FREE char *frames = TAKE(read->frames);

    follower->reading = false;
    if (follower->left) {
        if (follower->received)
            release(follower);
        return;
    }
    if (read->rc == ERR_NOT_FOUND) {
        emit_deleted(follower);
        if (!follower->left)
            end_stream(follower);
        return;
    }
    if (read->rc && read->rc != ERR_STORE) {
        release(follower);
        return;
    }
    if (read->rc) {
        follower->notified = false;
        wait_for_more(follower);
        return;
    }
    if (!read->length) {
        caught_up(follower);
        return;
    }
    follower->wait_ns = 0;
    pass_on_all(follower, frames, read->length);
    if (!follower->behind)
        read_more(follower);
}

/* ---- Coming and going ---- */

/* The client has left. This is a task of its own, so no call of the sink is under way. */
static void leave(struct loop_task *task)
{
    struct follower *follower = CONTAINER_OF(task, struct follower, leave);

    follower->received = true;
    leave_run(follower);
    if (!follower->reading)
        release(follower); /* otherwise when the read comes back */
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
        read_more(follower);
}

void engine_follow(struct engine *engine, const struct follow *follow)
{
    struct follower *follower = mem_new(struct follower);
    struct log_read *read = &follower->read;
    const struct run_row *row = follow->run;

    follower->sink.ops = &follower_ops;
    follower->sink.from = follow->first_seq;
    follower->client = follow->sink;
    follower->client->gone = client_gone;
    follower->client->gone_arg = follower;
    follower->client->taken = client_took;
    follower->client->taken_arg = follower;
    follower->engine = engine;
    follower->loop = engine_loop(engine, row->id);
    follower->face = row->face == FACE_ASSISTANTS ? engine_options(engine)->assistants
                                                  : engine_options(engine)->responses;
    run_row_copy(&follower->row, row);
    follower->flags = follow->flags;
    follower->next = follow->first_seq;
    follower->timer.fire = wait_over;
    follower->waiter.woken = woken;
    memcpy(follower->waiter.run_id, row->id, sizeof(row->id));
    read->tenant = tenant_kept(follow->tenant);
    read->face = row->face;
    memcpy(read->thread_id, row->thread_id, sizeof(row->thread_id));
    memcpy(read->run_id, row->id, sizeof(row->id));
    read->loop = follower->loop;
    read->done.run = read_done;
    read->arg = follower;
    follower->start.run = started;
    loop_post(follower->loop, &follower->start);
}
