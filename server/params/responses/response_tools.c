#include "server/params/responses/response_tools.h"

#include <stdint.h>
#include <string.h>

#include "core/base/json.h"
#include "server/complaint.h"
#include "server/params/container_params.h"
#include "server/params/filter_params.h"
#include "server/params/mcp_tool.h"
#include "server/params/params.h"
#include "server/params/strict_schema.h"
#include "server/params/vector_store_params.h"
#include "server/params/web_search_params.h"

#define TOOL_NAME_LIMIT  ((size_t)128)
#define TYPE_LIMIT       ((size_t)64)
#define IMAGE_WORD_LIMIT 64

/*
 * The form of tools and tool_choice in the Responses API. Assistants has other shapes and limits of its
 * own (run_params.c); what both share is in strict_schema.c and mcp_tool.c.
 *
 * Only the form is checked here. Whether this server can execute a tool, has a group of that label, or
 * may use a remote server depends on the configuration, the project and the context of the run;
 * core/run/catalog/tool_set.h answers that. The split lets an input item with tools in it
 * (input_items.c) be checked before the context is loaded.
 *
 * The order of the table is the order in which a complaint lists the types.
 */

/* ---- What tools of several types have ---- */

/* Who may call it. */
static enum err_code check_callers(const json_t *tool, const char *path, struct err *err)
{
    static const char *const words[] = {"direct", "programmatic", NULL};
    struct param_path at = param_key(path, "allowed_callers");
    json_t *callers = NULL;
    size_t i;
    json_t *caller;
    enum err_code rc = param_array(tool, path, "allowed_callers", PARAM_OPTIONAL,
                                   COUNT_OF(words) - 1, &callers, err);

    if (rc || !callers)
        return rc;
    if (!json_array_size(callers))
        return param_empty_array(err, at.text);
    json_array_foreach (callers, i, caller) {
        struct param_path one = param_index(at.text, i);
        const char *word = json_string_value(caller);

        if (!word)
            return param_wrong_type(err, one.text, "a string", caller);
        if (strcmp(word, words[0]) != 0 && strcmp(word, words[1]) != 0)
            return param_wrong_word(err, one.text, word, words);
    }
    return ERR_OK;
}

/* ---- Types of tools ---- */

static enum err_code check_schema(const json_t *tool, const char *path, const char *name,
                                  struct err *err)
{
    struct param_path param = param_key(path, "parameters");
    const struct schema_subject subject = {.kind = "function",
                                           .name = name,
                                           .api_code = "invalid_function_parameters",
                                           .param = param.text};
    json_t *parameters = NULL;
    bool strict = false;
    enum err_code rc;

    rc = param_object(tool, path, "parameters", PARAM_OPTIONAL, &parameters, err);
    if (!rc)
        rc = param_bool(tool, path, "strict", &strict, err);
    if (rc || !parameters)
        return rc;
    rc = function_schema_check(parameters, &subject, err);
    if (!rc && strict)
        rc = strict_schema_check(parameters, &subject, err);
    return rc;
}

static enum err_code check_function(const json_t *tool, const char *path, struct err *err)
{
    const char *name = NULL, *text = NULL;
    bool deferred = false, async = false;
    enum err_code rc = param_name(tool, path, "name", TOOL_NAME_LIMIT, &name, err);

    if (!rc)
        rc = param_string(tool, path, "description", PARAM_OPTIONAL, 0, &text, err);
    if (!rc)
        rc = param_bool(tool, path, "defer_loading", &deferred, err);
    if (!rc)
        rc = param_bool(tool, path, "async", &async, err);
    return rc ? rc : check_schema(tool, path, name, err);
}

static enum err_code check_grammar(const json_t *format, const char *path, struct err *err)
{
    static const char *const syntaxes[] = {"lark", "regex", NULL};
    const char *text = NULL;
    enum err_code rc = param_enum(format, path, "syntax", PARAM_REQUIRED, syntaxes, &text, err);

    return rc ? rc : param_string(format, path, "definition", PARAM_REQUIRED, 0, &text, err);
}

