#include "core/run/context/context.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/notes.h"
#include "core/run/catalog/tool_choice.h"
#include "core/run/context/call_outputs.h"
#include "core/run/context/chain_log.h"
#include "core/run/context/compaction.h"
#include "core/run/context/long_messages.h"
#include "core/run/context/past_calls.h"

static bool is_output(const struct item_row *item)
{
    return item_type_is_output(item->type);
}

/* ---- Content: parts of the Responses vocabulary as the Chat API's ---- */

static json_t *text_part(const char *text)
{
    return json_build("{s:s, s:s}", "type", "text", "text", text);
}

static json_t *image_part(const json_t *part)
{
    const char *url = json_get_string(part, "image_url", NULL);
    const char *detail = json_get_string(part, "detail", NULL);
    json_t *image;

    if (!url) {
        AUTO_FREE char *named = mem_printf("[image %s]", json_get_string(part, "file_id", ""));

        return text_part(named);
    }
    image = json_build("{s:s}", "url", url);
    if (detail)
        json_set_string(image, "detail", strcmp(detail, "original") == 0 ? "high" : detail);
    return json_build("{s:s, s:o}", "type", "image_url", "image_url", image);
}

static json_t *file_part(const json_t *part)
{
    json_t *file = json_object();
    static const char *const keys[] = {"file_id", "filename", "file_data", "file_url"};

    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        json_t *value = json_object_get(part, keys[i]);

        if (!json_absent(value))
            json_object_set(file, keys[i], value);
    }
    return json_build("{s:s, s:o}", "type", "file", "file", file);
}

static json_t *chat_part(const json_t *part)
{
    const char *type = json_get_string(part, "type", "");

    if (strcmp(type, "input_image") == 0)
        return image_part(part);
    if (strcmp(type, "input_file") == 0)
        return file_part(part);
    if (strcmp(type, "refusal") == 0)
        return text_part(json_get_string(part, "refusal", ""));
    return text_part(json_get_string(part, "text", ""));
}

/* All text of a content list as one string, parts separated by an empty line. */
static json_t *joined_text(const json_t *parts)
{
    AUTO_BUF text = {0};
    size_t i;
    json_t *part;

    json_array_foreach (parts, i, part) {
        if (text.length)
            buf_add_text(&text, "\n\n");
        buf_add_text(&text, json_get_string(part, "text", ""));
    }
    return json_stringn_nocheck(text.data ? text.data : "", text.length);
}

/* A string when it is all text, which every server understands; else a list of parts. */
static json_t *chat_content(const json_t *content)
{
    json_auto_t *parts = json_array();
    bool text_only = true;
    size_t i;
    json_t *part;

    if (json_is_string(content))
        return json_deep_copy(content);
    json_array_foreach (content, i, part) {
        json_t *made = chat_part(part);

        text_only = text_only && json_object_get(made, "text");
        json_array_append_new(parts, made);
    }
    return text_only ? joined_text(parts) : json_incref(parts);
}

/* ---- Calls ---- */

/* What its upstream has attached to it. Others would refuse what they do not know. */
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

static bool is_call(const struct item_row *item, const json_t *body)
{
    return past_is_call(item->type, body);
}

/* ---- The conversation ---- */

/* Building state: the messages so far, and the assistant message that calls are gathered in. */
struct story {
    json_t *messages;
    json_t *bodies; /* parsed bodies of all items, in order */
    const struct item_row *const *items;
    size_t count;
    size_t *outputs; /* where the calls were answered */
    unsigned flags;
    const char *upstream; /* whom it is told; NULL: nobody */
    struct long_message_rule rule;
};

/* The caller frees. */
static char *heard_text(const struct story *story, size_t at, const char *text)
{
    char *shown = story->items[at]->answered ? long_message_shown(&story->rule, text) : NULL;

    return shown ? shown : chain_log_neutral(text);
}

/* In compact form, and where messages are cut, nobody but us writes the marks of logs. Takes the content
 * of the item at `at`: a string, or parts. */
static json_t *heard(const struct story *story, size_t at, json_t *content)
{
    AUTO_FREE char *text = NULL;
    size_t i;
    json_t *part;

    if (!(story->flags & CONTEXT_COMPACT) && !story->rule.limit)
        return content;
    if (json_is_string(content)) {
        text = heard_text(story, at, json_string_value(content));
        json_decref(content);
        return json_string_nocheck(text);
    }
    json_array_foreach (content, i, part) {
        const char *said = json_get_string(part, "text", NULL);
        AUTO_FREE char *plain = said ? heard_text(story, at, said) : NULL;

        if (plain)
            json_set_string(part, "text", plain);
    }
    return content;
}

