/*
 * scan.c -- page after page: draw it, read it, put its text in its place.
 *
 * Tesseract could read a PDF's pictures all at once. Then a document of a thousand pages would be one child with the
 * time of one, and a picture in the middle could take the text of all along. Page by page the limits of a child are
 * those of a page, and a caller that has to end waits for a page and not for a book.
 */

#include "core/document/scan.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/document/plain_text.h"
#include "core/document/reading.h"
#include "core/document/tasks.h"
#include "core/sandbox/memory_file.h"

#define DRAW_PROGRAM   "/usr/bin/pdftoppm"
#define READ_PROGRAM   "/usr/bin/tesseract"
#define LANGUAGE_FILES "/usr/share/tesseract-ocr/*/tessdata/%.*s.traineddata"

#define PICTURE_BYTES_MAX ((size_t)16 << 20)
#define TEXT_BYTES_MAX    ((size_t)1 << 20) /* of one page */

/* ---- The children ---- */

int task_draw_page(void)
{
    const char *page = compute_argument();
    const char *const arguments[] = {"pdftoppm", "-q", "-png", "-gray", "-scale-to", SCAN_SIDE,
                                     "-f",       page, "-l",   page,    "-",         NULL};

    return task_become(DRAW_PROGRAM, arguments);
}

static bool has_language(const char *name, size_t length)
{
    AUTO_FREE char *pattern = mem_printf(LANGUAGE_FILES, (int)length, name);
    glob_t found = {0};
    bool has = glob(pattern, 0, NULL, &found) == 0;

    globfree(&found);
    return has;
}

static bool has_languages(const char *names)
{
    while (*names) {
        size_t length = strcspn(names, "+");

        if (!has_language(names, length))
            return false;
        names += length + (names[length] == '+');
    }
    return true;
}

bool scan_is_possible(const struct document_scans *scans)
{
    if (scans->read)
        return access(DRAW_PROGRAM, X_OK) == 0;
    return access(READ_PROGRAM, X_OK) == 0 && has_languages(scans->languages);
}

int task_read_picture(void)
{
    const char *languages = compute_argument();
    const char *const arguments[] = {"tesseract", "stdin", "stdout",          "-l",
                                     languages,   "-c",    "page_separator=", NULL};

    if (!has_languages(languages))
        return READING_NO_READER;
    return task_become(READ_PROGRAM, arguments);
}

/* ---- One picture ---- */

/* Of a child that could not do its work for a reason that is not the picture's. */
static enum err_code look_at_end(const struct compute_end *end,
                                 const struct document_scans *scans, struct err *err)
{
    if (end->why == COMPUTE_BUSY)
        return err_set(err, ERR_LIMIT, "Too many files are being read. Try again later.");
    if (end->why == COMPUTE_LOST)
        return err_set(err, ERR_INTERNAL, "the child that read a picture was lost");
    if (end->why == COMPUTE_EXITED && end->status == COMPUTE_NOT_CONFINED)
        return err_refuse(
            err, ERR_INVALID, REASON_UNSUPPORTED, NULL,
            "It looks scanned, and this machine cannot confine what reads pictures.");
    if (end->why == COMPUTE_EXITED && end->status == READING_NO_READER && scans->read)
        return err_refuse(err, ERR_INVALID, REASON_UNSUPPORTED, NULL,
                          "It looks scanned, and this server cannot draw its pages: "
                          "poppler-utils is not installed.");
    if (end->why == COMPUTE_EXITED && end->status == READING_NO_READER)
        return err_refuse(
            err, ERR_INVALID, REASON_UNSUPPORTED, NULL,
            "It looks scanned, and this server cannot read it: tesseract-ocr with "
            "the languages '%s' is not installed.",
            scans->languages);
    return ERR_OK;
}

static bool is_done(const struct compute_end *end)
{
    return end->why == COMPUTE_EXITED && end->status == READING_DONE;
}

/* *ret_done is false when the child came to no end of its own, or wrote too much. */
static enum err_code run(const struct compute_plan *plan, const struct document_scans *scans,
                         struct buf *output, bool *ret_done, struct err *err)
{
    struct compute_end end = {0};
    enum err_code rc;

    if (lseek(plan->input, 0, SEEK_SET) != 0)
        return err_set(err, ERR_INTERNAL, "cannot read a file: %s", strerror(errno));
    rc = compute_run(plan, output, &end, err);
    *ret_done = !rc && is_done(&end);
    if (rc)
        return rc == ERR_TOO_LARGE ? ERR_OK : rc;
    return look_at_end(&end, scans, err);
}

/* Form feeds end pages, and a picture is none of its own. */
static void add_text(struct buf *text, const struct buf *output)
{
    size_t begin = text->length;

    plain_text_add_pages(text, output->data ? output->data : "", output->length);
    for (size_t i = begin; i < text->length; i++)
        if (text->data[i] == '\f')
            text->data[i] = '\n';
    while (text->length > begin && strchr(" \n", text->data[text->length - 1]))
        text->data[--text->length] = '\0';
}

static enum err_code read_picture(int fd, const struct document_scans *scans, struct buf *text,
                                  bool *ret_done, struct err *err)
{
    const struct compute_plan plan = {.task = DOCUMENT_TASK_READ_PICTURE,
                                      .input = fd,
                                      .output_max = TEXT_BYTES_MAX,
                                      .wall_ms = DOCUMENT_WALL_MS,
                                      .argument = scans->languages};
    AUTO_BUF output = {0};
    enum err_code rc = run(&plan, scans, &output, ret_done, err);

    if (!rc && *ret_done)
        add_text(text, &output);
    return rc;
}

