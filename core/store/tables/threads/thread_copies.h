#ifndef RUNNEL_CORE_STORE_TABLES_THREADS_THREAD_COPIES_H
#define RUNNEL_CORE_STORE_TABLES_THREADS_THREAD_COPIES_H

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * thread_copies.h -- threads that are made of other threads.
 *
 * What is copied is all that a model would be shown of the thread: messages, tool calls and their
 * outputs, reasoning, in their order; not what is hidden, and nothing that a run has made that
 * has not ended yet. A copy has an id of its own and belongs to no run; contents, metadata, times
 * and the assistant are those of the original. Originals are never changed, so a run may be active
 * in the thread they lie in.
 *
 * Variables go with the items, so that what these say of them stays true: in place of those that
 * `to` had, or beside them, where it keeps its own under the same name.
 *
 * Every copy remembers the item that it goes back to, over any number of copies between.
 *
 * ERR_NOT_FOUND "No thread found with id 'X'." for either thread. ERR_CONFLICT "Can't add messages
 * to thread_X while a run run_Y is active." for the one that would grow, or that it would hold
 * more than THREAD_MESSAGE_LIMIT messages. ERR_INVALID when both are the same.
 */

/* A new thread with the same contents, metadata and tool resources. */
enum err_code store_thread_fork(struct store *store, const struct tenant *tenant,
                                const char *from, struct thread_row *ret_row,
                                struct err *err) MUST_CHECK;

/* Puts copies of all of it in place of what `to` has; its metadata and tool resources stay, and so do
 * its runs and what they have made. */
enum err_code store_thread_copy(struct store *store, const struct tenant *tenant,
                                const char *from, const char *to, struct thread_row *ret_row,
                                struct err *err) MUST_CHECK;

/* Puts copies behind what `to` has, of what it does not have: neither the item itself, nor a copy of it, nor what it is
 * a copy of. A second time changes nothing. */
enum err_code store_thread_merge(struct store *store, const struct tenant *tenant,
                                 const char *from, const char *to, struct thread_row *ret_row,
                                 struct err *err) MUST_CHECK;

#endif
