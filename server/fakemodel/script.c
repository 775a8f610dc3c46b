#include "server/fakemodel/script.h"

#include <assert.h>
#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/json/json_number.h"
#include "core/base/mem.h"
#include "core/base/yaml.h"

/*
 * fakemodel/script.c -- YAML into rules.
 *
 *   text ─▶ core/base/yaml.h: a tree ─▶ read_mapping() with script_keys ─▶ struct script
 *                                          └─▶ a read_fn for each value, which may use another table
 *
 * There is a table for each kind of mapping. A row has the name of a key, the function that reads its
 * value, the field that the value goes to, and an argument such as a range or a list of words. So the
 * tables are the whole format, and a key that is in none of them is an error without further code.
 * Values are read in the order of the table, not of the text: `defaults` must be known before `rules`.
 *
 * An error names the path of the value and its line, because a script is written by hand, and the
 * reader has both at that moment: the path grows and shrinks with the recursion, and every value of
 * the tree knows its line. After an error the path is left as it is; nothing is read any more.
 *
 * Everything that a script points to is in its memory (struct script_memory) and is freed with it. So
 * structs of a script may be copied freely, as the defaults are into each rule, and a script that
 * turns out to be wrong in the middle needs no clean-up of its parts.
 *
 * The tree may be endless, by aliases. enter() counts the values and the depth. Strings need no count:
 * the mappings and lists that hold them are counted, or limited by the size of the text.
 *
 * Decided against: to convert the script to JSON and read that. JSON has no lines, and its types would
 * be YAML's guesses, where here the key decides whether `8` is a number or a text.
 */

extern const char upstream_demo_script[]; /* demo_script.yaml */

/* What a script owns. */
struct script_memory {
    void **blocks;
    size_t count;
    size_t capacity;
    json_t *values; /* an array: holds a reference to each JSON value */
};

struct reader {
    struct script *script; /* owns what is read */
    struct err *err;
    char path[256]; /* of the value that is being read: "rules[0].answer.text" */
    size_t visited; /* values so far, aliases followed */
    int depth;
};

/* Reads a value into the field. `arg` is that of the key's row. */
typedef enum err_code read_fn(struct reader *reader, const struct yaml_value *node,
                              const void *arg, void *field);

/* One key of a mapping. */
struct key {
    const char *name;
    read_fn *read;
    size_t offset;   /* of the field in the struct that the mapping fills in */
    const void *arg; /* for the reader */
};

struct range {
    long min;
    long max;
};

struct word {
    const char *text; /* NULL ends a list */
    int value;
};

/* ---- memory, errors, paths ---- */

/* Makes the block the script's, and returns it. */
static void *keep(struct reader *reader, void *block)
{
    struct script_memory *memory = reader->script->memory;

    if (memory->count == memory->capacity) {
        memory->capacity = memory->capacity ? 2 * memory->capacity : 64;
        memory->blocks = mem_resize(memory->blocks, memory->capacity, sizeof(void *));
    }
    memory->blocks[memory->count++] = block;
    return block;
}

/* The same for a JSON value. Takes the reference. */
static json_t *keep_value(struct reader *reader, json_t *value)
{
    json_array_append_new(reader->script->memory->values, value);
    return value;
}

static enum err_code fail(struct reader *reader, const struct yaml_value *node,
                          const char *format, ...) PRINTF_LIKE(3, 4);
static enum err_code fail(struct reader *reader, const struct yaml_value *node,
                          const char *format, ...)
{
    char text[640];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);

    return err_set(reader->err, ERR_INVALID, "%s: %s (line %zu)",
                   *reader->path ? reader->path : "script", text, node->line);
}

/* Lengthens the path; returns what path_pop() needs. */
static size_t path_push_key(struct reader *reader, const char *key)
{
    size_t length = strlen(reader->path);

    snprintf(reader->path + length, sizeof(reader->path) - length, "%s%.64s", length ? "." : "",
             key);
    return length;
}

static size_t path_push_index(struct reader *reader, size_t index)
{
    size_t length = strlen(reader->path);

    snprintf(reader->path + length, sizeof(reader->path) - length, "[%zu]", index);
    return length;
}

static void path_pop(struct reader *reader, size_t length)
{
    reader->path[length] = '\0';
}

/* ---- mappings ---- */

