/*
 * segment_cache.c -- a table of segments by document, and a list by last use of those that no search holds.
 *
 * Files are written, mapped and checked without the lock. A file gets its name when it is whole, so a crash leaves
 * nothing but a temporary one, which the next start removes. Two threads that miss the same segment both make it, and
 * the second drops its own.
 *
 * What an earlier start has left is known by its name and size alone. It is mapped and checked when it is searched.
 */

#include "core/ingest/segment_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fault.h"
#include "core/base/hash.h"
#include "core/base/ids.h"
#include "core/base/lock.h"
#include "core/base/log.h"
#include "core/base/mem.h"

#define BUCKETS ((size_t)16384)

struct held_segment {
    char id[ID_SIZE];
    struct index index;
    /* Mapped, or malloc'ed if it is loose; NULL: a file that was not looked at yet */
    void *bytes;
    size_t size;
    bool loose;                         /* in no table: freed when it is released */
    unsigned holders;                   /* guarded by the cache's lock, as all below */
    struct held_segment *next;          /* in its bucket, or of those that go */
    struct held_segment *newer, *older; /* in the order of their last use, if it is not held */
};

struct segment_cache {
    char *dir;
    uint64_t limit;
    size_t limit_maps;
    atomic_size_t maps; /* never more than limit_maps */
    struct lock lock;
    struct held_segment *buckets[BUCKETS]; /* guarded by lock, as all below */
    struct held_segment *newest, *oldest;
    size_t count;
    uint64_t bytes;
    uint64_t temporary; /* names of files that are not whole */
};

static char *path_of(const struct segment_cache *cache, const char *id)
{
    return mem_printf("%s/%s", cache->dir, id);
}

/* ---- Table and list ---- */

static struct held_segment **bucket_of(struct segment_cache *cache, const char *id)
{
    return &cache->buckets[hash_text(id) % BUCKETS];
}

static struct held_segment **find_locked(struct segment_cache *cache, const char *id)
    REQUIRES(cache->lock)
{
    struct held_segment **at = bucket_of(cache, id);

    while (*at && strcmp((*at)->id, id) != 0)
        at = &(*at)->next;
    return at;
}

static void unlink_locked(struct segment_cache *cache, struct held_segment *held)
    REQUIRES(cache->lock)
{
    *(held->newer ? &held->newer->older : &cache->newest) = held->older;
    *(held->older ? &held->older->newer : &cache->oldest) = held->newer;
    held->newer = held->older = NULL;
}

static void link_newest_locked(struct segment_cache *cache, struct held_segment *held)
    REQUIRES(cache->lock)
{
    held->older = cache->newest;
    *(cache->newest ? &cache->newest->newer : &cache->oldest) = held;
    cache->newest = held;
}

static void add_locked(struct segment_cache *cache, struct held_segment *held)
    REQUIRES(cache->lock)
{
    struct held_segment **at = bucket_of(cache, held->id);

    held->next = *at;
    *at = held;
    cache->count++;
    cache->bytes += held->size;
}

static void remove_locked(struct segment_cache *cache, struct held_segment *held)
    REQUIRES(cache->lock)
{
    *find_locked(cache, held->id) = held->next;
    held->next = NULL;
    cache->count--;
    cache->bytes -= held->size;
}

static void hold_locked(struct segment_cache *cache, struct held_segment *held)
    REQUIRES(cache->lock)
{
    if (!held->holders++)
        unlink_locked(cache, held);
}

/* Those that have to go, as a list. What is held is not in the list of uses. One place stays free for the next, as long
 * as not everything is held. */
static struct held_segment *take_surplus_locked(struct segment_cache *cache)
    REQUIRES(cache->lock)
{
    struct held_segment *surplus = NULL;

    while (cache->oldest &&
           (cache->bytes > cache->limit || cache->count >= cache->limit_maps)) {
        struct held_segment *held = cache->oldest;

        unlink_locked(cache, held);
        remove_locked(cache, held);
        held->next = surplus;
        surplus = held;
    }
    return surplus;
}

/* ---- Files ---- */

static bool is_full(struct segment_cache *cache)
{
    return atomic_load(&cache->maps) >= cache->limit_maps;
}

