/*
 * Containers: who has one, until when, and what is left of it.
 *
 * All that makes containers of a project takes the lock of the project's row first: so the count is exact, and of two
 * calls of one run that ask at once the second one finds the container of the first.
 *
 * A use is an update only if the last one is some time ago. Calls come by the hundred, and a row that is written by
 * each would be the busiest of the database.
 */

#include "core/store/tables/containers/containers.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/store/pg/db.h"
#include "core/store/pg/page.h"
#include "core/store/pg/state.h"
#include "core/store/tables/containers/container_sql.h"

#define NOW CONTAINER_NOW

#define CONTAINER_COLUMNS                                                               \
    "c.id, c.name, c.status, c.owner_id, c.node_id, c.memory_gib, c.idle_seconds,"      \
    " c.created_at, c.last_active_at, c.expires_at, c.had_python,"                      \
    " c.expires_at <= " NOW " AS late, c.allowed_domains, c.epoch, c.arriving, c.lost," \
    " coalesce(c.giving_until > " NOW ", false), c.skill_count"

enum err_code container_not_found(const char *id, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "Container with id '%.64s' not found.", id);
}

static const char *after(enum container_event event)
{
    return container_status_name(container_status_next(CONTAINER_RUNNING, event));
}

static void container_read(const struct db_rows *rows, size_t row,
                           struct container_row *ret_row)
{
    *ret_row = (struct container_row){
        .name = db_copy(rows, row, 1),
        .status = container_status_parse(db_text(rows, row, 2)),
        .node_id = db_copy(rows, row, 4),
        .memory_gib = (int)db_int(rows, row, 5),
        .idle_seconds = db_int(rows, row, 6),
        .created_at = db_int(rows, row, 7),
        .last_active_at = db_int(rows, row, 8),
        .expires_at = db_int(rows, row, 9),
        .had_python = db_bool(rows, row, 10),
        .domains = db_copy(rows, row, 12),
        .epoch = db_int(rows, row, 13),
        .arriving = db_bool(rows, row, 14),
        .lost = db_is_null(rows, row, 15) ? NULL : db_copy(rows, row, 15),
        .giving = db_bool(rows, row, 16),
        .skill_count = (size_t)db_int(rows, row, 17),
    };
    db_id(rows, row, 0, ret_row->id, sizeof(ret_row->id));
    db_id(rows, row, 3, ret_row->owner_id, sizeof(ret_row->owner_id));
    if (ret_row->status == CONTAINER_RUNNING && db_bool(rows, row, 11))
        ret_row->status = container_status_next(CONTAINER_RUNNING, CONTAINER_EV_EXPIRE);
}

static void replace(struct container_row *row, const struct db_rows *rows)
{
    container_row_clear(row);
    container_read(rows, 0, row);
}

/* ---- Making ---- */

/* Nothing else makes a container of the project until the transaction ends. */
static enum err_code lock_project(struct db *db, const struct tenant *tenant, struct err *err)
{
    static const struct db_statement lock = {
        "store_container_lock_project", "SELECT FROM projects WHERE id = $1 FOR NO KEY UPDATE"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    return db_exec(db, &lock, &args, NULL, err);
}

static enum err_code check_room(struct db *db, const struct tenant *tenant, unsigned limit,
                                struct err *err)
{
    static const struct db_statement count = {
        "store_container_count", "SELECT count(*) FROM containers c WHERE c.project_id = $1"
                                 " AND c.status = 'running' AND c.expires_at > " NOW};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    if (!limit)
        return ERR_OK;
    db_arg_tenant(&args, tenant);
    rc = db_exec(db, &count, &args, &rows, err);
    if (rc || db_int(rows, 0, 0) < limit)
        return rc;
    return err_refuse(
        err, ERR_LIMIT, REASON_BUSY, NULL,
        "This project has %u containers that run, which is the limit. Delete some, "
        "or wait until they expire.",
        limit);
}

static enum err_code insert(struct db *db, const struct tenant *tenant,
                            struct container_row *row, struct err *err)
{
    static const struct db_statement insert = {
        "store_container_create",
        "INSERT INTO containers AS c (project_id, id, name, status, owner_id, node_id,"
        "  has_folder, memory_gib, had_python, idle_seconds, created_at, last_active_at,"
        "  expires_at, allowed_domains) SELECT $1, $2, $3, $4, $5, $6, true, $7, false, $8,"
        "  n.now, n.now, n.now + $8::bigint * 1000000, $9"
        " FROM (SELECT " NOW " AS now) n RETURNING " CONTAINER_COLUMNS};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, row->id);
    db_arg_text(&args, row->name);
    db_arg_text(&args, container_status_name(CONTAINER_RUNNING));
    db_arg_id(&args, row->owner_id);
    db_arg_text(&args, row->node_id);
    db_arg_int(&args, row->memory_gib);
    db_arg_int(&args, row->idle_seconds);
    db_arg_text(&args, row->domains ? row->domains : "[]");
    rc = db_exec(db, &insert, &args, &rows, err);
    if (!rc)
        replace(row, rows);
    return rc;
}

