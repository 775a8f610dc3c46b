/*
 * The files of containers.
 *
 * What was seen is compared with the rows here and not in SQL: both are sorted, so one walk finds the differences, and
 * where nothing has changed nothing is written. The container's row is locked meanwhile: two calls may have seen the
 * folder in different states, and their comparisons follow one another.
 */

#include "core/store/tables/containers/container_files.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/store/pg/db.h"
#include "core/store/pg/page.h"
#include "core/store/tables/containers/container_moves.h"
#include "core/store/tables/containers/container_sql.h"
#include "core/store/tables/containers/containers.h"
#include "core/store/tables/files/file_sql.h"
#include "core/store/tables/files/storage_sql.h"

#define FILE_COLUMNS                                                                      \
    "f.id, f.container_id, f.path, f.bytes, f.modified_ns, f.inode, f.source, f.call_id," \
    " f.blob_id, f.origin_id, f.created_at"

enum err_code container_file_not_found(const char *id, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "Container file with id '%.64s' not found.", id);
}

static void file_read(const struct db_rows *rows, size_t row,
                      struct container_file_row *ret_row)
{
    *ret_row = (struct container_file_row){
        .path = db_copy(rows, row, 2),
        .bytes = (uint64_t)db_int(rows, row, 3),
        .modified_ns = db_int(rows, row, 4),
        .inode = (uint64_t)db_int(rows, row, 5),
        .source = container_source_parse(db_text(rows, row, 6)),
        .created_at = db_int(rows, row, 10),
    };
    db_id(rows, row, 0, ret_row->id, sizeof(ret_row->id));
    db_id(rows, row, 1, ret_row->container_id, sizeof(ret_row->container_id));
    db_id(rows, row, 7, ret_row->call_id, sizeof(ret_row->call_id));
    db_id(rows, row, 8, ret_row->blob_id, sizeof(ret_row->blob_id));
    db_id(rows, row, 9, ret_row->origin_id, sizeof(ret_row->origin_id));
}

void changed_files_free(struct changed_file *files, size_t count)
{
    for (size_t i = 0; files && i < count; i++)
        free(files[i].path);
    free(files);
}

/* ---- What was seen ---- */

/* Files and blobs by their ids, for one statement. */
struct id_list {
    const char **ids;
    size_t count;
};

/* The rows as they are, what was seen, and what to write. All are in the order of paths. */
struct comparison {
    struct container_file_row *rows;
    size_t row_count;
    struct seen_file *seen; /* sorted; the paths are the caller's */
    size_t seen_count;
    struct changed_file *changed;
    size_t changed_count;
    const struct seen_file **now;             /* of changed[i]; NULL: deleted */
    const struct container_file_row **before; /* the same; NULL: created */
    struct id_list copies;                    /* blobs of files that are not what they were */
};

static void comparison_clear(struct comparison *all)
{
    container_file_rows_free(all->rows, all->row_count);
    free(all->seen);
    changed_files_free(all->changed, all->changed_count);
    free((void *)all->now);
    free((void *)all->before);
    free((void *)all->copies.ids);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct seen_file *)a)->path, ((const struct seen_file *)b)->path);
}

/* Nothing else writes rows of its files until the transaction ends. A writer that had the container before another node
 * took it has an old epoch. */