/* Counts a value and its depth: aliases make a small text a large tree, or an endless one. */
static enum err_code enter(struct reader *reader, const struct yaml_value *node)
{
    if (++reader->visited > SCRIPT_VALUE_LIMIT)
        return err_set(reader->err, ERR_TOO_LARGE, "the script has more than %zu values",
                       SCRIPT_VALUE_LIMIT);
    if (++reader->depth > SCRIPT_DEPTH_LIMIT)
        return fail(reader, node, "nested deeper than %d", SCRIPT_DEPTH_LIMIT);
    return ERR_OK;
}

static void leave(struct reader *reader)
{
    reader->depth--;
}

static const struct key *find_key(const struct key *keys, const char *name)
{
    for (; keys->name; keys++)
        if (!strcmp(keys->name, name))
            return keys;
    return NULL;
}

static enum err_code fail_unknown(struct reader *reader, const struct yaml_value *node,
                                  const struct key *keys)
{
    char known[512] = "";

    for (; keys->name; keys++) {
        size_t length = strlen(known);
        snprintf(known + length, sizeof(known) - length, "%s%s", length ? ", " : "",
                 keys->name);
    }
    return fail(reader, node, "unknown key; there are %s", known);
}

/* Every key is in the table and given once. All keys are checked before a value is read, so that a misspelt
 * key is reported and not the value that it leaves out. */
static enum err_code check_keys(struct reader *reader, const struct yaml_value *node,
                                const struct key *keys)
{
    for (size_t i = 0; i < node->count; i++) {
        const struct yaml_value *name = node->pairs[i].key;
        size_t length;

        if (name->kind != YAML_TEXT)
            return fail(reader, name, "a key must be a word");

        length = path_push_key(reader, name->text);
        if (!find_key(keys, name->text))
            return fail_unknown(reader, name, keys);
        for (size_t before = 0; before < i; before++)
            if (!strcmp(node->pairs[before].key->text, name->text))
                return fail(reader, name, "stands here twice");
        path_pop(reader, length);
    }
    return ERR_OK;
}

/* Reads a mapping into the struct at `base`, in the order of the table. */
static enum err_code read_mapping(struct reader *reader, const struct yaml_value *node,
                                  const struct key *keys, void *base)
{
    enum err_code rc;

    if (node->kind != YAML_MAP)
        return fail(reader, node, "expected keys and values");
    rc = enter(reader, node);
    if (rc)
        return rc;
    rc = check_keys(reader, node, keys);
    for (; !rc && keys->name; keys++) {
        const struct yaml_value *value = yaml_map_get(node, keys->name);
        size_t length;

        if (!value)
            continue;
        length = path_push_key(reader, keys->name);
        rc = keys->read(reader, value, keys->arg, (char *)base + keys->offset);
        if (!rc)
            path_pop(reader, length);
    }
    leave(reader);
    return rc;
}

/* ---- single values ---- */

/* A scalar of any look: `text: 8` is the text "8". */
static enum err_code read_string(struct reader *reader, const struct yaml_value *node,
                                 const void *arg, void *field)
{
    (void)arg;
    if (node->kind != YAML_TEXT)
        return fail(reader, node, "expected a string");
    if (strlen(node->text) != node->length)
        return fail(reader, node, "a string may not hold a NUL");
    *(const char **)field = keep(reader, mem_strdup(node->text));
    return ERR_OK;
}

static bool parse_int(const char *text, long *ret_number)
{
    char *end;
    long number = strtol(text, &end, 10);

    if (!*text || *end || isspace((unsigned char)*text))
        return false;
    *ret_number = number;
    return true;
}

static enum err_code read_int(struct reader *reader, const struct yaml_value *node,
                              const void *arg, void *field)
{
    const struct range *range = arg;
    long number;

    if (node->kind != YAML_TEXT || !parse_int(node->text, &number) || number < range->min ||
        number > range->max)
        return fail(reader, node, "expected a number from %ld to %ld", range->min, range->max);
    *(int *)field = (int)number;
    return ERR_OK;
}

/* One word of a list, as the number that it stands for. The field is an int or an enum. */
static enum err_code read_word(struct reader *reader, const struct yaml_value *node,
                               const void *arg, void *field)
{
    const struct word *words = arg;
    char known[160] = "";

    for (const struct word *word = words; word->text; word++) {
        size_t length = strlen(known);

        if (node->kind == YAML_TEXT && !strcmp(word->text, node->text)) {
            *(int *)field = word->value;
            return ERR_OK;
        }
        snprintf(known + length, sizeof(known) - length, "%s%s", length ? ", " : "",
                 word->text);
    }
    return fail(reader, node, "expected one of %s", known);
}

