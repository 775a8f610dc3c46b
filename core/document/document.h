#ifndef RUNNEL_CORE_DOCUMENT_DOCUMENT_H
#define RUNNEL_CORE_DOCUMENT_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/document/document_type.h"
#include "core/sandbox/compute.h"

/*
 * document.h -- the text of a document that a stranger has sent.
 *
 * Plain text is decoded here, by code that does nothing but count and copy. Every other type is read in a compute child
 * (core/sandbox), because its parser is a large library or program:
 *
 *   text, Markdown, code, CSV, JSON   here               plain_text.h
 *   HTML                              gumbo, in a child   html.h
 *   PDF                               pdftotext, in a child; the program must be installed
 *
 * Headings are lines that begin with "#", as in Markdown. Other structure is left as it is.
 */

/* Limits of one document. */
#define DOCUMENT_TEXT_MAX  ((size_t)64 << 20) /* bytes of its text */
#define DOCUMENT_PAGES_MAX ((size_t)10000)
#define DOCUMENT_WALL_MS   60000

/* What children can do; the caller hands it to compute_start(). */
enum { DOCUMENT_TASK_HTML, DOCUMENT_TASK_PDF, DOCUMENT_TASKS };
extern const struct compute_task document_tasks[DOCUMENT_TASKS];

/* The text of a document: valid UTF-8 without control characters other than newline and tab. A form feed stands between
 * pages, if the type has pages. */
struct document {
    struct buf text;
    size_t pages; /* 0: the type has no pages */
};

void document_clear(struct document *document);

/* Reads a document from a file, which is borrowed; its offset is moved. `filename` may be NULL: it only helps to
 * find the type. Blocks for up to DOCUMENT_WALL_MS: for workers, never for loops.
 *
 * ERR_INVALID with REASON_UNSUPPORTED: no type that is read here, or its reader is not installed. ERR_INVALID
 * with REASON_BAD_VALUE: the type is known, and the bytes are broken, encrypted, or have no text. ERR_TOO_LARGE: the text has more than
 * DOCUMENT_TEXT_MAX bytes. ERR_INTERNAL: no child could be confined here. Each has one sentence. */
enum err_code document_read(int fd, const char *filename, struct document *ret_document,
                            struct err *err) MUST_CHECK;

#endif
