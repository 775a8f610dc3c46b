/*
 * A request, as rules and templates see it.
 *
 * Everything that a rule can match on is computed once here, in prompt_init(), so the rules are plain
 * comparisons. Most of it leads into the body, which the connection's thread keeps until the reply
 * is made.
 *
 * It reads leniently. The real upstreams that this server stands for accept odd requests, and the tests
 * of the server must see what was sent, not an error of the fake model. What a request must have is
 * checked in server.c: a model, and messages or input.
 */

#include "server/fakemodel/prompt.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/compiler.h"
#include "core/base/json.h"
#include "core/base/mem.h"

static void add_content(struct buf *buf, const json_t *content)
{
    const json_t *part;
    size_t i;

    if (json_is_string(content))
        buf_add(buf, json_string_value(content), json_string_length(content));
    json_array_foreach (content, i, part)
        buf_add_text(buf, json_get_string(part, "text", ""));
}

char *prompt_content_text(const json_t *content)
{
    struct buf buf = {0};

    add_content(&buf, content);
    return buf_take(&buf);
}

bool prompt_has_role(const json_t *message, const char *role)
{
    return !strcmp(json_get_string(message, "role", ""), role);
}

static const json_t *last_message(const json_t *messages, const char *role)
{
    for (size_t i = json_array_size(messages); i > 0; i--)
        if (prompt_has_role(json_array_get(messages, i - 1), role))
            return json_array_get(messages, i - 1);
    return NULL;
}

static char *system_text(const json_t *messages)
{
    struct buf buf = {0};
    const json_t *message;
    size_t i;

    json_array_foreach (messages, i, message) {
        if (!prompt_has_role(message, "system") && !prompt_has_role(message, "developer"))
            continue;
        if (buf.length)
            buf_add_char(&buf, '\n');
        add_content(&buf, json_object_get(message, "content"));
    }
    return buf_take(&buf);
}

/* Tool messages since the last user message: how far a round of tool calls has come. */
static size_t count_results(const json_t *messages)
{
    size_t count = 0;

    for (size_t i = json_array_size(messages); i > 0; i--) {
        const json_t *message = json_array_get(messages, i - 1);

        if (prompt_has_role(message, "user"))
            break;
        count += prompt_has_role(message, "tool");
    }
    return count;
}

/* ---- the messages of a Responses request ---- */

/* function_call_output, custom_tool_call_output, and so on. */
static bool is_output(const char *type)
{
    static const char suffix[] = "_call_output";
    size_t length = strlen(type);

    return length > strlen(suffix) && !strcmp(type + length - strlen(suffix), suffix);
}

/* An item as the message that it would be. Items without a role, such as calls and reasoning, have none. */
static void add_item(json_t *messages, const json_t *item)
{
    const char *type = json_get_string(item, "type", "message");
    const char *role = is_output(type) ? "tool" : json_get_string(item, "role", NULL);
    json_t *content = json_object_get(item, is_output(type) ? "output" : "content");

    if (role)
        json_array_append_new(messages,
                              json_build("{ss sO?}", "role", role, "content", content));
}

static json_t *messages_of_input(const json_t *body)
{
    const json_t *input = json_object_get(body, "input");
    const char *instructions = json_get_string(body, "instructions", NULL);
    json_t *messages = json_array();
    const json_t *item;
    size_t i;

    if (instructions)
        json_array_append_new(messages,
                              json_build("{ss ss}", "role", "system", "content", instructions));
    if (json_is_string(input))
        json_array_append_new(messages,
                              json_build("{ss sO}", "role", "user", "content", input));
    json_array_foreach (input, i, item)
        add_item(messages, item);
    return messages;
}

/* ---- requests without messages ---- */

static void add_user_text(json_t *messages, json_t *text)
{
    json_array_append_new(messages, json_build("{ss sO}", "role", "user", "content", text));
}

