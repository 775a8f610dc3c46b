#ifndef RUNNEL_SERVER_PARAMS_ASSISTANTS_ASSISTANT_BODY_H
#define RUNNEL_SERVER_PARAMS_ASSISTANTS_ASSISTANT_BODY_H

#include <jansson.h>

#include "core/base/err.h"

/*
 * assistant_body.h -- the members of an assistant that a client sets.
 *
 * They are checked, and stored as one JSON object. The server makes the other members: id, object and
 * created_at.
 *
 * Pure functions: any thread.
 */

/* The members that a client may set. The model is the first; the list ends with NULL. */
extern const char *const assistant_member_names[];

/* Checks the body of a create or update request. ERR_INVALID with OpenAI's complaints. */

enum err_code assistant_check(const json_t *body, struct err *err) MUST_CHECK;

/* The members of a checked body, as they are stored. A member that is null is kept: in an update it clears
 * the stored one. Tools come without their secrets. New reference. */
json_t *assistant_members(const json_t *body);

#endif
