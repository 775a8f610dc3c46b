/*
 * schema.c -- walks a schema and a value together, and collects the issues.
 *
 *   fits()            one schema on one value: limits, true and false
 *   fits_schema()     $ref
 *   check_keywords()  every keyword that the schema has, by the type of the value
 *
 * All issues are collected, not only the first, because a model that sees all of them corrects all of them
 * in one turn. That is why results are combined with `check(...) && ok` and not the other way round.
 *
 * anyOf, oneOf, not, if and contains try schemas quietly: what fails there is no issue of its own.
 *
 * Schemas come from clients and from remote servers, and a schema is a program: $ref can loop, two branches
 * that refer to the same schema double the work with each level, a pattern backtracks. So there are limits on depth, on
 * steps, and on processor time where the check runs on a loop. A check that reaches a limit has failed, whatever `not`
 * would make of it. `gave_up` carries that to the end, past every quiet attempt.
 *
 * Nothing is compiled in advance, because a schema here is applied to a few values only.
 *
 * tests/unit/core/tool/test_schema_suite.c runs the official test suite.
 */

#include "core/tool/schema.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/json/json_number.h"
#include "core/base/json/json_pointer.h"
#include "core/base/mem.h"
#include "core/base/regex.h"
#include "core/base/utf8.h"
#include "core/tool/canonical.h"
#include "core/tool/schema_internal.h"

/* Characters of a value that an issue shows. */
#define SHOWN_LIMIT 80

struct check {
    const json_t *root;
    struct schema_watch watch;
    bool seventh; /* draft 7: $ref hides what stands beside it */
    size_t depth;
    size_t steps;
    bool gave_up; /* a limit was reached: the value does not fit, even inside "not" */
    size_t issues;
    struct buf path; /* of the value that is being checked */
    struct buf *out; /* for issues; NULL during a quiet attempt */
};

static bool fits(struct check *check, const json_t *schema, const json_t *value);

/* True when the time is over, and from then on. */
static bool is_late(struct check *check)
{
    check->gave_up = check->gave_up || !schema_time_left(&check->watch);
    return check->gave_up;
}

/* ---- Issues ---- */

static bool fail(struct check *check, const char *format, ...) PRINTF_LIKE(2, 3);

/* Always false, for the caller to return. */
static bool fail(struct check *check, const char *format, ...)
{
    char text[512];
    va_list list;

    if (!check->out || check->issues++ >= SCHEMA_ISSUE_LIMIT)
        return false;
    va_start(list, format);
    (void)vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    buf_add_text(check->out, check->out->length ? "\n- " : "- ");
    if (check->path.length) {
        buf_add(check->out, check->path.data, check->path.length);
        buf_add_text(check->out, ": ");
    }
    buf_add_text(check->out, text);
    return false;
}

/* Adds a member to the path. Returns the former length, for leave(). */
static size_t enter(struct check *check, const char *name)
{
    size_t before = check->path.length;

    if (before)
        buf_add_char(&check->path, '.');
    buf_add_text(&check->path, name);
    return before;
}

static size_t enter_index(struct check *check, size_t index)
{
    char name[24];

    (void)snprintf(name, sizeof(name), "%zu", index);
    return enter(check, name);
}

static void leave(struct check *check, size_t before)
{
    check->path.length = before;
    if (check->path.data)
        check->path.data[before] = '\0';
}

/* An attempt: its failure is no issue. */
static bool fits_quietly(struct check *check, const json_t *schema, const json_t *value)
{
    struct buf *out = check->out;
    bool result;

    check->out = NULL;
    result = fits(check, schema, value);
    check->out = out;
    return result;
}

/* ---- Values ---- */

static const char *type_of(const json_t *value)
{
    if (json_is_written(value))
        return canonical_is_whole(value) ? "integer" : "number";
    switch (json_typeof(value)) {
    case JSON_OBJECT: return "object";
    case JSON_ARRAY: return "array";
    case JSON_STRING: return "string";
    case JSON_INTEGER: return "integer";
    case JSON_REAL: return "number";
    case JSON_TRUE:
    case JSON_FALSE: return "boolean";
    case JSON_NULL: break;
    }
    return "null";
}

