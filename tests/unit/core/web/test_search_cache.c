#include "core/web/search_cache.h"

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

static void put(struct search_cache *cache, const char *run, const char *question,
                size_t length)
{
    AUTO_FREE char *text = mem_zeroed(length + 1, 1);
    json_auto_t *results = NULL;

    memset(text, 'x', length);
    results = json_build("[s]", text);
    search_cache_put(cache, run, question, results);
}

static bool has(struct search_cache *cache, const char *run, const char *question)
{
    json_auto_t *found = search_cache_find(cache, run, question);

    return found != NULL;
}

TEST(an_answer_counts_for_its_run_and_question)
{
    struct search_cache *cache = search_cache_new();

    put(cache, "run_1", "cats", 3);
    put(cache, "", "cats", 3);
    assert_true(has(cache, "run_1", "cats"));
    assert_false(has(cache, "run_1", "dogs"));
    assert_false(has(cache, "run_2", "cats"));
    assert_false(has(cache, "", "cats"));
    assert_false(has(cache, "run_1c", "ats"));
    search_cache_free(cache);
}

TEST(the_oldest_give_way)
{
    struct search_cache *cache = search_cache_new();
    char question[16];

    for (size_t i = 0; i <= SEARCH_CACHE_COUNT; i++) {
        (void)snprintf(question, sizeof(question), "%zu", i);
        put(cache, "run_1", question, 3);
    }
    assert_false(has(cache, "run_1", "0"));
    assert_true(has(cache, "run_1", "1"));
    put(cache, "run_1", "large", SEARCH_CACHE_BYTES / 2 + 1);
    assert_true(has(cache, "run_1", "512"));
    put(cache, "run_1", "large too", SEARCH_CACHE_BYTES / 2 + 1);
    assert_false(has(cache, "run_1", "large"));
    assert_true(has(cache, "run_1", "large too"));
    put(cache, "run_1", "too large", SEARCH_CACHE_BYTES);
    assert_false(has(cache, "run_1", "too large"));
    search_cache_free(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_counts_for_its_run_and_question),
        cmocka_unit_test(the_oldest_give_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
