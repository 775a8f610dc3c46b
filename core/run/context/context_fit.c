/*
 * context_fit.c -- counting tokens once, and leaving out what does not fit.
 *
 * Counting is slow: about a second for 10 MiB. Counting everything anew for each of T turns over N items
 * takes T * N, on a loop that must never block. So costs are noted in the rows, which
 * stay in memory between turns. The worker that accepts a response counts its history. A run's loop counts
 * only what is not noted yet, such as the few items that a turn adds.
 *
 * A note is good only while it describes what is sent. For an item by itself that is simple: its body
 * does not change. A condensed stretch is more difficult. It is one message made of several items, and
 * its text depends on which items are in it, and on how long messages are cut. So the first row notes
 * the cost together with the number of items and the rule (the joint_ fields of struct item_cost), and
 * every row notes its place in the stretch.
 * When an item was left out, or the user's next message has made the stretch longer, something does not
 * agree, and it is counted again (is_noted). Nothing must be invalidated by hand.
 *
 * Tokens are needed for truncation and compaction, bytes for max_prompt_tokens (budget.c). Rendering a
 * stretch is cheap beside tokenising it, so bytes are noted with both measures, and tokens as -1 when
 * nobody asked for them.
 *
 * Leaving out goes from the oldest item on, because a conversation refers to its end. A call and its
 * output are left out together, since an upstream refuses one without the other. A condensed stretch has
 * its whole cost in its first item, and 0 in the others. That is right because leaving out stops only
 * before a message of the user, which ends every stretch: none is left out in part.
 *
 * Sending everything and waiting for the error context_length_exceeded would need no counting. But each
 * attempt would upload the whole prompt, and the error does not say how much is too much.
 */

#include "core/run/context/context_fit.h"

#include <string.h>

#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/model/tokens/tokenizer.h"
#include "core/run/context/compaction.h"
#include "core/run/context/context.h"
#include "core/run/context/context_content.h"
#include "core/run/context/context_items.h"
#include "core/run/context/context_request.h"
#include "core/run/context/context_responses.h"
#include "core/run/context/past_calls.h"
#include "core/run/context/past_programs.h"
#include "core/run/context/past_reasoning.h"

/* ---- What things cost ---- */

static bool is_truncated(const struct model_upstream *upstream,
                         const struct run_settings *settings)
{
    return upstream && upstream->context_tokens && settings->truncates;
}

bool context_is_counted(const struct model_upstream *upstream,
                        const struct run_settings *settings)
{
    return is_truncated(upstream, settings) || settings->compacts;
}

unsigned context_reasoning(const struct model_upstream *upstream)
{
    if (!upstream || upstream->reasoning == MODEL_REASONING_NEVER)
        return 0;
    if (upstream->dialect == MODEL_DIALECT_RESPONSES)
        return CONTEXT_REASONING;
    return upstream->reasoning == MODEL_REASONING_ALWAYS ? CONTEXT_GIVE_BACK_ALL
                                                         : CONTEXT_GIVE_BACK;
}

/* The bytes of a list of messages or tools. */
static size_t length_of(const json_t *list)
{
    return json_array_size(list) ? json_dumpb(list, NULL, 0, JSON_COMPACT) : 0;
}

/* An output by itself makes no message, so it is counted as the content of one. */
static int64_t cost_of_output(const struct tokenizer *tokenizer, const struct item_row *item)
{
    json_auto_t *body = json_parse_own(item->body);
    json_auto_t *output = past_output(item->type, item_status_name(item->status), body);
    json_auto_t *content = context_content(output);

    if (past_is_of_program(body))
        return 0;
    return TOKENS_OF_MESSAGE + tokenizer_count_content(tokenizer, content);
}

int64_t context_cost(const struct tokenizer *tokenizer, const struct item_row *item)
{
    json_auto_t *messages = NULL;

    if (item->cost.counted || !item->body)
        return item->cost.tokens;
    if (context_is_output(item))
        return cost_of_output(tokenizer, item);
    messages = context_messages(NULL, &item, 1);
    return tokenizer_count_messages(tokenizer, messages);
}

