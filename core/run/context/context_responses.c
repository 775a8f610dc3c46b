/*
 * context_responses.c -- a Chat Completions request, translated into one of the Responses API.
 *
 * There are two dialects of upstreams, and items could be translated into either directly. But then
 * every rule about contexts would be written twice: placeholders, compact form, cut messages, pictures of
 * tools. Masks and token counts would need both forms. So context.c makes one form, and this file
 * translates it, message by message. What it gets are messages with whole answers, so the
 * translation is local: a message becomes a few items, and no item depends on a later one.
 *
 * Going through Chat Completions would lose three things. They are carried along:
 *
 * - Reasoning: context.c hangs the items of reasoning on the answer's message (`reasoning_items`), where
 *   only this file looks. An upstream that reasons in secret needs its own sealed text back, or the model
 *   starts thinking from nothing after each tool call. Only the upstream that sealed a text can read it,
 *   and others answer with an error, so the notes of the item name the upstream.
 * - Custom tools take text, not JSON. To everything before they are functions with one argument, `input`.
 *   The tool set knows which names are custom.
 * - Whether the reasoning is to be summarised: it is read from the settings.
 *
 * Requests are sent with "store": false, because this server has the history. Sampling parameters that
 * the Responses API lacks are not in the table passed_on, and so are not sent.
 */

#include "core/run/context/context_responses.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/notes.h"
#include "core/run/context/past_reasoning.h"
#include "core/tool/registry.h"
#include "core/tool/tool_item.h"

/* ---- Content ---- */

static json_t *image_part(const json_t *part)
{
    const json_t *image = json_object_get(part, "image_url");

    return json_build("{s:s, s:s, s:s}", "type", "input_image", "image_url",
                      json_get_string(image, "url", ""), "detail",
                      json_get_string(image, "detail", "auto"));
}

static json_t *file_part(const json_t *part)
{
    json_t *file = json_build("{s:s}", "type", "input_file");

    json_object_update(file, json_object_get(part, "file"));
    return file;
}

static json_t *input_part(json_t *part)
{
    const char *type = json_get_string(part, "type", "");

    if (strcmp(type, "text") == 0)
        return json_build("{s:s, s:s}", "type", "input_text", "text",
                          json_get_string(part, "text", ""));
    if (strcmp(type, "image_url") == 0)
        return image_part(part);
    if (strcmp(type, "file") == 0)
        return file_part(part);
    return json_incref(part);
}

/* A string is valid content in both APIs. */
static json_t *input_content(json_t *content)
{
    json_t *parts;
    size_t i;
    json_t *part;

    if (!json_is_array(content))
        return json_incref(content);
    parts = json_array();
    json_array_foreach (content, i, part)
        json_array_append_new(parts, input_part(part));
    return parts;
}

/* The content of an answer. It is text, in one string or in parts, and needs another type than input. */
static json_t *output_content(const json_t *content)
{
    json_t *parts = json_array();
    size_t i;
    json_t *part;

    if (json_is_string(content))
        json_array_append_new(parts,
                              json_build("{s:s, s:s, s:[]}", "type", "output_text", "text",
                                         json_string_value(content), "annotations"));
    json_array_foreach (content, i, part)
        json_array_append_new(parts,
                              json_build("{s:s, s:s, s:[]}", "type", "output_text", "text",
                                         json_get_string(part, "text", ""), "annotations"));
    return parts;
}

/* ---- Items ---- */

/* Building state. */
struct input {
    json_t *items;
    const struct tool_set *tools;
    const char *upstream;
    json_t *custom; /* a set: the ids whose last call was one of a custom tool */
};

static bool is_custom(const struct tool_use *use)
{
    return use && use->handler->flags & TOOL_FREE_TEXT;
}

const char *context_sealed_reasoning(const json_t *body)
{
    const char *noted = json_get_string(notes_of(body), "encrypted_content", NULL);

    return json_get_string(body, "encrypted_content", noted);
}

bool context_reasoning_is_sent(const json_t *body, const char *upstream)
{
    return past_reasoning_maker(body, upstream) != PAST_REASONING_ANOTHERS &&
           (context_sealed_reasoning(body) ||
            json_array_size(json_object_get(body, "content")));
}

static void add_reasoning(struct input *input, const json_t *reasoning)
{
    const json_t *notes = notes_of(reasoning);
    const char *sealed = context_sealed_reasoning(reasoning);
    json_t *summary = json_object_get(reasoning, "summary");
    json_t *content = json_object_get(reasoning, "content");
    json_t *item;

    if (!context_reasoning_is_sent(reasoning, input->upstream))
        return;
    item =
        json_build("{s:s, s:s, s:o}", "type", "reasoning", "id",
                   json_get_string(notes, "upstream_id", json_get_string(reasoning, "id", "")),
                   "summary", summary ? json_incref(summary) : json_array());
    if (sealed)
        json_set_string(item, "encrypted_content", sealed);
    if (json_array_size(content))
        json_object_set(item, "content", content);
    json_array_append_new(input->items, item);
}

