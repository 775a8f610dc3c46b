/*
 * The parts of a document, and who may write them. A long document is written in several statements, each of which has
 * the time of a call.
 */

#include "core/store/tables/vector_stores/document_sql.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/store/pg/state.h"
#include "core/store/tables/files/storage_sql.h"

/* Of one statement: bytes of arrays in text form are several in memory. */
#define ROWS_BYTES ((size_t)4 << 20)
#define ROWS_COUNT ((size_t)1000)

void document_work_args(struct db_args *args, const struct tenant *tenant,
                        const struct document_work *work)
{
    db_arg_tenant(args, tenant);
    db_arg_text(args, work->id);
}

/* ---- Under the fence ---- */

enum err_code document_lease_lost(const struct document_work *work, struct err *err)
{
    return err_set(err, ERR_CANCELLED, "the document %s is no longer this node's", work->id);
}

#define DOCUMENT_OWNED                                                 \
    "SELECT replaces FROM documents WHERE project_id = $1 AND id = $2" \
    " AND state = 'parsing' AND owner = $3 AND fence = $4"

static enum err_code find_owned(struct db *db, const struct db_statement *find,
                                const struct tenant *tenant, const struct document_work *work,
                                struct db_rows **ret_rows, struct err *err)
{
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    document_work_args(&args, tenant, work);
    db_arg_text(&args, db->store->node_id);
    db_arg_int(&args, work->fence);
    rc = db_exec(db, find, &args, ret_rows, err);
    return rc || db_count(*ret_rows) ? rc : document_lease_lost(work, err);
}

enum err_code document_look(struct db *db, const struct tenant *tenant,
                            const struct document_work *work, struct err *err)
{
    static const struct db_statement look = {"store_document_look", DOCUMENT_OWNED};
    AUTO_DB_ROWS *rows = NULL;

    return find_owned(db, &look, tenant, work, &rows, err);
}

enum err_code document_hold(struct db *db, const struct tenant *tenant,
                            struct document_work *work, struct err *err)
{
    static const struct db_statement lock = {"store_document_hold",
                                             DOCUMENT_OWNED " FOR UPDATE"};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = find_owned(db, &lock, tenant, work, &rows, err);

    if (!rc && !db_is_null(rows, 0, 0))
        db_id(rows, 0, 0, work->replaces, sizeof(work->replaces));
    return rc;
}

/* ---- What it consists of ---- */

/* Texts end with NUL in a parameter. */
static enum err_code insert_texts(struct db *db, const struct tenant *tenant,
                                  const struct document_work *work,
                                  const struct document_made *made, struct err *err)
{
    static const struct db_statement insert = {
        "store_document_texts", "INSERT INTO document_texts (project_id, document_id, n, text)"
                                " SELECT $1, $2, $3::integer + u.n::integer - 1, u.text"
                                " FROM unnest($4::text[]) WITH ORDINALITY u (text, n)"};
    size_t at = 0;

    while (at < made->text_count) {
        const char **texts = mem_new_array(const char *, ROWS_COUNT);
        size_t count = 0, bytes = 0;
        AUTO_DB_ARGS args = {0};
        enum err_code rc;

        for (; at + count < made->text_count && count < ROWS_COUNT && bytes < ROWS_BYTES;
             count++) {
            const struct document_text *text = &made->texts[at + count];

            texts[count] = mem_strndup(text->text, text->length);
            bytes += text->length;
        }
        document_work_args(&args, tenant, work);
        db_arg_int(&args, (int64_t)at);
        db_arg_texts(&args, texts, count);
        db_allow_time(db);
        rc = db_exec(db, &insert, &args, NULL, err);
        for (size_t i = 0; i < count; i++)
            free((void *)(uintptr_t)texts[i]);
        free(texts);
        if (rc)
            return rc;
        at += count;
    }
    return ERR_OK;
}

static enum err_code insert_chunk_rows(struct db *db, const struct tenant *tenant,
                                       const struct document_work *work,
                                       const struct document_chunk *chunks, size_t first,
                                       size_t count, struct err *err)
{
    static const struct db_statement insert = {
        "store_document_chunks",
        "INSERT INTO chunks (project_id, document_id, n, page, heading, text)"
        " SELECT $1, $2, $3::integer + u.n::integer - 1, u.page, u.heading, u.text"
        " FROM unnest($4::bigint[], $5::text[], $6::text[]) WITH ORDINALITY"
        "  u (page, heading, text, n)"};
    AUTO_FREE int64_t *pages = mem_new_array(int64_t, count + 1);
    AUTO_FREE const char **headings = mem_new_array(const char *, count + 1);
    AUTO_FREE const char **texts = mem_new_array(const char *, count + 1);
    AUTO_DB_ARGS args = {0};

    for (size_t i = 0; i < count; i++) {
        pages[i] = (int64_t)chunks[first + i].page;
        headings[i] = chunks[first + i].heading;
        texts[i] = chunks[first + i].text;
    }
    document_work_args(&args, tenant, work);
    db_arg_int(&args, (int64_t)first);
    db_arg_ints(&args, pages, count);
    db_arg_texts(&args, headings, count);
    db_arg_texts(&args, texts, count);
    db_allow_time(db);
    return db_exec(db, &insert, &args, NULL, err);
}