void context_count_item(const struct tokenizer *tokenizer, struct item_row *item)
{
    item->cost.tokens = context_cost(tokenizer, item);
    item->cost.counted = item->body;
}

/* ---- Reasoning ---- */

/* Only notes have this key without a backslash before its quote. */
static bool may_have_reasoning(const struct item_row *item)
{
    return item->body &&
           (item->type == ITEM_REASONING || strstr(item->body, "\"reasoning\":{"));
}

/* As the Responses API has it. Chat Completions have reasoning within messages. */
static bool goes_back_as_items(const struct context *context)
{
    return context_reasoning(context->upstream) & CONTEXT_REASONING;
}

/* Sealed reasoning is base64 of the text in an envelope of about so many bytes. Its words are unknown, so the
 * usual length of a token has to do. */
#define ENVELOPE_BYTES  650
#define BYTES_PER_TOKEN 4

static int64_t cost_of_sealed(const char *sealed)
{
    int64_t bytes = (int64_t)(strlen(sealed) / 4 * 3) - ENVELOPE_BYTES;

    return bytes > 0 ? bytes / BYTES_PER_TOKEN : 0;
}

/* What an item of its own costs: its text if there is one, else what is sealed in it. */
static int64_t cost_of_item_of_reasoning(const struct context *context, const json_t *body)
{
    const json_t *content = json_object_get(body, "content");
    int64_t tokens = 0;
    size_t i;
    json_t *part;

    json_array_foreach (content, i, part) {
        const char *text = json_get_string(part, "text", "");

        tokens += tokenizer_count(context->upstream->tokenizer, text, strlen(text));
    }
    if (!json_array_size(content))
        tokens = cost_of_sealed(context_sealed_reasoning(body));
    return tokens + TOKENS_OF_MESSAGE;
}

/* The tokens that the item's reasoning adds to the request: to the message that it goes back with, or as an item
 * of its own. */
static int64_t cost_of_reasoning(const struct context *context, const struct item_row *item,
                                 enum past_reasoning_part part)
{
    json_auto_t *body = NULL, *added = NULL;

    if (!may_have_reasoning(item))
        return 0;
    body = json_parse_own(item->body);
    if (goes_back_as_items(context)) {
        /* The same for each part, and never 0. */
        int64_t counted = item->cost.reasoning[PAST_REASONING_DETAILS];

        if (!context_reasoning_is_sent(body, context->upstream->name))
            return 0;
        return counted ? counted : cost_of_item_of_reasoning(context, body);
    }
    added = json_object();
    past_reasoning_give_back(added, item, body, context->upstream->name, part);
    if (json_object_size(added) == 0)
        return 0;
    if (item->cost.reasoning[part])
        return item->cost.reasoning[part];
    return tokenizer_count_message(context->upstream->tokenizer, added) - TOKENS_OF_MESSAGE;
}

void context_count_reasoning(const struct context *context, struct item_row *item)
{
    for (int part = PAST_REASONING_DETAILS;
         context_reasoning(context->upstream) && part <= PAST_REASONING_ALL; part++)
        item->cost.reasoning[part] =
            cost_of_reasoning(context, item, (enum past_reasoning_part)part);
}

static bool is_users(const struct item_row *item)
{
    return item->type == ITEM_MESSAGE && strcmp(item->role, "user") == 0;
}

/* What goes back of the reasoning in front of `end`, up to the user's message before it. */
static enum past_reasoning_part part_before(const struct context *context,
                                            const struct item_row *const *items, size_t end)
{
    if (context_reasoning(context->upstream) & CONTEXT_GIVE_BACK_ALL)
        return PAST_REASONING_ALL;
    while (end && !is_users(items[end - 1])) {
        if (item_type_is_call(items[--end]->type))
            return PAST_REASONING_ALL;
    }
    return PAST_REASONING_DETAILS;
}

