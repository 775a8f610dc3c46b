#ifndef RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_DOCUMENT_SQL_H
#define RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_DOCUMENT_SQL_H

#include <stddef.h>

#include "core/store/pg/db.h"
#include "core/store/tables/vector_stores/documents.h"
#include "core/store/tables/vector_stores/store_files.h"

/*
 * document_sql.h -- statements about one document, inside of a transaction. For this room.
 */

/* $1 and $2: its project and id. */
void document_work_args(struct db_args *args, const struct tenant *tenant,
                        const struct document_work *work);

/* ERR_CANCELLED: it is no longer this node's. It is not locked: files may be attached to other stores meanwhile. So
 * what takes long is written behind this, and then comes document_hold(). */
enum err_code document_look(struct db *db, const struct tenant *tenant,
                            const struct document_work *work, struct err *err) MUST_CHECK;

/* Locks the document until the end of the transaction, and reads again what it `replaces`: re-indexing may have named
 * it since the claim. ERR_CANCELLED likewise. */
enum err_code document_hold(struct db *db, const struct tenant *tenant,
                            struct document_work *work, struct err *err) MUST_CHECK;
enum err_code document_lease_lost(const struct document_work *work, struct err *err);

/* Writes what it consists of. */
enum err_code document_insert(struct db *db, const struct tenant *tenant,
                              const struct document_work *work,
                              const struct document_made *made, struct err *err) MUST_CHECK;
/* Adds to the bytes of its index. */
enum err_code document_insert_segment(struct db *db, const struct tenant *tenant,
                                      const struct document_work *work, const void *segment,
                                      size_t size, struct err *err) MUST_CHECK;

/* The vectors that are kept until it is ready; all that it consists of. */
enum err_code document_forget_vectors(struct db *db, const struct tenant *tenant,
                                      const struct document_work *work,
                                      struct err *err) MUST_CHECK;
enum err_code document_forget_parts(struct db *db, const struct tenant *tenant,
                                    const struct document_work *work,
                                    struct err *err) MUST_CHECK;

/* pgvector.h: the vectors of the next `count` chunks, and all rows of a document, if there is such a table. */
enum err_code pgvector_insert_in(struct db *db, const struct tenant *tenant,
                                 const struct document_work *work, const float *vectors,
                                 size_t count, uint32_t dimensions, struct err *err) MUST_CHECK;
enum err_code pgvector_forget_in(struct db *db, const struct tenant *tenant,
                                 const char *document_id, struct err *err) MUST_CHECK;

/* What became of it. */
struct document_outcome {
    enum store_file_status status;
    const char *code, *message;
    size_t pages, chunks;
    size_t embedded; /* chunks with vectors: all or none */
    uint64_t usage_bytes;
};

/* The last statements of a transaction that holds the document, and its COMMIT. Nothing waits: it is dropped, with all
 * that was written of it. */
enum err_code document_end(struct db *db, const struct tenant *tenant,
                           const struct document_work *work,
                           const struct document_outcome *outcome, struct err *err) MUST_CHECK;

/* A document that is ready takes the place of the one that it `replaces`. Inside a transaction that has locked it, and
 * no store. */
enum err_code document_take_over(struct db *db, const struct tenant *tenant,
                                 const struct document_work *work, struct err *err) MUST_CHECK;

/* Removes it with all that it consists of. */
enum err_code document_drop_in(struct db *db, const struct tenant *tenant, const char *id,
                               struct err *err) MUST_CHECK;

#endif
