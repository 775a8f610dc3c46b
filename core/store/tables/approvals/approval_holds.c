/*
 * Questions whose response waits for the answers with its request open.
 *
 * Such a response has stored its questions with used_by = itself, so no other response takes
 * them up. Two things may end the wait: the answers, or the response, which gives up after a
 * while. They may come at the same moment through different nodes. Both are decided by the rows,
 * under their locks: either every question has been answered when the response looks, and it
 * continues, or it leaves all of them (used_by = NULL) to the next response. Half of the answers
 * are never split between the two.
 *
 * Reading takes the locks as well (HOLD_READ): it waits for an answer under way instead of
 * missing it. The next poll would come only with the next renewal of leases.
 */

#include "core/store/tables/approvals/approval_holds.h"

#include <string.h>

#include "core/domain/tenant.h"
#include "core/store/pg/db.h"
#include "core/store/tables/columns.h"

static enum err_code lock(struct db *db, const struct tenant *tenant, const char *const *ids,
                          size_t count, struct approval_row **ret_rows, size_t *ret_count,
                          struct err *err)
{
    static const struct db_statement select = {
        "approvals_lock_held",
        "SELECT " APPROVAL_COLUMNS " FROM approvals a"
        " WHERE a.project_id = $1 AND a.id = ANY ($2::text[]) ORDER BY a.id FOR UPDATE OF a"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_texts(&args, ids, count);
    rc = db_exec(db, &select, &args, &rows, err);
    if (!rc)
        *ret_rows = approval_rows_read(rows, ret_count);
    return rc;
}

static enum err_code leave(struct db *db, const struct tenant *tenant, const char *run_id,
                           const char *const *ids, size_t count, struct err *err)
{
    static const struct db_statement update = {
        "approvals_leave", "UPDATE approvals a SET used_by = NULL WHERE a.project_id = $1"
                           " AND a.id = ANY ($2::text[]) AND a.used_by = $3"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_texts(&args, ids, count);
    db_arg_text(&args, run_id);
    return db_exec(db, &update, &args, NULL, err);
}

/* Questions that were left before stay left, even if the hint about that was lost. */
static bool continues(const struct approval_row *rows, size_t count, const char *run_id)
{
    for (size_t i = 0; i < count; i++) {
        bool decided =
            rows[i].status == APPROVAL_APPROVED || rows[i].status == APPROVAL_REJECTED;

        if (!decided || strcmp(rows[i].used_by, run_id) != 0)
            return false;
    }
    return true;
}

enum err_code store_approvals_held(struct store *store, const struct tenant *tenant,
                                   const char *run_id, const char *const *ids, size_t count,
                                   enum hold_action action, struct approval_row **ret_rows,
                                   size_t *ret_count, bool *ret_continues, struct err *err)
{
    struct approval_row *rows = NULL;
    size_t found = 0;
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = lock(db, tenant, ids, count, &rows, &found, err);
    if (rc)
        return rc;
    *ret_continues = found == count && continues(rows, found, run_id);
    if (action == HOLD_LEAVE && !*ret_continues)
        rc = leave(db, tenant, run_id, ids, count, err);
    if (!rc)
        rc = db_commit(db, err);
    if (rc) {
        approval_rows_free(rows, found);
        return rc;
    }
    *ret_rows = rows;
    *ret_count = found;
    return ERR_OK;
}

/* For the keeper's round: an answer that came through another node, whose hint was lost. It asks
 * for all waiting responses of this node at once, of whatever project. */
enum err_code store_approvals_answered(struct store *store, const char *const *projects,
                                       const char *const *run_ids, size_t count,
                                       bool *ret_answered, struct err *err)
{
    static const struct db_statement select = {
        "store_approvals_answered",
        "SELECT u.n FROM unnest($1::text[], $2::text[]) WITH ORDINALITY u (project_id, run_id, "
        "n)"
        " WHERE EXISTS (SELECT FROM approvals a WHERE a.project_id = u.project_id"
        "  AND a.run_id = u.run_id AND a.used_by = a.run_id AND a.status <> 'pending')"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_texts(&args, projects, count);
    db_arg_texts(&args, run_ids, count);
    rc = db_once(store, &select, &args, &rows, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < count; i++)
        ret_answered[i] = false;
    for (size_t i = 0; i < db_count(rows); i++)
        ret_answered[db_int(rows, i, 0) - 1] = true;
    return ERR_OK;
}
