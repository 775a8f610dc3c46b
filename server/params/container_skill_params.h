#ifndef RUNNEL_SERVER_PARAMS_CONTAINER_SKILL_PARAMS_H
#define RUNNEL_SERVER_PARAMS_CONTAINER_SKILL_PARAMS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"
#include "core/store/tables/containers/container_skills.h"

/*
 * container_skill_params.h -- the `skills` of a container, and of a shell's container_auto.
 *
 *   {"type": "skill_reference", "skill_id", "version"?}      version: a number, as such or as text, or "latest"
 *   {"type": "inline", "name", "description", "source": {"type": "base64", "media_type": "application/zip", "data"}}
 *
 * A child unpacks an inline skill once, which takes up to some seconds. What it has is then a note in the object
 * (core/domain/notes.h), until the container has it.
 */

/* Characters of an inline skill's `data`. */
#define CONTAINER_SKILL_DATA_LIMIT ((size_t)70254592)

/* The form of the member `skills`. `path` is that of the object that has it. Pure: any thread. */
enum err_code container_skills_check(const json_t *object, const char *path,
                                     struct err *err) MUST_CHECK;

/* Whether one of them is inline and not unpacked yet. The list may be anything. Pure. */
bool container_skills_packed(const json_t *skills);

/* Removes their notes, as a client has sent them. */
void container_skills_drop_notes(json_t *skills);

/* Unpacks those that are inline; one that has a wrong form is left alone. Blocks, see bundle.h. ERR_INVALID */
enum err_code container_skills_unpack(json_t *skills, const char *path,
                                      struct err *err) MUST_CHECK;

/* What a checked and unpacked list wants, CONTAINER_SKILLS_LIMIT at most. ERR_NOT_FOUND: the project has no such skill,
 * or the skill no such version. container_skills_clear() releases them, also after an error. Blocks on the store. */
enum err_code container_skills_resolve(
    struct store *store, const struct tenant *tenant, const json_t *skills, const char *path,
    struct container_skill ret_skills[CONTAINER_SKILLS_LIMIT], size_t *ret_count,
    struct err *err) MUST_CHECK;

#endif
