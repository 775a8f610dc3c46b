#ifndef RUNNEL_SERVER_FAKEMODEL_TEMPLATE_H
#define RUNNEL_SERVER_FAKEMODEL_TEMPLATE_H

#include <jansson.h>

#include "server/fakemodel/prompt.h"

/*
 * fakemodel/template.h -- templates such as {{last_user}}, filled in from a request.
 *
 * fakemodel/script.h has the list. Pure functions. Text in braces that is no template stays as it is.
 */

/* The text with its templates filled in. The caller frees. */
char *template_expand(const char *text, const struct prompt *prompt);

/* A copy of the value, with templates filled in wherever it has a string. New reference. */
json_t *template_expand_json(json_t *value, const struct prompt *prompt);

#endif
