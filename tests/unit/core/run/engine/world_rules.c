/*
 * The rules: what reference/reliability promises, as far as one run can show it. Some are looked at
 * where they could be broken (world_client.c: stored before told, numbers; world_database.c: one end,
 * the log without gaps; world_model.c: each call has one output). The others are here.
 */

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "tests/unit/core/run/engine/scenario.h"
#include "tests/unit/core/run/engine/schedule.h"
#include "tests/unit/core/run/engine/world_client.h"
#include "tests/unit/core/run/engine/world_database.h"
#include "tests/unit/core/run/engine/world_tools.h"

static bool has_been(enum incident incident)
{
    return world->incidents >> incident & 1;
}

static bool has_been_any(const enum incident *incidents, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (has_been(incidents[i]))
            return true;
    }
    return false;
}

#define ANY_OF(...)                                    \
    has_been_any((const enum incident[]){__VA_ARGS__}, \
                 sizeof((const enum incident[]){__VA_ARGS__}) / sizeof(enum incident))

static bool is(unsigned flag)
{
    return world->scenario->flags & flag;
}

/* ---- Nobody waits for ever ---- */

static const char *unrest_of(const struct node *node)
{
    struct engine_stats stats;

    if (node->dead)
        return NULL;
    if (!node_is_up(node))
        return "a node stands still";
    if (!loop_is_empty(engine_any_loop(node->engine)))
        return "a loop has something to do";
    engine_stats(node->engine, &stats);
    return stats.live ? "an engine has a run" : NULL;
}

static const char *unrest(void)
{
    const struct record *record = database_find(world->client->run_id);

    if (!client_is_done())
        return "the client wants something";
    if (record && !run_status_is_final(record->row.status))
        return "the run has not ended";
    if (record && record->lease.exists)
        return "the run has a lease";
    if (database_has_writes())
        return "a write is under way";
    if (!tools_are_idle())
        return "a handler is at work";
    for (unsigned i = 0; i < world->node_count; i++) {
        if (unrest_of(&world->nodes[i]))
            return unrest_of(&world->nodes[i]);
    }
    for (const struct stream *stream = world->streams; stream; stream = stream->next) {
        if (!stream->closed && !stream->node->dead)
            return "a stream is open";
    }
    return database_is_away() ? "the database is away" : NULL;
}

bool world_is_at_rest(void)
{
    return world->client->made && !unrest();
}

void world_describe_unrest(char *ret_text, size_t size)
{
    const struct record *record = database_find(world->client->run_id);

    (void)snprintf(ret_text, size, "%s; the run is %s", unrest(),
                   record ? run_status_name(record->row.status) : "not there");
}

/* ---- No call is executed twice, or without leave ---- */

static bool is_about(const char *arguments, const char *key)
{
    AUTO_FREE char *quoted = mem_printf("\"%s\"", key);

    return arguments && strstr(arguments, quoted);
}

static bool was_approved(const char *key)
{
    for (size_t i = 0; i < world->database->approval_count; i++) {
        const struct approval_row *row = &world->database->approvals[i];

        if (is_about(row->arguments, key))
            return row->status == APPROVAL_APPROVED;
    }
    return false;
}

/* The intention is in the store before the effect. */
static bool was_noted(const char *key)
{
    for (size_t i = 0; i < world->database->call_count; i++) {
        const struct call_row *row = &world->database->calls[i];

        if (is_about(row->arguments, key) && strcmp(row->tool, "runnel_approval") != 0)
            return row->state != CALL_WAITING;
    }
    return false;
}

void rules_check_begin(const struct tool_handler *handler, const char *key)
{
    bool once = !(handler->flags & TOOL_IDEMPOTENT);

    world_expect(!once || execution_of(key)->begun == 1, "%s is executed twice", key);
    if (handler->permission.execution != EXECUTION_AUTO)
        world_expect(was_approved(key), "%s is executed, and nobody has approved it", key);
    if (is(RUN_RESUMABLE))
        world_expect(was_noted(key), "%s is executed, and the store does not know", key);
}

static bool changes_hands(void)
{
    return ANY_OF(INCIDENT_CRASH, INCIDENT_CRASH_LATE, INCIDENT_PAUSE, INCIDENT_DRAIN,
                  INCIDENT_ABANDON, INCIDENT_AWAY, INCIDENT_CALL_LOST, INCIDENT_CALL_FAILS,
                  INCIDENT_LOSE_ANSWER, INCIDENT_NAP, INCIDENT_BLINK, INCIDENT_STALL);
}

/* Somebody says no, or nobody says anything. */
static bool may_be_refused(void)
{
    return world->scenario->decision != DECISION_APPROVE ||
           ANY_OF(INCIDENT_REJECT, INCIDENT_DRAIN, INCIDENT_SUBMIT, INCIDENT_SUBMIT_AWAY);
}