static const struct item_passed *passed_as(const char *type)
{
    const struct tool_item *look = tool_registry_item(type);

    return look ? look->passed : NULL;
}

bool context_is_passed(const struct item_row *item, const json_t *body, const char *upstream)
{
    return json_is_true(json_object_get(notes_of(body), NOTE_PASSED)) &&
           item->status == ITEM_COMPLETED && passed_as(item_row_type_name(item)) &&
           past_reasoning_maker(body, upstream) != PAST_REASONING_ANOTHERS;
}

/* A call that the upstream has executed, under the upstream's id. */
static void add_passed(struct input *input, const struct item_passed *passed,
                       const json_t *body)
{
    json_t *item = json_build(
        "{s:s, s:s, s:s}", "type", json_get_string(body, "type", ""), "id",
        json_get_string(notes_of(body), "upstream_id", json_get_string(body, "id", "")),
        "status", "completed");
    json_auto_t *sent = passed->sent(body);

    json_object_update(item, sent);
    json_array_append_new(input->items, item);
}

static void add_text_of_answer(struct input *input, const json_t *message)
{
    const json_t *content = json_object_get(message, "content");

    if (json_absent(content))
        return;
    json_array_append_new(input->items, json_build("{s:s, s:s, s:s, s:o}", "type", "message",
                                                   "role", "assistant", "status", "completed",
                                                   "content", output_content(content)));
}

static void add_call(struct input *input, const json_t *call)
{
    const json_t *function = json_object_get(call, "function");
    const char *id = json_get_string(call, "id", "");
    const char *name = json_get_string(function, "name", "");
    const char *arguments = json_get_string(function, "arguments", "{}");

    if (is_custom(tool_set_find(input->tools, name))) {
        json_auto_t *given = json_parse_own(arguments);

        json_set_bool(input->custom, id, true);
        json_array_append_new(input->items,
                              json_build("{s:s, s:s, s:s, s:s}", "type", "custom_tool_call",
                                         "call_id", id, "name", name, "input",
                                         json_get_string(given, "input", "")));
        return;
    }
    json_object_del(input->custom, id); /* ids may be used again, by another tool */
    json_array_append_new(input->items,
                          json_build("{s:s, s:s, s:s, s:s, s:s}", "type", "function_call",
                                     "call_id", id, "name", name, "arguments", arguments,
                                     "status", "completed"));
}

static void add_answer(struct input *input, const json_t *message)
{
    size_t i;
    json_t *value;

    json_array_foreach (json_object_get(message, "reasoning_items"), i, value) {
        const struct item_passed *passed = passed_as(json_get_string(value, "type", ""));

        if (passed)
            add_passed(input, passed, value);
        else
            add_reasoning(input, value);
    }
    add_text_of_answer(input, message);
    json_array_foreach (json_object_get(message, "tool_calls"), i, value)
        add_call(input, value);
}

static void add_output(struct input *input, const json_t *message)
{
    const char *id = json_get_string(message, "tool_call_id", "");
    bool custom = json_object_get(input->custom, id);

    json_array_append_new(
        input->items,
        json_build("{s:s, s:s, s:o}", "type",
                   custom ? "custom_tool_call_output" : "function_call_output", "call_id", id,
                   "output", input_content(json_object_get(message, "content"))));
}

static void add_message(struct input *input, const json_t *message)
{
    const char *role = json_get_string(message, "role", "user");

    if (strcmp(role, "assistant") == 0)
        add_answer(input, message);
    else if (strcmp(role, "tool") == 0)
        add_output(input, message);
    else
        json_array_append_new(input->items,
                              json_build("{s:s, s:s, s:o}", "type", "message", "role", role,
                                         "content",
                                         input_content(json_object_get(message, "content"))));
}

static json_t *input_items(const json_t *messages, const struct tool_set *tools,
                           const char *upstream)
{
    json_auto_t *custom = json_object();
    struct input input = {
        .items = json_array(), .tools = tools, .upstream = upstream, .custom = custom};
    size_t i;
    json_t *message;

    json_array_foreach (messages, i, message)
        add_message(&input, message);
    return input.items;
}

/* ---- Tools ---- */

static json_t *custom_tool(const struct tool_use *use)
{
    static const char *const keys[] = {"description", "format"};
    json_t *tool = json_build("{s:s, s:s}", "type", "custom", "name", use->name);

    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        json_t *value = json_object_get(use->entry, keys[i]);

        if (!json_absent(value))
            json_object_set(tool, keys[i], value);
    }
    return tool;
}

/* In the Responses API a function is strict by default, in Chat Completions it is not. */
static json_t *function_tool(json_t *function)
{
    json_t *tool = json_build("{s:s, s:n, s:b}", "type", "function", "parameters", "strict", 0);

    json_object_update(tool, function);
    return tool;
}