/* A list of words, whose values are bits. */
static enum err_code read_bits(struct reader *reader, const struct yaml_value *node,
                               const void *arg, void *field)
{
    unsigned bits = 0;

    if (node->kind != YAML_LIST)
        return fail(reader, node, "expected a list");
    for (size_t i = 0; i < node->count; i++) {
        size_t length = path_push_index(reader, i);
        int bit = 0;
        enum err_code rc = read_word(reader, node->items[i], arg, &bit);

        if (rc)
            return rc;
        bits |= (unsigned)bit;
        path_pop(reader, length);
    }
    *(unsigned *)field = bits;
    return ERR_OK;
}

/* A string, or a list of them. */
static enum err_code read_words(struct reader *reader, const struct yaml_value *node,
                                const void *arg, void *field)
{
    struct script_words *words = field;
    size_t count = node->kind == YAML_LIST ? node->count : 1;

    words->items = keep(reader, mem_new_array(const char *, count ? count : 1));
    words->count = count;
    if (node->kind != YAML_LIST)
        return read_string(reader, node, arg, &words->items[0]);

    for (size_t i = 0; i < count; i++) {
        size_t length = path_push_index(reader, i);
        enum err_code rc = read_string(reader, node->items[i], arg, &words->items[i]);

        if (rc)
            return rc;
        path_pop(reader, length);
    }
    return ERR_OK;
}

static enum err_code read_pieces(struct reader *reader, const struct yaml_value *node,
                                 const void *arg, void *field)
{
    struct script_pieces *pieces = field;

    pieces->listed = node->kind == YAML_LIST;
    return read_words(reader, node, arg, &pieces->words);
}

static enum err_code read_json(struct reader *reader, const struct yaml_value *node,
                               json_t **ret_value);

/* The types of YAML's core schema (YAML 1.2, section 10.3), without octal, hexadecimal, infinity and NaN,
 * which JSON has not. Text in quotes is a string. */
static json_t *scalar_json(const struct yaml_value *node)
{
    const char *text = node->text;
    json_t *value = NULL;
    char *end;
    double real;
    long number;

    if (!node->plain)
        return json_stringn(text, node->length);
    if (!*text || !strcmp(text, "null") || !strcmp(text, "~"))
        return json_null();
    if (!strcmp(text, "true") || !strcmp(text, "false"))
        return json_boolean(*text == 't');
    /* What is a number in JSON too may have any size. */
    if (json_parse_exact(text, node->length, &value, NULL) == ERR_OK && json_is_numeric(value))
        return value;
    json_decref(value);
    if (parse_int(text, &number))
        return json_integer(number);
    real = strtod(text, &end);
    if (!*end && strchr("+-.0123456789", *text) && isfinite(real))
        return json_real(real);
    return json_stringn(text, node->length);
}

static enum err_code read_json_list(struct reader *reader, const struct yaml_value *node,
                                    json_t *list)
{
    for (size_t i = 0; i < node->count; i++) {
        json_t *item = NULL;
        enum err_code rc = read_json(reader, node->items[i], &item);

        if (rc)
            return rc;
        json_array_append_new(list, item);
    }
    return ERR_OK;
}

static enum err_code read_json_mapping(struct reader *reader, const struct yaml_value *node,
                                       json_t *object)
{
    for (size_t i = 0; i < node->count; i++) {
        const struct yaml_value *name = node->pairs[i].key;
        json_t *value = NULL;
        enum err_code rc;

        if (name->kind != YAML_TEXT)
            return fail(reader, name, "a key must be a word");
        rc = read_json(reader, node->pairs[i].value, &value);
        if (rc)
            return rc;
        json_object_set_new(object, name->text, value);
    }
    return ERR_OK;
}

/* Any YAML as JSON, for values that are sent or compared as JSON: usage, arguments, bodies of errors. */
static enum err_code read_json(struct reader *reader, const struct yaml_value *node,
                               json_t **ret_value)
{
    json_auto_t *value = NULL;
    enum err_code rc = enter(reader, node);

    if (rc)
        return rc;
    if (node->kind == YAML_TEXT) {
        value = scalar_json(node);
    } else if (node->kind == YAML_LIST) {
        value = json_array();
        rc = read_json_list(reader, node, value);
    } else {
        value = json_object();
        rc = read_json_mapping(reader, node, value);
    }
    leave(reader);
    if (!rc)
        *ret_value = TAKE(value);
    return rc;
}

