/*
 * variable.c -- names, limits and texts of variables; nothing that reads or writes them.
 *
 * A variable exists so that text need not go through the model again. A result that was cut can be read on,
 * and a tool can get a text by reference ($VAR_REF{{name}}) at no cost in tokens. The model can do so only
 * if it knows the name. So a hint with the name stands behind every text that is kept, between markers that
 * people and log readers can recognise ("ToolCallLog").
 *
 * The hint says exactly what is missing. "Cut to 8000 of 90000 characters, read on at 4000" lets a model
 * decide whether reading on is worth it. The numbers are characters of the whole text, and the caller knows
 * which of them were shown (core/tool/cut.h).
 *
 * Names of results are made of the tool's name, the time and a random part: a model can tell from the name
 * what it is, and two calls in one second do not collide. Only characters that a reference may have are
 * kept of the tool's name.
 *
 * Eviction, scopes and chains are the store's (core/store/tables/threads/variables.c). Variables of a
 * response that is not stored are in core/memory/variable_memory.c. Both use the same errors, made here, so
 * a model reads the same sentence from either.
 */

#include "core/domain/variable.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/base/json/json_number.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"

#define DESCRIBED_NAME   ((size_t)64)   /* bytes of its name */
#define DESCRIBED_VALUE  ((size_t)20)   /* characters of an argument in a description */
#define DESCRIBED_COUNT  ((size_t)32)   /* arguments in it */
#define NAMED_TOOL_LIMIT ((size_t)64)   /* bytes of a tool's name in that of a variable */
#define NEXT_READ_LIMIT  ((size_t)2000) /* characters that a hint proposes to read */

const char *const variable_type_names[] = {
    "RULE", "ToolCallResult", "ToolCallArgs", "MessageCache", "LLMAdd", "USER_ADD", NULL};

const char *variable_type_name(enum variable_type type)
{
    return variable_type_names[type];
}

bool variable_type_parse(const char *name, enum variable_type *ret_type)
{
    for (size_t i = 0; variable_type_names[i]; i++) {
        if (strcmp(variable_type_names[i], name) != 0)
            continue;
        *ret_type = (enum variable_type)i;
        return true;
    }
    return false;
}

bool variable_is_trusted(const struct variable *variable)
{
    enum variable_type type = variable->type;

    return !variable->plain &&
           (type == VARIABLE_RULE || type == VARIABLE_LLM_ADD || type == VARIABLE_USER_ADD);
}

void variable_clear(struct variable *variable)
{
    free(variable->value);
    free(variable->description);
    json_decref(variable->tags);
    *variable = (struct variable){0};
}

void variables_free(struct variable *variables, size_t count)
{
    for (size_t i = 0; i < count; i++)
        variable_clear(&variables[i]);
    free(variables);
}

/* ---- Text ---- */

bool variable_name_has(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_' || byte == '-';
}

bool variable_name_fits(const char *name)
{
    size_t length = 0;

    while (variable_name_has(name[length]))
        length++;
    return length > 0 && length <= VARIABLE_NAME_LIMIT && !name[length];
}

bool variable_is_message(const char *name)
{
    size_t prefix = strlen(VARIABLE_MESSAGE_PREFIX);

    return strncmp(name, VARIABLE_MESSAGE_PREFIX, prefix) == 0 &&
           strspn(name + prefix, "0123456789abcdef") == VARIABLE_MESSAGE_DIGITS &&
           !name[prefix + VARIABLE_MESSAGE_DIGITS];
}

size_t variable_length(const char *text)
{
    return utf8_count(text, strlen(text));
}

char *variable_slice(const char *text, size_t start, size_t length)
{
    const char *from = utf8_at(text, start);

    return mem_strndup(from, (size_t)(utf8_at(from, length) - from));
}

static const char unkept_note[] = "\n\n... too long to be kept whole ...";

/* Bytes at the beginning of a text that a variable keeps. */
static size_t kept_bytes(const char *text)
{
    size_t length = strlen(text);

    return length <= VARIABLE_VALUE_LIMIT
               ? length
               : utf8_fit(text, VARIABLE_VALUE_LIMIT - strlen(unkept_note));
}

