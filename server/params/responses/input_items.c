#include "server/params/responses/input_items.h"

#include <stdint.h>
#include <string.h>

#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/mcp/mcp_tools.h"
#include "core/run/approval/approval_answer.h"
#include "server/complaint.h"
#include "server/params/params.h"
#include "server/params/responses/answer_params.h"
#include "server/params/responses/response_tools.h"

#define LIST_LIMIT      ((size_t)10000)
#define ENCRYPTED_LIMIT ((size_t)20971520)
#define NAME_LIMIT      ((size_t)256)

/*
 * Thirty types of items, and nearly all of their rules fit into one kind of row: a key, its JSON
 * type, whether it is required, a limit, a default. So the types are data. One function walks the rows
 * to check an item, and another walks the same rows to complete it; a new type is a table and a line in
 * `types`. With a function for each type the same few calls would be repeated thirty times, and
 * completing would be a second copy of them.
 *
 * What a row cannot say ("one of two keys", "exit_code if the outcome is an exit") is a function behind
 * the table, in input_item_check(). Messages are the exception: their content depends on the role, and
 * response_input.c checks it.
 *
 * The checks are about shape. A client may replay items that any server of this API has produced, with
 * calls of tools that this server does not have. They are accepted, shown and sent to the model.
 * Refused is what later code would lose or cannot show: a content part of an unknown type, a file that
 * is not on this server.
 *
 * Completing gives an item the form in which OpenAI shows it, so that a client reads the same form
 * whether an item was sent or produced. Defaults are JSON texts; "null" is a default too, and differs
 * from none at all.
 */

enum input_kind {
    KIND_STRING, /* limit: its length */
    KIND_INT,
    KIND_BOOL,
    KIND_WORD,    /* one of words */
    KIND_OBJECT,  /* with inner fields, if any are known */
    KIND_LIST,    /* of objects with inner fields */
    KIND_STRINGS, /* a list of strings */
    KIND_CONTENT, /* a string or a list of parts */
    KIND_TOOLS,
    KIND_ANY,
};

/* One field. `fallback` is the JSON text that is shown for a missing value; NULL: the field is left out. */
struct input_field {
    const char *key;
    enum input_kind kind;
    enum param_need need;
    size_t limit; /* characters of a string, entries of a list; 0: none */
    const char *fallback;
    const char *const *words;        /* of a KIND_WORD */
    const struct input_field *inner; /* of an object, or of each object of a list */
};

#define REQUIRED PARAM_REQUIRED
#define OPTIONAL PARAM_OPTIONAL

/* ---- The fields of each type ---- */

/* clang-format off */
static const char *const exec_words[] = {"exec", NULL};
static const char *const execution_words[] = {"server", "client", NULL};
static const char *const developer_words[] = {"developer", NULL};
static const char *const patch_words[] = {"create_file", "delete_file", "update_file", NULL};
static const char *const patched_words[] = {"completed", "failed", NULL};
static const char *const outcome_words[] = {"exit", "timeout", NULL};
static const char *const screenshot_words[] = {"computer_screenshot", NULL};
static const char *const summary_words[] = {"summary_text", NULL};
static const char *const reasoning_words[] = {"reasoning_text", NULL};
static const char *const search_words[] = {"search", "open_page", "find_in_page", "find", NULL};
static const char *const action_words[] = {"click", "double_click", "drag", "keypress", "move", "screenshot",
                                           "scroll", "type", "wait", NULL};

static const char *const caller_words[] = {"direct", "program", NULL};

static const struct input_field no_fields[] = {{0}};
static const struct input_field caller_fields[] = {
    {"type",      KIND_WORD,    REQUIRED, 0, NULL, caller_words, NULL},
    {"caller_id", KIND_STRING,  OPTIONAL, ID_LIMIT, NULL, NULL, NULL},
    {0}};
static const struct input_field message_fields[] = {
    {"role",      KIND_ANY,     REQUIRED, 0, NULL, NULL, NULL},
    {"content",   KIND_ANY,     REQUIRED, 0, NULL, NULL, NULL},
    {0}};
static const struct input_field reference_fields[] = {
    {"id",        KIND_STRING,  REQUIRED, ID_LIMIT, NULL, NULL, NULL},
    {0}};
static const struct input_field function_fields[] = {
    {"name",      KIND_STRING,  REQUIRED, NAME_LIMIT, NULL, NULL, NULL},
    {"arguments", KIND_STRING,  OPTIONAL, INPUT_TEXT_LIMIT, "\"\"", NULL, NULL},
    {"namespace", KIND_STRING,  OPTIONAL, NAME_LIMIT, NULL, NULL, NULL},
    {"async",     KIND_BOOL,    OPTIONAL, 0, NULL, NULL, NULL},
    {"caller",    KIND_OBJECT,  OPTIONAL, 0, NULL, NULL, caller_fields},
    {0}};