/* Adds to the costs what goes back with the answers. What is condensed was counted with its reasoning. */
static void add_reasoning(const struct context *context,
                          const struct context_condensing *condensing,
                          const struct item_row *const *items, size_t count, int64_t *costs)
{
    enum past_reasoning_part part = PAST_REASONING_DETAILS;
    size_t users = 0; /* the end of what lies between two messages of the user */

    if (!context_reasoning(context->upstream))
        return;
    for (size_t i = 0; i < count;) {
        size_t end = context_condensed_end(condensing, items, i);

        if (i >= users) {
            for (users = i + 1; users < count && !is_users(items[users]);)
                users++;
            part = part_before(context, items, users);
        }
        if (end == i)
            costs[i] += cost_of_reasoning(context, items[i], part);
        i = end > i ? end : i + 1;
    }
}

/* ---- The frame ---- */

static json_t *frame_of(const struct context *context)
{
    return context_request(context->run_id, context->settings, context->tools, NULL, 0, 0,
                           NULL);
}

/* A request without items costs what is sent beside them. */
static int64_t cost_of_frame(const struct context *context)
{
    json_auto_t *request = NULL;
    int64_t tokens;

    if (context->frame && context->frame->tokens)
        return context->frame->tokens;
    request = frame_of(context);
    tokens = tokenizer_count_request(context->upstream->tokenizer, request);
    if (context->frame)
        context->frame->tokens = tokens;
    return tokens;
}

size_t context_frame_bytes(const struct context *context)
{
    json_auto_t *request = NULL;
    size_t bytes;

    if (context->frame && context->frame->bytes)
        return context->frame->bytes;
    request = frame_of(context);
    bytes = length_of(json_object_get(request, "messages")) +
            length_of(json_object_get(request, "tools"));
    if (context->frame)
        context->frame->bytes = bytes;
    return bytes;
}

size_t context_weight(const char *json)
{
    static const char picture[] = "url\":\"data:"; /* no text in JSON has a bare quote */
    size_t weight = strlen(json);

    for (const char *url = json; (url = strstr(url, picture));) {
        size_t length;

        url += strlen("url\":\"");
        length = strcspn(url, "\"");
        if (length > CONTEXT_IMAGE_BYTES)
            weight -= length - CONTEXT_IMAGE_BYTES;
        url += length;
    }
    return weight;
}

/* ---- Condensed items ---- */

static size_t weight_of(const json_t *messages)
{
    AUTO_FREE char *text = json_text(messages);

    return json_array_size(messages) ? context_weight(text) : 0;
}

enum { CUT_HEAD_ONLY = 1 << 0, CUT_CHINESE = 1 << 1 };

/* How messages are cut beyond the limit's number, as a number that can be compared. */
static unsigned cut_of(const struct long_message_rule *rule)
{
    return (rule->cut.head_only ? CUT_HEAD_ONLY : 0) |
           (rule->cut.language == LANGUAGE_CHINESE ? CUT_CHINESE : 0);
}

/* Which upstream gets back which reasoning, as a number that can be compared. */
static uint64_t upstream_of(const struct context_condensing *condensing)
{
    uint64_t name = condensing->upstream ? hash_text(condensing->upstream) : 0;

    return name << 32 | condensing->reasoning;
}

struct context_condensing context_condensing(const struct context *context,
                                             const struct item_row *const *items, size_t count)
{
    struct context_condensing condensing = {
        .rule = long_message_rule(context->settings, context->tools),
        .reasoning = context_reasoning(context->upstream),
        .upstream = context->upstream ? context->upstream->name : NULL};

    if (context->compact)
        condensing.past = context_past(items, count);
    return condensing;
}

size_t context_condensed_end(const struct context_condensing *condensing,
                             const struct item_row *const *items, size_t at)
{
    size_t end = context_stretch(items, at, condensing->past);

    if (end > at)
        return end;
    return at + long_message_may_be(&condensing->rule, items[at]);
}

static json_t *past_messages(const struct context_condensing *condensing,
                             const struct item_row *const *items, size_t count)
{
    return context_past_messages(items, count, &condensing->rule, condensing->reasoning,
                                 condensing->upstream);
}

