#include "tests/unit/core/run/engine/world_client.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/follow.h"
#include "core/run/run_approvals.h"
#include "core/store/approvals.h"
#include "core/store/wakeups.h"
#include "tests/unit/core/run/engine/scenario.h"
#include "tests/unit/core/run/engine/schedule.h"
#include "tests/unit/core/run/engine/world_database.h"

#define PROJECT "proj_1"
#define THREAD  "thread_1"

/* ---- A stream, event by event ---- */

static const char *const terminal_events[] = {
    "response.completed",   "response.incomplete",   "response.failed",
    "thread.run.completed", "thread.run.incomplete", "thread.run.failed",
    "thread.run.cancelled", "thread.run.expired",
};

static bool starts_with(const char *text, size_t length, const char *start)
{
    size_t wanted = strlen(start);

    return length >= wanted && memcmp(text, start, wanted) == 0;
}

static bool is_event(const char *name, size_t length, const char *event)
{
    return length == strlen(event) && memcmp(name, event, length) == 0;
}

static const struct record *record_of(const struct stream *stream)
{
    (void)stream;
    return database_find(world->client->run_id);
}

/* What a client is told of a stored run is in the store already. */
static void check_stored(const struct stream *stream)
{
    const struct record *record = record_of(stream);

    if (!(world->scenario->flags & RUN_STORED))
        return;
    world_expect(record, "the client is told of a run that is not in the store");
    if (world->scenario->flags & RUN_RESUMABLE)
        world_expect(stream->first + stream->count <= record->next_frame,
                     "frame %lld is sent and not in the log",
                     (long long)(stream->first + stream->count - 1));
    if (*stream->terminal)
        world_expect(run_status_is_final(record->row.status),
                     "the client is told %s, and the store says %s", stream->terminal,
                     run_status_name(record->row.status));
}

static void note_terminal(struct stream *stream, const char *name, size_t length)
{
    for (size_t i = 0; i < COUNT_OF(terminal_events); i++) {
        if (!is_event(name, length, terminal_events[i]))
            continue;
        (void)snprintf(stream->terminal, sizeof(stream->terminal), "%s", terminal_events[i]);
        /* Of a run whose write was refused only the end is told. */
        world_expect(!stream->open || world->refused, "the run ends while %u items are open",
                     stream->open);
    }
}

static void count_items(struct stream *stream, const char *name, size_t length)
{
    if (stream->first != 0)
        return;
    if (is_event(name, length, "response.output_item.added"))
        stream->open++;
    if (is_event(name, length, "response.output_item.done")) {
        world_expect(stream->open == 1, "an item is done that was not added");
        stream->open--;
    }
}

/* Of a response every event says its own number. */
static void check_number(const struct stream *stream, const char *data, size_t length)
{
    static const char key[] = "\"sequence_number\":";
    const char *at = (const char *)memmem(data, length, key, sizeof(key) - 1);
    long long number;

    if (world->scenario->face != FACE_RESPONSES)
        return;
    world_expect(at, "an event has no number");
    number = strtoll(at + sizeof(key) - 1, NULL, 10);
    world_expect(number == stream->first + stream->count, "event %lld comes where %lld was due",
                 number, (long long)(stream->first + stream->count));
}

/* Cuts "id: N\n" off a frame of a follower. */
static void take_id(const struct stream *stream, const char **frame, size_t *length)
{
    const char *line = (const char *)memchr(*frame, '\n', *length);

    world_expect(starts_with(*frame, *length, "id: "), "a follower's event has no id");
    world_expect(strtoll(*frame + 4, NULL, 10) == stream->first + stream->count,
                 "event %s comes where %lld was due", *frame,
                 (long long)(stream->first + stream->count));
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
               (long long)(stream->first + stream->count), (int)size, name);
    check_number(stream, end, length - (size_t)(end - frame));
    count_items(stream, name, size);
    note_terminal(stream, name, size);
    stream->paused = is_event(name, size, "thread.run.requires_action");
    stream->count++;
    buf_add(&stream->bytes, frame, length);
}

static struct stream *stream_of(struct sink *sink)
{
    return CONTAINER_OF(sink, struct stream, sink);
}