static const struct input_field custom_fields[] = {
    {"name",      KIND_STRING,  REQUIRED, NAME_LIMIT, NULL, NULL, NULL},
    {"input",     KIND_STRING,  OPTIONAL, INPUT_TEXT_LIMIT, "\"\"", NULL, NULL},
    {"namespace", KIND_STRING,  OPTIONAL, NAME_LIMIT, NULL, NULL, NULL},
    {"async",     KIND_BOOL,    OPTIONAL, 0, NULL, NULL, NULL},
    {"caller",    KIND_OBJECT,  OPTIONAL, 0, NULL, NULL, caller_fields},
    {0}};
static const struct input_field output_fields[] = {
    {"output",    KIND_CONTENT, REQUIRED, 0, NULL, NULL, NULL},
    {"name",      KIND_STRING,  OPTIONAL, NAME_LIMIT, NULL, NULL, NULL},
    {"namespace", KIND_STRING,  OPTIONAL, NAME_LIMIT, NULL, NULL, NULL},
    {"caller",    KIND_OBJECT,  OPTIONAL, 0, NULL, NULL, caller_fields},
    {0}};
static const struct input_field exec_fields[] = {
    {"type",              KIND_WORD,    REQUIRED, 0, NULL, exec_words, NULL},
    {"command",           KIND_STRINGS, REQUIRED, LIST_LIMIT, NULL, NULL, NULL},
    {"env",               KIND_OBJECT,  OPTIONAL, 0, "{}", NULL, NULL},
    {"timeout_ms",        KIND_INT,     OPTIONAL, 0, NULL, NULL, NULL},
    {"user",              KIND_STRING,  OPTIONAL, 0, NULL, NULL, NULL},
    {"working_directory", KIND_STRING,  OPTIONAL, 0, NULL, NULL, NULL},
    {0}};
static const struct input_field local_shell_fields[] = {
    {"action",    KIND_OBJECT,  REQUIRED, 0, NULL, NULL, exec_fields},
    {0}};
static const struct input_field local_shell_output_fields[] = {
    {"output",    KIND_STRING,  REQUIRED, INPUT_TEXT_LIMIT, NULL, NULL, NULL},
    {0}};
static const struct input_field commands_fields[] = {
    {"commands",          KIND_STRINGS, REQUIRED, LIST_LIMIT, NULL, NULL, NULL},
    {"timeout_ms",        KIND_INT,     OPTIONAL, 0, "null", NULL, NULL},
    {"max_output_length", KIND_INT,     OPTIONAL, 0, "null", NULL, NULL},
    {0}};
static const struct input_field shell_fields[] = {
    {"action",      KIND_OBJECT, REQUIRED, 0, NULL, NULL, commands_fields},
    {"environment", KIND_OBJECT, OPTIONAL, 0, "null", NULL, NULL},
    {"caller",      KIND_OBJECT, OPTIONAL, 0, NULL, NULL, caller_fields},
    {0}};
static const struct input_field outcome_fields[] = {
    {"type",      KIND_WORD, REQUIRED, 0, NULL, outcome_words, NULL},
    {"exit_code", KIND_INT,  OPTIONAL, 0, NULL, NULL, NULL},
    {0}};
static const struct input_field captured_fields[] = {
    {"stdout",  KIND_STRING, OPTIONAL, INPUT_TEXT_LIMIT, "\"\"", NULL, NULL},
    {"stderr",  KIND_STRING, OPTIONAL, INPUT_TEXT_LIMIT, "\"\"", NULL, NULL},
    {"outcome", KIND_OBJECT, REQUIRED, 0, NULL, NULL, outcome_fields},
    {0}};
static const struct input_field shell_output_fields[] = {
    {"output",            KIND_LIST,   REQUIRED, LIST_LIMIT, NULL, NULL, captured_fields},
    {"max_output_length", KIND_INT,    OPTIONAL, 0, "null", NULL, NULL},
    {"caller",            KIND_OBJECT, OPTIONAL, 0, NULL, NULL, caller_fields},
    {0}};
static const struct input_field operation_fields[] = {
    {"type", KIND_WORD,   REQUIRED, 0, NULL, patch_words, NULL},
    {"path", KIND_STRING, REQUIRED, 0, NULL, NULL, NULL},
    {"diff", KIND_STRING, OPTIONAL, INPUT_TEXT_LIMIT, NULL, NULL, NULL},
    {0}};
