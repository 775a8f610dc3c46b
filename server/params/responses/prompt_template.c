#include "server/params/responses/prompt_template.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/rows.h"
#include "core/run/catalog/tool_secrets.h"
#include "core/run/catalog/tool_set.h"
#include "core/run/catalog/unavailable.h"
#include "server/complaint.h"
#include "server/params/params.h"
#include "server/params/responses/response_input.h"
#include "server/params/responses/response_params.h"

#define VARIABLES "prompt.variables"

/*
 * A prompt template is a stored half of a request. Its other half is the request that names it and
 * gives values for its variables.
 *
 * There are three steps, at different times:
 *
 *   prompt_template_parse()  when a version is stored: checks it with the rules of requests, so that a
 *                            template which was accepted cannot break later, whatever fills it in
 *   prompt_param_check()     when a request comes: the shape of its `prompt`, before the store is asked
 *   prompt_apply()           when the template was found: makes an ordinary request of both
 *
 * The result is a request like any other, with two traces of the template: its `instructions` may be
 * a list of messages, and the response shows which version was used. Parameters of the request win
 * over those of the template, one by one and whole.
 *
 * Substitution works on the JSON tree, not on its text. A value is placed inside one string, or becomes
 * one content part, so no value can close a string, add a message or change a role. A value is not
 * searched for marks again: a user's text with {{name}} in it stays that text.
 *
 * Filled-in text is limited as it grows (charge()), because a template of a megabyte may name one
 * variable many thousand times.
 */

const char *const prompt_template_keys[] = {
    "input",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "model",
    "parallel_tool_calls",
    "reasoning",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_p",
    NULL,
};

/* ---- Variables in text ---- */

/* A {{name}} in a text: [begin, end) with its braces. */
struct mark {
    const char *begin, *end;
    char name[PROMPT_VARIABLE_LENGTH + 1];
};

static bool is_name(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_' || byte == '-' || byte == '.';
}

/* Reads the mark at `text`, which begins with two braces. False if they are only text: templates are full of
 * JSON and code. Blanks around the name are allowed. */
static bool read_mark(const char *text, struct mark *ret_mark)
{
    const char *at = text + 2;
    size_t length = 0;

    at += strspn(at, " ");
    while (is_name(at[length]) && length < PROMPT_VARIABLE_LENGTH)
        length++;
    memcpy(ret_mark->name, at, length);
    ret_mark->name[length] = '\0';
    at += length;
    at += strspn(at, " ");
    ret_mark->begin = text;
    ret_mark->end = at + 2;
    return length && at[0] == '}' && at[1] == '}';
}

static bool find_mark(const char *text, struct mark *ret_mark)
{
    for (; (text = strstr(text, "{{")); text++) {
        if (read_mark(text, ret_mark))
            return true;
    }
    return false;
}

static void note_marks(json_t *names, const char *text)
{
    struct mark mark;

    for (; find_mark(text, &mark); text = mark.end)
        json_object_set_new(names, mark.name, json_true());
}

/* The names of all variables, as the keys of an object, in order of appearance. New reference. */
static json_t *named(const json_t *template)
{
    json_t *names = json_object();
    size_t i, k;
    json_t *message, *part;

    note_marks(names, json_get_string(template, "instructions", ""));
    json_array_foreach (json_object_get(template, "input"), i, message) {
        json_array_foreach (json_object_get(message, "content"), k, part)
            note_marks(names, json_get_string(part, "text", ""));
    }
    return names;
}

json_t *prompt_template_variables(const json_t *template)
{
    json_auto_t *names = named(template);
    json_t *list = json_array();
    const char *name;
    json_t *value;

    json_object_foreach (names, name, value)
        json_array_append_new(list, json_string(name));
    return list;
}

/* ---- A template ---- */

/* Keeps role and content of the decoded messages. Ids and times belong to each response that uses them. */
static enum err_code take_messages(json_t *template, const struct item_row *items, size_t count,
                                   struct err *err)
{
    json_t *messages = json_array();

    json_set(template, "input", messages);
    for (size_t i = 0; i < count; i++) {
        struct param_path path = param_index("input", i);
        struct param_path type = param_key(path.text, "type");
        json_auto_t *body = json_parse_own(items[i].body);
        json_t *content = json_object_get(body, "content");

        if (items[i].type != ITEM_MESSAGE)
            return err_invalid(err, "invalid_value", type.text,
                               "Invalid value: '%s'. Supported values are: 'message'.",
                               item_row_type_name(&items[i]));
        json_array_append_new(messages, json_build("{s:s, s:s, s:O}", "type", "message", "role",
                                                   items[i].role, "content", content));
    }
    return ERR_OK;
}