enum err_code container_lock(struct db *db, const struct tenant *tenant, const char *id,
                             int64_t epoch, struct err *err)
{
    static const struct db_statement lock = {
        "store_container_lock",
        "SELECT FROM containers WHERE project_id = $1 AND id = $2"
        " AND status = 'running' AND expires_at > " CONTAINER_NOW " AND epoch = $3"
        " FOR NO KEY UPDATE"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    db_arg_int(&args, epoch);
    rc = db_exec(db, &lock, &args, &rows, err);
    return rc || db_changed(rows) ? rc : container_not_found(id, err);
}

static enum err_code load(struct db *db, const struct tenant *tenant, const char *container_id,
                          struct comparison *all, struct err *err)
{
    static const struct db_statement select = {
        "store_container_files", "SELECT " FILE_COLUMNS " FROM container_files f"
                                 " WHERE f.project_id = $1 AND f.container_id = $2"
                                 " ORDER BY f.path"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, container_id);
    rc = db_exec(db, &select, &args, &rows, err);
    if (rc)
        return rc;
    all->row_count = db_count(rows);
    all->rows = mem_new_array(struct container_file_row, all->row_count + 1);
    for (size_t i = 0; i < all->row_count; i++)
        file_read(rows, i, &all->rows[i]);
    return ERR_OK;
}

/* `row` NULL: it is new; `seen` NULL: it is gone. */
static void add_change(struct comparison *all, const struct container_file_row *row,
                       const struct seen_file *seen)
{
    struct changed_file *change = &all->changed[all->changed_count];

    all->before[all->changed_count] = row;
    all->now[all->changed_count++] = seen;
    change->path = mem_strdup(seen ? seen->path : row->path);
    change->bytes = seen ? seen->bytes : row->bytes;
    change->change = !row ? CONTAINER_FILE_CREATED
                          : (seen ? CONTAINER_FILE_CHANGED : CONTAINER_FILE_DELETED);
    if (row)
        memcpy(change->id, row->id, sizeof(row->id));
    else
        id_make(change->id, "cfile_");
    if (row && *row->blob_id)
        all->copies.ids[all->copies.count++] = row->blob_id;
}

/* The call gets it as a new one, whose row is there. */
static void claim(struct comparison *all, const struct container_file_row *row,
                  const struct seen_file *seen)
{
    add_change(all, row, seen);
    all->changed[all->changed_count - 1].change = CONTAINER_FILE_CREATED;
}

static bool is_same(const struct container_file_row *row, const struct seen_file *seen)
{
    return row->bytes == seen->bytes && row->modified_ns == seen->modified_ns &&
           row->inode == seen->inode;
}

/* A scan between, such as that of a list, has found it before the call that made it had ended. */
static bool is_unclaimed(const struct container_file_row *row, const char *call_id)
{
    return *call_id && !*row->call_id && row->source == CONTAINER_FILE_ASSISTANT;
}

static void compare(struct comparison *all, enum seen_extent extent, const char *call_id)
{
    size_t most = all->row_count + all->seen_count + 1;
    size_t i = 0, j = 0;

    all->changed = mem_new_array(struct changed_file, most);
    all->now = mem_new_array(const struct seen_file *, most);
    all->before = mem_new_array(const struct container_file_row *, most);
    all->copies.ids = mem_new_array(const char *, all->row_count + 1);
    while (i < all->row_count || j < all->seen_count) {
        int order = i == all->row_count    ? 1
                    : j == all->seen_count ? -1
                                           : strcmp(all->rows[i].path, all->seen[j].path);

        if (order < 0 && extent == SEEN_PART)
            i++;
        else if (order < 0)
            add_change(all, &all->rows[i++], NULL);
        else if (order > 0)
            add_change(all, NULL, &all->seen[j++]);
        else if (!is_same(&all->rows[i], &all->seen[j]))
            add_change(all, &all->rows[i++], &all->seen[j++]);
        else if (is_unclaimed(&all->rows[i], call_id))
            claim(all, &all->rows[i++], &all->seen[j++]);
        else
            i++, j++;
    }
}

/* The values of new and changed files, a column an array. */
struct file_columns {
    const char **ids, **paths;
    int64_t *bytes, *modified, *inodes;
    size_t count;
};

static void file_columns_clear(struct file_columns *columns)
{
    free((void *)columns->ids);
    free((void *)columns->paths);
    free(columns->bytes);
    free(columns->modified);
    free(columns->inodes);
}

static enum container_change written_as(const struct comparison *all, size_t i)
{
    if (!all->now[i])
        return CONTAINER_FILE_DELETED;
    return all->before[i] ? CONTAINER_FILE_CHANGED : CONTAINER_FILE_CREATED;
}

static void collect(const struct comparison *all, enum container_change change,
                    struct file_columns *ret_columns)
{
    size_t most = all->changed_count + 1;

    *ret_columns = (struct file_columns){
        .ids = mem_new_array(const char *, most),
        .paths = mem_new_array(const char *, most),
        .bytes = mem_new_array(int64_t, most),
        .modified = mem_new_array(int64_t, most),
        .inodes = mem_new_array(int64_t, most),
    };
    for (size_t i = 0; i < all->changed_count; i++) {
        const struct seen_file *seen = all->now[i];
        size_t n = ret_columns->count;

        if (written_as(all, i) != change)
            continue;
        ret_columns->ids[n] = all->changed[i].id;
        ret_columns->paths[n] = all->changed[i].path;
        ret_columns->bytes[n] = seen ? (int64_t)seen->bytes : 0;
        ret_columns->modified[n] = seen ? seen->modified_ns : 0;
        ret_columns->inodes[n] = seen ? (int64_t)seen->inode : 0;
        ret_columns->count++;
    }
}

/* $1 to $9 of the statements that insert or update. */
static enum err_code write_columns(struct db *db, const struct db_statement *statement,
                                   const struct tenant *tenant, const char *container_id,
                                   const struct file_columns *columns,
                                   enum container_source source, const char *call_id,
                                   struct err *err)
{
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, container_id);
    db_arg_texts(&args, columns->ids, columns->count);
    db_arg_texts(&args, columns->paths, columns->count);
    db_arg_ints(&args, columns->bytes, columns->count);
    db_arg_ints(&args, columns->modified, columns->count);
    db_arg_ints(&args, columns->inodes, columns->count);
    db_arg_text(&args, container_source_name(source));
    db_arg_id(&args, call_id);
    return db_exec(db, statement, &args, NULL, err);
}

