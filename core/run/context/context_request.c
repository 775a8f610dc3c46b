/*
 * context_request.c -- the messages of a run with its tools and parameters: the whole request.
 */

#include "core/run/context/context_request.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/catalog/tool_choice.h"
#include "core/run/context/context_content.h"
#include "core/run/context/context_items.h"

/* The settings' format as the Chat API's response_format. A run's response_format is sent as it is. In a
 * response's text.format the members of a schema lie beside its type. NULL to leave it out: text is the
 * default. */
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

/* An absent member means the upstream's default. */
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
    add_text(request, "service_tier", settings->service_tier);
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

    /* The tools are offered although the last answer may call none: a request without them would have
     * another beginning, and some upstreams refuse calls in the history of a request without tools. */
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
    if (settings->one_call)
        json_set_bool(request, "parallel_tool_calls", false);
}

/* The messages of a prompt template go before everything else. */
static void put_first(json_t *messages, const json_t *instructions)
{
    size_t i;
    json_t *item;

    json_array_foreach (instructions, i, item)
        json_array_insert_new(
            messages, i,
            json_build("{s:s, s:o}", "role",
                       context_role(json_get_string(item, "role", "developer")), "content",
                       context_content(json_object_get(item, "content"))));
}

/* The application's instructions, and behind them the server's rules about its tools. The caller frees. */
static char *all_instructions(const struct run_settings *settings, const struct tool_set *tools)
{
    const char *own = settings->instructions;
    const char *rules = tools->rules ? tools->rules : "";

    return mem_printf("%s%s%s", own, *own && *rules ? "\n\n" : "", rules);
}

size_t context_instructions(const struct run_settings *settings, const struct tool_set *tools)
{
    AUTO_FREE char *instructions = all_instructions(settings, tools);

    return *instructions != '\0';
}

json_t *context_request(const char *run_id, const struct run_settings *settings,
                        const struct tool_set *tools, const struct item_row *const *items,
                        size_t count, unsigned flags, const char *upstream)
{
    size_t start = context_start(items, count, settings->last_messages, run_id);
    AUTO_FREE char *instructions = all_instructions(settings, tools);
    struct long_message_rule rule = long_message_rule(settings, tools);
    json_t *request;

    /* A hint that says which tool to call makes no sense where none may be called. */
    rule.idle = flags & CONTEXT_LAST_ANSWER;
    request = json_build("{s:s, s:o}", "model", settings->model, "messages",
                         context_make_messages(instructions, count ? items + start : items,
                                               count - start, flags, upstream, rule));
    put_first(json_object_get(request, "messages"), settings->template_messages);
    add_sampling(request, settings);
    add_tools(request, settings, tools, flags);
    return request;
}