static enum err_code parse_messages(const json_t *body, json_t *template, struct err *err)
{
    static const struct item_references none = {0};
    struct item_row *items = NULL;
    size_t count = 0;
    enum err_code rc = response_items_decode(body, "input", PARAM_OPTIONAL,
                                             PROMPT_MESSAGE_LIMIT, &none, &items, &count, err);

    if (!rc && count)
        rc = take_messages(template, items, count, err);
    item_rows_free(items, count);
    return rc;
}

static enum err_code check_tools(const json_t *template, struct err *err)
{
    const struct run_settings unset = {0};
    json_t *list = json_object_get(template, "tools");
    struct tool_set tools = {0};
    enum err_code rc = unavailable_tools_check(&unset, list, err);

    if (!rc)
        rc = tool_set_init(&tools, list, &unset, err);
    tool_set_clear(&tools);
    return rc;
}

/* A template must have instructions or messages, and no more variables than a request may fill in. */
static enum err_code check_words(const json_t *template, struct err *err)
{
    json_auto_t *names = named(template);

    if (!json_object_get(template, "instructions") && !json_object_get(template, "input"))
        return param_missing(err, "instructions");
    if (json_object_size(names) <= PROMPT_VARIABLE_LIMIT)
        return ERR_OK;
    return err_invalid(err, "object_above_max_properties", "instructions",
                       "Invalid 'instructions': too many variables. Expected at most %zu, but "
                       "got %zu instead.",
                       PROMPT_VARIABLE_LIMIT, json_object_size(names));
}

/* Every key of the project can read a template. A request that uses it brings its own secrets. */
static void strip_secrets(json_t *template)
{
    const json_t *tools = json_object_get(template, "tools");

    if (json_is_array(tools))
        json_set(template, "tools", tool_secrets_strip(tools));
}

enum err_code prompt_template_parse(const json_t *body, json_t **ret_template, struct err *err)
{
    json_auto_t *template = json_object();
    enum err_code rc = response_fields_check(body, prompt_template_keys, err);

    if (rc)
        return rc;
    for (const char *const *key = prompt_template_keys; *key; key++) {
        json_t *value = json_object_get(body, *key);

        if (!json_absent(value) && strcmp(*key, "input") != 0)
            json_object_set(template, *key, value);
    }
    strip_secrets(template);
    rc = parse_messages(body, template, err);
    if (!rc)
        rc = check_tools(template, err);
    if (!rc)
        rc = check_words(template, err);
    if (!rc)
        *ret_template = json_incref(template);
    return rc;
}

/* ---- A request's prompt ---- */

static enum err_code check_image(const json_t *part, const char *path, struct err *err)
{
    struct param_path url = param_key(path, "image_url");

    if (json_absent(json_object_get(part, "image_url")) &&
        json_absent(json_object_get(part, "file_id")))
        return param_missing(err, url.text);
    return ERR_OK;
}

static enum err_code check_value(const json_t *value, const char *path, struct err *err)
{
    static const char *const types[] = {"input_text", "input_image", "input_file", NULL};
    const char *word = NULL;
    enum err_code rc;

    if (json_is_string(value))
        return ERR_OK;
    if (!json_is_object(value))
        return param_wrong_type(err, path, "one of a string or an object", value);
    rc = param_enum(value, path, "type", PARAM_REQUIRED, types, &word, err);
    if (!rc && strcmp(word, "input_text") == 0)
        rc = param_string(value, path, "text", PARAM_REQUIRED, 0, &word, err);
    else if (!rc && strcmp(word, "input_image") == 0)
        rc = check_image(value, path, err);
    return rc;
}

static enum err_code check_variables(const json_t *prompt, struct err *err)
{
    json_t *variables = NULL;
    const char *name;
    json_t *value;
    enum err_code rc =
        param_object(prompt, "prompt", "variables", PARAM_OPTIONAL, &variables, err);