char *variable_fit(const char *text)
{
    size_t kept = kept_bytes(text);

    return text[kept] ? mem_printf("%.*s%s", (int)kept, text, unkept_note) : mem_strdup(text);
}

size_t variable_lost(const char *text)
{
    return variable_length(text + kept_bytes(text));
}

/* ---- Errors ---- */

enum err_code variable_not_found(const char *name, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "Variable '%.128s' not found.", name);
}

enum err_code variable_not_put(const struct variable_change *change, enum variable_put how,
                               struct err *err)
{
    if (how == VARIABLE_CREATE && change->value)
        return err_set(err, ERR_CONFLICT, "Variable '%.128s' exists already.", change->name);
    if (how == VARIABLE_UPDATE)
        return variable_not_found(change->name, err);
    return err_refuse(err, ERR_INVALID, REASON_MISSING_MEMBER, "value",
                      "Variable '%.128s' does not exist; a new one needs a value.",
                      change->name);
}

enum err_code variable_keeps_too_many(struct err *err)
{
    return err_refuse(err, ERR_INVALID, REASON_BAD_VALUE, "keep",
                      "Invalid 'keep': at most %d variables can be kept.", VARIABLE_KEEP_LIMIT);
}

/* ---- Results and arguments of tools ---- */

/* Remote tools may have names with other characters, which a reference could not have. */
static void spell_tool(char *ret_name, const char *tool)
{
    size_t length = 0;

    for (; tool[length] && length < NAMED_TOOL_LIMIT; length++)
        ret_name[length] = tool[length];
    for (size_t i = 0; i < length; i++) {
        if (!variable_name_has(ret_name[i]))
            ret_name[i] = '-';
    }
    ret_name[length] = '\0';
}

void variable_names_make(struct variable_names *ret_names, const char *tool)
{
    time_t now = (time_t)(clock_wall_us() / US_PER_SECOND);
    char spelled[NAMED_TOOL_LIMIT + 1];
    char moment[16], random[8];
    struct tm utc;

    spell_tool(spelled, tool);
    gmtime_r(&now, &utc);
    strftime(moment, sizeof(moment), "%Y%m%d%H%M%S", &utc);
    id_random(random, 7);
    for (char *letter = random; *letter; letter++) {
        if (*letter >= 'A' && *letter <= 'Z')
            *letter = (char)(*letter - 'A' + 'a');
    }
    (void)snprintf(ret_names->result, sizeof(ret_names->result), "%s_%s-%s_result", spelled,
                   moment, random);
    (void)snprintf(ret_names->args, sizeof(ret_names->args), "%s_%s-%s_args", spelled, moment,
                   random);
}

static void describe_value(struct buf *text, const json_t *value)
{
    AUTO_FREE char *json = json_is_text(value) ? NULL : json_text(value);
    const char *whole = json ? json : json_string_value(value);
    const char *end = utf8_at(whole, DESCRIBED_VALUE);

    buf_add(text, whole, (size_t)(end - whole));
    if (*end)
        buf_add_text(text, "...");
}

char *variable_describe_call(const char *tool, json_t *args)
{
    struct buf text = {0};
    size_t count = 0;
    const char *key;
    json_t *value;

    buf_addf(&text, "Call %s with args: ", tool);
    json_object_foreach (args, key, value) {
        if (++count > DESCRIBED_COUNT) {
            buf_add_text(&text, ", ...");
            break;
        }
        buf_addf(&text, "%s%.*s=", count > 1 ? ", " : "", (int)utf8_fit(key, DESCRIBED_NAME),
                 key);
        describe_value(&text, value);
    }
    return buf_take(&text);
}

/* The end-to-end tests check markers and sentences. */
#define HINT_BEGIN "\n<!--ToolCallLog:Begin-->\n"
#define HINT_END   "\n<!--ToolCallLog:End-->"

/* Characters that the variable has. */
static size_t kept_length(const struct variable_hint *hint)
{
    return hint->length - hint->lost;
}

