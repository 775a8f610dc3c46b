#ifndef RUNNEL_CORE_BASE_JSON_JSON_READ_H
#define RUNNEL_CORE_BASE_JSON_JSON_READ_H

#include <jansson.h>
#include <stddef.h>

/* json_read.h -- a text of JSON as a tree. Any thread. */

/* The tree that json_loadb() makes with JSON_DECODE_ANY and these flags. Only JSON_REJECT_DUPLICATES matters here.
 * NULL: the text is not JSON, or has something rare in it: jansson has to read it. */
json_t *json_read(const char *text, size_t length, size_t flags);

#endif