static void unmap(struct segment_cache *cache, struct held_segment *held)
{
    if (held->bytes) {
        munmap(held->bytes, held->size);
        atomic_fetch_sub(&cache->maps, 1);
    }
    held->bytes = NULL;
}

static void forget(struct segment_cache *cache, struct held_segment *held)
{
    if (held->loose)
        free(held->bytes);
    else
        unmap(cache, held);
    free(held);
}

static void drop_all(struct segment_cache *cache, struct held_segment *list)
{
    while (list) {
        struct held_segment *next = list->next;
        AUTO_FREE char *path = path_of(cache, list->id);

        (void)unlink(path);
        forget(cache, list);
        list = next;
    }
}

static enum err_code map_file(struct segment_cache *cache, struct held_segment *held,
                              const char *path, struct err *err)
{
    struct stat file;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *bytes = MAP_FAILED;

    if (fd < 0)
        return err_set(err, ERR_INTERNAL, "cannot open '%s': %s", path, strerror(errno));
    if (atomic_fetch_add(&cache->maps, 1) < cache->limit_maps && fstat(fd, &file) == 0 &&
        file.st_size > 0 && !FAULT("segment_cache.map"))
        bytes = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED)
        atomic_fetch_sub(&cache->maps, 1);
    if (bytes == MAP_FAILED)
        return err_set(err, ERR_INTERNAL, "cannot map '%s': %s", path, strerror(errno));
    held->bytes = bytes;
    held->size = (size_t)file.st_size;
    return index_open(bytes, held->size, &held->index, err);
}