/* Shows what the first request under a key has made, as it is now. */
static enum err_code reread(struct store *store, const struct tenant *tenant, const char *id,
                            struct container_row *row, struct err *err)
{
    struct container_row made;
    enum err_code rc = store_container_get(store, tenant, id, &made, err);

    if (rc)
        return rc;
    container_row_clear(row);
    *row = made;
    return ERR_OK;
}

enum err_code store_container_create(struct store *store, const struct tenant *tenant,
                                     const struct idempotency *idempotency, unsigned limit,
                                     struct container_row *row, struct err *err)
{
    char first[ID_LIMIT + 1];
    AUTO_DB *db = NULL;
    enum err_code rc = idempotency_begin(store, tenant, idempotency, row->id, &db, first, err);

    if (rc)
        return rc;
    if (!db)
        return reread(store, tenant, first, row, err);
    rc = lock_project(db, tenant, err);
    if (!rc)
        rc = check_room(db, tenant, limit, err);
    if (!rc)
        rc = insert(db, tenant, row, err);
    return rc ? rc : db_commit(db, err);
}

static bool serves(const struct container_row *has, const struct container_row *wanted)
{
    return has->status == CONTAINER_RUNNING &&
           (!wanted->memory_gib || has->memory_gib == wanted->memory_gib) &&
           (!wanted->domains || strcmp(has->domains, wanted->domains) == 0);
}

/* The owner's container, if it is as wanted. Otherwise the owner has none from now on. */
static enum err_code find_owned(struct db *db, const struct tenant *tenant,
                                struct container_row *row, bool *ret_found, struct err *err)
{
    static const struct db_statement select = {"store_container_owned",
                                               "SELECT " CONTAINER_COLUMNS " FROM containers c"
                                               " WHERE c.project_id = $1 AND c.owner_id = $2"
                                               " AND c.status = 'running'"};
    static const struct db_statement disown = {
        "store_container_disown",
        "UPDATE containers c SET owner_id = NULL WHERE c.project_id = $1"
        " AND c.owner_id = $2 AND c.status = 'running'"};
    CLEANUP(container_row_clear) struct container_row has = {0};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    AUTO_DB_ARGS again = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, row->owner_id);
    rc = db_exec(db, &select, &args, &rows, err);
    *ret_found = false;
    if (rc || !db_count(rows))
        return rc;
    container_read(rows, 0, &has);
    if (serves(&has, row)) {
        replace(row, rows);
        *ret_found = true;
        return ERR_OK;
    }
    db_arg_tenant(&again, tenant);
    db_arg_text(&again, row->owner_id);
    return db_exec(db, &disown, &again, NULL, err);
}

