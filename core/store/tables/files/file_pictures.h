#ifndef RUNNEL_CORE_STORE_TABLES_FILES_FILE_PICTURES_H
#define RUNNEL_CORE_STORE_TABLES_FILES_FILE_PICTURES_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * file_pictures.h -- which blob has the pages of a PDF as pictures: drawn once, and kept as long as the file.
 *
 * It is a cache, as file_texts.h: what is missing is drawn. The row holds its blob. Its bytes count for the limit of
 * the project, with those of documents, and they go with the file or when its own bytes change.
 */

/* ERR_NOT_FOUND: they are not here, or are those of another version or of other bytes. */
enum err_code store_file_pictures_get(struct store *store, const struct tenant *tenant,
                                      const struct file_row *file, int version,
                                      char ret_blob_id[ID_SIZE], struct err *err) MUST_CHECK;

/* Keeps a finished blob, and lets go what is there. *ret_kept is false, and the blob still the caller's, if the file is
 * gone or has other bytes meanwhile, or if another call was faster. ERR_INVALID with REASON_STORAGE_QUOTA: the project
 * has as many bytes as it may have. */
enum err_code store_file_pictures_put(struct store *store, const struct tenant *tenant,
                                      const struct file_row *file, int version,
                                      const struct blob_row *blob, bool *ret_kept,
                                      struct err *err) MUST_CHECK;

#endif
