#ifndef RUNNEL_CORE_RUN_CONTEXT_CONTEXT_CONTENT_H
#define RUNNEL_CORE_RUN_CONTEXT_CONTEXT_CONTENT_H

#include <jansson.h>

/* context_content.h -- the content of an item as that of a message. Pure functions, for any thread. */

/* An item's content as that of a message: a string when all parts are text, because not every server reads a list;
 * otherwise a list of parts. New reference. */
json_t *context_content(const json_t *content);
/* The texts in an item's content as they are sent, an array of strings. New reference. */
json_t *context_texts(const json_t *content);

/* A part that is text. New reference. */
json_t *context_text_part(const char *text);
/* All text of a list of parts as one string, an empty line between them. New reference. */
json_t *context_joined_text(const json_t *parts);

#endif