enum err_code store_container_of_owner(struct store *store, const struct tenant *tenant,
                                       unsigned limit, int default_gib,
                                       struct container_row *row, bool *ret_made,
                                       struct err *err)
{
    AUTO_DB *db = NULL;
    bool found;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = lock_project(db, tenant, err);
    if (!rc)
        rc = find_owned(db, tenant, row, &found, err);
    if (rc)
        return rc;
    *ret_made = !found;
    if (found)
        return ERR_OK;
    if (!row->memory_gib)
        row->memory_gib = default_gib;
    rc = check_room(db, tenant, limit, err);
    if (!rc)
        rc = insert(db, tenant, row, err);
    return rc ? rc : db_commit(db, err);
}

/* ---- Looking ---- */

enum err_code store_container_get(struct store *store, const struct tenant *tenant,
                                  const char *id, struct container_row *ret_row,
                                  struct err *err)
{
    static const struct db_statement select = {
        "store_container_get",
        "SELECT " CONTAINER_COLUMNS " FROM containers c"
        " WHERE c.project_id = $1 AND c.id = $2 AND c.status <> 'deleted'"};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc =
        db_find_by_id(store, &select, tenant, id, container_not_found, &rows, err);

    if (!rc)
        container_read(rows, 0, ret_row);
    return rc;
}

/* A short idle time is written more often: a quarter of it may be lost, no more. */
enum err_code store_container_use(struct store *store, const struct tenant *tenant,
                                  const char *id, struct container_row *ret_row,
                                  struct err *err)
{
    static const struct db_statement touch = {
        "store_container_use",
        "WITH used AS (UPDATE containers c SET last_active_at = n.now,"
        "  expires_at = n.now + c.idle_seconds * 1000000"
        "  FROM (SELECT " NOW " AS now) n WHERE c.project_id = $1 AND c.id = $2"
        "  AND c.status = 'running' AND c.expires_at > n.now AND c.last_active_at <="
        "  n.now - least(" CONTAINER_TOUCH_TEXT ", c.idle_seconds / 4) * 1000000"
        "  RETURNING " CONTAINER_COLUMNS ")"
        " SELECT * FROM used UNION ALL"
        " SELECT " CONTAINER_COLUMNS " FROM containers c WHERE c.project_id = $1 AND c.id = $2"
        " AND c.status <> 'deleted' AND NOT EXISTS (SELECT FROM used)"};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc =
        db_find_by_id(store, &touch, tenant, id, container_not_found, &rows, err);

    if (!rc)
        container_read(rows, 0, ret_row);
    return rc;
}

enum err_code container_node_find(struct db *db, const struct tenant *tenant, const char *id,
                                  const char *owner_id, char ret_node[ID_SIZE], struct err *err)
{
    static const struct db_statement select = {
        "container_node_find",
        "SELECT CASE WHEN f.node_id <> split_part($5, '/', 1) THEN n.id END FROM (SELECT "
        "c.node_id"
        "  FROM containers c WHERE c.project_id = $1 AND c.status = 'running'"
        "  AND c.expires_at > " NOW " AND (c.id = $2 OR c.owner_id = $3)"
        "  ORDER BY c.id = $2 DESC LIMIT 1) f"
        " LEFT JOIN nodes n ON n.id = f.node_id AND NOT n.draining"
        "  AND " CONTAINER_NODE_LIVES("$4")};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    db_arg_text(&args, owner_id);
    db_arg_int(&args, db->store->lease_us);
    db_arg_text(&args, db->store->node_id);
    rc = db_exec(db, &select, &args, &rows, err);
    if (rc)
        return rc;
    *ret_node = '\0';
    if (db_count(rows))
        db_id(rows, 0, 0, ret_node, ID_SIZE);
    return ERR_OK;
}

enum err_code store_container_node(struct store *store, const struct tenant *tenant,
                                   const char *id, const char *owner_id, char ret_node[ID_SIZE],
                                   struct err *err)
{
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    return rc ? rc : container_node_find(db, tenant, id, owner_id, ret_node, err);
}