/* The same by the reader of the options. */
static enum err_code ask_reader(const struct document_scans *scans, const char *bytes,
                                size_t length, struct buf *text, bool *ret_done,
                                struct err *err)
{
    AUTO_BUF output = {0};
    enum err_code rc = scans->read(scans->reader, bytes, length, &output, err);

    *ret_done = !rc && output.length <= TEXT_BYTES_MAX;
    if (*ret_done)
        add_text(text, &output);
    return rc == ERR_INVALID ? ERR_OK : rc;
}

bool scan_is_picture(const char *bytes, size_t length)
{
    return (length > 8 && memcmp(bytes, "\x89PNG\r\n\x1A\n", 8) == 0) ||
           (length > 3 && memcmp(bytes, "\xFF\xD8\xFF", 3) == 0) ||
           (length > 12 && memcmp(bytes, "RIFF", 4) == 0 && memcmp(bytes + 8, "WEBP", 4) == 0);
}

enum err_code scan_read_picture(int fd, const char *bytes, size_t length,
                                const struct document_scans *scans, struct buf *text,
                                struct err *err)
{
    bool done = false;
    enum err_code rc = ERR_OK;

    if (!scans->read)
        rc = read_picture(fd, scans, text, &done, err);
    else if (length <= PICTURE_BYTES_MAX)
        rc = ask_reader(scans, bytes, length, text, &done, err);

    if (rc || done)
        return rc;
    return err_refuse(err, ERR_INVALID, REASON_BAD_VALUE, NULL,
                      "The picture cannot be read: it is damaged, or too large.");
}

/* ---- The pages of a document ---- */

static bool is_blank(const char *page, size_t length)
{
    return strspn(page, " \t\n") >= length;
}

size_t scan_count(const struct document *document)
{
    const char *at = document->text.data ? document->text.data : "";
    size_t count = 0;

    for (size_t page = 1; page <= document->pages; page++) {
        size_t length = strcspn(at, "\f");

        count += is_blank(at, length);
        at += length;
        at += *at == '\f';
    }
    return count;
}

static enum err_code read_page(int fd, size_t page, const struct document_scans *scans,
                               struct buf *text, struct err *err)
{
    char number[24];
    struct compute_plan plan = {.task = DOCUMENT_TASK_DRAW_PAGE,
                                .input = fd,
                                .output_max = PICTURE_BYTES_MAX,
                                .wall_ms = DOCUMENT_WALL_MS,
                                .argument = number};
    AUTO_BUF picture = {0};
    bool done;
    enum err_code rc;
    int copy;

    (void)snprintf(number, sizeof(number), "%zu", page);
    rc = run(&plan, scans, &picture, &done, err);
    if (rc || !done)
        return rc;
    if (scans->read)
        return ask_reader(scans, picture.data ? picture.data : "", picture.length, text, &done,
                          err);
    copy = memory_file(picture.data ? picture.data : "", picture.length, err);
    if (copy < 0)
        return ERR_INTERNAL;
    rc = read_picture(copy, scans, text, &done, err);
    close(copy);
    return rc;
}

static enum err_code look_whether_to_stop(const struct document_scans *scans, size_t pages,
                                          struct err *err)
{
    if (!scans->stop || !scans->stop(scans->arg, pages))
        return ERR_OK;
    return err_set(err, ERR_CANCELLED, "the pages of a scan are not read to their end");
}

/* The pages in `text`, with form feeds between them. */
static enum err_code read_pages(int fd, const struct document_scans *scans,
                                const struct document *document, struct buf *text,
                                struct err *err)
{
    const char *at = document->text.data ? document->text.data : "";
    enum err_code rc = ERR_OK;
    size_t count = 0;
    uint64_t until_ns =
        scans->seconds ? clock_mono_ns() + scans->seconds * NS_PER_SECOND : UINT64_MAX;

    for (size_t page = 1; !rc && page <= document->pages; page++) {
        size_t length = strcspn(at, "\f");

        if (page > 1)
            buf_add_char(text, '\f');
        if (!is_blank(at, length)) {
            buf_add(text, at, length);
        } else if (count++ < scans->pages && clock_mono_ns() < until_ns) {
            rc = look_whether_to_stop(scans, document->pages, err);
            if (!rc)
                rc = read_page(fd, page, scans, text, err);
        }
        if (!rc && text->length > DOCUMENT_TEXT_MAX)
            rc =
                err_refuse(err, ERR_TOO_LARGE, REASON_BAD_VALUE, NULL,
                           "The file could not be parsed because it is too large: its text has "
                           "more than 64 MiB.");
        at += length;
        at += *at == '\f';
    }
    return rc;
}

enum err_code scan_read_pages(int fd, const struct document_scans *scans,
                              struct document *document, struct err *err)
{
    AUTO_BUF text = {0};
    enum err_code rc = read_pages(fd, scans, document, &text, err);

    if (rc)
        return rc;
    while (text.length && strchr("\f\n", text.data[text.length - 1]))
        text.data[--text.length] = '\0';
    buf_clear(&document->text);
    document->text = text;
    text = (struct buf){0};
    return ERR_OK;
}