static enum err_code read_value(struct reader *reader, const struct yaml_value *node,
                                const void *arg, void *field)
{
    json_t *value;
    enum err_code rc = read_json(reader, node, &value);

    (void)arg;
    if (!rc)
        *(json_t **)field = keep_value(reader, value);
    return rc;
}

/* ---- values of the tables ---- */

/* clang-format off */
static const struct range any_count  = {0, INT_MAX};
static const struct range some_count = {1, SCRIPT_REPEAT_LIMIT};
static const struct range delays     = {0, SCRIPT_DELAY_LIMIT};
static const struct range statuses   = {200, 599};

static const struct word answered[] = {{"true", YES}, {"false", NO}, {NULL, 0}};
static const struct word whens[]    = {{"first", WHEN_FIRST}, {"every", WHEN_EVERY}, {"never", WHEN_NEVER}, {NULL, 0}};
static const struct word kinds[]    = {
    {"status", FAULT_STATUS}, {"cut",   FAULT_CUT},   {"stall",  FAULT_STALL}, {"garbage", FAULT_GARBAGE},
    {"html",   FAULT_HTML},   {"error", FAULT_ERROR}, {"no_end", FAULT_NO_END}, {NULL, 0},
};
static const struct word dialects[] = {
    {"crlf",    DIALECT_CRLF},    {"multi_line", DIALECT_MULTI_LINE}, {"no_space", DIALECT_NO_SPACE},
    {"no_done", DIALECT_NO_DONE}, {"no_role",    DIALECT_NO_ROLE},    {"comments", DIALECT_COMMENTS}, {NULL, 0},
};
static const struct word formats[]   = {{"auto", FORMAT_AUTO}, {"json", FORMAT_JSON}, {"sse", FORMAT_SSE}, {NULL, 0}};
static const struct word places[]    = {{"own", USAGE_OWN}, {"last", USAGE_LAST}, {NULL, 0}};
static const struct word arguments[] = {{"string", 0}, {"object", 1}, {NULL, 0}};
/* clang-format on */

static enum err_code read_split(struct reader *reader, const struct yaml_value *node,
                                const void *arg, void *field)
{
    int *split = field;
    long number;

    (void)arg;
    if (node->kind == YAML_TEXT) {
        if (!strcmp(node->text, "word")) {
            *split = SPLIT_WORD;
            return ERR_OK;
        }
        if (!strcmp(node->text, "whole")) {
            *split = SPLIT_WHOLE;
            return ERR_OK;
        }
        if (parse_int(node->text, &number) && number > 0 && number < INT_MAX) {
            *split = (int)number;
            return ERR_OK;
        }
    }
    return fail(reader, node, "expected word, whole or a number of characters");
}

/* A text to match: a word or list that must occur, or {equals: ...} or {contains: ...}. */
static enum err_code read_text(struct reader *reader, const struct yaml_value *node,
                               const void *arg, void *field)
{
    struct script_text *text = field;
    struct forms {
        struct script_words contains;
        struct script_words equals;
    } forms = {0};
    static const struct key keys[] = {
        {"contains", read_words, offsetof(struct forms, contains), NULL},
        {"equals", read_words, offsetof(struct forms, equals), NULL},
        {NULL, NULL, 0, NULL},
    };
    enum err_code rc;

    if (node->kind != YAML_MAP) {
        text->test = TEST_CONTAINS;
        return read_words(reader, node, arg, &text->words);
    }
    rc = read_mapping(reader, node, keys, &forms);
    if (rc)
        return rc;
    if (!forms.contains.items == !forms.equals.items)
        return fail(reader, node, "expected either contains or equals");
    text->test = forms.equals.items ? TEST_EQUALS : TEST_CONTAINS;
    text->words = forms.equals.items ? forms.equals : forms.contains;
    return ERR_OK;
}

