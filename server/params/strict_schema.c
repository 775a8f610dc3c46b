#include "server/params/strict_schema.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/compiler.h"
#include "core/base/json.h"
#include "server/complaint.h"

/*
 * With strict: true a model is held to a JSON Schema while it writes, token by token. That only works
 * for a part of JSON Schema: every object closed and complete, no combination of schemas but anyOf.
 * OpenAI refuses other schemas when the request comes, and so must this server, because the upstream
 * may not: some servers ignore what they cannot enforce, and the client believes that its schema holds.
 *
 * The check walks the schema depth first and stops at the first broken rule, as OpenAI does. Messages
 * name the place as a tuple in Python's notation, ('properties', 'unit'): that is OpenAI's text, and
 * clients have it in their logs. The way to the current schema is a linked list on the stack, so that a
 * valid schema, the usual case, builds no strings at all.
 *
 * $ref is accepted and not followed: its targets are in $defs or definitions, which are walked once.
 * Following would visit a recursive schema without end.
 */

/* The path from the root to the current schema, innermost step first. The recursion is bounded: a schema
 * comes from json_parse(), which enforces JSON_DEPTH_LIMIT. */
struct place {
    const struct place *outer;
    const char *step;
};

struct check {
    const struct schema_subject *subject;
    struct err *err;
};

/* Keywords that OpenAI's strict mode does not support. */
static const char *const forbidden[] = {"allOf",
                                        "oneOf",
                                        "not",
                                        "if",
                                        "then",
                                        "else",
                                        "dependentRequired",
                                        "dependentSchemas",
                                        "patternProperties",
                                        "unevaluatedProperties"};

static enum err_code check_schema(const struct check *check, const struct place *place,
                                  const json_t *schema);

static void add_steps(struct buf *buf, const struct place *place)
{
    if (!place->outer)
        return;
    add_steps(buf, place->outer);
    if (place->outer->outer)
        buf_add_text(buf, ", ");
    buf_addf(buf, "'%s'", place->step);
}

/* ('properties', 'a'). In Python a tuple of one element has a comma: ('items',). */
static void add_context(struct buf *buf, const struct place *place)
{
    buf_add_char(buf, '(');
    add_steps(buf, place);
    if (place->outer && !place->outer->outer)
        buf_add_char(buf, ',');
    buf_add_char(buf, ')');
}

static enum err_code complain(const struct check *check, const struct place *place,
                              const char *what)
{
    const struct schema_subject *subject = check->subject;
    AUTO_BUF context = {0};

    add_context(&context, place);
    (void)err_invalid(check->err, subject->api_code, subject->param,
                      "Invalid schema for %s '%s': In context=%s, %s", subject->kind,
                      subject->name, context.data, what);
    /* The message quotes names of the client's properties: it must stay one line. */
    for (char *c = check->err ? check->err->text : NULL; c && *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7F)
            *c = ' ';
    return ERR_INVALID;
}

/* "type" is this type, or a list that contains it: ["object", "null"]. */
static bool has_type(const json_t *schema, const char *type)
{
    const json_t *value = json_object_get(schema, "type");

    return strcmp(json_get_string(schema, "type", ""), type) == 0 || json_list_has(value, type);
}

static enum err_code check_required(const struct check *check, const struct place *place,
                                    const json_t *schema)
{
    const json_t *required = json_object_get(schema, "required");
    json_t *properties = json_object_get(schema, "properties");
    AUTO_BUF what = {0};
    const char *key;
    json_t *value;

    json_object_foreach (properties, key, value) {
        if (json_list_has(required, key))
            continue;
        buf_addf(&what,
                 "'required' is required to be supplied and to be an array including every key "
                 "in properties. Missing '%s'.",
                 key);
        return complain(check, place, what.data);
    }
    return ERR_OK;
}

static enum err_code check_object(const struct check *check, const struct place *place,
                                  const json_t *schema)
{
    if (!json_is_false(json_object_get(schema, "additionalProperties")))
        return complain(check, place,
                        "'additionalProperties' is required to be supplied and to be false.");
    return check_required(check, place, schema);
}

