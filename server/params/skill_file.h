#ifndef RUNNEL_SERVER_PARAMS_SKILL_FILE_H
#define RUNNEL_SERVER_PARAMS_SKILL_FILE_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/store/tables/skills.h"

/*
 * skill_file.h -- reads a SKILL.md: the name of a skill, its description and its instructions.
 *
 *   ---
 *   name: release-notes
 *   description: How release notes are written here.
 *   ---
 *   Begin with what breaks.
 *
 * Between the lines of dashes is YAML. Other keys than these two are stored and have no effect.
 *
 * A pure function: any thread.
 */

#define SKILL_FILE_LIMIT        ((size_t)128 << 10) /* bytes */
#define SKILL_MATTER_LIMIT      ((size_t)8 << 10)   /* bytes of the front matter */
#define SKILL_NAME_LIMIT        ((size_t)64)        /* a-z, 0-9, and - between them */
#define SKILL_DESCRIPTION_LIMIT ((size_t)1024)      /* characters; one line */

/* Fills in name, description, content (all of the text) and prompt_at (the byte at which the instructions
 * begin). ERR_INVALID, naming `param`, if the text is not a SKILL.md. The caller clears the row, also after
 * an error. */
enum err_code skill_file_parse(const char *content, const char *param,
                               struct skill_row *ret_row, struct err *err) MUST_CHECK;

/* Of names and descriptions that stand elsewhere: they are like those of a SKILL.md. */
bool skill_name_fits(const char *name);
bool skill_description_fits(const char *text);

#endif
