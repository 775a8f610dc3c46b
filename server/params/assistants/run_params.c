#include "server/params/assistants/run_params.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/base/json.h"
#include "core/run/catalog/tool_set.h"
#include "server/complaint.h"
#include "server/params/mcp_tool.h"
#include "server/params/params.h"
#include "server/params/strict_schema.h"
#include "server/params/web_search_params.h"

/*
 * What an assistant and a run may both say: model, instructions, tools and how the model samples.
 *
 * Assistants and runs share one check, because OpenAI's two types of requests share these keys. The body is only
 * checked. It stays JSON, is stored as it is, and the snapshot of a run is decoded in one place,
 * core/domain/run_settings.c.
 *
 * A tool of any type of either API is accepted, also a type that this server does not execute. An
 * assistant may have been made by another server and imported (server/cli/import.c), and refusing to
 * store it would lose it. What a run can do with its tools is for core/run/catalog/tool_set.h to say,
 * when the run starts.
 *
 * Names of functions are unique within a request, because a call of the model carries nothing else.
 */

/* A required name of a tool. One name is the server's own: a run would take a call of the client's
 * function for a person's answer. */
static enum err_code check_name(const json_t *object, const char *path, const char **ret_name,
                                struct err *err)
{
    const struct param_path param = param_key(path, "name");
    enum err_code rc = param_name(object, path, "name", FUNCTION_NAME_LIMIT, ret_name, err);

    if (rc || strcmp(*ret_name, RUN_APPROVAL_FUNCTION) != 0)
        return rc;
    return err_invalid(err, "invalid_value", param.text,
                       "Invalid '%s': the name '" RUN_APPROVAL_FUNCTION "' is reserved.",
                       param.text);
}

/* OpenAI checks the outermost type of any schema, and all of it only if the tool is strict. */
static enum err_code check_function_schema(const json_t *function, const char *path,
                                           const char *name, struct err *err)
{
    const struct param_path param = param_key(path, "parameters");
    const struct schema_subject subject = {.kind = "function",
                                           .name = name,
                                           .api_code = "invalid_function_parameters",
                                           .param = param.text};
    json_t *schema = NULL;
    bool strict = false;
    enum err_code rc;

    rc = param_object(function, path, "parameters", PARAM_OPTIONAL, &schema, err);
    if (!rc)
        rc = param_bool(function, path, "strict", &strict, err);
    if (rc || !schema)
        return rc;
    return strict ? strict_schema_check(schema, &subject, err)
                  : function_schema_check(schema, &subject, err);
}

static enum err_code check_function(const json_t *tool, const char *path, struct err *err)
{
    static const char *const known[] = {"name", "description", "parameters", "strict", NULL};
    struct param_path inner = param_key(path, "function");
    json_t *function = NULL;
    const char *text = NULL;
    enum err_code rc;

    rc = param_object(tool, path, "function", PARAM_REQUIRED, &function, err);
    if (!rc)
        rc = param_unknown(function, inner.text, known, err);
    if (!rc)
        rc = param_string(function, inner.text, "description", PARAM_OPTIONAL, 0, &text, err);
    if (!rc)
        rc = check_name(function, inner.text, &text, err);
    return rc ? rc : check_function_schema(function, inner.text, text, err);
}

static enum err_code check_ranking(const json_t *search, const char *path, struct err *err)
{
    static const char *const rankers[] = {"auto", "default_2024_08_21", NULL};
    struct param_path inner = param_key(path, "ranking_options");
    json_t *ranking = NULL;
    const char *ranker;
    double threshold;
    enum err_code rc;

    rc = param_object(search, path, "ranking_options", PARAM_OPTIONAL, &ranking, err);
    if (rc || !ranking)
        return rc;
    rc = param_enum(ranking, inner.text, "ranker", PARAM_OPTIONAL, rankers, &ranker, err);
    if (rc)
        return rc;
    /* param_number() has no required form. */
    if (json_absent(json_object_get(ranking, "score_threshold")))
        return param_missing(err, param_key(inner.text, "score_threshold").text);
    return param_number(ranking, inner.text, "score_threshold", 0, 1, &threshold, err);
}

static enum err_code check_file_search(const json_t *tool, const char *path, struct err *err)
{
    struct param_path inner = param_key(path, "file_search");
    json_t *search = NULL;
    json_int_t count;
    enum err_code rc;

    rc = param_object(tool, path, "file_search", PARAM_OPTIONAL, &search, err);
    if (rc || !search)
        return rc;
    rc = param_int(search, inner.text, "max_num_results", 1, 50, &count, err);
    return rc ? rc : check_ranking(search, inner.text, err);
}

static enum err_code check_custom(const json_t *tool, const char *path, struct err *err)
{
    const char *text;
    enum err_code rc;

