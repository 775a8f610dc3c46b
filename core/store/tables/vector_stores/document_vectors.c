#include "core/store/tables/vector_stores/document_vectors.h"

#include <stdlib.h>

#include "core/base/mem.h"
#include "core/store/pg/db.h"
#include "core/store/pg/state.h"
#include "core/store/tables/vector_stores/document_sql.h"
#include "core/store/tables/vector_stores/pgvector.h"
#include "core/store/tables/vector_stores/vector_bytes.h"

/* ---- Cutting ---- */

static enum err_code note_cut(struct db *db, const struct tenant *tenant,
                              const struct document_work *work,
                              const struct document_made *made, struct err *err)
{
    static const struct db_statement note = {
        "store_document_cut",
        "UPDATE documents SET cut = true, embedded = 0, attempts = 0, page_count = $3::bigint,"
        " chunk_count = $4::bigint, usage_bytes = $5 WHERE project_id = $1 AND id = $2"};
    AUTO_DB_ARGS args = {0};

    document_work_args(&args, tenant, work);
    db_arg_int(&args, (int64_t)made->pages);
    db_arg_int(&args, (int64_t)made->chunk_count);
    db_arg_int(&args, (int64_t)made->usage_bytes);
    return db_exec(db, &note, &args, NULL, err);
}

enum err_code store_document_cut(struct store *store, struct document_work *work,
                                 const struct document_made *made, struct err *err)
{
    const struct tenant tenant = tenant_of_project(work->project);
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = document_look(db, &tenant, work, err);
    if (!rc)
        rc = document_insert(db, &tenant, work, made, err);
    if (!rc)
        rc = document_hold(db, &tenant, work, err);
    if (!rc)
        rc = note_cut(db, &tenant, work, made, err);
    if (!rc)
        rc = db_commit(db, err);
    if (rc)
        return rc;
    work->cut = true;
    work->pages = made->pages;
    work->chunks = made->chunk_count;
    work->embedded = 0;
    work->usage_bytes = made->usage_bytes;
    return ERR_OK;
}

/* ---- Chunks ---- */

void document_chunks_free(struct document_chunk *chunks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free((void *)(uintptr_t)chunks[i].heading);
        free((void *)(uintptr_t)chunks[i].text);
    }
    free(chunks);
}

enum err_code store_document_chunks(struct store *store, const struct document_work *work,
                                    size_t first, size_t limit,
                                    struct document_chunk **ret_chunks, size_t *ret_count,
                                    struct err *err)
{
    static const struct db_statement select = {
        "store_document_chunks_read",
        "SELECT c.heading, c.text FROM chunks c WHERE c.project_id = $1 AND c.document_id = $2"
        " AND c.n >= $3::bigint AND c.n < $3::bigint + $4::bigint ORDER BY c.n"};
    const struct tenant tenant = tenant_of_project(work->project);
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    document_work_args(&args, &tenant, work);
    db_arg_int(&args, (int64_t)first);
    db_arg_int(&args, (int64_t)limit);
    rc = db_once(store, &select, &args, &rows, err);
    if (rc)
        return rc;
    *ret_count = db_count(rows);
    *ret_chunks = mem_zeroed(*ret_count + 1, sizeof(**ret_chunks));
    for (size_t i = 0; i < *ret_count; i++) {
        (*ret_chunks)[i].heading = db_copy(rows, i, 0);
        (*ret_chunks)[i].text = db_copy(rows, i, 1);
    }
    return ERR_OK;
}

/* ---- Vectors ---- */

static enum err_code insert_vectors(struct db *db, const struct tenant *tenant,
                                    const struct document_work *work, const float *vectors,
                                    size_t numbers, struct err *err)
{
    static const struct db_statement insert = {
        "store_document_vectors",
        "INSERT INTO chunk_vectors (project_id, document_id, n, bytes)"
        " VALUES ($1, $2, $3::bigint, $4)"};
    AUTO_DB_ARGS args = {0};

    document_work_args(&args, tenant, work);
    db_arg_int(&args, (int64_t)work->embedded);
    vector_bytes_arg(&args, vectors, numbers);
    return db_exec(db, &insert, &args, NULL, err);
}

/* Deaths and waits of before say nothing about what comes. Faults stay: vectors may be stored for ever, and never
 * fit. */
static enum err_code note_embedded(struct db *db, const struct tenant *tenant,
                                   const struct document_work *work, size_t embedded,
                                   struct err *err)
{
    static const struct db_statement note = {
        "store_document_embedded",
        "UPDATE documents SET embedded = $3::bigint, attempts = 0, tries = 0"
        " WHERE project_id = $1 AND id = $2"};
    AUTO_DB_ARGS args = {0};

    document_work_args(&args, tenant, work);
    db_arg_int(&args, (int64_t)embedded);
    return db_exec(db, &note, &args, NULL, err);
}

