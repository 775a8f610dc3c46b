/*
 * Deleting responses, and purging what no response needs any more.
 *
 * deleted.h says what is kept for whom. This file is about the order of things.
 *
 * Deleting locks the lease first. A response that has not ended cannot end meanwhile, so of the
 * two statements exactly one finds it: mark_run() if it has ended, delete_active() if it has
 * not. An active one has no descendants, as only a response that has ended can be continued, so
 * nothing of it is kept. A wake-up says so to its owner and its followers. Without it, the owner
 * notices when its next write finds no lease.
 *
 * One that has ended keeps its row, its items and its variables, which descendants see. The rest
 * goes at once: steps, calls, questions, grants and events are found only through the response
 * itself.
 *
 * Purging goes in two phases. The keeper finds what is due, without locks; then each response
 * has a transaction of its own, which locks, checks again and removes. So a purge never holds
 * locks on a hundred responses at once, and several keepers may work on the same list.
 *
 * A chain is purged from its newest end. A response that others continue is not checked again
 * and again: purge_at becomes NULL, and the last child's purge sets it. That works in any order
 * of two transactions:
 *
 *   the parent is checked first   it finds the child and clears purge_at; the child's purge sets it
 *   the child is purged first     it sets the parent's purge_at; the check finds no child
 *   at the same time              both change the parent's row: one waits for the other, and its
 *                                 statement then sees what the other did
 *
 * Between reading a chain and storing the response that continues it a client's request has no
 * row, and a purge would not see it. That is what the grace is for: twice the time that a
 * response may take.
 *
 * Locks: thread, lease or run, then items and the rest; the scope of variables last.
 */

#include "core/store/tables/threads/deleted.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/ids.h"
#include "core/domain/tenant.h"
#include "core/store/pg/db.h"
#include "core/store/tables/approvals/grant_sql.h"
#include "core/store/tables/files/picture_sql.h"
#include "core/store/tables/runs/load.h"
#include "core/store/tables/threads/variable_sql.h"

#define NOT_FINAL "('queued', 'in_progress', 'requires_action', 'cancelling')"

/* ---- Deleting ---- */

/* Everything that a client can request is deleted at once. The items stay. One statement, so
 * that a row which is not marked (it is active, or marked already) loses nothing: each part asks
 * for `marked`. */
static enum err_code mark_run(struct db *db, const struct tenant *tenant, const char *run_id,
                              int64_t grace_us, bool *ret_marked, struct err *err)
{
    static const struct db_statement mark = {
        "response_mark",
        "WITH marked AS (UPDATE runs SET deleted_at = $3::bigint,"
        "   purge_at = $3::bigint + $4::bigint, config = NULL,"
        "   metadata = NULL, usage = NULL, error = NULL, incomplete = NULL"
        "  WHERE project_id = $1 AND id = $2 AND face = 'responses' AND deleted_at IS NULL"
        "   AND status NOT IN " NOT_FINAL " RETURNING id),"
        " s AS (DELETE FROM run_steps WHERE project_id = $1 AND run_id = $2"
        "   AND EXISTS (SELECT FROM marked)),"
        " c AS (DELETE FROM tool_calls WHERE project_id = $1 AND run_id = $2"
        "   AND EXISTS (SELECT FROM marked)),"
        " q AS (DELETE FROM approvals WHERE project_id = $1 AND run_id = $2"
        "   AND EXISTS (SELECT FROM marked)),"
        " g AS (" GRANTS_DELETE "   AND EXISTS (SELECT FROM marked)),"
        " e AS (DELETE FROM run_events WHERE project_id = $1 AND run_id = $2"
        "   AND EXISTS (SELECT FROM marked))"
        " SELECT id FROM marked"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, run_id);
    db_arg_int(&args, clock_wall_us());
    db_arg_int(&args, grace_us);
    rc = db_exec(db, &mark, &args, &rows, err);
    if (!rc)
        *ret_marked = db_count(rows) > 0;
    return rc;
}

/* No response continues one that has not ended. So all of it is deleted, except items in a
 * conversation, which belong to that as well. */
