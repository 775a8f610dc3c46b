#include "server/encode/encode_chain.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/notes.h"
#include "core/run/context/chain.h"
#include "core/run/context/chain_log.h"
#include "core/run/context/context.h"
#include "server/encode/encode.h"
#include "server/encode/encode_field.h"

/*
 * The chain of a run is what it did between its question and its answer: rounds of tool calls, each
 * with arguments, result, duration and tokens. OpenAI's APIs spread that over items, steps and usage.
 * Applications that show or evaluate a chain want it in one object, GET /v1/runnel/.../chain.
 *
 * Nothing is stored for it. Items have the calls, notes in them the times and rounds, and the usage of
 * the run has the tokens of each turn. So the chain of any run can be shown, old ones too, and the two
 * views cannot disagree.
 *
 * The texts (response_content, tool_chain_content, messages) come from the same functions that give a
 * model its compact history, so a person reads what such a model reads.
 */

/* ---- Counts and times ---- */

static json_int_t milliseconds(int64_t microseconds)
{
    return microseconds / 1000;
}

/* The time of the end. A run has at most one of these times, so their sum is that one. An expired run may have
 * none; then it counts as ended when it was due. */
static int64_t end_of(const struct run_row *row)
{
    int64_t end = row->completed_at + row->failed_at + row->cancelled_at + row->incomplete_at;

    return row->status == RUN_EXPIRED && !end ? row->expires_at : end;
}

static json_t *stats(const struct run_row *row)
{
    json_auto_t *tokens = json_parse_own(row->usage);
    const json_t *notes = notes_of(tokens);
    int64_t begin = row->started_at ? row->started_at : row->created_at;
    int64_t end = run_status_is_final(row->status) ? end_of(row) : 0;
    json_t *object =
        json_build("{s:I, s:I, s:n, s:I, s:n}", "rounds", json_get_int(notes, "rounds", 0),
                   "calls", json_get_int(notes, "calls", 0), "total_ms", "started_at",
                   milliseconds(begin), "ended_at");

    if (!end)
        return object;
    json_set_int(object, "total_ms", milliseconds(end - begin));
    json_set_int(object, "ended_at", milliseconds(end));
    return object;
}

/* The phase in which a failed run failed. It is noted with the run; without a note it was the execution. */
static const char *error_phase(const struct run_row *row, const json_t *notes)
{
    if (row->status != RUN_FAILED)
        return NULL;
    return json_get_string(notes, "error_phase", chain_phase_name(CHAIN_EXECUTION));
}

/* A run without calls has no statistics: the object stays as OpenAI's. */
void encode_chain_stats(json_t *object, const struct run_row *row)
{
    json_auto_t *counted = NULL;
    json_auto_t *tokens = NULL;
    const char *phase;

    if (!run_status_is_final(row->status) || !row->usage)
        return;
    counted = stats(row);
    if (!json_get_int(counted, "calls", 0))
        return;
    json_set(notes_make(object), "stats", json_incref(counted));
    tokens = json_parse_own(row->usage);
    phase = error_phase(row, notes_of(tokens));
    if (phase)
        json_set_string(notes_make(object), "error_phase", phase);
}

/* ---- The result ---- */

/* A response that expires is stored as failed. Its message is the only trace. */
static bool took_too_long(const struct run_row *row)
{
    json_auto_t *error = json_parse_own(row->error);

    return row->status == RUN_EXPIRED ||
           strcmp(json_get_string(error, "message", ""), RUN_TOOK_TOO_LONG) == 0;
}

static const char *chain_status(const struct run_row *row)
{
    if (took_too_long(row))
        return "timeout";
    switch (row->status) {
    case RUN_COMPLETED:
    case RUN_INCOMPLETE: return "completed";
    case RUN_CANCELLING:
    case RUN_CANCELLED: return "aborted";
    case RUN_FAILED: return "error";
    default: return "running";
    }
}

