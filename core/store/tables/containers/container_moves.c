/*
 * Containers that go from one node to another.
 *
 * Each step is one statement that compares the epoch, so no lock is held between them, and none is waited for. The rows
 * of files stay as they are during a move: they say what has to be put in the new folder.
 *
 * Decided against: moving the folder itself, from node to node. Nodes would have to reach each other; here nothing is
 * between them but the database, and the archive goes through the store of bytes that they share.
 */

#include "core/store/tables/containers/container_moves.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/store/pg/db.h"
#include "core/store/pg/state.h"
#include "core/store/tables/containers/container_sql.h"
#include "core/store/tables/containers/containers.h"
#include "core/store/tables/files/file_sql.h"

#define NOW CONTAINER_NOW

/* The container is at $4 from now on. */
#define MOVE                                                                           \
    "UPDATE containers c SET node_id = $4, epoch = c.epoch + 1, arriving = true,"      \
    "  has_folder = true, left_node = c.node_id, wanted_by = NULL, wanted_at = NULL,"  \
    "  giving_until = NULL"                                                            \
    " WHERE c.project_id = $1 AND c.id = $2 AND c.epoch = $3 AND c.status = 'running'" \
    " AND c.expires_at > " NOW

static enum err_code move(struct db *db, const struct db_statement *statement,
                          const struct tenant *tenant, const char *id, int64_t epoch,
                          const char *node_id, bool *ret_moved, struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    db_arg_int(&args, epoch);
    db_arg_text(&args, node_id);
    db_arg_int(&args, db->store->lease_us);
    rc = db_exec(db, statement, &args, &rows, err);
    if (rc)
        return rc;
    *ret_moved = db_changed(rows) > 0;
    db_wake(db, WAKEUP_CONTAINER, id);
    return ERR_OK;
}

enum err_code store_container_take_over(struct store *store, const struct tenant *tenant,
                                        const char *id, int64_t epoch, const char *node_id,
                                        bool *ret_taken, struct err *err)
{
    static const struct db_statement take = {
        "store_container_take_over",
        MOVE " AND NOT EXISTS (SELECT FROM nodes n WHERE"
             " n.id = c.node_id AND " CONTAINER_NODE_LIVES("$5") ")"};
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = move(db, &take, tenant, id, epoch, node_id, ret_taken, err);
    return rc ? rc : db_commit(db, err);
}

/* A container has one archive at most: it is let go in the transaction that ends `arriving`. */
static enum err_code keep_archive(struct db *db, const struct tenant *tenant, const char *id,
                                  const char *blob_id, struct err *err)
{
    static const struct db_statement insert = {"store_container_archive_put",
                                               "INSERT INTO container_archives"
                                               " (project_id, container_id, blob_id)"
                                               " VALUES ($1, $2, $3)"};
    AUTO_DB_ARGS args = {0};
    enum err_code rc = blob_hold(db, tenant, blob_id, err);

    if (rc)
        return rc;
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    db_arg_text(&args, blob_id);
    return db_exec(db, &insert, &args, NULL, err);
}

enum err_code store_container_give(struct store *store, const struct tenant *tenant,
                                   const char *id, int64_t epoch, const char *node_id,
                                   const char *blob_id, struct err *err)
{
    static const struct db_statement give = {"store_container_give",
                                             MOVE " AND $5::bigint > 0"};
    AUTO_DB *db = NULL;
    bool moved;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = move(db, &give, tenant, id, epoch, node_id, &moved, err);
    if (rc)
        return rc;
    if (!moved)
        return container_not_found(id, err);
    if (*blob_id)
        rc = keep_archive(db, tenant, id, blob_id, err);
    return rc ? rc : db_commit(db, err);
}

enum err_code store_container_giving(struct store *store, const struct tenant *tenant,
                                     const char *id, int64_t epoch, bool giving,
                                     struct err *err)
{
    static const struct db_statement update = {
        "store_container_giving",
        "UPDATE containers SET giving_until = CASE WHEN $4::bigint > 0 THEN " NOW
        " + $4::bigint END WHERE project_id = $1 AND id = $2 AND epoch = $3"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    db_arg_int(&args, epoch);
    db_arg_int(&args, giving ? CONTAINER_GIVE_SECONDS * INT64_C(1000000) : 0);
    return db_once(store, &update, &args, NULL, err);
}

/* ---- Asking ---- */

static enum err_code ask(struct store *store, const struct db_statement *statement,
                         const struct tenant *tenant, const char *id, const char *other,
                         struct err *err)
{
    AUTO_DB *db = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc = db_begin(store, &db, err);