/* Names of headers are compared in lower case, as the server records them. */
static enum err_code read_headers(struct reader *reader, const struct yaml_value *node,
                                  const void *arg, void *field)
{
    struct script_match *match = CONTAINER_OF(field, struct script_match, headers);

    if (node->kind != YAML_MAP)
        return fail(reader, node, "expected names and texts");
    match->header_count = node->count;
    match->headers = keep(reader, mem_new_array(struct script_header, match->header_count + 1));

    for (size_t i = 0; i < match->header_count; i++) {
        const struct yaml_value *name = node->pairs[i].key;
        size_t length;
        char *lower;
        enum err_code rc;

        if (name->kind != YAML_TEXT)
            return fail(reader, name, "a key must be a word");
        length = path_push_key(reader, name->text);
        lower = keep(reader, mem_strdup(name->text));
        for (char *c = lower; *c; c++)
            *c = (char)tolower((unsigned char)*c);
        match->headers[i].name = lower;
        rc = read_text(reader, node->pairs[i].value, arg, &match->headers[i].text);
        if (rc)
            return rc;
        path_pop(reader, length);
    }
    return ERR_OK;
}

/* A number of tool results: N, true (at least one), false (none), or {min, max}. */
static enum err_code read_results(struct reader *reader, const struct yaml_value *node,
                                  const void *arg, void *field)
{
    struct script_match *match = CONTAINER_OF(field, struct script_match, min_results);
    static const struct key keys[] = {
        {"min", read_int, offsetof(struct script_match, min_results), &any_count},
        {"max", read_int, offsetof(struct script_match, max_results), &any_count},
        {NULL, NULL, 0, NULL},
    };
    long number;

    (void)arg;
    match->max_results = INT_MAX;
    if (node->kind == YAML_MAP)
        return read_mapping(reader, node, keys, match);
    if (node->kind == YAML_TEXT && !strcmp(node->text, "true")) {
        match->min_results = 1;
        return ERR_OK;
    }
    if (node->kind == YAML_TEXT && !strcmp(node->text, "false")) {
        match->max_results = 0;
        return ERR_OK;
    }
    if (node->kind == YAML_TEXT && parse_int(node->text, &number) && number >= 0 &&
        number < INT_MAX) {
        match->min_results = match->max_results = (int)number;
        return ERR_OK;
    }
    return fail(reader, node, "expected a number, true, false or {min, max}");
}

/* Arguments of a call: a string is sent as it stands, anything else as JSON. */
static enum err_code read_arguments(struct reader *reader, const struct yaml_value *node,
                                    const void *arg, void *field)
{
    struct script_call *call = CONTAINER_OF(field, struct script_call, arguments);

    if (node->kind == YAML_TEXT)
        return read_string(reader, node, arg, &call->raw);
    return read_value(reader, node, arg, field);
}

static enum err_code read_usage(struct reader *reader, const struct yaml_value *node,
                                const void *arg, void *field)
{
    if (node->kind == YAML_TEXT && strcmp(node->text, "auto") && strcmp(node->text, "none"))
        return fail(reader, node, "expected auto, none or the numbers");
    return read_value(reader, node, arg, field);
}

static enum err_code read_list(struct reader *reader, const struct yaml_value *node,
                               const void *arg, void *field)
{
    if (node->kind != YAML_LIST)
        return fail(reader, node, "expected a list");
    return read_value(reader, node, arg, field);
}

/* ---- the format ---- */

static read_fn read_match, read_fault, read_calls, read_answer, read_rules;

/* clang-format off */
#define AT(type, field) offsetof(struct type, field)

static const struct key match_keys[] = {
    {"user",         read_text,    AT(script_match, user),         NULL},
    {"system",       read_text,    AT(script_match, system),       NULL},
    {"tool_output",  read_text,    AT(script_match, tool_output),  NULL},
    {"model",        read_words,   AT(script_match, models),       NULL},
    {"path",         read_words,   AT(script_match, paths),        NULL},
    {"tools",        read_word,    AT(script_match, offers_tools), answered},
    {"tool",         read_words,   AT(script_match, tools),        NULL},
    {"tool_choice",  read_words,   AT(script_match, tool_choice),  NULL},
    {"response_format", read_words, AT(script_match, response_format), NULL},
    {"tool_results", read_results, AT(script_match, min_results),  NULL},
    {"stream",       read_word,    AT(script_match, stream),       answered},
    {"headers",      read_headers, AT(script_match, headers),      NULL},
    {NULL, NULL, 0, NULL},
};

