/*
 * page_cache.c -- a page as the bytes of a run_cache: its URL, its type, and itself, each but the last with a NUL.
 *
 * The URL that was asked for leads to the page by an entry that has the other URL alone. So the bytes are kept once.
 */

#include "core/web/page_cache.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/web/run_cache.h"

struct page_cache {
    struct run_cache *found;
};

struct page_cache *page_cache_new(void)
{
    struct page_cache *cache = mem_new(struct page_cache);

    cache->found = run_cache_new(&(struct run_cache_limits){.count = PAGE_CACHE_COUNT,
                                                            .bytes = PAGE_CACHE_BYTES,
                                                            .run_bytes = PAGE_CACHE_RUN_BYTES});
    return cache;
}

void page_cache_free(struct page_cache *cache)
{
    if (!cache)
        return;
    run_cache_free(cache->found);
    free(cache);
}

/* Without its fragment, which no server sees. The caller frees. */
static char *key_of(const char *url)
{
    return mem_strndup(url, strcspn(url, "#"));
}

static bool is_alias(const struct run_cache_found *found)
{
    return strlen(found->bytes) == found->length;
}

static struct cached_page page_of(const struct run_cache_found *found)
{
    struct cached_page page = {.url = found->bytes, .held = found};

    page.type = page.url + strlen(page.url) + 1;
    page.bytes = page.type + strlen(page.type) + 1;
    page.length = found->length - (size_t)(page.bytes - found->bytes);
    return page;
}

bool page_cache_find(struct page_cache *cache, const char *run, const char *url,
                     struct cached_page *ret_page)
{
    AUTO_FREE char *key = key_of(url);
    const struct run_cache_found *found = run_cache_find(cache->found, run, key);

    if (found && is_alias(found)) {
        const struct run_cache_found *alias = found;

        found = run_cache_find(cache->found, run, alias->bytes);
        run_cache_release(alias);
    }
    if (!found || is_alias(found)) { /* the page has given way, or leads further by now */
        run_cache_release(found);
        return false;
    }
    *ret_page = page_of(found);
    return true;
}

void cached_page_clear(struct cached_page *page)
{
    run_cache_release(page->held);
    *page = (struct cached_page){0};
}

void page_cache_put(struct page_cache *cache, const char *run, const char *asked,
                    const struct cached_page *page)
{
    AUTO_FREE char *from = key_of(asked);
    AUTO_FREE char *to = key_of(page->url);
    struct buf bytes = {0};

    buf_add(&bytes, page->url, strlen(page->url) + 1);
    buf_add(&bytes, page->type, strlen(page->type) + 1);
    buf_add(&bytes, page->bytes, page->length);
    run_cache_put(cache->found, run, to, &bytes);
    if (strcmp(from, to) == 0)
        return;
    buf_add_text(&bytes, to);
    run_cache_put(cache->found, run, from, &bytes);
}