    if (rc)
        return rc;
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    db_arg_text(&args, other);
    rc = db_exec(db, statement, &args, NULL, err);
    if (rc)
        return rc;
    db_wake(db, WAKEUP_CONTAINER, id);
    return db_commit(db, err);
}

enum err_code store_container_ask(struct store *store, const struct tenant *tenant,
                                  const char *id, const char *node_id, struct err *err)
{
    static const struct db_statement update = {
        "store_container_ask",
        "UPDATE containers SET wanted_by = $3, wanted_at = " NOW
        " WHERE project_id = $1 AND id = $2 AND status = 'running' AND node_id <> $3"};

    return ask(store, &update, tenant, id, node_id, err);
}

enum err_code store_container_ask_copy(struct store *store, const struct tenant *tenant,
                                       const char *id, const char *file_id, struct err *err)
{
    static const struct db_statement update = {
        "store_container_ask_copy",
        "UPDATE container_files SET copy_wanted_at = " NOW
        " WHERE project_id = $1 AND container_id = $2 AND id = $3 AND blob_id IS NULL"};

    return ask(store, &update, tenant, id, file_id, err);
}

enum err_code store_containers_asked(struct store *store, const char *node_id, size_t limit,
                                     struct asked_container **ret_asked, size_t *ret_count,
                                     struct err *err)
{
    static const struct db_statement select = {
        "store_containers_asked",
        "(SELECT c.project_id, c.id, f.id, NULL FROM container_files f JOIN containers c"
        "  ON c.project_id = f.project_id AND c.id = f.container_id WHERE c.node_id = $1"
        "  AND c.status = 'running' AND f.blob_id IS NULL AND f.copy_wanted_at >= " NOW
        "  - $3::bigint LIMIT $2) UNION ALL"
        " (SELECT project_id, id, NULL, wanted_by FROM containers WHERE node_id = $1"
        "  AND status = 'running' AND wanted_by IS NOT NULL AND (giving_until > " NOW
        "   OR wanted_at >= " NOW " - $3::bigint) LIMIT $2)"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    struct asked_container *asked;
    enum err_code rc;

    db_arg_text(&args, node_id);
    db_arg_int(&args, (int64_t)limit);
    db_arg_int(&args, CONTAINER_ASK_SECONDS * INT64_C(1000000));
    rc = db_once(store, &select, &args, &rows, err);
    if (rc)
        return rc;
    asked = mem_new_array(struct asked_container, db_count(rows) + 1);
    for (size_t i = 0; i < db_count(rows); i++) {
        asked[i].tenant = tenant_of_project(db_text(rows, i, 0));
        db_id(rows, i, 1, asked[i].id, sizeof(asked[i].id));
        db_id(rows, i, 2, asked[i].file_id, sizeof(asked[i].file_id));
        db_id(rows, i, 3, asked[i].wanted_by, sizeof(asked[i].wanted_by));
    }
    *ret_asked = asked;
    *ret_count = db_count(rows);
    return ERR_OK;
}

/* ---- Arriving ---- */

enum err_code store_container_archive(struct store *store, const struct tenant *tenant,
                                      const char *id, char ret_blob_id[ID_SIZE],
                                      struct err *err)
{
    static const struct db_statement select = {"store_container_archive",
                                               "SELECT blob_id FROM container_archives"
                                               " WHERE project_id = $1 AND container_id = $2"};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = db_once_by_id(store, &select, tenant, id, &rows, err);

