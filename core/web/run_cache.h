#ifndef RUNNEL_CORE_WEB_RUN_CACHE_H
#define RUNNEL_CORE_WEB_RUN_CACHE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"

/*
 * run_cache.h -- what runs have found in the web before: bytes by run and key.
 *
 * A model asks the same again, in the next turn or by another tool. What was found counts for one run alone: no project
 * sees what another has looked for, and a new run finds what is new.
 *
 * The oldest give way to newer ones, beyond the limits. Any thread.
 */

struct run_cache;

struct run_cache_limits {
    size_t count;     /* entries of all runs */
    size_t bytes;     /* of all of them, keys included */
    size_t run_bytes; /* of those of one run */
};

struct run_cache *run_cache_new(const struct run_cache_limits *limits);
/* What was found may still be held. NULL is fine. */
void run_cache_free(struct run_cache *cache);

/* Constant, and shared by all that hold it. */
struct run_cache_found {
    const char *bytes; /* ends with a NUL that does not count */
    size_t length;
};

/* Held by the caller until run_cache_release(); NULL: nothing is known. */
const struct run_cache_found *run_cache_find(struct run_cache *cache, const char *run,
                                             const char *key);
void run_cache_release(const struct run_cache_found *found); /* NULL is fine */

/* Takes what the buf has. The newest entry of a key counts. Without a run ("") nothing is kept, nor more bytes than a
 * run may have. */
void run_cache_put(struct run_cache *cache, const char *run, const char *key,
                   struct buf *bytes);

#endif
