#include "core/store/cluster/document_leases.h"

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/store/pg/state.h"
#include "core/store/tables/runs/load.h"

/* One that is locked is being published or attached to a store: its turn comes with the next renewal. The keeper does
 * not wait for it, because the leases of runs would wait, too. Nor does it become an orphan meanwhile: recovery skips
 * what is locked. */
enum err_code store_document_leases_renew(struct store *store, const char *const *ids,
                                          const int64_t *fences, size_t count, struct err *err)
{
    static const struct db_statement renew = {
        "store_document_leases_renew",
        "WITH held AS MATERIALIZED (SELECT d.project_id, d.id FROM documents d"
        "  JOIN unnest($1::text[], $2::bigint[]) u (id, fence)"
        "   ON u.id = d.id AND u.fence = d.fence"
        "  WHERE d.state = 'parsing' AND d.owner = $3 ORDER BY d.id"
        "  FOR UPDATE OF d SKIP LOCKED)"
        " UPDATE documents d"
        "  SET lease_until = clock_timestamp() + $4::bigint * interval '1 microsecond'"
        " FROM held h WHERE d.project_id = h.project_id AND d.id = h.id"};
    AUTO_DB_ARGS args = {0};

    if (!count)
        return ERR_OK;
    db_arg_texts(&args, ids, count);
    db_arg_ints(&args, fences, count);
    db_arg_text(&args, store->node_id);
    db_arg_int(&args, store->lease_us);
    return db_once(store, &renew, &args, NULL, err);
}

/* $1 and $2 are this owner and its node, as for runs. */
static enum err_code recover(struct db *db, enum claim_scope scope, const char *const *ids,
                             size_t count, size_t *ret_count, struct err *err)
{
    static const struct db_statement recover = {
        "store_documents_recover",
        "WITH orphans AS MATERIALIZED (SELECT d.project_id, d.id FROM documents d"
        "  WHERE d.state = 'parsing' AND ((d.owner = $1 AND d.id <> ALL ($4::text[])"
        "    AND d.lease_until < clock_timestamp())"
        "   OR (d.owner <> $1 AND (split_part(d.owner, '/', 1) = $2"
        "    OR ($3::bool AND d.lease_until < clock_timestamp()))))"
        "  ORDER BY d.project_id, d.id FOR UPDATE SKIP LOCKED)"
        " UPDATE documents d SET state = 'queued', lease_until = NULL,"
        "  attempts = d.attempts + (d.owner <> $1)::integer, owner = NULL"
        " FROM orphans o WHERE d.project_id = o.project_id AND d.id = o.id"};
    AUTO_FREE char *node = node_of(db->store->node_id);
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_text(&args, db->store->node_id);
    db_arg_text(&args, node);
    db_arg_bool(&args, scope == CLAIM_ALL);
    db_arg_texts(&args, ids, count);
    rc = db_exec(db, &recover, &args, &rows, err);
    if (!rc)
        *ret_count = db_changed(rows);
    return rc;
}

enum err_code store_documents_recover(struct store *store, enum claim_scope scope,
                                      const char *const *ids, size_t count, size_t *ret_count,
                                      struct err *err)
{
    uint64_t begun = clock_mono_ns();
    AUTO_DB *db = NULL;
    size_t found = 0;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = recover(db, scope, ids, count, &found, err);
    if (!rc)
        rc = lease_refuse_late(db, begun, err);
    if (!rc && found)
        db_wake(db, WAKEUP_INGEST, NULL);
    if (!rc)
        rc = db_commit(db, err);
    if (!rc)
        *ret_count = found;
    return rc;
}
