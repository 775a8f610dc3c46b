/*
 * filter.c -- compares attributes as the SQL of the store does.
 *
 * Integers are compared exactly, also with reals: PostgreSQL's numbers are decimal, and no double holds 2^53 + 1. The
 * bytes of UTF-8 stand in the order of their code points, so texts are compared as bytes.
 */

#include "core/domain/filter.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"

static const char *const names[FILTER_TYPES] = {
    [FILTER_EQ] = "eq",   [FILTER_NE] = "ne",   [FILTER_GT] = "gt", [FILTER_GTE] = "gte",
    [FILTER_LT] = "lt",   [FILTER_LTE] = "lte", [FILTER_IN] = "in", [FILTER_NIN] = "nin",
    [FILTER_AND] = "and", [FILTER_OR] = "or",
};

const char *filter_type_name(enum filter_type type)
{
    return names[type];
}

bool filter_type_parse(const char *name, enum filter_type *ret_type)
{
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            *ret_type = (enum filter_type)i;
            return true;
        }
    }
    return false;
}

void filter_clear(struct filter *filter)
{
    for (size_t i = 0; i < filter->count; i++)
        filter_clear(&filter->children[i]);
    free(filter->children);
    free(filter->key);
    json_decref(filter->value);
    *filter = (struct filter){0};
}

/* Sets the sign of a - b. False: they have no order. */
static bool order_of(const json_t *a, const json_t *b, int *ret_order)
{
    if (json_is_string(a) && json_is_string(b)) {
        *ret_order = strcmp(json_string_value(a), json_string_value(b));
        return true;
    }
    if (json_is_integer(a) && json_is_integer(b)) {
        json_int_t left = json_integer_value(a), right = json_integer_value(b);

        *ret_order = (left > right) - (left < right);
        return true;
    }
    if (json_is_number(a) && json_is_number(b)) {
        /* Has the digits of both. */
        long double left =
            json_is_integer(a) ? (long double)json_integer_value(a) : json_real_value(a);
        long double right =
            json_is_integer(b) ? (long double)json_integer_value(b) : json_real_value(b);

        *ret_order = (left > right) - (left < right);
        return true;
    }
    return false;
}

static bool is_equal(const json_t *a, const json_t *b)
{
    int order;

    if (order_of(a, b, &order))
        return order == 0;
    return json_is_boolean(a) && json_is_boolean(b) && json_is_true(a) == json_is_true(b);
}

static bool is_one_of(const json_t *attribute, const json_t *values)
{
    const json_t *value;
    size_t i;

    json_array_foreach (values, i, value) {
        if (is_equal(attribute, value))
            return true;
    }
    return false;
}

static bool compares(const struct filter *filter, const json_t *attribute)
{
    int order;

    switch (filter->type) {
    case FILTER_EQ: return is_equal(attribute, filter->value);
    case FILTER_NE: return !is_equal(attribute, filter->value);
    case FILTER_IN: return is_one_of(attribute, filter->value);
    case FILTER_NIN: return !is_one_of(attribute, filter->value);
    default: break;
    }
    if (!order_of(attribute, filter->value, &order))
        return false;
    switch (filter->type) {
    case FILTER_GT: return order > 0;
    case FILTER_GTE: return order >= 0;
    case FILTER_LT: return order < 0;
    default: return order <= 0;
    }
}

bool filter_matches(const struct filter *filter, const json_t *attributes)
{
    bool any = filter->type == FILTER_OR;

    if (filter->type != FILTER_AND && filter->type != FILTER_OR) {
        /* NULL is no text, number or boolean: equal to nothing and without order. */
        return compares(filter, json_object_get(attributes, filter->key));
    }
    for (size_t i = 0; i < filter->count; i++) {
        if (filter_matches(&filter->children[i], attributes) == any)
            return any;
    }
    return !any;
}