static const struct input_field patch_fields[] = {
    {"operation", KIND_OBJECT, REQUIRED, 0, NULL, NULL, operation_fields},
    {"caller",    KIND_OBJECT, OPTIONAL, 0, NULL, NULL, caller_fields},
    {0}};
static const struct input_field patch_output_fields[] = {
    {"status", KIND_WORD,   REQUIRED, 0, NULL, patched_words, NULL},
    {"output", KIND_STRING, OPTIONAL, INPUT_TEXT_LIMIT, NULL, NULL, NULL},
    {"caller", KIND_OBJECT, OPTIONAL, 0, NULL, NULL, caller_fields},
    {0}};
static const struct input_field action_fields[] = {
    {"type", KIND_WORD, REQUIRED, 0, NULL, action_words, NULL},
    {0}};
static const struct input_field safety_fields[] = {
    {"id",      KIND_STRING, REQUIRED, 0, NULL, NULL, NULL},
    {"code",    KIND_STRING, OPTIONAL, 0, NULL, NULL, NULL},
    {"message", KIND_STRING, OPTIONAL, 0, NULL, NULL, NULL},
    {0}};
static const struct input_field computer_fields[] = {
    {"action",                KIND_OBJECT, OPTIONAL, 0, NULL, NULL, action_fields},
    {"actions",               KIND_LIST,   OPTIONAL, LIST_LIMIT, NULL, NULL, action_fields},
    {"pending_safety_checks", KIND_LIST,   OPTIONAL, LIST_LIMIT, "[]", NULL, safety_fields},
    {0}};
static const struct input_field screenshot_fields[] = {
    {"type",      KIND_WORD,   REQUIRED, 0, NULL, screenshot_words, NULL},
    {"image_url", KIND_STRING, OPTIONAL, 0, NULL, NULL, NULL},
    {"file_id",   KIND_STRING, OPTIONAL, ID_LIMIT, NULL, NULL, NULL},
    {0}};
static const struct input_field computer_output_fields[] = {
    {"output",                     KIND_OBJECT, REQUIRED, 0, NULL, NULL, screenshot_fields},
    {"acknowledged_safety_checks", KIND_LIST,   OPTIONAL, LIST_LIMIT, NULL, NULL, safety_fields},
    {0}};
static const struct input_field search_fields[] = {
    {"execution", KIND_WORD, OPTIONAL, 0, "\"client\"", execution_words, NULL},
    {"arguments", KIND_ANY,  REQUIRED, 0, "{}", NULL, NULL},
    {"call_id",   KIND_ANY,  OPTIONAL, 0, "null", NULL, NULL},
    {0}};
static const struct input_field search_output_fields[] = {
    {"execution", KIND_WORD,  OPTIONAL, 0, "\"client\"", execution_words, NULL},
    {"tools",     KIND_TOOLS, REQUIRED, 0, NULL, NULL, NULL},
    {"call_id",   KIND_ANY,   OPTIONAL, 0, "null", NULL, NULL},
    {0}};
static const struct input_field tools_fields[] = {
    {"role",  KIND_WORD,  REQUIRED, 0, NULL, developer_words, NULL},
    {"tools", KIND_TOOLS, REQUIRED, 0, NULL, NULL, NULL},
    {0}};
static const struct input_field effort_fields[] = {
    {"effort", KIND_WORD, OPTIONAL, 0, "null", answer_efforts, NULL},
    {0}};
static const struct input_field text_fields[] = {
    {"format", KIND_OBJECT, REQUIRED, 0, NULL, NULL, NULL},
    {0}};
static const struct input_field configuration_fields[] = {
    {"reasoning", KIND_OBJECT, OPTIONAL, 0, NULL, NULL, effort_fields},
    {"text",      KIND_OBJECT, OPTIONAL, 0, NULL, NULL, text_fields},
    {0}};
static const struct input_field summary_fields[] = {
    {"type", KIND_WORD,   REQUIRED, 0, NULL, summary_words, NULL},
    {"text", KIND_STRING, OPTIONAL, INPUT_TEXT_LIMIT, "\"\"", NULL, NULL},
    {0}};
static const struct input_field thought_fields[] = {
    {"type", KIND_WORD,   REQUIRED, 0, NULL, reasoning_words, NULL},
    {"text", KIND_STRING, OPTIONAL, INPUT_TEXT_LIMIT, "\"\"", NULL, NULL},
    {0}};
static const struct input_field reasoning_fields[] = {
    {"summary",           KIND_LIST,   OPTIONAL, LIST_LIMIT, "[]", NULL, summary_fields},
    {"content",           KIND_LIST,   OPTIONAL, LIST_LIMIT, NULL, NULL, thought_fields},
    {"encrypted_content", KIND_STRING, OPTIONAL, ENCRYPTED_LIMIT, NULL, NULL, NULL},
    {0}};
