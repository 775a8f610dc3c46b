/*
 * context.c -- from items to messages.
 *
 * Items are stored as the Responses API has them, one thing each: a text, a call, an output. A Chat
 * Completions request wants them folded: an assistant's message with its text and all its calls, then
 * one message for each output, in the order of the calls. The folding is done for every request, from
 * the stored items. Keeping the messages of a run between its turns would be faster. But then there would be two
 * histories, which differ after a crash, a branch or a compaction. Of responses that have ended past_text.c keeps them.
 *
 *   items ─▶ read_items: order, leave out what was cut off or is empty, find outputs
 *              └─▶ add_all ─┬─▶ add_past    a finished stretch, as text       (compact form only)
 *                           └─▶ add_item ─┬─▶ add_input    a message of the user or a rule
 *                                         ├─▶ add_answer   an answer: reasoning, text, calls, outputs
 *                                         └─▶ compaction_add_messages
 *
 * Chat Completions is the form also for upstreams that speak the Responses API: context_responses.c
 * translates the finished request. So masks, token counts and compactions know one form only.
 *
 * Three things must hold, because upstreams refuse the request otherwise:
 *
 * - Each call is followed by exactly one output. A call without one gets a placeholder.
 * - Outputs follow the message with their calls, with nothing between them. So an output is looked up
 *   from its call, and items that are outputs are skipped.
 * - A tool's output is text. Its pictures and files go into a message of the user after all outputs.
 *
 * And one thing for the sake of cost: the same items give the same messages, from turn to turn and on any
 * node, because upstreams cache prompts by their beginning.
 */

#include "core/run/context/context.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/notes.h"
#include "core/run/context/call_outputs.h"
#include "core/run/context/chain_log.h"
#include "core/run/context/compaction.h"
#include "core/run/context/context_content.h"
#include "core/run/context/context_items.h"
#include "core/run/context/context_responses.h"
#include "core/run/context/long_messages.h"
#include "core/run/context/past_calls.h"
#include "core/run/context/past_programs.h"
#include "core/run/context/past_reasoning.h"

/* ---- Calls ---- */

/* Adds what an upstream attached to the call, if the request goes to that upstream: Gemini refuses a call
 * without its thought signature. Other upstreams refuse members that they do not know. */
static void give_back_extra(json_t *call, const json_t *body, const char *upstream)
{
    const json_t *extra = json_object_get(notes_of(body), "extra_content");
    const char *maker = json_get_string(extra, "upstream", NULL);

    if (maker && upstream && strcmp(maker, upstream) == 0)
        json_object_set(call, "extra_content", json_object_get(extra, "value"));
}

static json_t *chat_call(const struct item_row *item, const json_t *body, const char *upstream)
{
    AUTO_FREE char *name = past_call_name(item->type, body);
    AUTO_FREE char *arguments = past_call_arguments(item->type, body);
    json_t *call =
        json_build("{s:s, s:s, s:{s:s, s:s}}", "id", call_output_id(item), "type", "function",
                   "function", "name", name, "arguments", *arguments ? arguments : "{}");

    give_back_extra(call, body, upstream);
    return call;
}

/* ---- The messages ---- */

/* Building state: the items, and the messages so far. */
struct prompt {
    json_t *messages;
    json_t *bodies; /* parsed bodies of all items, in order */
    const struct item_row *const *items;
    size_t count;
    size_t *outputs; /* for each item the index of the output that answers it, or `count` */
    unsigned flags;
    const char *upstream; /* that gets the request; NULL: unknown */
    struct long_message_rule rule;
    size_t looked;      /* items before this one were looked at for calls */
    bool calls_between; /* the last of them, up to the user's message before it, have some */
};

/* The upstream that gets the request has executed the call itself: it gets its item back. */
static bool is_passed(const struct prompt *prompt, size_t at)
{
    const struct item_row *item = prompt->items[at];
    const json_t *body = json_array_get(prompt->bodies, at);

    return prompt->flags & CONTEXT_PASSED && prompt->upstream &&
           context_is_passed(item, body, prompt->upstream);
}

static bool is_call(const struct prompt *prompt, size_t at)
{
    return past_is_call(prompt->items[at]->type, json_array_get(prompt->bodies, at)) &&
           !is_passed(prompt, at);
}

/* A text of the conversation as it is sent: cut by the rule, or with the marks of logs made harmless. The
 * caller frees. */
static char *sent_text(const struct prompt *prompt, size_t at, const char *text)
{
    char *shown = prompt->items[at]->answered ? long_message_shown(&prompt->rule, text) : NULL;

    return shown ? shown : chain_log_neutral(text);
}

