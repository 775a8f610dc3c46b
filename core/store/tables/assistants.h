#ifndef RUNNEL_CORE_STORE_TABLES_ASSISTANTS_H
#define RUNNEL_CORE_STORE_TABLES_ASSISTANTS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"
#include "core/store/tables/vector_stores/vector_stores.h"

/*
 * assistants.h -- assistants as rows. ERR_NOT_FOUND is "No assistant found with id 'X'."
 *
 * Lists are in the order in which the assistants were made. A cursor that is not in the list is
 * ERR_INVALID, code invalid_value, param "after" or "before".
 */

/* Together with its vector store, if `filling` is not NULL. A file of it that does not exist
 * is ERR_NOT_FOUND "No such File object: X", and nothing is made. */
enum err_code store_assistant_create(struct store *store, const struct tenant *tenant,
                                     const struct assistant_row *row,
                                     const struct store_filling *filling,
                                     struct err *err) MUST_CHECK;
/* For a run in a thread: also returns the thread's settings and tool_resources, which the caller frees. NULL
 * if it has none, or if there is no such thread: making the run reports that. */
enum err_code store_assistant_for_run(struct store *store, const struct tenant *tenant,
                                      const char *id, const char *thread_id,
                                      struct assistant_row *ret_row, char **ret_settings,
                                      char **ret_resources, struct err *err) MUST_CHECK;
enum err_code store_assistant_get(struct store *store, const struct tenant *tenant,
                                  const char *id, struct assistant_row *ret_row,
                                  struct err *err) MUST_CHECK;
enum err_code store_assistant_list(struct store *store, const struct tenant *tenant,
                                   const struct page *page, struct assistant_row **ret_rows,
                                   size_t *ret_count, bool *ret_more,
                                   struct err *err) MUST_CHECK;
void assistant_rows_free(struct assistant_row *rows, size_t count);
enum err_code store_assistant_delete(struct store *store, const struct tenant *tenant,
                                     const char *id, struct err *err) MUST_CHECK;

/* Replaces members of the body by those of `changes` (a JSON object), in one transaction, and
 * returns the row after that. */
enum err_code store_assistant_modify(struct store *store, const struct tenant *tenant,
                                     const char *id, const char *changes,
                                     struct assistant_row *ret_row, struct err *err) MUST_CHECK;

#endif
