#ifndef RUNNEL_CORE_STORE_TABLES_THREADS_THREAD_COPIES_H
#define RUNNEL_CORE_STORE_TABLES_THREADS_THREAD_COPIES_H

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * thread_copies.h -- threads that are made from other threads.
 *
 * Everything is copied that a model would be sent of the thread: messages, tool calls and their
 * outputs, reasoning, in their order. Hidden items are not copied, nor are items of a run that
 * has not ended. A copy has its own id and belongs to no run. Contents, metadata, times and the
 * assistant are those of the original. Originals never change, so a run may be active in their
 * thread.
 *
 * Variables are copied with the items, so that what the items say of them stays true. They
 * replace those of `to`, or are added to them: then `to` keeps its own under the same name.
 *
 * Every copy remembers its first original, over any number of copies between.
 *
 * ERR_NOT_FOUND "No thread found with id 'X'." for either thread. ERR_CONFLICT "Can't add
 * messages to thread_X while a run run_Y is active." for the thread that would grow, or that it
 * would have more than THREAD_MESSAGE_LIMIT messages. ERR_INVALID if both are the same.
 */

/* Makes a thread with the same contents, metadata and tool resources. A vector store that was made for the original is
 * copied (thread_store.h): what one of both attaches later is not the other's. */
enum err_code store_thread_fork(struct store *store, const struct tenant *tenant,
                                const char *from, struct thread_row *ret_row,
                                struct err *err) MUST_CHECK;

/* Replaces the contents of `to` by copies of everything. Its metadata and tool resources stay,
 * and so do its runs and their items. */
enum err_code store_thread_copy(struct store *store, const struct tenant *tenant,
                                const char *from, const char *to, struct thread_row *ret_row,
                                struct err *err) MUST_CHECK;

/* Appends copies of what `to` lacks: items that are neither in it themselves, nor as a copy,
 * nor as the original of one. A second time changes nothing. */
enum err_code store_thread_merge(struct store *store, const struct tenant *tenant,
                                 const char *from, const char *to, struct thread_row *ret_row,
                                 struct err *err) MUST_CHECK;

#endif
