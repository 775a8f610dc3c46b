/*
 * budget.c -- keeping a promise about tokens that only the upstream can count.
 *
 * A client limits what a run may cost: max_prompt_tokens and max_completion_tokens, over all turns. The
 * second limit is easy, because an upstream accepts a limit for its answer. The first is not. No upstream
 * accepts a limit for the prompt, and it counts the prompt only after it was sent, when it is too late.
 *
 * So prompts are weighed in bytes, and bytes are converted to tokens. The ratio is learned:
 * counted_weight / used.input, over all turns of the run whose tokens were reported. It is exact enough,
 * because the turns of a run send nearly the same text again. A tokenizer would be more exact for the
 * first turn, but an upstream need not have a rank file, and a limit must hold without one.
 *
 * What is weighed is what is sent. A finished turn in compact history weighs as much as its log. A long
 * message weighs as much as what is sent of it. A picture never weighs more than CONTEXT_IMAGE_BYTES.
 * Weighing the stored items instead left out messages that had room enough.
 *
 *   sent_weight     set by budget_fit(), when a prompt is about to be sent
 *   counted_weight  budget_add() adds it, when the upstream has reported the tokens of that prompt
 *
 * Only the second is stored, in the notes of the run's usage. When a crash cuts an answer off, its tokens
 * are unknown, so the weight of its prompt must not count either.
 *
 * What is left out follows the Assistants API: messages of the thread, first those in the middle, never
 * the newest message nor the run's own items. Items between two messages belong to the first of them,
 * since a call without its output, or an answer without its question, would make no sense.
 */

#include "core/run/context/budget.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/notes.h"
#include "core/run/context/context.h"
#include "core/run/context/context_items.h"

/* ---- Stored with the run's usage ---- */

void budget_init(struct budget *budget, const struct run_settings *settings, const char *usage)
{
    json_auto_t *tokens = json_parse_own(usage);
    const json_t *input = json_object_get(tokens, "input_tokens_details");
    const json_t *output = json_object_get(tokens, "output_tokens_details");

    *budget = (struct budget){
        .prompt = settings->max_prompt_tokens,
        .completion = settings->max_completion_tokens,
        .used.input = json_get_int(tokens, "input_tokens", 0),
        .used.cached = json_get_int(input, "cached_tokens", 0),
        .used.output = json_get_int(tokens, "output_tokens", 0),
        .used.reasoning = json_get_int(output, "reasoning_tokens", 0),
        .counted_weight = json_get_int(notes_of(tokens), "asked", 0),
    };
}

json_t *budget_object(const struct budget *budget)
{
    const struct model_usage *used = &budget->used;
    json_t *tokens = json_build(
        "{s:I, s:{s:I, s:I}, s:I, s:{s:I}, s:I}", "input_tokens", (json_int_t)used->input,
        "input_tokens_details", "cached_tokens", (json_int_t)used->cached, "cache_write_tokens",
        (json_int_t)0, "output_tokens", (json_int_t)used->output, "output_tokens_details",
        "reasoning_tokens", (json_int_t)used->reasoning, "total_tokens",
        (json_int_t)(used->input + used->output));

    if (budget->counted_weight)
        json_set_int(notes_make(tokens), "asked", budget->counted_weight);
    return tokens;
}

/* ---- Spending ---- */

void budget_add(struct budget *budget, const struct model_usage *usage)
{
    budget->used.input += usage->input;
    budget->used.cached += usage->cached;
    budget->used.output += usage->output;
    budget->used.reasoning += usage->reasoning;
    budget->used.known |= usage->known;
    if (usage->input)
        budget->counted_weight += budget->sent_weight;
    budget->sent_weight = 0;
}

static const char prompt_limit[] = "max_prompt_tokens";
static const char completion_limit[] = "max_output_tokens";

const char *budget_spent(const struct budget *budget)
{
    if (budget->used.output >= budget->completion)
        return completion_limit;
    return budget->used.input >= budget->prompt ? prompt_limit : NULL;
}

const char *budget_exceeded(const struct budget *budget)
{
    if (budget->used.output > budget->completion)
        return completion_limit;
    return budget->used.input > budget->prompt ? prompt_limit : NULL;
}

