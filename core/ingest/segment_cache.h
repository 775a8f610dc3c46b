#ifndef RUNNEL_CORE_INGEST_SEGMENT_CACHE_H
#define RUNNEL_CORE_INGEST_SEGMENT_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/retrieval/index.h"

/*
 * segment_cache.h -- segments that this node has searched before, in files that are mapped into memory.
 *
 * The truth is the database. A segment never changes, so what is here is right as long as it is whole, which is checked
 * when it is mapped. Losing all of it costs nothing but time. When there is too much, those that were not used for the
 * longest time go.
 *
 *     held = segment_cache_find(cache, document_id);
 *     if (!held)
 *         rc = segment_cache_put(cache, document_id, bytes, size, &held, err);   // read from the database
 *     ... held_index(held) ...
 *     segment_cache_release(cache, held);
 *
 * A segment that the disk has no room for is held in memory until it is released. So is one beyond the files that may
 * be mapped at once: searches of very many documents hold them all, and what is held cannot go.
 *
 * Any thread, with no lock held.
 */

struct segment_cache;
struct held_segment;

/* Files mapped at once. Linux allows a process 65,530 mappings. */
#define SEGMENT_CACHE_MAPS ((size_t)30000)

/* `dir` is made if it is missing; its parent must exist. Segments that an earlier start has left are used. At most
 * `limit_bytes` and `limit_maps` files are kept, apart from what is held. */
enum err_code segment_cache_open(const char *dir, uint64_t limit_bytes, size_t limit_maps,
                                 struct segment_cache **ret_cache, struct err *err) MUST_CHECK;
void segment_cache_free(struct segment_cache *cache); /* NULL is fine; nothing may be held */

/* NULL: it is not here. */
struct held_segment *segment_cache_find(struct segment_cache *cache, const char *document_id);

/* Takes the bytes (malloc'ed). ERR_INVALID: they are no segment. */
enum err_code segment_cache_put(struct segment_cache *cache, const char *document_id,
                                char *bytes, size_t size, struct held_segment **ret_held,
                                struct err *err) MUST_CHECK;

const struct index *held_index(const struct held_segment *held);
void segment_cache_release(struct segment_cache *cache, struct held_segment *held);

struct segment_cache_stats {
    size_t count; /* in files */
    size_t maps;  /* of these, mapped now */
    uint64_t bytes;
};
void segment_cache_stats(struct segment_cache *cache, struct segment_cache_stats *ret_stats);

#endif
