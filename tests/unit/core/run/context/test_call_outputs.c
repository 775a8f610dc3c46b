#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/run/context/call_outputs.h"
#include "tests/support/test.h"

#define ITEMS_LIMIT 16

static struct item_row rows[ITEMS_LIMIT];
static const struct item_row *items[ITEMS_LIMIT];
static size_t count;

static void add(const char *type, const char *call_id)
{
    struct item_row *row = &rows[count];

    *row = (struct item_row){0};
    (void)snprintf(row->id, sizeof(row->id), "item_%zu", count);
    item_row_set_type(row, type);
    (void)snprintf(row->call_id, sizeof(row->call_id), "%s", call_id);
    items[count++] = row;
}

static int forget(void **state)
{
    (void)state;
    count = 0;
    return 0;
}

TEST(a_call_is_answered_by_the_next_output_with_its_id)
{
    AUTO_FREE size_t *found = NULL;

    add("function_call", "a");
    add("shell_call", "b");
    add("shell_call_output", "b");
    add("function_call_output", "a");
    add("function_call", "a"); /* again, in a later turn */
    add("function_call_output", "a");
    found = call_outputs_find(items, 0, count);
    assert_int_equal(found[0], 3);
    assert_int_equal(found[1], 2);
    assert_int_equal(found[4], 5);
}

TEST(a_call_without_a_later_output_has_none)
{
    AUTO_FREE size_t *found = NULL;

    add("function_call_output", "a");
    add("function_call", "a");
    add("mcp_call", "b");
    add("message", "");
    found = call_outputs_find(items, 0, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(found[i], count);
}

TEST(only_items_within_the_range_count)
{
    AUTO_FREE size_t *found = NULL;

    add("message", "");
    add("function_call", "a");
    add("function_call_output", "a");
    add("function_call", "b");
    add("function_call_output", "b");
    found = call_outputs_find(items, 1, 4);
    assert_int_equal(found[0], 2);
    assert_int_equal(found[2], 4);
}

TEST(a_call_without_a_call_id_is_matched_by_its_own_id)
{
    AUTO_FREE size_t *found = NULL;

    add("function_call", "");
    add("function_call_output", "item_0");
    assert_string_equal(call_output_id(items[0]), "item_0");
    found = call_outputs_find(items, 0, count);
    assert_int_equal(found[0], 1);
}

#define promise(function) cmocka_unit_test_teardown(function, forget)

int main(void)
{
    const struct CMUnitTest tests[] = {
        promise(a_call_is_answered_by_the_next_output_with_its_id),
        promise(a_call_without_a_later_output_has_none),
        promise(only_items_within_the_range_count),
        promise(a_call_without_a_call_id_is_matched_by_its_own_id),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
