/*
 * What a change of a thread checks, in the order in which it must.
 *
 *   lock    the thread's row. Runs that begin and other changes wait here
 *   idle    no run of it is active. A second statement: the first may have waited for a run to be
 *           made, and only a statement that begins after that sees it
 *   room    after the change, because the limit counts what is there then
 *
 * The row of the thread stands for everything in it. Locking the items would not do: those that
 * are being inserted have no rows yet, and a run that begins inserts only new ones.
 *
 * Copies lock their source for sharing. Several may read a thread at once, and none of them sees
 * it change under its statements.
 */

#include "core/store/tables/threads/thread_guard.h"

#include "core/domain/tenant.h"
#include "core/store/tables/threads/threads.h"

enum err_code thread_guard_unknown(const char *id, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "No thread found with id '%s'.", id);
}

/* Runs a statement about thread $2 of project $1. */
static enum err_code ask(struct db *db, const struct db_statement *statement,
                         const struct tenant *tenant, const char *id, struct db_rows **ret_rows,
                         struct err *err)
{
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    return db_exec(db, statement, &args, ret_rows, err);
}

/* ERR_NOT_FOUND unless the statement finds the thread. */
static enum err_code find_row(struct db *db, const struct db_statement *statement,
                              const struct tenant *tenant, const char *id, struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = ask(db, statement, tenant, id, &rows, err);

    if (rc)
        return rc;
    return db_count(rows) ? ERR_OK : thread_guard_unknown(id, err);
}

static const struct db_statement exists = {
    "thread_exists", "SELECT 1 FROM threads WHERE project_id = $1 AND id = $2"};

enum err_code thread_guard_known(struct db *db, const struct tenant *tenant, const char *id,
                                 struct err *err)
{
    return find_row(db, &exists, tenant, id, err);
}

enum err_code thread_guard_known_once(struct store *store, const struct tenant *tenant,
                                      const char *id, struct err *err)
{
    return db_find_by_id(store, &exists, tenant, id, thread_guard_unknown, NULL, err);
}

enum err_code thread_guard_lock(struct db *db, const struct tenant *tenant, const char *id,
                                struct err *err)
{
    static const struct db_statement lock = {
        "thread_lock", "SELECT 1 FROM threads WHERE project_id = $1 AND id = $2 FOR UPDATE"};

    return find_row(db, &lock, tenant, id, err);
}

enum err_code thread_guard_share(struct db *db, const struct tenant *tenant, const char *id,
                                 struct err *err)
{
    static const struct db_statement share = {
        "thread_share", "SELECT 1 FROM threads WHERE project_id = $1 AND id = $2 FOR SHARE"};

    return find_row(db, &share, tenant, id, err);
}

enum err_code thread_guard_idle(struct db *db, const struct tenant *tenant, const char *id,
                                struct err *err)
{
    static const struct db_statement select = {"thread_active_run", THREAD_ACTIVE_RUN};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = ask(db, &select, tenant, id, &rows, err);

    if (rc || db_count(rows) == 0)
        return rc;
    return err_set(err, ERR_CONFLICT, "Can't add messages to %s while a run %s is active.", id,
                   db_text(rows, 0, 0));
}

/* Positions are given out one by one, so a thread whose next position is below the limit cannot
 * have more messages than that, and is not counted. */
enum err_code thread_guard_room(struct db *db, const struct tenant *tenant, const char *id,
                                int64_t end, struct err *err)
{
    static const struct db_statement count = {
        "thread_message_count", "SELECT count(*) FROM items i WHERE i.project_id = $1"
                                " AND i.thread_id = $2 AND " THREAD_MESSAGES};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc;

    if (end <= THREAD_MESSAGE_LIMIT)
        return ERR_OK;
    rc = ask(db, &count, tenant, id, &rows, err);
    if (rc || db_int(rows, 0, 0) <= THREAD_MESSAGE_LIMIT)
        return rc;
    return err_set(err, ERR_CONFLICT, "Thread %s has %d messages, which is the maximum.", id,
                   THREAD_MESSAGE_LIMIT);
}
