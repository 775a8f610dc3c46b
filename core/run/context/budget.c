#include "core/run/context/budget.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/notes.h"
#include "core/run/context/context.h"

/* ---- Reading and writing ---- */

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

static const char prompt_word[] = "max_prompt_tokens";
static const char completion_word[] = "max_output_tokens";

const char *budget_spent(const struct budget *budget)
{
    if (budget->used.output >= budget->completion)
        return completion_word;
    return budget->used.input >= budget->prompt ? prompt_word : NULL;
}

const char *budget_exceeded(const struct budget *budget)
{
    if (budget->used.output > budget->completion)
        return completion_word;
    return budget->used.input > budget->prompt ? prompt_word : NULL;
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

/* How long a prompt may be. */
static double room_left(const struct budget *budget)
{
    double tokens = (double)(budget->prompt - budget->used.input);
    bool counted = budget->counted_weight && budget->used.input;

    return tokens * (counted ? (double)budget->counted_weight / (double)budget->used.input
                             : BUDGET_BYTES_PER_TOKEN);
}

static size_t weight_of(const struct item_row *item)
{
    return item->body ? context_weight(item->body) : 0;
}

static bool is_message(const struct item_row *item)
{
    return item->type == ITEM_MESSAGE;
}

/* Building state: what there is to send, message by message or stretch by stretch. */
struct fitting {
    const struct item_row **items;
    struct context_condensing telling;
    size_t weight;
    double room;
};

/* Where what begins at `at` ends: what is told as one message, or an item. */
static size_t end_of(const struct fitting *fitting, size_t at)
{
    size_t end = context_condensed_end(&fitting->telling, fitting->items, at);

    return end > at ? end : at + 1;
}

static bool is_told_as_one(const struct fitting *fitting, size_t at)
{
    return context_condensed_end(&fitting->telling, fitting->items, at) > at;
}

static size_t weight_at(const struct fitting *fitting, size_t at)
{
    return is_told_as_one(fitting, at)
               ? context_condensed_bytes(&fitting->telling, fitting->items, at,
                                         end_of(fitting, at))
               : weight_of(fitting->items[at]);
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
    return is_told_as_one(fitting, at) || is_message(fitting->items[at]);
}

/* Goes on behind the first `kept` items until the rest begins with a message and all of it fits,
 * at most to `end`. Returns where the rest begins. */
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

/* What begins the thread goes last, if it is left. `newest` always stays. */
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
    leave_out(items, count, 0, context_start(items, *count, last, context->run_id));
    fitting.telling = context_condensing(context, items, *count);
    fitting.weight = context_frame_bytes(context) + weight_of_all(&fitting, *count);
    newest = context_start(items, *count, 1, context->run_id);
    if ((double)fitting.weight > fitting.room)
        cut(&fitting, count, newest,
            !last && newest > 0 && begins_message(&fitting, 0) ? end_of(&fitting, 0) : 0);
    budget->sent_weight = (int64_t)fitting.weight;
    return (double)fitting.weight <= fitting.room || !budget->counted_weight;
}