/* True if the note of the stretch still describes it: the same items, messages cut in the same way, and the
 * same upstream. A row whose body changed has had its note set to zero, and with it its place. */
static bool is_noted(const struct context_condensing *condensing,
                     const struct item_row *const *items, size_t count,
                     enum context_measure measure)
{
    const struct item_cost *noted = &items[0]->cost;

    if (noted->joint_count != count || noted->joint_limit != condensing->rule.limit ||
        noted->joint_cut != cut_of(&condensing->rule) ||
        noted->joint_upstream != upstream_of(condensing))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (items[i]->cost.place != i + 1)
            return false;
    }
    return measure == CONTEXT_BYTES || noted->joint_tokens >= 0;
}

static void note_stretch(const struct context *context,
                         const struct context_condensing *condensing,
                         enum context_measure measure, struct item_row *rows,
                         const struct item_row *const *items, size_t count)
{
    json_auto_t *messages = NULL;

    if (is_noted(condensing, items, count, measure))
        return;
    messages = past_messages(condensing, items, count);
    for (size_t i = 0; i < count; i++)
        rows[i].cost.place = (unsigned)i + 1;
    rows[0].cost.joint_count = (unsigned)count;
    rows[0].cost.joint_limit = condensing->rule.limit;
    rows[0].cost.joint_cut = cut_of(&condensing->rule);
    rows[0].cost.joint_upstream = upstream_of(condensing);
    rows[0].cost.joint_bytes = weight_of(messages);
    rows[0].cost.joint_tokens =
        measure == CONTEXT_TOKENS
            ? tokenizer_count_messages(context->upstream->tokenizer, messages)
            : -1;
}

static int64_t cost_of_stretch(const struct tokenizer *tokenizer,
                               const struct context_condensing *condensing,
                               const struct item_row *const *items, size_t count)
{
    json_auto_t *messages = NULL;

    if (is_noted(condensing, items, count, CONTEXT_TOKENS))
        return items[0]->cost.joint_tokens;
    messages = past_messages(condensing, items, count);
    return tokenizer_count_messages(tokenizer, messages);
}

size_t context_condensed_bytes(const struct context_condensing *condensing,
                               const struct item_row *const *items, size_t first, size_t end)
{
    json_auto_t *messages = NULL;

    if (is_noted(condensing, items + first, end - first, CONTEXT_BYTES))
        return items[first]->cost.joint_bytes;
    messages = past_messages(condensing, items + first, end - first);
    return weight_of(messages);
}

/* ---- Items ---- */

/* Where the items begin that may be sent. */
static size_t first_of(const struct context *context, const struct item_row *const *items,
                       size_t count)
{
    size_t window = context_window(items, count);
    size_t start =
        context_start(items, count, context->settings->last_messages, context->run_id);

    return start > window ? start : window;
}

void context_count(const struct context *context, enum context_measure measure,
                   struct item_row *rows, size_t count)
{
    AUTO_FREE const struct item_row **items = mem_new_array(const struct item_row *, count + 1);
    struct context_condensing condensing;

    for (size_t i = 0; i < count; i++)
        items[i] = &rows[i];
    condensing = context_condensing(context, items, count);
    for (size_t i = first_of(context, items, count); i < count;) {
        size_t end = context_condensed_end(&condensing, items, i);

        if (end > i)
            note_stretch(context, &condensing, measure, rows + i, items + i, end - i);
        else if (measure == CONTEXT_TOKENS)
            context_count_item(context->upstream->tokenizer, &rows[i]);
        if (measure == CONTEXT_TOKENS)
            context_count_reasoning(context, &rows[i]);
        i = end > i ? end : i + 1;
    }
}

void context_count_each(const struct context *context, struct item_row *rows, size_t count)
{
    AUTO_FREE const struct item_row **items = mem_new_array(const struct item_row *, count + 1);

    for (size_t i = 0; i < count; i++)
        items[i] = &rows[i];
    for (size_t i = context_window(items, count); i < count; i++) {
        context_count_item(context->upstream->tokenizer, &rows[i]);
        context_count_reasoning(context, &rows[i]);
    }
}