static enum err_code check_custom(const json_t *tool, const char *path, struct err *err)
{
    static const char *const formats[] = {"text", "grammar", NULL};
    struct param_path inner = param_key(path, "format");
    json_t *format = NULL;
    const char *text = NULL;
    bool deferred = false, async = false;
    enum err_code rc = param_name(tool, path, "name", TOOL_NAME_LIMIT, &text, err);

    if (!rc)
        rc = param_string(tool, path, "description", PARAM_OPTIONAL, 0, &text, err);
    if (!rc)
        rc = param_bool(tool, path, "defer_loading", &deferred, err);
    if (!rc)
        rc = param_bool(tool, path, "async", &async, err);
    if (!rc)
        rc = param_object(tool, path, "format", PARAM_OPTIONAL, &format, err);
    if (rc || !format)
        return rc;
    rc = param_enum(format, inner.text, "type", PARAM_REQUIRED, formats, &text, err);
    if (rc || strcmp(text, "grammar") != 0)
        return rc;
    return check_grammar(format, inner.text, err);
}

/* A group of functions and custom tools under one name. It has no groups inside. */
static enum err_code check_namespace(const json_t *tool, const char *path, struct err *err)
{
    static const char *const members[] = {"function", "custom", NULL};
    struct param_path at = param_key(path, "tools");
    json_t *tools = NULL;
    const char *text = NULL;
    size_t i;
    json_t *member;
    enum err_code rc = param_name(tool, path, "name", TYPE_LIMIT, &text, err);

    if (!rc)
        rc = param_string(tool, path, "description", PARAM_OPTIONAL, 0, &text, err);
    if (!rc)
        rc = param_array(tool, path, "tools", PARAM_REQUIRED, RESPONSE_TOOL_LIMIT, &tools, err);
    if (!rc && !json_array_size(tools))
        return param_empty_array(err, at.text);
    for (i = 0; !rc && i < json_array_size(tools); i++) {
        struct param_path inner = param_index(at.text, i);

        member = json_array_get(tools, i);
        if (!json_is_object(member))
            return param_wrong_type(err, inner.text, "an object", member);
        rc = param_enum(member, inner.text, "type", PARAM_REQUIRED, members, &text, err);
        if (!rc)
            rc = strcmp(text, "custom") == 0 ? check_custom(member, inner.text, err)
                                             : check_function(member, inner.text, err);
        if (!rc)
            rc = check_callers(member, inner.text, err);
    }
    return rc;
}

static enum err_code check_display(const json_t *tool, const char *path, struct err *err)
{
    static const char *const environments[] = {"windows", "mac",     "linux",
                                               "ubuntu",  "browser", NULL};
    static const char *const sides[] = {"display_width", "display_height"};
    const char *word = NULL;
    json_int_t length = 0;
    enum err_code rc =
        param_enum(tool, path, "environment", PARAM_REQUIRED, environments, &word, err);

    for (size_t i = 0; !rc && i < COUNT_OF(sides); i++) {
        if (json_absent(json_object_get(tool, sides[i])))
            return param_missing(err, param_key(path, sides[i]).text);
        rc = param_int(tool, path, sides[i], 1, INT32_MAX, &length, err);
    }
    return rc;
}

static enum err_code check_search(const json_t *tool, const char *path, struct err *err)
{
    static const char *const executions[] = {"server", "client", NULL};
    const char *text = NULL;
    enum err_code rc =
        param_enum(tool, path, "execution", PARAM_OPTIONAL, executions, &text, err);

    if (!rc)
        rc = param_string(tool, path, "description", PARAM_OPTIONAL, 0, &text, err);
    return rc ? rc : check_schema(tool, path, "tool_search", err);
}

static enum err_code check_stores(const json_t *tool, const char *path, struct err *err)
{
    struct param_path at = param_key(path, "vector_store_ids");
    json_t *stores = NULL;
    size_t i;
    json_t *id;
    enum err_code rc = param_array(tool, path, "vector_store_ids", PARAM_REQUIRED,
                                   SEARCH_STORES_LIMIT, &stores, err);

    if (rc)
        return rc;
    if (!json_array_size(stores))
        return param_empty_array(err, at.text);
    json_array_foreach (stores, i, id) {
        if (!json_is_string(id))
            return param_wrong_type(err, param_index(at.text, i).text, "a string", id);
    }
    return ERR_OK;
}

