#ifndef RUNNEL_CORE_STORE_TABLES_THREADS_IMPORTS_H
#define RUNNEL_CORE_STORE_TABLES_THREADS_IMPORTS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * imports.h -- objects that keep their ids from another server.
 *
 * An object that exists stays as it is, so everything here may be repeated.
 *
 * A thread comes with its messages or not at all, and they may be more than fits into memory.
 * So this is the one transaction that outlasts a call: begin, messages as often as necessary,
 * commit. Until thread_import_end() the calling thread may not use the store for anything else.
 * Between two calls at most STORE_SLEEP_SECONDS may pass, or the database ends the session.
 */

enum import_outcome {
    IMPORT_CREATED,
    IMPORT_THERE,     /* it exists already, as it should be or changed since */
    IMPORT_ELSEWHERE, /* it exists in another thread */
};

enum err_code store_import_assistant(struct store *store, const struct tenant *tenant,
                                     const struct assistant_row *row,
                                     enum import_outcome *ret_outcome,
                                     struct err *err) MUST_CHECK;

struct thread_import;

/* `row` may be NULL if the thread itself is not in the dump: then it must exist, or
 * ERR_NOT_FOUND. After a failure there is nothing to end. */
enum err_code thread_import_begin(struct store *store, const struct tenant *tenant,
                                  const char *id, const struct thread_row *row,
                                  struct thread_import **ret_import,
                                  enum import_outcome *ret_outcome, struct err *err) MUST_CHECK;

/* Appends the messages that are missing, in this order; `outcomes` has room for `count`.
 * ERR_CONFLICT if there are any and a run of the thread is active, or the thread is full. */
enum err_code thread_import_messages(struct thread_import *import,
                                     const struct item_row *messages, size_t count,
                                     enum import_outcome *outcomes, struct err *err) MUST_CHECK;

enum err_code thread_import_commit(struct thread_import *import, struct err *err) MUST_CHECK;
void thread_import_end(struct thread_import *import); /* NULL is fine */

static inline void thread_import_end_local(struct thread_import **import)
{
    thread_import_end(*import);
}
#define AUTO_THREAD_IMPORT CLEANUP(thread_import_end_local) struct thread_import

#endif
