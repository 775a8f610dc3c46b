/*
 * search_cache.c -- results as the bytes of a run_cache. They are kept as text: a tree belongs to one thread.
 */

#include "core/web/search_cache.h"

#include <stdlib.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/web/run_cache.h"

struct search_cache {
    struct run_cache *found;
};

struct search_cache *search_cache_new(void)
{
    struct search_cache *cache = mem_new(struct search_cache);

    cache->found = run_cache_new(&(struct run_cache_limits){.count = SEARCH_CACHE_COUNT,
                                                            .bytes = SEARCH_CACHE_BYTES,
                                                            .run_bytes = SEARCH_CACHE_BYTES});
    return cache;
}

void search_cache_free(struct search_cache *cache)
{
    if (!cache)
        return;
    run_cache_free(cache->found);
    free(cache);
}

json_t *search_cache_find(struct search_cache *cache, const char *run, const char *question)
{
    const struct run_cache_found *found = run_cache_find(cache->found, run, question);
    json_t *results = found ? json_parse_own(found->bytes) : NULL;

    run_cache_release(found);
    return results;
}

void search_cache_put(struct search_cache *cache, const char *run, const char *question,
                      const json_t *results)
{
    AUTO_FREE char *text = json_text(results);
    struct buf bytes = {0};

    buf_add_text(&bytes, text);
    run_cache_put(cache->found, run, question, &bytes);
}