static void log_complete(struct buf *text, const struct variable_hint *hint)
{
    if (hint->language == LANGUAGE_CHINESE && hint->lost)
        buf_addf(
            text,
            "[system log] 以上是完整结果（%zu 个字符），其前 %zu 个字符同时保存在变量 `%s` "
            "中。",
            hint->length, kept_length(hint), hint->name);
    else if (hint->language == LANGUAGE_CHINESE)
        buf_addf(text, "[system log] 以上是完整结果（%zu 个字符），同时保存在变量 `%s` 中。",
                 hint->length, hint->name);
    else if (hint->lost)
        buf_addf(text,
                 "[system log] This is the complete result (%zu characters). Its first %zu are "
                 "also kept in the variable `%s`.",
                 hint->length, kept_length(hint), hint->name);
    else
        buf_addf(
            text,
            "[system log] This is the complete result (%zu characters). It is also kept in "
            "the variable `%s`.",
            hint->length, hint->name);
}

static void add_complete(struct buf *text, const struct variable_hint *hint)
{
    log_complete(text, hint);
    buf_addf(text,
             hint->language == LANGUAGE_CHINESE
                 ? "\n[system hint] 无需重复即可引用：`$VAR_REF{{%s}}`。"
                 : "\n[system hint] Pass it on without repeating it: `$VAR_REF{{%s}}`.",
             hint->name);
}

/* What the hint is about, by language. */
static const char *const hinted[][LANGUAGE_COUNT] = {
    [VARIABLE_HINT_RESULT] = {"result", "结果"},
    [VARIABLE_HINT_MESSAGE] = {"message", "消息"},
};

/* Proposes the next piece: not more than is missing, and not more than the variable has. */
static void add_reading(struct buf *text, const struct variable_hint *hint)
{
    size_t missing = hint->length > hint->shown ? hint->length - hint->shown : 0;
    size_t kept = kept_length(hint) > hint->start ? kept_length(hint) - hint->start : 0;
    size_t rest = missing < kept ? missing : kept;
    size_t next = rest < NEXT_READ_LIMIT ? rest : NEXT_READ_LIMIT;
    const char *name = hint->name;

    if (hint->language == LANGUAGE_CHINESE)
        buf_addf(text,
                 "\n[system hint] 无需重复即可引用：`$VAR_REF{{%s}}`。如需继续阅读，请调用 "
                 "`ReadVar`，"
                 "参数 {\"name\":\"%s\",\"start\":%zu,\"length\":%zu}；请先考虑是否确有必要。",
                 name, name, hint->start, next);
    else
        buf_addf(
            text,
            "\n[system hint] Pass it on without repeating it: `$VAR_REF{{%s}}`. To read on, "
            "call `ReadVar` with {\"name\":\"%s\",\"start\":%zu,\"length\":%zu}; consider "
            "first whether you need it.",
            name, name, hint->start, next);
}

static void log_cut(struct buf *text, const struct variable_hint *hint)
{
    const char *what = hinted[hint->what][hint->language];

    if (hint->language == LANGUAGE_CHINESE && hint->lost)
        buf_addf(text,
                 "[system log] %s已截断为 %zu 个字符，完整%s（%zu 个字符）的前 %zu "
                 "个字符保存在变量 `%s` 中。",
                 what, hint->shown, what, hint->length, kept_length(hint), hint->name);
    else if (hint->language == LANGUAGE_CHINESE)
        buf_addf(text,
                 "[system log] %s已截断为 %zu 个字符，完整%s（%zu 个字符）保存在变量 `%s` 中。",
                 what, hint->shown, what, hint->length, hint->name);
    else if (hint->lost)
        buf_addf(
            text,
            "[system log] The %s was cut to %zu characters. Of the full %s (%zu characters) "
            "the first %zu are kept in the variable `%s`.",
            what, hint->shown, what, hint->length, kept_length(hint), hint->name);
    else
        buf_addf(text,
                 "[system log] The %s was cut to %zu characters. The full %s (%zu "
                 "characters) is kept in the variable `%s`.",
                 what, hint->shown, what, hint->length, hint->name);
}

static void add_cut(struct buf *text, const struct variable_hint *hint)
{
    log_cut(text, hint);
    if (!hint->idle)
        add_reading(text, hint);
}

char *variable_hint_text(const struct variable_hint *hint)
{
    struct buf text = {0};

    buf_add_text(&text, HINT_BEGIN);
    if (hint->truncated)
        add_cut(&text, hint);
    else
        add_complete(&text, hint);
    buf_add_text(&text, HINT_END);
    return buf_take(&text);
}