static const struct key call_keys[] = {
    {"name",         read_string,    AT(script_call, name),       NULL},
    {"arguments",    read_arguments, AT(script_call, arguments),  NULL},
    {"arguments_as", read_word,      AT(script_call, as_object),  arguments},
    {"split",        read_split,     AT(script_call, split),      NULL},
    {"id",           read_string,    AT(script_call, id),         NULL},
    {"send_id",      read_word,      AT(script_call, send_id),    whens},
    {"send_index",   read_word,      AT(script_call, send_index), whens},
    {"send_name",    read_word,      AT(script_call, send_name),  whens},
    {NULL, NULL, 0, NULL},
};

static const struct key fault_keys[] = {
    {"kind",        read_word,  AT(script_fault, kind),        kinds},
    {"after",       read_int,   AT(script_fault, after),       &any_count},
    {"status",      read_int,   AT(script_fault, status),      &statuses},
    {"retry_after", read_int,   AT(script_fault, retry_after), &any_count},
    {"body",        read_value, AT(script_fault, body),        NULL},
    {"error",       read_value, AT(script_fault, error),       NULL},
    {NULL, NULL, 0, NULL},
};

static const struct key answer_keys[] = {
    {"text",            read_pieces, AT(script_answer, text),            NULL},
    {"reasoning",       read_pieces, AT(script_answer, reasoning),       NULL},
    {"reasoning_field", read_string, AT(script_answer, reasoning_field), NULL},
    {"refusal",         read_pieces, AT(script_answer, refusal),         NULL},
    {"summary",         read_pieces, AT(script_answer, summary),         NULL},
    {"annotations",     read_list,   AT(script_answer, annotations),     NULL},
    {"encrypted_reasoning", read_string, AT(script_answer, encrypted_reasoning), NULL},
    {"split",           read_split,  AT(script_answer, split),           NULL},
    {"repeat",          read_int,    AT(script_answer, repeat),          &some_count},
    {"events",          read_words,  AT(script_answer, events),          NULL},
    {"tool_calls",      read_calls,  AT(script_answer, calls),           NULL},
    {"finish_reason",   read_string, AT(script_answer, finish_reason),   NULL},
    {"usage",           read_usage,  AT(script_answer, usage),           NULL},
    {"usage_in",        read_word,   AT(script_answer, usage_place),     places},
    {"format",          read_word,   AT(script_answer, format),          formats},
    {"delay_ms",        read_int,    AT(script_answer, delay_ms),        &delays},
    {"piece_delay_ms",  read_int,    AT(script_answer, piece_delay_ms),  &delays},
    {"dialect",         read_bits,   AT(script_answer, dialect),         dialects},
    {"fault",           read_fault,  AT(script_answer, fault),           NULL},
    {NULL, NULL, 0, NULL},
};

static const struct key rule_keys[] = {
    {"name",   read_string, AT(script_rule, name),   NULL},
    {"skip",   read_int,    AT(script_rule, skip),   &any_count},
    {"times",  read_int,    AT(script_rule, times),  &some_count},
    {"match",  read_match,  AT(script_rule, match),  NULL},
    {"answer", read_answer, AT(script_rule, answer), NULL},
    {NULL, NULL, 0, NULL},
};

/* `defaults` stands before `rules`, which copy them. */
static const struct key script_keys[] = {
    {"models",   read_words,  AT(script, models),   NULL},
    {"api_key",  read_string, AT(script, api_key),  NULL},
    {"defaults", read_answer, AT(script, defaults), NULL},
    {"rules",    read_rules,  AT(script, rules),    NULL},
    {NULL, NULL, 0, NULL},
};
/* clang-format on */

static enum err_code read_match(struct reader *reader, const struct yaml_value *node,
                                const void *arg, void *field)
{
    (void)arg;
    return read_mapping(reader, node, match_keys, field);
}

static enum err_code read_answer(struct reader *reader, const struct yaml_value *node,
                                 const void *arg, void *field)
{
    (void)arg;
    return read_mapping(reader, node, answer_keys, field);
}

/* A rule with a fault of its own takes nothing of the fault in `defaults`. */
static enum err_code read_fault(struct reader *reader, const struct yaml_value *node,
                                const void *arg, void *field)
{
    struct script_fault *fault = field;
    enum err_code rc;

    (void)arg;
    *fault = (struct script_fault){.after = -1, .retry_after = -1};
    rc = read_mapping(reader, node, fault_keys, fault);
    if (!rc && fault->kind == FAULT_NONE)
        return fail(reader, node, "a fault needs its kind");
    return rc;
}