/* Nobody is at the other end. */
static bool is_cut(const struct stream *stream)
{
    return stream->broken || stream->gone;
}

static void take_events(struct sink *sink, const char *frames, size_t length)
{
    struct stream *stream = stream_of(sink);
    const char *end = frames + length;

    world_expect(!stream->closed, "something is sent on a stream that was closed");
    if (is_cut(stream))
        return;
    while (frames < end) {
        const char *stop = (const char *)memmem(frames, (size_t)(end - frames), "\n\n", 2);

        world_expect(stop, "half an event is sent");
        take_frame(stream, frames, (size_t)(stop + 2 - frames));
        frames = stop + 2;
    }
    check_stored(stream);
}

static void take_answer(struct sink *sink, int status, json_t *object)
{
    struct stream *stream = stream_of(sink);
    const struct record *record = record_of(stream);

    world_expect(!stream->closed, "an answer comes behind the end");
    stream->answers++;
    if (!is_cut(stream)) {
        (void)snprintf(stream->status, sizeof(stream->status), "%s",
                       json_get_string(object, "status", ""));
        world_note("      answer %d: %s", status, stream->status);
        world_expect(record || !(world->scenario->flags & RUN_STORED),
                     "the answer is there before the run is in the store");
    }
    json_decref(object);
}

static void take_close(struct sink *sink)
{
    struct stream *stream = stream_of(sink);

    world_expect(!stream->closed, "a stream is closed twice");
    stream->closed = true;
    world_note("      closed");
}

static const struct sink_ops event_ops = {.events = take_events, .close = take_close};
static const struct sink_ops answer_ops = {.answer = take_answer, .close = take_close};

static struct stream *stream_new(struct node *node, enum stream_kind kind, int64_t first)
{
    struct stream *stream = mem_new(struct stream);

