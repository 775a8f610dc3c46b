#include "core/store/tables/vector_stores/document_counts.h"

#include "core/store/pg/db.h"
#include "core/store/tables/vector_stores/vector_store_sql.h"

enum err_code store_document_counts(struct store *store, const struct tenant *tenant,
                                    struct document_counts *ret_counts, struct err *err)
{
    static const struct db_statement count = {
        "store_document_counts",
        "SELECT (SELECT count(*) FROM vector_stores v WHERE v.project_id = $1),"
        " count(*) FILTER (WHERE d.state = 'queued'),"
        " count(*) FILTER (WHERE d.state = 'parsing'),"
        " count(*) FILTER (WHERE d.state = 'ready'),"
        " count(*) FILTER (WHERE d.state = 'failed'),"
        " coalesce(sum(d.chunk_count) FILTER (WHERE d.state = 'ready'), 0)::bigint,"
        " coalesce(sum(d.usage_bytes) FILTER (WHERE d.state = 'ready'), 0)::bigint"
        " FROM documents d WHERE d.project_id = $1"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    rc = db_once(store, &count, &args, &rows, err);
    if (rc)
        return rc;
    *ret_counts = (struct document_counts){
        .vector_stores = (uint64_t)db_int(rows, 0, 0),
        .queued = (uint64_t)db_int(rows, 0, 1),
        .parsing = (uint64_t)db_int(rows, 0, 2),
        .ready = (uint64_t)db_int(rows, 0, 3),
        .failed = (uint64_t)db_int(rows, 0, 4),
        .chunks = (uint64_t)db_int(rows, 0, 5),
        .usage_bytes = (uint64_t)db_int(rows, 0, 6),
    };
    return ERR_OK;
}

enum err_code store_document_queue(struct store *store, struct document_queue *ret_queue,
                                   struct err *err)
{
    static const struct db_statement look = {
        "store_document_queue",
        "SELECT count(*), coalesce(greatest(0, " VECTOR_STORES_NOW " - min(d.queued_at)), 0)"
        " FROM documents d WHERE d.state = 'queued'"};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = db_once(store, &look, NULL, &rows, err);

    if (rc)
        return rc;
    *ret_queue = (struct document_queue){(uint64_t)db_int(rows, 0, 0), db_int(rows, 0, 1)};
    return ERR_OK;
}
