#ifndef RUNNEL_SERVER_FILES_STORED_FILE_H
#define RUNNEL_SERVER_FILES_STORED_FILE_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/blob/blob.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"

/*
 * stored_file.h -- a file of a project as a model gets it: a picture or other bytes in base64, or its text and the
 * pictures of its pages, which are made once (file_texts.h, file_pictures.h).
 *
 * All functions but file_picture_type() block on the store, a disk or a child: for workers.
 */

struct document;          /* core/document/document.h */
struct document_pictures; /* core/document/pictures.h */
struct server;

/* Bytes of a file that goes to a model. */
#define MODEL_FILE_LIMIT ((size_t)50 << 20)

/* Bytes of a file's text that a model is sent; behind them stands how much was left out. About 60,000 tokens. */
#define MODEL_FILE_TEXT_LIMIT ((size_t)240000)

/* Pages of a scan that are read for a request; each takes a second or more. Others stay without text. */
#define SCANNED_PAGES_READ ((size_t)20)
#define SCANNED_SECONDS \
    60 /* for all of them; a page that was begun then may take two minutes more */

struct stored_file {
    const struct server *server;
    struct store *store;
    struct blobs *blobs;
    struct tenant tenant;
    struct file_row row;
    struct blob_read *read;
};

/* What a model is shown of a file. */
struct shown_file {
    json_t *text; /* each page behind a line that names it, cut at MODEL_FILE_TEXT_LIMIT */
    size_t pages; /* of a PDF that can be drawn (document/pictures.h); 0 for all else */
};

/* ERR_NOT_FOUND, without a place: unknown, of another project, deleted or expired. Errors of blob.h. */
enum err_code stored_file_open(const struct server *server, const struct tenant *tenant,
                               const char *id, struct stored_file *ret_file,
                               struct err *err) MUST_CHECK;
void stored_file_close(struct stored_file *file); /* zeroed is fine */

/* "image/png" and so on, by the first bytes; NULL: they are no PNG, JPEG, WebP or GIF. Pure. */
const char *file_picture_type(const void *bytes, size_t size);
#define FILE_PICTURE_BYTES ((size_t)12)

/* The same of a file. ERR_INVALID, with the sentence for the client: it is no such picture, or larger than
 * MODEL_FILE_LIMIT. */
enum err_code stored_file_picture(const struct stored_file *file, const char **ret_type,
                                  struct err *err) MUST_CHECK;

/* All bytes, as many as row.bytes says. */
enum err_code stored_file_bytes(const struct stored_file *file, char *ret_bytes,
                                struct err *err) MUST_CHECK;

/* "application/pdf" and so on, by the bytes; "application/octet-stream" for all others. A constant. */
const char *stored_file_media_type(const struct stored_file *file);

/* "data:TYPE;base64,...": the bytes, as a JSON string. ERR_TOO_LARGE: more than MODEL_FILE_LIMIT. */
enum err_code stored_file_url(const struct stored_file *file, const char *type,
                              json_t **ret_url, struct err *err) MUST_CHECK;

/* What a reader finds in it. The caller clears the document. Errors of document_read(), and ERR_TOO_LARGE. */
enum err_code stored_file_document(const struct stored_file *file,
                                   struct document *ret_document, struct err *err) MUST_CHECK;

/* Errors of document_read(), and ERR_TOO_LARGE. The caller owns the text. */
enum err_code stored_file_shown(const struct stored_file *file, struct shown_file *ret_shown,
                                struct err *err) MUST_CHECK;
/* Its text alone. */
enum err_code stored_file_text(const struct stored_file *file, json_t **ret_text,
                               struct err *err) MUST_CHECK;

/* The pages of a PDF as pictures, drawn once (file_pictures.h). The caller clears them. Errors of document_pictures(),
 * and of blob.h. */
enum err_code stored_file_pictures(const struct stored_file *file,
                                   struct document_pictures *ret_pictures,
                                   struct err *err) MUST_CHECK;

/* The same of bytes that came with a request. `name` may be NULL. */
enum err_code file_shown(const struct server *server, const void *bytes, size_t size,
                         const char *name, struct shown_file *ret_shown,
                         struct err *err) MUST_CHECK;

/* The bytes as a file without a name, which the caller closes. */
enum err_code stored_file_copy(const struct stored_file *file, int *ret_fd,
                               struct err *err) MUST_CHECK;
enum err_code file_copy(const void *bytes, size_t size, int *ret_fd,
                        struct err *err) MUST_CHECK;

#endif
