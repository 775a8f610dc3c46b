#ifndef RUNNEL_CORE_STORE_TABLES_FILES_STORAGE_SQL_H
#define RUNNEL_CORE_STORE_TABLES_FILES_STORAGE_SQL_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/tenant.h"
#include "core/store/pg/db.h"

/*
 * storage_sql.h -- how many bytes a project has, for the limit: those of its files, and those of what was made
 * of them: documents, each once, and the texts and pictures that models are shown (file_texts.h,
 * file_pictures.h). The pictures of responses count with those, and so do the skills that containers keep.
 *
 * It is a row that all uploads of the project change, and all documents that become ready or go. So counting comes last
 * in a transaction, behind all other locks.
 */

/* The project's files have so many bytes more, or less. ERR_INVALID with REASON_STORAGE_QUOTA if the project had more
 * than `limit` then (0: no limit). Less is never refused. */
enum err_code storage_count(struct db *db, const struct tenant *tenant, int64_t bytes,
                            uint64_t limit, struct err *err) MUST_CHECK;

/* Likewise of its documents, without a limit: what was read is kept. */
enum err_code storage_count_documents(struct db *db, const struct tenant *tenant, int64_t bytes,
                                      struct err *err) MUST_CHECK;

/* Before more is made of its files: ERR_INVALID with REASON_STORAGE_QUOTA if the project has as many bytes as
 * store_set_storage_limit() has said. Takes no lock. */
enum err_code storage_check(struct db *db, const struct tenant *tenant,
                            struct err *err) MUST_CHECK;

#endif
