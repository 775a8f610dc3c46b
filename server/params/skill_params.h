#ifndef RUNNEL_SERVER_PARAMS_SKILL_PARAMS_H
#define RUNNEL_SERVER_PARAMS_SKILL_PARAMS_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * skill_params.h -- `runnel.skills`, the skills that a run may read, and `runnel.skill_permissions`,
 * which of them, and which only after somebody has agreed (core/memory/skill.h).
 *
 *   {"skills": ["skill_..."], "skill_permissions": [{"skill": "internal-*", "permission": "ask"}]}
 */

#define SKILLS_KEY            "skills"
#define SKILL_PERMISSIONS_KEY "skill_permissions"

#define SKILLS_LIMIT            32 /* of a run */
#define SKILL_PERMISSIONS_LIMIT 64
#define SKILL_PATTERN_LIMIT     ((size_t)128)

/* `runnel` is the object that may have them, `path` where it stands. Pure. */
enum err_code skill_params_check(const json_t *runnel, const char *path,
                                 struct err *err) MUST_CHECK;
enum err_code skill_permissions_check(const json_t *runnel, const char *path,
                                      struct err *err) MUST_CHECK;

/* Looks up the skills of `body`, a request or the configuration of a run, whose `runnel` was checked.
 * *ret_body is a copy in which they stand as core/memory/skill.h says, without those that are denied; it
 * stays untouched when there are none. ERR_INVALID, param runnel.skills, for one that is not the
 * project's, and for two of one name. Blocks for as long as the database takes. */
enum err_code skill_params_resolve(struct store *store, const struct tenant *tenant,
                                   const json_t *body, json_t **ret_body,
                                   struct err *err) MUST_CHECK;

#endif
