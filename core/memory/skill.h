#ifndef RUNNEL_CORE_MEMORY_SKILL_H
#define RUNNEL_CORE_MEMORY_SKILL_H

#include <jansson.h>

#include "core/base/err.h"

/*
 * skill.h -- the skills of a run, and who may read which.
 *
 * The settings of a run have them as they were found in the store when its request was accepted: a list of {"id", "name", "description", "ask"}. What the run may not read is not in it,
 * and "ask" says that a person is asked before the model reads it.
 *
 * Permissions are a list of {"skill": "internal-*", "permission": "deny"}, of which the last that fits
 * the name counts; without one that fits, reading is allowed. Those of several places, such as an
 * assistant and its run, are a list of such lists, of which the strictest counts.
 *
 * Pure functions.
 */

/* The group of the tool that reads them, and of their names as variables: "Rule/skills/<name>". */
#define SKILL_GROUP           "skills"
#define SKILL_VARIABLE_PREFIX "Rule/" SKILL_GROUP "/"

/* From lax to strict. */
enum skill_permission {
    SKILL_ALLOW,
    SKILL_ASK,
    SKILL_DENY,
};
/* Ends with NULL. */
extern const char *const skill_permission_names[];

/* A word that there is not is a refusal. */
enum skill_permission skill_permission_of(const json_t *permissions, const char *name);

/* Of a wide and a narrow place together; either may be NULL. New reference; NULL when both are. */
json_t *skill_permissions_merge(const json_t *wide, const json_t *narrow);

/* The skill of that name; NULL when it is not among them. Borrowed. */
const json_t *skill_find(const json_t *skills, const char *name);

/* What the model reads of a skill: its instructions and, behind them, which files there are (an object from
 * path to text; NULL: none). The caller frees. */
char *skill_text(const json_t *skill, const char *prompt, const json_t *files);
/* One of the files. The caller frees *ret_text. ERR_NOT_FOUND. */
enum err_code skill_file_text(const json_t *skill, const json_t *files, const char *path,
                              char **ret_text, struct err *err) MUST_CHECK;

#endif
