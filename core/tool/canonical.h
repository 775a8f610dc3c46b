#ifndef RUNNEL_CORE_TOOL_CANONICAL_H
#define RUNNEL_CORE_TOOL_CANONICAL_H

#include <jansson.h>
#include <stdbool.h>

/*
 * canonical.h -- equality of JSON values as JSON Schema has it: numbers by their value, so that 1 and
 * 1.0 are the same, and objects whatever the order of their members. Pure.
 */

bool canonical_equal(const json_t *a, const json_t *b);

/* No two elements of the array are the same. */
bool canonical_unique(const json_t *array);

/* A number without a fraction, written as one or not. */
bool canonical_is_whole(const json_t *value);

#endif
