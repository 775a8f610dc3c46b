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
 * variables.h -- the variables of a scope; core/domain/variable.h says what a variable is.
 *
 * A scope is the id of a thread, or of a response outside conversations. Such a response also
 * sees the variables of its ancestors, the nearest first. If its chain begins with a response
 * in a conversation, it sees those that were there when that response ended and have not
 * changed since. Every change is made in the scope's own rows, so that other branches do not
 * notice it. Removing a variable leaves a row that hides those of ancestors, if there are any.
 * The way up ends at VARIABLE_CHAIN_LIMIT and VARIABLE_ROWS_LIMIT. At both limits a change
 * takes 15 ms, and reading a variable that is near takes 1 ms.
 *
 * Reading does not check whether the scope itself exists: its caller knows. A change to a scope
 * that does not exist is ERR_NOT_FOUND with the text for a thread or a response. Otherwise that
 * error is "Variable 'x' not found."
 */

enum err_code store_variable_get(struct store *store, const struct tenant *tenant,
                                 const char *scope, const char *name,
                                 enum variable_reading reading, struct variable *ret_variable,
                                 struct err *err) MUST_CHECK;

/* Variables without their values. This is not a page of page.h: names are longer than ids, the
 * name to continue from may be deleted, and models select pages by number. *ret_total counts
 * all that match, wherever the page begins. */
enum err_code store_variable_list(struct store *store, const struct tenant *tenant,
                                  const char *scope, const struct variable_query *query,
                                  struct variable **ret_variables, size_t *ret_count,
                                  int64_t *ret_total, struct err *err) MUST_CHECK;

/* Variables beyond the limits of the scope are evicted, the longest unused first. ERR_INVALID
 * if too many would be marked as kept, or if a new variable has no value. */
enum err_code store_variable_put(struct store *store, const struct tenant *tenant,
                                 const char *scope, const struct variable_change *change,
                                 enum variable_put how, bool *ret_created,
                                 struct err *err) MUST_CHECK;

/* Removes the variables with these names that exist and are not marked as kept. *ret_removed
 * lists them, as an array of strings. Names NULL: all variables; then of one type, unless that
 * is NULL. */
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
