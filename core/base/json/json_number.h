#ifndef RUNNEL_CORE_BASE_JSON_JSON_NUMBER_H
#define RUNNEL_CORE_BASE_JSON_JSON_NUMBER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"

/*
 * json_number.h -- numbers of any size, which keep the text in which they were written.
 *
 * jansson reads 64-bit integers and doubles. It refuses what is larger, and writes 0.10 as 0.1. A number
 * that it would refuse or change is a written number: a string in the tree, which begins with a NUL. No
 * other string does, because json_parse() refuses \u0000. json_text() puts the number's text in its place.
 *
 * Written numbers stay where bytes are passed on: in schemas, arguments and results. Everywhere else
 * json_parse() rounds them, so that no other code meets one.
 */

/* Not the 17 digits of the nearest double, which would turn 0.7 into 0.69999999999999996. */
#define JSON_TEXT_FLAGS (JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15))

bool json_is_written(const json_t *value);
/* True for the strings that are no written numbers. */
bool json_is_text(const json_t *value);

/* True for jansson's numbers and for written ones. */
bool json_is_numeric(const json_t *value);
/* The nearest double of either. 0 for what is no number. */
double json_double(const json_t *value);

/* Makes integers and reals of all written numbers in a tree. A number beyond the doubles becomes the
 * largest. Takes the tree, and gives it back or its replacement. */
json_t *json_round(json_t *value);
/* The same, but for what the members with the names of schemas, arguments and results hold. */
json_t *json_round_elsewhere(json_t *value);

/* For json.c. Adds the text to `marked`, with a string for each number that jansson would change.
 * False, and `marked` is empty: no number, or the text holds \u0000. */
bool json_mark_numbers(const char *text, size_t length, struct buf *marked);
/* For json.c. Puts the numbers back in a text of jansson's, which begins at `from`. */
void json_unmark_numbers(struct buf *buf, size_t from);

#endif
