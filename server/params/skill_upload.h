#ifndef RUNNEL_SERVER_PARAMS_SKILL_UPLOAD_H
#define RUNNEL_SERVER_PARAMS_SKILL_UPLOAD_H

#include "core/base/err.h"
#include "core/store/tables/skills.h"
#include "server/http/parse/form.h"

/*
 * skill_upload.h -- a skill as OpenAI's SDKs send one: the files of a folder as `files[]`, or SKILL.md alone as
 * `files`, of a form, each with its path as its filename.
 *
 * SKILL.md stands at the top of the folder, and what is beside or below it is kept by its path in there.
 * All of it is text: models read it, and nothing here runs it. A zip is refused, it would have to be opened
 * first. A pure function.
 */

#define SKILL_UPLOAD_FILES_LIMIT ((size_t)500)
#define SKILL_UPLOAD_PATH_LIMIT  ((size_t)256)     /* bytes */
#define SKILL_UPLOAD_BYTES_LIMIT ((size_t)4 << 20) /* of all files beside SKILL.md */

/* As skill_file_parse(), with the files beside it; errors name "files" or "files[n]". */
enum err_code skill_upload_read(const struct form *form, struct skill_row *ret_row,
                                struct err *err) MUST_CHECK;

#endif