#define SEEN                                                                   \
    "unnest($3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[])" \
    "  AS s (id, path, bytes, modified_ns, inode)"

static const struct db_statement insert_seen = {
    "store_container_files_insert",
    "INSERT INTO container_files (project_id, container_id, id, path, bytes, modified_ns, "
    "inode,"
    "  source, call_id, created_at)"
    " SELECT $1, $2, s.id, s.path, s.bytes, s.modified_ns, s.inode, $8, $9, " CONTAINER_NOW
    " FROM " SEEN};

static const struct db_statement update_seen = {
    "store_container_files_update",
    "UPDATE container_files f SET bytes = s.bytes, modified_ns = s.modified_ns,"
    "  inode = s.inode, source = $8, call_id = $9, blob_id = NULL, origin_id = NULL"
    " FROM " SEEN " WHERE f.project_id = $1 AND f.container_id = $2 AND f.id = s.id"};

static enum err_code delete_unseen(struct db *db, const struct tenant *tenant,
                                   const char *container_id, const struct file_columns *columns,
                                   struct err *err)
{
    static const struct db_statement delete = {
        "store_container_files_delete", "DELETE FROM container_files WHERE project_id = $1"
                                        " AND container_id = $2 AND id = ANY ($3)"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, container_id);
    db_arg_texts(&args, columns->ids, columns->count);
    return db_exec(db, &delete, &args, NULL, err);
}

static enum err_code release(struct db *db, const struct tenant *tenant,
                             const struct id_list *blobs, struct err *err)
{
    static const struct db_statement update = {
        "store_container_files_release",
        "UPDATE blobs SET holders = holders - 1, changed_at = " CONTAINER_NOW
        " WHERE project_id = $1 AND id = ANY ($2)"};
    AUTO_DB_ARGS args = {0};

    if (!blobs->count)
        return ERR_OK;
    db_arg_tenant(&args, tenant);
    db_arg_texts(&args, blobs->ids, blobs->count);
    return db_exec(db, &update, &args, NULL, err);
}

static enum err_code write_changes(struct db *db, const struct tenant *tenant,
                                   const char *container_id, const struct comparison *all,
                                   enum container_source source, const char *call_id,
                                   struct err *err)
{
    CLEANUP(file_columns_clear) struct file_columns created = {0};
    CLEANUP(file_columns_clear) struct file_columns changed = {0};
    CLEANUP(file_columns_clear) struct file_columns deleted = {0};
    enum err_code rc = release(db, tenant, &all->copies, err);

    collect(all, CONTAINER_FILE_CREATED, &created);
    collect(all, CONTAINER_FILE_CHANGED, &changed);
    collect(all, CONTAINER_FILE_DELETED, &deleted);
    if (!rc && deleted.count)
        rc = delete_unseen(db, tenant, container_id, &deleted, err);
    if (!rc && changed.count)
        rc = write_columns(db, &update_seen, tenant, container_id, &changed, source, call_id,
                           err);
    if (!rc && created.count)
        rc = write_columns(db, &insert_seen, tenant, container_id, &created, source, call_id,
                           err);
    return rc;
}

