#include <string.h>

#include "core/domain/item_type.h"
#include "core/domain/rows.h"
#include "tests/support/test.h"

TEST(every_type_is_found_by_its_name)
{
    for (enum item_type type = ITEM_MESSAGE; type < ITEM_TYPE_COUNT; type++) {
        assert_true(strlen(item_type_name(type)) > 0);
        assert_int_equal(item_type_parse(item_type_name(type)), type);
    }
}

TEST(ids_of_two_types_begin_differently)
{
    for (enum item_type a = ITEM_MESSAGE; a < ITEM_TYPE_COUNT; a++)
        for (enum item_type b = ITEM_MESSAGE; b < a; b++)
            assert_string_not_equal(item_type_prefix(a), item_type_prefix(b));
}

/* A call that a client executes is answered by one type of output, and only such calls are. */
TEST(calls_of_the_client_have_one_output)
{
    for (enum item_type call = ITEM_MESSAGE; call < ITEM_TYPE_COUNT; call++) {
        unsigned outputs = 0;

        for (enum item_type type = ITEM_MESSAGE; type < ITEM_TYPE_COUNT; type++)
            outputs += item_type_is_output(type) && item_type_answers(type) == call;
        assert_int_equal(outputs, item_type_is_client_call(call) ? 1 : 0);
    }
}

TEST(names_say_what_is_a_call)
{
    for (enum item_type type = ITEM_MESSAGE; type < ITEM_TYPE_COUNT; type++) {
        const char *name = item_type_name(type);
        bool ends = strlen(name) > 5 && strcmp(name + strlen(name) - 5, "_call") == 0;

        assert_int_equal(item_type_is_call(type), ends || item_type_makes_calls(type));
    }
}

TEST(an_unknown_type_is_classified_by_the_end_of_its_name)
{
    assert_int_equal(item_type_parse("weather_call"), ITEM_OTHER_CALL);
    assert_int_equal(item_type_parse("weather_call_output"), ITEM_OTHER_OUTPUT);
    assert_int_equal(item_type_parse("weather"), ITEM_OTHER);
    assert_int_equal(item_type_parse("_call"), ITEM_OTHER);
    assert_int_equal(item_type_parse(""), ITEM_OTHER);
    assert_true(item_type_is_call(ITEM_OTHER_CALL));
    assert_int_equal(item_type_kind(ITEM_OTHER_CALL), ITEM_KIND_HOSTED_CALL);
    assert_true(item_type_is_output(ITEM_OTHER_OUTPUT));
}

TEST(a_row_keeps_the_name_of_an_unknown_type)
{
    struct item_row row = {.id = "x"};

    item_row_set_type(&row, "weather_call");
    assert_int_equal(row.type, ITEM_OTHER_CALL);
    assert_string_equal(item_row_type_name(&row), "weather_call");
    item_row_set_type(&row, "shell_call");
    assert_int_equal(row.type, ITEM_SHELL_CALL);
    assert_string_equal(item_row_type_name(&row), "shell_call");
    assert_string_equal(row.other_type, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_found_by_its_name),
        cmocka_unit_test(ids_of_two_types_begin_differently),
        cmocka_unit_test(calls_of_the_client_have_one_output),
        cmocka_unit_test(names_say_what_is_a_call),
        cmocka_unit_test(an_unknown_type_is_classified_by_the_end_of_its_name),
        cmocka_unit_test(a_row_keeps_the_name_of_an_unknown_type),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
