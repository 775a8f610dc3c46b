/*
 * The rules: what the engine promises to a client, as far as one run can show it.
 *
 * Each rule is checked in the step in which it could be broken, or else when the world has come to rest:
 *
 *   world_stream.c    in each event: it is stored before it is sent, numbers have no gaps, nothing comes
 *                     behind the end
 *   world_database.c  in each commit: a run ends once, its log has no gaps, a row has one maker
 *   world_model.c     in each request: the outputs of a call follow it, one for each
 *   here, at once     when a handler begins: no call twice, none without approval, none that the store
 *                     does not know
 *   here, at rest     the run ended once and rightly; nothing that was acknowledged is lost; nothing is
 *                     open; what clients have seen is what is stored
 *
 * Strict by default. A rule allows an exception only for incidents that the schedule really had
 * (has_been()), and names them. Without incidents each scenario must end exactly as it says. An
 * exception that is too wide hides bugs, so it is as narrow as the promise allows: a client that hung
 * up allows RUN_CANCELLED for a foreground response, but not for a run that others continue.
 *
 * What an end may be is a set (allowed_ends()), because two incidents race: a run that is cancelled in
 * the step in which it completes may rightly be either. What must hold in all cases is that there is
 * one end, and that all see the same.
 *
 * The rules know nothing of how the engine works. They read the rows, the bytes of the streams and the
 * counters of the handlers, and never a struct run. Where they could take a number from the engine,
 * they count by themselves. A rule that believed the engine would be wrong together with it.
 *
 * A rule that was never broken proves nothing. README.md lists guards of the engine that were removed
 * on purpose, and which rule reported each.
 */

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/approval/run_approvals.h"
#include "tests/unit/core/run/engine/scenario.h"
#include "tests/unit/core/run/engine/schedule.h"
#include "tests/unit/core/run/engine/world_client.h"
#include "tests/unit/core/run/engine/world_database.h"
#include "tests/unit/core/run/engine/world_grants.h"
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
                 COUNT_OF(((const enum incident[]){__VA_ARGS__})))

static bool is(enum run_flags flag)
{
    return world->scenario->flags & flag;
}

static bool is_of_thread(void)
{
    return world->scenario->face == FACE_ASSISTANTS;
}

/* ---- Nothing waits for ever ---- */

/* Every run ends when its time is over, at the latest. So a world in which something is left to do after
 * that has a run, a stream or a write that was forgotten. Dead nodes owe nothing. */
static const char *unrest_of_node(const struct node *node)
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

static const char *unrest_of_client(struct client *client)
{
    const struct record *record = database_find(client->run_id);

    if (!client_is_done(client))
        return "a client wants something";
    if (record && !run_status_is_final(record->row.status))
        return run_status_name(record->row.status);
    return record && record->lease.exists ? "an ended run has a lease" : NULL;
}

static const char *unrest(void)
{
    const char *why = NULL;

    for (unsigned i = 0; !why && i < world->client_count; i++)
        why = unrest_of_client(world->clients[i]);
    for (unsigned i = 0; !why && i < world->node_count; i++)
        why = unrest_of_node(&world->nodes[i]);
    if (why)
        return why;
    if (database_has_writes())
        return "a write is under way";
    if (!tools_are_idle())
        return "a handler is at work";
    for (const struct stream *stream = world->streams; stream; stream = stream->next) {
        if (!stream->closed && !stream->node->dead)
            return "a stream is open";
    }
    return database_is_away() ? "the database is away" : NULL;
}

bool world_is_at_rest(void)
{
    return !unrest();
}

void world_describe_unrest(char *ret_text, size_t size)
{
    (void)snprintf(ret_text, size, "%s", unrest());
}

/* ---- No call is executed twice, or without approval ---- */

static bool is_about(const char *arguments, const char *key)
{
    AUTO_FREE char *quoted = mem_printf("\"%s\"", key);

    return strstr(arguments, quoted);
}

