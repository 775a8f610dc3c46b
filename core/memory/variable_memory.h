#ifndef RUNNEL_CORE_MEMORY_VARIABLE_MEMORY_H
#define RUNNEL_CORE_MEMORY_VARIABLE_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/lock.h"
#include "core/domain/tenant.h"
#include "core/domain/variable.h"

/*
 * variable_memory.h -- the variables of a response that is not stored: in memory, until it ends.
 *
 * Names, types, texts and limits are those of variable.h, and what goes first when there is too much is
 * what the store would let go first (core/store/tables/threads/variables.c): of what is not kept, the last in the order
 * of use. There are no ancestors: nobody else sees these, and these see nobody's.
 *
 * The run's loop and the workers of its calls use it at the same time; each holds it. Its lock is held
 * for a look through a thousand names, or the copy of a value, and by nobody who waits.
 */

/* Bytes of all of them on this node; and of one project's, for the limits of its tenant. Who would go
 * beyond evicts from what it has itself; where that is too little, nothing is written. */
#define VARIABLE_MEMORY_LIMIT  ((size_t)256 << 20)
#define VARIABLE_PROJECT_LIMIT (VARIABLE_MEMORY_LIMIT / 4)

#define VARIABLE_SHARE_BUCKETS 256

/* What a project has, for as long as it has anything. */
struct variable_share;

struct variable_budget {
    atomic_size_t used;
    size_t limit;
    struct lock lock;
    struct variable_share *shares[VARIABLE_SHARE_BUCKETS]; /* guarded by lock */
};
#define VARIABLE_BUDGET(all)                                                        \
    {                                                                               \
        .limit = (all),                                                             \
        .lock = {.mutex = PTHREAD_MUTEX_INITIALIZER, .rank = LOCK_VARIABLE_SHARES}, \
    }

/* Outlived by the budget. Freed with its last holder. */
struct variable_memory *variable_memory_new(struct variable_budget *budget,
                                            const struct tenant *tenant);
/* NULL is nothing to hold. */
struct variable_memory *variable_memory_hold(struct variable_memory *memory);
void variable_memory_release(struct variable_memory *memory);

/* Instead of whatever had the name. Takes what the variable owns. False: it is not there, because there
 * was no room. */
bool variable_memory_add(struct variable_memory *memory, struct variable *variable);
/* All of them, to a memory that has none; takes what they own. ERR_LIMIT: there is not room for all, and
 * the memory is of no use any more. */
enum err_code variable_memory_fill(struct variable_memory *memory, struct variable *variables,
                                   size_t count, struct err *err) MUST_CHECK;

/* See struct variable_ops. A put for which there is no room is ERR_LIMIT, and changes nothing. */
enum err_code variable_memory_get(const struct variable_access *access,
                                  const struct tenant *tenant, const char *name,
                                  enum variable_reading reading, struct variable *ret_variable,
                                  struct err *err) MUST_CHECK;
enum err_code variable_memory_list(const struct variable_access *access,
                                   const struct tenant *tenant,
                                   const struct variable_query *query,
                                   struct variable **ret_variables, size_t *ret_count,
                                   int64_t *ret_total, struct err *err) MUST_CHECK;
enum err_code variable_memory_put(const struct variable_access *access,
                                  const struct tenant *tenant,
                                  const struct variable_change *change, enum variable_put how,
                                  bool *ret_created, struct err *err) MUST_CHECK;
enum err_code variable_memory_remove(const struct variable_access *access,
                                     const struct tenant *tenant, const char *const *names,
                                     size_t count, json_t **ret_removed,
                                     struct err *err) MUST_CHECK;

#endif