/* What add_call() needs while it walks the items. */
struct history {
    json_t *calls; /* the result */
    const json_t *tokens;
    const struct item_row *const *items;
    const json_t *bodies;
};

/* Models write arguments that are no JSON. They are shown as they are, under a key of their own. */
static json_t *arguments_of(const struct chain_call *call)
{
    const char *text = *call->arguments ? call->arguments : "{}";
    json_t *args = NULL;

    if (json_parse_exact(text, strlen(text), &args, NULL))
        return json_build("{s:s}", "_raw", text);
    return args;
}

static json_t *result_of(const struct chain_call *call, const json_t *notes)
{
    return json_build("{s:s, s:s?, s:s?, s:s?, s:s?, s:s?, s:s?}", "status", call->status,
                      "data", call->data, "error", call->error, "error_phase",
                      json_get_string(notes, "error_phase", NULL), "reject_reason",
                      call->reject_reason, "cache_var_args", call->args_variable,
                      "cache_var_result", call->result_variable);
}

/* The tokens of the turn after the call: the request that sent its result to the model. */
static json_t *usage_of(const struct history *history, size_t at)
{
    struct chain_turn turn;

    if (!chain_usage_after(history->tokens, history->items[at]->turn, &turn))
        return json_null();
    return json_build("{s:I, s:I, s:I}", "input_tokens", (json_int_t)turn.input,
                      "output_tokens", (json_int_t)turn.output, "total_tokens",
                      (json_int_t)(turn.input + turn.output));
}

static json_t *copy_of(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);

    return value ? json_incref(value) : json_null();
}

static void add_call(void *arg, size_t at, const struct chain_call *call)
{
    struct history *history = arg;
    const struct item_row *item = history->items[at];
    const json_t *notes = notes_of(json_array_get(history->bodies, at));

    json_array_append_new(
        history->calls,
        json_build("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "call_id",
                   *item->call_id ? item->call_id : item->id, "tool_name", call->name, "args",
                   arguments_of(call), "result", result_of(call, notes), "start_time",
                   copy_of(notes, "start"), "end_time", copy_of(notes, "end"), "round_index",
                   copy_of(notes, "round"), "llm_usage", usage_of(history, at)));
}

static json_t *text_of(const struct buf *text)
{
    return json_stringn_nocheck(text->data ? text->data : "", text->length);
}

json_t *encode_chain(const struct run_row *row, const struct item_row *items, size_t count)
{
    AUTO_FREE const struct item_row **places =
        mem_new_array(const struct item_row *, count + 1);
    json_auto_t *tokens = json_parse_own(row->usage);
    json_auto_t *bodies = json_array();
    struct history history = {
        .calls = json_array(), .tokens = tokens, .items = places, .bodies = bodies};
    json_t *object = encode_new(row->id, "runnel.chain", row->created_at);
    CLEANUP(chain_text_clear) struct chain_text text;
    const char *phase;

    for (size_t i = 0; i < count; i++) {
        places[i] = &items[i];
        json_array_append_new(bodies, json_parse_own(items[i].body));
    }
    chain_text_render(&text, places, bodies, 0, count, NULL);
    chain_each_call(places, bodies, 0, count, add_call, &history);
    json_set_string(object, "status", chain_status(row));
    json_set(object, "response_content", text_of(&text.flow));
    json_set(object, "tool_chain_content", text_of(&text.hint));
    json_set(object, "messages",
             json_build("{s:o}", "tool_chain", context_messages(NULL, places, count)));
    json_set(object, "tool_call_history", history.calls);
    json_set(object, "usage", encode_usage(row->usage));
    field_set_own(object, "error", row->error, "null");
    phase = error_phase(row, notes_of(tokens));
    if (phase && json_is_object(json_object_get(object, "error")))
        json_set_string(json_object_get(object, "error"), "phase", phase);
    json_set(object, "stats", stats(row));
    return object;
}