static void add_message(struct story *story, const char *role, json_t *content)
{
    json_array_append_new(story->messages,
                          json_build("{s:s, s:o}", "role", role, "content", content));
}

static const char *chat_role(const char *role)
{
    return strcmp(role, "developer") == 0 ? "system" : role;
}

/* What the client answered to the call at `at`. New reference, or NULL. */
static json_t *given_output(const struct story *story, size_t at)
{
    size_t answer = story->outputs[at];
    const struct item_row *item;

    if (answer == story->count)
        return NULL;
    item = story->items[answer];
    return past_output(item->type, item_status_name(item->status),
                       json_array_get(story->bodies, answer));
}

static json_t *output_of(const struct story *story, size_t at)
{
    static const char never[] = "{\"status\":\"incomplete\",\"message\":\"This call has no "
                                "output: it was not executed.\"}";
    const char *own =
        past_own_output(story->items[at]->type, json_array_get(story->bodies, at));
    json_auto_t *given = own ? NULL : given_output(story, at);

    if (own)
        return json_string_nocheck(own);
    return given ? chat_content(given) : json_string(never);
}

/* In Chat Completions a tool answers with text; pictures and files are the user's to show, so they
 * go into `shown`, behind a line that says whose they are. Returns what is left; takes `parts`. */
static json_t *keep_text(const char *id, json_t *parts, json_t *shown)
{
    AUTO_FREE char *line = mem_printf("Output of the call %s:", id);
    json_auto_t *texts = json_array();
    size_t i;
    json_t *part;

    json_array_append_new(shown, text_part(line));
    json_array_foreach (parts, i, part)
        json_array_append(json_object_get(part, "text") ? texts : shown, part);
    if (!json_array_size(texts))
        json_array_append_new(texts, text_part("[shown in the next message]"));
    json_decref(parts);
    return joined_text(texts);
}

static void add_output(struct story *story, size_t at, json_t *shown)
{
    const char *id = call_output_id(story->items[at]);
    json_t *output = output_of(story, at);

    if (json_is_array(output))
        output = keep_text(id, output, shown);
    json_array_append_new(story->messages, json_build("{s:s, s:s, s:o}", "role", "tool",
                                                      "tool_call_id", id, "content", output));
}

/* Two items belong to one answer of the model: same run and turn, or neighbours in the input. */
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
static void add_calls(struct story *story, size_t first, size_t end, json_t *message)
{
    size_t count = end - first;
    AUTO_FREE size_t(*keys)[2] = mem_zeroed(count, sizeof(*keys));
    AUTO_FREE size_t **order = mem_zeroed(count, sizeof(*order));
    json_auto_t *shown = json_array();
    size_t calls = 0;
    json_t *list = json_array();

    for (size_t i = first; i < end; i++) {
        if (!is_call(story->items[i], json_array_get(story->bodies, i)))
            continue;
        keys[calls][0] = i;
        /* Calls that were sent stand in their order, and may have come with several requests. */
        keys[calls][1] = story->items[i]->input ? i : (size_t)story->items[i]->model_index;
        order[calls] = keys[calls];
        calls++;
    }
    qsort(order, calls, sizeof(*order), by_model_index);
    for (size_t i = 0; i < calls; i++)
        json_array_append_new(list, chat_call(story->items[order[i][0]],
                                              json_array_get(story->bodies, order[i][0]),
                                              story->upstream));
    json_set(message, "tool_calls", list);
    json_array_append(story->messages, message);
    for (size_t i = 0; i < calls; i++)
        add_output(story, order[i][0], shown);
    if (json_array_size(shown))
        add_message(story, "user", json_incref(shown));
}

/* Sealed as its upstream did it, notes of ours included. */
static void keep_reasoning(json_t *message, const struct item_row *item, json_t *body)
{
    json_t *list = json_object_get(message, "reasoning_items");

    if (!list) {
        list = json_array();
        json_object_set_new(message, "reasoning_items", list);
    }
    json_set_string(body, "id", item->id);
    json_array_append(list, body);
}