static bool was_approved(const char *run_id, const char *key)
{
    for (size_t i = 0; i < world->database->approval_count; i++) {
        const struct approval_row *row = &world->database->approvals[i];

        if (strcmp(row->run_id, run_id) == 0 && is_about(row->arguments, key))
            return row->status == APPROVAL_APPROVED;
    }
    return false;
}

static const struct call_row *row_of(const char *run_id, const char *key)
{
    for (size_t i = 0; i < world->database->call_count; i++) {
        const struct call_row *row = &world->database->calls[i];

        if (strcmp(row->run_id, run_id) == 0 && is_about(row->arguments, key) &&
            strcmp(row->tool, RUN_APPROVAL_FUNCTION) != 0)
            return row;
    }
    return NULL;
}

/* The row of the call must say that it is executed before the handler begins. Otherwise a node that takes
 * the run over would take the call for one that never began, and execute it again. */
static bool was_noted(const char *run_id, const char *key)
{
    const struct call_row *row = row_of(run_id, key);

    return row && row->state != CALL_WAITING;
}

void rules_check_begin(const struct tool_handler *handler, const char *run_id, const char *key)
{
    if (!(handler->flags & TOOL_IDEMPOTENT))
        world_expect(execution_of(run_id, key)->begun == 1, "%s is executed twice", key);
    if (tool_asks(handler->name))
        world_expect(was_approved(run_id, key) || world->grants->made,
                     "%s is executed without approval", key);
    if (is(RUN_RESUMABLE))
        world_expect(was_noted(run_id, key), "%s is executed before the store knows", key);
}

/* ---- What a call does is seen and stored when it happens ---- */

/* The node that has the run, if nothing more happens there by itself; otherwise NULL. */
static const struct node *quiet_owner(const struct record *record)
{
    for (unsigned i = 0; i < world->node_count; i++) {
        const struct node *node = &world->nodes[i];

        if (strcmp(node->id, record->lease.owner) == 0 && node_is_up(node) &&
            loop_is_quiet(engine_any_loop(node->engine)))
            return node;
    }
    return NULL;
}

static bool has_open_call(const char *run_id)
{
    for (size_t i = 0; i < world->database->item_count; i++) {
        const struct item_row *item = &world->database->items[i];

        if (strcmp(item->run_id, run_id) == 0 && item->status == ITEM_IN_PROGRESS &&
            *item->call_id)
            return true;
    }
    return false;
}

/* The others may be lost with the node while one call is silent: the end of each is stored by then. */
static void check_ends(const char *run_id, const struct node *node)
{
    for (const struct effect *effect = world->scenario->effects; effect->key; effect++) {
        const struct execution *execution = execution_of(run_id, effect->key);
        const struct call_row *row = row_of(run_id, effect->key);

        if (execution && execution->node == node)
            world_expect(row && row->state == CALL_DONE,
                         "%s has ended, and the store does not know", effect->key);
    }
}

void rules_check_quiet(void)
{
    if (!is(RUN_RESUMABLE) || database_has_writes() || database_is_away())
        return;
    for (unsigned i = 0; i < world->client_count; i++) {
        const char *run_id = world->clients[i]->run_id;
        const struct record *record = database_find(run_id);
        const struct node *node = record ? quiet_owner(record) : NULL;

        if (!node || record->row.status != RUN_IN_PROGRESS)
            continue;
        check_ends(run_id, node);
        if (tools_are_seen(run_id, node))
            world_expect(has_open_call(run_id), "a handler is at work, and no client knows");
    }
}

/* Another owner may continue the run. It cannot know whether a call that had begun has had its effect: a
 * call that must not be repeated may then be missing, one that may be repeated may be executed twice. */