/* Whether the stores exist is for the store to say (server/files/file_finder.h). */
static enum err_code check_file_search(const json_t *tool, const char *path, struct err *err)
{
    struct search_query query = {.embedding_weight = 1, .text_weight = 1};
    struct filter *filter = NULL;
    json_int_t count;
    enum err_code rc = check_stores(tool, path, err);

    if (!rc)
        rc = param_int(tool, path, "max_num_results", 1, SEARCH_HITS_LIMIT, &count, err);
    if (!rc)
        rc = filter_params_read(tool, path, "filters", &filter, err);
    filter_free(filter);
    return rc ? rc : ranking_options_read(tool, path, &query, err);
}

static enum err_code check_mcp(const json_t *tool, const char *path, struct err *err)
{
    return mcp_tool_check(tool, path, err);
}

/* Which sizes and qualities there are depends on the image model, which refuses the others. */
static enum err_code check_image(const json_t *tool, const char *path, struct err *err)
{
    static const char *const actions[] = {"auto", "generate", "edit", NULL};
    static const char *const formats[] = {"png", "webp", "jpeg", "gif", "svg", NULL};
    static const char *const backgrounds[] = {"auto", "transparent", "opaque", NULL};
    static const char *const moderations[] = {"auto", "low", NULL};
    static const char *const fidelities[] = {"high", "low", NULL};
    static const struct {
        const char *key;
        const char *const *words;
    } choices[] = {{"action", actions},
                   {"output_format", formats},
                   {"background", backgrounds},
                   {"moderation", moderations},
                   {"input_fidelity", fidelities}};
    static const char *const texts[] = {"model", "size", "quality"};
    const char *text = NULL;
    json_t *mask = NULL;
    json_int_t number = 0;
    enum err_code rc = ERR_OK;

    for (size_t i = 0; !rc && i < COUNT_OF(choices); i++)
        rc = param_enum(tool, path, choices[i].key, PARAM_OPTIONAL, choices[i].words, &text,
                        err);
    for (size_t i = 0; !rc && i < COUNT_OF(texts); i++)
        rc = param_string(tool, path, texts[i], PARAM_OPTIONAL, IMAGE_WORD_LIMIT, &text, err);
    if (!rc)
        rc = param_int(tool, path, "partial_images", 0, 3, &number, err);
    if (!rc)
        rc = param_int(tool, path, "output_compression", 0, 100, &number, err);
    return rc ? rc : param_object(tool, path, "input_image_mask", PARAM_OPTIONAL, &mask, err);
}

/* Whether this server executes it. */
static enum err_code check_patch(const json_t *tool, const char *path, struct err *err)
{
    static const char *const known[] = {"execute", NULL};
    struct param_path at = param_key(path, "runnel");
    json_t *own = NULL;
    bool execute = false;
    enum err_code rc = param_object(tool, path, "runnel", PARAM_OPTIONAL, &own, err);

    if (!rc)
        rc = param_unknown_strict(own, at.text, known, err);
    return rc ? rc : param_bool(own, at.text, "execute", &execute, err);
}

/* NULL: of these tools only the type is checked. */
/* clang-format off */
static const struct tool_type {
    const char *type;
    enum err_code (*check)(const json_t *tool, const char *path, struct err *err);
} tool_types[] = {
    {"function",                      check_function},
    {"custom",                        check_custom},
    {"mcp",                           check_mcp},
    {"namespace",                     check_namespace},
    {"tool_search",                   check_search},
    {"local_shell",                   NULL},
    {"shell",                         container_environment_check},
    {"apply_patch",                   check_patch},
    {"computer",                      NULL},
    {"computer_use_preview",          check_display},
    {"file_search",                   check_file_search},
    {"web_search",                    web_search_tool_check},
    {"web_search_2025_08_26",         web_search_tool_check},
    {"web_search_preview",            web_search_tool_check},
    {"web_search_preview_2025_03_11", web_search_tool_check},
    {"code_interpreter",              container_choice_check},
    {"image_generation",              check_image},
    {"programmatic_tool_calling",     NULL},
};
/* clang-format on */

static enum err_code unknown_type(struct err *err, const char *path, const char *type)
{
    const char *words[COUNT_OF(tool_types) + 1] = {NULL};

