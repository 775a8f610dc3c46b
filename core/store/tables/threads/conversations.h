#ifndef RUNNEL_CORE_STORE_TABLES_THREADS_CONVERSATIONS_H
#define RUNNEL_CORE_STORE_TABLES_THREADS_CONVERSATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"
#include "core/store/tables/idempotency.h"

/*
 * conversations.h -- threads as the Responses API sees them: with items of every type.
 *
 * The rows are those of threads.h. Its functions for a whole thread serve conversations as
 * well; conversation_error() then rewrites their errors. Hidden items do not appear here.
 *
 * Errors: ERR_NOT_FOUND "Conversation with id 'conv_X' not found." and "Item with id 'msg_X'
 * not found in conversation 'conv_Y'.". ERR_CONFLICT with the code conversation_locked for a
 * change while a run or a response of it is not final.
 */

#define CONVERSATION_ITEM_LIMIT 100000

/* Rewrites the error of a function that was called with a thread for a conversation. Returns
 * its code. */
enum err_code conversation_error(enum err_code rc, const char *thread_id, struct err *err);

/* Makes a conversation with its first items. Their thread_id and positions are filled in, here
 * and in store_conversation_append(). If the request repeats another under its key, nothing is made,
 * and *row becomes the conversation of the first one; `idempotency` may be NULL. */
enum err_code store_conversation_create(struct store *store, const struct tenant *tenant,
                                        const struct idempotency *idempotency,
                                        struct thread_row *row, struct item_row *items,
                                        size_t count, struct err *err) MUST_CHECK;

/* Appends all items or none. If the request repeats another under its key, nothing is appended, and the
 * items become those that the first one appended, without those that were deleted since: *count may
 * shrink. ERR_NOT_FOUND if the first of them was deleted. `idempotency` may be NULL. */
enum err_code store_conversation_append(struct store *store, const struct tenant *tenant,
                                        const struct idempotency *idempotency,
                                        const char *thread_id, struct item_row *items,
                                        size_t *count, struct err *err) MUST_CHECK;

/* A page of its items, ordered by position. */
enum err_code store_conversation_items(struct store *store, const struct tenant *tenant,
                                       const char *thread_id, const struct page *page,
                                       struct item_row **ret_items, size_t *ret_count,
                                       bool *ret_more, struct err *err) MUST_CHECK;

enum err_code store_conversation_item_get(struct store *store, const struct tenant *tenant,
                                          const char *thread_id, const char *id,
                                          struct item_row *ret_item,
                                          struct err *err) MUST_CHECK;

/* Returns the conversation without the item. */
enum err_code store_conversation_item_delete(struct store *store, const struct tenant *tenant,
                                             const char *thread_id, const char *id,
                                             struct thread_row *ret_row,
                                             struct err *err) MUST_CHECK;

/* The run or response that locks the conversation. ERR_NOT_FOUND: no such run, or it has just ended. */
enum err_code store_conversation_run(struct store *store, const struct tenant *tenant,
                                     const char *thread_id, struct run_row *ret_run,
                                     struct err *err) MUST_CHECK;

/* ERR_CONFLICT, conversation_locked, while a response is being made there: its question is not
 * in the context yet. */
enum err_code store_conversation_idle(struct store *store, const struct tenant *tenant,
                                      const char *thread_id, struct err *err) MUST_CHECK;

/* How much of a conversation to load: its newest items. Rules, which are system and developer messages,
 * are loaded also from before these items. */
struct load_span {
    size_t items;
    size_t messages; /* of a thread: no items before so many of its newest messages; 0: no such
                      * limit */
};

/* The context of a response or run that begins now: the newest items, hidden ones too, oldest
 * first. *ret_cut: there are more items than the span. *ret_position is the position of the next item. */
enum err_code store_conversation_context(struct store *store, const struct tenant *tenant,
                                         const char *thread_id, const struct load_span *span,
                                         struct item_row **ret_items, size_t *ret_count,
                                         bool *ret_cut, int64_t *ret_position,
                                         struct err *err) MUST_CHECK;

#endif
