/*
 * Batches: files that were attached together.
 *
 * A batch has no status of its own. It is what its files are, so that `status` and `file_counts` change together: one
 * SDK polls by the first, another by the second.
 */

#include "core/base/ids.h"
#include "core/store/tables/vector_stores/store_files.h"
#include "server/api/api.h"
#include "server/api/request_key.h"
#include "server/api/vector_stores/held_poll.h"
#include "server/encode/encode_vector_store.h"
#include "server/params/vector_store_params.h"
#include "server/server.h"

#include <string.h>

static enum err_code answer(struct request *request, const struct file_batch_row *row)
{
    if (row->counts[STORE_FILE_IN_PROGRESS])
        poll_header_set(request, row->created_at);
    request_answer(request, 200, encode_file_batch(row));
    return ERR_OK;
}

enum err_code api_file_batch_create(struct request *request, struct err *err)
{
    CLEANUP(file_list_clear) struct file_list list = {0};
    const char *store_id = request_param(request, "store");
    struct file_batch_row row = {0};
    struct idempotency idempotency;
    enum err_code rc = file_batch_read_body(request_json(request), &list, err);

    if (!rc)
        rc = request_key(request, &idempotency, err);
    if (rc)
        return rc;
    id_make(row.id, "vsfb_");
    if (strlen(store_id) < sizeof(row.store_id))
        memcpy(row.store_id, store_id, strlen(store_id) + 1);
    rc = store_file_batch_create(request_server(request)->store, request_tenant(request),
                                 &idempotency, list.files, list.count, &row, err);
    return rc ? rc : answer(request, &row);
}

enum err_code api_file_batch_get(struct request *request, struct err *err)
{
    struct file_batch_row row;
    enum err_code rc = store_file_batch_get(
        request_server(request)->store, request_tenant(request),
        request_param(request, "store"), request_param(request, "batch"), &row, err);

    return rc ? rc : answer(request, &row);
}

enum err_code api_file_batch_cancel(struct request *request, struct err *err)
{
    struct file_batch_row row;
    enum err_code rc = store_file_batch_cancel(
        request_server(request)->store, request_tenant(request),
        request_param(request, "store"), request_param(request, "batch"), &row, err);

    return rc ? rc : answer(request, &row);
}
