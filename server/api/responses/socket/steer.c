/*
 * socket/steer.c -- input for a response that is already running.
 *
 * A steer is accepted and waits for the run's next turn boundary. There the response ends, and the
 * input becomes that of another response, which continues it:
 *
 *   response.steer ─▶ accepted ─┬─▶ the response completes, or ends at the boundary as "steered":
 *                               │     the server adds a successor, in the same lane
 *                               ├─▶ it completes, and its client must answer calls: pending, until
 *                               │     the client continues it with a create in the same lane
 *                               └─▶ it ends in any other way: failed, with the input
 *
 * Why the input does not join the running response: a response keeps the input that it began with.
 * Clients were shown it, and it may be stored already. So steering makes two responses.
 *
 * Only the run knows whether it will come to such a boundary. engine_steer() asks it, on the loop that
 * both share. The run also emits the event that accepts the steer, since the event's number must be
 * one of the response's.
 *
 * No input is ever lost silently. It is in exactly one list: of the running turn, of a remembered
 * response that waits for its client, or of the turn that continues it. It leaves that list as the
 * input of a stored or running response, or with a response.steer.failed that carries it back. Only a
 * connection that is closed drops it.
 */

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "server/api/responses/socket/session.h"
#include "server/server.h"

struct steer {
    struct steer *next;
    char id[ID_SIZE];
    char target[ID_LIMIT + 1];
    json_t *input;
    size_t bytes;
};

/* ---- Lists ---- */

static void steers_add(struct steers *steers, struct steer *steer)
{
    struct steer **at = &steers->first;

    while (*at)
        at = &(*at)->next;
    *at = steer;
    steers->count++;
}

static void steer_free(struct session *session, struct steer *steer)
{
    session->steer_bytes -= steer->bytes;
    session_uncount(session, steer->bytes);
    json_decref(steer->input);
    free(steer);
}

void steers_clear(struct session *session, struct steers *steers)
{
    while (steers->first) {
        struct steer *steer = steers->first;

        steers->first = steer->next;
        steer_free(session, steer);
    }
    steers->count = 0;
}

void steers_drop(void *waiting, void *session)
{
    steers_clear(session, waiting);
    free(waiting);
}

json_t *steers_input(const struct steers *steers, const json_t *input)
{
    json_t *items = json_array();

    for (const struct steer *steer = steers->first; steer; steer = steer->next) {
        json_auto_t *more = ws_steer_items(steer->input);

        json_array_extend(items, more);
    }
    if (json_is_string(input)) {
        json_auto_t *more = ws_steer_items(input);

        json_array_extend(items, more);
    } else if (json_is_array(input)) {
        json_array_extend(items, (json_t *)(uintptr_t)input);
    } else if (!json_absent(input)) {
        json_array_append(items, (json_t *)(uintptr_t)input); /* is refused later, as no item */
    }
    return items;
}

/* ---- Events ---- */

static void send_failed(struct session *session, const char *lane, int64_t sequence,
                        json_t *steer, const char *code, const char *message)
{
    session_send(session, lane,
                 json_build("{s:s, s:I, s:o, s:{s:s, s:s, s:s}}", "type",
                            "response.steer.failed", "sequence_number", (json_int_t)sequence,
                            "steer", steer, "error", "type", "invalid_request_error", "code",
                            code, "message", message));
}

/* Refuses a steer. It was not accepted, so it has no id. */
static void refuse(struct session *session, const struct ws_command *command, const char *lane,
                   int64_t sequence, const char *code, const char *message)
{
    send_failed(session, lane, sequence,
                json_build("{s:s, s:O}", "previous_response_id", command->target, "input",
                           json_object_get(command->body, "input")),
                code, message);
}

