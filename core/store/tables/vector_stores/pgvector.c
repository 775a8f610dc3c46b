/*
 * The statements that name a model or its dimensions are texts of the moment: a partial index is used only when its
 * condition stands in the statement as a constant. What they are made of are numbers of this program. Everything of a
 * client is a parameter.
 */

#include "core/store/tables/vector_stores/pgvector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/store/pg/db.h"
#include "core/store/pg/state.h"
#include "core/store/tables/vector_stores/document_sql.h"

/* As pgvector reads it. A halfvec has 11 bits a number. */
static void add_vector(struct buf *text, const float *vector, uint32_t dimensions)
{
    for (uint32_t i = 0; i < dimensions; i++)
        buf_addf(text, "%c%.6g", i ? ',' : '[', (double)vector[i]);
    buf_add_char(text, ']');
    buf_add_char(text, '\0');
}

/* ---- The table ---- */

#define TABLE "pgvector_chunks"

/* Nodes that start together take turns: IF NOT EXISTS alone lets both try. */
static enum err_code take_turn(struct db *db, struct err *err)
{
    static const struct db_statement lock = {
        "store_pgvector_turn", "SELECT pg_advisory_xact_lock(hashtext('" TABLE "'))"};
    AUTO_DB_ARGS args = {0};

    return db_exec(db, &lock, &args, NULL, err);
}

static enum err_code run_each(struct db *db, const struct db_statement *statements,
                              size_t count, struct err *err)
{
    enum err_code rc = ERR_OK;

    for (size_t i = 0; !rc && i < count; i++) {
        AUTO_DB_ARGS args = {0};

        rc = db_exec(db, &statements[i], &args, NULL, err);
    }
    return rc;
}

static enum err_code make_table(struct db *db, struct err *err)
{
    static const struct db_statement makes[] = {
        {"store_pgvector_extension", "CREATE EXTENSION IF NOT EXISTS vector"},
        {"store_pgvector_table",
         "CREATE TABLE IF NOT EXISTS " TABLE " (project_id text COLLATE \"C\" NOT NULL,"
         " document_id text COLLATE \"C\" NOT NULL,"
         " n integer NOT NULL,"
         " model_id integer NOT NULL,"
         " vector halfvec NOT NULL,"
         " PRIMARY KEY (project_id, document_id, n))"},
    };

    return run_each(db, makes, COUNT_OF(makes), err);
}

/* Iterative scans, without which a filter can empty a list, came with 0.8. */
static enum err_code check_version(struct db *db, struct err *err)
{
    static const struct db_statement find = {
        "store_pgvector_version",
        "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'"
        " AND string_to_array(default_version, '.')::integer[] >= ARRAY[0, 8]"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc = db_exec(db, &find, &args, &rows, err);

    if (rc || db_count(rows))
        return rc;
    return err_set(err, ERR_INVALID,
                   "retrieval_engine is pgvector, and this PostgreSQL has no extension "
                   "pgvector of version 0.8 or newer.");
}

static const struct db_statement find_table = {"store_pgvector_find",
                                               "SELECT to_regclass('" TABLE "') IS NOT NULL"};

static enum err_code find_left(struct store *store, struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc = db_once(store, &find_table, &args, &rows, err);

    if (!rc)
        atomic_store(&store->pgvector_there, db_bool(rows, 0, 0));
    return rc;
}

enum err_code store_pgvector_open(struct store *store, enum pgvector_use use, struct err *err)
{
    AUTO_DB *db = NULL;
    enum err_code rc;

