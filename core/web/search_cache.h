#ifndef RUNNEL_CORE_WEB_SEARCH_CACHE_H
#define RUNNEL_CORE_WEB_SEARCH_CACHE_H

#include <jansson.h>
#include <stddef.h>

/*
 * search_cache.h -- what a run has found before.
 *
 * Models ask the same again, in the next turn or with other words beside it. An answer counts for one run alone: no
 * project sees what another has searched for, and a new run finds what is new.
 *
 * The oldest give way to newer ones, beyond SEARCH_CACHE_COUNT entries or SEARCH_CACHE_BYTES. Any thread.
 */

#define SEARCH_CACHE_COUNT ((size_t)512)
#define SEARCH_CACHE_BYTES ((size_t)8 << 20)

struct search_cache;

struct search_cache *search_cache_new(void);
void search_cache_free(struct search_cache *cache); /* NULL is fine */

/* New reference, or NULL. */
json_t *search_cache_find(struct search_cache *cache, const char *run, const char *question);
/* Copies. Without a run ("") nothing is kept. */
void search_cache_put(struct search_cache *cache, const char *run, const char *question,
                      const json_t *results);

#endif
