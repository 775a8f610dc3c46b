#ifndef RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_DOCUMENT_SQL_H
#define RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_DOCUMENT_SQL_H

#include <stddef.h>

#include "core/store/pg/db.h"
#include "core/store/tables/vector_stores/documents.h"

/*
 * document_sql.h -- statements about one document, inside of a transaction. For this room.
 */

/* $1 and $2: its project and id. */
void document_work_args(struct db_args *args, const struct tenant *tenant,
                        const struct document_work *work);

/* Locks the document. ERR_CANCELLED: it is no longer this node's. */
enum err_code document_hold(struct db *db, const struct tenant *tenant,
                            const struct document_work *work, struct err *err) MUST_CHECK;
enum err_code document_lease_lost(const struct document_work *work, struct err *err);

/* What it consists of. */
enum err_code document_insert_texts(struct db *db, const struct tenant *tenant,
                                    const struct document_work *work,
                                    const struct document_made *made,
                                    struct err *err) MUST_CHECK;
enum err_code document_insert_chunks(struct db *db, const struct tenant *tenant,
                                     const struct document_work *work,
                                     const struct document_made *made,
                                     struct err *err) MUST_CHECK;
enum err_code document_insert_segment(struct db *db, const struct tenant *tenant,
                                      const struct document_work *work, const void *segment,
                                      size_t size, struct err *err) MUST_CHECK;

/* Removes it with all that it consists of. */
enum err_code document_drop_in(struct db *db, const struct tenant *tenant, const char *id,
                               struct err *err) MUST_CHECK;

#endif
