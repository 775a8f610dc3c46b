#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/run/turn/unwritten.h"
#include "tests/support/test.h"

/* Few enough for a search, and so many that their places are noted. */
#define FEW  3
#define MANY 100

static void put_item(struct unwritten *unwritten, int number, const char *body)
{
    struct item_row row = {.body = mem_strdup(body)};

    (void)snprintf(row.id, sizeof(row.id), "msg_%d", number);
    unwritten_put_item(unwritten, &row);
    item_row_clear(&row);
}

static void put_items(struct unwritten *unwritten, int count, const char *body)
{
    for (int i = 0; i < count; i++)
        put_item(unwritten, i, body);
}

static void assert_items(const struct unwritten *unwritten, int count, int changed)
{
    char id[ID_SIZE];

    assert_int_equal(unwritten->item_count, count);
    for (int i = 0; i < count; i++) {
        (void)snprintf(id, sizeof(id), "msg_%d", i);
        assert_string_equal(unwritten->items[i].id, id);
        assert_string_equal(unwritten->items[i].body, i == changed ? "later" : "first");
    }
}

TEST(the_last_state_of_an_item_is_written_at_its_first_place)
{
    static const int counts[] = {FEW, MANY};

    for (size_t i = 0; i < 2; i++) {
        for (int changed = 0; changed < counts[i]; changed++) {
            struct unwritten unwritten = {0};

            put_items(&unwritten, counts[i], "first");
            put_item(&unwritten, changed, "later");
            assert_items(&unwritten, counts[i], changed);
            unwritten_clear(&unwritten);
        }
    }
}

TEST(the_last_state_of_a_step_is_written)
{
    struct unwritten unwritten = {0};
    struct step_row row = {.id = "step_1", .status = STEP_IN_PROGRESS};

    unwritten_put_step(&unwritten, &row);
    row.status = STEP_COMPLETED;
    unwritten_put_step(&unwritten, &row);
    (void)snprintf(row.id, sizeof(row.id), "step_2");
    unwritten_put_step(&unwritten, &row);
    assert_int_equal(unwritten.step_count, 2);
    assert_int_equal(unwritten.steps[0].status, STEP_COMPLETED);
    unwritten_clear(&unwritten);
}

/* A model may use the same id in two turns. */
TEST(a_call_is_identified_by_turn_and_id)
{
    struct unwritten unwritten = {0};
    struct call_row row = {.turn = 1, .call_id = "call_1"};

    unwritten_put_call(&unwritten, &row);
    row.output = mem_strdup("done");
    unwritten_put_call(&unwritten, &row);
    row.turn = 2;
    unwritten_put_call(&unwritten, &row);
    assert_int_equal(unwritten.call_count, 2);
    assert_string_equal(unwritten.calls[0].output, "done");
    assert_int_equal(unwritten.calls[1].turn, 2);
    call_row_clear(&row);
    unwritten_clear(&unwritten);
}

TEST(everything_that_is_put_is_unwritten)
{
    struct step_row step = {.id = "step_1"};
    struct call_row call = {.call_id = "call_1"};
    struct approval_row approval = {.id = "apr_1"};
    struct variable variable = {.value = mem_strdup("v")};
    struct unwritten unwritten = {0};

    assert_true(unwritten_is_empty(&unwritten));
    unwritten.row = true;
    assert_false(unwritten_is_empty(&unwritten));
    unwritten_clear(&unwritten);
    assert_true(unwritten_is_empty(&unwritten));

    put_item(&unwritten, 1, "first");
    assert_false(unwritten_is_empty(&unwritten));
    unwritten_clear(&unwritten);
    unwritten_put_step(&unwritten, &step);
    assert_false(unwritten_is_empty(&unwritten));
    unwritten_clear(&unwritten);
    unwritten_put_call(&unwritten, &call);
    assert_false(unwritten_is_empty(&unwritten));
    unwritten_clear(&unwritten);
    unwritten_put_approval(&unwritten, &approval);
    assert_false(unwritten_is_empty(&unwritten));
    unwritten_clear(&unwritten);
    unwritten_put_variable(&unwritten, &variable);
    assert_false(unwritten_is_empty(&unwritten));
    unwritten_clear(&unwritten);
    assert_true(unwritten_is_empty(&unwritten));
}

TEST(moving_gives_all_rows_to_the_write)
{
    struct unwritten unwritten = {0};
    struct run_write *write = run_write_new();

    put_items(&unwritten, MANY, "first");
    unwritten_move(&unwritten, write);
    assert_int_equal(write->item_count, MANY);
    assert_true(unwritten_is_empty(&unwritten));

    put_item(&unwritten, 1, "later");
    assert_int_equal(unwritten.item_count, 1);
    assert_string_equal(unwritten.items[0].body, "later");
    assert_string_equal(write->items[1].body, "first");
    unwritten_clear(&unwritten);
    run_write_free(write);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_state_of_an_item_is_written_at_its_first_place),
        cmocka_unit_test(the_last_state_of_a_step_is_written),
        cmocka_unit_test(a_call_is_identified_by_turn_and_id),
        cmocka_unit_test(everything_that_is_put_is_unwritten),
        cmocka_unit_test(moving_gives_all_rows_to_the_write),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