struct run_settings budget_settings(const struct budget *budget,
                                    const struct run_settings *settings)
{
    struct run_settings left = *settings;

    if (budget->completion != RUN_NO_LIMIT)
        left.max_completion_tokens = budget->completion - budget->used.output;
    return left;
}

/* ---- Fitting the prompt ---- */

/* How many bytes a prompt may have. A double: the product may not fit into 64 bits. */
static double room_left(const struct budget *budget)
{
    double tokens = (double)(budget->prompt - budget->used.input);
    bool counted = budget->counted_weight && budget->used.input;

    return tokens * (counted ? (double)budget->counted_weight / (double)budget->used.input
                             : BUDGET_BYTES_PER_TOKEN);
}

/* Building state: the items, of which some are sent condensed. */
struct fitting {
    const struct item_row **items;
    struct context_condensing condensing;
    size_t weight; /* of all that is left, in bytes */
    double room;   /* bytes that may be sent */
};

/* The end of the unit that begins at `at`: a condensed stretch, or one item. */
static size_t end_of(const struct fitting *fitting, size_t at)
{
    size_t end = context_condensed_end(&fitting->condensing, fitting->items, at);

    return end > at ? end : at + 1;
}

static bool is_condensed(const struct fitting *fitting, size_t at)
{
    return context_condensed_end(&fitting->condensing, fitting->items, at) > at;
}

static size_t weight_at(const struct fitting *fitting, size_t at)
{
    const char *body = fitting->items[at]->body;

    if (is_condensed(fitting, at))
        return context_condensed_bytes(&fitting->condensing, fitting->items, at,
                                       end_of(fitting, at));
    return body ? context_weight(body) : 0;
}

static size_t weight_of_all(const struct fitting *fitting, size_t count)
{
    size_t weight = 0;

    for (size_t i = 0; i < count; i = end_of(fitting, i))
        weight += weight_at(fitting, i);
    return weight;
}

static bool begins_message(const struct fitting *fitting, size_t at)
{
    return is_condensed(fitting, at) || fitting->items[at]->type == ITEM_MESSAGE;
}

/* Skips units after the first `kept` items until the rest fits and begins with a message, at most to
 * `end`. Returns where the rest begins. */
static size_t skip_middle(struct fitting *fitting, size_t kept, size_t end)
{
    size_t at = kept;

    while (at < end &&
           ((double)fitting->weight > fitting->room || !begins_message(fitting, at))) {
        fitting->weight -= weight_at(fitting, at);
        at = end_of(fitting, at);
    }
    return at;
}

/* Leaves out items[first .. end). */
static void leave_out(const struct item_row **items, size_t *count, size_t first, size_t end)
{
    memmove(items + first, items + end, (*count - end) * sizeof(items[0]));
    *count -= end - first;
}

/* Leaves out from `kept` on, and then, if that is not enough, the first unit as well. `newest` stays in any
 * case. */
static void cut(struct fitting *fitting, size_t *count, size_t newest, size_t kept)
{
    size_t rest = skip_middle(fitting, kept, newest);

    if ((double)fitting->weight > fitting->room && kept) {
        fitting->weight -= weight_at(fitting, 0);
        kept = 0;
    }
    leave_out(fitting->items, count, kept, rest);
}

bool budget_limits_prompts(const struct budget *budget)
{
    return budget->prompt != RUN_NO_LIMIT;
}

bool budget_fit(struct budget *budget, const struct context *context,
                const struct item_row **items, size_t *count)
{
    int last = context->settings->last_messages;
    struct fitting fitting = {.items = items, .room = room_left(budget)};
    size_t newest;

    if (!budget_limits_prompts(budget))
        return true;
    /* What context_request() would not send need not be weighed. */
    leave_out(items, count, 0, context_start(items, *count, last, context->run_id));
    fitting.condensing = context_condensing(context, items, *count);
    fitting.weight = context_frame_bytes(context) + weight_of_all(&fitting, *count);
    newest = context_start(items, *count, 1, context->run_id);
    if ((double)fitting.weight > fitting.room)
        cut(&fitting, count, newest,
            !last && newest > 0 && begins_message(&fitting, 0) ? end_of(&fitting, 0) : 0);
    budget->sent_weight = (int64_t)fitting.weight;
    return (double)fitting.weight <= fitting.room || !budget->counted_weight;
}