static bool is_of_type(const json_t *value, const char *type)
{
    if (strcmp(type, "number") == 0)
        return json_is_numeric(value);
    if (strcmp(type, "integer") == 0)
        return canonical_is_whole(value);
    return strcmp(type, type_of(value)) == 0;
}

/* Text of a value for an issue, cut where it is long. */
static char *shown(const json_t *value)
{
    char *text = json_text(value);

    text[utf8_fit(text, SHOWN_LIMIT)] = '\0';
    return text;
}

/* ---- Any value ---- */

static bool check_type(struct check *check, const json_t *wanted, const json_t *value)
{
    AUTO_FREE char *text = NULL;

    if (json_is_string(wanted))
        return is_of_type(value, json_string_value(wanted)) ||
               fail(check, "expected %s, received %s", json_string_value(wanted),
                    type_of(value));
    for (size_t i = 0; i < json_array_size(wanted); i++) {
        const char *type = json_string_value(json_array_get(wanted, i));

        if (type && is_of_type(value, type))
            return true;
    }
    text = shown(wanted);
    return fail(check, "expected one of %s, received %s", text, type_of(value));
}

static bool check_enum(struct check *check, const json_t *wanted, const json_t *value)
{
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *seen = NULL;

    for (size_t i = 0; i < json_array_size(wanted) && !is_late(check); i++) {
        if (canonical_equal(json_array_get(wanted, i), value))
            return true;
    }
    text = shown(wanted);
    seen = shown(value);
    return fail(check, "expected one of %s, received %s", text, seen);
}

static bool check_const(struct check *check, const json_t *wanted, const json_t *value)
{
    AUTO_FREE char *text = shown(wanted);
    AUTO_FREE char *seen = shown(value);

    return canonical_equal(wanted, value) ||
           fail(check, "expected %s, received %s", text, seen);
}

static bool check_all_of(struct check *check, const json_t *schemas, const json_t *value)
{
    bool ok = true;

    for (size_t i = 0; i < json_array_size(schemas); i++)
        ok = fits(check, json_array_get(schemas, i), value) && ok;
    return ok;
}

static size_t count_fitting(struct check *check, const json_t *schemas, const json_t *value,
                            size_t enough)
{
    size_t count = 0;

    for (size_t i = 0; i < json_array_size(schemas) && count < enough; i++)
        count += fits_quietly(check, json_array_get(schemas, i), value);
    return count;
}

static bool check_any_of(struct check *check, const json_t *schemas, const json_t *value)
{
    return count_fitting(check, schemas, value, 1) ||
           fail(check, "fits none of what is allowed");
}

static bool check_one_of(struct check *check, const json_t *schemas, const json_t *value)
{
    size_t count = count_fitting(check, schemas, value, 2);

    return count == 1 || fail(check, count ? "fits more than one of what is allowed"
                                           : "fits none of what is allowed");
}

static bool check_not(struct check *check, const json_t *schema, const json_t *value)
{
    return !fits_quietly(check, schema, value) || fail(check, "is not allowed");
}

static bool check_condition(struct check *check, const json_t *schema, const json_t *value)
{
    const json_t *condition = json_object_get(schema, "if");
    const json_t *then;

    if (!condition)
        return true;
    then = json_object_get(schema, fits_quietly(check, condition, value) ? "then" : "else");
    return !then || fits(check, then, value);
}

/* ---- $ref ---- */

static bool check_ref(struct check *check, const char *ref, const json_t *value)
{
    const json_t *schema = json_find_ref(check->root, ref);

    if (!schema)
        return fail(check, "cannot be checked: the schema refers to %.100s, which is not in it",
                    ref);
    return fits(check, schema, value);
}

/* ---- Numbers ---- */

