#ifndef RUNNEL_CORE_MODEL_ANNOTATION_H
#define RUNNEL_CORE_MODEL_ANNOTATION_H

#include <jansson.h>

/*
 * annotation.h -- what a model's server says about a text, as a client may see it.
 */

/* The annotation with the members that its type has in the Responses API, and no others; what is
 * missing is empty. NULL for what is no annotation that we know. New reference. */
json_t *annotation_clean(const json_t *given);

#endif
