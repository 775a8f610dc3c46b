#ifndef RUNNEL_SERVER_PARAMS_SKILL_UPLOAD_H
#define RUNNEL_SERVER_PARAMS_SKILL_UPLOAD_H

#include "core/base/err.h"
#include "core/store/tables/skills.h"
#include "server/http/parse/form.h"

/*
 * skill_upload.h -- reads a skill from a form, as OpenAI's SDKs send it: the files of a folder as `files[]`,
 * or SKILL.md alone as `files`. The filename of each part is its path.
 *
 * SKILL.md is at the top of the folder. All other files are stored under their paths relative to it. Every
 * file must be text: models read it, and the server never executes it. A zip is refused.
 *
 * A pure function: any thread.
 */

#define SKILL_UPLOAD_FILES_LIMIT ((size_t)500)
#define SKILL_UPLOAD_PATH_LIMIT  ((size_t)256)     /* bytes */
#define SKILL_UPLOAD_BYTES_LIMIT ((size_t)4 << 20) /* of all files beside SKILL.md */

/* As skill_file_parse(), and fills in `files` too. Errors name "files" or "files[n]". The caller clears the
 * row, also after an error. */
enum err_code skill_upload_read(const struct form *form, struct skill_row *ret_row,
                                struct err *err) MUST_CHECK;

#endif