enum err_code store_container_has_python(struct store *store, const struct tenant *tenant,
                                         const char *id, struct err *err)
{
    static const struct db_statement update = {
        "store_container_has_python",
        "UPDATE containers SET had_python = true WHERE project_id = $1 AND id = $2"};

    return db_once_by_id(store, &update, tenant, id, NULL, err);
}

/* Without a name the list has no owner, see skills.c. */
#define CONTAINER_LIST(name, low, high, order, limit)                             \
    "SELECT " CONTAINER_COLUMNS " FROM containers c WHERE c.project_id = $1" name \
    " AND c.id > coalesce(" low ", '') AND c.id < coalesce(" high ", '~')"        \
    " AND c.status <> 'deleted' ORDER BY c.id " order " LIMIT " limit

enum err_code store_container_list(struct store *store, const struct tenant *tenant,
                                   const char *name, const struct page *page,
                                   struct container_row **ret_rows, size_t *ret_count,
                                   bool *ret_more, struct err *err)
{
    static const struct db_statement all[] = {
        {"store_container_list_desc", CONTAINER_LIST("", "$2", "$3", "DESC", "$4")},
        {"store_container_list_asc", CONTAINER_LIST("", "$2", "$3", "ASC", "$4")},
    };
    static const struct db_statement named[] = {
        {"store_container_named_desc",
         CONTAINER_LIST(" AND c.name = $2", "$3", "$4", "DESC", "$5")},
        {"store_container_named_asc",
         CONTAINER_LIST(" AND c.name = $2", "$3", "$4", "ASC", "$5")},
    };
    static const struct page_list cursor = {
        {"store_container_list_cursor",
         "SELECT 1 FROM containers WHERE project_id = $1 AND $2::text IS NOT NULL AND id = $3"},
        "cntr_"};
    AUTO_DB_ROWS *rows = NULL;
    struct page_scan scan;
    enum err_code rc =
        page_read(store, name ? named : all, &cursor, tenant, name, page, &scan, &rows, err);

    if (!rc)
        page_unroll(&scan, rows, container_read, ret_rows, ret_count, ret_more);
    return rc;
}

/* ---- Ends ---- */

enum err_code store_container_delete(struct store *store, const struct tenant *tenant,
                                     const char *id, struct err *err)
{
    static const struct db_statement update = {
        "store_container_delete", "UPDATE containers c SET status = $3, expires_at = " NOW
                                  " WHERE c.project_id = $1 AND c.id = $2"
                                  " AND c.status <> 'deleted'"};
    AUTO_DB *db = NULL;
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc = db_begin(store, &db, err);

    if (rc)
        return rc;
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    db_arg_text(&args, after(CONTAINER_EV_DELETE));
    rc = db_exec(db, &update, &args, &rows, err);
    if (!rc && !db_changed(rows))
        return container_not_found(id, err);
    if (!rc)
        rc = container_files_forget(db, tenant, id, err);
    return rc ? rc : db_commit(db, err);
}

enum err_code container_end_owned(struct db *db, const struct tenant *tenant,
                                  const char *owner_id, struct err *err)
{
    static const struct db_statement update = {
        "store_container_end_owned",
        "UPDATE containers c SET status = $3, expires_at = " NOW " WHERE c.project_id = $1"
        " AND c.owner_id = $2 AND c.status = 'running' RETURNING c.id"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, owner_id);
    db_arg_text(&args, after(CONTAINER_EV_DELETE));
    rc = db_exec(db, &update, &args, &rows, err);
    if (rc || !db_count(rows))
        return rc;
    return container_files_forget(db, tenant, db_text(rows, 0, 0), err);
}

/* A use may have come first, so the statement looks at the time again. */
static enum err_code expire(struct store *store, const struct tenant *tenant, const char *id,
                            struct err *err)
{
    static const struct db_statement update = {
        "store_container_expire", "UPDATE containers c SET status = $3 WHERE c.project_id = $1"
                                  " AND c.id = $2 AND c.status = 'running'"
                                  " AND c.expires_at <= " NOW};
    AUTO_DB *db = NULL;
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc = db_begin(store, &db, err);