enum err_code store_container_files_seen(struct store *store, const struct tenant *tenant,
                                         const char *container_id, int64_t epoch,
                                         const struct seen_file *seen, size_t count,
                                         enum seen_extent extent, enum container_source source,
                                         const char *call_id, struct changed_file **ret_changed,
                                         size_t *ret_changed_count, struct err *err)
{
    CLEANUP(comparison_clear) struct comparison all = {.seen_count = count};
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    all.seen = mem_new_array(struct seen_file, count + 1);
    if (count)
        memcpy(all.seen, seen, count * sizeof(*seen));
    qsort(all.seen, count, sizeof(*all.seen), by_path);
    if (!rc)
        rc = container_lock(db, tenant, container_id, epoch, err);
    if (!rc)
        rc = load(db, tenant, container_id, &all, err);
    if (rc)
        return rc;
    compare(&all, extent, call_id);
    rc = write_changes(db, tenant, container_id, &all, source, call_id, err);
    if (!rc)
        rc = db_commit(db, err);
    if (rc)
        return rc;
    *ret_changed_count = all.changed_count;
    *ret_changed = TAKE(all.changed);
    return ERR_OK;
}

/* ---- One file ---- */

/* The rows that a statement about $1, $2 and $3 deletes let go of their copies. */
#define FILE_GONE(which)                                                                    \
    "WITH gone AS (DELETE FROM container_files f WHERE f.project_id = $1"                   \
    "  AND f.container_id = $2" which " RETURNING f.blob_id),"                              \
    " released AS (UPDATE blobs b SET holders = b.holders - 1, changed_at = " CONTAINER_NOW \
    "  FROM gone g WHERE b.project_id = $1 AND b.id = g.blob_id)"                           \
    " SELECT FROM gone"

enum err_code container_files_forget(struct db *db, const struct tenant *tenant,
                                     const char *container_id, struct err *err)
{
    static const struct db_statement delete = {
        "store_container_files_forget",
        "WITH gone AS (DELETE FROM container_files WHERE project_id = $1"
        "  AND container_id = $2 RETURNING blob_id),"
        " archive AS (DELETE FROM container_archives WHERE project_id = $1"
        "  AND container_id = $2 RETURNING blob_id),"
        " other AS (DELETE FROM container_skills WHERE project_id = $1"
        "  AND container_id = $2 RETURNING counted_bytes),"
        " released AS (UPDATE blobs b SET holders = b.holders - 1, changed_at = " CONTAINER_NOW
        "  FROM gone g WHERE b.project_id = $1 AND b.id = g.blob_id),"
        " archived AS (UPDATE blobs b SET holders = b.holders - 1, changed_at = " CONTAINER_NOW
        "  FROM archive a WHERE b.project_id = $1 AND b.id = a.blob_id)"
        " SELECT coalesce(sum(counted_bytes), 0)::bigint FROM other"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, container_id);
    rc = db_exec(db, &delete, &args, &rows, err);
    return rc ? rc : storage_count_documents(db, tenant, -db_int(rows, 0, 0), err);
}

static enum err_code insert_file(struct db *db, const struct tenant *tenant,
                                 const struct container_file_row *row, struct err *err)
{
    static const struct db_statement insert = {
        "store_container_file_put",
        "INSERT INTO container_files (project_id, container_id, id, path, bytes, modified_ns,"
        "  inode, source, call_id, origin_id, created_at)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, row->container_id);
    db_arg_text(&args, row->id);
    db_arg_text(&args, row->path);
    db_arg_int(&args, (int64_t)row->bytes);
    db_arg_int(&args, row->modified_ns);
    db_arg_int(&args, (int64_t)row->inode);
    db_arg_text(&args, container_source_name(row->source));
    db_arg_id(&args, row->call_id);
    db_arg_id(&args, row->origin_id);
    db_arg_int(&args, row->created_at);
    return db_exec(db, &insert, &args, NULL, err);
}

enum err_code store_container_file_put(struct store *store, const struct tenant *tenant,
                                       const struct container_file_row *row, int64_t epoch,
                                       struct err *err)
{
    static const struct db_statement delete = {"store_container_file_replace",
                                               FILE_GONE(" AND f.path = $3")};
    AUTO_DB *db = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = container_lock(db, tenant, row->container_id, epoch, err);
    if (rc)
        return rc;
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, row->container_id);
    db_arg_text(&args, row->path);
    rc = db_exec(db, &delete, &args, NULL, err);
    if (!rc)
        rc = insert_file(db, tenant, row, err);
    return rc ? rc : db_commit(db, err);
}