static enum err_code delete_active(struct db *db, const struct tenant *tenant,
                                   const char *run_id, struct err *err)
{
    static const struct db_statement delete = {
        "response_delete_active",
        "WITH gone AS (DELETE FROM runs WHERE project_id = $1 AND id = $2"
        "   AND face = 'responses' AND status IN " NOT_FINAL " RETURNING id),"
        " l AS (DELETE FROM run_leases WHERE project_id = $1 AND run_id = $2"
        "   AND EXISTS (SELECT FROM gone)),"
        " i AS (DELETE FROM items WHERE project_id = $1 AND run_id = $2"
        "   AND thread_id IS NULL AND EXISTS (SELECT FROM gone) RETURNING id, type),"
        " p AS (" PICTURES_LET_GO(
            "i") "),"
                 " s AS (DELETE FROM run_steps WHERE project_id = $1 AND run_id = $2"
                 "   AND EXISTS (SELECT FROM gone)),"
                 " c AS (DELETE FROM tool_calls WHERE project_id = $1 AND run_id = $2"
                 "   AND EXISTS (SELECT FROM gone)),"
                 " q AS (DELETE FROM approvals WHERE project_id = $1 AND run_id = $2"
                 "   AND EXISTS (SELECT FROM gone)),"
                 " g AS (" GRANTS_DELETE "   AND EXISTS (SELECT FROM gone)),"
                 " e AS (DELETE FROM run_events WHERE project_id = $1 AND run_id = $2"
                 "   AND EXISTS (SELECT FROM gone))"
                 " SELECT id FROM gone"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, run_id);
    rc = db_exec(db, &delete, &args, &rows, err);
    if (rc)
        return rc;
    if (db_count(rows) == 0)
        return fail_no_run(NULL, run_id, err);
    db_wake(db, WAKEUP_DELETED, run_id);
    return variables_forget(db, tenant, run_id, err);
}

/* While the lease is locked, a response that has not ended does not end. */
enum err_code store_response_delete(struct store *store, const struct tenant *tenant,
                                    const char *run_id, int64_t grace_us, struct err *err)
{
    struct lease_row lease;
    AUTO_DB *db = NULL;
    bool marked = false;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = lease_lock(db, tenant, run_id, &lease, err);
    if (!rc)
        rc = mark_run(db, tenant, run_id, grace_us, &marked, err);
    if (!rc && !marked)
        rc = delete_active(db, tenant, run_id, err);
    return rc ? rc : db_commit(db, err);
}

/* ---- Purging ---- */

/* A response that is due to be purged. */
struct due {
    struct tenant tenant;
    char run_id[ID_SIZE];
    char thread_id[ID_SIZE];
};

static enum err_code find_due(struct store *store, size_t limit, struct db_rows **ret_rows,
                              struct err *err)
{
    static const struct db_statement find = {
        "purge_find", "SELECT project_id, id, thread_id FROM runs WHERE purge_at <= $1::bigint"
                      " ORDER BY purge_at LIMIT $2"};
    AUTO_DB_ARGS args = {0};

    db_arg_int(&args, clock_wall_us());
    db_arg_int(&args, (int64_t)limit);
    return db_once(store, &find, &args, ret_rows, err);
}

static void read_due(const struct db_rows *rows, size_t row, struct due *ret_due)
{
    ret_due->tenant = tenant_of_project(db_text(rows, row, 0));
    db_id(rows, row, 1, ret_due->run_id, sizeof(ret_due->run_id));
    db_id(rows, row, 2, ret_due->thread_id, sizeof(ret_due->thread_id));
}

static enum err_code exec_about(struct db *db, const struct db_statement *statement,
                                const struct tenant *tenant, const char *id,
                                struct db_rows **ret_rows, struct err *err)
{
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    return db_exec(db, statement, &args, ret_rows, err);
}

/* Locks the thread, so that no item leaves it unnoticed while its last response is purged. The
 * thread may be deleted itself. Then the run, against other keepers that purge. */
static enum err_code lock_due(struct db *db, const struct due *due, bool *ret_due,
                              struct err *err)
{
    static const struct db_statement lock_thread = {
        "purge_lock_thread",
        "SELECT 1 FROM threads WHERE project_id = $1 AND id = $2 FOR UPDATE"};
    static const struct db_statement lock_run = {
        "purge_lock_run",
        "SELECT purge_at IS NOT NULL FROM runs WHERE project_id = $1 AND id = $2 FOR UPDATE"};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = ERR_OK;

