#ifndef RUNNEL_CORE_BASE_JSON_JSON_POINTER_H
#define RUNNEL_CORE_BASE_JSON_JSON_POINTER_H

#include <jansson.h>

/*
 * json_pointer.h -- resolves a $ref within a JSON document (RFC 6901, in a URI's fragment).
 *
 * A pure function. It does not notice circular references: a caller that follows what it finds
 * needs a limit.
 */

/* The value that `ref`, "#" or "#/a/pointer", points to in the document `root`. Borrowed; NULL when
 * nothing is there. */
const json_t *json_find_ref(const json_t *root, const char *ref);

#endif
