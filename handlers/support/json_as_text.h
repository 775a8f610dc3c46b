#ifndef RUNNEL_HANDLERS_SUPPORT_JSON_AS_TEXT_H
#define RUNNEL_HANDLERS_SUPPORT_JSON_AS_TEXT_H

#include <jansson.h>

/*
 * json_as_text.h -- a value that a model reads as text.
 */

/* A JSON string that holds the value as JSON text. New reference. */
json_t *json_as_text(const json_t *value);

#endif
