#ifndef RUNNEL_CORE_INGEST_SEARCH_SETS_H
#define RUNNEL_CORE_INGEST_SEARCH_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

/*
 * search_sets.h -- which documents a search sees.
 *
 *     struct search_set set;
 *
 *     rc = search_sets_find(sets, tenant, stores, count, filter, &set, err);
 *     ...
 *     search_set_clear(&set);
 *
 * The database decides, for each search. Without a filter, all files of a store are kept beside its mark
 * (search_set.h), and read again when the mark has changed. So each search asks for marks, which is cheap, and a change
 * that any node has committed counts for all searches that begin afterwards, on every node. A filter is always the
 * database's.
 *
 * What is kept has a limit. The sets that were not used for longest go first. A set that a search holds stays with it.
 *
 * Any thread that may wait.
 */

struct filter; /* core/domain/filter.h */
struct kept_set;
struct search_sets;
struct searched_file; /* core/store/tables/vector_stores/search_set.h */
struct store;
struct tenant; /* core/domain/tenant.h */

#define SEARCH_SETS_BYTES ((size_t)32 << 20) /* some 150,000 files */

struct search_sets *search_sets_new(struct store *store, size_t limit_bytes);
void search_sets_free(struct search_sets *sets); /* NULL is fine; nothing may be held */

struct search_set {
    const struct searched_file
        *files; /* by document; each once, of the first store that has it */
    size_t count;
    bool used;                   /* all stores were used within the last minute */
    struct searched_file *owned; /* `files`, if they are of this search alone */
    struct kept_set *kept;       /* or else who holds them */
};

/* ERR_NOT_FOUND, ERR_INVALID with REASON_STORE_EXPIRED: of the first store that is missing or has expired. ERR_STORE.
 * *ret_set is empty after an error. At most SEARCH_STORES_LIMIT stores. */
enum err_code search_sets_find(struct search_sets *sets, const struct tenant *tenant,
                               const char *const *stores, size_t count,
                               const struct filter *filter, struct search_set *ret_set,
                               struct err *err) MUST_CHECK;
void search_set_clear(struct search_set *set);

struct search_sets_stats {
    size_t count; /* of stores whose sets are kept */
    size_t bytes;
    uint64_t missed; /* sets that had to be read */
};
void search_sets_stats(struct search_sets *sets, struct search_sets_stats *ret_stats);

#endif
