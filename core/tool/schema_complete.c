/*
 * schema_complete.c -- changes a value so that it fits its schema better: missing properties get their
 * defaults, unknown properties are removed.
 *
 * It follows only what certainly applies to the value: properties, items, $ref and allOf. Which branch of
 * anyOf or oneOf applies depends on a check, so their defaults are not filled in, and objects beside them
 * keep unknown properties (knows_all()).
 *
 * A null for a property that may be missing, and cannot be null, counts as missing. Models in strict mode must name
 * every property, and write null for those that they do not mean.
 *
 * Removing is for models, which invent properties. It is not done where the schema allows others in any
 * way, because the tool may want them.
 */

#include <string.h>

#include "core/base/compiler.h"
#include "core/base/json.h"
#include "core/base/json/json_pointer.h"
#include "core/tool/schema_internal.h"

struct completion {
    const json_t *root;
    struct schema_watch watch;
    size_t depth;
    size_t steps;
    bool late;
};

static void complete(struct completion *completion, const json_t *schema, json_t *value);

/* True when "properties" is all that can allow a property: others are unknown. */
static bool knows_all(const json_t *schema)
{
    static const char *const others[] = {
        "patternProperties", "allOf",           "anyOf", "oneOf", "not", "if", "$ref",
        "dependencies",      "dependentSchemas"};
    const json_t *additional = json_object_get(schema, "additionalProperties");

    for (size_t i = 0; i < COUNT_OF(others); i++) {
        if (json_object_get(schema, others[i]))
            return false;
    }
    return json_object_get(schema, "properties") && (!additional || json_is_false(additional));
}

static void drop_unknown(const json_t *schema, json_t *value)
{
    const json_t *properties = json_object_get(schema, "properties");
    const char *name;
    json_t *member;
    void *next;

    json_object_foreach_safe(value, next, name, member)
    {
        if (!json_object_get(properties, name))
            json_object_del(value, name);
    }
}

/* What can be null, as far as the schema says it in the usual ways. Others are left to the check. */
static bool takes_null(const struct completion *completion, const json_t *schema, size_t depth)
{
    const json_t *type = json_object_get(schema, "type"), *branches;
    const json_t *choice = json_object_get(schema, "enum"), *each;
    const char *ref = json_get_string(schema, "$ref", NULL);
    bool any = false;
    size_t i;

    if (!json_is_object(schema) || depth >= SCHEMA_DEPTH_LIMIT)
        return true;
    if (ref && !takes_null(completion, json_find_ref(completion->root, ref), depth + 1))
        return false;
    if (json_is_string(type) && strcmp(json_string_value(type), "null") != 0)
        return false;
    if (json_is_array(type) && !json_list_has(type, "null"))
        return false;
    branches = json_object_get(schema, "anyOf");
    branches = branches ? branches : json_object_get(schema, "oneOf");
    json_array_foreach (branches, i, each)
        any = any || takes_null(completion, each, depth + 1);
    if (json_array_size(branches) && !any)
        return false;
    any = !choice;
    json_array_foreach (choice, i, each)
        any = any || json_is_null(each);
    return any;
}

static void drop_null(const struct completion *completion, const json_t *schema, json_t *value,
                      const char *name, const json_t *own)
{
    if (json_is_null(json_object_get(value, name)) &&
        !json_list_has(json_object_get(schema, "required"), name) &&
        !takes_null(completion, own, 0))
        json_object_del(value, name);
}

static bool is_too_late(struct completion *completion)
{
    completion->late = completion->late || !schema_time_left(&completion->watch);
    return completion->late;
}

static void complete_object(struct completion *completion, const json_t *schema, json_t *value)
{
    json_t *properties = json_object_get(schema, "properties"), *own;
    const char *name;

    if (knows_all(schema))
        drop_unknown(schema, value);
    json_object_foreach (properties, name, own) {
        const json_t *preset = json_object_get(own, "default");

        drop_null(completion, schema, value, name, own);
        if (preset && !json_object_get(value, name) && !is_too_late(completion))
            json_set(value, name, json_deep_copy(preset));
        complete(completion, own, json_object_get(value, name));
    }
}

static void complete_array(struct completion *completion, const json_t *schema, json_t *value)
{
    const json_t *items = json_object_get(schema, "items");
    const json_t *first = json_is_array(items) ? items : json_object_get(schema, "prefixItems");

    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *own = json_array_get(first, i);

        complete(completion, own ? own : items, json_array_get(value, i));
    }
}

static void complete(struct completion *completion, const json_t *schema, json_t *value)
{
    const char *ref = json_get_string(schema, "$ref", NULL);
    const json_t *all = json_object_get(schema, "allOf");

    if (!value || !json_is_object(schema) || completion->depth >= SCHEMA_DEPTH_LIMIT ||
        completion->steps++ >= SCHEMA_STEP_LIMIT ||
        (completion->steps % STEPS_A_CLOCK == 1 && is_too_late(completion)))
        return;
    completion->depth++;
    if (ref)
        complete(completion, json_find_ref(completion->root, ref), value);
    for (size_t i = 0; i < json_array_size(all); i++)
        complete(completion, json_array_get(all, i), value);
    if (json_is_object(value))
        complete_object(completion, schema, value);
    else if (json_is_array(value))
        complete_array(completion, schema, value);
    completion->depth--;
}

bool schema_complete(const json_t *schema, json_t *value, struct schema_budget *budget)
{
    struct completion completion = {.root = schema, .watch = schema_watch_start(budget)};

    complete(&completion, schema, value);
    schema_watch_stop(&completion.watch);
    return !completion.late;
}