static const struct input_field file_search_fields[] = {
    {"queries", KIND_STRINGS, OPTIONAL, LIST_LIMIT, "[]", NULL, NULL},
    {"results", KIND_LIST,    OPTIONAL, LIST_LIMIT, "null", NULL, no_fields},
    {0}};
static const struct input_field web_action_fields[] = {
    {"type", KIND_WORD, REQUIRED, 0, NULL, search_words, NULL},
    {0}};
static const struct input_field web_search_fields[] = {
    {"action",  KIND_OBJECT, OPTIONAL, 0, "{\"type\":\"search\"}", NULL, web_action_fields},
    {"results", KIND_LIST,   OPTIONAL, LIST_LIMIT, NULL, NULL, no_fields},
    {0}};
static const struct input_field image_fields[] = {
    {"result",         KIND_STRING, OPTIONAL, 0, "null", NULL, NULL},
    {"revised_prompt", KIND_STRING, OPTIONAL, INPUT_TEXT_LIMIT, NULL, NULL, NULL},
    {"action",         KIND_STRING, OPTIONAL, ID_LIMIT, NULL, NULL, NULL},
    {"size",           KIND_STRING, OPTIONAL, ID_LIMIT, NULL, NULL, NULL},
    {"quality",        KIND_STRING, OPTIONAL, ID_LIMIT, NULL, NULL, NULL},
    {"background",     KIND_STRING, OPTIONAL, ID_LIMIT, NULL, NULL, NULL},
    {"output_format",  KIND_STRING, OPTIONAL, ID_LIMIT, NULL, NULL, NULL},
    {0}};
static const struct input_field code_fields[] = {
    {"container_id", KIND_STRING, OPTIONAL, 0, "\"\"", NULL, NULL},
    {"code",         KIND_STRING, OPTIONAL, INPUT_TEXT_LIMIT, "null", NULL, NULL},
    {"outputs",      KIND_LIST,   OPTIONAL, LIST_LIMIT, "null", NULL, no_fields},
    {"caller",       KIND_OBJECT, OPTIONAL, 0, NULL, NULL, caller_fields},
    {0}};
static const struct input_field listed_fields[] = {
    {"name",         KIND_STRING, REQUIRED, MCP_NAME_LIMIT, NULL, NULL, NULL},
    {"description",  KIND_STRING, OPTIONAL, MCP_DESCRIPTION_LIMIT, "null", NULL, NULL},
    {"input_schema", KIND_ANY,    REQUIRED, 0, NULL, NULL, NULL},
    {"annotations",  KIND_ANY,    OPTIONAL, 0, "null", NULL, NULL},
    {"runnel",       KIND_ANY,    OPTIONAL, 0, NULL, NULL, NULL},
    {0}};
static const struct input_field list_tools_fields[] = {
    {"server_label", KIND_STRING, REQUIRED, 0, NULL, NULL, NULL},
    {"tools",        KIND_LIST,   REQUIRED, MCP_TOOL_LIMIT, NULL, NULL, listed_fields},
    {0}};
static const struct input_field mcp_fields[] = {
    {"server_label",        KIND_STRING, OPTIONAL, 0, "\"\"", NULL, NULL},
    {"name",                KIND_STRING, REQUIRED, 0, NULL, NULL, NULL},
    {"arguments",           KIND_STRING, OPTIONAL, INPUT_TEXT_LIMIT, "\"\"", NULL, NULL},
    {"output",              KIND_STRING, OPTIONAL, INPUT_TEXT_LIMIT, "null", NULL, NULL},
    {"error",               KIND_ANY,    OPTIONAL, 0, "null", NULL, NULL},
    {"approval_request_id", KIND_STRING, OPTIONAL, ID_LIMIT, "null", NULL, NULL},
    {"caller",              KIND_OBJECT, OPTIONAL, 0, NULL, NULL, caller_fields},
    {0}};
static const struct input_field approval_request_fields[] = {
    {"server_label", KIND_STRING, REQUIRED, 0, NULL, NULL, NULL},
    {"name",         KIND_STRING, REQUIRED, 0, NULL, NULL, NULL},
    {"arguments",    KIND_STRING, OPTIONAL, INPUT_TEXT_LIMIT, "\"\"", NULL, NULL},
    {0}};
static const struct input_field approval_fields[] = {
    {"approval_request_id", KIND_STRING, REQUIRED, ID_LIMIT, NULL, NULL, NULL},
    {"approve",             KIND_BOOL,   REQUIRED, 0, NULL, NULL, NULL},
    {"reason",              KIND_STRING, OPTIONAL, APPROVAL_REASON_LIMIT, NULL, NULL, NULL},
    {"runnel",              KIND_ANY,    OPTIONAL, 0, NULL, NULL, NULL},
    {0}};
