#ifndef RUNNEL_CORE_STORE_TABLES_THREADS_VARIABLES_H
#define RUNNEL_CORE_STORE_TABLES_THREADS_VARIABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/tenant.h"
#include "core/domain/variable.h"
#include "core/store/store.h"

/*
 * variables.h -- the variables of a scope, as core/domain/variable.h says what they are.
 *
 * A scope is the id of a thread, or of a response outside conversations. Such a response sees the
 * rows of its ancestors, the nearest first; when a chain begins with a response in a conversation,
 * also what that one had, as far as nobody has changed it since. Whatever is changed or removed is
 * changed in the scope's own rows, so that other branches do not notice: a removed one leaves a row
 * that hides those of ancestors, where there are any. The way up ends at VARIABLE_CHAIN_LIMIT and
 * VARIABLE_ROWS_LIMIT; at both a change takes 15 ms, a look at what is near 1.
 *
 * Whether the scope itself is there, who reads knows; a change to one that is not, or not any more, is
 * ERR_NOT_FOUND in the words of the thread or response. Otherwise that is "Variable 'x' not found."
 */

enum err_code store_variable_get(struct store *store, const struct tenant *tenant,
                                 const char *scope, const char *name,
                                 enum variable_reading reading, struct variable *ret_variable,
                                 struct err *err) MUST_CHECK;

/* Without values. Not a page of page.h: names are longer than ids, one to go on from need not be there
 * any more, and models turn to pages by number. *ret_total counts all that match, wherever the page begins. */
enum err_code store_variable_list(struct store *store, const struct tenant *tenant,
                                  const char *scope, const struct variable_query *query,
                                  struct variable **ret_variables, size_t *ret_count,
                                  int64_t *ret_total, struct err *err) MUST_CHECK;

/* Beyond the limits of the scope the longest unused go. ERR_INVALID when more would be kept than may
 * be, or when what is made has no value. */
enum err_code store_variable_put(struct store *store, const struct tenant *tenant,
                                 const char *scope, const struct variable_change *change,
                                 enum variable_put how, bool *ret_created,
                                 struct err *err) MUST_CHECK;

/* Of the names, those that are there and not kept are removed, and said in *ret_removed, an array of
 * strings. Names are NULL for all; then of a type, unless that is NULL. */
enum err_code store_variables_remove(struct store *store, const struct tenant *tenant,
                                     const char *scope, const char *const *names, size_t count,
                                     const char *type, json_t **ret_removed,
                                     struct err *err) MUST_CHECK;

struct variable_stats {
    int64_t count[VARIABLE_TYPE_COUNT];
    int64_t bytes;
    int64_t kept;
};
enum err_code store_variable_stats(struct store *store, const struct tenant *tenant,
                                   const char *scope, struct variable_stats *ret_stats,
                                   struct err *err) MUST_CHECK;

#endif
