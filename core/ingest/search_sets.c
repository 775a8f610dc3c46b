/*
 * search_sets.c -- a table of sets by store, and a list by last use.
 *
 * A set never changes. A store that has changed gets another one, and the old one stays with those who hold it. Two
 * searches that miss the same set both read it, and the later one stays. If that is the older set, the next search does
 * not find its mark, and reads it once more.
 */

#include "core/ingest/search_sets.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/ids.h"
#include "core/base/lock.h"
#include "core/base/mem.h"
#include "core/domain/tenant.h"
#include "core/ingest/search.h"
#include "core/store/tables/vector_stores/search_set.h"

#define BUCKETS ((size_t)1024)

struct kept_set {
    struct tenant tenant; /* its project alone */
    char store[ID_LIMIT + 1];
    struct search_mark mark;
    struct searched_file *files; /* by document */
    size_t count;
    atomic_size_t holders; /* the table is one of them */
    struct kept_set
        *next; /* in its bucket, guarded by the lock of the sets, as the following */
    struct kept_set *newer, *older; /* in the order of their last use */
};

struct search_sets {
    struct store *store;
    size_t limit;
    atomic_ullong missed;
    struct lock lock;
    struct kept_set *buckets[BUCKETS]; /* guarded by lock, as all below */
    struct kept_set *newest, *oldest;
    size_t count, bytes;
};

struct search_sets *search_sets_new(struct store *store, size_t limit_bytes)
{
    struct search_sets *sets = mem_zeroed(1, sizeof(*sets));

    sets->store = store;
    sets->limit = limit_bytes;
    lock_init(&sets->lock, LOCK_SEARCH_SETS);
    return sets;
}

static void kept_release(struct kept_set *kept)
{
    if (!kept || atomic_fetch_sub(&kept->holders, 1) > 1)
        return;
    free(kept->files);
    free(kept);
}

void search_sets_free(struct search_sets *sets)
{
    struct kept_set *next;

    if (!sets)
        return;
    for (struct kept_set *at = sets->newest; at; at = next) {
        next = at->older;
        kept_release(at);
    }
    lock_destroy(&sets->lock);
    free(sets);
}

/* ---- Table and list ---- */

static size_t bytes_of(const struct kept_set *kept)
{
    return sizeof(*kept) + kept->count * sizeof(*kept->files);
}

static struct kept_set **find_locked(struct search_sets *sets, const struct tenant *tenant,
                                     const char *store) REQUIRES(sets->lock)
{
    uint32_t hash = hash_add(hash_text(tenant->project), store);
    struct kept_set **at = &sets->buckets[hash % BUCKETS];

    while (*at && (strcmp((*at)->store, store) != 0 ||
                   strcmp((*at)->tenant.project, tenant->project) != 0))
        at = &(*at)->next;
    return at;
}

static void unlink_locked(struct search_sets *sets, struct kept_set *kept) REQUIRES(sets->lock)
{
    *(kept->newer ? &kept->newer->older : &sets->newest) = kept->older;
    *(kept->older ? &kept->older->newer : &sets->oldest) = kept->newer;
    kept->newer = kept->older = NULL;
}

static void link_newest_locked(struct search_sets *sets, struct kept_set *kept)
    REQUIRES(sets->lock)
{
    kept->older = sets->newest;
    *(sets->newest ? &sets->newest->newer : &sets->oldest) = kept;
    sets->newest = kept;
}

/* Out of the table. The caller releases it. */
static struct kept_set *remove_locked(struct search_sets *sets, struct kept_set **at)
    REQUIRES(sets->lock)
{
    struct kept_set *kept = *at;

    *at = kept->next;
    kept->next = NULL;
    unlink_locked(sets, kept);
    sets->count--;
    sets->bytes -= bytes_of(kept);
    return kept;
}

/* What has to go, as a list. */
static struct kept_set *take_surplus_locked(struct search_sets *sets) REQUIRES(sets->lock)
{
    struct kept_set *surplus = NULL;

    while (sets->oldest && sets->bytes > sets->limit) {
        struct kept_set *kept =
            remove_locked(sets, find_locked(sets, &sets->oldest->tenant, sets->oldest->store));

        kept->next = surplus;
        surplus = kept;
    }
    return surplus;
}

static struct kept_set *find_kept(struct search_sets *sets, const struct tenant *tenant,
                                  const char *store, const struct search_mark *mark)
{
    struct kept_set *kept;

    lock_acquire(&sets->lock);
    kept = *find_locked(sets, tenant, store);
    if (kept && strcmp(kept->mark.text, mark->text) != 0)
        kept = NULL;
    if (kept) {
        atomic_fetch_add(&kept->holders, 1);
        unlink_locked(sets, kept);
        link_newest_locked(sets, kept);
    }
    lock_release(&sets->lock);
    return kept;
}

/* It replaces an older one. */
static void keep(struct search_sets *sets, struct kept_set *kept)
{
    struct kept_set *former = NULL, *surplus, *next;
    struct kept_set **at;

    lock_acquire(&sets->lock);
    at = find_locked(sets, &kept->tenant, kept->store);
    if (*at)
        former = remove_locked(sets, at);
    kept->next = *at;
    *at = kept;
    atomic_fetch_add(&kept->holders, 1);
    link_newest_locked(sets, kept);
    sets->count++;
    sets->bytes += bytes_of(kept);
    surplus = take_surplus_locked(sets);
    lock_release(&sets->lock);
    kept_release(former);
    for (; surplus; surplus = next) {
        next = surplus->next;
        kept_release(surplus);
    }
}

