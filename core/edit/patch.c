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

/* ---- Reading ---- */

/* The lines of a diff, without an empty last one. */
struct reader {
    struct edit_lines lines;
    size_t at, end;
};

static void reader_init(struct reader *reader, struct edit_span diff)
{
    *reader = (struct reader){.at = 0};
    edit_lines_init(&reader->lines, diff);
    reader->end = edit_lines_trimmed(&reader->lines);
}

static void reader_clear(struct reader *reader)
{
    edit_lines_clear(&reader->lines);
}

static struct edit_span peek(const struct reader *reader)
{
    return without_cr(edit_line(&reader->lines, reader->at));
}

/* A change of a line: ' ', '-' or '+', and the line behind it. */
struct change {
    char sign;
    struct edit_span line;
};

/* The changes point into the diff. */
struct section {
    bool anchored;           /* a `@@` line says what to find first */
    struct edit_span anchor; /* that line */
    struct buf changes;      /* of struct change */
    size_t old_count;        /* lines that it has in the file */
    bool changing;           /* not only context */
    bool at_end;             /* of the file */
};

static void section_clear(struct section *section)
{
    buf_clear(&section->changes);
}

static const struct change *changes_of(const struct section *section, size_t *ret_count)
{
    *ret_count = section->changes.length / sizeof(struct change);
    return (const struct change *)(const void *)section->changes.data;
}

/* A line `@@ text` or `@@`. */
static bool take_header(struct reader *reader, struct edit_span *ret_anchor)
{
    struct edit_span line = peek(reader);

    if (line.length < 2 || memcmp(line.at, "@@", 2) != 0 ||
        (line.length > 2 && line.at[2] != ' '))
        return false;
    *ret_anchor = edit_skip(line, line.length > 2 ? 3 : 2);
    reader->at++;
    return true;
}

static bool is_header(const struct reader *reader)
{
    struct reader look = *reader;
    struct edit_span anchor;

    return take_header(&look, &anchor);
}

/* Where the empty lines at the end of a section begin, which do not count. */
static size_t end_of_section(const struct reader *reader, size_t end)
{
    while (end > reader->at && !without_cr(edit_line(&reader->lines, end - 1)).length)
        end--;
    return end;
}

/* The line behind the section, or behind all. */
static size_t find_end(const struct reader *reader)
{
    struct reader look = *reader;

    while (look.at < look.end && !is_header(&look) && !is_text(peek(&look), end_of_file))
        look.at++;
    return look.at;
}

static enum err_code take_line(struct section *section, struct edit_span line, struct err *err)
{
    struct change change = {' ', line};

    if (is_text(line, no_newline))
        return ERR_OK;
    if (line.length) {
        change = (struct change){line.at[0], edit_skip(line, 1)};
        if (!strchr(" -+", change.sign) || !change.sign)
            return complain(err, ERR_INVALID, "Invalid Line", line);
    }
    buf_add(&section->changes, &change, sizeof(change));
    section->old_count += change.sign != '+';
    section->changing |= change.sign != ' ';
    return ERR_OK;
}

/* The next section; there is one. Only the first may begin without a `@@`. */
static enum err_code take_section(struct reader *reader, struct section *ret_section,
                                  struct err *err)
{
    bool first = reader->at == 0;
    size_t behind, end;
    enum err_code rc = ERR_OK;

    if (take_header(reader, &ret_section->anchor))
        ret_section->anchored = edit_trim(ret_section->anchor).length != 0;
    else if (!first)
        return complain(err, ERR_INVALID, "Invalid Line", peek(reader));
    behind = find_end(reader);
    end = end_of_section(reader, behind);
    for (; reader->at < end && !rc; reader->at++)
        rc = take_line(ret_section, peek(reader), err);
    reader->at = behind;
    if (rc || behind == reader->end || !is_text(peek(reader), end_of_file))
        return rc;
    ret_section->at_end = true;
    do
        reader->at++;
    while (reader->at < reader->end && !peek(reader).length);
    return ERR_OK;
}

/* ---- Finding ---- */

/* How two lines are compared: as they are, and so on. */
enum form { AS_IT_IS, WITHOUT_END, WITHOUT_BOTH, FORM_COUNT };

struct patch {
    struct edit_lines lines; /* of the file */
    size_t count;            /* of its lines, without an empty last one */
    size_t cursor;           /* where the search for the next section begins */
    bool after_anchor;       /* the line before it is that of the section's `@@` */
    size_t copied;           /* lines that are in `out`, or were left out of it */
    size_t sections;         /* that were applied */
    const char *line_end;
    struct buf out;
    size_t work;
};

static void patch_init(struct patch *patch, struct edit_span text)
{
    *patch = (struct patch){.line_end = "\n"};
    edit_lines_init(&patch->lines, text);
    patch->count = edit_lines_trimmed(&patch->lines);
    if (memmem(text.at, text.length, "\r\n", 2))
        patch->line_end = "\r\n";
    buf_reserve(&patch->out, text.length + 1);
}

static void patch_clear(struct patch *patch)
{
    edit_lines_clear(&patch->lines);
    buf_clear(&patch->out);
}