    if (!rc && json_object_size(variables) > PROMPT_VARIABLE_LIMIT)
        rc = err_invalid(err, "object_above_max_properties", VARIABLES,
                         "Invalid '" VARIABLES
                         "': too many properties. Expected an object with at "
                         "most %zu properties, but got an object with %zu properties instead.",
                         PROMPT_VARIABLE_LIMIT, json_object_size(variables));
    if (rc)
        return rc;
    json_object_foreach (variables, name, value) {
        struct param_path path = param_key(VARIABLES, name);

        rc = check_value(value, path.text, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

enum err_code prompt_param_check(const json_t *body, struct err *err)
{
    json_t *prompt = NULL;
    const char *text = NULL;
    enum err_code rc = param_object(body, "", "prompt", PARAM_OPTIONAL, &prompt, err);

    if (rc || !prompt)
        return rc;
    rc = param_string(prompt, "prompt", "id", PARAM_REQUIRED, ID_LIMIT, &text, err);
    if (!rc)
        rc = param_string(prompt, "prompt", "version", PARAM_OPTIONAL, ID_LIMIT, &text, err);
    return rc ? rc : check_variables(prompt, err);
}

enum err_code prompt_version_parse(const char *prompt_id, const char *version, int *ret_version,
                                   struct err *err)
{
    int number = 0;

    if (version && (!*version || *version == '0' || strlen(version) > 9 ||
                    strspn(version, "0123456789") != strlen(version)))
        return err_set(err, ERR_NOT_FOUND,
                       "Version '%.64s' of prompt with id '%.64s' not found.", version,
                       prompt_id);
    for (; version && *version; version++)
        number = number * 10 + (*version - '0');
    *ret_version = number;
    return ERR_OK;
}

/* ---- Filling in ---- */

/* The state of filling in one template. */
struct filling {
    const json_t *variables;
    size_t size;     /* bytes so far, of everything */
    struct buf text; /* the current text, not yet a part */
    json_t *parts;   /* where finished parts go; NULL where only text is allowed */
};

/* Exactly the variables of the template: one that is missing would leave braces in the prompt, and one too
 * many is probably misspelt. */
static enum err_code check_names(const json_t *template, const json_t *variables,
                                 struct err *err)
{
    json_auto_t *names = named(template);
    struct param_path path;
    const char *name;
    json_t *value;

    json_object_foreach (names, name, value) {
        path = param_key(VARIABLES, name);
        if (json_absent(json_object_get(variables, name)))
            return param_missing(err, path.text);
    }
    json_object_foreach ((json_t *)(uintptr_t)variables, name, value) {
        path = param_key(VARIABLES, name);
        if (!json_object_get(names, name))
            return err_invalid(err, "unknown_parameter", path.text, "Unknown parameter: '%s'.",
                               path.text);
    }
    return ERR_OK;
}

/* Makes a part of the text so far, before a picture or at the end. */
static void end_text(struct filling *filling)
{
    json_t *text;

    if (!filling->text.length)
        return;
    text = json_stringn_nocheck(filling->text.data, filling->text.length);
    json_array_append_new(filling->parts,
                          json_build("{s:s, s:o}", "type", "input_text", "text", text));
    buf_reset(&filling->text);
}

/* A value counts once for each place where it is filled in. */
static enum err_code charge(struct filling *filling, size_t bytes, struct err *err)
{
    filling->size += bytes;
    if (filling->size <= PROMPT_TEXT_LIMIT)
        return ERR_OK;
    return err_invalid(err, "string_above_max_length", VARIABLES,
                       "Invalid '" VARIABLES
                       "': string too long. Expected a string with maximum "
                       "length %zu, but got a longer one instead.",
                       PROMPT_TEXT_LIMIT);
}

static enum err_code add_text(struct filling *filling, const char *text, size_t length,
                              struct err *err)
{
    enum err_code rc = charge(filling, length, err);

    if (!rc)
        buf_add(&filling->text, text, length);
    return rc;
}

static enum err_code add_part(struct filling *filling, json_t *value, struct err *err)
{
    AUTO_FREE char *written = json_text(value);
    enum err_code rc = charge(filling, strlen(written), err);

    if (rc)
        return rc;
    end_text(filling);
    json_array_append(filling->parts, value);
    return ERR_OK;
}

static enum err_code add_value(struct filling *filling, const char *name, struct err *err)
{
    struct param_path path = param_key(VARIABLES, name);
    json_t *value = json_object_get(filling->variables, name);
    const char *text = json_string_value(value);

    if (!text)
        text = strcmp(json_get_string(value, "type", ""), "input_text") == 0
                   ? json_get_string(value, "text", "")
                   : NULL;
    if (text)
        return add_text(filling, text, strlen(text), err);
    if (!filling->parts)
        return param_wrong_type(err, path.text, "a string", value);
    return add_part(filling, value, err);
}

static enum err_code fill_text(struct filling *filling, const char *text, struct err *err)
{
    struct mark mark;

    while (find_mark(text, &mark)) {
        enum err_code rc = add_text(filling, text, (size_t)(mark.begin - text), err);

        if (!rc)
            rc = add_value(filling, mark.name, err);
        if (rc)
            return rc;
        text = mark.end;
    }
    return add_text(filling, text, strlen(text), err);
}

static json_t *filled_text(struct filling *filling)
{
    json_t *text = json_stringn_nocheck(filling->text.data ? filling->text.data : "",
                                        filling->text.length);

    buf_reset(&filling->text);
    return text;
}

/* A picture or a file splits a text of the user's side into parts around it. Text of the assistant must stay
 * one part, so only text is allowed in it. */
static enum err_code fill_part(struct filling *filling, json_t *part, json_t *parts,
                               struct err *err)
{
    const char *text = json_get_string(part, "text", NULL);
    bool cut = strcmp(json_get_string(part, "type", ""), "input_text") == 0;
    json_t *copy;
    enum err_code rc;

    if (!text) {
        json_array_append(parts, part);
        return ERR_OK;
    }
    filling->parts = cut ? parts : NULL;
    rc = fill_text(filling, text, err);
    if (rc)
        return rc;
    if (cut) {
        end_text(filling);
        return ERR_OK;
    }
    copy = json_copy(part);
    json_set(copy, "text", filled_text(filling));
    json_array_append_new(parts, copy);
    return ERR_OK;
}

/* A message as a response shows it: SDKs require an id and a status of the assistant's. New reference. */
static json_t *new_message(const char *role, json_t *parts)
{
    char id[ID_SIZE];

    id_make(id, "msg_");
    return json_build("{s:s, s:s, s:s, s:s, s:o}", "id", id, "type", "message", "role", role,
                      "status", "completed", "content", parts);
}

static enum err_code fill_message(struct filling *filling, const json_t *message,
                                  json_t *messages, struct err *err)
{
    json_t *parts = json_array();
    json_t *copy = new_message(json_get_string(message, "role", "user"), parts);
    size_t i;
    json_t *part;

    json_array_append_new(messages, copy);
    json_array_foreach (json_object_get(message, "content"), i, part) {
        enum err_code rc = fill_part(filling, part, parts, err);

        if (rc)
            return rc;
    }
    return ERR_OK;
}

/* The request's own instructions replace the template's. */
static enum err_code fill_instructions(struct filling *filling, const json_t *template,
                                       const json_t *body, json_t **ret_text, struct err *err)
{
    json_t *own = json_object_get(body, "instructions");
    const char *text = json_get_string(template, "instructions", NULL);
    enum err_code rc;

    if (!json_absent(own) || !text) {
        *ret_text = json_absent(own) ? NULL : json_incref(own);
        return ERR_OK;
    }
    filling->parts = NULL;
    rc = fill_text(filling, text, err);
    if (!rc)
        *ret_text = filled_text(filling);
    return rc;
}

/* With messages, `instructions` is a list, and the text of the instructions its first message. */
static void put_first(json_t *messages, json_t *text)
{
    json_t *parts = json_build("[{s:s, s:O}]", "type", "input_text", "text", text);

    json_array_insert_new(messages, 0, new_message("developer", parts));
}

static enum err_code fill(struct filling *filling, const json_t *template, json_t *body,
                          struct err *err)
{
    json_auto_t *messages = json_array();
    json_auto_t *text = NULL;
    size_t i;
    json_t *message;
    enum err_code rc = fill_instructions(filling, template, body, &text, err);

    json_array_foreach (json_object_get(template, "input"), i, message) {
        if (rc)
            break;
        rc = fill_message(filling, message, messages, err);
    }
    if (rc)
        return rc;
    if (json_array_size(messages) && text)
        put_first(messages, text);
    if (json_array_size(messages))
        json_object_set(body, "instructions", messages);
    else if (text)
        json_object_set(body, "instructions", text);
    return ERR_OK;
}

/* The template's parameters, where the request has none. */
static void add_parameters(const json_t *template, json_t *body)
{
    const char *key;
    json_t *value;

    json_object_foreach ((json_t *)(uintptr_t) template, key, value) {
        if (strcmp(key, "input") != 0 && strcmp(key, "instructions") != 0 &&
            json_absent(json_object_get(body, key)))
            json_object_set(body, key, value);
    }
}

/* `prompt` as the response shows it: with the version that was used, also if the request named none. */
static void show_prompt(json_t *body, int version)
{
    const json_t *given = json_object_get(body, "prompt");
    AUTO_FREE char *number = mem_printf("%d", version);
    json_t *variables = json_object_get(given, "variables");
    json_t *shown =
        json_build("{s:O, s:s}", "id", json_object_get(given, "id"), "version", number);

    json_set(shown, "variables", variables ? json_incref(variables) : json_null());
    json_set(body, "prompt", shown);
}

enum err_code prompt_apply(const json_t *template, int version, const json_t *body,
                           json_t **ret_body, struct err *err)
{
    json_auto_t *filled = json_copy((json_t *)(uintptr_t)body);
    struct filling filling = {
        .variables = json_object_get(json_object_get(body, "prompt"), "variables")};
    enum err_code rc = check_names(template, filling.variables, err);

    if (!rc)
        rc = fill(&filling, template, filled, err);
    buf_clear(&filling.text);
    if (rc)
        return rc;
    add_parameters(template, filled);
    show_prompt(filled, version);
    *ret_body = json_incref(filled);
    return ERR_OK;
}
