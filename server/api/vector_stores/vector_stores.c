/*
 * Vector stores: made, listed, changed, deleted. Those of another project are unknown.
 */

#include "core/store/tables/vector_stores/vector_stores.h"

#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "server/api/api.h"
#include "server/api/request_key.h"
#include "server/encode/encode_vector_store.h"
#include "server/params/params.h"
#include "server/params/vector_store_params.h"
#include "server/server.h"

static enum err_code answer(struct request *request, struct vector_store_row *row)
{
    request_answer(request, 200, encode_vector_store(row));
    vector_store_row_clear(row);
    return ERR_OK;
}

/* ---- Making ---- */

static enum err_code read_row(const json_t *body, struct vector_store_row *row, struct err *err)
{
    static const char *const known[] = {
        "name",     "description",       "file_ids", "expires_after",
        "metadata", "chunking_strategy", NULL};
    const char *name = "", *description = NULL;
    json_t *metadata = NULL;
    enum err_code rc = param_unknown(body, "", known, err);

    if (!rc)
        rc =
            param_string(body, "", "name", PARAM_OPTIONAL, VECTOR_STORE_NAME_LIMIT, &name, err);
    if (!rc)
        rc = param_string(body, "", "description", PARAM_OPTIONAL,
                          VECTOR_STORE_DESCRIPTION_LIMIT, &description, err);
    if (!rc)
        rc = expires_after_read(body, &row->expires_days, err);
    if (!rc)
        rc = param_metadata(body, &metadata, err);
    if (rc)
        return rc;
    id_make(row->id, "vs_");
    row->created_at = clock_wall_us();
    row->name = mem_strdup(name);
    row->description = description ? mem_strdup(description) : NULL;
    row->metadata = metadata ? json_text(metadata) : mem_strdup("{}");
    return ERR_OK;
}

enum err_code api_vector_store_create(struct request *request, struct err *err)
{
    CLEANUP(vector_store_row_clear) struct vector_store_row row = {0};
    CLEANUP(file_list_clear) struct file_list files = {0};
    const json_t *body = request_json(request);
    struct idempotency idempotency;
    enum err_code rc = read_row(body, &row, err);

    if (!rc)
        rc = file_ids_read(body, "", VECTOR_STORE_NEW_FILES_LIMIT, &files, err);
    if (!rc)
        rc = request_key(request, &idempotency, err);
    if (!rc)
        rc = store_vector_store_create(request_server(request)->store, request_tenant(request),
                                       &idempotency, files.files, files.count, &row, err);
    return rc ? rc : answer(request, &row);
}

/* ---- One store ---- */

enum err_code api_vector_store_get(struct request *request, struct err *err)
{
    struct vector_store_row row;
    enum err_code rc =
        store_vector_store_get(request_server(request)->store, request_tenant(request),
                               request_param(request, "store"), &row, err);

    return rc ? rc : answer(request, &row);
}

/* Null clears: the name, the metadata, and the time at which it expires. */
enum err_code api_vector_store_modify(struct request *request, struct err *err)
{
    static const char *const known[] = {"name", "expires_after", "metadata", NULL};
    const json_t *body = request_json(request);
    struct vector_store_change change = {.expires_days = VECTOR_STORE_KEEP};
    AUTO_FREE char *metadata = NULL;
    struct vector_store_row row;
    enum err_code rc = param_unknown(body, "", known, err);

    if (!rc)
        rc = param_string(body, "", "name", PARAM_OPTIONAL, VECTOR_STORE_NAME_LIMIT,
                          &change.name, err);
    if (!rc)
        rc = expires_after_read(body, &change.expires_days, err);
    if (!rc)
        rc = param_metadata_change(body, &metadata, err);
    if (rc)
        return rc;
    if (!change.name && json_object_get(body, "name"))
        change.name = "";
    change.metadata = metadata;
    rc = store_vector_store_modify(request_server(request)->store, request_tenant(request),
                                   request_param(request, "store"), &change, &row, err);
    return rc ? rc : answer(request, &row);
}

enum err_code api_vector_store_delete(struct request *request, struct err *err)
{
    const char *id = request_param(request, "store");
    enum err_code rc = store_vector_store_delete(request_server(request)->store,
                                                 request_tenant(request), id, err);

    if (!rc)
        request_answer(request, 200, encode_deleted(id, "vector_store.deleted"));
    return rc;
}

enum err_code api_vector_store_list(struct request *request, struct err *err)
{
    struct vector_store_row *rows = NULL;
    struct page page;
    size_t count = 0;
    bool more = false;
    enum err_code rc = param_page(request, &page, err);

    if (!rc)
        rc = store_vector_store_list(request_server(request)->store, request_tenant(request),
                                     &page, &rows, &count, &more, err);
    if (rc)
        return rc;
    answer_rows(request, rows, count, more, encode_vector_store);
    vector_store_rows_free(rows, count);
    return ERR_OK;
}