    if (use == PGVECTOR_LEFT)
        return find_left(store, err);
    rc = db_begin(store, &db, err);
    if (!rc)
        rc = take_turn(db, err);
    if (!rc)
        rc = check_version(db, err);
    if (!rc)
        rc = make_table(db, err);
    if (!rc)
        rc = db_commit(db, err);
    if (!rc)
        atomic_store(&store->pgvector_there, true);
    if (!rc)
        atomic_store(&store->pgvector_used, true);
    return rc;
}

bool store_pgvector_is_used(struct store *store)
{
    return atomic_load(&store->pgvector_used);
}

/* ---- Rows of documents ---- */

enum err_code pgvector_insert_in(struct db *db, const struct tenant *tenant,
                                 const struct document_work *work, const float *vectors,
                                 size_t count, uint32_t dimensions, struct err *err)
{
    static const struct db_statement insert = {
        "store_pgvector_insert",
        "INSERT INTO " TABLE " (project_id, document_id, n, model_id, vector)"
        " SELECT $1, $2, $3::integer + u.n::integer - 1, $4::integer, u.vector::halfvec"
        " FROM unnest($5::text[]) WITH ORDINALITY u (vector, n)"};
    AUTO_FREE const char **texts = mem_new_array(const char *, count + 1);
    AUTO_FREE size_t *starts = mem_new_array(size_t, count + 1);
    AUTO_BUF text = {0};
    AUTO_DB_ARGS args = {0};

    for (size_t i = 0; i < count; i++) {
        starts[i] = text.length;
        add_vector(&text, vectors + i * dimensions, dimensions);
    }
    for (size_t i = 0; i < count; i++)
        texts[i] = text.data + starts[i];
    document_work_args(&args, tenant, work);
    db_arg_int(&args, (int64_t)work->embedded);
    db_arg_int(&args, work->model_id);
    db_arg_texts(&args, texts, count);
    db_allow_time(db);
    return db_exec(db, &insert, &args, NULL, err);
}

/* Another node may have made it since this one has started. */
static enum err_code look_for_table(struct db *db, bool *ret_there, struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc = db_exec(db, &find_table, &args, &rows, err);

    if (rc)
        return rc;
    *ret_there = db_bool(rows, 0, 0);
    if (*ret_there)
        atomic_store(&db->store->pgvector_there, true);
    return ERR_OK;
}

enum err_code pgvector_forget_in(struct db *db, const struct tenant *tenant,
                                 const char *document_id, struct err *err)
{
    static const struct db_statement forget = {
        "store_pgvector_forget",
        "DELETE FROM " TABLE " v WHERE v.project_id = $1 AND v.document_id = $2"};
    AUTO_DB_ARGS args = {0};
    bool there = atomic_load(&db->store->pgvector_there);
    enum err_code rc = there ? ERR_OK : look_for_table(db, &there, err);

    if (rc || !there)
        return rc;
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, document_id);
    return db_exec(db, &forget, &args, NULL, err);
}

/* ---- Searching ---- */

static float read_cosine(const struct db_rows *rows, size_t row, int column)
{
    float cosine = strtof(db_text(rows, row, column), NULL);

    return isfinite(cosine) ? cosine : 0; /* a vector of zeros has no direction */
}

static int falling(const void *a, const void *b)
{
    const struct pgvector_hit *left = a, *right = b;
    int order = strcmp(left->document_id, right->document_id);

    if (left->cosine > right->cosine || left->cosine < right->cosine)
        return left->cosine > right->cosine ? -1 : 1;
    if (order)
        return order;
    return left->chunk < right->chunk ? -1 : left->chunk > right->chunk;
}

enum err_code store_pgvector_has(struct store *store, const struct tenant *tenant,
                                 const struct pgvector_query *query, bool *ret_has,
                                 struct err *err)
{
    static const struct db_statement select = {
        "store_pgvector_has",
        "SELECT 1 FROM " TABLE " v WHERE v.project_id = $1 AND v.document_id = ANY ($2::text[])"
        " AND v.model_id = $3::integer LIMIT 1"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_texts(&args, query->documents, query->count);
    db_arg_int(&args, query->model);
    rc = db_once(store, &select, &args, &rows, err);
    if (!rc)
        *ret_has = db_count(rows) > 0;
    return rc;
}

/* $1 project, $2 documents, $3 the vector, $4 limit, $5 model */
static enum err_code run_near(struct db *db, const struct db_statement *select,
                              const struct tenant *tenant, const struct pgvector_query *query,
                              size_t limit, struct pgvector_hit *ret_hits, size_t *ret_count,
                              struct err *err)
{
    AUTO_BUF vector = {0};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    add_vector(&vector, query->vector, query->dimensions);
    db_arg_tenant(&args, tenant);
    db_arg_texts(&args, query->documents, query->count);
    db_arg_text(&args, vector.data);
    db_arg_int(&args, (int64_t)limit);
    db_arg_int(&args, query->model);
    rc = db_exec(db, select, &args, &rows, err);
    if (rc)
        return rc;
    *ret_count = db_count(rows);
    for (size_t i = 0; i < *ret_count; i++) {
        db_id(rows, i, 0, ret_hits[i].document_id, sizeof(ret_hits[i].document_id));
        ret_hits[i].chunk = (uint32_t)db_int(rows, i, 1);
        ret_hits[i].cosine = read_cosine(rows, i, 2);
    }
    qsort(ret_hits, *ret_count, sizeof(*ret_hits), falling);
    return ERR_OK;
}

/* Row by row: the order of a set that was made before cannot come from an index. */
static enum err_code near_exactly(struct db *db, const struct tenant *tenant,
                                  const struct pgvector_query *query, size_t limit,
                                  struct pgvector_hit *ret_hits, size_t *ret_count,
                                  struct err *err)
{
    static const struct db_statement select = {
        "store_pgvector_exact",
        "WITH seen AS MATERIALIZED (SELECT v.document_id, v.n, v.vector <=> $3::halfvec AS far"
        "  FROM " TABLE " v WHERE v.project_id = $1 AND v.document_id = ANY ($2::text[])"
        "  AND v.model_id = $5::integer)"
        " SELECT document_id, n, 1 - far FROM seen ORDER BY far, document_id, n"
        " LIMIT $4::bigint"};

