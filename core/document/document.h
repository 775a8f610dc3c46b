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
 *   text, Markdown, code, JSON, YAML           here                 plain_text.h
 *   CSV, TSV                                   in a child           csv.h
 *   HTML, XHTML                                gumbo, in a child    html.h
 *   XML                                        libxml2, in a child  office/xml_text.h
 *   DOCX, PPTX, XLSX, ODT, ODS, ODP, EPUB      libarchive, libxml2  office/office.h
 *   PDF, RTF, DOC                              pdftotext, unrtf, antiword, as far as they are installed
 *
 * The text of all types has one form, so that what cuts it into passages needs to know nothing of types:
 *
 *   a page      ends where a form feed stands. Pages are those of a PDF, and slides; other types have none.
 *               Inside of a page there is no form feed
 *   a heading   is a line that begins with one to six "#" and a blank, as in Markdown
 *   a list      has "- " before each item, behind two blanks for each level
 *   a table     is a Markdown table, and nothing else begins a line with "| ":
 *
 *                   | name | price |
 *                   | --- | --- |
 *                   | tea | 3 |
 *
 *               Its first row is its header, also if the file calls it nothing. A row is one line and begins with "| ".
 *               The second line is made of "| ---", as often as the header has cells, and " |". An empty line ends
 *               the table. A bar inside of a cell is "\|", and a new line is a blank. A row may have fewer
 *               cells than the header, or more. So a table that is cut can repeat its first two lines
 *   a block     otherwise: lines of text, and an empty line behind them
 *
 * Plain text, Markdown, code, JSON and YAML are left as they are: they may look like any of this, or not.
 */

/* Limits of one document. */
#define DOCUMENT_TEXT_MAX  ((size_t)64 << 20) /* bytes of its text */
#define DOCUMENT_PAGES_MAX ((size_t)10000)
#define DOCUMENT_WALL_MS   60000

/* What children can do; the caller hands it to compute_start(). */
enum {
    DOCUMENT_TASK_HTML,
    DOCUMENT_TASK_PDF,
    DOCUMENT_TASK_CSV,
    DOCUMENT_TASK_XML,
    DOCUMENT_TASK_OFFICE,
    DOCUMENT_TASK_RTF,
    DOCUMENT_TASK_DOC,
    DOCUMENT_TASK_PICTURES,  /* pictures.h */
    DOCUMENT_TASK_PAGE,      /* page/page.h */
    DOCUMENT_TASK_DRAW_PAGE, /* scan.h, as the next */
    DOCUMENT_TASK_READ_PICTURE,
    DOCUMENT_TASK_UNPACK, /* bundle/bundle.h, as the next */
    DOCUMENT_TASK_PACK,
    DOCUMENT_TASKS
};
extern const struct compute_task document_tasks[DOCUMENT_TASKS];

/* How pictures become text. */
struct document_scans {
    /* As Tesseract names them: "eng+chi_sim"; shorter than COMPUTE_ARGUMENT. NULL with `read` */
    const char *languages;
    size_t
        pages; /* of a document, at most: each takes a second or more. Others stay without text */
    unsigned seconds; /* for all pages; what is left then stays without text. 0: no limit */
    /* Asked before each page, on the calling thread, with how many pages the document has; may be NULL */
    bool (*stop)(void *arg, size_t pages);
    void *arg;
    /* Reads a picture instead of Tesseract, on the calling thread: a model. Its text is taken as hostile. ERR_INVALID:
     * this picture has no text that it could say. Any other error ends the reading, and is that of document_read().
     * NULL: Tesseract */
    enum err_code (*read)(void *reader, const char *picture, size_t length,
                          struct buf *ret_text, struct err *err);
    void *reader;
};

/* The text of a document: valid UTF-8 without control characters other than newline and tab. A form feed stands between
 * pages, if the type has pages. */
struct document {
    struct buf text;
    size_t pages; /* 0: the type has no pages */
};

void document_clear(struct document *document);

/* Reads a document from a file, which is borrowed; its offset is moved. `filename` may be NULL: it only helps to
 * find the type. `scans` says how to read pages without text, and files that are pictures; NULL: they are not read.
 * Blocks for up to DOCUMENT_WALL_MS, and twice that for each scanned page, or as long as its reader takes: for workers,
 * never for loops.
 *
 * ERR_INVALID with REASON_UNSUPPORTED: no type that is read here, or its reader is not installed. Each API has a first
 * sentence of its own for that, so the text is the second one: "It is a PNG picture."
 * ERR_INVALID with REASON_BAD_VALUE: the type is known, and the bytes are broken, encrypted, or have no text. Plain
 * text, XML and CSV may be empty. With REASON_SCANNED: a PDF without text.
 * ERR_TOO_LARGE: more text, pages or parts than a limit allows, or more memory than a child has.
 * ERR_CANCELLED: `scans` stopped it. ERR_LIMIT: too many files at once. ERR_INTERNAL: no child could be started. Each
 * has one sentence. */
enum err_code document_read(int fd, const char *filename, const struct document_scans *scans,
                            struct document *ret_document, struct err *err) MUST_CHECK;

/* What can be read here, for people. */
struct document_reader {
    const char *type;    /* "pdf", "office" ... */
    const char *package; /* that brings its reader; "" for what is part of this program */
    bool is_there;       /* its reader is installed, and the kernel can confine it */
};
/* Returns how many types there are. `scans` may be NULL: they are not read. */
#define DOCUMENT_READERS (DOCUMENT_TYPES + 1)
size_t document_readers(const struct document_scans *scans,
                        struct document_reader ret_readers[DOCUMENT_READERS]);

#endif