    if (rc)
        return rc;
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    db_arg_text(&args, after(CONTAINER_EV_EXPIRE));
    rc = db_exec(db, &update, &args, &rows, err);
    if (!rc && db_changed(rows))
        rc = container_files_forget(db, tenant, id, err);
    return rc ? rc : db_commit(db, err);
}

enum err_code store_containers_expire(struct store *store, size_t limit, size_t *ret_count,
                                      struct err *err)
{
    static const struct db_statement select = {
        "store_containers_late",
        "SELECT project_id, id FROM containers WHERE status = 'running'"
        " AND expires_at <= " NOW " ORDER BY expires_at LIMIT $1"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_int(&args, (int64_t)limit);
    rc = db_once(store, &select, &args, &rows, err);
    for (size_t i = 0; !rc && i < db_count(rows); i++) {
        const struct tenant tenant = tenant_of_project(db_text(rows, i, 0));

        rc = expire(store, &tenant, db_text(rows, i, 1), err);
    }
    if (!rc)
        *ret_count = db_count(rows);
    return rc;
}

enum err_code store_containers_left(struct store *store, const char *node_id, size_t limit,
                                    struct left_container **ret_left, size_t *ret_count,
                                    struct err *err)
{
    static const struct db_statement select = {
        "store_containers_left", "(SELECT project_id, id, status, false FROM containers"
                                 "  WHERE node_id = $1 AND status <> 'running' AND has_folder"
                                 "  ORDER BY expires_at LIMIT $2) UNION ALL"
                                 " (SELECT project_id, id, status, true FROM containers"
                                 "  WHERE left_node = $1 AND node_id <> $1 LIMIT $2)"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    struct left_container *left;
    enum err_code rc;

    db_arg_text(&args, node_id);
    db_arg_int(&args, (int64_t)limit);
    rc = db_once(store, &select, &args, &rows, err);
    if (rc)
        return rc;
    left = mem_new_array(struct left_container, db_count(rows) + 1);
    for (size_t i = 0; i < db_count(rows); i++) {
        left[i].tenant = tenant_of_project(db_text(rows, i, 0));
        db_id(rows, i, 1, left[i].id, sizeof(left[i].id));
        left[i].status = container_status_parse(db_text(rows, i, 2));
        left[i].moved = db_bool(rows, i, 3);
    }
    *ret_left = left;
    *ret_count = db_count(rows);
    return ERR_OK;
}

enum err_code store_container_cleared(struct store *store, const struct tenant *tenant,
                                      const char *id, struct err *err)
{
    static const struct db_statement update = {
        "store_container_cleared",
        "WITH gone AS (DELETE FROM containers WHERE project_id = $1 AND id = $2"
        "  AND status = 'deleted' AND left_node IS NULL)"
        " UPDATE containers SET has_folder = false WHERE project_id = $1 AND id = $2"
        " AND (status = 'expired' OR (status = 'deleted' AND left_node IS NOT NULL))"};

    return db_once_by_id(store, &update, tenant, id, NULL, err);
}

enum err_code store_containers_forget(struct store *store, size_t limit, size_t *ret_count,
                                      struct err *err)
{
    static const struct db_statement delete = {
        "store_containers_forget",
        "DELETE FROM containers WHERE (project_id, id) IN (SELECT project_id, id"
        "  FROM containers WHERE status <> 'running' AND expires_at <= " NOW " - $2::bigint"
        "  AND NOT (has_folder AND EXISTS (SELECT FROM nodes n WHERE n.id = node_id"
        "   AND " CONTAINER_NODE_LIVES("$3") ")) ORDER BY expires_at LIMIT $1)"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_int(&args, (int64_t)limit);
    db_arg_int(&args, CONTAINER_KEPT_SECONDS * INT64_C(1000000));
    db_arg_int(&args, store->lease_us);
    rc = db_once(store, &delete, &args, &rows, err);
    if (!rc)
        *ret_count = db_changed(rows);
    return rc;
}
