#include "server/api/files/keep.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "server/api/request_key.h"
#include "server/files/file_check.h"
#include "server/server.h"

/* The bytes are safe and checked before the row is made, and the row before the answer. */
static enum err_code store_bytes(struct keep *keep, struct err *err)
{
    struct blob_row blob;
    char held[ID_SIZE] = "";
    enum err_code rc = blob_write_finish(keep->write, &blob, err);

    if (rc)
        return rc;
    if (!keep->ops->is_piece)
        rc = file_check(keep->server, &keep->tenant, blob.id, err);
    if (!rc)
        rc = keep->ops->store(keep, &blob, held, err);
    if (rc || strcmp(held, blob.id) != 0)
        blob_remove_unheld(keep->server->blobs, &keep->tenant, blob.id);
    return rc;
}

static void run(struct work *work)
{
    struct keep *keep = CONTAINER_OF(work, struct keep, aside.work);
    enum err_code rc = store_bytes(keep, &keep->aside.err);

    blob_write_free(TAKE(keep->write));
    aside_done(&keep->aside, rc);
}

static enum err_code resume(struct request *request, struct aside *aside, struct err *err)
{
    struct keep *keep = CONTAINER_OF(aside, struct keep, aside);

    (void)err;
    request_answer(request, 200, keep->ops->answer(keep));
    return ERR_OK;
}

static void aside_free(struct aside *aside)
{
    struct keep *keep = CONTAINER_OF(aside, struct keep, aside);

    blob_write_free(keep->write);
    keep->ops->free(keep);
}

static const struct aside_ops aside_ops = {.resume = resume, .free = aside_free};

static enum err_code find_key(struct request *request, const struct blob_write *write,
                              const char *fields, struct keep *keep, struct err *err)
{
    AUTO_BUF digest = {0};
    uint8_t hash[BLOB_HASH_SIZE];
    enum err_code rc;

    blob_write_hash(write, hash);
    buf_addf(&digest, "%s\n", fields);
    for (size_t i = 0; i < sizeof(hash); i++)
        buf_addf(&digest, "%02x", hash[i]);
    rc = request_key_streamed(request, digest.data, &keep->idempotency, err);
    if (rc)
        return rc;
    /* The request may go before the key is used. */
    memcpy(keep->key, keep->idempotency.key, strlen(keep->idempotency.key) + 1);
    keep->idempotency.key = keep->key;
    return ERR_OK;
}

enum err_code keep_begin(struct request *request, struct file_form *form, const char *fields,
                         struct keep *keep, const struct keep_ops *ops, struct err *err)
{
    enum err_code rc = find_key(request, form->write, fields, keep, err);

    if (rc) {
        ops->free(keep); /* the bytes are dropped with the form, on a worker */
        return rc;
    }
    keep->ops = ops;
    keep->server = request_server(request);
    keep->tenant = tenant_kept(request_tenant(request));
    keep->write = TAKE(form->write);
    keep->aside.work.run = run;
    aside_begin(request, &keep->aside, &aside_ops);
    /* A check may take a minute, and then other bytes must not wait for it. */
    workers_put(keep->server->checkers && !ops->is_piece ? keep->server->checkers
                                                         : keep->server->file_workers,
                &keep->aside.work);
    return ERR_OK;
}
