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

bool scan_is_possible(const char *languages)
{
    return access(READ_PROGRAM, X_OK) == 0 && has_languages(languages);
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
