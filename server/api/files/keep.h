#ifndef RUNNEL_SERVER_API_FILES_KEEP_H
#define RUNNEL_SERVER_API_FILES_KEEP_H

#include <jansson.h>
#include <stdbool.h>

#include "core/blob/blob.h"
#include "core/domain/tenant.h"
#include "core/store/tables/idempotency.h"
#include "server/api/aside.h"
#include "server/api/files/file_form.h"

/*
 * keep.h -- the end of a form with a file: its bytes become durable, then a row holds them, then the client has its
 * answer. Disk and COMMIT take their time, so that happens beside the request (aside.h).
 *
 * A struct keep is part of a larger struct with the row.
 */

struct keep;

struct keep_ops {
    /* Makes the row. On a worker. `held`: the blob that the row has; another one, if the request was carried out
     * before. */
    enum err_code (*store)(struct keep *keep, const struct blob_row *blob,
                           char ret_held[ID_SIZE], struct err *err);
    /* The row as an object. On an HTTP worker. */
    json_t *(*answer)(struct keep *keep);
    void (*free)(struct keep *keep);
    bool is_piece; /* of a file that is checked as a whole, later (file_check.h) */
};

struct keep {
    struct aside aside;
    const struct keep_ops *ops;
    struct server *server;
    struct tenant tenant;
    struct blob_write *write;
    char key[IDEMPOTENCY_KEY_LIMIT + 1];
    struct idempotency idempotency;
};

/* For the end() of a form. Takes the form's bytes; and `keep`, also if it fails. `fields` is a text that is equal for
 * equal forms, beside the bytes: for the header Idempotency-Key. */
enum err_code keep_begin(struct request *request, struct file_form *form, const char *fields,
                         struct keep *keep, const struct keep_ops *ops,
                         struct err *err) MUST_CHECK;

#endif