static bool write_file(const char *path, const char *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    size_t done = 0;

    if (fd < 0)
        return false;
    while (done < size && !FAULT("segment_cache.write")) {
        ssize_t wrote = write(fd, bytes + done, size - done);

        if (wrote < 0 && errno != EINTR)
            break;
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    return close(fd) == 0 && done == size;
}

/* As a file with its name, mapped. False: the disk does not want it, or too many are mapped. */
static bool keep_file(struct segment_cache *cache, struct held_segment *held, const char *bytes,
                      size_t size)
{
    AUTO_FREE char *path = path_of(cache, held->id);
    AUTO_FREE char *temporary = NULL;
    struct err err;

    if (is_full(cache))
        return false;
    lock_acquire(&cache->lock);
    temporary = mem_printf("%s/.%llu", cache->dir, (unsigned long long)cache->temporary++);
    lock_release(&cache->lock);
    if (!write_file(temporary, bytes, size) || rename(temporary, path) != 0) {
        (void)unlink(temporary);
        return false;
    }
    if (!map_file(cache, held, path, &err))
        return true;
    unmap(cache, held);
    (void)unlink(path);
    return false;
}

/* ---- For searches ---- */

/* One of an earlier start: out of the table while it is looked at. NULL: it is damaged. */
static struct held_segment *look_at(struct segment_cache *cache, struct held_segment *held)
{
    AUTO_FREE char *path = path_of(cache, held->id);
    struct err err;

    if (!map_file(cache, held, path, &err))
        return held;
    log_info("a segment in the cache is read anew: %s", err.text);
    drop_all(cache, held);
    return NULL;
}

/* Adds it, held. If another thread was first: drops it, and takes the other's. */
static struct held_segment *add_held(struct segment_cache *cache, struct held_segment *held)
{
    struct held_segment *surplus, *first, *forgotten = NULL;

    held->holders = 1;
    lock_acquire(&cache->lock);
    first = *find_locked(cache, held->id);
    if (first && !first->bytes) {
        unlink_locked(cache, first); /* of an earlier start, and not looked at */
        remove_locked(cache, first);
        forgotten = first;
        first = NULL;
    }
    if (first)
        hold_locked(cache, first);
    else
        add_locked(cache, held);
    surplus = take_surplus_locked(cache);
    lock_release(&cache->lock);
    drop_all(cache, surplus);
    free(forgotten);
    if (!first)
        return held;
    forget(cache, held);
    return first;
}

struct held_segment *segment_cache_find(struct segment_cache *cache, const char *document_id)
{
    struct held_segment *held;

    lock_acquire(&cache->lock);
    held = *find_locked(cache, document_id);
    if (held && !held->bytes && is_full(cache))
        held = NULL; /* for a search with fewer documents */
    if (held && held->bytes) {
        hold_locked(cache, held);
    } else if (held) {
        unlink_locked(cache, held);
        remove_locked(cache, held);
    }
    lock_release(&cache->lock);
    if (!held || held->bytes)
        return held;
    held = look_at(cache, held);
    return held ? add_held(cache, held) : NULL;
}

enum err_code segment_cache_put(struct segment_cache *cache, const char *document_id,
                                char *bytes, size_t size, struct held_segment **ret_held,
                                struct err *err)
{
    struct held_segment *held = mem_new(struct held_segment);
    struct index index;
    enum err_code rc = index_open(bytes, size, &index, err);

    if (rc) {
        free(bytes);
        free(held);
        return rc;
    }
    *held = (struct held_segment){.holders = 1};
    (void)snprintf(held->id, sizeof(held->id), "%s", document_id);
    if (keep_file(cache, held, bytes, size)) {
        free(bytes);
        *ret_held = add_held(cache, held);
        return ERR_OK;
    }
    held->loose = true;
    held->bytes = bytes;
    held->size = size;
    held->index = index;
    *ret_held = held;
    return ERR_OK;
}

const struct index *held_index(const struct held_segment *held)
{
    return &held->index;
}

void segment_cache_release(struct segment_cache *cache, struct held_segment *held)
{
    struct held_segment *surplus = NULL;

    if (held->loose) {
        forget(cache, held);
        return;
    }
    lock_acquire(&cache->lock);
    if (!--held->holders)
        link_newest_locked(cache, held);
    surplus = take_surplus_locked(cache);
    lock_release(&cache->lock);
    drop_all(cache, surplus);
}

void segment_cache_stats(struct segment_cache *cache, struct segment_cache_stats *ret_stats)
{
    lock_acquire(&cache->lock);
    *ret_stats =
        (struct segment_cache_stats){cache->count, atomic_load(&cache->maps), cache->bytes};
    lock_release(&cache->lock);
}

/* ---- Open and free ---- */

/* A file of an earlier start. Its name is a document's id, or it goes. */
static void know_file(struct segment_cache *cache, const char *name)
{
    AUTO_FREE char *path = path_of(cache, name);
    size_t length = strlen(name);
    struct held_segment *held;
    struct stat file;

    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return;
    if (!id_has_prefix(name, "doc_") || length >= ID_SIZE || stat(path, &file) != 0) {
        (void)unlink(path);
        return;
    }
    held = mem_new(struct held_segment);
    *held = (struct held_segment){.size = (size_t)file.st_size};
    memcpy(held->id, name, length + 1);
    lock_acquire(&cache->lock);
    add_locked(cache, held);
    link_newest_locked(cache, held);
    lock_release(&cache->lock);
}

enum err_code segment_cache_open(const char *dir, uint64_t limit_bytes, size_t limit_maps,
                                 struct segment_cache **ret_cache, struct err *err)
{
    struct segment_cache *cache;
    struct held_segment *surplus;
    struct dirent *entry;
    DIR *opened;

    if (mkdir(dir, 0700) != 0 && errno != EEXIST)
        return err_set(err, ERR_INTERNAL, "cannot make '%s': %s", dir, strerror(errno));
    opened = opendir(dir);
    if (!opened)
        return err_set(err, ERR_INTERNAL, "cannot read '%s': %s", dir, strerror(errno));
    cache = mem_new(struct segment_cache);
    *cache = (struct segment_cache){
        .dir = mem_strdup(dir), .limit = limit_bytes, .limit_maps = limit_maps};
    lock_init(&cache->lock, LOCK_SEGMENTS);
    while ((entry = readdir(opened)))
        know_file(cache, entry->d_name);
    closedir(opened);
    lock_acquire(&cache->lock);
    surplus = take_surplus_locked(cache);
    lock_release(&cache->lock);
    drop_all(cache, surplus);
    *ret_cache = cache;
    return ERR_OK;
}

void segment_cache_free(struct segment_cache *cache)
{
    struct held_segment *next;

    if (!cache)
        return;
    for (struct held_segment *at = cache->newest; at; at = next) { /* nothing is held */
        next = at->older;
        forget(cache, at);
    }
    lock_destroy(&cache->lock);
    free(cache->dir);
    free(cache);
}
