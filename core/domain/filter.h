#ifndef RUNNEL_CORE_DOMAIN_FILTER_H
#define RUNNEL_CORE_DOMAIN_FILTER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * filter.h -- which files a search may see, by their attributes: comparisons, joined by "and" and "or".
 *
 *   eq, ne             same JSON type and equal; `ne` is the opposite, so it is also true without the key
 *   gt, gte, lt, lte   both numbers, or both texts, which stand by code points
 *   in, nin            one of the values is equal; `nin` is the opposite
 *   and, or            of at least one filter
 *
 * Numbers compare as numbers: 1 is 1.0. A key that is missing is false, but for `ne` and `nin`.
 *
 * server/params makes the struct from a request and keeps its limits. The store writes it as SQL; filter_matches() is
 * the same in C, for tests and for attributes that are at hand. Pure; a filter belongs to its maker.
 */

#define FILTER_DEPTH_MAX       8  /* a single comparison is 1 */
#define FILTER_COMPARISONS_MAX 64 /* in all */
#define FILTER_VALUES_MAX      256

enum filter_type {
    FILTER_EQ,
    FILTER_NE,
    FILTER_GT,
    FILTER_GTE,
    FILTER_LT,
    FILTER_LTE,
    FILTER_IN,
    FILTER_NIN,
    FILTER_AND,
    FILTER_OR,
    FILTER_TYPES
};

struct filter {
    enum filter_type type;
    /* Comparisons: */
    char *key;
    json_t
        *value; /* a text, number or boolean; of `in` and `nin` an array of texts and numbers */
    /* AND and OR: */
    struct filter *children;
    size_t count;
};

/* The word in requests: "eq". */
const char *filter_type_name(enum filter_type type);
/* False: no such type. */
bool filter_type_parse(const char *name, enum filter_type *ret_type);

/* Releases what it holds, the children included, but not the struct itself. */
void filter_clear(struct filter *filter);

/* `attributes` is an object of texts, numbers and booleans, or NULL, which is an empty one. */
bool filter_matches(const struct filter *filter, const json_t *attributes);

#endif
