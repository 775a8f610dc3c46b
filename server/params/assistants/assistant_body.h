#ifndef RUNNEL_SERVER_PARAMS_ASSISTANTS_ASSISTANT_BODY_H
#define RUNNEL_SERVER_PARAMS_ASSISTANTS_ASSISTANT_BODY_H

#include <jansson.h>

#include "core/base/err.h"

/*
 * assistant_body.h -- what a client may set of an assistant.
 *
 * It is checked and kept as it is, in one JSON body; what a client may not set is made here.
 */

extern const char *const assistant_member_names[]; /* ends with NULL */

enum err_code assistant_check(const json_t *body, struct err *err) MUST_CHECK;

/* The members that are there, null ones too: null clears. A new reference. */
json_t *assistant_members(const json_t *body);

#endif
