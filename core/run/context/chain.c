/*
 * chain.c -- limits for a model that could call tools for ever, and an ending that a user can read.
 *
 * A model in a loop of tools costs money and time, and nobody watches. So the server counts. There are
 * two counts, because they catch two things. Rounds in a row catch a loop without a person in it. They
 * start again when the client answers a call, since the client then decides that the run continues.
 * Calls catch a model that makes hundreds of calls in one turn, and they never start again.
 *
 * Simply ending the run at a limit would leave the user with tool calls and no sentence. So the model gets
 * one more turn, in which it cannot call. The calls that were not executed get an output that says so,
 * because an upstream refuses a call without an output. The prompt of the last turn has the role "user": some
 * servers accept a system message only at the beginning. The prompt is made anew for each request and
 * never stored, because the next run of the thread must not read it.
 *
 * Where the counts live: in this struct while the run is in memory, and in the notes of the run's usage
 * when it is stored. Those notes carry the totals. `rounds` is not among them: a new residency begins
 * with a new row of rounds, because the client answered, unless the run was claimed: after a crash, or
 * from a node that drains. Then core/run/turn/run_new.c counts the rounds in the run's stored items.
 *
 * A round that waits for its client is the hard case. Its server-side calls were executed and counted,
 * and the run may end now, so they must be in the stored totals. When the client answers, all calls of
 * the round are restored and counted again. `paused_calls` is what must be taken out before that, so
 * that a round that pauses three times counts once.
 */

#include "core/run/context/chain.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/notes.h"

/* ---- Limits ---- */

/* clang-format off */
static const struct {
    const char *reason; /* public: clients and the model read it */
    const char *what;   /* the same, within a sentence */
} stops[] = {
    [CHAIN_CONTINUES] = {NULL,                     NULL},
    [CHAIN_ROUNDS]  = {"max_rounds_reached",     "max rounds limit"},
    [CHAIN_CALLS]   = {"max_calls_reached",      "max calls limit"},
    [CHAIN_SILENT]  = {"final_answer_requested", "the request for a final answer"},
};
/* clang-format on */

static void take_notes(struct chain *chain, const json_t *notes)
{
    size_t i;
    json_t *turn;

    chain->all_rounds = (unsigned)json_get_int(notes, "rounds", 0);
    chain->all_calls = (unsigned)json_get_int(notes, "calls", 0);
    chain->paused_calls = (unsigned)json_get_int(notes, "paused_calls", 0);
    json_array_foreach (json_object_get(notes, "turns"), i, turn) {
        struct model_usage usage = {
            .input = json_integer_value(json_array_get(turn, 1)),
            .output = json_integer_value(json_array_get(turn, 2)),
        };

        chain_add_turn(chain, (int)json_integer_value(json_array_get(turn, 0)), &usage);
    }
}

void chain_init(struct chain *chain, const struct run_settings *settings, const char *usage)
{
    json_auto_t *tokens = json_parse_own(usage);

    *chain = (struct chain){.max_rounds = settings->max_rounds,
                            .max_calls = settings->max_calls,
                            .language = settings->language};
    take_notes(chain, notes_of(tokens));
}

void chain_set_limits(struct chain *chain, unsigned max_rounds, unsigned max_calls)
{
    if (!chain->max_rounds)
        chain->max_rounds = max_rounds;
    if (max_calls && max_calls < chain->max_calls)
        chain->max_calls = max_calls;
}

void chain_clear(struct chain *chain)
{
    free(TAKE(chain->turns));
    chain->turn_count = 0;
}

/* ---- Counting ---- */

bool chain_admit_begun(struct chain *chain)
{
    if (chain->rounds >= chain->max_rounds)
        chain->stop = CHAIN_ROUNDS;
    else if (chain->all_calls >= chain->max_calls)
        chain->stop = CHAIN_CALLS;
    else {
        chain_count_call(chain);
        return true;
    }
    return false;
}

bool chain_admit(struct chain *chain)
{
    return !chain->stop && chain_admit_begun(chain);
}

void chain_count_call(struct chain *chain)
{
    chain->all_calls++;
    chain->round_calls++;
}

void chain_count_passed(struct chain *chain)
{
    chain->all_calls++;
}

int64_t chain_calls_left(const struct chain *chain)
{
    if (chain->max_calls == INT64_MAX)
        return INT64_MAX;
    return chain->all_calls < chain->max_calls ? chain->max_calls - chain->all_calls : 0;
}

void chain_reopen_round(struct chain *chain)
{
    chain->all_calls -= chain->paused_calls;
    chain->paused_calls = 0;
}

/* A turn in which nothing was executed is no round: all its calls were the client's, or refused. */
void chain_end_round(struct chain *chain)
{
    if (!chain->round_calls)
        return;
    chain->round_calls = 0;
    chain->rounds++;
    chain->all_rounds++;
}

void chain_add_turn(struct chain *chain, int turn, const struct model_usage *usage)
{
    if (chain->turn_count == CHAIN_TURNS_KEPT)
        return;
    chain->turns = mem_resize(chain->turns, chain->turn_count + 1, sizeof(*chain->turns));
    chain->turns[chain->turn_count++] =
        (struct chain_turn){.turn = turn, .input = usage->input, .output = usage->output};
}