static int compare(const json_t *a, const json_t *b)
{
    double left = json_double(a), right = json_double(b);

    if (json_is_integer(a) && json_is_integer(b))
        return (json_integer_value(a) > json_integer_value(b)) -
               (json_integer_value(a) < json_integer_value(b));
    return (left > right) - (left < right);
}

static bool is_multiple(const json_t *value, const json_t *step)
{
    double quotient = json_double(value) / json_double(step);

    /* Integers exactly. A step of 0 is invalid and ignored; INT64_MIN % -1 would trap. */
    if (json_is_integer(value) && json_is_integer(step))
        return json_integer_value(step) == 0 || json_integer_value(step) == -1 ||
               json_integer_value(value) % json_integer_value(step) == 0;
    /* 0.3 is a multiple of 0.1 for people, though not for doubles: hence the tolerance. */
    return isfinite(quotient) &&
           fabs(quotient - round(quotient)) <= 1e-9 * fmax(1, fabs(quotient)) &&
           (fabs(quotient) < 1e15 || fmod(json_double(value), json_double(step)) == 0);
}

/* Keywords that bound a number. */
static const struct bound {
    const char *keyword;
    int sign;
    bool or_equal;
    const char *words;
} bounds[] = {
    {"minimum", 1, true, "at least"},
    {"maximum", -1, true, "at most"},
    {"exclusiveMinimum", 1, false, "more than"},
    {"exclusiveMaximum", -1, false, "less than"},
};

static bool check_number(struct check *check, const json_t *schema, const json_t *value)
{
    const json_t *step = json_object_get(schema, "multipleOf");
    bool ok = true;

    for (size_t i = 0; i < COUNT_OF(bounds); i++) {
        const json_t *bound = json_object_get(schema, bounds[i].keyword);
        int order = json_is_numeric(bound) ? compare(value, bound) * bounds[i].sign : 1;

        if (order < 0 || (order == 0 && !bounds[i].or_equal)) {
            AUTO_FREE char *text = shown(bound);

            ok = fail(check, "must be %s %s", bounds[i].words, text);
        }
    }
    if (json_is_numeric(step) && !is_multiple(value, step)) {
        AUTO_FREE char *text = shown(step);

        ok = fail(check, "must be a multiple of %s", text);
    }
    return ok;
}

/* ---- Sizes, of text, arrays and objects alike ---- */

static bool check_size(struct check *check, const json_t *schema, const char *minimum,
                       const char *maximum, size_t size, const char *what)
{
    const json_t *least = json_object_get(schema, minimum);
    const json_t *most = json_object_get(schema, maximum);

    if (json_is_numeric(least) && (double)size < json_double(least))
        return fail(check, "must have at least %.0f %s", json_double(least), what);
    if (json_is_numeric(most) && (double)size > json_double(most))
        return fail(check, "must have at most %.0f %s", json_double(most), what);
    return true;
}

/* ---- Text ---- */

/* A pattern that cannot be compiled, or costs too much, matches no text. */
static bool matches(struct check *check, const char *pattern, const char *text, size_t length)
{
    struct regex_match match;
    struct regex_scan *scan;
    struct regex *regex;
    enum err_code rc;

    if (is_late(check)) /* after one expensive pattern no other is tried */
        return false;
    rc = regex_compile(pattern, strlen(pattern), 0, &regex, NULL);
    if (!rc) {
        scan = regex_scan_new(regex, text, length, REGEX_STEP_LIMIT);
        regex_scan_hurry(scan, schema_time_left(&check->watch));
        rc = regex_scan_next(scan, &match, NULL);
        regex_scan_free(scan);
        regex_free(regex);
    }
    if (rc && rc != ERR_NOT_FOUND)
        check->gave_up = true;
    return !rc;
}

static bool check_string(struct check *check, const json_t *schema, const json_t *value)
{
    const char *pattern = json_get_string(schema, "pattern", NULL);
    const char *text = json_string_value(value);
    size_t length = json_string_length(value);
    bool ok = check_size(check, schema, "minLength", "maxLength", utf8_count(text, length),
                         "characters");

    if (pattern && !matches(check, pattern, text, length))
        ok = check->gave_up ? fail(check, "cannot be checked against %.100s", pattern)
                            : fail(check, "must match %.100s", pattern);
    return ok;
}