static struct edit_span in_form(struct edit_span line, enum form form)
{
    struct edit_span trimmed;

    line = without_cr(line);
    if (form == AS_IT_IS)
        return line;
    trimmed = edit_trim(line);
    if (form == WITHOUT_BOTH || !trimmed.length)
        return trimmed;
    return (struct edit_span){line.at, (size_t)(trimmed.at - line.at) + trimmed.length};
}

static bool is_like(struct patch *patch, size_t at, struct edit_span wanted, enum form form)
{
    struct edit_span line = edit_line(&patch->lines, at);
    struct edit_span here = in_form(line, form), there = in_form(wanted, form);

    patch->work += 1 + (line.length - here.length + wanted.length - there.length) / 16;
    if (here.length != there.length)
        return false;
    patch->work += here.length / 16;
    return edit_same(here, there);
}

static bool fits_at(struct patch *patch, const struct section *section, size_t at,
                    enum form form)
{
    size_t count;
    const struct change *changes = changes_of(section, &count);

    for (size_t i = 0; i < count; i++) {
        if (changes[i].sign != '+' && !is_like(patch, at++, changes[i].line, form))
            return false;
    }
    return true;
}

/* The first two places between the lines `begin` and `end`, and how many there are in all. */
static size_t find_places(struct patch *patch, const struct section *section, size_t begin,
                          size_t end, enum form form, size_t ret_places[2])
{
    size_t found = 0;

    if (end > patch->count)
        end = patch->count;
    for (size_t at = begin; at + section->old_count <= end && patch->work <= PATCH_WORK_LIMIT;
         at++) {
        if (!fits_at(patch, section, at, form))
            continue;
        if (found < 2)
            ret_places[found] = at;
        found++;
    }
    return found;
}

/* The lines that it expects in the file, for an error. */
static enum err_code complain_about(const struct section *section, enum err_code rc,
                                    const char *what, struct err *err)
{
    AUTO_BUF lines = {0};
    size_t count;
    const struct change *changes = changes_of(section, &count);

    for (size_t i = 0; i < count && lines.length <= PATCH_ERROR_LINES; i++) {
        if (changes[i].sign == '+')
            continue;
        if (lines.length)
            buf_add_char(&lines, '\n');
        buf_add(&lines, changes[i].line.at, changes[i].line.length);
    }
    return complain(err, rc, what, (struct edit_span){lines.data, lines.length});
}

static enum err_code too_much(struct err *err)
{
    return err_set(err, ERR_LIMIT, "The places of the diff took too long to look for.");
}

/* The line of the `@@` is found: the search goes on behind it. A line that an earlier section has passed stays where it
 * is, as several sections of one function name it. */
static enum err_code find_anchor(struct patch *patch, const struct section *section,
                                 struct err *err)
{
    char what[32];

    for (enum form form = AS_IT_IS; form < FORM_COUNT; form++) {
        for (size_t at = 0; at < patch->count && patch->work <= PATCH_WORK_LIMIT; at++) {
            if (!is_like(patch, at, section->anchor, form))
                continue;
            patch->after_anchor = at >= patch->cursor;
            if (patch->after_anchor)
                patch->cursor = at + 1;
            return ERR_OK;
        }
    }
    if (patch->work > PATCH_WORK_LIMIT)
        return too_much(err);
    (void)snprintf(what, sizeof(what), "Invalid Context %zu", patch->cursor);
    return complain(err, ERR_NOT_FOUND, what, section->anchor);
}

/* Where the section's lines are in the file. */
static enum err_code find(struct patch *patch, const struct section *section, size_t *ret_at,
                          struct err *err)
{
    size_t begin = patch->cursor, places[2] = {0, 0}, found = 0;
    char what[96];

    if (section->at_end && begin + section->old_count <= patch->count)
        begin = patch->count - section->old_count;
    for (enum form form = AS_IT_IS; form < FORM_COUNT && !found; form++) {
        found = find_places(patch, section, begin, patch->count, form, places);
        /* Some models repeat the line of the `@@` as context. */
        if (!found && patch->after_anchor && !section->at_end)
            found = find_places(patch, section, begin - 1, begin - 1 + section->old_count, form,
                                places);
    }
    if (patch->work > PATCH_WORK_LIMIT)
        return too_much(err);
    *ret_at = places[0];
    if (found == 1)
        return ERR_OK;
    if (found) {
        (void)snprintf(what, sizeof(what), "Ambiguous Context %zu, lines %zu and %zu%s",
                       patch->cursor, places[0] + 1, places[1] + 1,
                       found > 2 ? " and others" : "");
        return complain_about(section, ERR_CONFLICT, what, err);
    }
    (void)snprintf(what, sizeof(what), "Invalid %sContext %zu", section->at_end ? "EOF " : "",
                   patch->cursor);
    return complain_about(section, ERR_NOT_FOUND, what, err);
}

