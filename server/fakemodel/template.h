#ifndef RUNNEL_SERVER_FAKEMODEL_TEMPLATE_H
#define RUNNEL_SERVER_FAKEMODEL_TEMPLATE_H

#include <jansson.h>

#include "server/fakemodel/prompt.h"

/*
 * fakemodel/template.h -- {{last_user}} and its like, filled in from a request. The list is in
 * fakemodel/script.h.
 */

/* The caller frees. */
char *template_expand(const char *text, const struct prompt *prompt);

/* A copy of the value with the strings in it expanded. New reference. */
json_t *template_expand_json(json_t *value, const struct prompt *prompt);

#endif
