#include "tests/unit/handlers/tool_run.h"

#include <stdio.h>
#include <time.h>

/* F50: the tools of the group `basic`, here and in the two files beside. The formats are the test's
 * own. */
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

/* The text that the tool should return for this second or one of the next. */
static bool is_now(const char *text, const char *format, int offset)
{
    time_t now = (time_t)(clock_wall_us() / US_PER_SECOND) + offset;

    for (time_t when = now - 5; when <= now; when++) {
        char expected[64];
        struct tm local;

        gmtime_r(&when, &local);
        strftime(expected, sizeof(expected), format, &local);
        if (strncmp(text, expected, strlen(expected)) == 0)
            return true;
    }
    return false;
}

TEST(datetime_without_arguments_is_iso_8601_in_utc)
{
    AUTO_OUTCOME outcome = tool_run(&datetime_handler, "{}");

    assert_int_equal(outcome.end.rc, ERR_OK);
    assert_true(is_now(outcome.text, "%Y-%m-%dT%H:%M:%S", 0));
    assert_int_equal(strlen(outcome.text), strlen("2026-11-21T22:40:00.123Z"));
    assert_int_equal(outcome.text[strlen(outcome.text) - 1], 'Z');
}

TEST(datetime_in_a_zone_names_the_zone)
{
    AUTO_OUTCOME outcome = tool_run(&datetime_handler, "{\"timezone\":\"Asia/Kolkata\"}");

    assert_true(is_now(outcome.text, "%Y-%m-%dT%H:%M:%S+05:30 (Asia/Kolkata)", 19800));
}

TEST(datetime_west_of_greenwich_has_a_minus)
{
    AUTO_OUTCOME outcome = tool_run(&datetime_handler, "{\"timezone\":\"America/St_Johns\"}");

    assert_non_null(strstr(outcome.text, ":30 (America/St_Johns)"));
    assert_int_equal(outcome.text[19], '-');
}

TEST(datetime_fills_in_a_format)
{
    AUTO_OUTCOME utc =
        tool_run(&datetime_handler, "{\"format\":\"DD.MM.YYYY HH:mm:ss (DD) ü\"}");
    AUTO_OUTCOME tokyo =
        tool_run(&datetime_handler, "{\"format\":\"YYYYMMDD HH\",\"timezone\":\"Asia/Tokyo\"}");
    AUTO_OUTCOME none = tool_run(&datetime_handler, "{\"format\":\"\"}");

    assert_true(is_now(utc.text, "%d.%m.%Y %H:%M:%S (DD) ü", 0));
    assert_true(is_now(tokyo.text, "%Y%m%d %H", 32400));
    assert_int_equal(strlen(tokyo.text), 11);
    assert_string_equal(none.text, "");
}

TEST(datetime_errors_name_what_is_wrong)
{
    json_auto_t *args = json_build("{}");
    AUTO_FREE char *format = mem_new_array(char, 2001);
    AUTO_FREE char *text = NULL;

    expect_tool_error(&datetime_handler, "{\"timezone\":\"Mars/Olympus\"}", ERR_INVALID,
                      "no such time zone: Mars/Olympus");
    memset(format, 'x', 2000);
    json_set_string(args, "format", format);
    text = json_text(args);
    expect_tool_error(&datetime_handler, text, ERR_TOO_LARGE, "1000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(datetime_without_arguments_is_iso_8601_in_utc),
        cmocka_unit_test(datetime_in_a_zone_names_the_zone),
        cmocka_unit_test(datetime_west_of_greenwich_has_a_minus),
        cmocka_unit_test(datetime_fills_in_a_format),
        cmocka_unit_test(datetime_errors_name_what_is_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