/* Sends the accepted input back to the client. */
static void give_back(struct session *session, const char *lane, int64_t *sequence,
                      struct steers *steers, const char *code, const char *message)
{
    for (const struct steer *steer = steers->first; steer; steer = steer->next)
        send_failed(session, lane, (*sequence)++,
                    json_build("{s:s, s:s, s:O}", "id", steer->id, "previous_response_id",
                               steer->target, "input", steer->input),
                    code, message);
    steers_clear(session, steers);
}

static void send_pending(struct turn *turn)
{
    for (const struct steer *steer = turn->steers.first; steer; steer = steer->next)
        session_send(
            turn->session, turn->lane->name,
            json_build("{s:s, s:I, s:{s:s, s:s}, s:s, s:O}", "type", "response.steer.pending",
                       "sequence_number", (json_int_t)turn->next_sequence++, "steer", "id",
                       steer->id, "previous_response_id", steer->target, "reason",
                       "waiting_for_required_input", "required_input", turn->required));
}

/* ---- Answers that the client owes ---- */

/* clang-format off */
static const struct stub {
    enum item_type output; /* the type of the answer; ITEM_OTHER: needs none */
    const char *key;       /* under which it names the call */
} stubs[ITEM_TYPE_COUNT] = {
    [ITEM_FUNCTION_CALL]        = {ITEM_FUNCTION_CALL_OUTPUT,    "call_id"},
    [ITEM_CUSTOM_TOOL_CALL]     = {ITEM_CUSTOM_TOOL_CALL_OUTPUT, "call_id"},
    [ITEM_LOCAL_SHELL_CALL]     = {ITEM_LOCAL_SHELL_CALL_OUTPUT, "call_id"},
    [ITEM_SHELL_CALL]           = {ITEM_SHELL_CALL_OUTPUT,       "call_id"},
    [ITEM_APPLY_PATCH_CALL]     = {ITEM_APPLY_PATCH_CALL_OUTPUT, "call_id"},
    [ITEM_COMPUTER_CALL]        = {ITEM_COMPUTER_CALL_OUTPUT,    "call_id"},
    [ITEM_MCP_APPROVAL_REQUEST] = {ITEM_MCP_APPROVAL_RESPONSE,   "approval_request_id"},
};
/* clang-format on */

static bool is_answered(const struct item_row *const *items, size_t count,
                        const struct item_row *call)
{
    for (size_t i = 0; i < count; i++) {
        if (*call->call_id && strcmp(items[i]->run_id, call->run_id) == 0 &&
            item_type_is_output(items[i]->type) &&
            strcmp(items[i]->call_id, call->call_id) == 0)
            return true;
    }
    return false;
}

static json_t *required_stub(const struct item_row *item)
{
    const struct stub *stub = &stubs[item->type];
    json_t *required = json_build("{s:s}", "type", item_type_name(stub->output));
    bool is_question = item->type == ITEM_MCP_APPROVAL_REQUEST;

    json_set_string(required, stub->key,
                    is_question || !*item->call_id ? item->id : item->call_id);
    if (item->type == ITEM_FUNCTION_CALL) {
        json_auto_t *body = json_parse_own(item->body);

        json_set_string(required, "name", json_get_string(body, "name", ""));
    }
    return required;
}

json_t *steer_required(const struct item_row *const *items, size_t count, const char *run_id)
{
    json_t *required = NULL;

    for (size_t i = 0; i < count; i++) {
        if (!stubs[items[i]->type].output || items[i]->input || items[i]->hidden ||
            strcmp(items[i]->run_id, run_id) != 0 || is_answered(items, count, items[i]))
            continue;
        if (!required)
            required = json_array();
        json_array_append_new(required, required_stub(items[i]));
    }
    return required;
}

/* ---- While the response runs ---- */

/* The target is not running. The error says why, as far as the connection remembers it. */

static void refuse_late(struct session *session, const struct ws_command *command)
{
    struct ws_response *response = ws_memory_find(session->memory, command->target);

    if (!response)
        refuse(session, command, "", 0, "response_not_found",
               "The response is not available on this connection.");
    else if (response->completed)
        refuse(session, command, response->lane, response->next_sequence++,
               "response_already_completed",
               "The response has completed and accepts no more steering input.");
    else
        refuse(session, command, response->lane, response->next_sequence++,
               "response_not_active", "The response accepts no more steering input.");
}

