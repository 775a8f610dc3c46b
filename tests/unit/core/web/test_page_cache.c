#include "core/web/page_cache.h"

#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/web/run_cache.h"
#include "tests/support/test.h"

static void put(struct page_cache *cache, const char *run, const char *asked, const char *url,
                const char *text)
{
    page_cache_put(
        cache, run, asked,
        &(struct cached_page){
            .url = url, .type = "text/plain", .bytes = text, .length = strlen(text)});
}

/* The URL and the text of the page that is known, "" if none is; the caller frees. */
static char *find(struct page_cache *cache, const char *run, const char *url)
{
    struct cached_page page;
    char *found;

    if (!page_cache_find(cache, run, url, &page))
        return mem_strdup("");
    assert_string_equal(page.type, "text/plain");
    assert_int_equal(page.length, strlen(page.bytes));
    found = mem_printf("%s %s", page.url, page.bytes);
    cached_page_clear(&page);
    return found;
}

static void expect(struct page_cache *cache, const char *run, const char *url,
                   const char *wanted)
{
    AUTO_FREE char *found = find(cache, run, url);

    assert_string_equal(found, wanted);
}

TEST(a_page_is_known_by_both_of_its_urls_to_its_run_alone)
{
    struct page_cache *cache = page_cache_new();

    put(cache, "run_1", "http://a.test/old#top", "http://a.test/new#part", "hello");
    put(cache, "", "http://a.test/old", "http://a.test/new", "hello");
    expect(cache, "run_1", "http://a.test/old", "http://a.test/new#part hello");
    expect(cache, "run_1", "http://a.test/new#other", "http://a.test/new#part hello");
    expect(cache, "run_1", "http://a.test/", "");
    expect(cache, "run_2", "http://a.test/old", "");
    expect(cache, "run_2", "http://a.test/new", "");
    expect(cache, "", "http://a.test/old", "");
    page_cache_free(cache);
}

TEST(a_page_that_leads_further_by_now_is_fetched_again)
{
    struct page_cache *cache = page_cache_new();

    put(cache, "run_1", "http://a.test/1", "http://a.test/2", "two");
    put(cache, "run_1", "http://a.test/2", "http://a.test/3", "three");
    expect(cache, "run_1", "http://a.test/1", "");
    expect(cache, "run_1", "http://a.test/2", "http://a.test/3 three");
    put(cache, "run_1", "http://a.test/empty", "http://a.test/empty", "");
    expect(cache, "run_1", "http://a.test/empty", "http://a.test/empty ");
    page_cache_free(cache);
}

static void put_long(struct page_cache *cache, const char *run, const char *url, size_t length)
{
    AUTO_FREE char *text = mem_zeroed(length + 1, 1);

    memset(text, 'x', length);
    put(cache, run, url, url, text);
}

static bool knows(struct page_cache *cache, const char *run, const char *url)
{
    AUTO_FREE char *found = find(cache, run, url);

    return *found;
}

TEST(a_run_has_room_for_so_much_and_takes_none_of_others)
{
    struct page_cache *cache = page_cache_new();

    put_long(cache, "run_2", "http://b.test/", 1000);
    for (int i = 0; i < 20; i++) {
        AUTO_FREE char *url = mem_printf("http://a.test/%d", i);

        put_long(cache, "run_1", url, PAGE_CACHE_RUN_BYTES / 4 - 100);
    }
    assert_false(knows(cache, "run_1", "http://a.test/15"));
    assert_true(knows(cache, "run_1", "http://a.test/16"));
    assert_true(knows(cache, "run_1", "http://a.test/19"));
    assert_true(knows(cache, "run_2", "http://b.test/"));
    put_long(cache, "run_1", "http://a.test/large", PAGE_CACHE_RUN_BYTES);
    assert_false(knows(cache, "run_1", "http://a.test/large"));
    assert_true(knows(cache, "run_1", "http://a.test/19"));
    page_cache_free(cache);
}

TEST(all_runs_together_have_room_for_so_much)
{
    struct page_cache *cache = page_cache_new();

    for (int i = 0; i < 20; i++) {
        AUTO_FREE char *run = mem_printf("run_%d", i);

        put_long(cache, run, "http://a.test/", PAGE_CACHE_BYTES / 8 - 100);
    }
    assert_false(knows(cache, "run_11", "http://a.test/"));
    assert_true(knows(cache, "run_12", "http://a.test/"));
    assert_true(knows(cache, "run_19", "http://a.test/"));
    page_cache_free(cache);
}

TEST(what_is_held_outlives_its_cache)
{
    struct run_cache *cache =
        run_cache_new(&(struct run_cache_limits){.count = 1, .bytes = 100, .run_bytes = 100});
    const struct run_cache_found *found;
    struct buf bytes = {0};

    buf_add_text(&bytes, "first");
    run_cache_put(cache, "run_1", "key", &bytes);
    found = run_cache_find(cache, "run_1", "key");
    buf_add_text(&bytes, "second");
    run_cache_put(cache, "run_1", "key", &bytes);
    run_cache_free(cache);
    assert_string_equal(found->bytes, "first");
    run_cache_release(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_is_known_by_both_of_its_urls_to_its_run_alone),
        cmocka_unit_test(a_page_that_leads_further_by_now_is_fetched_again),
        cmocka_unit_test(a_run_has_room_for_so_much_and_takes_none_of_others),
        cmocka_unit_test(all_runs_together_have_room_for_so_much),
        cmocka_unit_test(what_is_held_outlives_its_cache),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