enum err_code store_document_embedded(struct store *store, struct document_work *work,
                                      const float *vectors, size_t count, uint32_t dimensions,
                                      struct err *err)
{
    const struct tenant tenant = tenant_of_project(work->project);
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = document_hold(db, &tenant, work, err);
    if (!rc)
        rc = store_pgvector_is_used(store)
                 ? pgvector_insert_in(db, &tenant, work, vectors, count, dimensions, err)
                 : insert_vectors(db, &tenant, work, vectors, count * dimensions, err);
    if (!rc)
        rc = note_embedded(db, &tenant, work, work->embedded + count, err);
    if (!rc)
        rc = db_commit(db, err);
    if (rc)
        return rc;
    work->embedded += count;
    work->tries = 0;
    return ERR_OK;
}

enum err_code store_document_unembed(struct store *store, struct document_work *work,
                                     struct err *err)
{
    const struct tenant tenant = tenant_of_project(work->project);
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = document_hold(db, &tenant, work, err);
    if (!rc)
        rc = document_forget_vectors(db, &tenant, work, err);
    if (!rc)
        rc = pgvector_forget_in(db, &tenant, work->id, err);
    if (!rc)
        rc = note_embedded(db, &tenant, work, 0, err);
    if (!rc)
        rc = db_commit(db, err);
    if (!rc)
        work->embedded = 0;
    return rc;
}

/* The chunks behind those of a row, and no more of them than the document has. */
static size_t row_end(const struct document_work *work, const struct db_rows *rows, size_t row)
{
    size_t end = (size_t)db_int(rows, row, 2);

    return end < work->chunks ? end : work->chunks;
}

enum err_code store_document_vectors(struct store *store, const struct document_work *work,
                                     uint32_t dimensions, size_t first, float **ret_vectors,
                                     size_t *ret_count, struct err *err)
{
    static const struct db_statement select = {
        "store_document_vectors_read",
        "SELECT v.n, v.bytes, lead(v.n, 1, $4::integer) OVER (ORDER BY v.n)"
        " FROM chunk_vectors v WHERE v.project_id = $1 AND v.document_id = $2"
        " AND v.n >= $3::bigint ORDER BY v.n LIMIT $5"};
    const struct tenant tenant = tenant_of_project(work->project);
    AUTO_FREE float *vectors = NULL;
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    size_t next = first;
    enum err_code rc;

    document_work_args(&args, &tenant, work);
    db_arg_int(&args, (int64_t)first);
    db_arg_int(&args, (int64_t)work->chunks);
    db_arg_int(&args, (int64_t)DOCUMENT_VECTORS);
    rc = db_once(store, &select, &args, &rows, err);
    if (rc)
        return rc;
    if (db_count(rows))
        vectors = mem_new_array(
            float, (row_end(work, rows, db_count(rows) - 1) - first) * dimensions + 1);
    for (size_t i = 0; i < db_count(rows) && (size_t)db_int(rows, i, 0) == next; i++) {
        size_t end = row_end(work, rows, i);

        if (!vector_bytes_read(rows, i, 1, vectors + (next - first) * dimensions,
                               (end - next) * dimensions))
            break;
        next = end;
    }
    if (!db_count(rows) || next != row_end(work, rows, db_count(rows) - 1))
        return err_set(err, ERR_INTERNAL, "the vectors of %s do not fit its chunks", work->id);
    *ret_vectors = TAKE(vectors);
    *ret_count = next - first;
    return ERR_OK;
}

/* ---- Publishing ---- */

/* `rows`: bytes of vectors that are not in the segment. */
static enum err_code publish(struct store *store, const struct document_work *work,
                             const void *segment, size_t size, uint64_t rows, struct err *err)
{
    const struct tenant tenant = tenant_of_project(work->project);
    const struct document_outcome outcome = {
        .status = STORE_FILE_COMPLETED,
        .pages = work->pages,
        .chunks = work->chunks,
        .embedded = segment || rows ? work->chunks : 0,
        .usage_bytes = work->usage_bytes + size + rows,
    };
    struct document_work held = *work;
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = document_look(db, &tenant, work, err);
    if (!rc && segment)
        rc = document_insert_segment(db, &tenant, work, segment, size, err);
    if (!rc)
        rc = document_hold(db, &tenant, &held, err);
    return rc ? rc : document_end(db, &tenant, &held, &outcome, err);
}

enum err_code store_document_publish_cut(struct store *store, const struct document_work *work,
                                         const void *segment, size_t size, struct err *err)
{
    return publish(store, work, segment, size, 0, err);
}

enum err_code store_document_publish_rows(struct store *store, const struct document_work *work,
                                          uint64_t bytes, struct err *err)
{
    return publish(store, work, NULL, 0, bytes, err);
}
