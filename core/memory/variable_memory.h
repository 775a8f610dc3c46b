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
 * variable_memory.h -- the variables of a response that is not stored. They live in memory and end with
 * the response.
 *
 * Names, types, texts and limits are those of variable.h. Too many variables are evicted in the same order
 * as in the store (core/store/tables/threads/variables.c): the longest unused first, and never one that
 * is marked to be kept. Such a response has no ancestors here: it sees no variables of other responses,
 * and no other response sees its own.
 *
 * Threads: the run's loop and the workers of its calls use a memory at the same time. Each holds it
 * (variable_memory_hold), and a lock inside protects it. The lock is held while a thousand names are
 * compared or one value is copied, never while a thread waits.
 */

/* Bytes of all such variables on this node, and the default limit of one project. A write that would
 * exceed either evicts variables of its own response. If that is not enough, nothing is written. */
#define VARIABLE_MEMORY_LIMIT  ((size_t)256 << 20)
#define VARIABLE_PROJECT_LIMIT (VARIABLE_MEMORY_LIMIT / 4)

#define VARIABLE_SHARE_BUCKETS 256

/* The bytes that one project uses. It exists while the project has a memory. */
struct variable_share;

/* The bytes that all memories of a node use together. Made with VARIABLE_BUDGET(bytes). */
struct variable_budget {
    atomic_size_t used;
    size_t limit;
    struct lock lock;
    struct variable_share *shares[VARIABLE_SHARE_BUCKETS]; /* a hash table; guarded by lock */
};
#define VARIABLE_BUDGET(all)                                                        \
    {                                                                               \
        .limit = (all),                                                             \
        .lock = {.mutex = PTHREAD_MUTEX_INITIALIZER, .rank = LOCK_VARIABLE_SHARES}, \
    }

/* A memory without variables, which the caller holds. The budget must outlive it. The tenant is not kept:
 * its project and its limit are copied. */
struct variable_memory *variable_memory_new(struct variable_budget *budget,
                                            const struct tenant *tenant);
/* Every holder releases once, and the last release frees. NULL is fine in both. */
struct variable_memory *variable_memory_hold(struct variable_memory *memory);
void variable_memory_release(struct variable_memory *memory);

/* Adds a variable, which replaces one of the same name. Takes what the variable owns, in any case. False:
 * the memory does not have it, for lack of room. */
bool variable_memory_add(struct variable_memory *memory, struct variable *variable);
/* Adds all of them to a memory without variables. Takes what they own, in any case. ERR_LIMIT: not all
 * have room; the caller releases the memory. */
enum err_code variable_memory_fill(struct variable_memory *memory, struct variable *variables,
                                   size_t count, struct err *err) MUST_CHECK;

/* The functions of struct variable_ops (variable.h), for access->memory. The tenant is not used: a memory
 * belongs to one response. A put without room is ERR_LIMIT and changes nothing. */
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