static bool changes_hands(void)
{
    return ANY_OF(INCIDENT_CRASH, INCIDENT_CRASH_LATE, INCIDENT_PAUSE, INCIDENT_DRAIN,
                  INCIDENT_ABANDON, INCIDENT_AWAY, INCIDENT_STALL, INCIDENT_CALL_LOST,
                  INCIDENT_CALL_FAILS, INCIDENT_LOSE_ANSWER);
}

/* The response may end with its approval requests open. The next request would answer them. */
static bool may_suspend(void)
{
    return world->scenario->asks &&
           (ANY_OF(INCIDENT_DRAIN, INCIDENT_ABANDON, INCIDENT_EXPIRE, INCIDENT_STALL) ||
            (world->scenario->decision == DECISION_NONE &&
             world->scenario->grants == GRANT_NEVER));
}

static bool may_be_refused(void)
{
    bool allowed =
        world->scenario->decision == DECISION_APPROVE || world->scenario->grants != GRANT_NEVER;

    return !allowed || has_been(INCIDENT_REJECT) || may_suspend();
}

/* At most once, always. At least once, if the run completed and nothing may have skipped the call. */
static void check_effect(const struct client *client, const struct effect *effect,
                         bool completed)
{
    const struct execution *execution = execution_of(client->run_id, effect->key);
    unsigned begun = execution ? execution->begun : 0;
    bool repeats = tool_repeats(effect->tool);

    if (!repeats || !changes_hands())
        world_expect(begun <= 1, "%s was executed %u times", effect->key, begun);
    if (!completed || has_been(INCIDENT_STEER) ||
        (world->scenario->reads && has_been(INCIDENT_BLINK)) ||
        (tool_asks(effect->tool) && may_be_refused()) || (!repeats && changes_hands()))
        return;
    world_expect(begun, "%s was never executed", effect->key);
}

/* ---- One end, and a right one ---- */

static unsigned bit(enum run_status status)
{
    return 1u << status;
}

/* Without such an incident every run has an end of its own long before its time is over. One that waited
 * for something that was forgotten, such as a slot, expires in silence. */
static bool may_run_late(void)
{
    return has_been(INCIDENT_EXPIRE) || changes_hands();
}

static unsigned allowed_ends(const struct record *record)
{
    bool resumable = is(RUN_RESUMABLE);
    unsigned ends = bit(world->scenario->ending);

    if (ANY_OF(INCIDENT_CANCEL, INCIDENT_CANCEL_AWAY))
        ends |= bit(RUN_CANCELLED);
    if (ANY_OF(INCIDENT_HANG_UP, INCIDENT_LEAVE_MIDWAY) && !resumable)
        ends |= bit(RUN_CANCELLED);
    if (ANY_OF(INCIDENT_REFUSE, INCIDENT_MODEL_FAILS))
        ends |= bit(RUN_FAILED);
    if (has_been(INCIDENT_STEER))
        ends |= bit(RUN_INCOMPLETE);
    if (world->scenario->conversation && !resumable && has_been(INCIDENT_CALL_LOST))
        ends |= bit(RUN_FAILED); /* it was created, and its maker never learned of it */
    if (has_been(INCIDENT_ABANDON) && !is_of_thread())
        ends |= bit(RUN_FAILED); /* it was not in the store yet */
    if (!resumable && ANY_OF(INCIDENT_CRASH, INCIDENT_CRASH_LATE, INCIDENT_PAUSE, INCIDENT_AWAY,
                             INCIDENT_STALL))
        ends |= bit(RUN_FAILED);
    if (ANY_OF(INCIDENT_APPROVE, INCIDENT_REJECT, INCIDENT_SUBMIT, INCIDENT_SUBMIT_AWAY,
               INCIDENT_DRAIN, INCIDENT_ABANDON))
        ends |= bit(RUN_COMPLETED);
    if (clock_wall_us() >= record->row.expires_at && may_run_late())
        ends |= bit(is_of_thread() ? RUN_EXPIRED : RUN_FAILED);
    return ends;
}