static const struct input_field program_fields[] = {
    {"call_id",     KIND_STRING, REQUIRED, ID_LIMIT, NULL, NULL, NULL},
    {"code",        KIND_STRING, REQUIRED, INPUT_TEXT_LIMIT, NULL, NULL, NULL},
    {"fingerprint", KIND_STRING, OPTIONAL, INPUT_TEXT_LIMIT, "\"\"", NULL, NULL},
    {0}};
static const struct input_field program_output_fields[] = {
    {"call_id", KIND_STRING, REQUIRED, ID_LIMIT, NULL, NULL, NULL},
    {"result",  KIND_STRING, OPTIONAL, INPUT_TEXT_LIMIT, "\"\"", NULL, NULL},
    {0}};

static const struct input_field compaction_fields[] = {
    {"encrypted_content", KIND_STRING, REQUIRED, ENCRYPTED_LIMIT, NULL, NULL, NULL},
    {0}};

static const struct input_type types[] = {
    {ITEM_MESSAGE,                 NULL, message_fields},
    {ITEM_REFERENCE,               NULL, reference_fields},
    {ITEM_FUNCTION_CALL,           "function call", function_fields},
    {ITEM_FUNCTION_CALL_OUTPUT,    "function call", output_fields},
    {ITEM_CUSTOM_TOOL_CALL,        "custom tool call", custom_fields},
    {ITEM_CUSTOM_TOOL_CALL_OUTPUT, "custom tool call", output_fields},
    {ITEM_LOCAL_SHELL_CALL,        "local shell call", local_shell_fields},
    {ITEM_LOCAL_SHELL_CALL_OUTPUT, "local shell call", local_shell_output_fields},
    {ITEM_SHELL_CALL,              "shell call", shell_fields},
    {ITEM_SHELL_CALL_OUTPUT,       "shell call", shell_output_fields},
    {ITEM_APPLY_PATCH_CALL,        "apply patch call", patch_fields},
    {ITEM_APPLY_PATCH_CALL_OUTPUT, "apply patch call", patch_output_fields},
    {ITEM_COMPUTER_CALL,           "computer call", computer_fields},
    {ITEM_COMPUTER_CALL_OUTPUT,    "computer call", computer_output_fields},
    {ITEM_TOOL_SEARCH_CALL,        "tool search call", search_fields},
    {ITEM_TOOL_SEARCH_OUTPUT,      "tool search call", search_output_fields},
    {ITEM_ADDITIONAL_TOOLS,        NULL, tools_fields},
    {ITEM_CONFIGURATION_UPDATE,    NULL, configuration_fields},
    {ITEM_REASONING,               NULL, reasoning_fields},
    {ITEM_FILE_SEARCH_CALL,        NULL, file_search_fields},
    {ITEM_WEB_SEARCH_CALL,         NULL, web_search_fields},
    {ITEM_IMAGE_GENERATION_CALL,   NULL, image_fields},
    {ITEM_CODE_INTERPRETER_CALL,   NULL, code_fields},
    {ITEM_MCP_LIST_TOOLS,          NULL, list_tools_fields},
    {ITEM_MCP_CALL,                NULL, mcp_fields},
    {ITEM_MCP_APPROVAL_REQUEST,    NULL, approval_request_fields},
    {ITEM_MCP_APPROVAL_RESPONSE,   NULL, approval_fields},
    {ITEM_COMPACTION,              NULL, compaction_fields},
    {ITEM_PROGRAM,                 "program", program_fields},
    {ITEM_PROGRAM_OUTPUT,          "program", program_output_fields},
};
/* clang-format on */

const struct input_type *input_type_find(enum item_type type)
{
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        if (type == types[i].type)
            return &types[i];
    }
    return NULL;
}

enum err_code input_type_unknown(struct err *err, const char *param, const char *type)
{
    const char *words[COUNT_OF(types) + 1] = {NULL};

    for (size_t i = 0; i < COUNT_OF(types); i++)
        words[i] = item_type_name(types[i].type);
    return param_wrong_word(err, param, type, words);
}

/* ---- Content ---- */

static const char *const part_types[] = {"input_text",  "input_image", "input_file",
                                         "output_text", "refusal",     NULL};

/* A URL, or the picture itself as a data URL. The upstream fetches URLs. */
static enum err_code check_image_url(const json_t *object, const char *path, struct err *err)
{
    struct param_path param = param_key(path, "image_url");
    const char *url = NULL;
    enum err_code rc = param_string(object, path, "image_url", PARAM_OPTIONAL, 0, &url, err);

