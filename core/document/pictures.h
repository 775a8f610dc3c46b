#ifndef RUNNEL_CORE_DOCUMENT_PICTURES_H
#define RUNNEL_CORE_DOCUMENT_PICTURES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/*
 * pictures.h -- pages of a PDF as pictures, for models that see.
 *
 * They are drawn by pdftoppm in a compute child. The long side of a picture has 1169 pixels, as a page of A4 has at
 * 100 dots an inch. So a page of any size takes as much memory.
 */

/* Pages behind these are not drawn. */
#define DOCUMENT_PICTURES_MAX       ((size_t)20)
#define DOCUMENT_PICTURES_BYTES_MAX ((size_t)64 << 20) /* of all pictures of a document */
#define DOCUMENT_PICTURE_BYTES_MAX \
    ((size_t)4200000) /* of one: 1169 times 1169 pixels, if nothing can be compressed */

/* PNG files, one behind the other. */
struct document_pictures {
    struct buf bytes;
    size_t ends[DOCUMENT_PICTURES_MAX]; /* where each one ends in `bytes` */
    size_t count;
};

void document_pictures_clear(struct document_pictures *pictures);

/* Finds where each one ends, in bytes alone. False: they are no whole PNG files, or too many. */
bool document_pictures_divide(struct document_pictures *pictures);

/* Draws the first pages of a PDF, which is borrowed; its offset is moved. Blocks like document_read(): for workers,
 * never for loops. The pictures are whole PNG files by their structure; what they show is the document's business.
 *
 * ERR_INVALID with REASON_UNSUPPORTED: no PDF, or pdftoppm is not installed. With REASON_BAD_VALUE: it is damaged or
 * encrypted, or takes too long. ERR_TOO_LARGE: more than DOCUMENT_PICTURES_BYTES_MAX. ERR_LIMIT, ERR_INTERNAL: as of
 * document_read(). */
enum err_code document_pictures(int fd, struct document_pictures *ret_pictures,
                                struct err *err) MUST_CHECK;

#endif