    return run_near(db, &select, tenant, query, limit, ret_hits, ret_count, err);
}

static enum err_code near_by_index(struct db *db, const struct tenant *tenant,
                                   const struct pgvector_query *query, size_t limit,
                                   struct pgvector_hit *ret_hits, size_t *ret_count,
                                   struct err *err)
{
    static const struct db_statement settings = {
        "store_pgvector_settings", "SELECT set_config('hnsw.ef_search', '400', true),"
                                   " set_config('hnsw.iterative_scan', 'relaxed_order', true),"
                                   " set_config('hnsw.max_scan_tuples', '40000', true)"};
    AUTO_FREE char *sql = mem_printf(
        "SELECT v.document_id, v.n, 1 - (v.vector::halfvec(%u) <=> $3::halfvec(%u))"
        " FROM " TABLE " v WHERE v.project_id = $1 AND v.document_id = ANY ($2::text[])"
        " AND v.model_id = %d AND $5::integer = %d"
        " ORDER BY v.vector::halfvec(%u) <=> $3::halfvec(%u) LIMIT $4::bigint",
        query->dimensions, query->dimensions, query->model, query->model, query->dimensions,
        query->dimensions);
    const struct db_statement select = {NULL, sql};
    enum err_code rc = run_each(db, &settings, 1, err);

    return rc ? rc : run_near(db, &select, tenant, query, limit, ret_hits, ret_count, err);
}

enum err_code store_pgvector_near(struct store *store, const struct tenant *tenant,
                                  const struct pgvector_query *query, size_t limit,
                                  struct pgvector_hit *ret_hits, size_t *ret_count,
                                  struct err *err)
{
    static const struct db_statement patience = {
        "store_pgvector_patience", "SELECT set_config('statement_timeout', '4000', true)"};
    bool indexed =
        query->chunks > PGVECTOR_EXACT && query->dimensions <= PGVECTOR_INDEXED_DIMENSIONS;
    AUTO_DB *db = NULL;
    size_t count = 0;
    enum err_code rc = db_begin(store, &db, err);

    /* A search that takes too long fails by itself. Otherwise it would count as a database that does not answer. */
    if (!rc)
        rc = run_each(db, &patience, 1, err);
    if (!rc && indexed)
        rc = near_by_index(db, tenant, query, limit, ret_hits, &count, err);
    if (!rc && count < limit && (!indexed || count < query->chunks))
        rc = near_exactly(db, tenant, query, limit, ret_hits, &count, err);
    if (!rc)
        rc = db_commit(db, err);
    if (!rc)
        *ret_count = count;
    return rc;
}

enum err_code store_pgvector_compare(struct store *store, const struct tenant *tenant,
                                     const struct pgvector_query *query,
                                     struct pgvector_hit *hits, size_t count, struct err *err)
{
    static const struct db_statement select = {
        "store_pgvector_compare",
        "SELECT u.place, 1 - (v.vector <=> $5::halfvec)"
        " FROM unnest($2::text[], $3::bigint[]) WITH ORDINALITY u (document_id, n, place)"
        " JOIN " TABLE " v ON v.project_id = $1 AND v.document_id = u.document_id"
        "  AND v.n = u.n AND v.model_id = $4::integer"};
    AUTO_FREE const char **documents = mem_new_array(const char *, count + 1);
    AUTO_FREE int64_t *numbers = mem_new_array(int64_t, count + 1);
    AUTO_BUF vector = {0};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    for (size_t i = 0; i < count; i++) {
        documents[i] = hits[i].document_id;
        numbers[i] = hits[i].chunk;
        hits[i].cosine = NAN;
    }
    add_vector(&vector, query->vector, query->dimensions);
    db_arg_tenant(&args, tenant);
    db_arg_texts(&args, documents, count);
    db_arg_ints(&args, numbers, count);
    db_arg_int(&args, query->model);
    db_arg_text(&args, vector.data);
    rc = db_once(store, &select, &args, &rows, err);
    for (size_t i = 0; !rc && i < db_count(rows); i++)
        hits[db_int(rows, i, 0) - 1].cosine = read_cosine(rows, i, 1);
    return rc;
}