    stream->sink.ops = kind == STREAM_EVENTS ? &event_ops : &answer_ops;
    stream->node = node;
    stream->kind = kind;
    stream->first = first;
    stream->next = world->streams;
    world->streams = stream;
    return stream;
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

/* The connection's own loop finds out; what holds the stream is told, as server/suspended.c does it. */
static void say_goodbye(struct loop_task *task)
{
    struct stream *stream = CONTAINER_OF(task, struct stream, goodbye);

    if (!stream->closed && stream->sink.gone)
        stream->sink.gone(&stream->sink, stream->sink.gone_arg);
}

/* ---- Making the run ---- */

static void make_row(struct run_row *run)
{
    const struct scenario *scenario = world->scenario;
    bool assistants = scenario->face == FACE_ASSISTANTS;
    bool queued = assistants || scenario->flags & RUN_BACKGROUND;

    *run = (struct run_row){
        .project = PROJECT,
        .face = scenario->face,
        .flags = scenario->flags,
        .status = queued ? RUN_QUEUED : RUN_IN_PROGRESS,
        .config = mem_strdup(scenario->config),
        .metadata = mem_strdup("{}"),
        .created_at = clock_wall_us(),
        .expires_at = clock_wall_us() + schedule_expiry_us(),
    };
    id_make(run->id, assistants ? "run_" : "resp_");
    if (assistants) {
        (void)snprintf(run->thread_id, sizeof(run->thread_id), "%s", THREAD);
        (void)snprintf(run->assistant_id, sizeof(run->assistant_id), "asst_1");
    }
}

static void make_message(const struct run_row *run, struct item_row *item)
{
    *item = (struct item_row){
        .input = true,
        .turn = -1,
        .status = ITEM_COMPLETED,
        .type = "message",
        .role = "user",
        .body = mem_strdup("{\"content\":[{\"type\":\"input_text\",\"text\":\"Hello\"}]}"),
        .metadata = run->face == FACE_ASSISTANTS ? mem_strdup("{}") : NULL,
        .created_at = clock_wall_us(),
        .completed_at = clock_wall_us(),
    };
    id_make(item->id, "msg_");
    (void)snprintf(item->run_id, sizeof(item->run_id), "%s",
                   run->face == FACE_ASSISTANTS ? "" : run->id);
    (void)snprintf(item->thread_id, sizeof(item->thread_id), "%s", run->thread_id);
}

static void make_run(struct client *client)
{
    struct run_start start = {.arrival = ARRIVAL_NEW};
    struct run_row run;
    struct item_row message;

    make_row(&run);
    make_message(&run, &message);
    memcpy(client->run_id, run.id, sizeof(client->run_id));
    client->expires_at = run.expires_at;
    if (store_run_create(
            &client->node->store,
            &(struct run_creation){.run = &run, .messages = &message, .message_count = 1},
            &start.load, NULL)) {
        client->refused = true;
    } else {
        client->acknowledged = true;
        if (run.flags & RUN_STREAMED) {
            client->stream = stream_new(client->node, STREAM_EVENTS, 0);
            start.sink = &client->stream->sink;
        }
        engine_run(client->node->engine, &start);
    }
    run_row_clear(&run);
    item_row_clear(&message);
}

static void make_response(struct client *client)
{
    struct run_start start = {.arrival = ARRIVAL_NEW};
    struct run_load *load = &start.load;

    make_row(&load->run);
    load->items = mem_new_array(struct item_row, 1);
    load->item_count = 1;
    load->next_position = 1;
    make_message(&load->run, &load->items[0]);
    memcpy(client->run_id, load->run.id, sizeof(client->run_id));
    client->expires_at = load->run.expires_at;
    client->stream = stream_new(
        client->node, load->run.flags & RUN_STREAMED ? STREAM_EVENTS : STREAM_ANSWER, 0);
    start.sink = &client->stream->sink;
    engine_run(client->node->engine, &start);
}

/* ---- What the client wants next ---- */

static const struct record *its_record(const struct client *client)
{
    return client->made ? database_find(client->run_id) : NULL;
}

static bool is_resumable(void)
{
    return world->scenario->flags & RUN_RESUMABLE;
}

/* Its stream broke before the run had ended. Who has hung up does not want it back. */
static bool wants_to_follow(const struct client *client)
{
    const struct stream *stream = client->stream;

    return is_resumable() && stream && stream->kind == STREAM_EVENTS && !stream->gone &&
           (stream->broken || (stream->closed && !stream->ended)) && !*stream->terminal &&
           its_record(client);
}

static bool is_question(const struct call_row *call)
{
    return call->tool && strcmp(call->tool, RUN_APPROVAL_FUNCTION) == 0;
}

static bool is_open_call(const struct call_row *call, const char *run_id)
{
    return strcmp(call->run_id, run_id) == 0 && call->client && call->state == CALL_WAITING;
}

/* What it is asked for, and would give. */
static bool would_answer(const struct call_row *call)
{
    return is_question(call) ? world->scenario->decision != DECISION_NONE
                             : world->scenario->submits;
}

static bool wants_to_submit(const struct client *client)
{
    const struct record *record = its_record(client);
    bool any = false;

    if (!record || record->row.status != RUN_REQUIRES_ACTION ||
        record->row.expires_at <= clock_wall_us())
        return false;
    for (size_t i = 0; i < world->database->call_count; i++) {
        const struct call_row *call = &world->database->calls[i];

        if (!is_open_call(call, client->run_id))
            continue;
        if (!would_answer(call))
            return false;
        any = true;
    }
    return any;
}

static const struct approval_row *held_question(const struct client *client)
{
    for (size_t i = 0; client->made && i < world->database->approval_count; i++) {
        const struct approval_row *row = &world->database->approvals[i];

        if (row->status == APPROVAL_PENDING && strcmp(row->used_by, client->run_id) == 0)
            return row;
    }
    return NULL;
}

static bool wants_to_decide(const struct client *client)
{
    return world->scenario->decision != DECISION_NONE && held_question(client);
}

static bool wants_something(struct actor *actor)
{
    const struct client *client = CONTAINER_OF(actor, struct client, actor);

    if (database_is_away())
        return false;
    return !client->made || wants_to_follow(client) || wants_to_submit(client) ||
           wants_to_decide(client);
}

bool client_is_done(void)
{
    return !wants_something(&world->client->actor);
}

/* ---- Following ---- */

static struct stream *follow(struct node *node, int64_t first)
{
    struct client *client = world->client;
    struct stream *stream = stream_new(node, STREAM_EVENTS, first);