/* A file whose copy is missing may still be the one of the Files API that it was made from: a change ends that. */
enum err_code store_container_files_sources(struct store *store, const struct tenant *tenant,
                                            const char *id,
                                            struct container_file_row **ret_rows,
                                            size_t *ret_count, struct err *err)
{
    static const struct db_statement select = {
        "store_container_files_sources",
        "SELECT f.id, f.container_id, f.path, f.bytes, f.modified_ns, f.inode, f.source,"
        " f.call_id, coalesce(f.blob_id, o.blob_id), f.origin_id, f.created_at"
        " FROM container_files f LEFT JOIN files o ON o.project_id = f.project_id"
        "  AND o.id = f.origin_id WHERE f.project_id = $1 AND f.container_id = $2"
        " ORDER BY f.path"};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = db_once_by_id(store, &select, tenant, id, &rows, err);

    if (rc)
        return rc;
    *ret_count = db_count(rows);
    *ret_rows = mem_new_array(struct container_file_row, *ret_count + 1);
    for (size_t i = 0; i < *ret_count; i++)
        file_read(rows, i, &(*ret_rows)[i]);
    return ERR_OK;
}

/* The statement's $3 is `key`. */
static enum err_code find(struct store *store, const struct db_statement *select,
                          const struct tenant *tenant, const char *container_id,
                          const char *key, struct container_file_row *ret_row, struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, container_id);
    db_arg_text(&args, key);
    rc = db_once(store, select, &args, &rows, err);
    if (rc)
        return rc;
    if (!db_count(rows))
        return container_file_not_found(key, err);
    if (ret_row)
        file_read(rows, 0, ret_row);
    return ERR_OK;
}

#define FILE_WHERE(column)                                                   \
    "SELECT " FILE_COLUMNS " FROM container_files f WHERE f.project_id = $1" \
    " AND f.container_id = $2 AND f." column " = $3"

enum err_code store_container_file_get(struct store *store, const struct tenant *tenant,
                                       const char *container_id, const char *id,
                                       struct container_file_row *ret_row, struct err *err)
{
    static const struct db_statement select = {"store_container_file_get", FILE_WHERE("id")};

    return find(store, &select, tenant, container_id, id, ret_row, err);
}

enum err_code store_container_file_at(struct store *store, const struct tenant *tenant,
                                      const char *container_id, const char *path,
                                      struct container_file_row *ret_row, struct err *err)
{
    static const struct db_statement select = {"store_container_file_at", FILE_WHERE("path")};

    return find(store, &select, tenant, container_id, path, ret_row, err);
}

enum err_code store_container_file_from(struct store *store, const struct tenant *tenant,
                                        const char *container_id, const char *origin_id,
                                        struct container_file_row *ret_row, struct err *err)
{
    static const struct db_statement select = {"store_container_file_from",
                                               FILE_WHERE("origin_id") " LIMIT 1"};

    return find(store, &select, tenant, container_id, origin_id, ret_row, err);
}

enum err_code store_container_files_from(struct store *store, const struct tenant *tenant,
                                         const char *container_id,
                                         const char *const *origin_ids, size_t count,
                                         struct container_file_row **ret_rows,
                                         size_t *ret_count, struct err *err)
{
    static const struct db_statement select = {
        "store_container_files_from",
        "SELECT " FILE_COLUMNS " FROM container_files f WHERE f.project_id = $1"
        " AND f.container_id = $2 AND f.origin_id = ANY ($3)"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, container_id);
    db_arg_texts(&args, origin_ids, count);
    rc = db_once(store, &select, &args, &rows, err);
    if (rc)
        return rc;
    *ret_count = db_count(rows);
    *ret_rows = mem_new_array(struct container_file_row, *ret_count + 1);
    for (size_t i = 0; i < *ret_count; i++)
        file_read(rows, i, &(*ret_rows)[i]);
    return ERR_OK;
}