    rc = check_name(tool, path, &text, err);
    if (!rc)
        rc = param_string(tool, path, "description", PARAM_OPTIONAL, 0, &text, err);
    return rc;
}

static enum err_code check_mcp(const json_t *tool, const char *path, struct err *err)
{
    return mcp_tool_check(tool, path, err);
}

/* clang-format off */
static const char *const tool_types[] = {
    "code_interpreter", "file_search", "function", "mcp", "custom", "local_shell", "shell",
    "apply_patch", "computer", "computer_use_preview", "image_generation", "web_search",
    "web_search_preview", NULL,
};

/* Types with a check of their own. Tools of the other types are stored unchecked. */
static const struct {
    const char *type;
    enum err_code (*check)(const json_t *tool, const char *path, struct err *err);
} tool_checks[] = {
    {"function",    check_function},
    {"file_search", check_file_search},
    {"mcp",         check_mcp},
    {"custom",      check_custom},
    {"web_search",  web_search_tool_check},
    {"web_search_preview", web_search_tool_check},
};
/* clang-format on */

static enum err_code check_tool(const json_t *tool, const char *path, struct err *err)
{
    const char *type = NULL;
    enum err_code rc;

    if (!json_is_object(tool))
        return param_wrong_type(err, path, "an object", tool);
    rc = param_enum(tool, path, "type", PARAM_REQUIRED, tool_types, &type, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < COUNT_OF(tool_checks); i++)
        if (strcmp(tool_checks[i].type, type) == 0)
            return tool_checks[i].check(tool, path, err);
    return ERR_OK;
}

/* The name by which the model calls the tool. NULL for a type whose tools have no names. */
static const char *called_name(const json_t *tool)
{
    const json_t *function = json_object_get(tool, "function");

    return json_get_string(function ? function : tool, "name", NULL);
}

/* A call names its tool and nothing else, so two tools of one name are ambiguous. */
static enum err_code check_names_unique(const json_t *tools, struct err *err)
{
    json_auto_t *names = json_object();
    size_t i;
    json_t *tool;

    json_array_foreach (tools, i, tool) {
        struct param_path param = param_index("tools", i);
        const char *name = called_name(tool);

        if (!name)
            continue;
        if (json_object_get(names, name))
            return err_invalid(err, "invalid_value", param.text,
                               "Invalid '%s': duplicate function name '%s'.", param.text, name);
        json_set_bool(names, name, true);
    }
    return ERR_OK;
}

static enum err_code check_tools(const json_t *object, struct err *err)
{
    json_t *tools = NULL;
    size_t i;
    json_t *tool;
    enum err_code rc =
        param_array(object, "", "tools", PARAM_OPTIONAL, TOOL_LIMIT, &tools, err);

    if (rc || !tools)
        return rc;
    json_array_foreach (tools, i, tool) {
        rc = check_tool(tool, param_index("tools", i).text, err);
        if (rc)
            return rc;
    }
    return check_names_unique(tools, err);
}

static enum err_code check_named_choice(const json_t *choice, struct err *err)
{
    const char *type = NULL;
    const char *name;
    json_t *function = NULL;
    enum err_code rc =
        param_enum(choice, "tool_choice", "type", PARAM_REQUIRED, tool_types, &type, err);

    if (rc)
        return rc;
    if (strcmp(type, "custom") == 0)
        return param_string(choice, "tool_choice", "name", PARAM_REQUIRED, 0, &name, err);
    if (strcmp(type, "mcp") == 0)
        return param_string(choice, "tool_choice", "server_label", PARAM_REQUIRED, 0, &name,
                            err);
    if (strcmp(type, "function") != 0)
        return ERR_OK;
    rc = param_object(choice, "tool_choice", "function", PARAM_REQUIRED, &function, err);
    if (!rc)
        rc = param_string(function, "tool_choice.function", "name", PARAM_REQUIRED, 0, &name,
                          err);
    return rc;
}

static enum err_code check_tool_choice(const json_t *object, struct err *err)
{
    static const char *const words[] = {"none", "auto", "required", NULL};
    const json_t *choice = json_object_get(object, "tool_choice");
    const char *word;

    if (json_absent(choice))
        return ERR_OK;
    if (json_is_object(choice))
        return check_named_choice(choice, err);
    if (!json_is_string(choice))
        return param_wrong_type(err, "tool_choice", "one of a string or an object", choice);
    return param_enum(object, "", "tool_choice", PARAM_OPTIONAL, words, &word, err);
}

static enum err_code check_json_schema(const json_t *format, struct err *err)
{
    static const char path[] = "response_format.json_schema";
    json_t *schema = NULL;
    json_t *body = NULL;
    const char *name = NULL;
    const char *text;
    bool strict = false;
    enum err_code rc;

