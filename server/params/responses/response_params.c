#include "server/params/responses/response_params.h"

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/catalog/tool_secrets.h"
#include "server/complaint.h"
#include "server/params/params.h"
#include "server/params/responses/answer_params.h"
#include "server/params/responses/prompt_template.h"
#include "server/params/responses/response_tools.h"
#include "server/params/runnel_params.h"
#include "server/params/tool_settings_params.h"

#define MODEL_LIMIT           ((size_t)256)
#define SHORT_KEY_LIMIT       ((size_t)64)
#define CONTEXT_ENTRY_LIMIT   ((size_t)8)
#define COMPACT_THRESHOLD_MIN 1000

/*
 * The parameters of a response, as a table in the order in which OpenAI complains about them.
 *
 * Most parameters are a type and a limit, and so a line of data; the others have a function in that
 * line. The order matters because a request with two mistakes gets one complaint, and existing clients
 * and test suites expect the same one. It is neither alphabetical nor the order of the documentation.
 *
 * Four kinds of requests share the table: creating a response, counting its tokens, making a compaction,
 * and storing a prompt template. They accept different sets of keys, so response_fields_check() walks
 * the table and skips what is not in the set. The table decides the order, the set decides the keys.
 *
 * Three parameters are not in the table. `model` comes first of all, together with what every request must
 * have (response_head_check()). `input` is checked between the head and the rest, by response_input.c.
 * `runnel`, which OpenAI does not have, comes last (runnel_params.c).
 *
 * A known parameter that this server cannot honour is refused. Ignoring it would give the client
 * something else than it asked for, and not say so. Unknown parameters follow the setting
 * unknown_parameters, except those that Chat Completions has under another name: a client that
 * sends `messages` means something, and the complaint says what to write instead.
 *
 * At the end the checked body becomes the settings of the run. Input and everything that has a column
 * of its own stays out of them.
 */

static const char *const known_keys[] = {
    "access_programs",
    "background",
    "context_management",
    "conversation",
    "include",
    "input",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "model",
    "moderation",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning",
    "runnel",
    "safety_identifier",
    "service_tier",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
    NULL,
};

static enum err_code check_tools(const json_t *body, struct err *err)
{
    return response_tools_check(body, "", "tools", err);
}

/* ---- Text ---- */

static enum err_code check_text(const json_t *body, struct err *err)
{
    static const char *const verbosities[] = {"low", "medium", "high", NULL};
    json_t *text = NULL, *format = NULL;
    const char *verbosity = NULL;
    enum err_code rc;

    rc = param_object(body, "", "text", PARAM_OPTIONAL, &text, err);
    if (rc || !text)
        return rc;
    rc = param_object(text, "text", "format", PARAM_OPTIONAL, &format, err);
    if (!rc && format)
        rc = answer_format_check(format, "text.format", err);
    if (rc)
        return rc;
    return param_enum(text, "text", "verbosity", PARAM_OPTIONAL, verbosities, &verbosity, err);
}

/* ---- Other objects and lists ---- */

static const char *const includes[] = {
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
    "reasoning.encrypted_content",
    "message.output_text.logprobs",
    NULL,
};

static enum err_code check_include(const json_t *body, struct err *err)
{
    json_t *include = NULL;
    size_t i;
    json_t *word;
    enum err_code rc;

