/*
 * The border between a search and the database.
 *
 * A filter becomes a jsonpath and its values, both parameters, so one statement serves every filter and
 * nothing that a client sends is part of a statement. PostgreSQL compares numbers as numbers and texts by code point,
 * and a missing key is no error: what filters of the API mean.
 */

#include "core/store/tables/vector_stores/search_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/store/pg/db.h"
#include "core/store/tables/vector_stores/filter_sql.h"
#include "core/store/tables/vector_stores/vector_store_sql.h"

/* Counters and the last use are what nodes without versions move. */
#define STORE_MARK                                                                           \
    "concat_ws(' ', v.version, v.last_active_at, v.usage_bytes, v.in_progress, v.completed," \
    " v.failed, v.cancelled)"

enum err_code store_search_marks(struct store *store, const struct tenant *tenant,
                                 const char *const *stores, size_t count,
                                 struct search_mark *ret_marks, struct err *err)
{
    static const struct db_statement find = {
        "store_search_marks",
        "SELECT v.id IS NULL, " VECTOR_STORE_EXPIRED ", " STORE_MARK
        ", v.last_active_at >= " VECTOR_STORES_NOW " - " VECTOR_STORE_USE_US
        " FROM unnest($2::text[]) WITH ORDINALITY u (id, n)"
        " LEFT JOIN vector_stores v ON v.project_id = $1 AND v.id = u.id ORDER BY u.n"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_texts(&args, stores, count);
    rc = db_once(store, &find, &args, &rows, err);
    for (size_t i = 0; !rc && i < count; i++) {
        if (db_bool(rows, i, 0))
            rc = vector_store_not_found(stores[i], err);
        else if (db_bool(rows, i, 1))
            rc = vector_store_expired(stores[i], err);
        (void)snprintf(ret_marks[i].text, sizeof(ret_marks[i].text), "%s", db_text(rows, i, 2));
        ret_marks[i].used = db_bool(rows, i, 3);
    }
    return rc;
}

static void read_file(const struct db_rows *rows, size_t row, const char *store_id,
                      struct searched_file *ret_file)
{
    db_id(rows, row, 0, ret_file->document_id, sizeof(ret_file->document_id));
    db_id(rows, row, 1, ret_file->file_id, sizeof(ret_file->file_id));
    (void)snprintf(ret_file->store_id, sizeof(ret_file->store_id), "%s", store_id);
    ret_file->usage_bytes = (uint64_t)db_int(rows, row, 2);
}

/* One statement, so mark and files are of one moment. The row of the mark has no document. */
enum err_code store_search_all(struct store *store, const struct tenant *tenant,
                               const char *store_id, struct search_mark *ret_mark,
                               struct searched_file **ret_files, size_t *ret_count,
                               struct err *err)
{
    static const struct db_statement select = {
        "store_search_all",
        "WITH it AS MATERIALIZED (SELECT " STORE_MARK " AS mark FROM vector_stores v"
        "  WHERE v.project_id = $1 AND v.id = $2 AND NOT " VECTOR_STORE_EXPIRED ")"
        " SELECT NULL, i.mark, 0 FROM it i UNION ALL"
        " SELECT f.searched_id, f.file_id, f.usage_bytes FROM it i JOIN vector_store_files f"
        "  ON f.project_id = $1 AND f.vector_store_id = $2 AND f.searched_id IS NOT NULL"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;
    size_t count = 0;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, store_id);
    rc = db_once(store, &select, &args, &rows, err);
    if (rc)
        return rc;
    *ret_mark = (struct search_mark){0};
    *ret_files = mem_zeroed(db_count(rows) + 1, sizeof(**ret_files));
    for (size_t i = 0; i < db_count(rows); i++) {
        if (db_is_null(rows, i, 0))
            (void)snprintf(ret_mark->text, sizeof(ret_mark->text), "%s", db_text(rows, i, 1));
        else
            read_file(rows, i, store_id, &(*ret_files)[count++]);
    }
    *ret_count = count;
    return ERR_OK;
}

enum err_code store_search_set(struct store *store, const struct tenant *tenant,
                               const char *const *stores, size_t store_count,
                               const struct filter *filter, struct searched_file **ret_files,
                               size_t *ret_count, struct err *err)
{
    static const struct db_statement select = {
        "store_search_set",
        "SELECT f.searched_id, f.file_id, f.usage_bytes, f.vector_store_id"
        " FROM unnest($2::text[]) WITH ORDINALITY u (id, n)"
        " JOIN vector_stores v ON v.project_id = $1 AND v.id = u.id"
        " JOIN vector_store_files f ON f.project_id = $1 AND f.vector_store_id = u.id"
        " WHERE f.searched_id IS NOT NULL AND NOT " VECTOR_STORE_EXPIRED
        " AND ($3::text IS NULL OR jsonb_path_match(f.attributes, $3::text::jsonpath,"
        "  $4::text::jsonb, true))"
        " ORDER BY u.n, f.file_id"};
    CLEANUP(filter_sql_clear) struct filter_sql sql = {0};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    if (filter)
        filter_sql_make(filter, &sql);
    db_arg_tenant(&args, tenant);
    db_arg_texts(&args, stores, store_count);
    db_arg_text(&args, sql.path);
    db_arg_text(&args, sql.values);
    rc = db_once(store, &select, &args, &rows, err);
    if (rc)
        return rc;
    *ret_count = db_count(rows);
    *ret_files = mem_zeroed(*ret_count + 1, sizeof(**ret_files));
    for (size_t i = 0; i < *ret_count; i++)
        read_file(rows, i, db_text(rows, i, 3), &(*ret_files)[i]);
    return ERR_OK;
}

/* Rows are in the order of documents and pieces. */
static void join_pieces(const struct db_rows *rows, segment_take *take, void *arg)
{
    size_t row = 0;

    while (row < db_count(rows)) {
        const char *id = db_text(rows, row, 0);
        struct buf bytes = {0};
        size_t size;

        for (; row < db_count(rows) && strcmp(db_text(rows, row, 0), id) == 0; row++) {
            AUTO_FREE char *piece = db_bytes(rows, row, 1, &size);

            buf_add(&bytes, piece, size);
        }
        size = bytes.length;
        take(arg, id, buf_take(&bytes), size);
    }
}

enum err_code store_segments_read(struct store *store, const struct tenant *tenant,
                                  const char *const *document_ids, size_t count,
                                  segment_take *take, void *arg, struct err *err)
{
    static const struct db_statement select = {
        "store_segments_read",
        "SELECT document_id, bytes FROM document_segments WHERE project_id = $1"
        " AND document_id = ANY ($2::text[]) ORDER BY document_id, n"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_texts(&args, document_ids, count);
    rc = db_once(store, &select, &args, &rows, err);
    if (!rc)
        join_pieces(rows, take, arg);
    return rc;
}

void found_chunk_clear(struct found_chunk *chunk)
{
    free(chunk->text);
    free(chunk->heading);
    free(chunk->filename);
    free(chunk->attributes);
    *chunk = (struct found_chunk){0};
}

enum err_code store_chunks_read(struct store *store, const struct tenant *tenant,
                                struct found_chunk *chunks, size_t count, struct err *err)
{
    static const struct db_statement select = {
        "store_chunks_read",
        "SELECT u.place, c.text, c.heading, c.page, i.filename, f.attributes"
        " FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[]) WITH ORDINALITY"
        "  u (store_id, file_id, document_id, n, place)"
        " JOIN vector_store_files f ON f.project_id = $1 AND f.vector_store_id = u.store_id"
        "  AND f.file_id = u.file_id AND f.searched_id IS NOT NULL"
        " JOIN files i ON i.project_id = $1 AND i.id = u.file_id"
        " JOIN chunks c ON c.project_id = $1 AND c.document_id = u.document_id AND c.n = u.n"};
    AUTO_FREE const char **stores = mem_new_array(const char *, count + 1);
    AUTO_FREE const char **files = mem_new_array(const char *, count + 1);
    AUTO_FREE const char **documents = mem_new_array(const char *, count + 1);
    AUTO_FREE int64_t *numbers = mem_new_array(int64_t, count + 1);
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    for (size_t i = 0; i < count; i++) {
        stores[i] = chunks[i].file->store_id;
        files[i] = chunks[i].file->file_id;
        documents[i] = chunks[i].file->document_id;
        numbers[i] = chunks[i].n;
    }
    db_arg_tenant(&args, tenant);
    db_arg_texts(&args, stores, count);
    db_arg_texts(&args, files, count);
    db_arg_texts(&args, documents, count);
    db_arg_ints(&args, numbers, count);
    rc = db_once(store, &select, &args, &rows, err);
    for (size_t i = 0; !rc && i < db_count(rows); i++) {
        struct found_chunk *chunk = &chunks[db_int(rows, i, 0) - 1];

        chunk->text = db_copy(rows, i, 1);
        chunk->heading = db_copy(rows, i, 2);
        chunk->page = (size_t)db_int(rows, i, 3);
        chunk->filename = db_copy(rows, i, 4);
        chunk->attributes = db_copy(rows, i, 5);
    }
    return rc;
}
