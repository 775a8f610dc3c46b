#ifndef RUNNEL_CORE_STORE_TABLES_FILES_FILE_TEXTS_H
#define RUNNEL_CORE_STORE_TABLES_FILES_FILE_TEXTS_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * file_texts.h -- what files say, as models are shown it: read once, and kept as long as the file.
 *
 * It is a cache: what is missing here is read from the file. So is the text of another version, or of other bytes:
 * a file's blob may be replaced (file_change.h). Its bytes count for the limit of the project, with those of
 * documents.
 */

struct db;

struct file_text_row {
    char *text;
    size_t pages; /* that can be drawn as pictures */
};

void file_text_row_clear(struct file_text_row *row);

/* ERR_NOT_FOUND: it is not here. */
enum err_code store_file_text_get(struct store *store, const struct tenant *tenant,
                                  const struct file_row *file, int version,
                                  struct file_text_row *ret_row, struct err *err) MUST_CHECK;

/* Replaces what is there. Nothing, if the file is gone or has other bytes meanwhile. */
enum err_code store_file_text_put(struct store *store, const struct tenant *tenant,
                                  const struct file_row *file, int version, const char *text,
                                  size_t pages, struct err *err) MUST_CHECK;

/* In the transaction that has deleted the file, or given it other bytes. *ret_bytes: how many the text had, for
 * storage_count_documents(). */
enum err_code file_text_forget_in(struct db *db, const struct tenant *tenant,
                                  const char *file_id, int64_t *ret_bytes,
                                  struct err *err) MUST_CHECK;

#endif