    if (rc || !url || strncmp(url, "https://", 8) == 0 || strncmp(url, "http://", 7) == 0)
        return rc;
    if (strncmp(url, "data:image/", 11) == 0 && strstr(url, ";base64,"))
        return ERR_OK;
    return err_invalid(
        err, "invalid_value", param.text,
        "Invalid '%s'. Expected a valid URL, or a base64-encoded data URL with an "
        "image MIME type (e.g. "
        "'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU=').",
        param.text);
}

static enum err_code check_image(const json_t *image, const char *path, struct err *err)
{
    static const char *const details[] = {"low", "high", "auto", "original", NULL};
    const char *word = NULL;
    enum err_code rc = check_image_url(image, path, err);

    if (!rc)
        rc = param_enum(image, path, "detail", PARAM_OPTIONAL, details, &word, err);
    if (!rc)
        rc = param_string(image, path, "file_id", PARAM_OPTIONAL, ID_LIMIT, &word, err);
    if (rc || !json_absent(json_object_get(image, "image_url")) ||
        !json_absent(json_object_get(image, "file_id")))
        return rc;
    return param_missing(err, param_key(path, "image_url").text);
}

/* The alphabet of base64, and what may stand at its end. Missing padding is forgiven. */
static bool is_base64(const char *text)
{
    size_t digits =
        strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
    size_t padding = strspn(text + digits, "=");

    return digits && digits % 4 != 1 && !text[digits + padding] &&
           (!padding || (padding < 3 && (digits + padding) % 4 == 0));
}

/* The bytes of the file in base64, alone or as a data URL. */
static enum err_code check_file_data(const json_t *file, const char *path, struct err *err)
{
    static const char mark[] = ";base64,";
    struct param_path param = param_key(path, "file_data");
    const char *data = json_get_string(file, "file_data", NULL);
    const char *comma;

    if (!data)
        return ERR_OK;
    comma = strncmp(data, "data:", 5) == 0 ? strstr(data, mark) : NULL;
    if (is_base64(comma ? comma + strlen(mark) : data))
        return ERR_OK;
    return param_no_base64(err, param.text);
}

/* Whether the file exists and can be read was found before (server/api/input_files.h). */
static enum err_code check_file(const json_t *file, const char *path, struct err *err)
{
    static const char *const texts[] = {"file_id", "file_data", "file_url", "filename"};
    static const char *const details[] = {"auto", "low", "high", NULL};
    const char *text = NULL;
    size_t sources = 0;
    enum err_code rc = param_enum(file, path, "detail", PARAM_OPTIONAL, details, &text, err);

    for (size_t i = 0; !rc && i < COUNT_OF(texts); i++)
        rc = param_string(file, path, texts[i], PARAM_OPTIONAL, 0, &text, err);
    if (!rc)
        rc = check_file_data(file, path, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < COUNT_OF(texts) - 1; i++)
        sources += !json_absent(json_object_get(file, texts[i]));
    if (sources > 1)
        return err_invalid(err, "invalid_value", path,
                           "Provide only one of 'file_id', 'file_data' or 'file_url'.");
    return sources ? ERR_OK : param_missing(err, param_key(path, "file_id").text);
}

/* A part of an unknown type is refused: the server could neither show it nor send it to a model. */
static enum err_code check_part(const json_t *part, const char *path, struct err *err)
{
    const char *type = NULL;
    const char *key;
    enum err_code rc;

    if (!json_is_object(part))
        return param_wrong_type(err, path, "an object", part);
    rc = param_enum(part, path, "type", PARAM_REQUIRED, part_types, &type, err);
    if (rc)
        return rc;
    if (strcmp(type, "input_image") == 0)
        return check_image(part, path, err);
    if (strcmp(type, "input_file") == 0)
        return check_file(part, path, err);
    key = strcmp(type, "refusal") == 0 ? "refusal" : "text";
    if (json_absent(json_object_get(part, key)))
        return param_missing(err, param_key(path, key).text);
    return param_string(part, path, key, PARAM_OPTIONAL, INPUT_TEXT_LIMIT, &type, err);
}

enum err_code input_content_check(const json_t *content, const char *path, struct err *err)
{
    size_t i;
    json_t *part;

    if (json_is_string(content))
        return param_length(json_string_value(content), path, INPUT_TEXT_LIMIT, err);
    if (!json_is_array(content))
        return param_wrong_type(err, path, "one of a string or an array of objects", content);
    json_array_foreach (content, i, part) {
        struct param_path at = param_index(path, i);
        enum err_code rc = check_part(part, at.text, err);

        if (rc)
            return rc;
    }
    return ERR_OK;
}