/* The member may be one text, or a list of them. Tokens have no text. */
static json_t *messages_of_texts(const json_t *body)
{
    static const char *const keys[] = {"prompt", "input", "query", "q"};
    json_t *messages = json_array();

    for (size_t k = 0; k < COUNT_OF(keys); k++) {
        json_t *value = json_object_get(body, keys[k]);
        json_t *text;
        size_t i;

        if (json_is_string(value))
            add_user_text(messages, value);
        json_array_foreach (value, i, text)
            if (json_is_string(text))
                add_user_text(messages, text);
    }
    return messages;
}

static json_t *messages_of(enum prompt_dialect dialect, const json_t *body)
{
    json_t *messages = json_object_get(body, "messages");

    if (dialect == PROMPT_RESPONSES)
        return messages_of_input(body);
    if (dialect != PROMPT_CHAT)
        return messages_of_texts(body);
    return messages ? json_incref(messages) : json_array();
}

/* A form has texts only, and speech has a word of its own for a stream. */
static bool wants_stream(const json_t *body)
{
    return json_get_bool(body, "stream", false) ||
           !strcmp(json_get_string(body, "stream", ""), "true") ||
           !strcmp(json_get_string(body, "stream_format", ""), "sse");
}

/* ---- tools ---- */

const json_t *prompt_tool_definition(const json_t *tool)
{
    const json_t *definition = json_object_get(tool, json_get_string(tool, "type", "function"));

    return definition ? definition : tool;
}

static const char *tool_name(const json_t *tool)
{
    return json_get_string(prompt_tool_definition(tool), "name", "");
}

const json_t *prompt_tool(const struct prompt *prompt, const char *name)
{
    const json_t *tool;
    size_t i;

    json_array_foreach (json_object_get(prompt->body, "tools"), i, tool)
        if (!strcmp(tool_name(tool), name))
            return tool;
    return NULL;
}

static void init_tools(struct prompt *prompt)
{
    const json_t *choice = json_object_get(prompt->body, "tool_choice");

    prompt->tool_choice = json_is_string(choice) ? json_string_value(choice) : "auto";
    if (json_is_object(choice)) {
        prompt->tool_choice = json_get_string(choice, "type", "function");
        prompt->tool = prompt_tool(prompt, tool_name(choice));
    }
    if (!prompt->tool)
        prompt->tool = json_array_get(json_object_get(prompt->body, "tools"), 0);
    prompt->tool_name = prompt->tool ? tool_name(prompt->tool) : "";
}

/* ---- the form of the answer ---- */

static void init_format(struct prompt *prompt)
{
    const json_t *text = json_object_get(prompt->body, "text");
    const json_t *format = prompt->dialect == PROMPT_RESPONSES
                               ? json_object_get(text, "format")
                               : json_object_get(prompt->body, "response_format");
    const json_t *inner = json_object_get(format, "json_schema");

    prompt->format = json_get_string(format, "type", "text");
    prompt->schema = json_object_get(inner ? inner : format, "schema");
}

void prompt_init(struct prompt *prompt, enum prompt_dialect dialect, const json_t *body,
                 const json_t *headers, unsigned long number)
{
    const json_t *options = json_object_get(body, "stream_options");
    json_t *messages = messages_of(dialect, body);

    *prompt = (struct prompt){
        .dialect = dialect,
        .body = body,
        .headers = headers,
        .messages = messages,
        .model = json_get_string(body, "model", ""),
        .stream = wants_stream(body),
        .wants_usage =
            dialect == PROMPT_RESPONSES || json_get_bool(options, "include_usage", false),
        .wants_logprobs = json_get_bool(body, "logprobs", false),
        .number = number,
        .tool_output = json_object_get(last_message(messages, "tool"), "content"),
        .tool_results = count_results(messages),
        .user = prompt_content_text(json_object_get(last_message(messages, "user"), "content")),
        .system = system_text(messages),
    };
    init_tools(prompt);
    init_format(prompt);
}

void prompt_clear(struct prompt *prompt)
{
    json_decref(prompt->messages);
    free(prompt->user);
    free(prompt->system);
}
