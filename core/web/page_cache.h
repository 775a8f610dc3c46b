#ifndef RUNNEL_CORE_WEB_PAGE_CACHE_H
#define RUNNEL_CORE_WEB_PAGE_CACHE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * page_cache.h -- pages that runs have fetched, under the URL that was asked for and under the one to which the last
 * redirect led.
 *
 * Models call several tools on one page. A page counts for its run alone (run_cache.h). Any thread.
 */

/* Bytes of one run, and of all; pages of all. */
#define PAGE_CACHE_RUN_BYTES ((size_t)16 << 20)
#define PAGE_CACHE_BYTES     ((size_t)128 << 20)
#define PAGE_CACHE_COUNT     ((size_t)1024)

struct page_cache;
struct run_cache_found;

struct page_cache *page_cache_new(void);
void page_cache_free(struct page_cache *cache); /* NULL is fine */

/* A page as it was fetched. */
struct cached_page {
    const char *
        url; /* of the page itself: the last redirect's. It and the next are borrowed from `held` */
    const char *type;
    const char *bytes;
    size_t length;
    const struct run_cache_found *held;
};

/* False: it is not known. A fragment of the URL does not count. */
bool page_cache_find(struct page_cache *cache, const char *run, const char *url,
                     struct cached_page *ret_page);
void cached_page_clear(struct cached_page *page);

/* Copies. */
void page_cache_put(struct page_cache *cache, const char *run, const char *asked,
                    const struct cached_page *page);

#endif