/* The content of the item at `at` as it is sent. In compact form, and where messages are cut, only the
 * server may write marks; otherwise texts are sent as they are. Takes `content`: a string, or parts. */
static json_t *sent_content(const struct prompt *prompt, size_t at, json_t *content)
{
    AUTO_FREE char *text = NULL;
    size_t i;
    json_t *part;

    if (!(prompt->flags & CONTEXT_COMPACT) && !prompt->rule.limit)
        return content;
    if (json_is_string(content)) {
        text = sent_text(prompt, at, json_string_value(content));
        json_decref(content);
        return json_string_nocheck(text);
    }
    json_array_foreach (content, i, part) {
        const char *given = json_get_string(part, "text", NULL);
        AUTO_FREE char *plain = given ? sent_text(prompt, at, given) : NULL;

        if (plain)
            json_set_string(part, "text", plain);
    }
    return content;
}

static void add_message(struct prompt *prompt, const char *role, json_t *content)
{
    json_array_append_new(prompt->messages,
                          json_build("{s:s, s:o}", "role", role, "content", content));
}

const char *context_role(const char *role)
{
    return strcmp(role, "developer") == 0 ? "system" : role;
}

/* The client's output of the call at `at`. New reference, or NULL. */
static json_t *client_output(const struct prompt *prompt, size_t at)
{
    size_t answer = prompt->outputs[at];
    const struct item_row *item;

    if (answer == prompt->count)
        return NULL;
    item = prompt->items[answer];
    return past_output(item->type, item_status_name(item->status),
                       json_array_get(prompt->bodies, answer));
}

/* The output of the call at `at`, wherever it is: in the call's own item, in an item of the client, or
 * nowhere. */
static json_t *output_of(const struct prompt *prompt, size_t at)
{
    static const char never[] = "{\"status\":\"incomplete\",\"message\":\"This call has no "
                                "output: it was not executed.\"}";
    static const char later[] = "{\"status\":\"in_progress\",\"message\":\"The output of "
                                "this call comes later.\"}";
    const json_t *body = json_array_get(prompt->bodies, at);
    const char *own = past_own_output(prompt->items[at]->type, body);
    json_auto_t *given = own ? NULL : client_output(prompt, at);

    if (own)
        return json_string_nocheck(own);
    if (given)
        return context_content(given);
    return json_string(json_get_bool(body, "async", false) ? later : never);
}

/* In Chat Completions the output of a tool is text, and only a user's message has pictures and files. So
 * these go into `shown`, behind a line that names their call. Returns the text; takes `parts`. */
static json_t *keep_text(const char *id, json_t *parts, json_t *shown)
{
    AUTO_FREE char *line = mem_printf("Output of the call %s:", id);
    json_auto_t *texts = json_array();
    size_t i;
    json_t *part;

    json_array_append_new(shown, context_text_part(line));
    json_array_foreach (parts, i, part)
        json_array_append(json_object_get(part, "text") ? texts : shown, part);
    if (!json_array_size(texts))
        json_array_append_new(texts, context_text_part("[shown in the next message]"));
    json_decref(parts);
    return context_joined_text(texts);
}

static void add_output(struct prompt *prompt, size_t at, json_t *shown)
{
    const char *id = call_output_id(prompt->items[at]);
    json_t *output = output_of(prompt, at);

    if (json_is_array(output))
        output = keep_text(id, output, shown);
    json_array_append_new(prompt->messages, json_build("{s:s, s:s, s:o}", "role", "tool",
                                                       "tool_call_id", id, "content", output));
}

/* Two neighbours belong to one answer of the model: they are of one run and turn, or both were input. */
static bool same_turn(const struct item_row *a, const struct item_row *b)
{
    return a->input == b->input && a->turn == b->turn && strcmp(a->run_id, b->run_id) == 0;
}

static int by_model_index(const void *a, const void *b)
{
    const size_t *const *left = a;
    const size_t *const *right = b;

    return (*left)[1] < (*right)[1] ? -1 : (*left)[1] > (*right)[1];
}

/* Adds the calls items[first..end) as tool_calls of `message`, in the model's order, and then
 * their outputs. */