static void check_end(const struct record *record)
{
    enum run_status status = record->row.status;

    world_expect(record->ends == 1, "the run ended %u times", record->ends);
    world_expect(allowed_ends(record) & bit(status), "the run ended as %s",
                 run_status_name(status));
}

/* ---- Nothing that was acknowledged is lost ---- */

static void check_kept(const struct client *client, const struct record *record)
{
    if (client->acknowledged)
        world_expect(record, "a run that was acknowledged is lost");
    if (!is(RUN_STORED))
        world_expect(!record && !world->database->item_count,
                     "what was not to be stored is in the store");
}

/* An output that the client submitted becomes at most one item, and exactly one if the run completed. */
static void check_outputs(const struct record *record)
{
    const struct database *database = world->database;

    for (size_t i = 0; i < database->call_count; i++) {
        const struct call_row *call = &database->calls[i];
        unsigned found = 0;

        if (!call->client || strcmp(call->tool, RUN_APPROVAL_FUNCTION) == 0 ||
            strcmp(call->run_id, record->row.id) != 0)
            continue;
        for (size_t k = 0; k < database->item_count; k++)
            found += database->items[k].type == ITEM_FUNCTION_CALL_OUTPUT &&
                     strcmp(database->items[k].run_id, call->run_id) == 0 &&
                     strcmp(database->items[k].call_id, call->call_id) == 0 &&
                     database->items[k].turn == call->turn;
        world_expect(found <= 1, "the output of %s is stored %u times", call->call_id, found);
        if (call->state == CALL_DONE && record->row.status == RUN_COMPLETED)
            world_expect(found, "the output of %s was accepted, and is lost", call->call_id);
    }
}

/* A call that the server executed has one item with what the row has; those that a crash has cut beside it
 * do not count. */
static void check_call(const struct call_row *call)
{
    json_auto_t *output = json_parse_own(call->output ? call->output : "{}");
    const char *whole = json_get_string(output, "output", json_get_string(output, "error", ""));
    const char *last = strrchr(whole, '\n');
    const char *text = last ? last + 1 : whole; /* the same in JSON */
    bool of_tool = strstr(text, "done ") || strstr(text, "went wrong");
    unsigned found = 0;

    for (size_t i = 0; i < world->database->item_count; i++) {
        const struct item_row *item = &world->database->items[i];

        if (strcmp(item->run_id, call->run_id) != 0 || item->turn != call->turn ||
            strcmp(item->call_id, call->call_id) != 0 || item_row_is_cut(item))
            continue;
        found++;
        world_expect(!of_tool || strstr(item->body, text),
                     "the result of %s is not in its item", call->call_id);
    }
    world_expect(found == 1, "%s has ended, and has %u items", call->call_id, found);
}

static void check_calls(const struct record *record)
{
    for (size_t i = 0; i < world->database->call_count; i++) {
        const struct call_row *call = &world->database->calls[i];

        if (record->row.status == RUN_COMPLETED && is(RUN_RESUMABLE) && !call->client &&
            strcmp(call->run_id, record->row.id) == 0)
            check_call(call);
    }
}

/* ---- What is stored in the end ---- */

static bool is_of(const struct item_row *item, const struct record *record)
{
    return !item->input && strcmp(item->run_id, record->row.id) == 0;
}

/* What clients find in the run: hidden items are in no output and no list. */
static bool is_shown(const struct item_row *item, const struct record *record)
{
    return is_of(item, record) && !item->hidden;
}

/* The caller frees. */
static char *text_of(const struct item_row *message)
{
    json_auto_t *body = json_parse_own(message->body);
    struct buf text = {0};
    size_t i;
    json_t *part;

    json_array_foreach (json_object_get(body, "content"), i, part)
        buf_add_text(&text, json_get_string(part, "text", ""));
    return text.data ? text.data : mem_strdup("");
}