    if (*due->thread_id)
        rc = exec_about(db, &lock_thread, &due->tenant, due->thread_id, NULL, err);
    if (!rc)
        rc = exec_about(db, &lock_run, &due->tenant, due->run_id, &rows, err);
    if (!rc)
        *ret_due = db_count(rows) && db_bool(rows, 0, 0);
    return rc;
}

/* A statement after the one that locked. A child that is purged at the same time is gone by
 * now, or it will set purge_at again once this transaction has released the row. */
static enum err_code keep_if_needed(struct db *db, const struct due *due, bool *ret_kept,
                                    struct err *err)
{
    static const struct db_statement keep = {
        "purge_keep",
        "UPDATE runs SET purge_at = NULL WHERE project_id = $1 AND id = $2"
        " AND EXISTS (SELECT FROM runs c WHERE c.project_id = $1 AND c.parent_run_id = $2)"
        " RETURNING id"};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = exec_about(db, &keep, &due->tenant, due->run_id, &rows, err);

    if (!rc)
        *ret_kept = db_count(rows) > 0;
    return rc;
}

/* Items in a conversation belong to that as well, and stay. The parent may have waited for this
 * purge. */
static enum err_code remove_run(struct db *db, const struct due *due, int64_t grace_us,
                                struct err *err)
{
    static const struct db_statement remove = {
        "purge_remove",
        "WITH gone AS (DELETE FROM runs WHERE project_id = $1 AND id = $2"
        "   RETURNING id, parent_run_id),"
        " i AS (DELETE FROM items WHERE project_id = $1 AND run_id = $2 AND thread_id IS NULL"
        "   RETURNING id, type),"
        " p AS (" PICTURES_LET_GO(
            "i") "),"
                 " v AS (DELETE FROM variables WHERE project_id = $1 AND scope_id = $2)"
                 " UPDATE runs SET purge_at = deleted_at + $3::bigint WHERE project_id = $1"
                 "  AND id = (SELECT parent_run_id FROM gone) AND deleted_at IS NOT NULL"};
    AUTO_DB_ARGS args = {0};
    enum err_code rc = variables_lock_scope(db, &due->tenant, due->run_id, err);

    db_arg_tenant(&args, &due->tenant);
    db_arg_text(&args, due->run_id);
    db_arg_int(&args, grace_us);
    return rc ? rc : db_exec(db, &remove, &args, NULL, err);
}

/* Items that were removed from a thread and kept for its responses, once the last of these is
 * gone. Every purge in the thread looks, because which one is the last is known only then. */
static enum err_code remove_left_items(struct db *db, const struct due *due, struct err *err)
{
    static const struct db_statement remove = {
        "purge_left_items",
        "WITH gone AS (DELETE FROM items i WHERE i.project_id = $1 AND i.thread_id = $2"
        "  AND i.left_position IS NOT NULL AND NOT (" THREAD_HAS_RESPONSES
        "  OR " ITEM_OF_ASSISTANTS ") RETURNING i.id, i.type) " PICTURES_LET_GO("gone")};

    if (!*due->thread_id)
        return ERR_OK;
    return exec_about(db, &remove, &due->tenant, due->thread_id, NULL, err);
}

/* A response that is no longer due was purged by another keeper, or has got a child: nothing is
 * done. */
static enum err_code purge_run(struct store *store, const struct due *due, int64_t grace_us,
                               struct err *err)
{
    AUTO_DB *db = NULL;
    bool is_due = false;
    bool kept = false;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = lock_due(db, due, &is_due, err);
    if (rc || !is_due)
        return rc;
    rc = keep_if_needed(db, due, &kept, err);
    if (!rc && !kept)
        rc = remove_run(db, due, grace_us, err);
    if (!rc && !kept)
        rc = remove_left_items(db, due, err);
    return rc ? rc : db_commit(db, err);
}

enum err_code store_responses_purge(struct store *store, size_t limit, int64_t grace_us,
                                    size_t *ret_count, struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = find_due(store, limit, &rows, err);

    for (size_t i = 0; !rc && i < db_count(rows); i++) {
        struct due due;

        read_due(rows, i, &due);
        rc = purge_run(store, &due, grace_us, err);
    }
    if (!rc)
        *ret_count = db_count(rows);
    return rc;
}
