/*
 * patch.c -- a diff without line numbers, section by section.
 *
 *   section ─▶ old lines ── find ──▶ one place behind the last ─▶ copy up to it, its changes ─▶ the next
 *
 * Places only move forward, so the new text is written while sections are found, and thrown away when one is not. The
 * widely copied implementation takes the first place that fits, and skips a `@@` line that it does not find. Here both
 * are errors: a model mends its diff after an error, and does not see a change in the wrong place.
 */

#include "core/edit/patch.h"

#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"

static const char end_of_file[] = "*** End of File";
static const char no_newline[] = "\\ No newline at end of file";

static struct edit_span without_cr(struct edit_span line)
{
    if (line.length && line.at[line.length - 1] == '\r')
        line.length--;
    return line;
}

static bool is_text(struct edit_span line, const char *text)
{
    return edit_same(line, (struct edit_span){text, strlen(text)});
}

/* An error about lines, the first of them repeated. */
static enum err_code complain(struct err *err, enum err_code rc, const char *what,
                              struct edit_span lines)
{
    size_t length = lines.length;

    if (length > PATCH_ERROR_LINES)
        length = utf8_fit_bytes(lines.at, PATCH_ERROR_LINES);
    return err_set(err, rc, "%s:\n%.*s%s", what, (int)length, lines.at ? lines.at : "",
                   length < lines.length ? "..." : "");
}

static enum err_code too_large(struct err *err, const char *what)
{
    return err_set(err, ERR_TOO_LARGE, "The %s more than %zu MiB.", what,
                   EDIT_FILE_LIMIT >> 20);
}