static void add_calls(struct prompt *prompt, size_t first, size_t end, json_t *message)
{
    size_t count = end - first;
    AUTO_FREE size_t(*keys)[2] = mem_zeroed(count, sizeof(*keys));
    AUTO_FREE size_t **order = mem_zeroed(count, sizeof(*order));
    json_auto_t *shown = json_array();
    size_t calls = 0;
    json_t *list = json_array();

    for (size_t i = first; i < end; i++) {
        if (!is_call(prompt, i))
            continue;
        keys[calls][0] = i;
        /* A model_index counts within one request. Calls that clients sent may come from several
         * requests, so they keep their places. */
        keys[calls][1] = prompt->items[i]->input ? i : (size_t)prompt->items[i]->model_index;
        order[calls] = keys[calls];
        calls++;
    }
    qsort(order, calls, sizeof(*order), by_model_index);
    for (size_t i = 0; i < calls; i++)
        json_array_append_new(list, chat_call(prompt->items[order[i][0]],
                                              json_array_get(prompt->bodies, order[i][0]),
                                              prompt->upstream));
    json_set(message, "tool_calls", list);
    json_array_append(prompt->messages, message);
    for (size_t i = 0; i < calls; i++)
        add_output(prompt, order[i][0], shown);
    if (json_array_size(shown))
        add_message(prompt, "user", json_incref(shown));
}

/* Adds an item of reasoning to the answer's message, with its notes, which name its upstream. So does a call that the
 * upstream has executed: reasoning must be followed by what it led to. */
static void keep_reasoning(json_t *message, const struct item_row *item, json_t *body)
{
    json_t *list = json_object_get(message, "reasoning_items");

    if (!list) {
        list = json_array();
        json_object_set_new(message, "reasoning_items", list);
    }
    json_set_string(body, "id", item->id);
    json_set_string(body, "type", item_row_type_name(item));
    json_array_append(list, body);
}

/* ---- Answers ---- */

/* One answer of the model, while its items are read. */
struct answer {
    json_t *message;
    bool calls;   /* there are some so far */
    bool waiting; /* the output of one of them comes later */
    bool of_turn; /* a run has made it in one turn, with calls: its end is known */
};

static bool has_passed(const json_t *message)
{
    size_t i;
    json_t *item;

    json_array_foreach (json_object_get(message, "reasoning_items"), i, item) {
        if (json_is_true(json_object_get(notes_of(item), NOTE_PASSED)))
            return true;
    }
    return false;
}

static bool is_blank(const json_t *content)
{
    return json_is_string(content) &&
           strspn(json_string_value(content), " \t\r\n") == json_string_length(content);
}

static json_t *as_parts(json_t *content)
{
    return json_is_string(content)
               ? json_build("[o]", context_text_part(json_string_value(content)))
               : json_incref(content);
}

/* Two contents as one. Takes both. */
static json_t *joined_content(json_t *before, json_t *behind)
{
    json_t *parts;

    if (json_is_string(before) && json_is_string(behind)) {
        AUTO_FREE char *text =
            mem_printf("%s\n\n%s", json_string_value(before), json_string_value(behind));

        parts = json_string_nocheck(text);
    } else {
        json_auto_t *more = as_parts(behind);

        parts = as_parts(before);
        json_array_extend(parts, more);
    }
    json_decref(before);
    json_decref(behind);
    return parts;
}

/* Some models write blanks or words between and behind their calls. A blank there says nothing. Takes
 * the content. */
static void add_text_of_answer(struct answer *answer, json_t *content)
{
    json_t *before = json_object_get(answer->message, "content");

    if (is_blank(content) && (answer->calls || !json_is_null(before))) {
        json_decref(content);
        return;
    }
    if (!json_is_null(before) && !is_blank(before))
        content = joined_content(json_incref(before), content);
    json_set(answer->message, "content", content);
}

static bool has_calls(const struct prompt *prompt, size_t first)
{
    const struct item_row *head = prompt->items[first];

    for (size_t i = first; i < prompt->count && same_turn(head, prompt->items[i]); i++) {
        if (is_call(prompt, i))
            return true;
    }
    return false;
}

/* A text behind another text, or behind calls, belongs to the answer if they are of one turn. Of input it
 * is not known where a turn ends, but it cannot end before the outputs of its calls. */
static bool takes_text(const struct answer *answer)
{
    return answer->of_turn || answer->waiting ||
           (!answer->calls && json_is_null(json_object_get(answer->message, "content")));
}

/* The model made calls among the items from `first` to the user's next message. Each item is looked at once,
 * because answers are built in their order. */
static bool has_calls_between(struct prompt *prompt, size_t first)
{
    if (first < prompt->looked)
        return prompt->calls_between;
    prompt->calls_between = false;
    for (prompt->looked = first;
         prompt->looked < prompt->count && !context_is_users(prompt->items[prompt->looked]);
         prompt->looked++) {
        if (is_call(prompt, prompt->looked))
            prompt->calls_between = true;
    }
    return prompt->calls_between;
}