static enum err_code insert_chunks(struct db *db, const struct tenant *tenant,
                                   const struct document_work *work,
                                   const struct document_made *made, struct err *err)
{
    size_t at = 0;
    enum err_code rc = ERR_OK;

    while (!rc && at < made->chunk_count) {
        size_t count = 0, bytes = 0;

        for (; at + count < made->chunk_count && count < ROWS_COUNT && bytes < ROWS_BYTES;
             count++)
            bytes += strlen(made->chunks[at + count].text);
        rc = insert_chunk_rows(db, tenant, work, made->chunks, at, count, err);
        at += count;
    }
    return rc;
}

enum err_code document_insert_segment(struct db *db, const struct tenant *tenant,
                                      const struct document_work *work, const void *segment,
                                      size_t size, struct err *err)
{
    static const struct db_statement insert = {
        "store_document_segment",
        "INSERT INTO document_segments (project_id, document_id, n, bytes)"
        " SELECT $1, $2, count(*)::integer, $3 FROM document_segments s"
        "  WHERE s.project_id = $1 AND s.document_id = $2"};
    enum err_code rc = ERR_OK;

    for (size_t at = 0; !rc && at < size; at += DOCUMENT_PIECE) {
        size_t left = size - at;
        AUTO_DB_ARGS args = {0};

        document_work_args(&args, tenant, work);
        db_arg_bytes(&args, (const char *)segment + at,
                     left < DOCUMENT_PIECE ? left : DOCUMENT_PIECE);
        db_allow_time(db);
        rc = db_exec(db, &insert, &args, NULL, err);
    }
    return rc;
}

enum err_code document_insert(struct db *db, const struct tenant *tenant,
                              const struct document_work *work,
                              const struct document_made *made, struct err *err)
{
    enum err_code rc = insert_texts(db, tenant, work, made, err);

    if (!rc)
        rc = insert_chunks(db, tenant, work, made, err);
    return rc ? rc
              : document_insert_segment(db, tenant, work, made->segment, made->segment_size,
                                        err);
}

/* ---- Removing ---- */

#define PARTS_DELETE                                                                   \
    "WITH texts AS (DELETE FROM document_texts t WHERE t.project_id = $1"              \
    "  AND t.document_id = $2),"                                                       \
    " parts AS (DELETE FROM chunks c WHERE c.project_id = $1 AND c.document_id = $2)," \
    " index AS (DELETE FROM document_segments s WHERE s.project_id = $1"               \
    "  AND s.document_id = $2)"

#define VECTORS_DELETE \
    "DELETE FROM chunk_vectors v WHERE v.project_id = $1 AND v.document_id = $2"

enum err_code document_forget_vectors(struct db *db, const struct tenant *tenant,
                                      const struct document_work *work, struct err *err)
{
    static const struct db_statement forget = {"store_document_forget_vectors", VECTORS_DELETE};
    AUTO_DB_ARGS args = {0};

    document_work_args(&args, tenant, work);
    return db_exec(db, &forget, &args, NULL, err);
}

enum err_code document_forget_parts(struct db *db, const struct tenant *tenant,
                                    const struct document_work *work, struct err *err)
{
    static const struct db_statement forget = {"store_document_forget_parts",
                                               PARTS_DELETE " " VECTORS_DELETE};
    AUTO_DB_ARGS args = {0};
    enum err_code rc = pgvector_forget_in(db, tenant, work->id, err);

    if (rc)
        return rc;
    document_work_args(&args, tenant, work);
    return db_exec(db, &forget, &args, NULL, err);
}

enum err_code document_drop_in(struct db *db, const struct tenant *tenant, const char *id,
                               struct err *err)
{
    static const struct db_statement drop = {
        "store_document_drop",
        PARTS_DELETE ", vectors AS (" VECTORS_DELETE "),"
                     " left_ones AS (DELETE FROM left_documents l WHERE l.project_id = $1"
                     "  AND l.document_id = $2)"
                     " DELETE FROM documents d WHERE d.project_id = $1 AND d.id = $2"
                     " RETURNING CASE d.state WHEN 'ready' THEN d.usage_bytes ELSE 0 END"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc = pgvector_forget_in(db, tenant, id, err);

    if (rc)
        return rc;
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    rc = db_exec(db, &drop, &args, &rows, err);
    if (rc || !db_count(rows))
        return rc;
    return storage_count_documents(db, tenant, -db_int(rows, 0, 0), err);
}