/* What each item costs. The first item of a condensed stretch has the cost of the stretch, and the others
 * have 0. The caller frees. */
static int64_t *costs_of(const struct context *context, const struct item_row *const *items,
                         size_t count)
{
    const struct tokenizer *tokenizer = context->upstream->tokenizer;
    const struct context_condensing condensing = context_condensing(context, items, count);
    int64_t *costs = mem_new_array(int64_t, count + 1);

    for (size_t i = 0; i < count;) {
        size_t end = context_condensed_end(&condensing, items, i);

        costs[i] = end > i ? cost_of_stretch(tokenizer, &condensing, items + i, end - i)
                           : context_cost(tokenizer, items[i]);
        i = end > i ? end : i + 1;
    }
    add_reasoning(context, &condensing, items, count, costs);
    return costs;
}

static int64_t total_of(const struct context *context, const int64_t *costs, size_t count)
{
    int64_t total = cost_of_frame(context);

    for (size_t i = 0; i < count; i++)
        total += costs[i];
    return total;
}

int64_t context_total(const struct context *context, const struct item_row *const *items,
                      size_t count)
{
    AUTO_FREE int64_t *costs = costs_of(context, items, count);

    return total_of(context, costs, count);
}

/* ---- The window ---- */

size_t context_window(const struct item_row *const *items, size_t count)
{
    for (size_t i = count; i-- > 0;) {
        if (compaction_is_whole(items[i]))
            return i;
    }
    return 0;
}

/* ---- What must be sent word for word ---- */

static bool is_made_by(const struct item_row *item, const char *run_id)
{
    return !item->input && strcmp(item->run_id, run_id) == 0 && item->type != ITEM_COMPACTION;
}

static int last_turn_of(const struct item_row *const *items, size_t count, const char *run_id)
{
    int last = -1;

    for (size_t i = 0; i < count; i++) {
        if (is_made_by(items[i], run_id) && items[i]->turn > last)
            last = items[i]->turn;
    }
    return last;
}

static void mark_turn(const struct item_row *const *items, size_t count, const char *run_id,
                      int turn, bool *marks)
{
    for (size_t i = 0; i < count; i++)
        marks[i] |= is_made_by(items[i], run_id) && items[i]->turn == turn;
}

/* From the end: messages of the user, rules and outputs that came with the run's request. */
static void mark_new_input(const struct item_row *const *items, size_t count,
                           const char *run_id, bool *marks)
{
    for (size_t i = count; i-- > 0;) {
        bool is_input = *items[i]->role && strcmp(items[i]->role, "assistant") != 0;

        if (strcmp(items[i]->run_id, run_id) != 0 ||
            (!is_input && !context_is_output(items[i])))
            return;
        marks[i] = true;
    }
}

/* From the end, because ids are used again in later turns: an output belongs to the last call before it. */
static void mark_calls(const struct item_row *const *items, size_t count, bool *marks)
{
    json_auto_t *wanted = json_object();

    for (size_t i = count; i-- > 0;) {
        if (!*items[i]->call_id)
            continue;
        if (marks[i] && context_is_output(items[i]))
            json_object_set_new(wanted, items[i]->call_id, json_true());
        else if (!context_is_output(items[i]) &&
                 json_object_del(wanted, items[i]->call_id) == 0)
            marks[i] = true;
    }
}

void context_mark_newest(const struct item_row *const *items, size_t count, const char *run_id,
                         bool *marks)
{
    int turn = last_turn_of(items, count, run_id);

    if (turn < 0)
        mark_new_input(items, count, run_id, marks);
    else
        mark_turn(items, count, run_id, turn, marks);
    mark_calls(items, count, marks);
}

static void leave_out(const struct item_row **items, size_t *count, size_t end)
{
    memmove(items, items + end, (*count - end) * sizeof(items[0]));
    *count -= end;
}

/* ---- Fitting ---- */