static void give_back_reasoning(struct prompt *prompt, size_t first, size_t end,
                                json_t *message)
{
    unsigned all = prompt->flags & CONTEXT_GIVE_BACK_ALL;
    enum past_reasoning_part part;

    if (!prompt->upstream || !(prompt->flags & (CONTEXT_GIVE_BACK | CONTEXT_GIVE_BACK_ALL)))
        return;
    part =
        all || has_calls_between(prompt, first) ? PAST_REASONING_ALL : PAST_REASONING_DETAILS;
    for (size_t i = first; i < end; i++)
        past_reasoning_give_back(message, prompt->items[i], json_array_get(prompt->bodies, i),
                                 prompt->upstream, part);
}

/* What the model has said. Pictures in its messages are those that its code has drawn, for people: no upstream takes
 * them in an answer. */
static json_t *said_content(const struct item_row *item, const json_t *content)
{
    json_auto_t *said = json_array();
    size_t i;
    json_t *part;

    if (item->input || json_is_string(content))
        return context_content(content);
    json_array_foreach (content, i, part) {
        if (strcmp(json_get_string(part, "type", ""), "input_image") != 0)
            json_array_append(said, part);
    }
    return context_content(said);
}

/* One answer of the model: text, calls, or both. Returns the index after it. */
static size_t add_answer(struct prompt *prompt, size_t first)
{
    const struct item_row *head = prompt->items[first];
    json_auto_t *message = json_build("{s:s, s:n}", "role", "assistant", "content");
    struct answer answer = {.message = message,
                            .of_turn = !head->input && has_calls(prompt, first)};
    size_t end = first;

    while (end < prompt->count && same_turn(head, prompt->items[end])) {
        const struct item_row *item = prompt->items[end];
        json_t *body = json_array_get(prompt->bodies, end);
        bool is_text = item->type == ITEM_MESSAGE && strcmp(item->role, "assistant") == 0;

        if (is_text && !takes_text(&answer))
            break; /* it begins an answer of its own */
        if (is_text) {
            add_text_of_answer(
                &answer, sent_content(prompt, end,
                                      said_content(item, json_object_get(body, "content"))));
        } else if (is_passed(prompt, end)) {
            keep_reasoning(message, item, body);
        } else if (is_call(prompt, end)) {
            answer.calls = true;
            answer.waiting = answer.waiting || prompt->outputs[end] != prompt->count;
        } else if (item->type != ITEM_REASONING && item->type != ITEM_MCP_LIST_TOOLS &&
                   !(answer.calls && !item->input && context_is_output(item))) {
            break;
        }
        if (item->type == ITEM_REASONING && prompt->flags & CONTEXT_REASONING)
            keep_reasoning(message, item, body);
        end++;
    }
    give_back_reasoning(prompt, first, end, message);
    if (answer.calls)
        add_calls(prompt, first, end, message);
    else if (!json_is_null(json_object_get(message, "content")) || has_passed(message))
        json_array_append(prompt->messages, message);
    return end > first ? end : first + 1;
}

/* A message of the user, or a rule. Rules come from the application, which may write marks. */
static void add_input(struct prompt *prompt, size_t at, const json_t *content)
{
    const struct item_row *item = prompt->items[at];
    json_t *text = context_content(content);

    if (strcmp(item->role, "user") == 0)
        text = sent_content(prompt, at, text);
    add_message(prompt, context_role(item->role), text);
}

static size_t add_item(struct prompt *prompt, size_t i)
{
    const struct item_row *item = prompt->items[i];
    json_t *body = json_array_get(prompt->bodies, i);

    if (item->type == ITEM_MESSAGE && strcmp(item->role, "assistant") != 0) {
        add_input(prompt, i, json_object_get(body, "content"));
        return i + 1;
    }
    if (context_is_output(item))
        return i + 1; /* add_calls() has sent it with its call, or it has no call */
    if (item->type == ITEM_COMPACTION) {
        compaction_add_messages(body, prompt->messages);
        return i + 1;
    }
    return add_answer(prompt, i);
}

/* ---- Finished turns, in compact form ---- */

/* Sends the stretch that begins at `first` as one message, and returns its end. Without calls there is
 * nothing to shorten: then it sends nothing and returns `first`. */
