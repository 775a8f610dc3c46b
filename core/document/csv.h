#ifndef RUNNEL_CORE_DOCUMENT_CSV_H
#define RUNNEL_CORE_DOCUMENT_CSV_H

#include <stdbool.h>
#include <stddef.h>

#include "core/document/text_writer.h"

/*
 * csv.h -- values between commas as a table. Pure.
 *
 * As RFC 4180 says, and as programs really write: values are divided by a comma, a semicolon, a tab or a bar, whichever
 * the first line has most. A value in quotes may have all of these, new lines, and a quote as two quotes.
 */

/* Bytes of one row, its new lines in quotes included. A quote that is never closed comes to it. */
#define CSV_ROW_MAX ((size_t)1 << 20)

/* False: a row is longer than CSV_ROW_MAX, so this is no such file, and what was written is of no use. */
bool csv_write(struct text_writer *writer, const char *bytes, size_t length) MUST_CHECK;

#endif
