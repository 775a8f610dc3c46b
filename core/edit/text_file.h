#ifndef RUNNEL_CORE_EDIT_TEXT_FILE_H
#define RUNNEL_CORE_EDIT_TEXT_FILE_H

#include "core/edit/diff.h"
#include "core/edit/edit.h"

/*
 * text_file.h -- edits the bytes of a file: what a tool does around the replacement itself.
 *
 * The texts of an order get the line ends of the file, CRLF if it has one, because models write LF. A byte order mark
 * stays, and is no part of the text. Bytes that are not UTF-8 are refused: a file is never written back as something
 * else. An empty old text replaces the whole file, or makes it.
 *
 * Pure functions: any thread.
 */

struct text_change {
    char *bytes; /* owned: the file as it becomes; with a NUL that does not count */
    size_t length;
    size_t replacements;          /* 1 for the whole file */
    const char *strategy;         /* a constant; NULL for the whole file */
    size_t first_line, last_line; /* of the first place, from 1; 0 for the whole file */
};

void text_change_clear(struct text_change *change);

/* True for bytes that no person reads as text: one of the first 8 KiB is NUL, or a tenth of them are control
 * characters. */
bool text_file_is_binary(struct edit_span bytes);

/* Checks that the bytes of a file are text: ERR_INVALID. */
enum err_code text_file_check(struct edit_span bytes, struct err *err) MUST_CHECK;

/* Makes the new bytes of a file. `bytes.at` NULL: there is no file yet. As edit_replace(), and ERR_NOT_FOUND for an
 * old text where there is no file. */
enum err_code text_file_edit(struct edit_span bytes, const struct edit_order *order,
                             struct text_change *ret_change, struct err *err) MUST_CHECK;

/* Makes the bytes of a file with `text` added in a line of its own, with the line ends of the file. */
enum err_code text_file_append(struct edit_span bytes, struct edit_span text,
                               struct text_change *ret_change, struct err *err) MUST_CHECK;

#endif