static json_t *responses_tools(const json_t *offered, const struct tool_set *tools)
{
    json_t *list = json_array();
    size_t i;
    json_t *tool;

    json_array_foreach (offered, i, tool) {
        json_t *function = json_object_get(tool, "function");

        const struct tool_use *use =
            tool_set_find(tools, json_get_string(function, "name", ""));

        if (!function) { /* the upstream executes it: passed_tools.h */
            json_array_append(list, tool);
            continue;
        }

        json_array_append_new(list,
                              is_custom(use) ? custom_tool(use) : function_tool(function));
    }
    return list;
}

static json_t *responses_choice(json_t *choice, const struct tool_set *tools)
{
    const char *name = json_get_string(json_object_get(choice, "function"), "name", "");
    const struct tool_use *use = tool_set_find(tools, name);

    if (!json_object_get(choice, "function"))
        return json_incref(choice);
    return json_build("{s:s, s:s}", "type", is_custom(use) ? "custom" : "function", "name",
                      name);
}

/* ---- The rest of the request ---- */

/* clang-format off */
static const struct {
    const char *from;
    const char *to;
} passed_on[] = {
    {"model",                 "model"},
    {"temperature",           "temperature"},
    {"top_p",                 "top_p"},
    {"max_completion_tokens", "max_output_tokens"},
    {"top_logprobs",          "top_logprobs"},
    {"user",                  "user"},
    {"prompt_cache_key",      "prompt_cache_key"},
    {"safety_identifier",     "safety_identifier"},
    {"service_tier",          "service_tier"},
    {"parallel_tool_calls",   "parallel_tool_calls"},
    {"max_tool_calls",        "max_tool_calls"},
};
/* clang-format on */

/* The Responses API has the members of a schema beside its type, not in an object of their own. */
static json_t *text_format(const json_t *format)
{
    json_t *flat = json_copy((json_t *)(uintptr_t)format);
    json_t *schema = json_object_get(format, "json_schema");

    if (schema) {
        json_object_update(flat, schema);
        json_object_del(flat, "json_schema");
    }
    return flat;
}

static void add_text(json_t *request, const json_t *chat)
{
    const json_t *format = json_object_get(chat, "response_format");
    json_t *verbosity = json_object_get(chat, "verbosity");
    json_t *text = json_object();

    if (format)
        json_set(text, "format", text_format(format));
    if (verbosity)
        json_object_set(text, "verbosity", verbosity);
    if (json_object_size(text))
        json_object_set(request, "text", text);
    json_decref(text);
}

static void add_reasoning_settings(json_t *request, const json_t *chat,
                                   const struct run_settings *settings)
{
    json_t *effort = json_object_get(chat, "reasoning_effort");
    json_t *reasoning = json_object();

    if (effort)
        json_object_set(reasoning, "effort", effort);
    if (settings->reasoning_summary)
        json_set_string(reasoning, "summary", settings->reasoning_summary);
    if (json_object_size(reasoning))
        json_object_set(request, "reasoning", reasoning);
    json_decref(reasoning);
}

static void add_tools(json_t *request, const json_t *chat, const struct tool_set *tools)
{
    const json_t *offered = json_object_get(chat, "tools");
    json_t *choice = json_object_get(chat, "tool_choice");

    if (offered)
        json_set(request, "tools", responses_tools(offered, tools));
    if (choice)
        json_set(request, "tool_choice", responses_choice(choice, tools));
}

/* What the client wants to see of calls that the upstream executes. */
static void include_passed(json_t *request, const struct run_settings *settings,
                           const struct tool_set *tools)
{
    for (size_t i = 0; i < tools->count; i++) {
        const struct tool_use *use = &tools->uses[i];
        const struct item_passed *passed = use->passed ? use->handler->item->passed : NULL;

        if (!passed || !(settings->includes & passed->included_for))
            continue;
        if (!json_object_get(request, "include"))
            json_set(request, "include", json_build("[s]", "reasoning.encrypted_content"));
        json_array_append_new(json_object_get(request, "include"),
                              json_string(passed->include));
    }
}

json_t *context_responses(const json_t *chat, const struct run_settings *settings,
                          const struct tool_set *tools, const char *upstream)
{
    json_t *request = json_object();

    for (size_t i = 0; i < COUNT_OF(passed_on); i++) {
        json_t *value = json_object_get(chat, passed_on[i].from);

        if (value)
            json_object_set(request, passed_on[i].to, value);
    }
    json_set(request, "input", input_items(json_object_get(chat, "messages"), tools, upstream));
    json_set_bool(request, "store", false);
    /* The usual include asks for sealed reasoning (core/model/model.c). Models that reason have no log
     * probabilities, and models that have them refuse a request for sealed reasoning. */
    if (json_object_get(chat, "logprobs"))
        json_set(request, "include", json_build("[s]", "message.output_text.logprobs"));
    include_passed(request, settings, tools);
    add_text(request, chat);
    add_reasoning_settings(request, chat, settings);
    add_tools(request, chat, tools);
    return request;
}