/* Lines without context. */
static enum err_code find_gap(const struct patch *patch, const struct section *section,
                              size_t *ret_at, struct err *err)
{
    *ret_at = section->at_end ? patch->count : patch->cursor;
    if (section->at_end || patch->after_anchor || !patch->count)
        return ERR_OK;
    return err_set(
        err, ERR_INVALID,
        "Missing Context %zu:\nThe section only adds lines. Name the line before them "
        "behind '@@', or end it with '%s'.",
        patch->cursor, end_of_file);
}

/* ---- The new text ---- */

/* Lines of the file as they are, each with a line end. */
static void copy_lines(struct patch *patch, size_t end)
{
    for (; patch->copied < end; patch->copied++) {
        struct edit_span line = edit_line(&patch->lines, patch->copied);

        buf_add(&patch->out, line.at, line.length);
        if (patch->copied + 1 < patch->lines.count)
            buf_add_char(&patch->out, '\n');
        else /* the last one has none, and loses it again */
            buf_add_text(&patch->out, patch->line_end);
    }
}

static void change_lines(struct patch *patch, const struct section *section, size_t at)
{
    size_t count;
    const struct change *changes = changes_of(section, &count);

    copy_lines(patch, at);
    for (size_t i = 0; i < count; i++) {
        if (changes[i].sign == ' ') {
            copy_lines(patch, patch->copied + 1);
        } else if (changes[i].sign == '-') {
            patch->copied++;
        } else {
            buf_add(&patch->out, changes[i].line.at, changes[i].line.length);
            buf_add_text(&patch->out, patch->line_end);
        }
    }
    patch->cursor = patch->copied;
}

static enum err_code apply(struct patch *patch, const struct section *section, struct err *err)
{
    enum err_code rc = ERR_OK;
    size_t count, at = 0;

    patch->after_anchor = false;
    if (section->anchored)
        rc = find_anchor(patch, section, err);
    (void)changes_of(section, &count);
    if (rc || !count)
        return rc;
    rc = section->old_count ? find(patch, section, &at, err)
                            : find_gap(patch, section, &at, err);
    if (rc)
        return rc;
    change_lines(patch, section, at);
    patch->sections += section->changing;
    return ERR_OK;
}

/* The end of the text is as it was: with a line end or without. */
static void finish(struct patch *patch)
{
    struct buf *out = &patch->out;

    copy_lines(patch, patch->count);
    if (patch->count != patch->lines.count || !out->length)
        return;
    out->length--;
    if (strcmp(patch->line_end, "\r\n") == 0 && out->length &&
        out->data[out->length - 1] == '\r')
        out->length--;
}

static enum err_code take_out(struct buf *out, size_t sections, struct text_change *ret_change,
                              struct err *err)
{
    if (out->length > EDIT_FILE_LIMIT)
        return too_large(err, "file would have");
    *ret_change = (struct text_change){.length = out->length, .replacements = sections};
    *buf_reserve(out, 1) = '\0';
    ret_change->bytes = buf_take(out);
    return ERR_OK;
}

static enum err_code apply_all(struct patch *patch, struct edit_span diff, struct err *err)
{
    struct reader reader;
    enum err_code rc = ERR_OK;

    reader_init(&reader, diff);
    while (reader.at < reader.end && !rc) {
        CLEANUP(section_clear) struct section section = {.anchored = false};

        rc = take_section(&reader, &section, err);
        rc = rc ? rc : apply(patch, &section, err);
    }
    reader_clear(&reader);
    if (!rc && !patch->sections)
        return err_set(err, ERR_INVALID, "The diff changes nothing.");
    return rc;
}

enum err_code patch_update(struct edit_span file, struct edit_span diff,
                           struct text_change *ret_change, struct err *err)
{
    struct edit_span text = edit_without_mark(file);
    struct patch patch;
    enum err_code rc;

    if (file.length > EDIT_FILE_LIMIT || diff.length > EDIT_FILE_LIMIT)
        return too_large(err, file.length > EDIT_FILE_LIMIT ? "file has" : "diff has");
    rc = text_file_check(file, err);
    if (rc)
        return rc;
    patch_init(&patch, text);
    buf_add(&patch.out, file.at, file.length - text.length);
    rc = apply_all(&patch, diff, err);
    if (!rc) {
        finish(&patch);
        rc = take_out(&patch.out, patch.sections, ret_change, err);
    }
    patch_clear(&patch);
    return rc;
}

enum err_code patch_create(struct edit_span diff, struct text_change *ret_change,
                           struct err *err)
{
    AUTO_BUF out = {0};
    struct reader reader;
    enum err_code rc = ERR_OK;

    if (diff.length > EDIT_FILE_LIMIT)
        return too_large(err, "diff has");
    reader_init(&reader, diff);
    for (; reader.at < reader.end && !rc; reader.at++) {
        struct edit_span line = peek(&reader);

        if (line.length && line.at[0] == '+') {
            buf_add(&out, line.at + 1, line.length - 1);
            buf_add_char(&out, '\n');
        } else if (is_text(line, no_newline) && out.length && reader.at + 1 == reader.end) {
            out.length--;
        } else {
            rc = complain(err, ERR_INVALID, "Invalid Line", line);
        }
    }
    reader_clear(&reader);
    return rc ? rc : take_out(&out, 1, ret_change, err);
}
