/*
 * mcp_header.c -- marks in schemas, and values as headers.
 *
 * A mark counts only where a chain of "properties" leads to it from the root, because only there does it
 * say which argument it means. A mark at any other place makes the tool invalid. To find those, the whole
 * schema is walked, and there a key is not always a keyword: below "properties" and its like keys are names,
 * and below "const" and its like there is data. A property may well be called x-mcp-header.
 *
 * A stranger writes the schema, a model writes the value. So the name must be a token, and a value with
 * anything but visible ASCII is encoded: neither can end its line.
 */

#include "core/mcp/mcp_header.h"

#include <math.h>
#include <nettle/base64.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/compiler.h"
#include "core/base/json.h"
#include "core/base/json/json_number.h"
#include "core/base/mem.h"

#define MARK         "x-mcp-header"
#define SAFE_INTEGER 9007199254740991 /* 2^53 - 1 */

#define TOKEN_CHARACTERS                                  \
    "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz" \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

bool mcp_is_token(const char *text)
{
    return *text && strspn(text, TOKEN_CHARACTERS) == strlen(text);
}

/* ---- Values ---- */

static bool is_plain(const char *text)
{
    static const char begin[] = "=?base64?", end[] = "?=";
    size_t length = strlen(text);

    if (!length)
        return true;
    for (const char *at = text; *at; at++) {
        if (*at < ' ' || *at > '~')
            return false;
    }
    if (*text == ' ' || text[length - 1] == ' ')
        return false;
    return strncmp(text, begin, strlen(begin)) != 0 || length < strlen(begin) + strlen(end) ||
           strcmp(text + length - strlen(end), end) != 0;
}

char *mcp_header_value(const char *text)
{
    size_t length = strlen(text);
    AUTO_FREE char *encoded = NULL;

    if (is_plain(text))
        return mem_strdup(text);
    encoded = mem_new_array(char, BASE64_ENCODE_RAW_LENGTH(length) + 1);
    base64_encode_raw(encoded, length, (const uint8_t *)text);
    return mem_printf("=?base64?%s?=", encoded);
}

/* ---- Marks ---- */

/* Integers are numbers of JSON without a fraction: 42.0 is one. */
static bool is_safe_integer(const json_t *value)
{
    double number = json_double(value);

    return json_is_numeric(value) && number == floor(number) &&
           fabs(number) <= (double)SAFE_INTEGER;
}

/* What a mark may stand at. A list of types, or none, could be anything. */
static bool is_markable(const json_t *schema)
{
    const char *type = json_get_string(schema, "type", "");

    return strcmp(type, "string") == 0 || strcmp(type, "integer") == 0 ||
           strcmp(type, "boolean") == 0;
}

static bool is_fit_mark(const json_t *schema)
{
    const char *name = json_get_string(schema, MARK, "");

    return mcp_is_token(name) && strlen(name) <= MCP_PARAM_NAME_LIMIT && is_markable(schema);
}

static bool is_one_of(const char *key, const char *const words[])
{
    while (*words && strcmp(*words, key) != 0)
        words++;
    return *words;
}

static const char *const maps[] = {"properties",  "patternProperties", "$defs",
                                   "definitions", "dependentSchemas",  NULL};
static const char *const data[] = {"const", "enum", "default", "examples", NULL};

enum place {
    PLACE_REACHED, /* a schema to which "properties" lead */
    PLACE_ELSEWHERE,
};

/* Collects the names of marks; false at one that breaks a rule. */
static bool walk(const json_t *schema, enum place place, json_t *names);

static bool walk_map(const json_t *map, enum place place, json_t *names)
{
    const char *key;
    json_t *schema;

    json_object_foreach ((json_t *)(uintptr_t)map, key, schema) {
        if (!walk(schema, place, names))
            return false;
    }
    return true;
}

static bool take_mark(const json_t *schema, enum place place, json_t *names)
{
    char folded[MCP_PARAM_NAME_LIMIT + 1] = "";

    if (place != PLACE_REACHED || !is_fit_mark(schema))
        return false;
    (void)snprintf(folded, sizeof(folded), "%s", json_get_string(schema, MARK, ""));
    for (char *at = folded; *at; at++)
        *at = (char)(*at >= 'A' && *at <= 'Z' ? *at + ('a' - 'A') : *at);
    if (json_object_get(names, folded) || json_object_size(names) == MCP_PARAM_LIMIT)
        return false;
    json_object_set_new(names, folded, json_true());
    return true;
}

static bool walk(const json_t *schema, enum place place, json_t *names)
{
    const char *key;
    size_t i;
    json_t *value;

    json_array_foreach (schema, i, value) {
        if (!walk(value, PLACE_ELSEWHERE, names))
            return false;
    }
    json_object_foreach ((json_t *)(uintptr_t)schema, key, value) {
        bool ok = true;

        if (strcmp(key, MARK) == 0)
            ok = take_mark(schema, place, names);
        else if (is_one_of(key, maps))
            ok = walk_map(value, strcmp(key, "properties") == 0 ? place : PLACE_ELSEWHERE,
                          names);
        else if (!is_one_of(key, data))
            ok = walk(value, PLACE_ELSEWHERE, names);
        if (!ok)
            return false;
    }
    return true;
}

bool mcp_marks_are_fit(const json_t *schema)
{
    json_auto_t *names = json_object();

    /* The root is the object of all arguments, so a mark there means none of them. */
    if (json_object_get(schema, MARK))
        return false;
    return walk(schema, PLACE_REACHED, names);
}

/* ---- Lines ---- */

/* NULL when the specification has no header for the value. The caller frees. */
static char *value_of(const json_t *argument)
{
    if (json_is_boolean(argument))
        return mem_strdup(json_is_true(argument) ? "true" : "false");
    if (is_safe_integer(argument))
        return mem_printf("%lld", (long long)json_double(argument));
    return json_is_text(argument) ? mcp_header_value(json_string_value(argument)) : NULL;
}

static void add_line(const json_t *schema, const json_t *argument, json_t *lines)
{
    AUTO_FREE char *value = value_of(argument);
    AUTO_FREE char *line = NULL;

    if (!value || strlen(value) > MCP_PARAM_VALUE_LIMIT || !is_fit_mark(schema) ||
        json_array_size(lines) == MCP_PARAM_LIMIT)
        return;
    line = mem_printf("Mcp-Param-%s: %s", json_get_string(schema, MARK, ""), value);
    json_array_append_new(lines, json_string(line));
}

static void add_lines(const json_t *schema, const json_t *arguments, json_t *lines)
{
    const char *key;
    json_t *property;

    json_object_foreach (json_object_get(schema, "properties"), key, property) {
        const json_t *argument = json_object_get(arguments, key);

        if (json_object_get(property, MARK))
            add_line(property, argument, lines);
        if (json_is_object(argument))
            add_lines(property, argument, lines);
    }
}

json_t *mcp_param_lines(const json_t *schema, const json_t *arguments)
{
    json_t *lines = json_array();

    add_lines(schema, arguments, lines);
    return lines;
}
