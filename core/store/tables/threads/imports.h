#ifndef RUNNEL_CORE_STORE_TABLES_THREADS_IMPORTS_H
#define RUNNEL_CORE_STORE_TABLES_THREADS_IMPORTS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * imports.h -- objects that have their ids from elsewhere.
 *
 * What is there already stays as it is, so everything here may be done again.
 *
 * A thread comes with its messages or not at all, and they may be more than fit into memory. So
 * this is the one transaction that outlasts a call: begin, messages as often as necessary, commit.
 * Until thread_import_end() the calling thread may ask the store for nothing else.
 */

enum import_outcome {
    IMPORT_CREATED,
    IMPORT_THERE,     /* already; as it should be, or changed since */
    IMPORT_ELSEWHERE, /* there, but in another thread */
};

enum err_code store_import_assistant(struct store *store, const struct tenant *tenant,
                                     const struct assistant_row *row,
                                     enum import_outcome *ret_outcome,
                                     struct err *err) MUST_CHECK;

struct thread_import;

/* `row` may be NULL when it is not known what the thread looks like: then it must be there, or
 * ERR_NOT_FOUND. On failure there is nothing to end. */
enum err_code thread_import_begin(struct store *store, const struct tenant *tenant,
                                  const char *id, const struct thread_row *row,
                                  struct thread_import **ret_import,
                                  enum import_outcome *ret_outcome, struct err *err) MUST_CHECK;

/* Appends messages that are not there, in this order; `outcomes` has room for `count`. ERR_CONFLICT
 * when there are some to append and a run of the thread is active, or the thread is full. */
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
