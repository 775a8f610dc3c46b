/*
 * run_cache.c -- a ring of entries. It is short, so going through all of it is cheaper than a table.
 *
 * An entry is put at `next`, where the oldest one is. So the way from `next` around the ring is from old to new.
 *
 * The bytes are constant and counted by their holders: a page of 5 MiB is read while others use the cache, and may have
 * given way before its reader has ended.
 */

#include "core/web/run_cache.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/base/hash.h"
#include "core/base/lock.h"
#include "core/base/mem.h"

struct value {
    struct run_cache_found found;
    char *bytes; /* owned */
    atomic_uint holders;
};

struct entry {
    uint32_t hash;
    char *run, *key; /* NULL: free */
    struct value *value;
};

struct run_cache {
    struct run_cache_limits limits; /* constant */
    struct lock lock;
    struct entry *entries; /* guarded by lock, and so are the next */
    size_t next;           /* the oldest, which gives way */
    size_t bytes;
};

/* ---- Values ---- */

static struct value *new_value(struct buf *bytes)
{
    struct value *value = mem_new(struct value);

    value->found.length = bytes->length;
    value->bytes = buf_take(bytes);
    value->found.bytes = value->bytes;
    atomic_init(&value->holders, 1);
    return value;
}

static void release(struct value *value)
{
    if (atomic_fetch_sub(&value->holders, 1) != 1)
        return;
    free(value->bytes);
    free(value);
}

void run_cache_release(const struct run_cache_found *found)
{
    if (found)
        release(CONTAINER_OF((void *)(uintptr_t)found, struct value, found));
}

/* ---- Entries ---- */

struct run_cache *run_cache_new(const struct run_cache_limits *limits)
{
    struct run_cache *cache = mem_new(struct run_cache);

    assert(limits->count && limits->run_bytes <= limits->bytes);
    cache->limits = *limits;
    cache->entries = mem_new_array(struct entry, limits->count);
    lock_init(&cache->lock, LOCK_WEB);
    return cache;
}

static size_t size_of(const struct entry *entry)
{
    return strlen(entry->run) + strlen(entry->key) + entry->value->found.length;
}

static void forget(struct run_cache *cache, struct entry *entry)
{
    if (!entry->run)
        return;
    cache->bytes -= size_of(entry);
    free(entry->run);
    free(entry->key);
    release(entry->value);
    *entry = (struct entry){0};
}

void run_cache_free(struct run_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < cache->limits.count; i++)
        forget(cache, &cache->entries[i]);
    lock_destroy(&cache->lock);
    free(cache->entries);
    free(cache);
}

static uint32_t hash_of(const char *run, const char *key)
{
    return hash_add(hash_text(run), key);
}

static struct entry *find_locked(struct run_cache *cache, const char *run, const char *key)
{
    uint32_t hash = hash_of(run, key);

    for (size_t i = 0; i < cache->limits.count; i++) {
        struct entry *entry = &cache->entries[i];

        if (entry->run && entry->hash == hash && strcmp(entry->run, run) == 0 &&
            strcmp(entry->key, key) == 0)
            return entry;
    }
    return NULL;
}

const struct run_cache_found *run_cache_find(struct run_cache *cache, const char *run,
                                             const char *key)
{
    const struct run_cache_found *found = NULL;
    struct entry *entry;

    lock_acquire(&cache->lock);
    entry = find_locked(cache, run, key);
    if (entry) {
        atomic_fetch_add(&entry->value->holders, 1);
        found = &entry->value->found;
    }
    lock_release(&cache->lock);
    return found;
}

/* ---- Room ---- */

/* The i-th oldest. */
static struct entry *by_age(struct run_cache *cache, size_t i)
{
    return &cache->entries[(cache->next + i) % cache->limits.count];
}

static size_t bytes_of_run_locked(const struct run_cache *cache, const char *run)
{
    size_t bytes = 0;

    for (size_t i = 0; i < cache->limits.count; i++) {
        if (cache->entries[i].run && strcmp(cache->entries[i].run, run) == 0)
            bytes += size_of(&cache->entries[i]);
    }
    return bytes;
}

/* The oldest ones of the run go, and then the oldest ones of all. */
static void make_room_locked(struct run_cache *cache, const char *run, size_t size)
{
    size_t had = bytes_of_run_locked(cache, run);

    for (size_t i = 0; i < cache->limits.count && had + size > cache->limits.run_bytes; i++) {
        struct entry *entry = by_age(cache, i);

        if (!entry->run || strcmp(entry->run, run) != 0)
            continue;
        had -= size_of(entry);
        forget(cache, entry);
    }
    for (size_t i = 0; i < cache->limits.count && cache->bytes + size > cache->limits.bytes;
         i++)
        forget(cache, by_age(cache, i));
}

/* Takes what the entry owns. */
static void put_locked(struct run_cache *cache, const struct entry *entry)
{
    struct entry *before = find_locked(cache, entry->run, entry->key);
    size_t size = size_of(entry);

    if (before)
        forget(cache, before);
    make_room_locked(cache, entry->run, size);
    forget(cache, &cache->entries[cache->next]);
    cache->entries[cache->next] = *entry;
    cache->bytes += size;
    cache->next = (cache->next + 1) % cache->limits.count;
}

void run_cache_put(struct run_cache *cache, const char *run, const char *key, struct buf *bytes)
{
    struct entry entry;

    if (!*run || strlen(run) + strlen(key) + bytes->length > cache->limits.run_bytes) {
        buf_clear(bytes);
        return;
    }
    entry = (struct entry){.hash = hash_of(run, key),
                           .run = mem_strdup(run),
                           .key = mem_strdup(key),
                           .value = new_value(bytes)};
    lock_acquire(&cache->lock);
    put_locked(cache, &entry);
    lock_release(&cache->lock);
}