    stream->numbered = true;
    engine_follow(
        node->engine,
        &(struct follow){.face = world->scenario->face,
                         .project = PROJECT,
                         .thread_id = world->scenario->face == FACE_ASSISTANTS ? THREAD : "",
                         .run_id = client->run_id,
                         .first_seq = first,
                         .flags = FOLLOW_NUMBERED | FOLLOW_WAITING,
                         .sink = &stream->sink});
    return stream;
}

bool client_follow(struct node *node)
{
    const struct record *record = its_record(world->client);

    if (!is_resumable() || !record || node->dead)
        return false;
    (void)follow(node, 0);
    return true;
}

/* ---- Answering ---- */

#define ANSWERS 8

/* One for each call that waits. The caller frees the array. */
static struct tool_answer *make_answers(const struct client *client, bool approve,
                                        size_t *ret_count)
{
    struct tool_answer *answers = mem_new_array(struct tool_answer, ANSWERS);

    *ret_count = 0;
    for (size_t i = 0; i < world->database->call_count; i++) {
        const struct call_row *call = &world->database->calls[i];

        if (!is_open_call(call, client->run_id))
            continue;
        assert(*ret_count < ANSWERS);
        answers[(*ret_count)++] = (struct tool_answer){
            .call_id = call->call_id,
            .output = !is_question(call) ? "42"
                      : approve          ? "{\"approve\":true}"
                                         : "{\"approve\":false}",
            .approve = approve,
        };
    }
    return answers;
}

/* The same answers have the same hash. */
static void hash_answers(const struct tool_answer *answers, size_t count,
                         unsigned char hash[32])
{
    memset(hash, 0, 32);
    for (size_t i = 0; i < count; i++) {
        for (const char *at = answers[i].call_id; *at; at++)
            hash[(at - answers[i].call_id) % 32] ^= (unsigned char)*at;
    }
}

static void start_again(struct client *client, struct node *node, struct run_start *start)
{
    start->load.run.flags &= ~(unsigned)RUN_STREAMED;
    if (world->scenario->flags & RUN_STREAMED) {
        start->load.run.flags |= RUN_STREAMED;
        client->stream = stream_new(node, STREAM_EVENTS, start->load.next_seq);
        start->sink = &client->stream->sink;
    }
    engine_run(node->engine, start);
}

static bool submit(struct client *client, struct node *node)
{
    struct run_start start = {.arrival = ARRIVAL_SUBMITTED};
    size_t count;
    AUTO_FREE struct tool_answer *answers =
        make_answers(client, world->scenario->decision == DECISION_APPROVE, &count);
    unsigned char hash[32];
    bool repeated = false;
    enum err_code rc;

    hash_answers(answers, count, hash);
    rc = store_run_submit(&node->store,
                          &(struct submission){.project = PROJECT,
                                               .thread_id = THREAD,
                                               .run_id = client->run_id,
                                               .answers = answers,
                                               .count = count,
                                               .hash = hash},
                          &start.load, &repeated, NULL);
    world_note("    submits %zu outputs: %d%s", count, (int)rc, repeated ? ", repeated" : "");
    if (rc)
        return rc != ERR_STORE;
    client->accepted++;
    if (repeated)
        run_load_clear(&start.load);
    else
        start_again(client, node, &start);
    return true;
}

bool client_submit(struct node *node)
{
    const struct record *record = its_record(world->client);

    if (world->scenario->face != FACE_ASSISTANTS || !record || node->dead)
        return false;
    return submit(world->client, node);
}

/* ---- Deciding ---- */

static bool decide_held(struct node *node, const struct approval_row *question, bool approve)
{
    const struct approval_answer answer = {.id = question->id, .approve = approve};
    struct approval_row row;

    if (store_approval_decide(&node->store, PROJECT, &answer, NULL, &row, NULL))
        return true;
    if (strcmp(row.used_by, row.run_id) == 0 && !engine_look(node->engine, row.run_id))
        store_wake_others(&node->store, WAKEUP_LOOK, row.run_id);
    approval_row_clear(&row);
    return true;
}

static bool decide_of_run(struct node *node, const struct approval_row *question, bool approve)
{
    struct run_start start = {.arrival = ARRIVAL_SUBMITTED};
    const struct tool_answer answer = {
        .call_id = question->id,
        .output = approve ? "{\"approve\":true}" : "{\"approve\":false}",
        .approve = approve,
    };
    unsigned char hash[32];
    bool goes_on = false;

    hash_answers(&answer, 1, hash);
    if (store_run_decide(&node->store,
                         &(struct submission){.project = PROJECT,
                                              .thread_id = THREAD,
                                              .run_id = question->run_id,
                                              .answers = &answer,
                                              .count = 1,
                                              .hash = hash},
                         &start.load, &goes_on, NULL))
        return true;
    start.load.run.flags &= ~(unsigned)RUN_STREAMED;
    if (goes_on)
        engine_run(node->engine, &start);
    else
        run_load_clear(&start.load);
    return true;
}

static bool decide(struct node *node, const struct approval_row *question, bool approve)
{
    world_note("    says %s", approve ? "yes" : "no");
    return world->scenario->face == FACE_ASSISTANTS ? decide_of_run(node, question, approve)
                                                    : decide_held(node, question, approve);
}

static bool decide_first(struct node *node, bool approve)
{
    struct database *database = world->database;

    for (size_t i = 0; i < database->approval_count && !node->dead; i++) {
        if (database->approvals[i].status == APPROVAL_PENDING)
            return decide(node, &database->approvals[i], approve);
    }
    return false;
}

bool client_approve(struct node *node)
{
    return decide_first(node, true);
}

bool client_reject(struct node *node)
{
    return decide_first(node, false);
}

/* ---- Cancelling and leaving ---- */

/* What comes with the claim is ended here, as server/api_runs.c does it. */
bool client_cancel(struct node *node)
{
    struct client *client = world->client;
    enum cancel_outcome outcome;
    struct run_load load = {0};
    enum err_code rc;

    if (!is_resumable() || !its_record(client) || node->dead)
        return false;
    rc = store_run_cancel(&node->store, PROJECT, THREAD, client->run_id, 100, &outcome, &load,
                          NULL);
    if (rc)
        return rc == ERR_STORE; /* and perhaps it is cancelled all the same */
    if (outcome == CANCEL_OWNED_HERE)
        engine_cancel(node->engine, client->run_id);
    if (outcome == CANCEL_CLAIMED)
        node_take_over(node, &load);
    else
        run_load_clear(&load);
    return true;
}

bool client_hang_up(void)
{
    struct stream *stream = world->client->stream;

    if (!stream || stream->closed || is_cut(stream))
        return false;
    stream->gone = true;
    world->client->hung_up = true;
    stream->goodbye.run = say_goodbye;
    loop_post(engine_any_loop(stream->node->engine), &stream->goodbye);
    return true;
}

/* ---- The client ---- */

static void do_next(struct actor *actor)
{
    struct client *client = CONTAINER_OF(actor, struct client, actor);

    client->node = node_up(client->node);
    if (!client->made) {
        client->made = true;
        if (world->scenario->face == FACE_ASSISTANTS)
            make_run(client);
        else
            make_response(client);
    } else if (wants_to_follow(client)) {
        client->stream = follow(client->node, client->stream->first + client->stream->count);
    } else if (wants_to_submit(client) && !world->scenario->decides) {
        (void)submit(client, client->node);
    } else {
        (void)decide_first(client->node, world->scenario->decision == DECISION_APPROVE);
    }
}

static const struct actor_ops client_ops = {
    .thing = THING_CLIENT,
    .is_ready = wants_something,
    .act = do_next,
};

void client_join(struct node *node)
{
    struct client *client = world->client = mem_new(struct client);

    client->node = node;
    client->submitted = -1;
    actor_join(&client->actor, &client_ops, NULL);
}

void client_free(void)
{
    actor_leave(&world->client->actor);
    free(TAKE(world->client));
}
