#ifndef RUNNEL_SERVER_API_FILES_FILE_FORM_H
#define RUNNEL_SERVER_API_FILES_FILE_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/blob/blob.h"
#include "core/domain/tenant.h"
#include "server/http/request.h"

/*
 * file_form.h -- a form with one file and a few fields, taken as it arrives: the file into a blob.
 *
 * Node's SDK sends the file before the fields, chunked and without a length, so nothing can be decided before the
 * end but sizes. What is too large, or does not fit on the disk, is refused as early as it is known: by
 * Content-Length, before anything is read. Memory: a piece of the body, and the fields.
 *
 * The pieces are taken by file workers, because the place of the bytes may be slow: a bucket, a database, a disk.
 *
 * A form that ends before its end() has taken the blob drops the blob.
 */

#define FILE_FORM_FIELDS 3

struct file_form;
struct multipart;
struct server;

struct file_form_kind {
    /* Of the fields, at most FILE_FORM_FIELDS; then of the file; ends with NULL */
    const char *const *names;
    /* The file has more bytes than it may: the error for that. */
    enum err_code (*too_large)(const struct file_form *form, struct err *err);
    /* The form is whole, and has a file. An endpoint (request.h). */
    enum err_code (*end)(struct request *request, struct file_form *form, struct err *err);
};

struct file_form {
    const struct file_form_kind *kind;
    struct server *server;
    struct tenant tenant;
    char *boundary;
    struct multipart *reader;
    bool in_file; /* what the present part is: the file, */
    size_t field; /* or a field; FILE_FORM_FIELDS: neither */
    struct buf fields[FILE_FORM_FIELDS];
    bool given[FILE_FORM_FIELDS];
    char *filename;           /* as it is kept (file_name.h); end() may take it */
    struct blob_write *write; /* all bytes of the file; end() takes it */
    uint64_t bytes;
    uint64_t limit; /* of them */
    uint64_t total; /* what else too_large() needs to know */
};

/* For an endpoint with ROUTE_STREAMED, as its last step: refuses what is too large by its head, then takes the form. */
enum err_code file_form_take(struct request *request, const struct file_form_kind *kind,
                             uint64_t limit, uint64_t total, struct err *err) MUST_CHECK;

/* A field's value; NULL if it was not given. The caller frees. */
char *file_form_field(const struct file_form *form, size_t field);

#endif