    rc = param_array(body, "", "include", PARAM_OPTIONAL, COUNT_OF(includes), &include, err);
    if (rc)
        return rc;
    json_array_foreach (include, i, word) {
        struct param_path path = param_index("include", i);
        json_auto_t *holder = NULL; /* param_enum() reads keys; here the path is the key */
        const char *value = NULL;

        if (!json_is_string(word))
            return param_wrong_type(err, path.text, "a string", word);
        holder = json_build("{s:O}", path.text, word);
        rc = param_enum(holder, "", path.text, PARAM_REQUIRED, includes, &value, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

enum err_code response_include_check(json_t *include, struct err *err)
{
    json_auto_t *body = json_build("{s:O}", "include", include);

    return check_include(body, err);
}

static enum err_code check_reasoning(const json_t *body, struct err *err)
{
    static const char *const summaries[] = {"auto", "concise", "detailed", NULL};
    static const char *const contexts[] = {"auto", "current_turn", "all_turns", NULL};
    json_t *reasoning = NULL;
    const char *word = NULL;
    enum err_code rc;

    rc = param_object(body, "", "reasoning", PARAM_OPTIONAL, &reasoning, err);
    if (rc || !reasoning)
        return rc;
    rc = param_string(reasoning, "reasoning", "mode", PARAM_OPTIONAL, SHORT_KEY_LIMIT, &word,
                      err);
    if (!rc)
        rc = param_enum(reasoning, "reasoning", "effort", PARAM_OPTIONAL, answer_efforts, &word,
                        err);
    if (!rc)
        rc = param_enum(reasoning, "reasoning", "summary", PARAM_OPTIONAL, summaries, &word,
                        err);
    if (!rc)
        rc = param_enum(reasoning, "reasoning", "generate_summary", PARAM_OPTIONAL, summaries,
                        &word, err);
    if (!rc)
        rc =
            param_enum(reasoning, "reasoning", "context", PARAM_OPTIONAL, contexts, &word, err);
    return rc;
}

static enum err_code check_stream_options(const json_t *body, struct err *err)
{
    json_t *options = NULL;
    bool obfuscation = false;
    enum err_code rc = param_object(body, "", "stream_options", PARAM_OPTIONAL, &options, err);

    if (rc || !options)
        return rc;
    return param_bool(options, "stream_options", "include_obfuscation", &obfuscation, err);
}

/* OpenAI grants some projects more than the standard access to its models. Here there is only that. */
static enum err_code check_access_programs(const json_t *body, struct err *err)
{
    static const char *const programs[] = {"standard", NULL};
    json_t *access = NULL;
    const char *word = NULL;
    enum err_code rc = param_object(body, "", "access_programs", PARAM_OPTIONAL, &access, err);

    if (rc || !access)
        return rc;
    return param_enum(access, "access_programs", "cyber", PARAM_OPTIONAL, programs, &word, err);
}

static enum err_code check_cache_options(const json_t *body, struct err *err)
{
    static const char *const modes[] = {"implicit", "explicit", NULL};
    static const char *const ttls[] = {"30m", "12h", NULL};
    json_t *options = NULL;
    const char *word = NULL;
    enum err_code rc =
        param_object(body, "", "prompt_cache_options", PARAM_OPTIONAL, &options, err);

    if (!rc && options)
        rc = param_enum(options, "prompt_cache_options", "mode", PARAM_OPTIONAL, modes, &word,
                        err);
    if (!rc && options)
        rc = param_enum(options, "prompt_cache_options", "ttl", PARAM_OPTIONAL, ttls, &word,
                        err);
    if (!rc && options)
        rc = param_string(options, "prompt_cache_options", "comparison_response_id",
                          PARAM_OPTIONAL, ID_LIMIT, &word, err);
    return rc;
}

/* An id, or an object with one. Whether it exists is for the store to say. */
static enum err_code check_conversation(const json_t *body, struct err *err)
{
    json_t *conversation = json_object_get(body, "conversation");
    char thread_id[ID_LIMIT + 1];
    const char *id = NULL;
    enum err_code rc;

    if (json_absent(conversation))
        return ERR_OK;
    if (json_is_string(conversation))
        return param_conversation_id(json_string_value(conversation), "conversation", thread_id,
                                     err);
    if (!json_is_object(conversation))
        return param_wrong_type(err, "conversation", "one of a string or an object",
                                conversation);
    rc = param_string(conversation, "conversation", "id", PARAM_REQUIRED, ID_LIMIT, &id, err);
    return rc ? rc : param_conversation_id(id, "conversation.id", thread_id, err);
}

static enum err_code check_context_management(const json_t *body, struct err *err)
{
    static const char key[] = "context_management";
    static const char *const types[] = {"compaction", NULL};
    json_t *entries = NULL;
    size_t i;
    json_t *entry;
    enum err_code rc =
        param_array(body, "", key, PARAM_OPTIONAL, CONTEXT_ENTRY_LIMIT, &entries, err);

    if (!rc && entries && !json_array_size(entries))
        return param_empty_array(err, key);
    json_array_foreach (entries, i, entry) {
        struct param_path path = param_index(key, i);
        const char *type = NULL;
        json_int_t threshold = 0;

        if (!rc && !json_is_object(entry))
            rc = param_wrong_type(err, path.text, "an object", entry);
        if (!rc)
            rc = param_enum(entry, path.text, "type", PARAM_REQUIRED, types, &type, err);
        if (!rc)
            rc = param_int(entry, path.text, "compact_threshold", COMPACT_THRESHOLD_MIN,
                           INT32_MAX, &threshold, err);
    }
    return rc;
}

/* ---- The table ---- */

enum field_kind {
    FIELD_BOOL,
    FIELD_INT,
    FIELD_NUMBER,
    FIELD_STRING, /* max: its length in characters */
    FIELD_WORD,   /* one of words */
    FIELD_OWN,    /* has a function */
};

static const char *const truncations[] = {"auto", "disabled", NULL};
static const char *const tiers[] = {"auto",     "default", "flex",      "scale",
                                    "priority", "fast",    "ultrafast", NULL};
static const char *const retentions[] = {"in_memory", "in-memory", "24h", NULL};

static enum err_code check_metadata(const json_t *body, struct err *err)
{
    json_t *metadata = NULL;

    return param_metadata(body, &metadata, err);
}

/* In the order in which OpenAI complains. */
/* clang-format off */
static const struct field {
    const char *key;
    enum field_kind kind;
    double min, max;
    const char *const *words;
    enum err_code (*check)(const json_t *body, struct err *err);
} fields[] = {
    {"include",                FIELD_OWN,    0, 0, NULL, check_include},
    {"tools",                  FIELD_OWN,    0, 0, NULL, check_tools},
    {"tool_choice",            FIELD_OWN,    0, 0, NULL, response_tool_choice_check},
    {"metadata",               FIELD_OWN,    0, 0, NULL, check_metadata},
    {"text",                   FIELD_OWN,    0, 0, NULL, check_text},
    {"temperature",            FIELD_NUMBER, 0, 2, NULL, NULL},
    {"top_p",                  FIELD_NUMBER, 0, 1, NULL, NULL},
    {"parallel_tool_calls",    FIELD_BOOL,   0, 0, NULL, NULL},
    {"stream",                 FIELD_BOOL,   0, 0, NULL, NULL},
    {"stream_options",         FIELD_OWN,    0, 0, NULL, check_stream_options},
    {"background",             FIELD_BOOL,   0, 0, NULL, NULL},
    {"max_output_tokens",      FIELD_INT,    16, 1e9, NULL, NULL},
    {"max_tool_calls",         FIELD_INT,    1, 1e9, NULL, NULL},
    {"reasoning",              FIELD_OWN,    0, 0, NULL, check_reasoning},
    {"user",                   FIELD_STRING, 0, USER_LIMIT, NULL, NULL},
    {"safety_identifier",      FIELD_STRING, 0, SAFETY_IDENTIFIER_LIMIT, NULL, NULL},
    {"access_programs",        FIELD_OWN,    0, 0, NULL, check_access_programs},
    {"prompt_cache_options",   FIELD_OWN,    0, 0, NULL, check_cache_options},
    {"prompt_cache_key",       FIELD_STRING, 0, SHORT_KEY_LIMIT, NULL, NULL},
    {"prompt_cache_retention", FIELD_WORD,   0, 0, retentions, NULL},
    {"truncation",             FIELD_WORD,   0, 0, truncations, NULL},
    {"instructions",           FIELD_STRING, 0, 10485760, NULL, NULL},
    {"store",                  FIELD_BOOL,   0, 0, NULL, NULL},
    {"service_tier",           FIELD_WORD,   0, 0, tiers, NULL},
    {"top_logprobs",           FIELD_INT,    0, 20, NULL, NULL},
    {"context_management",     FIELD_OWN,    0, 0, NULL, check_context_management},
    {"previous_response_id",   FIELD_STRING, 0, SHORT_KEY_LIMIT, NULL, NULL},
    {"conversation",           FIELD_OWN,    0, 0, NULL, check_conversation},
    {"prompt",                 FIELD_OWN,    0, 0, NULL, prompt_param_check},
};
/* clang-format on */

static enum err_code check_field(const json_t *body, const struct field *field, struct err *err)
{
    const char *text = NULL;
    json_int_t integer = 0;
    double number = 0;
    bool flag = false;

    switch (field->kind) {
    case FIELD_BOOL: return param_bool(body, "", field->key, &flag, err);
    case FIELD_INT:
        return param_int(body, "", field->key, (json_int_t)field->min, (json_int_t)field->max,
                         &integer, err);
    case FIELD_NUMBER:
        return param_number(body, "", field->key, field->min, field->max, &number, err);
    case FIELD_STRING:
        return param_string(body, "", field->key, PARAM_OPTIONAL, (size_t)field->max, &text,
                            err);
    case FIELD_WORD:
        return param_enum(body, "", field->key, PARAM_OPTIONAL, field->words, &text, err);
    case FIELD_OWN: return field->check(body, err);
    }
    return ERR_OK;
}

static bool given(const json_t *body, const char *key)
{
    return !json_absent(json_object_get(body, key));
}

/* Parameters of OpenAI's API that this version does not have. They are refused, never ignored. */
static enum err_code check_not_yet(const json_t *body, struct err *err)
{
    static const char *const keys[] = {"moderation"};

    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        if (given(body, keys[i]))
            return err_invalid(err, "unsupported_parameter", keys[i],
                               "Unsupported parameter: '%s' is not available on this server.",
                               keys[i]);
    }
    return ERR_OK;
}

/* Rules about two parameters. */
static enum err_code check_together(const json_t *body, struct err *err)
{
    if (given(body, "conversation") && given(body, "previous_response_id"))
        return err_invalid(
            err, "mutually_exclusive_parameters", NULL,
            "Mutually exclusive parameters: ''. Ensure you are only providing one "
            "of: 'previous_response_id' or 'conversation'.");
    if (json_get_bool(body, "background", false) && !json_get_bool(body, "store", true))
        return err_invalid(err, "unsupported_parameter", "background",
                           "Unsupported parameter: 'background' requires 'store' to be true.");
    return check_not_yet(body, err);
}

/* Whether the request has a context without its input, which may then be empty. */
static bool continues(const json_t *body)
{
    return given(body, "previous_response_id") || given(body, "conversation") ||
           given(body, "prompt");
}

static enum err_code check_input_given(const json_t *body, struct err *err)
{
    const json_t *input = json_object_get(body, "input");
    bool empty = json_absent(input) || (json_is_string(input) && !*json_string_value(input)) ||
                 (json_is_array(input) && !json_array_size(input));

    if (empty && !continues(body))
        return err_invalid(err, "missing_required_parameter", NULL,
                           "One of \"input\" or \"previous_response_id\" or 'prompt' or "
                           "'conversation' must be provided.");
    return ERR_OK;
}

static const char *const count_keys[] = {
    "conversation",
    "input",
    "instructions",
    "model",
    "parallel_tool_calls",
    "personality",
    "previous_response_id",
    "reasoning",
    "runnel",
    "text",
    "tool_choice",
    "tools",
    "truncation",
    NULL,
};

enum err_code response_fields_check(const json_t *body, const char *const *keys,
                                    struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        const char *const *key = keys;
        enum err_code rc = ERR_OK;

        while (*key && strcmp(*key, fields[i].key) != 0)
            key++;
        if (*key)
            rc = check_field(body, &fields[i], err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

enum err_code response_count_params_check(const json_t *body, struct err *err)
{
    const char *text = NULL;
    enum err_code rc = param_unknown(body, "", count_keys, err);

    if (!rc)
        rc = param_string(body, "", "model", PARAM_OPTIONAL, MODEL_LIMIT, &text, err);
    if (!rc)
        rc = response_fields_check(body, count_keys, err);
    if (!rc)
        rc = param_string(body, "", "personality", PARAM_OPTIONAL, SHORT_KEY_LIMIT, &text, err);
    if (!rc)
        rc = check_together(body, err);
    if (!rc)
        rc = runnel_params_check(body, err);
    if (rc || given(body, "instructions") || given(body, "tools"))
        return rc;
    return check_input_given(body, err);
}

const char *const response_compact_param_keys[] = {
    "input",
    "instructions",
    "model",
    "previous_response_id",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "service_tier",
    NULL,
};

enum err_code response_compact_params_check(const json_t *body, struct err *err)
{
    const char *model = NULL;
    enum err_code rc = param_unknown(body, "", response_compact_param_keys, err);

    if (!rc)
        rc = param_string(body, "", "model", PARAM_REQUIRED, MODEL_LIMIT, &model, err);
    if (!rc)
        rc = response_fields_check(body, response_compact_param_keys, err);
    return rc ? rc : check_input_given(body, err);
}

/* Parameters that Chat Completions has under another name. They are refused even if unknown parameters are
 * ignored: the client expects an effect. */
static enum err_code check_moved(const json_t *body, struct err *err)
{
    static const struct {
        const char *from;
        const char *to;
    } moved[] = {
        {"messages", "input"},
        {"response_format", "text.format"},
        {"max_tokens", "max_output_tokens"},
        {"max_completion_tokens", "max_output_tokens"},
        {"reasoning_effort", "reasoning.effort"},
        {"verbosity", "text.verbosity"},
    };

    for (size_t i = 0; i < COUNT_OF(moved); i++) {
        if (given(body, moved[i].from))
            return err_invalid(
                err, "unsupported_parameter", moved[i].from,
                "Unsupported parameter: '%s'. In the Responses API, this parameter "
                "has moved to '%s'. Try again with the new parameter.",
                moved[i].from, moved[i].to);
    }
    return ERR_OK;
}

enum err_code response_head_check(const json_t *body, struct err *err)
{
    const char *model = NULL;
    enum err_code rc =
        param_string(body, "", "model", given(body, "prompt") ? PARAM_OPTIONAL : PARAM_REQUIRED,
                     MODEL_LIMIT, &model, err);

    if (rc)
        return rc;
    rc = check_moved(body, err);
    if (rc)
        return rc;
    if (!given(body, "input") && !continues(body))
        return param_missing(err, "input");
    return param_unknown(body, "", known_keys, err);
}

enum err_code response_params_check(const json_t *body, struct err *err)
{
    enum err_code rc = ERR_OK;

    for (size_t i = 0; !rc && i < COUNT_OF(fields); i++)
        rc = check_field(body, &fields[i], err);
    if (!rc)
        rc = check_together(body, err);
    return rc ? rc : check_input_given(body, err);
}

void response_conversation(const json_t *body, char ret_thread[ID_SIZE])
{
    const json_t *conversation = json_object_get(body, "conversation");
    const char *id = json_is_object(conversation) ? json_get_string(conversation, "id", NULL)
                                                  : json_string_value(conversation);
    char thread[ID_LIMIT + 1] = "";

    if (id && param_conversation_id(id, "conversation", thread, NULL) == ERR_OK)
        (void)snprintf(ret_thread, ID_SIZE, "%.*s", ID_SIZE - 1, thread);
}

/* ---- The settings of the run ---- */

void response_settings(const json_t *body, struct run_settings *ret_settings)
{
    /* These have columns, rows of their own, or no meaning after the request. */
    static const char *const elsewhere[] = {
        "input",    "stream",      "store", "background", "previous_response_id",
        "metadata", "conversation"};
    json_t *config = json_object();
    json_auto_t *tools = json_array();
    const char *key;
    size_t i;
    json_t *value;

    json_object_foreach ((json_t *)(uintptr_t)body, key, value) {
        if (!json_is_null(value))
            json_object_set(config, key, value);
    }
    for (i = 0; i < COUNT_OF(elsewhere); i++)
        json_object_del(config, elsewhere[i]);
    run_settings_drop_own(config); /* or a client could set what only the server may write */
    json_array_foreach (json_object_get(body, "tools"), i, value)
        json_array_append_new(tools, response_tool_complete(value));
    json_set(config, "tools", tool_secrets_strip(tools));
    json_set(config, "runnel", runnel_settings(body));
    run_settings_read(ret_settings, config);
}