    for (size_t i = 0; i < COUNT_OF(tool_types); i++)
        words[i] = tool_types[i].type;
    return param_wrong_word(err, param_key(path, "type").text, type, words);
}

static const char *const single_types[] = {"file_search", "code_interpreter",
                                           "image_generation", "web_search"};

static bool is_web_search(const char *type)
{
    for (size_t i = 0; i < COUNT_OF(tool_types); i++) {
        if (strcmp(tool_types[i].type, type) == 0)
            return tool_types[i].check == web_search_tool_check;
    }
    return false;
}

/* Some tools have several types. */
static bool is_same_tool(const char *type, const char *other)
{
    return strcmp(type, other) == 0 || (is_web_search(type) && is_web_search(other));
}

/* A second search in a request would be a second function of the same name for the model. */
static enum err_code check_single(const json_t *tools, const char *type, const char *path,
                                  struct err *err)
{
    size_t count = 0;
    size_t i;
    json_t *tool;

    json_array_foreach (tools, i, tool) {
        if (is_same_tool(json_get_string(tool, "type", ""), type) && ++count == 2)
            return err_invalid(err, "duplicate_tool", param_index(path, i).text,
                               "Invalid '%s': there is a '%s' tool before it. A request has at "
                               "most one.",
                               param_index(path, i).text, type);
    }
    return ERR_OK;
}

static enum err_code check_type(const json_t *tool, const char *path, struct err *err)
{
    const char *type = NULL;
    enum err_code rc = param_string(tool, path, "type", PARAM_REQUIRED, TYPE_LIMIT, &type, err);

    if (rc)
        return rc;
    for (size_t i = 0; i < COUNT_OF(tool_types); i++) {
        if (strcmp(tool_types[i].type, type) == 0)
            return tool_types[i].check ? tool_types[i].check(tool, path, err) : ERR_OK;
    }
    return unknown_type(err, path, type);
}

static enum err_code check_tool(const json_t *tool, const char *path, struct err *err)
{
    enum err_code rc;

    if (!json_is_object(tool))
        return param_wrong_type(err, path, "an object", tool);
    rc = check_type(tool, path, err);
    return rc ? rc : check_callers(tool, path, err);
}

enum err_code response_tools_check(const json_t *object, const char *path, const char *key,
                                   struct err *err)
{
    struct param_path at = param_key(path, key);
    json_t *tools = NULL;
    size_t i;
    json_t *tool;
    enum err_code rc;

    rc = param_array(object, path, key, PARAM_OPTIONAL, RESPONSE_TOOL_LIMIT, &tools, err);
    if (rc)
        return rc;
    json_array_foreach (tools, i, tool) {
        rc = check_tool(tool, param_index(at.text, i).text, err);
        if (rc)
            return rc;
    }
    for (size_t one = 0; !rc && one < COUNT_OF(single_types); one++)
        rc = check_single(tools, single_types[one], at.text, err);
    return rc;
}

/* ---- tool_choice ---- */

/* clang-format off */
static const char *const choice_types[] = {
    "allowed_tools", "function", "custom", "mcp", "file_search", "web_search", "web_search_2025_08_26",
    "web_search_preview", "web_search_preview_2025_03_11", "computer", "computer_use_preview", "computer_use",
    "code_interpreter", "image_generation", "local_shell", "shell", "apply_patch", "programmatic_tool_calling",
    "namespace", "tool_search", NULL,
};
/* clang-format on */

/* One tool: its type, and its name where there may be several of the type. */
static enum err_code check_named(const json_t *choice, const char *path, struct err *err)
{
    const char *type = NULL, *text = NULL;
    enum err_code rc = /* all types but the first: lists of allowed tools do not nest */
        param_enum(choice, path, "type", PARAM_REQUIRED, choice_types + 1, &type, err);

    if (rc)
        return rc;
    if (strcmp(type, "function") == 0 || strcmp(type, "custom") == 0)
        return param_string(choice, path, "name", PARAM_REQUIRED, 0, &text, err);
    if (strcmp(type, "mcp") != 0)
        return ERR_OK;
    rc = param_string(choice, path, "server_label", PARAM_REQUIRED, 0, &text, err);
    return rc ? rc : param_string(choice, path, "name", PARAM_OPTIONAL, 0, &text, err);
}