#define NO_PARTNER SIZE_MAX

/* Building state: which items are left out. */
struct fitting {
    const struct item_row **items;
    size_t count;
    size_t *partner; /* of a call: its output; of an output: its call; or NO_PARTNER */
    bool *stays;     /* must not be left out */
    bool *goes;      /* is left out */
    const int64_t *costs;
    int64_t excess; /* tokens that are too many */
};

/* An output belongs to the last call before it that has its id and no output yet. */
static void find_partners(struct fitting *fitting)
{
    json_auto_t *open = json_object();

    for (size_t i = fitting->count; i-- > 0;) {
        const struct item_row *item = fitting->items[i];
        json_t *output = json_object_get(open, item->call_id);

        fitting->partner[i] = NO_PARTNER;
        if (!*item->call_id)
            continue;
        if (context_is_output(item)) {
            json_object_set_new(open, item->call_id, json_integer((json_int_t)i));
        } else if (output) {
            fitting->partner[i] = (size_t)json_integer_value(output);
            fitting->partner[fitting->partner[i]] = i;
            json_object_del(open, item->call_id);
        }
    }
}

static void find_staying(struct fitting *fitting, const char *run_id)
{
    bool user_seen = false;

    context_mark_newest(fitting->items, fitting->count, run_id, fitting->stays);
    for (size_t i = fitting->count; i-- > 0;) {
        bool users = strcmp(fitting->items[i]->role, "user") == 0;

        fitting->stays[i] |= item_row_is_rule(fitting->items[i]) || (users && !user_seen);
        user_seen |= users;
    }
}

static void let_go(struct fitting *fitting, size_t i)
{
    fitting->goes[i] = true;
    fitting->excess -= fitting->costs[i];
}

/* Leaves out the oldest items. Once the rest fits, it continues to the next message of the user: the rest
 * must not begin with an answer to something that is missing. */
static void choose(struct fitting *fitting)
{
    for (size_t i = 0; i < fitting->count; i++) {
        if (fitting->stays[i] || fitting->goes[i])
            continue;
        if (fitting->excess <= 0 && strcmp(fitting->items[i]->role, "user") == 0)
            return;
        let_go(fitting, i);
        if (fitting->partner[i] != NO_PARTNER && fitting->partner[i] > i)
            let_go(fitting, fitting->partner[i]);
    }
}

static void keep_the_rest(struct fitting *fitting, size_t *ret_count)
{
    size_t kept = 0;

    for (size_t i = 0; i < fitting->count; i++) {
        if (!fitting->goes[i])
            fitting->items[kept++] = fitting->items[i];
    }
    *ret_count = kept;
}

/* Tokens that the prompt may have. At least half of the context is the prompt's, also when the request
 * reserves more for the answer. */
static int64_t room_for(const struct context *context)
{
    int64_t all = context->upstream->context_tokens;
    int64_t wanted = context->settings->max_completion_tokens;
    int64_t answer = wanted == RUN_NO_LIMIT ? all / CONTEXT_ANSWER_SHARE : wanted;

    return all - (answer < all / 2 ? answer : all / 2);
}

void context_fit(const struct context *context, const struct item_row **items, size_t *count)
{
    struct fitting fitting = {.items = items};
    AUTO_FREE int64_t *costs = NULL;

    leave_out(items, count, context_window(items, *count));
    context_order(items, *count);
    if (!is_truncated(context->upstream, context->settings))
        return;
    fitting.costs = costs = costs_of(context, items, *count);
    fitting.excess = total_of(context, costs, *count) - room_for(context);
    if (fitting.excess <= 0)
        return;
    fitting.count = *count;
    fitting.partner = mem_new_array(size_t, *count + 1);
    fitting.stays = mem_new_array(bool, *count + 1);
    fitting.goes = mem_new_array(bool, *count + 1);
    find_partners(&fitting);
    find_staying(&fitting, context->run_id);
    choose(&fitting);
    keep_the_rest(&fitting, count);
    free(fitting.partner);
    free(fitting.stays);
    free(fitting.goes);
}