static void check_effect(const struct effect *effect, bool completed)
{
    const struct execution *execution = execution_of(effect->key);
    unsigned begun = execution ? execution->begun : 0;
    bool asks = strcmp(effect->tool, "asking") == 0;
    bool repeats = strcmp(effect->tool, "repeat") == 0;

    if (!repeats || !changes_hands())
        world_expect(begun <= 1, "%s was executed %u times", effect->key, begun);
    if (!completed || (asks && may_be_refused()) || (!repeats && changes_hands()))
        return;
    world_expect(begun, "%s was never executed", effect->key);
}

/* ---- One end, and the right one ---- */

/* Both tables: an incident, and the ends that a run may come to because of it. */
static unsigned status_bit(enum run_status status)
{
    return 1u << status;
}

static unsigned allowed_ends(const struct record *record)
{
    bool resumable = is(RUN_RESUMABLE);
    unsigned failed = status_bit(RUN_FAILED);
    unsigned late = world->scenario->face == FACE_ASSISTANTS ? status_bit(RUN_EXPIRED) : failed;
    unsigned ends = status_bit(world->scenario->ending);

    if (ANY_OF(INCIDENT_CANCEL, INCIDENT_CANCEL_AWAY))
        ends |= status_bit(RUN_CANCELLED);
    if (has_been(INCIDENT_DISCONNECT) && !resumable)
        ends |= status_bit(RUN_CANCELLED);
    if (ANY_OF(INCIDENT_REFUSE, INCIDENT_MODEL_FAILS))
        ends |= failed;
    if (has_been(INCIDENT_ABANDON) && world->scenario->face == FACE_RESPONSES)
        ends |= failed; /* it was not stored yet */
    if (!resumable && ANY_OF(INCIDENT_CRASH, INCIDENT_CRASH_LATE, INCIDENT_PAUSE, INCIDENT_AWAY,
                             INCIDENT_STALL))
        ends |= failed;
    if (ANY_OF(INCIDENT_APPROVE, INCIDENT_REJECT, INCIDENT_SUBMIT, INCIDENT_SUBMIT_AWAY,
               INCIDENT_DRAIN))
        ends |= status_bit(RUN_COMPLETED);
    if (clock_wall_us() >= record->row.expires_at)
        ends |= late;
    return ends;
}

static void check_end(const struct record *record)
{
    enum run_status status = record->row.status;

    world_expect(record->ends == 1, "the run ended %u times", record->ends);
    world_expect(allowed_ends(record) & status_bit(status), "the run ended as %s",
                 run_status_name(status));
}

/* The client was not told that it failed, and has heard of it. */
static void check_nothing_lost(const struct record *record)
{
    const struct client *client = world->client;

    if (is(RUN_STORED) && client->acknowledged)
        world_expect(record, "a run that was acknowledged is not there");
    if (!is(RUN_STORED))
        world_expect(!record && !world->database->item_count,
                     "what was not to be stored is in the store");
}

/* ---- What is there in the end ---- */

static const json_t *runnel_of(const json_t *body)
{
    return json_object_get(body, "runnel");
}

/* Answers of the model that count: those that were not cut. */
static unsigned count_answers(const struct record *record, const char *text)
{
    unsigned found = 0;

    for (size_t i = 0; i < world->database->item_count; i++) {
        const struct item_row *item = &world->database->items[i];
        json_auto_t *body = NULL;

        if (item->input || strcmp(item->run_id, record->row.id) != 0 ||
            strcmp(item->type, "message") != 0 || item->status != ITEM_COMPLETED)
            continue;
        body = json_parse_own(item->body);
        found += !json_get_bool(runnel_of(body), "cut", false) && strstr(item->body, text);
    }
    return found;
}

static void check_rows(const struct record *record)
{
    const struct database *database = world->database;

    for (size_t i = 0; i < database->item_count; i++)
        world_expect(database->items[i].status != ITEM_IN_PROGRESS || has_been(INCIDENT_REFUSE),
                     "item %s (%s) is open for ever", database->items[i].id,
                     database->items[i].type);
    for (size_t i = 0; i < database->step_count; i++)
        world_expect(database->steps[i].status != STEP_IN_PROGRESS || has_been(INCIDENT_REFUSE),
                     "step %s is open for ever", database->steps[i].id);
    (void)record;
}

/* Each output that the client gave is an item, once. */
static void check_outputs(void)
{
    const struct database *database = world->database;

    for (size_t i = 0; i < database->call_count; i++) {
        const struct call_row *call = &database->calls[i];
        unsigned found = 0;

        if (!call->client || strcmp(call->tool, "runnel_approval") == 0)
            continue;
        for (size_t k = 0; k < database->item_count; k++)
            found += strcmp(database->items[k].type, "function_call_output") == 0 &&
                     strcmp(database->items[k].call_id, call->call_id) == 0 &&
                     database->items[k].turn == call->turn;
        world_expect(found <= 1, "an output of call %s is there %u times", call->call_id,
                     found);
    }
}