/* ---- Fields ---- */

static enum err_code check_fields(const json_t *object, const char *path,
                                  const struct input_field *fields, struct err *err);

static enum err_code check_strings(const json_t *list, const char *path, struct err *err)
{
    size_t i;
    json_t *word;

    json_array_foreach (list, i, word) {
        if (!json_is_string(word))
            return param_wrong_type(err, param_index(path, i).text, "a string", word);
    }
    return ERR_OK;
}

static enum err_code check_objects(const json_t *list, const char *path,
                                   const struct input_field *fields, struct err *err)
{
    size_t i;
    json_t *object;

    json_array_foreach (list, i, object) {
        struct param_path at = param_index(path, i);
        enum err_code rc;

        if (!json_is_object(object))
            return param_wrong_type(err, at.text, "an object", object);
        rc = check_fields(object, at.text, fields, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

static enum err_code check_list(const json_t *object, const char *path,
                                const struct input_field *field, struct err *err)
{
    struct param_path at = param_key(path, field->key);
    json_t *list = NULL;
    enum err_code rc =
        param_array(object, path, field->key, field->need, field->limit, &list, err);

    if (rc)
        return rc;
    return field->kind == KIND_STRINGS ? check_strings(list, at.text, err)
                                       : check_objects(list, at.text, field->inner, err);
}

static enum err_code check_object(const json_t *object, const char *path,
                                  const struct input_field *field, struct err *err)
{
    json_t *inner = NULL;
    enum err_code rc = param_object(object, path, field->key, field->need, &inner, err);

    if (rc || !inner || !field->inner)
        return rc;
    return check_fields(inner, param_key(path, field->key).text, field->inner, err);
}

static enum err_code check_field(const json_t *object, const char *path,
                                 const struct input_field *field, struct err *err)
{
    struct param_path at = param_key(path, field->key);
    const json_t *value = json_object_get(object, field->key);
    const char *text = NULL;
    json_int_t number;
    bool flag;

    /* Unlike in params.h, a required field that is null counts as missing. */
    if (field->need == PARAM_REQUIRED && json_absent(value))
        return param_missing(err, at.text);
    switch (field->kind) {
    case KIND_STRING:
        return param_string(object, path, field->key, field->need, field->limit, &text, err);
    case KIND_INT:
        return param_int(object, path, field->key, INT64_MIN, INT64_MAX, &number, err);
    case KIND_BOOL: return param_bool(object, path, field->key, &flag, err);
    case KIND_WORD:
        return param_enum(object, path, field->key, field->need, field->words, &text, err);
    case KIND_OBJECT: return check_object(object, path, field, err);
    case KIND_LIST:
    case KIND_STRINGS: return check_list(object, path, field, err);
    case KIND_CONTENT: return input_content_check(value, at.text, err);
    case KIND_TOOLS: return response_tools_check(object, path, field->key, err);
    case KIND_ANY: return ERR_OK;
    }
    return ERR_OK;
}

static enum err_code check_fields(const json_t *object, const char *path,
                                  const struct input_field *fields, struct err *err)
{
    for (; fields->key; fields++) {
        enum err_code rc = check_field(object, path, fields, err);

        if (rc)
            return rc;
    }
    return ERR_OK;
}

/* ---- Rules that do not fit into a row ---- */

/* Every operation but delete_file has a diff. */
static enum err_code check_operation(const json_t *item, const char *path, struct err *err)
{
    const json_t *operation = json_object_get(item, "operation");
    struct param_path at = param_key(path, "operation.diff");

    if (strcmp(json_get_string(operation, "type", ""), "delete_file") == 0 ||
        !json_absent(json_object_get(operation, "diff")))
        return ERR_OK;
    return param_missing(err, at.text);
}

/* `action` is the older form of `actions`. */
static enum err_code check_actions(const json_t *item, const char *path, struct err *err)
{
    if (!json_absent(json_object_get(item, "action")) ||
        !json_absent(json_object_get(item, "actions")))
        return ERR_OK;
    return param_missing(err, param_key(path, "action").text);
}

static enum err_code check_screenshot(const json_t *item, const char *path, struct err *err)
{
    struct param_path at = param_key(path, "output");

    return check_image(json_object_get(item, "output"), at.text, err);
}

static enum err_code check_outcomes(const json_t *item, const char *path, struct err *err)
{
    struct param_path at = param_key(path, "output");
    size_t i;
    json_t *captured;

    json_array_foreach (json_object_get(item, "output"), i, captured) {
        const json_t *outcome = json_object_get(captured, "outcome");
        struct param_path param = param_key(param_index(at.text, i).text, "outcome.exit_code");

        if (strcmp(json_get_string(outcome, "type", ""), "exit") == 0 &&
            json_absent(json_object_get(outcome, "exit_code")))
            return param_missing(err, param.text);
    }
    return ERR_OK;
}

static enum err_code check_configuration(const json_t *item, const char *path, struct err *err)
{
    const json_t *text = json_object_get(item, "text");

    if (!json_absent(text))
        return answer_format_check(json_object_get(text, "format"),
                                   param_key(path, "text.format").text, err);
    if (json_absent(json_object_get(item, "reasoning")))
        return param_missing(err, param_key(path, "reasoning").text);
    return ERR_OK;
}

static enum err_code check_listed_tool(const json_t *tool, const char *path, struct err *err)
{
    struct param_path name = param_key(path, "name");
    struct param_path schema = param_key(path, "input_schema");

    if (!mcp_name_is_fit(json_get_string(tool, "name", "")))
        return err_invalid(err, "invalid_value", name.text,
                           "Invalid '%s': expected 1 to %zu visible ASCII characters.",
                           name.text, MCP_NAME_LIMIT);
    if (mcp_schema_is_fit(json_object_get(tool, "input_schema")))
        return ERR_OK;
    return err_invalid(err, "invalid_value", schema.text,
                       "Invalid '%s': expected a JSON Schema, an object of at most %zu bytes "
                       "with no more than %d levels.",
                       schema.text, MCP_SCHEMA_LIMIT, MCP_SCHEMA_DEPTH);
}

/* A list of tools from a client has the limits of a list from a remote server: both go to the model. */
static enum err_code check_listed(const json_t *item, const char *path, struct err *err)
{
    struct param_path at = param_key(path, "tools");
    const json_t *tools = json_object_get(item, "tools");
    AUTO_FREE char *text = json_text(tools);
    size_t i;
    json_t *tool;

    json_array_foreach (tools, i, tool) {
        enum err_code rc = check_listed_tool(tool, param_index(at.text, i).text, err);

        if (rc)
            return rc;
    }
    if (strlen(text) <= MCP_LIST_LIMIT)
        return ERR_OK;
    return err_invalid(err, "invalid_value", at.text,
                       "Invalid '%s': expected at most %zu bytes of JSON.", at.text,
                       MCP_LIST_LIMIT);
}

static enum err_code check_caller(const json_t *item, const char *path, struct err *err)
{
    const json_t *caller = json_object_get(item, "caller");

    if (strcmp(json_get_string(caller, "type", ""), "program") != 0 ||
        !json_absent(json_object_get(caller, "caller_id")))
        return ERR_OK;
    return param_missing(err, param_key(path, "caller.caller_id").text);
}

enum err_code input_item_check(const json_t *item, const struct input_type *type,
                               const char *path, struct err *err)
{
    static const struct {
        enum item_type type;
        enum err_code (*check)(const json_t *item, const char *path, struct err *err);
    } more[] = {
        {ITEM_APPLY_PATCH_CALL, check_operation},
        {ITEM_COMPUTER_CALL, check_actions},
        {ITEM_COMPUTER_CALL_OUTPUT, check_screenshot},
        {ITEM_MCP_LIST_TOOLS, check_listed},
        {ITEM_SHELL_CALL_OUTPUT, check_outcomes},
        {ITEM_CONFIGURATION_UPDATE, check_configuration},
    };
    enum err_code rc = check_fields(item, path, type->fields, err);

    if (!rc)
        rc = check_caller(item, path, err);
    for (size_t i = 0; !rc && i < COUNT_OF(more); i++) {
        if (type->type == more[i].type)
            rc = more[i].check(item, path, err);
    }
    return rc;
}

/* ---- Completing ---- */

static void drop_nulls(json_t *object)
{
    const char *key;
    void *next;
    json_t *value;

    json_object_foreach_safe(object, next, key, value)
    {
        if (json_is_null(value))
            json_object_del(object, key);
    }
}

static void complete(json_t *object, const struct input_field *fields)
{
    drop_nulls(object);
    for (; fields->key; fields++) {
        json_t *value = json_object_get(object, fields->key);
        size_t i;
        json_t *inner;

        if (!value && fields->fallback)
            json_set_own(object, fields->key, fields->fallback);
        /* An object whose fields are unknown keeps its nulls. */
        if (!value || !fields->inner || !fields->inner->key)
            continue;
        if (json_is_object(value))
            complete(value, fields->inner);
        json_array_foreach (value, i, inner)
            complete(inner, fields->inner);
    }
}

void input_item_complete(json_t *item, const struct input_type *type)
{
    complete(item, type->fields);
}