    if (rc)
        return rc;
    *ret_blob_id = '\0';
    if (db_count(rows))
        db_id(rows, 0, 0, ret_blob_id, ID_SIZE);
    return ERR_OK;
}

static enum err_code drop_archive(struct db *db, const struct tenant *tenant, const char *id,
                                  struct err *err)
{
    static const struct db_statement delete = {
        "store_container_archive_drop",
        "WITH gone AS (DELETE FROM container_archives WHERE project_id = $1"
        "  AND container_id = $2 RETURNING blob_id)"
        " UPDATE blobs b SET holders = b.holders - 1, changed_at = " NOW
        " FROM gone g WHERE b.project_id = $1 AND b.id = g.blob_id"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    return db_exec(db, &delete, &args, NULL, err);
}

/* The new facts of files that are there, and the ids of those that are not. */
struct arrivals {
    const char **ids, **lost;
    int64_t *bytes, *modified, *inodes;
    size_t count, lost_count;
};

static void arrivals_clear(struct arrivals *all)
{
    free((void *)all->ids);
    free((void *)all->lost);
    free(all->bytes);
    free(all->modified);
    free(all->inodes);
}

static void sort_out(const struct container_file_row *rows, size_t count,
                     struct arrivals *ret_all)
{
    *ret_all = (struct arrivals){
        .ids = mem_new_array(const char *, count + 1),
        .lost = mem_new_array(const char *, count + 1),
        .bytes = mem_new_array(int64_t, count + 1),
        .modified = mem_new_array(int64_t, count + 1),
        .inodes = mem_new_array(int64_t, count + 1),
    };
    for (size_t i = 0; i < count; i++) {
        size_t n = ret_all->count;

        if (!*rows[i].path) {
            ret_all->lost[ret_all->lost_count++] = rows[i].id;
            continue;
        }
        ret_all->ids[n] = rows[i].id;
        ret_all->bytes[n] = (int64_t)rows[i].bytes;
        ret_all->modified[n] = rows[i].modified_ns;
        ret_all->inodes[n] = (int64_t)rows[i].inode;
        ret_all->count++;
    }
}

static enum err_code update_files(struct db *db, const struct tenant *tenant, const char *id,
                                  const struct arrivals *all, struct err *err)
{
    static const struct db_statement update = {
        "store_container_arrived_files",
        "UPDATE container_files f SET bytes = u.bytes, modified_ns = u.modified_ns,"
        "  inode = u.inode FROM unnest($3::text[], $4::bigint[], $5::bigint[], $6::bigint[])"
        "  AS u (id, bytes, modified_ns, inode)"
        " WHERE f.project_id = $1 AND f.container_id = $2 AND f.id = u.id"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    db_arg_texts(&args, all->ids, all->count);
    db_arg_ints(&args, all->bytes, all->count);
    db_arg_ints(&args, all->modified, all->count);
    db_arg_ints(&args, all->inodes, all->count);
    return db_exec(db, &update, &args, NULL, err);
}

/* A lost file may have had a copy that could not be read. */
static enum err_code delete_lost(struct db *db, const struct tenant *tenant, const char *id,
                                 const struct arrivals *all, struct err *err)
{
    static const struct db_statement delete = {
        "store_container_arrived_lost",
        "WITH gone AS (DELETE FROM container_files WHERE project_id = $1"
        "  AND container_id = $2 AND id = ANY ($3) RETURNING blob_id)"
        " UPDATE blobs b SET holders = b.holders - 1, changed_at = " NOW
        " FROM gone g WHERE b.project_id = $1 AND b.id = g.blob_id"};
    AUTO_DB_ARGS args = {0};

    if (!all->lost_count)
        return ERR_OK;
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    db_arg_texts(&args, all->lost, all->lost_count);
    return db_exec(db, &delete, &args, NULL, err);
}

static enum err_code note_arrived(struct db *db, const struct tenant *tenant, const char *id,
                                  const char *lost, struct err *err)
{
    static const struct db_statement update = {
        "store_container_arrived",
        "UPDATE containers SET arriving = false, lost = $3 WHERE project_id = $1 AND id = $2"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    db_arg_text(&args, lost);
    return db_exec(db, &update, &args, NULL, err);
}

enum err_code store_container_arrived(struct store *store, const struct tenant *tenant,
                                      const char *id, int64_t epoch,
                                      const struct container_file_row *rows, size_t count,
                                      const char *lost, struct err *err)
{
    CLEANUP(arrivals_clear) struct arrivals all = {0};
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    sort_out(rows, count, &all);
    if (!rc)
        rc = container_lock(db, tenant, id, epoch, err);
    if (!rc)
        rc = update_files(db, tenant, id, &all, err);
    if (!rc)
        rc = delete_lost(db, tenant, id, &all, err);
    if (!rc)
        rc = drop_archive(db, tenant, id, err);
    if (!rc)
        rc = note_arrived(db, tenant, id, lost, err);
    return rc ? rc : db_commit(db, err);
}

enum err_code store_container_lost_shown(struct store *store, const struct tenant *tenant,
                                         const char *id, struct err *err)
{
    static const struct db_statement update = {
        "store_container_lost_shown",
        "UPDATE containers SET lost = NULL WHERE project_id = $1 AND id = $2"};

    return db_once_by_id(store, &update, tenant, id, NULL, err);
}

/* ---- Ends ---- */

enum err_code store_container_expire(struct store *store, const struct tenant *tenant,
                                     const char *id, int64_t epoch, struct err *err)
{
    static const struct db_statement update = {
        "store_container_expire_lost", "UPDATE containers SET status = $3, expires_at = " NOW
                                       " WHERE project_id = $1 AND id = $2"};
    AUTO_DB *db = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = container_lock(db, tenant, id, epoch, err);
    if (rc)
        return rc;
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    db_arg_text(&args, container_status_name(
                           container_status_next(CONTAINER_RUNNING, CONTAINER_EV_EXPIRE)));
    rc = db_exec(db, &update, &args, NULL, err);
    if (!rc)
        rc = container_files_forget(db, tenant, id, err);
    return rc ? rc : db_commit(db, err);
}

enum err_code store_container_left_cleared(struct store *store, const struct tenant *tenant,
                                           const char *id, const char *node_id, struct err *err)
{
    static const struct db_statement update = {
        "store_container_left_cleared",
        "WITH gone AS (DELETE FROM containers WHERE project_id = $1 AND id = $2"
        "  AND left_node = $3 AND status = 'deleted' AND NOT has_folder)"
        " UPDATE containers SET left_node = NULL WHERE project_id = $1 AND id = $2"
        " AND left_node = $3 AND NOT (status = 'deleted' AND NOT has_folder)"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    db_arg_text(&args, node_id);
    return db_once(store, &update, &args, NULL, err);
}