/* ---- Arrays ---- */

static bool check_element(struct check *check, const json_t *schema, const json_t *array,
                          size_t i)
{
    size_t before = enter_index(check, i);
    bool ok = fits(check, schema, json_array_get(array, i));

    leave(check, before);
    return ok;
}

/* The first elements have a schema each, all others share one. Draft 7 writes both into "items". */
static bool check_items(struct check *check, const json_t *schema, const json_t *value)
{
    const json_t *items = json_object_get(schema, "items");
    const json_t *first = json_object_get(schema, "prefixItems");
    const json_t *rest = items;
    bool ok = true;

    if (json_is_array(items)) {
        first = items;
        rest = json_object_get(schema, "additionalItems");
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *own = json_array_get(first, i);

        if (own || rest)
            ok = check_element(check, own ? own : rest, value, i) && ok;
    }
    return ok;
}

static bool check_contains(struct check *check, const json_t *schema, const json_t *value)
{
    const json_t *wanted = json_object_get(schema, "contains");
    json_int_t least = json_get_int(schema, "minContains", 1);
    json_int_t most = json_get_int(schema, "maxContains", -1);
    json_int_t count = 0;

    if (!wanted)
        return true;
    for (size_t i = 0; i < json_array_size(value); i++)
        count += fits_quietly(check, wanted, json_array_get(value, i));
    if (count < least)
        return fail(check, "must contain at least %lld of what is asked for", (long long)least);
    if (most >= 0 && count > most)
        return fail(check, "must contain at most %lld of what is asked for", (long long)most);
    return true;
}

static bool check_array(struct check *check, const json_t *schema, const json_t *value)
{
    bool ok =
        check_size(check, schema, "minItems", "maxItems", json_array_size(value), "elements");

    if (json_get_bool(schema, "uniqueItems", false) && !canonical_unique(value))
        ok = fail(check, "must not have an element twice");
    ok = check_items(check, schema, value) && ok;
    return check_contains(check, schema, value) && ok;
}

/* ---- Objects ---- */

static bool check_required(struct check *check, const json_t *names, const json_t *value)
{
    bool ok = true;

    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));

        if (name && !json_object_get(value, name)) {
            size_t before = enter(check, name);

            ok = fail(check, "is required");
            leave(check, before);
        }
    }
    return ok;
}

static bool check_member(struct check *check, const json_t *schema, const char *name,
                         const json_t *member)
{
    size_t before = enter(check, name);
    bool ok = fits(check, schema, member);

    leave(check, before);
    return ok;
}

static bool check_name(struct check *check, const json_t *schema, const char *name)
{
    json_auto_t *text = json_string(name);

    return fits_quietly(check, schema, text) ||
           fail(check, "the name %.100s is not allowed", name);
}

static bool check_property(struct check *check, const json_t *schema, const char *name,
                           const json_t *member)
{
    const json_t *own = json_object_get(json_object_get(schema, "properties"), name);
    const json_t *others = json_object_get(schema, "additionalProperties");
    const json_t *names = json_object_get(schema, "propertyNames");
    json_t *patterns = json_object_get(schema, "patternProperties"), *by_pattern;
    bool known = own, ok = !own || check_member(check, own, name, member);
    const char *pattern;

    json_object_foreach (patterns, pattern, by_pattern) {
        if (!matches(check, pattern, name, strlen(name)))
            continue;
        known = true;
        ok = check_member(check, by_pattern, name, member) && ok;
    }
    if (json_is_false(others) && !known)
        ok = fail(check, "has no property %.100s", name);
    else if (others && !known)
        ok = check_member(check, others, name, member) && ok;
    return (!names || check_name(check, names, name)) && ok;
}