enum err_code store_container_files_top(struct store *store, const struct tenant *tenant,
                                        const char *container_id, const char *owner_id,
                                        struct container_file_row **ret_rows, size_t *ret_count,
                                        struct err *err)
{
    static const struct db_statement select = {
        "store_container_files_top",
        "SELECT " FILE_COLUMNS
        " FROM containers c JOIN container_files f ON f.project_id = c.project_id"
        " AND f.container_id = c.id WHERE c.project_id = $1 AND c.status = 'running'"
        " AND CASE WHEN $2 <> '' THEN c.id = $2 ELSE c.owner_id = $3 END"
        " AND strpos(f.path, '/') = 0"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, container_id);
    db_arg_text(&args, owner_id);
    rc = db_once(store, &select, &args, &rows, err);
    if (rc)
        return rc;
    *ret_count = db_count(rows);
    *ret_rows = mem_new_array(struct container_file_row, *ret_count + 1);
    for (size_t i = 0; i < *ret_count; i++)
        file_read(rows, i, &(*ret_rows)[i]);
    return ERR_OK;
}

#define FILE_LIST(order)                                                                \
    "SELECT " FILE_COLUMNS " FROM container_files f WHERE f.project_id = $1"            \
    " AND f.container_id = $2 AND f.id > coalesce($3, '') AND f.id < coalesce($4, '~')" \
    " ORDER BY f.id " order " LIMIT $5"

enum err_code store_container_file_list(struct store *store, const struct tenant *tenant,
                                        const char *container_id, const struct page *page,
                                        struct container_file_row **ret_rows, size_t *ret_count,
                                        bool *ret_more, struct err *err)
{
    static const struct db_statement lists[] = {
        {"store_container_file_list_desc", FILE_LIST("DESC")},
        {"store_container_file_list_asc", FILE_LIST("ASC")},
    };
    static const struct page_list cursor = {
        {"store_container_file_list_cursor",
         "SELECT 1 FROM container_files WHERE project_id = $1 AND container_id = $2"
         " AND id = $3"},
        "cfile_"};
    AUTO_DB_ROWS *rows = NULL;
    struct page_scan scan;
    enum err_code rc =
        page_read(store, lists, &cursor, tenant, container_id, page, &scan, &rows, err);

    if (!rc)
        page_unroll(&scan, rows, file_read, ret_rows, ret_count, ret_more);
    return rc;
}

enum err_code store_container_file_delete(struct store *store, const struct tenant *tenant,
                                          const char *container_id, const char *id,
                                          struct err *err)
{
    static const struct db_statement delete = {"store_container_file_delete",
                                               FILE_GONE(" AND f.id = $3")};

    return find(store, &delete, tenant, container_id, id, NULL, err);
}

static enum err_code note_copy(struct db *db, const struct tenant *tenant,
                               const struct container_file_row *row, struct err *err)
{
    static const struct db_statement update = {
        "store_container_file_copied",
        "UPDATE container_files SET blob_id = $4 WHERE project_id = $1 AND container_id = $2"
        " AND id = $3 AND bytes = $5 AND modified_ns = $6 AND inode = $7 AND blob_id IS NULL"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, row->container_id);
    db_arg_text(&args, row->id);
    db_arg_text(&args, row->blob_id);
    db_arg_int(&args, (int64_t)row->bytes);
    db_arg_int(&args, row->modified_ns);
    db_arg_int(&args, (int64_t)row->inode);
    rc = db_exec(db, &update, &args, &rows, err);
    if (rc || db_changed(rows))
        return rc;
    return err_set(err, ERR_CONFLICT, "%s was changed or copied while it was read", row->id);
}

enum err_code store_container_file_copied(struct store *store, const struct tenant *tenant,
                                          const struct container_file_row *row, struct err *err)
{
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = blob_hold(db, tenant, row->blob_id, err);
    if (!rc)
        rc = note_copy(db, tenant, row, err);
    return rc ? rc : db_commit(db, err);
}

enum err_code store_container_copied_bytes(struct store *store, const struct tenant *tenant,
                                           const char *container_id, uint64_t *ret_bytes,
                                           struct err *err)
{
    static const struct db_statement select = {
        "store_container_copied_bytes",
        "SELECT coalesce(sum(f.bytes), 0)::bigint FROM container_files f"
        " WHERE f.project_id = $1 AND f.container_id = $2 AND f.blob_id IS NOT NULL"};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = db_once_by_id(store, &select, tenant, container_id, &rows, err);

    if (!rc)
        *ret_bytes = (uint64_t)db_int(rows, 0, 0);
    return rc;
}
