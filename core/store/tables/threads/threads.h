#ifndef RUNNEL_CORE_STORE_TABLES_THREADS_THREADS_H
#define RUNNEL_CORE_STORE_TABLES_THREADS_THREADS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"
#include "core/store/tables/idempotency.h"
#include "core/store/tables/vector_stores/vector_stores.h"

/*
 * threads.h -- threads and the messages in them. A conversation is the same row as a thread.
 *
 * ERR_NOT_FOUND texts: "No thread found with id 'X'.", "No message found with id 'X'." While a
 * run of the thread is not final, nothing is added to it or deleted from it: ERR_CONFLICT
 * "Can't add messages to thread_X while a run run_Y is active."
 */

#define THREAD_MESSAGE_LIMIT 100000

/* Makes a thread with its first messages; their positions are filled in. */
enum err_code store_thread_create(struct store *store, const struct tenant *tenant,
                                  const struct thread_row *row, struct item_row *messages,
                                  size_t count, struct err *err) MUST_CHECK;
/* The same under a key, and with the thread's vector store, if `filling` is not NULL. If the request is repeated,
 * *row becomes the thread that the first one made, in its present state; ERR_NOT_FOUND if that was deleted. A file that
 * does not exist is "No such File object: X", and nothing is made. */
enum err_code store_thread_create_once(struct store *store, const struct tenant *tenant,
                                       const struct idempotency *idempotency,
                                       const struct store_filling *filling,
                                       struct thread_row *row, struct item_row *messages,
                                       size_t count, struct err *err) MUST_CHECK;
enum err_code store_thread_get(struct store *store, const struct tenant *tenant, const char *id,
                               struct thread_row *ret_row, struct err *err) MUST_CHECK;
/* NULL keeps the value. */
struct thread_change {
    const char *metadata;
    const char *tool_resources;
    const char *settings;
};
enum err_code store_thread_modify(struct store *store, const struct tenant *tenant,
                                  const char *id, const struct thread_change *change,
                                  struct thread_row *ret_row, struct err *err) MUST_CHECK;
/* Deletes it with its messages, runs, steps and logs. Responses that have ended stay, and so do
 * their items. */
enum err_code store_thread_delete(struct store *store, const struct tenant *tenant,
                                  const char *id, struct err *err) MUST_CHECK;

/* Appends one message; its position is filled in. */
enum err_code store_message_create(struct store *store, const struct tenant *tenant,
                                   struct item_row *message, struct err *err) MUST_CHECK;
/* The same under a key (NULL: none). `filling` (NULL: nothing) goes into the thread's own vector store
 * (thread_store.h) in the same transaction. If the request is repeated, *message becomes the one that
 * the first one made, in its present state; ERR_NOT_FOUND if that was deleted. */
enum err_code store_message_create_once(struct store *store, const struct tenant *tenant,
                                        const struct idempotency *idempotency,
                                        const struct store_filling *filling,
                                        struct item_row *message, struct err *err) MUST_CHECK;
enum err_code store_message_get(struct store *store, const struct tenant *tenant,
                                const char *thread_id, const char *id, struct item_row *ret_row,
                                struct err *err) MUST_CHECK;
/* Messages of the roles user and assistant, by position. run_id: only those of that run; NULL
 * for all. */
enum err_code store_message_list(struct store *store, const struct tenant *tenant,
                                 const char *thread_id, const char *run_id,
                                 const struct page *page, struct item_row **ret_rows,
                                 size_t *ret_count, bool *ret_more, struct err *err) MUST_CHECK;
/* Only the metadata of a message can change. No run reads them, so also while one is active. */
enum err_code store_message_modify(struct store *store, const struct tenant *tenant,
                                   const char *thread_id, const char *id, const char *metadata,
                                   struct item_row *ret_row, struct err *err) MUST_CHECK;
enum err_code store_message_delete(struct store *store, const struct tenant *tenant,
                                   const char *thread_id, const char *id,
                                   struct err *err) MUST_CHECK;

#endif