/* ---- Names, and texts for the model ---- */

const char *chain_reason(enum chain_stop stop)
{
    return stops[stop].reason;
}

enum chain_stop chain_reason_parse(const char *reason)
{
    for (unsigned i = 0; i < COUNT_OF(stops); i++) {
        if (reason && stops[i].reason && strcmp(stops[i].reason, reason) == 0)
            return (enum chain_stop)i;
    }
    return CHAIN_CONTINUES;
}

const char *chain_phase_name(enum chain_phase phase)
{
    static const char *const names[] = {
        [CHAIN_NO_FAILURE] = NULL,
        [CHAIN_PARSE_ARGUMENTS] = "parse_arguments",
        [CHAIN_TOOL_EXECUTION] = "tool_execution",
        [CHAIN_LLM_RESPONSE] = "llm_response",
        [CHAIN_FINAL_RESPONSE] = "final_response",
        [CHAIN_EXECUTION] = "chain_execution",
    };

    return names[phase];
}

char *chain_placeholder(enum chain_stop stop)
{
    AUTO_FREE char *message =
        mem_printf("Tool chain execution stopped due to %s", stops[stop].what);
    json_auto_t *output = json_build("{s:s, s:s, s:s}", "status", "incomplete", "message",
                                     message, "reason", stops[stop].reason);

    return json_text(output);
}

char *chain_cancelled(const char *why)
{
    json_auto_t *output = json_build("{s:s, s:s, s:s}", "status", "incomplete", "message", why,
                                     "reason", "cancelled");

    return json_text(output);
}

static const char silent_en[] =
    "[SYSTEM] Tool calls completed. Please provide a final response "
    "to the user based on the tool results.";
static const char silent_zh[] = "[SYSTEM] 工具调用已完成。请根据工具结果向用户给出最终回复。";
static const char limit_en[] = "[SYSTEM] The limit of %lld %s was reached, and no more tools "
                               "can be called. Answer the user "
                               "now: say that the work is not complete, sum up what was found "
                               "so far and what it means, and "
                               "suggest the next steps.";
static const char limit_zh[] =
    "[SYSTEM] 已达到 %lld "
    "%s的上限，不能再调用工具。请现在回复用户：说明工作尚未完成，总结目前的发现"
    "和见解，并建议后续步骤。";

static char *limit_text(const struct chain *chain)
{
    bool rounds = chain->stop == CHAIN_ROUNDS;
    long long limit = rounds ? (long long)chain->max_rounds : (long long)chain->max_calls;

    if (chain->language == LANGUAGE_CHINESE)
        return mem_printf(limit_zh, limit, rounds ? "轮工具调用" : "次工具调用");
    return mem_printf(limit_en, limit, rounds ? "rounds of tool calls" : "tool calls");
}

json_t *chain_final_prompt(const struct chain *chain)
{
    AUTO_FREE char *text =
        chain->stop == CHAIN_SILENT
            ? mem_strdup(chain->language == LANGUAGE_CHINESE ? silent_zh : silent_en)
            : limit_text(chain);

    return json_build("{s:s, s:s}", "role", "user", "content", text);
}

/* ---- Stored with the run's usage ---- */

void chain_note(const struct chain *chain, json_t *tokens)
{
    json_t *notes, *turns;

    /* Most runs call no tool: their usage stays as OpenAI's API has it. */
    if (!chain->all_calls && !chain->failed)
        return;
    notes = notes_make(tokens);
    if (chain->failed)
        json_set_string(notes, "error_phase", chain_phase_name(chain->failed));
    json_set_int(notes, "rounds", chain->all_rounds);
    json_set_int(notes, "calls", chain->all_calls);
    if (chain->round_calls + chain->paused_calls)
        json_set_int(notes, "paused_calls", chain->round_calls + chain->paused_calls);
    turns = json_array();
    for (size_t i = 0; i < chain->turn_count; i++)
        json_array_append_new(turns, json_build("[i, I, I]", chain->turns[i].turn,
                                                (json_int_t)chain->turns[i].input,
                                                (json_int_t)chain->turns[i].output));
    json_set(notes, "turns", turns);
}

unsigned chain_calls_of(const char *usage)
{
    json_auto_t *tokens = json_parse_own(usage);

    return (unsigned)json_get_int(notes_of(tokens), "calls", 0);
}

bool chain_usage_after(const json_t *tokens, int turn, struct chain_turn *ret_turn)
{
    const json_t *notes = notes_of(tokens);
    size_t i;
    json_t *one;

    json_array_foreach (json_object_get(notes, "turns"), i, one) {
        int number = (int)json_integer_value(json_array_get(one, 0));

        if (number <= turn)
            continue;
        *ret_turn = (struct chain_turn){
            .turn = number,
            .input = json_integer_value(json_array_get(one, 1)),
            .output = json_integer_value(json_array_get(one, 2)),
        };
        return true;
    }
    return false;
}