static unsigned count_texts(const struct record *record, const char *wanted)
{
    unsigned found = 0;

    for (size_t i = 0; i < world->database->item_count; i++) {
        const struct item_row *item = &world->database->items[i];
        AUTO_FREE char *text = item->type == ITEM_MESSAGE ? text_of(item) : NULL;

        found += text && is_shown(item, record) && strcmp(text, wanted) == 0;
    }
    return found;
}

/* What the model says in that turn, from its first piece to its last. The caller frees. */
static char *whole_text(const struct piece *turn)
{
    struct buf text = {0};

    for (; turn->kind; turn++) {
        if (turn->kind == PIECE_TEXT)
            buf_add_text(&text, turn->text);
    }
    return text.data ? text.data : mem_strdup("");
}

/* The pieces of final tools that have ended: words, and what one returns that has said none. */
static bool is_of_tools(const char *text)
{
    static const char *const pieces[] = {"word ", "done \nk1", "done \nk2"};
    size_t i = 0;

    while (*text && i < COUNT_OF(pieces)) {
        size_t length = strlen(pieces[i]);
        bool fits = strncmp(text, pieces[i], length) == 0;

        text += fits ? length : 0;
        i = fits ? 0 : i + 1;
    }
    return !*text;
}

/* Whether a turn of the model says exactly this, or tools whose text is the answer. */
static bool is_whole(const char *text)
{
    bool found = is_of_tools(text);

    for (size_t i = 0; i < SCENARIO_TURNS && world->scenario->turns[i]; i++) {
        AUTO_FREE char *whole = whole_text(world->scenario->turns[i]);

        found |= strcmp(text, whole) == 0;
    }
    return found;
}

/* A crash makes a turn again. The result has one answer of each turn, and that one is whole. */
static void check_result(const struct record *record)
{
    if (record->row.status != RUN_COMPLETED)
        return;
    for (size_t i = 0; i < world->database->item_count; i++) {
        const struct item_row *item = &world->database->items[i];
        AUTO_FREE char *text = NULL;

        if (!is_shown(item, record))
            continue;
        world_expect(!strstr(item->body, "\"cut\":true"), "a %s that was cut is in the result",
                     item_type_name(item->type));
        if (item->type != ITEM_MESSAGE)
            continue;
        text = text_of(item);
        world_expect(is_whole(text), "\"%s\" is in the result", text);
        world_expect(!*text || count_texts(record, text) == 1,
                     "\"%s\" is in the result more than once", text);
    }
}

/* ---- What the last event shows ---- */

static bool is_event(const char *frame, const char *name)
{
    AUTO_FREE char *line = mem_printf("event: %s\n", name);

    return strncmp(frame, line, strlen(line)) == 0;
}

/* The data of a frame, which ends at `end`. New reference. */
static json_t *data_of(const char *frame, const char *end)
{
    const char *data = strstr(frame, "\ndata: ") + strlen("\ndata: ");
    json_t *event = NULL;

    world_expect(json_parse(data, (size_t)(end - data), &event, NULL) == ERR_OK,
                 "an event is no JSON");
    return event;
}

/* The output of the last event is what the store shows, in that order. */
static void check_output(const struct record *record, const json_t *output)
{
    size_t shown = 0;

    for (size_t i = 0; i < world->database->item_count; i++)
        shown += is_shown(&world->database->items[i], record);
    world_expect(json_array_size(output) == shown, "the last event shows %zu items of %zu",
                 json_array_size(output), shown);
    for (size_t i = 0; i < shown; i++) {
        const char *id = json_get_string(json_array_get(output, i), "id", "");
        const struct item_row *found = NULL;

        for (size_t k = 0; k < world->database->item_count; k++) {
            const struct item_row *item = &world->database->items[k];

            if (strcmp(item->id, id) == 0)
                found = item;
        }
        world_expect(found && is_shown(found, record), "the last event shows %s", id);
    }
}