static enum err_code check_allowed(const json_t *choice, struct err *err)
{
    static const char *const modes[] = {"auto", "required", NULL};
    const char *mode = NULL;
    json_t *tools = NULL;
    size_t i;
    json_t *tool;
    enum err_code rc =
        param_enum(choice, "tool_choice", "mode", PARAM_REQUIRED, modes, &mode, err);

    if (!rc)
        rc = param_array(choice, "tool_choice", "tools", PARAM_REQUIRED, RESPONSE_TOOL_LIMIT,
                         &tools, err);
    if (!rc && !json_array_size(tools))
        return param_empty_array(err, "tool_choice.tools");
    json_array_foreach (tools, i, tool) {
        struct param_path path = param_index("tool_choice.tools", i);

        if (!json_is_object(tool))
            return param_wrong_type(err, path.text, "an object", tool);
        rc = check_named(tool, path.text, err);
        if (rc)
            return rc;
    }
    return rc;
}

enum err_code response_tool_choice_check(const json_t *body, struct err *err)
{
    static const char *const words[] = {"none", "auto", "required", NULL};
    json_t *choice = json_object_get(body, "tool_choice");
    const char *type = NULL;
    enum err_code rc;

    if (json_absent(choice))
        return ERR_OK;
    if (json_is_string(choice))
        return param_enum(body, "", "tool_choice", PARAM_OPTIONAL, words, &type, err);
    if (!json_is_object(choice))
        return param_wrong_type(err, "tool_choice", "one of a string or an object", choice);
    rc = param_enum(choice, "tool_choice", "type", PARAM_REQUIRED, choice_types, &type, err);
    if (rc)
        return rc;
    return strcmp(type, "allowed_tools") == 0 ? check_allowed(choice, err)
                                              : check_named(choice, "tool_choice", err);
}

/* ---- How tools are shown ---- */

/* `strict` is true by default, unless the schema breaks the rules of strict mode. OpenAI echoes it so. */
static bool default_strict(const json_t *tool)
{
    const json_t *parameters = json_object_get(tool, "parameters");

    return json_is_object(parameters) &&
           strict_schema_check(
               parameters,
               &(struct schema_subject){.kind = "function", .name = "", .param = ""},
               NULL) == ERR_OK;
}

static json_t *complete_function(const json_t *tool)
{
    json_t *full = json_copy((json_t *)(uintptr_t)tool);

    if (!json_object_get(full, "description"))
        json_set(full, "description", json_null());
    if (!json_object_get(full, "parameters"))
        json_set(full, "parameters", json_null());
    if (json_absent(json_object_get(full, "strict")))
        json_set_bool(full, "strict", default_strict(tool));
    return full;
}

static json_t *complete_file_search(const json_t *tool)
{
    json_t *full = json_copy((json_t *)(uintptr_t)tool);
    const json_t *given = json_object_get(tool, "ranking_options");
    json_t *options = json_build("{s:s, s:f}", "ranker", "auto", "score_threshold", 0.0);

    if (json_is_object(given))
        json_object_update(options, (json_t *)(uintptr_t)given);
    json_set(full, "ranking_options", options);
    if (!json_object_get(full, "filters"))
        json_set(full, "filters", json_null());
    if (json_absent(json_object_get(full, "max_num_results")))
        json_set_int(full, "max_num_results", SEARCH_RESULTS_DEFAULT);
    return full;
}

static json_t *complete_namespace(const json_t *tool)
{
    json_t *full = json_copy((json_t *)(uintptr_t)tool);
    json_t *members = json_array();
    size_t i;
    json_t *member;

    json_array_foreach (json_object_get(tool, "tools"), i, member)
        json_array_append_new(members, response_tool_complete(member));
    json_set(full, "tools", members);
    return full;
}

json_t *response_tool_complete(json_t *tool)
{
    const char *type = json_get_string(tool, "type", "");

    if (strcmp(type, "function") == 0)
        return complete_function(tool);
    if (strcmp(type, "namespace") == 0)
        return complete_namespace(tool);
    if (strcmp(type, "file_search") == 0)
        return complete_file_search(tool);
    if (is_web_search(type))
        return web_search_tool_complete(tool);
    return json_incref(tool);
}