/* One answer of the model: text, calls, or both. Returns the index after it. */
static size_t add_answer(struct story *story, size_t first)
{
    const struct item_row *head = story->items[first];
    json_auto_t *message = json_build("{s:s, s:n}", "role", "assistant", "content");
    size_t end = first;
    bool calls = false;

    while (end < story->count && same_turn(head, story->items[end])) {
        const struct item_row *item = story->items[end];
        json_t *body = json_array_get(story->bodies, end);
        bool is_text = item->type == ITEM_MESSAGE && strcmp(item->role, "assistant") == 0;

        if (is_text && (calls || !json_is_null(json_object_get(message, "content"))))
            break; /* a second message: an answer of its own */
        if (is_text)
            json_set(message, "content",
                     heard(story, end, chat_content(json_object_get(body, "content"))));
        else if (is_call(item, body))
            calls = true;
        else if (item->type != ITEM_REASONING && item->type != ITEM_MCP_LIST_TOOLS &&
                 !(calls && !item->input && is_output(item)))
            break;
        if (item->type == ITEM_REASONING && story->flags & CONTEXT_REASONING)
            keep_reasoning(message, item, body);
        end++;
    }
    if (calls)
        add_calls(story, first, end, message);
    else if (!json_is_null(json_object_get(message, "content")))
        json_array_append(story->messages, message);
    return end > first ? end : first + 1;
}

/* What the user says; what the operator says is his to write as he likes. */
static void add_told(struct story *story, size_t at, const json_t *content)
{
    const struct item_row *item = story->items[at];
    json_t *text = chat_content(content);

    if (strcmp(item->role, "user") == 0)
        text = heard(story, at, text);
    add_message(story, chat_role(item->role), text);
}

static size_t add_item(struct story *story, size_t i)
{
    const struct item_row *item = story->items[i];
    json_t *body = json_array_get(story->bodies, i);

    if (item->type == ITEM_MESSAGE && strcmp(item->role, "assistant") != 0) {
        add_told(story, i, json_object_get(body, "content"));
        return i + 1;
    }
    if (is_output(item))
        return i + 1;
    if (item->type == ITEM_COMPACTION) {
        compaction_add_messages(body, story->messages);
        return i + 1;
    }
    return add_answer(story, i);
}

/* ---- Turns that are over, in compact form ---- */

/* Ends what came before it. */
static bool is_divide(const struct item_row *item)
{
    return item->type == ITEM_COMPACTION ||
           (item->type == ITEM_MESSAGE && strcmp(item->role, "assistant") != 0);
}

static bool is_users(const struct item_row *item)
{
    return item->type == ITEM_MESSAGE && strcmp(item->role, "user") == 0;
}

/* What a client sends beside the user's words. */
static bool is_said(const struct item_row *item)
{
    return is_divide(item) || (item->input && is_output(item));
}

static bool has_output(const struct item_row *const *items, size_t begin, size_t end)
{
    while (begin < end && !is_output(items[begin]))
        begin++;
    return begin < end;
}

size_t context_past(const struct item_row *const *items, size_t count)
{
    size_t users = count, begin, end;

    while (users && !is_users(items[users - 1]))
        users--;
    for (begin = users; begin && is_said(items[begin - 1]); begin--)
        ;
    for (end = users; end < count && is_said(items[end]); end++)
        ;
    if (!has_output(items, begin, end))
        return users;
    while (begin && !is_divide(items[begin - 1]))
        begin--;
    return begin;
}

size_t context_stretch(const struct item_row *const *items, size_t first, size_t past)
{
    while (first < past && !is_divide(items[first]))
        first++;
    return first;
}

/* What was made between two messages, in one. Returns the index after it; or `first`, when it is
 * better told as it was: no calls. */
static size_t add_past(struct story *story, size_t first)
{
    struct chain_text text;
    size_t end = first;

    while (end < story->count && !is_divide(story->items[end]))
        end++;
    if (end == first)
        return first;
    chain_text_render(&text, story->items, story->bodies, first, end, &story->rule);
    if (text.calls) {
        buf_add(&text.hint, text.flow.data, text.flow.length);
        add_message(story, "assistant", json_stringn_nocheck(text.hint.data, text.hint.length));
        first = end;
    }
    chain_text_clear(&text);
    return first;
}

static size_t add_next(struct story *story, size_t i, size_t past)
{
    size_t next = i < past ? add_past(story, i) : i;

    return next > i ? next : add_item(story, i);
}

/* A crash cut it in the middle: the turn was asked again, and this is not what it answered. */
static bool was_cut(const json_t *body)
{
    return json_get_bool(notes_of(body), "cut", false);
}

/* A call of the client's in an answer that broke off there: its arguments may be half, and nobody can
 * have executed it. Who has answered it all the same means it. */
static bool is_unfinished(const struct item_row *call)
{
    return call->status == ITEM_INCOMPLETE && item_type_is_client_call(call->type);
}