/* A property that is present may require others: as a list of names, or as a schema for the object. */
static bool check_dependent(struct check *check, const json_t *schema, const char *keyword,
                            const json_t *value)
{
    json_t *all = json_object_get(schema, keyword), *wanted;
    const char *name;
    bool ok = true;

    json_object_foreach (all, name, wanted) {
        if (!json_object_get(value, name))
            continue;
        ok = (json_is_array(wanted) ? check_required(check, wanted, value)
                                    : fits(check, wanted, value)) &&
             ok;
    }
    return ok;
}

static bool check_object(struct check *check, const json_t *schema, const json_t *value)
{
    bool ok = check_required(check, json_object_get(schema, "required"), value);
    const char *name;
    json_t *member;

    json_object_foreach ((json_t *)(uintptr_t)value, name, member)
        ok = check_property(check, schema, name, member) && ok;
    ok = check_size(check, schema, "minProperties", "maxProperties", json_object_size(value),
                    "properties") &&
         ok;
    ok = check_dependent(check, schema, "dependencies", value) && ok;
    ok = check_dependent(check, schema, "dependentRequired", value) && ok;
    return check_dependent(check, schema, "dependentSchemas", value) && ok;
}

/* ---- A schema ---- */

static const struct {
    const char *keyword;
    bool (*check)(struct check *check, const json_t *wanted, const json_t *value);
} anywhere[] = {
    {"type", check_type},    {"enum", check_enum},    {"const", check_const},
    {"allOf", check_all_of}, {"anyOf", check_any_of}, {"oneOf", check_one_of},
    {"not", check_not},
};

static bool check_keywords(struct check *check, const json_t *schema, const json_t *value)
{
    bool ok = true;

    for (size_t i = 0; i < COUNT_OF(anywhere); i++) {
        const json_t *wanted = json_object_get(schema, anywhere[i].keyword);

        if (wanted)
            ok = anywhere[i].check(check, wanted, value) && ok;
    }
    ok = check_condition(check, schema, value) && ok;
    if (json_is_numeric(value))
        return check_number(check, schema, value) && ok;
    if (json_is_string(value))
        return check_string(check, schema, value) && ok;
    if (json_is_array(value))
        return check_array(check, schema, value) && ok;
    return (!json_is_object(value) || check_object(check, schema, value)) && ok;
}

static bool fits_schema(struct check *check, const json_t *schema, const json_t *value)
{
    const char *ref = json_get_string(schema, "$ref", NULL);
    bool ok = !ref || check_ref(check, ref, value);

    if (ref && check->seventh) /* draft 7 ignores keywords beside $ref */
        return ok;
    return check_keywords(check, schema, value) && ok;
}

static bool fits(struct check *check, const json_t *schema, const json_t *value)
{
    bool ok;

    if (json_is_false(schema))
        return fail(check, "is not allowed");
    if (!json_is_object(schema))
        return true;
    if (check->steps++ >= SCHEMA_STEP_LIMIT || check->depth >= SCHEMA_DEPTH_LIMIT ||
        (check->steps % STEPS_A_CLOCK == 1 && is_late(check))) {
        check->gave_up = true;
        return fail(check, "is too much to check");
    }
    check->depth++;
    ok = fits_schema(check, schema, value);
    check->depth--;
    return ok;
}

static bool is_seventh(const json_t *schema)
{
    return strstr(json_get_string(schema, "$schema", ""), "draft-07") != NULL;
}

bool schema_fits(const json_t *schema, const json_t *value, struct schema_budget *budget,
                 struct buf *ret_issues)
{
    struct check check = {.root = schema,
                          .watch = schema_watch_start(budget),
                          .seventh = is_seventh(schema),
                          .out = ret_issues};
    bool ok = fits(&check, schema, value);

    /* A limit inside "not" or an alternative may have turned into a success. */
    if (ok && check.gave_up)
        ok = fail(&check, "is too much to check");
    schema_watch_stop(&check.watch);
    buf_clear(&check.path);
    return ok;
}
