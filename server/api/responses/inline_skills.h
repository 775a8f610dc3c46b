#ifndef RUNNEL_SERVER_API_RESPONSES_INLINE_SKILLS_H
#define RUNNEL_SERVER_API_RESPONSES_INLINE_SKILLS_H

#include <stdbool.h>

#include "server/http/request.h"

/*
 * inline_skills.h -- skills that a create request brings as zips are unpacked beside it (container_skill_params.h).
 */

/* For an endpoint, after input_files_wait(): has a shell of `tools` a skill to unpack? Then true: the request is
 * suspended, and the endpoint is called again, or the request fails. The endpoint returns ERR_OK at once. */
bool inline_skills_wait(struct request *request, endpoint_fn *endpoint);

/* Whether a shell of `tools` has one that is not unpacked yet: then a reader unpacks it first. */
bool inline_skills_packed(const json_t *body);

/* Drops their notes, as a client has sent them. Before anything else looks at the body. */
void inline_skills_drop_notes(json_t *body);

#endif