static enum err_code read_calls(struct reader *reader, const struct yaml_value *node,
                                const void *arg, void *field)
{
    struct script_answer *answer = CONTAINER_OF(field, struct script_answer, calls);

    (void)arg;
    if (node->kind != YAML_LIST)
        return fail(reader, node, "expected a list");
    answer->call_count = node->count;
    answer->calls = keep(reader, mem_new_array(struct script_call, answer->call_count + 1));

    for (size_t i = 0; i < answer->call_count; i++) {
        struct script_call *call = &answer->calls[i];
        size_t length = path_push_index(reader, i);
        enum err_code rc;

        call->send_index = WHEN_EVERY;
        call->split = SCRIPT_ARGUMENTS_SPLIT;
        rc = read_mapping(reader, node->items[i], call_keys, call);
        if (rc)
            return rc;
        if (!call->name)
            return fail(reader, node->items[i], "a tool call needs a name");
        path_pop(reader, length);
    }
    return ERR_OK;
}

/* Each rule begins with a copy of the default answer. Its own keys then replace single fields. */
static enum err_code read_rules(struct reader *reader, const struct yaml_value *node,
                                const void *arg, void *field)
{
    struct script *script = CONTAINER_OF(field, struct script, rules);

    (void)arg;
    if (node->kind != YAML_LIST)
        return fail(reader, node, "expected a list");
    script->rule_count = node->count;
    script->rules = keep(reader, mem_new_array(struct script_rule, script->rule_count + 1));

    for (size_t i = 0; i < script->rule_count; i++) {
        struct script_rule *rule = &script->rules[i];
        size_t length = path_push_index(reader, i);
        enum err_code rc;

        rule->match.max_results = -1;
        rule->answer = script->defaults;
        rc = read_mapping(reader, node->items[i], rule_keys, rule);
        if (rc)
            return rc;
        path_pop(reader, length);
    }
    return ERR_OK;
}

/* ---- the script ---- */

static enum err_code read_tree(struct script *script, const struct yaml_tree *tree,
                               struct err *err)
{
    struct reader reader = {.script = script, .err = err};
    const struct yaml_value *root = yaml_tree_root(tree);
    enum err_code rc;

    if (!root)
        return err_set(err, ERR_INVALID, "the script is empty");
    rc = read_mapping(&reader, root, script_keys, script);
    if (!rc && !script->rules)
        return fail(&reader, root, "there must be rules");
    return rc;
}

static struct script *script_new(void)
{
    struct script *script = mem_new(struct script);

    script->memory = mem_new(struct script_memory);
    script->memory->values = json_array();
    script->defaults.repeat = 1;
    script->defaults.fault = (struct script_fault){.after = -1, .retry_after = -1};
    return script;
}

static enum err_code parse_yaml(struct script *script, const char *text, size_t length,
                                struct err *err)
{
    struct yaml_tree *tree = NULL;
    struct err why = {0};
    size_t line = 0;
    enum err_code rc = yaml_tree_parse(text, length, &tree, &line, &why);

    if (rc)
        return err_set(err, rc, "script: not YAML: %s (line %zu)", why.text, line);
    rc = read_tree(script, tree, err);
    yaml_tree_free(tree);
    return rc;
}

enum err_code script_parse(const char *text, size_t length, struct script **ret_script,
                           struct err *err)
{
    struct script *script;
    enum err_code rc;

    if (length > SCRIPT_SIZE_LIMIT)
        return err_set(err, ERR_TOO_LARGE, "the script is larger than %zu bytes",
                       SCRIPT_SIZE_LIMIT);

    script = script_new();
    rc = parse_yaml(script, text, length, err);
    if (rc) {
        script_free(script);
        return rc;
    }
    *ret_script = script;
    return ERR_OK;
}

struct script *script_demo(void)
{
    struct script *script = NULL;
    struct err err;
    enum err_code rc =
        script_parse(upstream_demo_script, strlen(upstream_demo_script), &script, &err);

    assert(!rc);
    return script;
}

void script_free(struct script *script)
{
    if (!script)
        return;
    for (size_t i = 0; i < script->memory->count; i++)
        free(script->memory->blocks[i]);
    free(script->memory->blocks);
    json_decref(script->memory->values);
    free(script->memory);
    free(script);
}