static bool has_room(const struct turn *turn, size_t bytes)
{
    return turn->steers.count < WS_STEERS &&
           turn->session->steer_bytes + bytes <= WS_STEER_BYTES;
}

/* The run emits the event. */
static void accept_steer(struct turn *turn, const struct ws_command *command, size_t bytes)
{
    struct session *session = turn->session;
    struct steer *steer;
    char id[ID_SIZE];

    id_make(id, "steer_");
    if (!engine_steer(session->server->engine, turn->id, id)) {
        refuse(session, command, turn->lane->name, turn->next_sequence++, "response_not_active",
               "The response accepts no more steering input.");
        return;
    }
    steer = mem_new(struct steer);
    memcpy(steer->id, id, sizeof(id));
    (void)snprintf(steer->target, sizeof(steer->target), "%s", command->target);
    steer->input = json_incref(json_object_get(command->body, "input"));
    steer->bytes = bytes;
    session->steer_bytes += bytes;
    session_count(session, bytes);
    steers_add(&turn->steers, steer);
}

void steer_take(struct session *session, const struct ws_command *command, size_t bytes)
{
    struct turn *turn = turn_find(session, command->target);
    const char *lane = turn ? turn->lane->name : "";
    int64_t sequence = turn ? turn->next_sequence : 0;

    if (command->complaint.code)
        refuse(session, command, lane, sequence, "invalid_input", command->complaint.text);
    else if (!turn)
        refuse_late(session, command);
    else if (turn->in_conversation || turn->compacts)
        refuse(session, command, lane, sequence, "steering_not_supported",
               "A response that is bound to a conversation, or that compacts its context by "
               "itself, cannot be steered.");
    else if (!has_room(turn, bytes))
        refuse(session, command, lane, sequence, "too_many_pending_steers",
               "Too much steering input waits for this response.");
    else
        accept_steer(turn, command, bytes);
}

/* ---- At the end of the response ---- */

static void wait_for_client(struct turn *turn, struct ws_response *response)
{
    struct steers *waiting = mem_new(struct steers);

    send_pending(turn);
    *waiting = turn->steers;
    turn->steers = (struct steers){0};
    response->waiting = waiting;
}

void steer_settle(struct turn *turn, struct ws_response *response)
{
    bool whole = turn->end == TURN_COMPLETED || turn->end == TURN_STEERED;

    if (!turn->steers.count)
        return;
    if (!whole || turn->session->gone)
        give_back(turn->session, turn->lane->name, &turn->next_sequence, &turn->steers,
                  "response_not_active", "The response ended before it could be steered.");
    else if (turn->required && response)
        wait_for_client(turn, response);
    else
        turn_add_successor(turn);
}

/* ---- The response that continues ---- */

void steer_claim(struct ws_response *response, struct turn *turn)
{
    struct steers *waiting = response->waiting;

    if (!waiting)
        return;
    turn->steers_in = *waiting;
    free(waiting);
    response->waiting = NULL;
}

void steer_unclaim(struct turn *turn)
{
    struct session *session = turn->session;
    struct ws_response *parent = ws_memory_find(session->memory, turn->parent);
    struct steers *waiting;
    int64_t none = 0;

    if (!turn->steers_in.count)
        return;
    if (!parent || turn->automatic || session->gone) {
        give_back(session, turn->lane->name, parent ? &parent->next_sequence : &none,
                  &turn->steers_in, "successor_creation_failed",
                  *turn->err.text ? turn->err.text : "The next response could not be created.");
        return;
    }
    waiting = mem_new(struct steers);
    *waiting = turn->steers_in;
    turn->steers_in = (struct steers){0};
    parent->waiting = waiting;
}