static size_t add_past(struct prompt *prompt, size_t first)
{
    struct chain_text text;
    size_t end = first;

    while (end < prompt->count && !context_is_divide(prompt->items[end]))
        end++;
    if (end == first)
        return first;
    chain_text_render(&text, prompt->items, prompt->bodies, first, end, &prompt->rule);
    if (text.calls) {
        buf_add(&text.hint, text.flow.data, text.flow.length);
        add_message(prompt, "assistant",
                    json_stringn_nocheck(text.hint.data, text.hint.length));
        first = end;
    }
    chain_text_clear(&text);
    return first;
}

/* A client's call whose answer broke off within it. Its arguments may be incomplete, so it is left out,
 * unless the client has answered it all the same. */
static bool is_unfinished(const struct item_row *call)
{
    return call->status == ITEM_INCOMPLETE && item_type_is_client_call(call->type);
}

/* A run has made the message for its client, because its last turn had no text (turn/run_model.c). Some
 * upstreams refuse a message without text. */
static bool is_empty_answer(const struct item_row *item, const json_t *body)
{
    size_t i;
    json_t *part;

    if (item->input || item->type != ITEM_MESSAGE)
        return false;
    json_array_foreach (json_object_get(body, "content"), i, part) {
        if (*json_get_string(part, "text", "") || *json_get_string(part, "refusal", ""))
            return false;
    }
    return true;
}

/* A list of tools is long, and no model is sent it. */
static json_t *read_body(const struct prompt *prompt, const struct item_row *item)
{
    return item->type == ITEM_MCP_LIST_TOOLS && !(prompt->flags & CONTEXT_COMPACT)
               ? json_null()
               : json_parse_own(item->body);
}

/* Fills `items`, `bodies` and `outputs` of the prompt. `kept` has room for all. */
static void read_items(struct prompt *prompt, const struct item_row *const *items, size_t count,
                       const struct item_row **kept)
{
    AUTO_FREE size_t *outputs = NULL;

    if (count)
        memcpy(kept, items, count * sizeof(*kept));
    context_order(kept, count);
    outputs = call_outputs_find(kept, 0, count);
    for (size_t i = 0; i < count; i++) {
        json_t *body = read_body(prompt, kept[i]);

        if (notes_say_cut(body) || is_empty_answer(kept[i], body) || past_is_of_program(body) ||
            (is_unfinished(kept[i]) && outputs[i] == count)) {
            json_decref(body);
            continue;
        }
        kept[prompt->count++] = kept[i];
        json_array_append_new(prompt->bodies, body);
    }
    prompt->outputs = call_outputs_find(kept, 0, prompt->count);
}

/* The first `past` items belong to finished turns. */
static void add_all(struct prompt *prompt, size_t past)
{
    for (size_t i = 0; i < prompt->count;) {
        size_t next = i < past ? add_past(prompt, i) : i;

        i = next > i ? next : add_item(prompt, i);
    }
}

json_t *context_past_messages(const struct item_row *const *items, size_t count,
                              const struct long_message_rule *rule, unsigned flags,
                              const char *upstream)
{
    AUTO_FREE const struct item_row **kept = mem_zeroed(count, sizeof(*kept));
    json_auto_t *bodies = json_array();
    struct prompt prompt = {.messages = json_array(),
                            .bodies = bodies,
                            .items = kept,
                            .flags = flags | CONTEXT_COMPACT,
                            .upstream = upstream,
                            .rule = *rule};

    read_items(&prompt, items, count, kept);
    add_all(&prompt, prompt.count);
    free(prompt.outputs);
    return prompt.messages;
}

json_t *context_make_messages(const char *instructions, const struct item_row *const *items,
                              size_t count, unsigned flags, const char *upstream,
                              struct long_message_rule rule)
{
    AUTO_FREE const struct item_row **kept = mem_zeroed(count, sizeof(*kept));
    json_auto_t *bodies = json_array();
    struct prompt prompt = {.messages = json_array(),
                            .bodies = bodies,
                            .items = kept,
                            .flags = flags,
                            .upstream = upstream,
                            .rule = rule};

    if (instructions && *instructions)
        add_message(&prompt, "system", json_string_nocheck(instructions));
    read_items(&prompt, items, count, kept);
    add_all(&prompt, flags & CONTEXT_COMPACT ? context_past(kept, prompt.count) : 0);
    if (flags & CONTEXT_FILL_REASONING || past_reasoning_is_content(prompt.messages))
        past_reasoning_fill(prompt.messages);
    free(prompt.outputs);
    return prompt.messages;
}

json_t *context_messages(const char *instructions, const struct item_row *const *items,
                         size_t count)
{
    return context_make_messages(instructions, items, count, 0, NULL,
                                 (struct long_message_rule){0});
}
