#include "server/params/assistants/run_request.h"

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/catalog/tool_secrets.h"
#include "core/tool/files_view.h"
#include "server/params/runnel_params.h"

/*
 * The snapshot is what makes a run independent of its assistant. It is computed once, from checked
 * parts, and stored with the run. An update of the assistant, or a restart of the server, changes
 * nothing for a run that exists.
 *
 * For most keys the request replaces the assistant, whole: tools of a run are not merged with tools of
 * the assistant, because OpenAI does it so. Three parts differ:
 *
 *   instructions    the request's, or the assistant's, then `additional_instructions`
 *   tool_resources  the request's, or the assistant's, and the thread's: a run may see both
 *   runnel          merged member by member (runnel_settings_merge()): assistant, thread, request.
 *                   Settings about security only tighten on that way
 *
 * A parameter of the request that is null is as good as absent: the assistant's value counts.
 */

/* What a run has from its assistant, unless its request has a value. */
static const char *const inherited[] = {
    "model",       "instructions", "tools",           "tool_resources",
    "temperature", "top_p",        "response_format", "reasoning_effort",
};
/* What only a request can say. */
static const char *const own[] = {
    "max_prompt_tokens",
    "max_completion_tokens",
    "truncation_strategy",
    "tool_choice",
    "parallel_tool_calls",
    "runnel",
    "user",
    "safety_identifier",
};

static void take_fields(json_t *config, const json_t *source, const char *const *keys,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        json_t *value = json_object_get(source, keys[i]);

        if (!json_absent(value))
            json_object_set(config, keys[i], value);
    }
}

static void add_instructions(json_t *config, const char *more)
{
    const char *given = json_get_string(config, "instructions", "");
    AUTO_FREE char *both = NULL;

    if (!more || !*more)
        return;
    both = *given ? mem_printf("%s\n\n%s", given, more) : mem_strdup(more);
    json_set_string(config, "instructions", both);
}

/* The files and stores of a tool are those of both. */
static void add_resources(json_t *config, const char *threads)
{
    json_auto_t *more = threads ? json_parse_own(threads) : NULL;
    json_auto_t *added = files_view_from_resources(more);
    json_auto_t *view = NULL;
    void *at;

    if (!json_object_size(added))
        return;
    view = files_view_from_resources(json_object_get(config, "tool_resources"));
    for (at = json_object_iter(added); at; at = json_object_iter_next(added, at)) {
        size_t i;
        json_t *id;

        json_array_foreach (json_object_iter_value(at), i, id)
            files_view_add(view, json_object_iter_key(at), json_string_value(id));
    }
    json_set(config, "tool_resources", files_view_to_resources(view));
}

json_t *run_request_snapshot(const struct assistant_row *assistant, const char *settings,
                             const char *resources, const json_t *body)
{
    json_auto_t *base = json_parse_own(assistant->body);
    json_auto_t *threads = settings ? json_parse_own(settings) : NULL;
    json_auto_t *both = runnel_settings_merge(json_object_get(base, "runnel"), threads);
    json_auto_t *asked = runnel_settings(body);
    json_t *config = json_object();

    /* Later sources overwrite earlier ones. */
    take_fields(config, base, inherited, COUNT_OF(inherited));
    take_fields(config, body, inherited, COUNT_OF(inherited));
    take_fields(config, body, own, COUNT_OF(own));
    add_resources(config, resources);
    add_instructions(config, json_get_string(body, "additional_instructions", NULL));
    /* The snapshot is stored and shown, so it has no secrets. The endpoint hands them to the engine. */
    json_set(config, "tools", tool_secrets_strip(json_object_get(config, "tools")));
    json_set(config, "runnel", runnel_settings_merge(both, asked));
    return config;
}
