#include "server/http/deadlines.h"
#include "tests/support/test.h"

static struct deadlines make(void)
{
    return (struct deadlines){
        .patience_ns = {[DEADLINE_IDLE] = 70, [DEADLINE_HEADER] = 10, [DEADLINE_BODY] = 50}};
}

TEST(nothing_is_due_without_deadlines)
{
    struct deadlines deadlines = make();
    enum deadline_kind kind;

    assert_true(deadlines_next(&deadlines) == UINT64_MAX);
    assert_null(deadlines_take_over(&deadlines, UINT64_MAX, &kind));
}

TEST(each_kind_has_its_own_time)
{
    struct deadlines deadlines = make();
    enum deadline_kind kind;
    struct deadline idle, header, body;

    deadline_init(&idle);
    deadline_init(&header);
    deadline_init(&body);
    deadlines_set(&deadlines, &idle, DEADLINE_IDLE, 1000);
    deadlines_set(&deadlines, &body, DEADLINE_BODY, 1000);
    deadlines_set(&deadlines, &header, DEADLINE_HEADER, 1000);
    assert_int_equal(deadlines_next(&deadlines), 1010);
    assert_null(deadlines_take_over(&deadlines, 1009, &kind));
    assert_ptr_equal(deadlines_take_over(&deadlines, 1010, &kind), &header);
    assert_int_equal(deadlines_next(&deadlines), 1050);
    assert_ptr_equal(deadlines_take_over(&deadlines, 1060, &kind), &body);
    assert_int_equal(kind, DEADLINE_BODY);
    assert_ptr_equal(deadlines_take_over(&deadlines, 1070, &kind), &idle);
    assert_int_equal(kind, DEADLINE_IDLE);
    assert_null(deadlines_take_over(&deadlines, 2000, &kind));
}

TEST(setting_a_deadline_again_moves_it_to_the_end)
{
    struct deadlines deadlines = make();
    enum deadline_kind kind;
    struct deadline first, second;

    deadline_init(&first);
    deadline_init(&second);
    deadlines_set(&deadlines, &first, DEADLINE_HEADER, 0);
    deadlines_set(&deadlines, &second, DEADLINE_HEADER, 1);
    deadlines_set(&deadlines, &first, DEADLINE_HEADER, 5);
    assert_ptr_equal(deadlines_take_over(&deadlines, 14, &kind), &second);
    assert_null(deadlines_take_over(&deadlines, 14, &kind));
    assert_ptr_equal(deadlines_take_over(&deadlines, 15, &kind), &first);
}

TEST(a_removed_deadline_never_expires)
{
    struct deadlines deadlines = make();
    enum deadline_kind kind;
    struct deadline list[3];

    for (int i = 0; i < 3; i++) {
        deadline_init(&list[i]);
        deadlines_set(&deadlines, &list[i], DEADLINE_BODY, 0);
    }
    deadlines_set(&deadlines, &list[1], DEADLINE_NONE, 0);
    deadlines_set(&deadlines, &list[1], DEADLINE_NONE, 0); /* twice is fine */
    assert_ptr_equal(deadlines_take_over(&deadlines, 50, &kind), &list[0]);
    assert_ptr_equal(deadlines_take_over(&deadlines, 50, &kind), &list[2]);
    assert_null(deadlines_take_over(&deadlines, 50, &kind));
    assert_int_equal(list[2].kind, DEADLINE_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_due_without_deadlines),
        cmocka_unit_test(each_kind_has_its_own_time),
        cmocka_unit_test(setting_a_deadline_again_moves_it_to_the_end),
        cmocka_unit_test(a_removed_deadline_never_expires),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
