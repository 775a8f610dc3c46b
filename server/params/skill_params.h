#ifndef RUNNEL_SERVER_PARAMS_SKILL_PARAMS_H
#define RUNNEL_SERVER_PARAMS_SKILL_PARAMS_H

#include <jansson.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * skill_params.h -- `runnel.skills` and `runnel.skill_permissions` (core/memory/skill.h).
 *
 *   {"skills": ["skill_..."], "skill_permissions": [{"skill": "internal-*", "permission": "ask"}]}
 *
 * The first names the skills that a run may read. The second allows or denies them by pattern, or has a
 * person approve them first.
 */

#define SKILLS_KEY            "skills"
#define SKILL_PERMISSIONS_KEY "skill_permissions"

#define SKILLS_LIMIT            32 /* of a run */
#define SKILL_PERMISSIONS_LIMIT 64
#define SKILL_PATTERN_LIMIT     ((size_t)128) /* characters */

/* Check the form. `runnel` is the object that may have the members, `path` its path. Pure: any thread. */
enum err_code skill_params_check(const json_t *runnel, const char *path,
                                 struct err *err) MUST_CHECK;
enum err_code skill_permissions_check(const json_t *runnel, const char *path,
                                      struct err *err) MUST_CHECK;

/* Looks up the skills of `body`, a checked request or the snapshot of a run. *ret_body is a copy in which
 * the ids are replaced by what core/memory/skill.h describes, without the skills that are denied. The
 * caller owns it. Without skills it stays untouched. ERR_INVALID, naming runnel.skills, if the project has
 * no such skill, or if two have one name. Blocks on the store. */
enum err_code skill_params_resolve(struct store *store, const struct tenant *tenant,
                                   const json_t *body, json_t **ret_body,
                                   struct err *err) MUST_CHECK;

/* Checks that the project has the skills of an object that is stored, such as an assistant. Which of them a
 * run may read depends on the request, too, so nothing else is checked. Blocks on the store. */
enum err_code skill_params_check_exist(struct store *store, const struct tenant *tenant,
                                       const json_t *body, struct err *err) MUST_CHECK;

/* The number of a version as a client writes it: a positive integer, also as text. 0: it is none. Pure. */
int64_t skill_version_number(const json_t *value);

#endif
