#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/tool/override.h"
#include "tests/support/test.h"

static void expect_merged(const char *wide, const char *narrow, const char *both)
{
    json_auto_t *a = json_loads(wide, JSON_DECODE_ANY, NULL);
    json_auto_t *b = json_loads(narrow, JSON_DECODE_ANY, NULL);
    json_auto_t *wanted = json_loads(both, JSON_DECODE_ANY, NULL);
    json_auto_t *merged = overrides_merge(a, b);

    assert_true(json_equal(merged, wanted));
}

/* F13. */
TEST(the_most_specific_level_wins)
{
    expect_merged("{\"a\":true,\"b\":false}", "{\"b\":true,\"c\":false}",
                  "{\"a\":true,\"b\":{\"enabled\":true},\"c\":false}");
    expect_merged("{\"a\":{\"tools\":{\"x\":false,\"y\":false}}}",
                  "{\"a\":{\"tools\":{\"y\":true}}}",
                  "{\"a\":{\"tools\":{\"x\":false,\"y\":true}}}");
    expect_merged("{\"a\":false}", "{\"a\":{\"tools\":{\"x\":true}}}",
                  "{\"a\":{\"enabled\":false,\"tools\":{\"x\":true}}}");
    expect_merged("{\"a\":true}", "{\"a\":null}", "{\"a\":true}");
    expect_merged("{\"a\":true}", "{\"a\":{\"enabled\":null}}", "{\"a\":{\"enabled\":true}}");
}

TEST(no_overrides_change_nothing)
{
    json_auto_t *overrides = json_build("{s:b}", "a", 1);
    json_auto_t *same = overrides_merge(overrides, NULL);

    assert_null(overrides_merge(NULL, NULL));
    assert_true(json_equal(same, overrides));
}

TEST(an_override_is_on_off_or_missing)
{
    json_auto_t *overrides =
        json_loads("{\"on\":true,\"off\":{\"enabled\":false},\"none\":null,"
                   "\"some\":{\"tools\":{\"x\":false,\"y\":true}}}",
                   0, NULL);

    assert_true(overrides_enable(overrides, "on") && !overrides_disable(overrides, "on"));
    assert_true(!overrides_enable(overrides, "off") && overrides_disable(overrides, "off"));
    assert_true(!overrides_enable(overrides, "some") && !overrides_disable(overrides, "some"));
    assert_true(!overrides_enable(overrides, "gone") && !overrides_disable(overrides, "gone"));
    assert_true(!overrides_enable(NULL, "on") && !overrides_disable(NULL, "on"));
    assert_true(overrides_disable_tool(overrides, "some", "x"));
    assert_false(overrides_disable_tool(overrides, "some", "y"));
    assert_false(overrides_disable_tool(overrides, "on", "x"));
    assert_null(overrides_find(overrides, "none"));
    assert_non_null(overrides_find(overrides, "some"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_most_specific_level_wins),
        cmocka_unit_test(no_overrides_change_nothing),
        cmocka_unit_test(an_override_is_on_off_or_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
