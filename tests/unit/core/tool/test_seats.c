#include "core/tool/seats.h"

#include "core/base/mem.h"
#include "tests/support/test.h"

#define AT_ONCE 3

static struct seats seats;

static int reset(void **state)
{
    (void)state;
    seats = (struct seats){.asked = 0};
    return 0;
}

static void take(struct seat *seat, const char *container)
{
    assert_int_equal(seats_ask(&seats, seat, container, AT_ONCE), SEAT_TAKEN);
}

static void stand(struct seat *seat, const char *container)
{
    assert_int_equal(seats_ask(&seats, seat, container, AT_ONCE), SEAT_WAITS);
}

static void give(struct seat *seat, const struct seat *next)
{
    assert_ptr_equal(seats_give(&seats, seat), next);
    assert_null(seat->place);
    if (next)
        assert_true(next->has);
}

static void assert_nothing_is_left(void)
{
    for (size_t i = 0; i < SEATS_BUCKETS; i++)
        assert_null(seats.places[i]);
}

TEST(commands_of_a_container_are_side_by_side_up_to_their_number)
{
    struct seat calls[AT_ONCE + 2] = {{.use = SEAT_COMMAND}};

    for (size_t i = 0; i < AT_ONCE; i++)
        take(&calls[i], "a");
    stand(&calls[AT_ONCE], "a");
    stand(&calls[AT_ONCE + 1], "a");
    give(&calls[1], &calls[AT_ONCE]);
    give(&calls[0], &calls[AT_ONCE + 1]);
    for (size_t i = 2; i < COUNT_OF(calls); i++)
        give(&calls[i], NULL);
    assert_nothing_is_left();
}

TEST(one_call_has_the_python_and_commands_pass_those_that_wait)
{
    struct seat first = {.use = SEAT_PYTHON}, second = {.use = SEAT_PYTHON},
                third = {.use = SEAT_PYTHON}, command = {.use = SEAT_COMMAND};

    take(&first, "a");
    stand(&second, "a");
    stand(&third, "a");
    take(&command, "a");
    give(&command, NULL);
    give(&first, &second);
    give(&second, &third);
    give(&third, NULL);
    assert_nothing_is_left();
}

TEST(the_call_that_has_waited_longest_is_next)
{
    struct seat commands[AT_ONCE + 1] = {{.use = SEAT_COMMAND}};
    struct seat python = {.use = SEAT_PYTHON};

    for (size_t i = 0; i < AT_ONCE; i++)
        take(&commands[i], "a");
    stand(&python, "a");
    stand(&commands[AT_ONCE], "a");
    give(&commands[0], &python);
    give(&python, &commands[AT_ONCE]);
    for (size_t i = 1; i < COUNT_OF(commands); i++)
        give(&commands[i], NULL);
    assert_nothing_is_left();
}

TEST(containers_do_not_wait_for_each_other)
{
    struct seat a = {.use = SEAT_PYTHON}, b = {.use = SEAT_PYTHON};

    take(&a, "a");
    take(&b, "b");
    give(&a, NULL);
    give(&b, NULL);
    assert_nothing_is_left();
}

TEST(to_try_is_not_to_wait)
{
    struct seat has = {.use = SEAT_PYTHON}, tries = {.use = SEAT_PYTHON};

    take(&has, "a");
    assert_false(seats_try(&seats, &tries, "a", AT_ONCE));
    assert_null(tries.place);
    give(&has, NULL);
    assert_true(seats_try(&seats, &tries, "a", AT_ONCE));
    give(&tries, NULL);
    assert_nothing_is_left();
}

TEST(a_line_has_an_end_and_can_be_emptied)
{
    static struct seat waiting[SEATS_LINE_LIMIT + 1];
    struct seat has = {.use = SEAT_PYTHON};
    size_t count = 0;

    take(&has, "a");
    for (size_t i = 0; i < SEATS_LINE_LIMIT; i++) {
        waiting[i].use = SEAT_PYTHON;
        stand(&waiting[i], "a");
    }
    waiting[SEATS_LINE_LIMIT].use = SEAT_PYTHON;
    assert_int_equal(seats_ask(&seats, &waiting[SEATS_LINE_LIMIT], "a", AT_ONCE), SEAT_REFUSED);
    for (struct seat *seat = seats_take_waiting(&seats); seat; seat = seat->next) {
        assert_null(seat->place);
        count++;
    }
    assert_int_equal(count, SEATS_LINE_LIMIT);
    give(&has, NULL);
    give(&has, NULL); /* it has none any more */
    assert_nothing_is_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(commands_of_a_container_are_side_by_side_up_to_their_number,
                               reset),
        cmocka_unit_test_setup(one_call_has_the_python_and_commands_pass_those_that_wait,
                               reset),
        cmocka_unit_test_setup(the_call_that_has_waited_longest_is_next, reset),
        cmocka_unit_test_setup(containers_do_not_wait_for_each_other, reset),
        cmocka_unit_test_setup(to_try_is_not_to_wait, reset),
        cmocka_unit_test_setup(a_line_has_an_end_and_can_be_emptied, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
