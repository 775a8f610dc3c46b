/*
 * chain_cache.c -- a table of histories, and a list of them by their last use.
 */

#include "server/api/responses/chain_cache.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/lock.h"
#include "core/base/mem.h"
#include "core/run/context/past/past_text.h"

#define BUCKETS 1024

struct entry {
    struct entry *next;          /* in its bucket */
    struct entry *newer, *older; /* by last use */
    char project[ID_SIZE];
    char response_id[ID_SIZE];
    uint64_t used_ns;
    size_t size;
    struct chain_history past;
};

struct chain_cache {
    size_t limit;
    struct lock lock;
    struct entry *buckets[BUCKETS]; /* guarded by lock, as all below */
    struct entry *newest, *oldest;
    size_t size;
};

void chain_history_clear(struct chain_history *past)
{
    item_rows_free(past->items, past->count);
    past_text_release(past->text);
    *past = (struct chain_history){0};
}

static void entry_free(struct entry *entry)
{
    chain_history_clear(&entry->past);
    free(entry);
}

struct chain_cache *chain_cache_new(size_t limit)
{
    struct chain_cache *cache = NULL;

    if (limit) {
        cache = mem_new(struct chain_cache);
        cache->limit = limit;
        lock_init(&cache->lock, LOCK_CHAINS);
    }
    return cache;
}

void chain_cache_free(struct chain_cache *cache)
{
    if (!cache)
        return;
    for (struct entry *entry = cache->newest, *older; entry; entry = older) {
        older = entry->older;
        entry_free(entry);
    }
    lock_destroy(&cache->lock);
    free(cache);
}

static size_t size_of(const struct chain_history *past)
{
    size_t size = sizeof(struct entry) + past->count * sizeof(*past->items);

    for (size_t i = 0; i < past->count; i++)
        size += past->items[i].body ? strlen(past->items[i].body) : 0;
    return size + (past->text ? past->text->length : 0);
}

/* ---- The table ---- */

static struct entry **place_locked(struct chain_cache *cache, const struct tenant *tenant,
                                   const char *response_id) REQUIRES(cache->lock)
{
    uint32_t hash = hash_add(hash_text(tenant->project), response_id);
    struct entry **at = &cache->buckets[hash % BUCKETS];

    while (*at && (strcmp((*at)->response_id, response_id) != 0 ||
                   strcmp((*at)->project, tenant->project) != 0))
        at = &(*at)->next;
    return at;
}

/* Takes the entry out of table and list. */
static struct entry *remove_locked(struct chain_cache *cache, struct entry **at)
    REQUIRES(cache->lock)
{
    struct entry *entry = *at;

    *at = entry->next;
    *(entry->newer ? &entry->newer->older : &cache->newest) = entry->older;
    *(entry->older ? &entry->older->newer : &cache->oldest) = entry->newer;
    cache->size -= entry->size;
    return entry;
}

static struct entry *find_locked(struct chain_cache *cache, const struct tenant *tenant,
                                 const char *response_id) REQUIRES(cache->lock)
{
    struct entry **at = place_locked(cache, tenant, response_id);

    return *at ? remove_locked(cache, at) : NULL;
}

static bool is_stale_locked(const struct chain_cache *cache, uint64_t now_ns)
    REQUIRES(cache->lock)
{
    return cache->oldest &&
           (cache->size > cache->limit ||
            cache->oldest->used_ns + CHAIN_CACHE_SECONDS * NS_PER_SECOND < now_ns);
}

/* The caller frees the list, by `next`, without the lock. */
static struct entry *evict_locked(struct chain_cache *cache, uint64_t now_ns)
    REQUIRES(cache->lock)
{
    struct entry *gone = NULL;

    while (is_stale_locked(cache, now_ns)) {
        struct tenant tenant = tenant_of_project(cache->oldest->project);
        struct entry *entry = find_locked(cache, &tenant, cache->oldest->response_id);

        entry->next = gone;
        gone = entry;
    }
    return gone;
}

/* Those that evict_locked() has returned; without the lock. */
static void free_gone(struct entry *gone)
{
    for (struct entry *next; gone; gone = next) {
        next = gone->next;
        entry_free(gone);
    }
}

/* ---- Use ---- */

bool chain_cache_take(struct chain_cache *cache, const struct tenant *tenant,
                      const char *response_id, struct chain_history *ret_past)
{
    struct entry *entry;

    if (!cache)
        return false;
    lock_acquire(&cache->lock);
    entry = find_locked(cache, tenant, response_id);
    lock_release(&cache->lock);
    if (!entry)
        return false;
    *ret_past = entry->past;
    free(entry);
    return true;
}

void chain_cache_put(struct chain_cache *cache, const struct tenant *tenant,
                     const char *response_id, struct chain_history *past)
{
    struct entry *entry = mem_new(struct entry);
    struct entry *gone = NULL, *same;

    if (!cache || strlen(response_id) >= sizeof(entry->response_id)) {
        chain_history_clear(past);
        free(entry);
        return;
    }
    memcpy(entry->project, tenant->project, sizeof(entry->project));
    memcpy(entry->response_id, response_id, strlen(response_id) + 1);
    entry->used_ns = clock_mono_ns();
    entry->size = size_of(past);
    entry->past = *past;
    *past = (struct chain_history){0};
    lock_acquire(&cache->lock);
    same = find_locked(cache, tenant, response_id);
    *place_locked(cache, tenant, response_id) = entry;
    entry->older = cache->newest;
    *(cache->newest ? &cache->newest->newer : &cache->oldest) = entry;
    cache->newest = entry;
    cache->size += entry->size;
    gone = evict_locked(cache, entry->used_ns);
    lock_release(&cache->lock);
    if (same)
        entry_free(same);
    free_gone(gone);
}

void chain_cache_evict(struct chain_cache *cache, uint64_t now_ns)
{
    struct entry *gone;

    if (!cache)
        return;
    lock_acquire(&cache->lock);
    gone = evict_locked(cache, now_ns);
    lock_release(&cache->lock);
    free_gone(gone);
}

void chain_cache_drop(struct chain_cache *cache, const struct tenant *tenant,
                      const char *response_id)
{
    struct chain_history past;

    if (chain_cache_take(cache, tenant, response_id, &past))
        chain_history_clear(&past);
}
