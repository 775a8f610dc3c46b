/*
 * search_cache.c -- a ring of texts. It is short, so going through all of it is cheaper than a table.
 *
 * Results are kept as text: a tree belongs to one thread.
 */

#include "core/web/search_cache.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/base/lock.h"
#include "core/base/mem.h"

struct entry {
    uint32_t hash;
    char *run, *question, *results; /* NULL: free */
};

struct search_cache {
    struct lock lock;
    struct entry entries[SEARCH_CACHE_COUNT]; /* guarded by lock, and so are the next */
    size_t next;                              /* the oldest, which gives way */
    size_t bytes;
};

struct search_cache *search_cache_new(void)
{
    struct search_cache *cache = mem_new(struct search_cache);

    lock_init(&cache->lock, LOCK_WEB);
    return cache;
}

static size_t size_of(const struct entry *entry)
{
    return strlen(entry->run) + strlen(entry->question) + strlen(entry->results);
}

static void forget(struct search_cache *cache, struct entry *entry)
{
    if (!entry->run)
        return;
    cache->bytes -= size_of(entry);
    free(entry->run);
    free(entry->question);
    free(entry->results);
    *entry = (struct entry){0};
}

void search_cache_free(struct search_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < SEARCH_CACHE_COUNT; i++)
        forget(cache, &cache->entries[i]);
    lock_destroy(&cache->lock);
    free(cache);
}

static uint32_t hash_of(const char *run, const char *question)
{
    return hash_add(hash_text(run), question);
}

static const struct entry *find_locked(const struct search_cache *cache, uint32_t hash,
                                       const char *run, const char *question)
{
    for (size_t i = 0; i < SEARCH_CACHE_COUNT; i++) {
        const struct entry *entry = &cache->entries[i];

        if (entry->run && entry->hash == hash && strcmp(entry->run, run) == 0 &&
            strcmp(entry->question, question) == 0)
            return entry;
    }
    return NULL;
}

json_t *search_cache_find(struct search_cache *cache, const char *run, const char *question)
{
    AUTO_FREE char *results = NULL;
    const struct entry *entry;

    lock_acquire(&cache->lock);
    entry = find_locked(cache, hash_of(run, question), run, question);
    if (entry)
        results = mem_strdup(entry->results);
    lock_release(&cache->lock);
    return json_parse_own(results);
}

/* Takes what the entry owns. */
static void put_locked(struct search_cache *cache, const struct entry *entry)
{
    cache->bytes += size_of(entry);
    forget(cache, &cache->entries[cache->next]);
    cache->entries[cache->next] = *entry;
    cache->next = (cache->next + 1) % SEARCH_CACHE_COUNT;
    for (size_t i = cache->next; cache->bytes > SEARCH_CACHE_BYTES;
         i = (i + 1) % SEARCH_CACHE_COUNT)
        forget(cache, &cache->entries[i]);
}

void search_cache_put(struct search_cache *cache, const char *run, const char *question,
                      const json_t *results)
{
    struct entry entry;

    if (!*run)
        return;
    entry = (struct entry){.hash = hash_of(run, question),
                           .run = mem_strdup(run),
                           .question = mem_strdup(question),
                           .results = json_text(results)};
    lock_acquire(&cache->lock);
    put_locked(cache, &entry);
    lock_release(&cache->lock);
}
