#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "server/api/responses/socket/memory.h"
#include "tests/support/test.h"

static struct ws_budget budget;
static struct ws_memory *memory;

static int set_up(void **state)
{
    (void)state;
    budget = (struct ws_budget){.limit = 1 << 20};
    memory = ws_memory_new(&budget);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ws_memory_free(memory, NULL, NULL);
    assert_int_equal(atomic_load(&budget.used), 0);
    return 0;
}

/* A response of one item, whose body has `size` bytes. That of "rule" is a rule. */
static struct ws_response *keep(const char *run_id, struct past *parent, size_t size)
{
    struct item_row row = {.body = mem_zeroed(size + 1, 1)};
    const struct item_row *items[] = {&row};
    struct ws_response *response;

    memset(row.body, 'x', size);
    if (strcmp(run_id, "rule") == 0)
        memcpy(row.role, "developer", sizeof("developer"));
    memcpy(row.run_id, run_id, strlen(run_id) + 1);
    memcpy(row.id, run_id, strlen(run_id) + 1);
    response = ws_memory_keep(memory, run_id, parent, items, 1);
    free(row.body);
    return response;
}

static void assert_items(const struct past *past, size_t limit, const char *ids)
{
    size_t count = 0;
    bool cut;
    struct item_row *rows = past_items(past, limit, &count, &cut);
    AUTO_BUF seen = {0};

    for (size_t i = 0; i < count; i++)
        buf_addf(&seen, "%s ", rows[i].id);
    assert_string_equal(seen.data, ids);
    item_rows_free(rows, count);
}

TEST(a_chain_beyond_the_limit_is_called_cut)
{
    struct ws_response *a = keep("rule", NULL, 1), *b = keep("b", a->past, 1);
    size_t count;
    bool cut;

    (void)keep("c", b->past, 1);
    assert_items(ws_memory_find(memory, "c")->past, 1, "rule c ");
    item_rows_free(past_items(b->past, 2, &count, &cut), 2);
    assert_false(cut);
    item_rows_free(past_items(b->past, 1, &count, &cut), 2);
    assert_true(cut);
}

TEST(a_chain_is_read_from_its_beginning)
{
    struct ws_response *a = keep("a", NULL, 1), *b = keep("b", a->past, 1);

    (void)keep("c", b->past, 1);
    assert_items(ws_memory_find(memory, "c")->past, 10, "a b c ");
    assert_items(ws_memory_find(memory, "c")->past, 2, "b c ");
    assert_items(ws_memory_find(memory, "b")->past, 10, "a b ");
    assert_null(ws_memory_find(memory, "d"));
}

TEST(a_response_that_others_continue_is_kept)
{
    struct ws_response *a = keep("a", NULL, 1), *b = keep("b", a->past, 1);

    ws_memory_forget(memory, a);
    assert_null(ws_memory_find(memory, "a"));
    assert_items(b->past, 10, "a b ");
}

TEST(the_least_recently_used_chain_is_forgotten)
{
    budget.limit = 10000;
    (void)keep("a", NULL, 3000);
    (void)keep("b", NULL, 3000);
    assert_non_null(ws_memory_find(memory, "a"));
    (void)keep("c", NULL, 3000);
    assert_non_null(ws_memory_find(memory, "a"));
    assert_null(ws_memory_find(memory, "b"));
}

TEST(a_response_without_room_is_known_but_not_kept)
{
    budget.limit = 100;
    assert_null(keep("a", NULL, 3000)->past);
    assert_non_null(ws_memory_find(memory, "a"));
}

TEST(a_waiting_response_is_not_forgotten)
{
    struct ws_response *a = keep("a", NULL, 3000);

    a->waiting = &budget;
    budget.limit = 5000;
    assert_null(keep("b", NULL, 3000)->past);
    assert_non_null(ws_memory_find(memory, "a"));
    a->waiting = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_chain_beyond_the_limit_is_called_cut, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_chain_is_read_from_its_beginning, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_response_that_others_continue_is_kept, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_least_recently_used_chain_is_forgotten, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_response_without_room_is_known_but_not_kept, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_waiting_response_is_not_forgotten, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