/* Each item of a stream has a place of its own, also behind those that were cut. */
static void check_places(const struct record *record)
{
    const char *at = record->log.data;
    const char *end = at + record->log.length;
    json_int_t next = 0;

    if (record->row.status != RUN_COMPLETED || is_of_thread() || !is(RUN_RESUMABLE))
        return;
    for (const char *stop; at < end; at = stop + 2) {
        json_auto_t *event = NULL;

        stop = (const char *)memmem(at, (size_t)(end - at), "\n\n", 2);
        if (is_event(at, "response.output_item.added")) {
            event = data_of(at, stop);
            world_expect(json_get_int(event, "output_index", -1) == next++,
                         "an item has the place of another");
        } else if (is_event(at, "response.completed")) {
            event = data_of(at, stop);
            check_output(record, json_object_get(json_object_get(event, "response"), "output"));
        }
    }
}

/* The answer that a client waits for is there, and only once. */
static unsigned count_answers(const struct record *record)
{
    unsigned found = 0;

    for (size_t i = 0; i < world->database->item_count; i++) {
        const struct item_row *item = &world->database->items[i];

        found += is_shown(item, record) && item->type == ITEM_MESSAGE &&
                 item->status == ITEM_COMPLETED && strstr(item->body, world->scenario->says);
    }
    return found;
}

static void check_answer(const struct record *record)
{
    unsigned answers;

    if (!world->scenario->says || world->scenario->ending != RUN_COMPLETED ||
        record->row.status != RUN_COMPLETED || may_suspend() || has_been(INCIDENT_TOOL_LATE))
        return;
    answers = count_answers(record);
    world_expect(answers == 1, "the answer is stored %u times", answers);
}

/* The node died before the last write: store_runs_fail_foreground() ends the row of the run, and knows
 * nothing of its items. */
static bool was_left(const struct record *record)
{
    return !is(RUN_RESUMABLE) && record->row.status == RUN_FAILED;
}

static void check_rows(const struct record *record)
{
    const struct database *database = world->database;

    if (world->refused || was_left(record))
        return;
    for (size_t i = 0; i < database->item_count; i++)
        world_expect(!is_of(&database->items[i], record) ||
                         database->items[i].status != ITEM_IN_PROGRESS,
                     "a %s is open for ever", item_type_name(database->items[i].type));
    for (size_t i = 0; i < database->step_count; i++)
        world_expect(strcmp(database->steps[i].run_id, record->row.id) != 0 ||
                         database->steps[i].status != STEP_IN_PROGRESS,
                     "a step is open for ever");
}

/* The items of a response are appended to its conversation if, and only if, it completed or was cut by a
 * limit. */
static void check_conversation(const struct record *record)
{
    bool appended = record->row.status == RUN_COMPLETED || record->row.status == RUN_INCOMPLETE;

    for (size_t i = 0; world->scenario->conversation && i < world->database->item_count; i++) {
        const struct item_row *item = &world->database->items[i];

        if (strcmp(item->run_id, record->row.id) == 0)
            world_expect(appended == (*item->thread_id != '\0'),
                         "a %s is %s the conversation of a run that is %s",
                         item_type_name(item->type), *item->thread_id ? "in" : "not in",
                         run_status_name(record->row.status));
    }
}

/* ---- What the clients have seen ---- */

static const char *skip_frames(const char *bytes, const char *end, int64_t count)
{
    while (count-- > 0 && bytes < end)
        bytes = (const char *)memmem(bytes, (size_t)(end - bytes), "\n\n", 2) + 2;
    return bytes;
}

/* What a client has seen is a piece of the log, byte by byte, from the frame that it wanted. */
static void check_prefix(const struct stream *stream, const struct record *record)
{
    const char *end = record->log.data + record->log.length;
    const char *at = skip_frames(record->log.data, end, stream->first);

    world_expect(stream->bytes.length <= (size_t)(end - at) &&
                     memcmp(at, stream->bytes.data, stream->bytes.length) == 0,
                 "a client has seen what is not in the log");
}

