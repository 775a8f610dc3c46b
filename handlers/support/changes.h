#ifndef RUNNEL_HANDLERS_SUPPORT_CHANGES_H
#define RUNNEL_HANDLERS_SUPPORT_CHANGES_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/edit/text_file.h"
#include "core/tool/tool.h"

/*
 * changes.h -- what a model and a person read about a text that a tool writes.
 */

/* Bytes of a diff that a person is shown. A longer one ends with a line that says so. */
#define CHANGES_DIFF_LIMIT ((size_t)6000)

/* For people: {"diff", "additions", "deletions"}, and of an edit "strategy", "replacements", "first_line" and
 * "last_line". New reference. */
json_t *changes_describe(const char *name, struct edit_span before,
                         const struct text_change *change);
/* The same with "file_id" and "filename". */
json_t *changes_of_file(const struct tool_text *text, const struct text_change *change);

/* Adds "12 bytes written (2 lines)". A text that ends with a line break has an empty last line. */
void changes_add_size(struct buf *out, struct edit_span written);

/* Puts "Failed to edit PATH: " before the sentence of the error. Returns its code. */
enum err_code changes_failed(const char *verb, const char *path, enum err_code rc,
                             struct err *err);

#endif