/* `later` was sent in one request with `message`, after it, and answers what came before both. */
static bool answers_before(const struct item_row *later, const struct item_row *message)
{
    return later->input && is_output(later) && message->input && is_divide(message) &&
           message->type == ITEM_MESSAGE && strcmp(message->run_id, later->run_id) == 0;
}

/* `later` is of a turn whose answer was shown before it: what final tools said. */
static bool was_asked_before(const struct item_row *later, const struct item_row *shown)
{
    return !later->input && !shown->input && shown->turn > later->turn &&
           strcmp(shown->run_id, later->run_id) == 0;
}

void context_order(const struct item_row **items, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const struct item_row *item = items[i];
        size_t at = i;

        while (at &&
               (was_asked_before(item, items[at - 1]) || answers_before(item, items[at - 1])))
            at--;
        memmove(items + at + 1, items + at, (i - at) * sizeof(items[0]));
        items[at] = item;
    }
}

/* `kept` has room for all. */
static void read_items(struct story *story, const struct item_row *const *items, size_t count,
                       const struct item_row **kept)
{
    AUTO_FREE size_t *outputs = NULL;

    if (count)
        memcpy(kept, items, count * sizeof(*kept));
    context_order(kept, count);
    outputs = call_outputs_find(kept, 0, count);
    for (size_t i = 0; i < count; i++) {
        json_t *body = json_parse_own(kept[i]->body);

        if (was_cut(body) || (is_unfinished(kept[i]) && outputs[i] == count)) {
            json_decref(body);
            continue;
        }
        kept[story->count++] = kept[i];
        json_array_append_new(story->bodies, body);
    }
    story->outputs = call_outputs_find(kept, 0, story->count);
}

/* Up to `past` items are told as turns that are over. */
static void tell_all(struct story *story, size_t past)
{
    for (size_t i = 0; i < story->count;)
        i = add_next(story, i, past);
}

json_t *context_past_messages(const struct item_row *const *items, size_t count,
                              const struct long_message_rule *rule)
{
    AUTO_FREE const struct item_row **kept = mem_zeroed(count, sizeof(*kept));
    json_auto_t *bodies = json_array();
    struct story story = {.messages = json_array(),
                          .bodies = bodies,
                          .items = kept,
                          .flags = CONTEXT_COMPACT,
                          .rule = *rule};

    read_items(&story, items, count, kept);
    tell_all(&story, story.count);
    free(story.outputs);
    return story.messages;
}

static json_t *make_messages(const char *instructions, const struct item_row *const *items,
                             size_t count, unsigned flags, const char *upstream,
                             struct long_message_rule rule)
{
    AUTO_FREE const struct item_row **kept = mem_zeroed(count, sizeof(*kept));
    json_auto_t *bodies = json_array();
    struct story story = {.messages = json_array(),
                          .bodies = bodies,
                          .items = kept,
                          .flags = flags,
                          .upstream = upstream,
                          .rule = rule};

    if (instructions && *instructions)
        add_message(&story, "system", json_string_nocheck(instructions));
    read_items(&story, items, count, kept);
    tell_all(&story, flags & CONTEXT_COMPACT ? context_past(kept, story.count) : 0);
    free(story.outputs);
    return story.messages;
}

json_t *context_messages(const char *instructions, const struct item_row *const *items,
                         size_t count)
{
    return make_messages(instructions, items, count, 0, NULL, (struct long_message_rule){0});
}

json_t *context_content(const json_t *content)
{
    return chat_content(content);
}

json_t *context_texts(const json_t *content)
{
    json_auto_t *told = chat_content(content);
    json_t *texts = json_array();
    size_t i;
    json_t *part;

    if (json_is_string(told))
        json_array_append(texts, told);
    json_array_foreach (told, i, part) {
        json_t *text = json_object_get(part, "text");

        if (text)
            json_array_append(texts, text);
    }
    return texts;
}

bool context_is_output(const struct item_row *item)
{
    return is_output(item);
}

size_t context_start(const struct item_row *const *items, size_t count, int last_messages,
                     const char *run_id)
{
    int seen = 0;

    for (size_t i = count; last_messages && i-- > 0;) {
        bool made_here = !items[i]->input && strcmp(items[i]->run_id, run_id) == 0;

        if (items[i]->type == ITEM_MESSAGE && !made_here && ++seen == last_messages)
            return i;
    }
    return 0;
}

/* ---- The request ---- */

