#ifndef RUNNEL_CORE_BASE_JSON_POINTER_H
#define RUNNEL_CORE_BASE_JSON_POINTER_H

#include <jansson.h>

/*
 * json_pointer.h -- a place within a JSON document, as $ref names it (RFC 6901, in a URI's fragment).
 *
 * A pure function. Of a reference that leads back to where it stands it knows nothing: whoever follows
 * what is found has a limit.
 */

/* What `ref`, "#" or "#/a/pointer", points to in the document `root`; borrowed, NULL for nothing. */
const json_t *json_find_ref(const json_t *root, const char *ref);

#endif
