/*
 * A connection, and what each event on it may say.
 *
 * A client can act on every byte that it receives. So the rules of a stream are checked in the step in which
 * the engine sends, against the database as it is in that step:
 *
 *   - a frame of a stored run is sent only when the run is stored; one of a resumable run, only when that
 *     very frame is in the log
 *   - a final event is sent only when the database has a final status
 *   - each frame has the number behind the one before it, from the first that the client wanted
 *   - behind the final event comes only the end of the stream, and behind that nothing
 *   - all items that were added are done before the final event
 *   - the bytes of one call end with a whole event
 *
 * Numbers are counted here, from `first`, and never taken from the engine. A response says its number in
 * each event, a follower's stream in the line "id: N" before it. The events of a run of a thread have no
 * number; their place in the log is checked in the end (check_prefix() in world_rules.c).
 *
 * A client that is gone costs nothing: its stream is closed as soon as the loop has run what was posted to it,
 * and a foreground response is cancelled by that.
 *
 * A client that does not read lets its connection keep what comes. It must not be sent more than a piece of
 * the log or a batch meanwhile: the log has it.
 *
 * What a client that has hung up would receive is not checked, because it is lost on the way in a real
 * server too. That the engine closes each sink exactly once is checked always.
 */

#include "tests/unit/core/run/engine/world_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "tests/unit/core/run/engine/scenario.h"
#include "tests/unit/core/run/engine/world_client.h"
#include "tests/unit/core/run/engine/world_database.h"

static const char *const terminal_events[] = {
    "response.completed",   "response.incomplete",   "response.failed",
    "thread.run.completed", "thread.run.incomplete", "thread.run.failed",
    "thread.run.cancelled", "thread.run.expired",
};

static struct stream *stream_of(struct sink *sink)
{
    return CONTAINER_OF(sink, struct stream, sink);
}

bool stream_is_cut(const struct stream *stream)
{
    return stream->broken || stream->gone;
}

static int64_t next_number(const struct stream *stream)
{
    return stream->first + stream->count;
}

/* ---- What an event may say ---- */

/* Persist before publish. The limits are explained at the head of core/run/turn/run_write.c. */
static void check_stored(const struct stream *stream)
{
    const struct record *record = database_find(stream->client->run_id);

    if (!(world->scenario->flags & RUN_STORED))
        return;
    world_expect(record, "the client is sent an event of a run that is not stored");
    if (world->scenario->flags & RUN_RESUMABLE)
        world_expect(next_number(stream) <= record->next_frame,
                     "frame %lld is sent before it is in the log",
                     (long long)(next_number(stream) - 1));
    if (*stream->terminal)
        world_expect(run_status_is_final(record->row.status),
                     "the client is sent %s, and the stored status is %s", stream->terminal,
                     run_status_name(record->row.status));
}

static bool is_event(const char *name, size_t length, const char *event)
{
    return length == strlen(event) && memcmp(name, event, length) == 0;
}

/* A run whose write was refused emits its end alone: the items stay open in the stream. */
static void note_terminal(struct stream *stream, const char *name, size_t length)
{
    for (size_t i = 0; i < COUNT_OF(terminal_events); i++) {
        if (!is_event(name, length, terminal_events[i]))
            continue;
        (void)snprintf(stream->terminal, sizeof(stream->terminal), "%s", terminal_events[i]);
        world_expect(!stream->open || world->refused, "the run ends while %u items are open",
                     stream->open);
    }
}

static void count_items(struct stream *stream, const char *name, size_t length)
{
    if (stream->first != 0)
        return; /* it may begin within an item */
    if (is_event(name, length, "response.output_item.added"))
        stream->open++;
    if (is_event(name, length, "response.output_item.done")) {
        world_expect(stream->open == 1, "an item is done that was not added");
        stream->open--;
    }
}

/* Each event of a response says its own number. */
static void check_number(const struct stream *stream, const char *data, size_t length)
{
    static const char key[] = "\"sequence_number\":";
    const char *at = (const char *)memmem(data, length, key, sizeof(key) - 1);
    long long number;

    if (world->scenario->face != FACE_RESPONSES)
        return;
    world_expect(at, "an event has no number");
    number = strtoll(at + sizeof(key) - 1, NULL, 10);
    world_expect(number == next_number(stream), "event %lld comes where %lld was due", number,
                 (long long)next_number(stream));
}

/* ---- Frames ---- */

static bool starts_with(const char *text, size_t length, const char *start)
{
    size_t wanted = strlen(start);

    return length >= wanted && memcmp(text, start, wanted) == 0;
}

/* Cuts "id: N\n" off a frame of a follower. */
static void take_id(const struct stream *stream, const char **frame, size_t *length)
{
    const char *line = (const char *)memchr(*frame, '\n', *length);

    world_expect(starts_with(*frame, *length, "id: "), "a follower's event has no id");
    world_expect(strtoll(*frame + 4, NULL, 10) == next_number(stream),
                 "event %.12s comes where %lld was due", *frame,
                 (long long)next_number(stream));
    *length -= (size_t)(line + 1 - *frame);
    *frame = line + 1;
}

static bool ends_stream(const char *frame, size_t length)
{
    static const char done[] = "data: [DONE]\n\n";
    size_t size = sizeof(done) - 1;

    return length >= size && memcmp(frame + length - size, done, size) == 0;
}

