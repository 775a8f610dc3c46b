#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/tool/cut.h"
#include "tests/support/test.h"

static struct cut_rule rule_of(const char *settings_text, const char *args_text,
                               size_t fallback)
{
    CLEANUP(run_settings_clear) struct run_settings settings = {0};
    AUTO_FREE char *request =
        mem_printf("{\"runnel\":%s}", settings_text ? settings_text : "null");
    json_auto_t *args = json_parse_own(args_text);

    run_settings_load(&settings, request);
    return cut_rule(&settings, args, fallback);
}

static void expect(const char *text, const struct cut_rule *rule, const char *wanted,
                   bool truncated)
{
    struct cut_shown shown;
    AUTO_FREE char *seen = cut_text(text, rule, &shown);

    assert_string_equal(seen, wanted);
    assert_int_equal(shown.truncated, truncated);
}

/* ---- F03, F06: the vectors of the design ---- */

static void run_vector(const json_t *vector)
{
    AUTO_FREE char *settings =
        mem_printf("{\"truncation\":{\"mode\":\"%s\"},\"rules\":{\"language\":\"zh\"}}",
                   json_get_string(vector, "mode", ""));
    AUTO_FREE char *args = mem_printf("{\"limit\":%lld}", json_get_int(vector, "limit", 0));
    struct cut_rule rule = rule_of(settings, args, CUT_DEFAULT_LIMIT);
    const char *text = json_get_string(vector, "text", NULL);
    const char *wanted = json_get_string(vector, "seed", NULL);

    if (text) {
        expect(text, &rule, wanted, strcmp(text, wanted) != 0);
    } else {
        size_t length = (size_t)json_get_int(vector, "text_length", 0);
        AUTO_FREE char *many = mem_new_array(char, length + 1);
        struct cut_shown shown;
        AUTO_FREE char *seen = NULL;

        memset(many, 'x', length);
        seen = cut_text(many, &rule, &shown);
        assert_int_equal(shown.truncated, json_get_bool(json_object_get(vector, "required"),
                                                        "is_truncated", false));
    }
}

TEST(test_the_vectors_of_the_design_hold)
{
    json_error_t error;
    json_auto_t *all = json_load_file(VECTORS "/toolsystem_vectors.json", 0, &error);
    json_t *truncate = json_object_get(all, "truncate"), *vector;
    size_t i;

    assert_non_null(truncate);
    assert_int_equal(json_get_int(truncate, "default_limit", 0), CUT_DEFAULT_LIMIT);
    assert_int_equal(json_array_size(json_object_get(truncate, "vectors")), 7);
    json_array_foreach (json_object_get(truncate, "vectors"), i, vector)
        run_vector(vector);
}

TEST(test_the_notice_in_english)
{
    struct cut_rule rule = {.limit = 5};

    expect("0123456789", &rule, "01\n\n... too long, characters left out here: 5 ...\n\n789",
           true);
    rule.head_only = true;
    expect("0123456789", &rule, "01234\n\n... too long, characters left out at the end: 5 ...",
           true);
    expect("01234", &rule, "01234", false);
    expect("", &rule, "", false);
}

TEST(test_characters_are_counted_and_stay_whole)
{
    struct cut_rule rule = {.limit = 3, .language = LANGUAGE_CHINESE};

    expect("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80", &rule,
           "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80", false);
    rule.limit = 2;
    expect("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80", &rule,
           "\xC3\xA4\n\n...\xE8\xBE\x93\xE5\x87\xBA\xE8\xBF\x87\xE9\x95\xBF\xEF\xBC\x8C"
           "\xE7\x9C\x81\xE7\x95\xA5\xE4\xB8\xAD\xE9\x97\xB4 1 \xE4\xB8\xAA\xE5\xAD\x97"
           "\xE7\xAC\xA6...\n\n\xF0\x9F\x98\x80",
           true);
}

static void expect_shown(const struct cut_rule *rule, const char *text, struct cut_shown wanted)
{
    struct cut_shown shown;
    AUTO_FREE char *seen = cut_text(text, rule, &shown);

    assert_int_equal(shown.truncated, wanted.truncated);
    assert_int_equal(shown.count, wanted.count);
    assert_int_equal(shown.next, wanted.next);
}

TEST(test_the_shown_lengths_do_not_count_the_notice)
{
    struct cut_rule rule = {.limit = 5};

    expect_shown(&rule, "0123456789", (struct cut_shown){true, 5, 2});
    expect_shown(&rule, "\xC3\xA4\xC3\xA4", (struct cut_shown){false, 2, 2});
    rule.head_only = true;
    expect_shown(&rule, "0123456789", (struct cut_shown){true, 5, 5});
}

/* F04: the model's limit comes first, then the tool's own, then the request's. */
TEST(test_the_limit_of_the_model_comes_before_request_and_tool)
{
    assert_int_equal(rule_of(NULL, NULL, CUT_DEFAULT_LIMIT).limit, 8000);
    assert_int_equal(rule_of(NULL, "{\"limit\":-1}", 10).limit, CUT_NO_LIMIT);
    assert_int_equal(rule_of(NULL, "{\"limit\":0}", 10).limit, CUT_NO_LIMIT);
    assert_int_equal(rule_of(NULL, "{\"limit\":1e300}", 10).limit, CUT_NO_LIMIT);
    assert_int_equal(rule_of(NULL, "{\"limit\":\"5\"}", 10).limit, 10);
    assert_int_equal(rule_of("{\"truncation\":{\"limit\":7}}", NULL, CUT_DEFAULT_LIMIT).limit,
                     7);
    assert_int_equal(rule_of("{\"truncation\":{\"limit\":7}}", NULL, 10).limit, 10);
    assert_int_equal(rule_of("{\"truncation\":{\"limit\":7}}", "{\"limit\":3}", 10).limit, 3);
    assert_int_equal(rule_of(NULL, "{\"begin\":4}", 10).begin, 4);
    assert_int_equal(rule_of(NULL, "{\"begin\":4.9}", 10).begin, 4);
    assert_int_equal(rule_of(NULL, "{\"begin\":1e300}", 10).begin, CUT_NO_LIMIT);
    assert_int_equal(rule_of(NULL, "{\"begin\":-4}", 10).begin, 0);
    assert_int_equal(rule_of(NULL, "{\"begin\":\"4\"}", 10).begin, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_vectors_of_the_design_hold),
        cmocka_unit_test(test_the_notice_in_english),
        cmocka_unit_test(test_the_shown_lengths_do_not_count_the_notice),
        cmocka_unit_test(test_characters_are_counted_and_stay_whole),
        cmocka_unit_test(test_the_limit_of_the_model_comes_before_request_and_tool),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
