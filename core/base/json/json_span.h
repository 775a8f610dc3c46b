#ifndef RUNNEL_CORE_BASE_JSON_JSON_SPAN_H
#define RUNNEL_CORE_BASE_JSON_JSON_SPAN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * json_span.h -- where a value stands in a text of JSON.
 *
 * For a text that is passed on with one value replaced: built again from its tree, 1.50 would become 1.5, and blanks
 * would be lost. The text must be well-formed, as json_parse_strict() has found it. Nothing is copied, each call
 * walks over its span once, and any thread may call.
 */

struct json_span {
    const char *at;
    size_t length;
};

/* The value of a key, which is compared as it is spelled: one that is written with escapes is not found. False:
 * `object` is no object, or lacks the key. */
bool json_span_member(struct json_span object, const char *key, struct json_span *ret_value);

/* Moves *element, which starts zeroed, to the next one. False behind the last, and for what is no list. */
bool json_span_next(struct json_span list, struct json_span *element);

/* The value is this text, spelled without escapes. */
bool json_span_is(struct json_span value, const char *text);

#endif
