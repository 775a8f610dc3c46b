#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "server/api/responses/chain_cache.h"
#include "tests/support/test.h"

#define LIMIT ((size_t)16 << 10)

static const struct tenant here = {.project = "proj_here"};
static const struct tenant elsewhere = {.project = "proj_elsewhere"};
static struct chain_cache *cache;

static int set_up(void **state)
{
    (void)state;
    cache = chain_cache_new(LIMIT);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    chain_cache_free(cache);
    return 0;
}

/* A history of one item, whose body has `size` bytes. */
static void put(const char *response_id, size_t size)
{
    struct chain_history past = {.items = mem_new_array(struct item_row, 1), .count = 1};

    past.items[0] = (struct item_row){.body = mem_zeroed(size + 1, 1)};
    memset(past.items[0].body, 'x', size);
    chain_cache_put(cache, &here, response_id, &past);
    assert_null(past.items);
}

static bool take(const struct tenant *tenant, const char *response_id)
{
    struct chain_history past;

    if (!chain_cache_take(cache, tenant, response_id, &past))
        return false;
    assert_int_equal(past.count, 1);
    chain_history_clear(&past);
    return true;
}

TEST(a_history_belongs_to_one_taker)
{
    put("resp_1", 10);
    assert_true(take(&here, "resp_1"));
    assert_false(take(&here, "resp_1"));
}

TEST(another_project_has_none_of_it)
{
    put("resp_1", 10);
    assert_false(take(&elsewhere, "resp_1"));
    assert_true(take(&here, "resp_1"));
}

TEST(a_response_that_was_deleted_is_forgotten)
{
    put("resp_1", 10);
    put("resp_2", 10);
    chain_cache_drop(cache, &elsewhere, "resp_1");
    chain_cache_drop(cache, &here, "resp_1");
    assert_false(take(&here, "resp_1"));
    assert_true(take(&here, "resp_2"));
}

TEST(beyond_the_limit_the_oldest_go)
{
    put("resp_1", LIMIT / 3);
    put("resp_2", LIMIT / 3);
    put("resp_1", LIMIT / 3); /* used again: now resp_2 is the oldest */
    put("resp_3", LIMIT / 3);
    assert_false(take(&here, "resp_2"));
    assert_true(take(&here, "resp_1"));
    assert_true(take(&here, "resp_3"));
}

TEST(a_history_that_is_larger_than_the_limit_is_not_kept)
{
    put("resp_1", LIMIT);
    assert_false(take(&here, "resp_1"));
}

TEST(many_histories_are_told_apart)
{
    char id[ID_SIZE];

    chain_cache_free(cache);
    cache = chain_cache_new(LIMIT << 10);
    for (int i = 0; i < 3000; i++) {
        (void)snprintf(id, sizeof(id), "resp_%d", i);
        put(id, 1);
    }
    for (int i = 0; i < 3000; i++) {
        (void)snprintf(id, sizeof(id), "resp_%d", i);
        assert_true(take(&here, id));
    }
}

TEST(old_ones_go_without_a_new_one)
{
    uint64_t now = clock_mono_ns();

    put("resp_1", 1);
    put("resp_2", 1);
    chain_cache_evict(cache, now);
    assert_true(take(&here, "resp_1"));
    chain_cache_evict(cache, now + (CHAIN_CACHE_SECONDS + 60) * NS_PER_SECOND);
    assert_false(take(&here, "resp_2"));
}

TEST(an_item_without_a_body_is_kept)
{
    struct chain_history past = {.items = mem_new_array(struct item_row, 1), .count = 1};

    past.items[0] = (struct item_row){0};
    chain_cache_put(cache, &here, "resp_1", &past);
    assert_true(take(&here, "resp_1"));
}

TEST(without_a_limit_nothing_is_kept)
{
    chain_cache_free(cache);
    cache = chain_cache_new(0);
    put("resp_1", 1);
    assert_false(take(&here, "resp_1"));
}

#define promise(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        promise(a_history_belongs_to_one_taker),
        promise(old_ones_go_without_a_new_one),
        promise(an_item_without_a_body_is_kept),
        promise(another_project_has_none_of_it),
        promise(a_response_that_was_deleted_is_forgotten),
        promise(beyond_the_limit_the_oldest_go),
        promise(a_history_that_is_larger_than_the_limit_is_not_kept),
        promise(many_histories_are_told_apart),
        promise(without_a_limit_nothing_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