static void check_completed(const struct record *record)
{
    bool suspended =
        ANY_OF(INCIDENT_DRAIN, INCIDENT_ABANDON) && world->scenario->decision != DECISION_NONE;
    unsigned answers;

    if (!world->scenario->says || suspended || has_been(INCIDENT_TOOL_LATE) ||
        world->scenario->ending != RUN_COMPLETED)
        return;
    answers = count_answers(record, world->scenario->says);
    world_expect(answers == 1, "the answer is there %u times", answers);
}

/* ---- What the clients have seen ---- */

static const char *skip_frames(const char *bytes, const char *end, int64_t count)
{
    for (int64_t i = 0; i < count && bytes < end; i++)
        bytes = (const char *)memmem(bytes, (size_t)(end - bytes), "\n\n", 2) + 2;
    return bytes;
}

/* Everybody sees a part of the same log. */
static void check_prefix(const struct stream *stream, const struct record *record)
{
    const char *end = record->log.data + record->log.length;
    const char *at = skip_frames(record->log.data, end, stream->first);

    world_expect(stream->bytes.length <= (size_t)(end - at) &&
                     memcmp(at, stream->bytes.data, stream->bytes.length) == 0,
                 "a client has seen what is not in the log");
}

/* What was to be its last write was refused: then it has failed, and nobody is told another word. */
static bool is_given_up(void)
{
    return world->refused > 1 ||
           (world->refused &&
            ANY_OF(INCIDENT_DRAIN, INCIDENT_ABANDON, INCIDENT_CANCEL, INCIDENT_CANCEL_AWAY));
}

/* A stream that was not cut says how the run ended, or that it waits. */
static void check_stream(const struct stream *stream, const struct record *record)
{
    bool cut = stream->broken || stream->gone;

    if (record && is(RUN_RESUMABLE) && stream->bytes.length)
        check_prefix(stream, record);
    if (stream->kind == STREAM_ANSWER) {
        world_expect(stream->answers <= 1, "a request is answered %d times", stream->answers);
        return;
    }
    if (cut)
        return;
    if (stream->ended && !is_given_up())
        world_expect(*stream->terminal || stream->paused,
                     "a stream ends before the run has ended");
    if (stream->numbered && !stream->node->draining && record)
        world_expect(stream->ended, "a follower's stream has no end");
}

/* Who was told an end was told the one that is stored. */
static void check_told_end(const struct stream *stream, const struct record *record)
{
    static const struct {
        const char *event;
        unsigned ends;
    } told[] = {
        {"completed", 1u << RUN_COMPLETED},
        {"incomplete", 1u << RUN_INCOMPLETE},
        {"cancelled", 1u << RUN_CANCELLED},
        {"expired", 1u << RUN_EXPIRED},
        {"failed", 1u << RUN_FAILED | 1u << RUN_CANCELLED | 1u << RUN_EXPIRED},
    };
    const char *name = strrchr(stream->terminal, '.');

    for (size_t i = 0; name && i < COUNT_OF(told); i++) {
        if (strcmp(name + 1, told[i].event) == 0)
            world_expect(told[i].ends & status_bit(record->row.status),
                         "the client is told %s, and the run is %s", stream->terminal,
                         run_status_name(record->row.status));
    }
}

/* The client of a foreground response hears its end, unless its server has died or it has left. */
static void check_served(void)
{
    const struct stream *stream = world->client->stream;
    bool lost = ANY_OF(INCIDENT_PAUSE, INCIDENT_AWAY, INCIDENT_REFUSE, INCIDENT_LOSE_ANSWER,
                       INCIDENT_STALL);

    if (!stream || stream->broken || stream->gone || lost || is(RUN_RESUMABLE))
        return;
    if (stream->kind == STREAM_ANSWER)
        world_expect(stream->answers == 1, "the request was not answered");
    else
        world_expect(stream->ended, "the stream has no end");
}

/* ---- All of them ---- */

void world_check_rules(void)
{
    const struct record *record = database_find(world->client->run_id);
    bool completed = record ? record->row.status == RUN_COMPLETED : false;

    check_nothing_lost(record);
    for (const struct effect *effect = world->scenario->effects; effect->key; effect++)
        check_effect(effect, completed);
    for (const struct stream *stream = world->streams; stream; stream = stream->next) {
        check_stream(stream, record);
        if (record)
            check_told_end(stream, record);
    }
    check_served();
    if (!record)
        return;
    check_end(record);
    check_rows(record);
    check_outputs();
    if (completed)
        check_completed(record);
}
