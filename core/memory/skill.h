#ifndef RUNNEL_CORE_MEMORY_SKILL_H
#define RUNNEL_CORE_MEMORY_SKILL_H

#include <jansson.h>

#include "core/base/err.h"

/*
 * skill.h -- the skills of a run, and who may read which.
 *
 * The settings of a run have a list of {"id", "version_id", "name", "description", "ask"}, made when the request was
 * accepted. Skills that the run may not read are not in the list. "ask" means that a person must approve
 * before the model reads the skill.
 *
 * Permissions are a list of {"skill": "internal-*", "permission": "deny"}. The pattern is that of
 * fnmatch(3). The last entry that matches the name counts, and without a match the skill may be read. The
 * permissions of several places, such as an assistant and its run, are a list of such lists; the strictest
 * result counts.
 *
 * Pure functions: any thread.
 */

/* The group of the tool that reads skills. A skill is also readable as a variable, "Rule/skills/<name>". */
#define SKILL_GROUP           "skills"
#define SKILL_VARIABLE_PREFIX "Rule/" SKILL_GROUP "/"

/* From lax to strict. */
enum skill_permission {
    SKILL_ALLOW,
    SKILL_ASK,
    SKILL_DENY,
};
/* "allow", "ask", "deny" by their numbers; ends with NULL. */
extern const char *const skill_permission_names[];

/* The permission for the skill of that name. An unknown value counts as SKILL_DENY. */
enum skill_permission skill_permission_of(const json_t *permissions, const char *name);

/* The permissions of a wide and a narrow place together; either may be NULL. New reference; NULL if
 * neither has an entry. */
json_t *skill_permissions_merge(const json_t *wide, const json_t *narrow);

/* The skill of that name in the list of the settings, or NULL. Borrowed. */
const json_t *skill_find(const json_t *skills, const char *name);

/* The id of its version, or of the skill itself in the settings of a run that is older than versions. */
const char *skill_version_of(const json_t *skill);

/* The text of a skill as the model reads it: the instructions in `prompt`, then the paths of its files.
 * `files` is an object from path to text, or NULL. The caller frees. */
char *skill_text(const json_t *skill, const char *prompt, const json_t *files);
/* The text of one file. The caller frees *ret_text. ERR_NOT_FOUND, and ERR_INVALID for a file that is no text, with a
 * text for the model. */
enum err_code skill_file_text(const json_t *skill, const json_t *files, const char *path,
                              char **ret_text, struct err *err) MUST_CHECK;

#endif
