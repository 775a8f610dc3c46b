#ifndef RUNNEL_CORE_DOCUMENT_SCAN_H
#define RUNNEL_CORE_DOCUMENT_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/document/document.h"

/*
 * scan.h -- the text of pictures: of scanned pages, and of files that are pictures.
 *
 * Tesseract reads it, in a compute child, from a picture that pdftoppm draws in another child. A page has a child of
 * its own, so one page that takes too long costs no other page its text. A model may read it instead:
 * then the caller brings a function (document_scans.read), and this room knows nothing of models.
 */

/* A picture has this many pixels on its longer side, as A4 has at 150 dots an inch. */
#define SCAN_SIDE "1754"

/* How many pages have no text. */
size_t scan_count(const struct document *document);

/* Fills in the text of pages that have none. The file is that of the document. A page whose picture cannot be
 * drawn or read stays empty.
 *
 * ERR_INVALID with REASON_UNSUPPORTED: Tesseract or a language is not installed. ERR_CANCELLED: the options said so.
 * ERR_TOO_LARGE, ERR_LIMIT, ERR_INTERNAL: as of document_read(). Those of the options' `read`. */
enum err_code scan_read_pages(int fd, const struct document_scans *scans,
                              struct document *document, struct err *err) MUST_CHECK;

/* Adds the text of a file that is a picture, whose bytes these are. ERR_INVALID also for a picture that cannot be
 * read. */
enum err_code scan_read_picture(int fd, const char *bytes, size_t length,
                                const struct document_scans *scans, struct buf *text,
                                struct err *err) MUST_CHECK;

/* The bytes begin like a picture that Tesseract reads: PNG, JPEG, WebP. */
bool scan_is_picture(const char *bytes, size_t length);

/* Pages can be drawn, and there is what reads them: Tesseract with these languages, or a model. */
bool scan_is_possible(const struct document_scans *scans);

/* What the children do. */
int task_draw_page(void);    /* the argument is the number of the page */
int task_read_picture(void); /* the argument is the languages */

#endif