    rc = param_object(format, "response_format", "json_schema", PARAM_REQUIRED, &schema, err);
    if (!rc)
        rc = param_name(schema, path, "name", FUNCTION_NAME_LIMIT, &name, err);
    if (!rc)
        rc = param_string(schema, path, "description", PARAM_OPTIONAL, 0, &text, err);
    if (!rc)
        rc = param_bool(schema, path, "strict", &strict, err);
    if (!rc)
        rc = param_object(schema, path, "schema", strict ? PARAM_REQUIRED : PARAM_OPTIONAL,
                          &body, err);
    if (rc || !strict)
        return rc;
    return strict_schema_check(body,
                               &(struct schema_subject){.kind = "response_format",
                                                        .name = name,
                                                        .api_code = "invalid_json_schema",
                                                        .param = "response_format.json_schema"
                                                                 ".schema"},
                               err);
}

static enum err_code check_response_format(const json_t *object, struct err *err)
{
    static const char *const types[] = {"text", "json_object", "json_schema", NULL};
    static const char *const words[] = {"auto", NULL};
    const json_t *format = json_object_get(object, "response_format");
    const char *type = NULL;
    enum err_code rc;

    if (json_absent(format))
        return ERR_OK;
    if (json_is_string(format))
        return param_enum(object, "", "response_format", PARAM_OPTIONAL, words, &type, err);
    if (!json_is_object(format))
        return param_wrong_type(err, "response_format", "one of a string or an object", format);
    rc = param_enum(format, "response_format", "type", PARAM_REQUIRED, types, &type, err);
    if (rc || strcmp(type, "json_schema") != 0)
        return rc;
    return check_json_schema(format, err);
}

static enum err_code check_truncation(const json_t *object, struct err *err)
{
    static const char *const types[] = {"auto", "last_messages", NULL};
    json_t *strategy = NULL;
    const char *type = NULL;
    json_int_t count = 0;
    enum err_code rc;

    rc = param_object(object, "", "truncation_strategy", PARAM_OPTIONAL, &strategy, err);
    if (rc || !strategy)
        return rc;
    rc = param_enum(strategy, "truncation_strategy", "type", PARAM_REQUIRED, types, &type, err);
    if (!rc)
        rc = param_int(strategy, "truncation_strategy", "last_messages", 1, INT32_MAX, &count,
                       err);
    if (!rc && strcmp(type, "last_messages") == 0 && !count)
        return param_missing(err, "truncation_strategy.last_messages");
    return rc;
}

static enum err_code check_texts(const json_t *object, struct err *err)
{
    static const char *const efforts[] = {"none", "minimal", "low", "medium",
                                          "high", "xhigh",   "max", NULL};
    const char *text;
    enum err_code rc = ERR_OK;

    /* An assistant may be updated, and a run made, without a model. An empty one is a mistake. */
    if (!json_absent(json_object_get(object, "model")))
        rc = param_string(object, "", "model", PARAM_REQUIRED, MODEL_NAME_LIMIT, &text, err);
    if (!rc)
        rc = param_string(object, "", "instructions", PARAM_OPTIONAL, INSTRUCTIONS_LIMIT, &text,
                          err);
    if (!rc)
        rc = param_string(object, "", "additional_instructions", PARAM_OPTIONAL,
                          INSTRUCTIONS_LIMIT, &text, err);
    if (!rc)
        rc = param_enum(object, "", "reasoning_effort", PARAM_OPTIONAL, efforts, &text, err);
    return rc;
}

static enum err_code check_numbers(const json_t *object, struct err *err)
{
    json_int_t tokens;
    double number;
    bool parallel;
    enum err_code rc;

    rc = param_number(object, "", "temperature", 0, 2, &number, err);
    if (!rc)
        rc = param_number(object, "", "top_p", 0, 1, &number, err);
    if (!rc)
        rc =
            param_int(object, "", "max_prompt_tokens", RUN_TOKENS_MIN, INT32_MAX, &tokens, err);
    if (!rc)
        rc = param_int(object, "", "max_completion_tokens", RUN_TOKENS_MIN, INT32_MAX, &tokens,
                       err);
    if (!rc)
        rc = param_bool(object, "", "parallel_tool_calls", &parallel, err);
    return rc;
}

enum err_code run_params_check(const json_t *object, struct err *err)
{
    json_t *metadata;
    enum err_code rc;

    rc = check_texts(object, err);
    if (!rc)
        rc = check_tools(object, err);
    if (!rc)
        rc = param_metadata(object, &metadata, err);
    if (!rc)
        rc = check_numbers(object, err);
    if (!rc)
        rc = check_truncation(object, err);
    if (!rc)
        rc = check_tool_choice(object, err);
    if (!rc)
        rc = check_response_format(object, err);
    return rc;
}