/* ---- Reading ---- */

static int by_document(const void *a, const void *b)
{
    const struct searched_file *left = a, *right = b;

    return strcmp(left->document_id, right->document_id);
}

/* A document may be in several stores. The first row of it counts. Sorted, so that segments are found by their
 * document, and equal scores stand in the same order on every node. Returns how many are left. */
static size_t keep_each_once(struct searched_file *files, size_t count)
{
    size_t kept = 0;

    /* Stable: rows of one store are different documents, and stores come in order. */
    for (size_t i = 0; i < count; i++)
        files[i].place = i;
    qsort(files, count, sizeof(*files), by_document);
    for (size_t i = 0; i < count; i++) {
        struct searched_file *last = kept ? &files[kept - 1] : NULL;

        if (!last || by_document(last, &files[i]) != 0)
            files[kept++] = files[i];
        else if (files[i].place < last->place)
            *last = files[i];
    }
    return kept;
}

static enum err_code read_set(struct search_sets *sets, const struct tenant *tenant,
                              const char *store, struct kept_set **ret_kept, struct err *err)
{
    struct kept_set *kept = mem_zeroed(1, sizeof(*kept));
    enum err_code rc;

    atomic_fetch_add(&sets->missed, 1);
    rc = store_search_all(sets->store, tenant, store, &kept->mark, &kept->files, &kept->count,
                          err);
    if (rc) {
        free(kept);
        return rc;
    }
    kept->tenant = tenant_of_project(tenant->project);
    memcpy(kept->store, store, strlen(store) + 1);
    kept->count = keep_each_once(kept->files, kept->count);
    atomic_init(&kept->holders, 1);
    if (*kept->mark.text)
        keep(sets, kept);
    *ret_kept = kept;
    return ERR_OK;
}

/* The caller releases what was found, also after an error. */
static enum err_code find_each(struct search_sets *sets, const struct tenant *tenant,
                               const char *const *stores, size_t count,
                               const struct search_mark *marks, struct kept_set **ret_kept,
                               struct err *err)
{
    enum err_code rc = ERR_OK;

    for (size_t i = 0; !rc && i < count; i++) {
        ret_kept[i] = find_kept(sets, tenant, stores[i], &marks[i]);
        if (!ret_kept[i])
            rc = read_set(sets, tenant, stores[i], &ret_kept[i], err);
    }
    return rc;
}

static void own(struct search_set *set, struct searched_file *files, size_t count)
{
    set->owned = files;
    set->files = files;
    set->count = keep_each_once(files, count);
}

/* One set is lent as it is. Of several a copy is made. */
static void join(struct search_set *set, struct kept_set **kept, size_t count)
{
    struct searched_file *files;
    size_t total = 0, at = 0;

    if (count == 1) {
        set->kept = TAKE(kept[0]);
        set->files = set->kept->files;
        set->count = set->kept->count;
        return;
    }
    for (size_t i = 0; i < count; i++)
        total += kept[i]->count;
    files = mem_new_array(struct searched_file, total + 1);
    for (size_t i = 0; i < count; i++) {
        memcpy(files + at, kept[i]->files, kept[i]->count * sizeof(*files));
        at += kept[i]->count;
    }
    own(set, files, total);
}

enum err_code search_sets_find(struct search_sets *sets, const struct tenant *tenant,
                               const char *const *stores, size_t count,
                               const struct filter *filter, struct search_set *ret_set,
                               struct err *err)
{
    struct search_mark marks[SEARCH_STORES_LIMIT];
    struct kept_set *kept[SEARCH_STORES_LIMIT] = {0};
    struct searched_file *files = NULL;
    size_t found = 0;
    enum err_code rc;

    assert(count <= SEARCH_STORES_LIMIT);
    *ret_set = (struct search_set){.used = true};
    rc = store_search_marks(sets->store, tenant, stores, count, marks, err);
    for (size_t i = 0; !rc && i < count; i++)
        ret_set->used = ret_set->used && marks[i].used;
    if (!rc && filter)
        rc = store_search_set(sets->store, tenant, stores, count, filter, &files, &found, err);
    else if (!rc)
        rc = find_each(sets, tenant, stores, count, marks, kept, err);
    if (!rc && filter)
        own(ret_set, files, found);
    else if (!rc)
        join(ret_set, kept, count);
    for (size_t i = 0; i < count; i++)
        kept_release(kept[i]);
    return rc;
}

void search_set_clear(struct search_set *set)
{
    free(set->owned);
    kept_release(set->kept);
    *set = (struct search_set){0};
}

void search_sets_stats(struct search_sets *sets, struct search_sets_stats *ret_stats)
{
    lock_acquire(&sets->lock);
    *ret_stats =
        (struct search_sets_stats){sets->count, sets->bytes, atomic_load(&sets->missed)};
    lock_release(&sets->lock);
}