/* The run was given up: even the write of its failure was refused. Its streams are closed without an end. */
static bool is_given_up(void)
{
    return world->refused > 1 ||
           (world->refused &&
            ANY_OF(INCIDENT_DRAIN, INCIDENT_ABANDON, INCIDENT_CANCEL, INCIDENT_CANCEL_AWAY));
}

/* The final event that a client was sent is the status that is stored. A cancelled response is sent as
 * failed, because OpenAI's API has no event for it. */
static void check_final_event(const struct stream *stream, const struct record *record)
{
    static const struct {
        const char *event;
        unsigned ends;
    } finals[] = {
        {"completed", 1u << RUN_COMPLETED},
        {"incomplete", 1u << RUN_INCOMPLETE},
        {"cancelled", 1u << RUN_CANCELLED},
        {"expired", 1u << RUN_EXPIRED},
        {"failed", 1u << RUN_FAILED | 1u << RUN_CANCELLED},
    };
    const char *name = strrchr(stream->terminal, '.');

    for (size_t i = 0; name && i < COUNT_OF(finals); i++) {
        if (strcmp(name + 1, finals[i].event) == 0)
            world_expect(finals[i].ends & bit(record->row.status),
                         "the client is sent %s, and the run is %s", stream->terminal,
                         run_status_name(record->row.status));
    }
}

/* The node may have lost the run, or given it up: the stream is closed, and its client follows again. */
static bool may_lose_run(const struct node *node)
{
    return node->draining ||
           ANY_OF(INCIDENT_PAUSE, INCIDENT_AWAY, INCIDENT_STALL, INCIDENT_LOSE_ANSWER);
}

/* A stream that the client did not leave ends with the end of the run, or says that the run waits. */
static void check_stream(const struct stream *stream)
{
    const struct record *record = database_find(stream->client->run_id);

    world_expect(stream->answers <= 1, "a request is answered %d times", stream->answers);
    if (record && is(RUN_RESUMABLE) && stream->bytes.length)
        check_prefix(stream, record);
    if (record)
        check_final_event(stream, record);
    if (stream->kind == STREAM_ANSWER || stream_is_cut(stream) || is_given_up())
        return;
    if (stream->ended)
        world_expect(*stream->terminal || stream->paused, "a stream ends before its run");
    else if (!may_lose_run(stream->node))
        world_expect(!stream->closed, "a stream is closed without its end");
    if (stream->numbered && record && !stream->node->draining)
        world_expect(stream->ended, "a follower's stream has no end");
}

/* The client of a foreground response receives its end, unless it has left or its server was away. */
static void check_served(const struct client *client)
{
    const struct stream *stream = client->stream;
    bool lost = ANY_OF(INCIDENT_PAUSE, INCIDENT_AWAY, INCIDENT_STALL, INCIDENT_REFUSE);

    if (!stream || stream_is_cut(stream) || lost || is(RUN_RESUMABLE))
        return;
    if (stream->kind == STREAM_ANSWER)
        world_expect(stream->answers == 1, "the request was not answered");
    else
        world_expect(stream->ended && *stream->terminal, "the stream has no end");
}

/* ---- All of them ---- */

static void check_run(const struct client *client)
{
    const struct record *record = database_find(client->run_id);
    bool completed = record && record->row.status == RUN_COMPLETED;

    check_kept(client, record);
    check_served(client);
    for (const struct effect *effect = world->scenario->effects; effect->key; effect++)
        check_effect(client, effect, completed);
    if (!record)
        return;
    check_end(record);
    check_rows(record);
    check_outputs(record);
    check_calls(record);
    check_answer(record);
    check_result(record);
    check_places(record);
    check_conversation(record);
}

void world_check_rules(void)
{
    for (const struct stream *stream = world->streams; stream; stream = stream->next)
        check_stream(stream);
    for (unsigned i = 0; i < world->client_count; i++)
        check_run(world->clients[i]);
}
