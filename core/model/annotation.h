#ifndef RUNNEL_CORE_MODEL_ANNOTATION_H
#define RUNNEL_CORE_MODEL_ANNOTATION_H

#include <jansson.h>

/*
 * annotation.h -- an upstream's annotation of a text (a citation), reduced to what a client may see.
 */

/* The annotation with the members that its type has in the Responses API, and no others. Missing
 * members are empty. NULL for an unknown type. New reference. */
json_t *annotation_clean(const json_t *given);

#endif