static void take_frame(struct stream *stream, const char *frame, size_t length)
{
    const char *name, *end;
    size_t size;

    world_expect(!stream->ended, "something comes behind the end of a stream");
    if (ends_stream(frame, length)) {
        stream->ended = true;
        return;
    }
    world_expect(!*stream->terminal, "an event comes behind %s", stream->terminal);
    if (stream->numbered)
        take_id(stream, &frame, &length);
    world_expect(starts_with(frame, length, "event: "), "this is no event: %.40s", frame);
    name = frame + strlen("event: ");
    end = (const char *)memchr(name, '\n', length);
    size = (size_t)(end - name);
    world_note("      %s %lld %.*s", stream->numbered ? "follower" : "client",
               (long long)next_number(stream), (int)size, name);
    check_number(stream, end, length - (size_t)(end - frame));
    count_items(stream, name, size);
    note_terminal(stream, name, size);
    stream->paused = is_event(name, size, "thread.run.requires_action");
    stream->count++;
    buf_add(&stream->bytes, frame, length);
}

/* ---- The sink ---- */

/* Longer than a run takes that waits for no answer. */
#define DEAF_NS (100 * NS_PER_MS)

/* Beyond what any sink may keep before it counts as slow. */
#define MUCH ((size_t)1 << 30)

static void read_all(struct loop_timer *timer)
{
    struct stream *stream = CONTAINER_OF(timer, struct stream, reads);

    stream->kept = 0;
    stream->deaf--;
    world_note("      reads");
    if (!stream_is_cut(stream))
        stream->sink.taken(&stream->sink, stream->sink.taken_arg);
}

static void keep(struct stream *stream)
{
    struct loop *loop = engine_any_loop(stream->node->engine);

    if (!stream->deaf)
        return;
    world_expect(!stream->kept++, "more is sent to a client that does not read");
    loop_timer_start(loop, &stream->reads, world->now_ns + DEAF_NS);
}

static size_t waiting(struct sink *sink)
{
    return stream_of(sink)->kept ? MUCH : 0;
}

void stream_deafen(struct stream *stream)
{
    stream->deaf = 3;
    stream->reads.fire = read_all;
}

static void take_events(struct sink *sink, const char *frames, size_t length)
{
    struct stream *stream = stream_of(sink);
    const char *end = frames + length;

    world_expect(!stream->closed, "something is sent on a stream that was closed");
    /* As a socket does that fails within a write: the sink says so from within the call. */
    if (stream->leaving && !stream->gone) {
        stream->gone = stream->reported = true;
        world_note("      hangs up");
        sink->gone(sink, sink->gone_arg);
    }
    if (stream_is_cut(stream))
        return;
    while (frames < end) {
        const char *stop = (const char *)memmem(frames, (size_t)(end - frames), "\n\n", 2);

        world_expect(stop, "half an event is sent");
        take_frame(stream, frames, (size_t)(stop + 2 - frames));
        frames = stop + 2;
    }
    check_stored(stream);
    if (!stream->ended)
        keep(stream);
}

static void take_answer(struct sink *sink, const struct sink_answer *answer)
{
    struct stream *stream = stream_of(sink);

    world_expect(!stream->closed, "an answer comes behind the end");
    stream->answers++;
    if (!stream_is_cut(stream)) {
        world_note("      answer %d: %s", answer->status,
                   json_get_string(answer->object, "status", ""));
        check_stored(stream);
    }
    json_decref(answer->object);
}

static void take_close(struct sink *sink)
{
    struct stream *stream = stream_of(sink);

    world_expect(!stream->closed, "a stream is closed twice");
    stream->closed = true;
    if (stream->reads.slot)
        loop_timer_stop(engine_any_loop(stream->node->engine), &stream->reads);
    world_note("      closed");
}

static const struct sink_ops event_ops = {
    .events = take_events, .waiting = waiting, .close = take_close};
static const struct sink_ops answer_ops = {.answer = take_answer, .close = take_close};

struct stream *stream_new(struct client *client, struct node *node, enum stream_kind kind,
                          int64_t first)
{
    struct stream *stream = mem_new(struct stream);

    stream->sink.ops = kind == STREAM_EVENTS ? &event_ops : &answer_ops;
    stream->client = client;
    stream->node = node;
    stream->kind = kind;
    stream->first = first;
    stream->next = world->streams;
    world->streams = stream;
    return stream;
}

/* The loop notices, and notifies the holder of the sink, as server/http/stream/suspended.c does it. */
static void say_goodbye(struct loop_task *task)
{
    struct stream *stream = CONTAINER_OF(task, struct stream, goodbye);

    if (stream->closed || !stream->sink.gone)
        return;
    stream->reported = true;
    stream->sink.gone(&stream->sink, stream->sink.gone_arg);
}

void stream_hang_up(struct stream *stream)
{
    stream->gone = true;
    stream->goodbye.run = say_goodbye;
    loop_post(engine_any_loop(stream->node->engine), &stream->goodbye);
}

/* ---- All streams ---- */

/* A follower that is reading is closed when the read comes back, so those are left out. */
void streams_check_gone(void)
{
    for (const struct stream *stream = world->streams; stream; stream = stream->next) {
        if (stream->reported && !stream->numbered && !stream->node->dead)
            world_expect(stream->closed || loop_has_task(engine_any_loop(stream->node->engine)),
                         "the client is gone, and its stream is open");
    }
}

void streams_free(void)
{
    while (world->streams) {
        struct stream *stream = world->streams;

        world->streams = stream->next;
        buf_clear(&stream->bytes);
        free(stream);
    }
}

void streams_break(struct node *node)
{
    for (struct stream *stream = world->streams; stream; stream = stream->next)
        stream->broken = stream->broken || stream->node == node;
}

bool streams_are_closed(const struct node *node)
{
    for (const struct stream *stream = world->streams; stream; stream = stream->next) {
        if (stream->node == node && !stream->closed)
            return false;
    }
    return true;
}