/* Each schema in an object of schemas: properties, $defs, definitions. */
static enum err_code check_members(const struct check *check, const struct place *place,
                                   const json_t *schema, const char *key)
{
    const struct place outer = {.outer = place, .step = key};
    json_t *members = json_object_get(schema, key);
    const char *name;
    json_t *member;

    json_object_foreach (members, name, member) {
        const struct place inner = {.outer = &outer, .step = name};
        enum err_code rc = check_schema(check, &inner, member);

        if (rc)
            return rc;
    }
    return ERR_OK;
}

static enum err_code check_choices(const struct check *check, const struct place *place,
                                   const json_t *schema)
{
    const struct place outer = {.outer = place, .step = "anyOf"};
    const json_t *choices = json_object_get(schema, "anyOf");
    size_t i;
    json_t *choice;

    json_array_foreach (choices, i, choice) {
        char index[24];
        const struct place inner = {.outer = &outer, .step = index};
        enum err_code rc;

        (void)snprintf(index, sizeof(index), "%zu", i);
        rc = check_schema(check, &inner, choice);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

static enum err_code check_items(const struct check *check, const struct place *place,
                                 const json_t *schema)
{
    const struct place inner = {.outer = place, .step = "items"};
    const json_t *items = json_object_get(schema, "items");

    if (items)
        return check_schema(check, &inner, items);
    if (has_type(schema, "array"))
        return complain(check, place, "array schema missing items.");
    return ERR_OK;
}

static enum err_code check_keywords(const struct check *check, const struct place *place,
                                    const json_t *schema)
{
    static const char *const kinds[] = {"type", "anyOf", "$ref", "enum", "const"};
    AUTO_BUF what = {0};

    for (size_t i = 0; i < COUNT_OF(forbidden); i++) {
        if (json_object_get(schema, forbidden[i])) {
            buf_addf(&what, "'%s' is not permitted.", forbidden[i]);
            return complain(check, place, what.data);
        }
    }
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (json_object_get(schema, kinds[i]))
            return ERR_OK;
    return complain(check, place, "schema must have a 'type' key.");
}

static enum err_code check_schema(const struct check *check, const struct place *place,
                                  const json_t *schema)
{
    enum err_code rc;

    if (!json_is_object(schema))
        return complain(check, place, "schema must be an object.");
    /* The order decides which of several mistakes is reported. */
    rc = check_keywords(check, place, schema);
    if (!rc && has_type(schema, "object"))
        rc = check_object(check, place, schema);
    if (!rc)
        rc = check_members(check, place, schema, "properties");
    if (!rc)
        rc = check_items(check, place, schema);
    if (!rc)
        rc = check_choices(check, place, schema);
    if (!rc)
        rc = check_members(check, place, schema, "$defs");
    if (!rc)
        rc = check_members(check, place, schema, "definitions");
    return rc;
}

static enum err_code not_an_object(const json_t *schema, const struct schema_subject *subject,
                                   struct err *err)
{
    return err_invalid(err, subject->api_code, subject->param,
                       "Invalid schema for %s '%s': schema must be a JSON Schema of 'type: "
                       "\"object\"', got 'type: \"%s\"'.",
                       subject->kind, subject->name, json_get_string(schema, "type", "None"));
}

enum err_code function_schema_check(const json_t *schema, const struct schema_subject *subject,
                                    struct err *err)
{
    if (json_object_size(schema) == 0 || has_type(schema, "object"))
        return ERR_OK;
    return not_an_object(schema, subject, err);
}

enum err_code strict_schema_check(const json_t *schema, const struct schema_subject *subject,
                                  struct err *err)
{
    const struct check check = {.subject = subject, .err = err};
    const struct place root = {0};

    if (!has_type(schema, "object"))
        return not_an_object(schema, subject, err);
    return check_schema(&check, &root, schema);
}
