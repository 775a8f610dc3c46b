#ifndef RUNNEL_CORE_STORE_TABLES_THREADS_THREADS_H
#define RUNNEL_CORE_STORE_TABLES_THREADS_THREADS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"
#include "core/store/tables/idempotency.h"

/*
 * threads.h -- threads (conversations are the same thing) and the messages in them.
 *
 * ERR_NOT_FOUND texts: "No thread found with id 'X'.", "No message found with id 'X'."
 * While a run of the thread is not final, nothing is added to it or deleted in it:
 * ERR_CONFLICT "Can't add messages to thread_X while a run run_Y is active."
 */

#define THREAD_MESSAGE_LIMIT 100000

/* Makes a thread with its first messages; their positions are filled in. */
enum err_code store_thread_create(struct store *store, const struct tenant *tenant,
                                  const struct thread_row *row, struct item_row *messages,
                                  size_t count, struct err *err) MUST_CHECK;
/* The same under a key. When the request is repeated, *row becomes the thread that it made, as it is
 * now; ERR_NOT_FOUND when that was deleted. */
enum err_code store_thread_create_once(struct store *store, const struct tenant *tenant,
                                       const struct idempotency *idempotency,
                                       struct thread_row *row, struct item_row *messages,
                                       size_t count, struct err *err) MUST_CHECK;
enum err_code store_thread_get(struct store *store, const struct tenant *tenant, const char *id,
                               struct thread_row *ret_row, struct err *err) MUST_CHECK;
/* NULL keeps what is there. */
struct thread_change {
    const char *metadata;
    const char *tool_resources;
    const char *settings;
};
enum err_code store_thread_modify(struct store *store, const struct tenant *tenant,
                                  const char *id, const struct thread_change *change,
                                  struct thread_row *ret_row, struct err *err) MUST_CHECK;
/* With its messages, runs, steps and logs. A response that has ended stays, and so do its items. */
enum err_code store_thread_delete(struct store *store, const struct tenant *tenant,
                                  const char *id, struct err *err) MUST_CHECK;

/* Appends one message; its position is filled in. */
enum err_code store_message_create(struct store *store, const struct tenant *tenant,
                                   struct item_row *message, struct err *err) MUST_CHECK;
/* The same under a key (NULL: none). When the request is repeated, *message becomes the one that it
 * made, as it is now; ERR_NOT_FOUND when that was deleted. */
enum err_code store_message_create_once(struct store *store, const struct tenant *tenant,
                                        const struct idempotency *idempotency,
                                        struct item_row *message, struct err *err) MUST_CHECK;
enum err_code store_message_get(struct store *store, const struct tenant *tenant,
                                const char *thread_id, const char *id, struct item_row *ret_row,
                                struct err *err) MUST_CHECK;
/* run_id: NULL for all, else only those of that run. Ordered by position; only messages of role
 * user and assistant are listed. */
enum err_code store_message_list(struct store *store, const struct tenant *tenant,
                                 const char *thread_id, const char *run_id,
                                 const struct page *page, struct item_row **ret_rows,
                                 size_t *ret_count, bool *ret_more, struct err *err) MUST_CHECK;
/* Of a message only metadata can change, which no run looks at: also while one is active. */
enum err_code store_message_modify(struct store *store, const struct tenant *tenant,
                                   const char *thread_id, const char *id, const char *metadata,
                                   struct item_row *ret_row, struct err *err) MUST_CHECK;
enum err_code store_message_delete(struct store *store, const struct tenant *tenant,
                                   const char *thread_id, const char *id,
                                   struct err *err) MUST_CHECK;

#endif