/* text.format or response_format as the Chat API's response_format; NULL to leave it out. */
static json_t *chat_format(const json_t *format)
{
    const char *type = json_get_string(format, "type", "text");

    if (strcmp(type, "text") == 0)
        return NULL;
    if (strcmp(type, "json_schema") == 0 && !json_object_get(format, "json_schema")) {
        json_t *schema = json_object();
        static const char *const keys[] = {"name", "description", "schema", "strict"};

        for (size_t i = 0; i < COUNT_OF(keys); i++) {
            json_t *value = json_object_get(format, keys[i]);

            if (!json_absent(value))
                json_object_set(schema, keys[i], value);
        }
        return json_build("{s:s, s:o}", "type", "json_schema", "json_schema", schema);
    }
    return json_deep_copy(format);
}

bool context_is_compact(const struct run_settings *settings, enum run_history fallback)
{
    return (settings->history == RUN_HISTORY_UNSET ? fallback : settings->history) ==
           RUN_HISTORY_COMPACT;
}

static void add_text(json_t *request, const char *key, const char *text)
{
    if (text)
        json_set_string(request, key, text);
}

static void add_sampling(json_t *request, const struct run_settings *settings)
{
    const char *verbosity = settings->verbosity;
    json_t *format = chat_format(settings->format);

    if (settings->temperature)
        json_object_set(request, "temperature", settings->temperature);
    if (settings->top_p)
        json_object_set(request, "top_p", settings->top_p);
    if (settings->max_completion_tokens != RUN_NO_LIMIT)
        json_set_int(request, "max_completion_tokens", settings->max_completion_tokens);
    add_text(request, "reasoning_effort", settings->reasoning_effort);
    if (settings->top_logprobs > 0)
        json_set_int(request, "top_logprobs", settings->top_logprobs);
    add_text(request, "user", settings->user);
    add_text(request, "prompt_cache_key", settings->prompt_cache_key);
    add_text(request, "safety_identifier", settings->safety_identifier);
    if (run_settings_want_logprobs(settings))
        json_set_bool(request, "logprobs", true);
    if (verbosity && strcmp(verbosity, "medium") != 0)
        json_set_string(request, "verbosity", verbosity);
    if (format)
        json_set(request, "response_format", format);
}

static void add_tools(json_t *request, const struct run_settings *settings,
                      const struct tool_set *tools, unsigned flags)
{
    const json_t *choice = settings->tool_choice;
    json_t *upstream_choice = NULL;
    json_t *offered;

    if (flags & CONTEXT_CHOICE_SPENT)
        choice = tool_choice_standing(choice);
    offered = tool_set_offer(tools, choice);
    if (!offered)
        return;
    json_set(request, "tools", offered);
    if (flags & CONTEXT_LAST_ANSWER)
        upstream_choice = json_string("none");
    else if (!(flags & CONTEXT_CHOICE_SPENT) || json_is_string(choice))
        upstream_choice = tool_choice_upstream(tools, choice);
    if (upstream_choice)
        json_set(request, "tool_choice", upstream_choice);
    if (settings->serial_calls)
        json_set_bool(request, "parallel_tool_calls", false);
}

/* What a prompt template says, in front of everything. */
static void put_first(json_t *messages, const json_t *instructions)
{
    size_t i;
    json_t *item;

    json_array_foreach (instructions, i, item)
        json_array_insert_new(messages, i,
                              json_build("{s:s, s:o}", "role",
                                         chat_role(json_get_string(item, "role", "developer")),
                                         "content",
                                         chat_content(json_object_get(item, "content"))));
}

/* Behind the instructions stands what the model is told about the tools of the server. The caller
 * frees. */
static char *all_instructions(const struct run_settings *settings, const struct tool_set *tools)
{
    const char *own = settings->instructions;
    const char *rules = tools->rules ? tools->rules : "";

    return mem_printf("%s%s%s", own, *own && *rules ? "\n\n" : "", rules);
}

json_t *context_request(const char *run_id, const struct run_settings *settings,
                        const struct tool_set *tools, const struct item_row *const *items,
                        size_t count, unsigned flags, const char *upstream)
{
    size_t start = context_start(items, count, settings->last_messages, run_id);
    AUTO_FREE char *instructions = all_instructions(settings, tools);
    struct long_message_rule rule = long_message_rule(settings, tools);
    json_t *request;

    rule.idle = flags & CONTEXT_LAST_ANSWER;
    request = json_build("{s:s, s:o}", "model", settings->model, "messages",
                         make_messages(instructions, count ? items + start : items,
                                       count - start, flags, upstream, rule));
    put_first(json_object_get(request, "messages"), settings->template_messages);
    add_sampling(request, settings);
    add_tools(request, settings, tools, flags);
    return request;
}
