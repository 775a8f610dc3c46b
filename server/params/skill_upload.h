#ifndef RUNNEL_SERVER_PARAMS_SKILL_UPLOAD_H
#define RUNNEL_SERVER_PARAMS_SKILL_UPLOAD_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/store/tables/skills.h"
#include "server/http/parse/form.h"

/*
 * skill_upload.h -- reads a skill from a form, as OpenAI's SDKs send it: the files of a folder as `files[]`,
 * SKILL.md alone as `files`, or a zip of the folder as `files`. The filename of each part is its path.
 *
 * SKILL.md is at the top of the folder, in upper or lower case. All other files are stored under their paths relative
 * to it, text as text and other bytes as {"base64": text}. The server never executes them. The limits of a zip
 * (core/document/bundle/bundle.h) are those of a form, too.
 *
 * Any thread that may wait: a zip is unpacked in a child.
 */

/* As skill_file_parse(), and fills in `files` too. `default` may be a field of the form, if *ret_default is wanted: it
 * stays untouched without. Errors name "files" or "files[n]". The caller clears the row, also after an error. */
enum err_code skill_upload_read(const struct form *form, struct skill_row *ret_row,
                                bool *ret_default, struct err *err) MUST_CHECK;

/* The same of a zip that is no form. Errors name `param`. */
enum err_code skill_zip_read(const void *zip, size_t length, const char *param,
                             struct skill_row *ret_row, struct err *err) MUST_CHECK;

#endif
