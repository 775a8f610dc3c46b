#ifndef RUNNEL_CORE_EDIT_PATCH_H
#define RUNNEL_CORE_EDIT_PATCH_H

#include <stddef.h>

#include "core/base/err.h"
#include "core/edit/text_file.h"

/*
 * patch.h -- edits a file by a diff as models of OpenAI write it for their tool apply_patch (V4A). It has no line
 * numbers:
 *
 *     @@ class Pump:                  a line to find first; it may be missing, also the first `@@`
 *      def start(self):               context
 *     -    self.on = 1                removed
 *     +    self.on = True             added
 *     @@                              the next section: its place is behind that of the first
 *     +# the end
 *     *** End of File                 the section's lines are the last of the file
 *
 * An empty line is an empty line of context, and does not count at the end of a section. `\ No newline at end of file`
 * is skipped in a change. Context and removed lines are compared as they are; if that finds nothing without white space
 * at their ends; then without it at both ends. A section must fit in one place only behind the one before. What it adds
 * without context stands behind its `@@` line, at the end of the file, or in an empty file: elsewhere the place would
 * be a guess.
 *
 * Lines that are not changed keep their bytes. Added lines get the line ends of the file. Its byte order mark, and the
 * end of its last line, are not changed. All sections or none.
 *
 * Pure functions: any thread.
 */

/* Work of all comparisons: one for each pair of lines, and one for every 16 bytes of them. */
#define PATCH_WORK_LIMIT ((size_t)20000000)

/* Bytes of lines that an error repeats. */
#define PATCH_ERROR_LINES ((size_t)600)

/* The bytes of a new file: the lines of the diff, each with `+` before it, and an LF behind it. Behind the last one
 * `\ No newline at end of file` takes that away. ERR_INVALID: another line. ERR_TOO_LARGE: beyond EDIT_FILE_LIMIT. */
enum err_code patch_create(struct edit_span diff, struct text_change *ret_change,
                           struct err *err) MUST_CHECK;

/* The bytes of a file after the diff. `replacements` is the number of sections. The text of an error is for the model,
 * and has several lines. The number in it is how many lines of the file stand before the place where the search began:
 *
 *   ERR_INVALID    "Invalid Line:\n..."; nothing is changed; the file is no text
 *   ERR_NOT_FOUND  "Invalid Context 3:\n...", "Invalid EOF Context 3:\n..."
 *   ERR_CONFLICT   "Ambiguous Context 3, lines 5 and 9:\n..."
 *   ERR_TOO_LARGE  the file, before or after, beyond EDIT_FILE_LIMIT
 *   ERR_LIMIT      PATCH_WORK_LIMIT */
enum err_code patch_update(struct edit_span file, struct edit_span diff,
                           struct text_change *ret_change, struct err *err) MUST_CHECK;

#endif
