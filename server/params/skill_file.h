#ifndef RUNNEL_SERVER_PARAMS_SKILL_FILE_H
#define RUNNEL_SERVER_PARAMS_SKILL_FILE_H

#include "core/base/err.h"
#include "core/store/tables/skills.h"

/*
 * skill_file.h -- SKILL.md: what a skill is called, what it is for, and the instructions.
 *
 *   ---
 *   name: release-notes
 *   description: How release notes are written here.
 *   ---
 *   Begin with what breaks.
 *
 * Between the lines of dashes stands YAML; keys besides these two are kept and mean nothing here.
 * A pure function.
 */

#define SKILL_FILE_LIMIT        ((size_t)128 << 10) /* bytes */
#define SKILL_MATTER_LIMIT      ((size_t)8 << 10)   /* of them, the front matter */
#define SKILL_NAME_LIMIT        ((size_t)64)        /* a to z, digits, and - between them */
#define SKILL_DESCRIPTION_LIMIT ((size_t)1024)      /* characters; one line */

/* Fills in name, description, content and prompt_at. ERR_INVALID, param `param`, for a text that is no
 * such file. */
enum err_code skill_file_parse(const char *content, const char *param,
                               struct skill_row *ret_row, struct err *err) MUST_CHECK;

#endif
