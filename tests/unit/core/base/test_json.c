#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/base/json/json_number.h"
#include "core/base/json/json_read.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

static enum err_code parse(const char *text, json_t **ret_value, struct err *err)
{
    return json_parse(text, strlen(text), ret_value, err);
}

static void repeat(struct buf *buf, const char *text, size_t count)
{
    while (count--)
        buf_add_text(buf, text);
}

TEST(values_of_every_kind_survive_text_and_back)
{
    static const char text[] =
        "{\"z\":[1,-2.5,true,null],\"a\":{\"b\":\"\xC3\xA4\\n\"},\"n\":0.7}";
    json_auto_t *value = NULL;

    assert_int_equal(parse(text, &value, NULL), ERR_OK);
    AUTO_FREE char *again = json_text(value);
    assert_string_equal(again, text);
}

TEST(a_value_need_not_be_an_object)
{
    json_auto_t *value = NULL;

    assert_int_equal(parse(" \"text\" ", &value, NULL), ERR_OK);
    assert_string_equal(json_string_value(value), "text");
}

TEST(the_last_of_two_equal_keys_wins)
{
    json_auto_t *value = NULL;

    assert_int_equal(parse("{\"a\":1,\"a\":2}", &value, NULL), ERR_OK);
    assert_int_equal(json_get_int(value, "a", 0), 2);
}

TEST(a_strict_reader_refuses_duplicate_keys)
{
    static const char twice[] = "{\"a\":{\"b\":1,\"b\":1}}";
    static const char once[] = "{\"a\":{\"b\":1},\"b\":1}";
    json_t *value = NULL;

    assert_int_equal(json_parse_strict(twice, strlen(twice), &value, NULL), ERR_INVALID);
    assert_null(value);
    assert_int_equal(json_parse_strict(once, strlen(once), &value, NULL), ERR_OK);
    json_decref(value);
}

TEST(a_nul_is_refused_everywhere)
{
    static const char *const texts[][2] = {
        {"[\"a\\u0000b\"]", ": a string may not hold \\u0000"},
        {"{\"\\u0000\":1}", ": a key may not hold \\u0000"},
    };

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        json_t *untouched = NULL;
        struct err err;

        assert_int_equal(parse(texts[i][0], &untouched, &err), ERR_INVALID);
        assert_non_null(strstr(err.text, texts[i][1]));
        assert_null(untouched);
    }
}

TEST(a_failure_names_the_place_and_leaves_the_result_unchanged)
{
    static const char *const broken[] = {
        "",       "{",           "[1,]",      "{\"a\" 1}",      "nul",         "{} {}",
        "\"\n\"", "\"\\u0000\"", "\"\xFF\"",  "\"\xC0\x80\"",   "\"\\ud800\"", "[\x01]",
        "'a'",    "[1 2]",       "{1:2}",     "\xEF\xBB\xBF{}", "[[]",         "]",
        "\"open", "\"open\\",    "[\"\\x\"]",
    };

    for (size_t i = 0; i < COUNT_OF(broken); i++) {
        json_t *untouched = NULL;
        struct err err;

        assert_int_equal(parse(broken[i], &untouched, &err), ERR_INVALID);
        assert_null(untouched);
        assert_non_null(strstr(err.text, "line "));
        assert_null(strpbrk(err.text, "\r\n\t\x01"));
        assert_true(json_valid_utf8(err.text, strlen(err.text)));
    }
}

TEST(a_nul_in_the_middle_does_not_end_the_text)
{
    json_t *value = NULL;

    assert_int_equal(json_parse("{}\0{}", 5, &value, NULL), ERR_INVALID);
    assert_null(value);
}

TEST(nesting_is_allowed_up_to_the_limit)
{
    AUTO_BUF deep = {0};
    json_auto_t *value = NULL;
    json_t *refused = NULL;
    struct err err;

    repeat(&deep, "[", JSON_DEPTH_LIMIT);
    repeat(&deep, "]", JSON_DEPTH_LIMIT);
    assert_int_equal(parse(deep.data, &value, NULL), ERR_OK);

    buf_reset(&deep);
    repeat(&deep, "[", JSON_DEPTH_LIMIT + 1);
    repeat(&deep, "]", JSON_DEPTH_LIMIT + 1);
    assert_int_equal(parse(deep.data, &refused, &err), ERR_TOO_LARGE);
    assert_non_null(strstr(err.text, "64"));
}

TEST(brackets_in_strings_are_not_nesting)
{
    AUTO_BUF text = {0};
    json_auto_t *value = NULL;

    buf_add_text(&text, "[\"\\\"");
    repeat(&text, "[{", 1000);
    buf_add_text(&text, "\\\\\", 1]");
    assert_int_equal(parse(text.data, &value, NULL), ERR_OK);
    assert_int_equal(json_array_size(value), 2);
}

/* `item` repeated with commas in one array, `tokens` tokens each. */
static enum err_code parse_array_of(const char *item, size_t count)
{
    AUTO_BUF text = {0};
    json_t *value = NULL;
    enum err_code rc;

    buf_add_text(&text, "[");
    for (size_t i = 0; i < count; i++)
        buf_addf(&text, i ? ",%s" : "%s", item);
    buf_add_text(&text, "]");
    rc = parse(text.data, &value, NULL);
    json_decref(value);
    return rc;
}

TEST(values_and_keys_are_counted_up_to_the_limit)
{
    static const struct {
        const char *item;
        size_t tokens;
    } items[] = {{"{}", 1}, {"0", 1}, {"\"a,b\"", 1}, {"null", 1}, {"{\"k\":-1.5e3}", 3}};

    for (size_t i = 0; i < COUNT_OF(items); i++) {
        size_t most = (JSON_TOKEN_LIMIT - 1) / items[i].tokens;

        assert_int_equal(parse_array_of(items[i].item, most), ERR_OK);
        assert_int_equal(parse_array_of(items[i].item, most + 1), ERR_TOO_LARGE);
    }
}

TEST(a_list_has_its_texts_and_nothing_else)
{
    json_auto_t *list = json_build("[s,i,n,s]", "a", 7, "b");
    json_auto_t *object = json_build("{s:s}", "a", "a");

    assert_true(json_list_has(list, "a"));
    assert_true(json_list_has(list, "b"));
    assert_false(json_list_has(list, "ab"));
    assert_false(json_list_has(list, "7"));
    assert_false(json_list_has(list, ""));
    assert_false(json_list_has(object, "a"));
    assert_false(json_list_has(NULL, "a"));
}

TEST(getters_fall_back_on_absence_null_and_other_types)
{
    json_auto_t *object = json_build("{s:s,s:i,s:b,s:n}", "s", "text", "i", 7, "b", 1, "n");

    assert_string_equal(json_get_string(object, "s", "-"), "text");
    assert_string_equal(json_get_string(object, "i", "-"), "-");
    assert_string_equal(json_get_string(object, "n", "-"), "-");
    assert_string_equal(json_get_string(object, "?", "-"), "-");
    assert_null(json_get_string(NULL, "s", NULL));
    assert_int_equal(json_get_int(object, "i", -1), 7);
    assert_int_equal(json_get_int(object, "s", -1), -1);
    assert_true(json_get_bool(object, "b", false));
    assert_true(json_get_bool(object, "n", true));
    assert_false(json_get_bool(object, "i", false));
    assert_true(json_absent(NULL));
    assert_true(json_absent(json_object_get(object, "n")));
    assert_false(json_absent(json_object_get(object, "s")));
}

TEST(setters_set_values)
{
    json_auto_t *object = json_object();

    json_set(object, "v", json_array());
    json_set_string(object, "s", "a");
    json_set_string(object, "s0", NULL);
    json_set_string(object, "bad", "a\xFFz");
    json_set_int(object, "i", -5);
    json_set_bool(object, "b", true);
    json_set_own(object, "o", "{\"x\":1}");
    json_set_own(object, "o0", NULL);
    AUTO_FREE char *text = json_text(object);
    assert_string_equal(text,
                        "{\"v\":[],\"s\":\"a\",\"s0\":null,\"bad\":\"a\xEF\xBF\xBDz\",\"i\":-5,"
                        "\"b\":true,\"o\":{\"x\":1},\"o0\":null}");
}

TEST(no_value_is_null_as_text)
{
    AUTO_BUF buf = {0};
    json_auto_t *string = json_string("s");

    AUTO_FREE char *text = json_text(NULL);
    assert_string_equal(text, "null");
    json_add_text(&buf, NULL);
    json_add_text(&buf, string);
    assert_string_equal(buf.data, "null\"s\"");
    assert_null(json_parse_own(NULL));
}

static int signal_of_child(void (*doing)(void))
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        (void)!freopen("/dev/null", "w", stderr);
        doing();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void build_wrongly(void)
{
    json_decref(json_build("{s:s}", "key", "\xFF"));
}

static void parse_own_wrongly(void)
{
    json_decref(json_parse_own("{"));
}

TEST(mistakes_of_the_program_end_the_process)
{
    assert_int_equal(signal_of_child(build_wrongly), SIGABRT);
    assert_int_equal(signal_of_child(parse_own_wrongly), SIGABRT);
}

/* clang-format off */
static const struct {
    const char *dirty;
    const char *clean;
} utf8[] = {
    {"plain",                     "plain"},
    {"",                          ""},
    {"\xC3\xA4",                  "\xC3\xA4"},
    {"\xE2\x82\xAC\xF4\x8F\xBF\xBF", "\xE2\x82\xAC\xF4\x8F\xBF\xBF"},
    {"\xED\x9F\xBF\xEE\x80\x80",  "\xED\x9F\xBF\xEE\x80\x80"},
    {"a\xFFz",                    "a\xEF\xBF\xBDz"},
    {"\x80",                      "\xEF\xBF\xBD"},
    {"\xC0\x80",                  "\xEF\xBF\xBD\xEF\xBF\xBD"},         /* overlong NUL */
    {"\xC1\xBF",                  "\xEF\xBF\xBD\xEF\xBF\xBD"},
    {"\xE0\x9F\xBF",              "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
    {"\xED\xA0\x80",              "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"}, /* surrogate */
    {"\xF4\x90\x80\x80",          "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
    {"\xF5",                      "\xEF\xBF\xBD"},
    {"\xE2\x82",                  "\xEF\xBF\xBD"},                     /* cut: one for all of it */
    {"\xE2\x82""a",               "\xEF\xBF\xBD""a"},
    {"\xF0\x9F\x98\xC3\xA4",      "\xEF\xBF\xBD\xC3\xA4"},
};
/* clang-format on */

TEST(cleaning_keeps_what_is_valid_and_replaces_the_rest)
{
    for (size_t i = 0; i < COUNT_OF(utf8); i++) {
        size_t length = strlen(utf8[i].dirty);
        AUTO_FREE char *clean = json_clean_utf8(utf8[i].dirty, length);

        assert_string_equal(clean, utf8[i].clean);
        assert_int_equal(json_valid_utf8(utf8[i].dirty, length),
                         strcmp(utf8[i].dirty, utf8[i].clean) == 0);
    }
}

TEST(a_nul_is_not_valid_text)
{
    AUTO_FREE char *clean = json_clean_utf8("a\0b", 3);

    assert_false(json_valid_utf8("a\0b", 3));
    assert_string_equal(clean, "a\xEF\xBF\xBD"
                               "b");
}

/* Compares with jansson: it accepts four bytes exactly when they are called valid here. */
TEST(utf8_is_valid_exactly_when_jansson_accepts_it)
{
    static const unsigned char edges[] = {0x01, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF,
                                          0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED,
                                          0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF};
    size_t count = COUNT_OF(edges);

    for (size_t i = 0; i < count * count * count * count; i++) {
        const char text[] = {(char)edges[i % count], (char)edges[i / count % count],
                             (char)edges[i / count / count % count],
                             (char)edges[i / count / count / count]};
        json_t *string = json_stringn(text, sizeof(text));

        assert_int_equal(json_valid_utf8(text, sizeof(text)), string != NULL);
        json_decref(string);
    }
}

/* Rounded to 15 digits it would be larger than the largest number. */
TEST(the_largest_number_can_be_read_back)
{
    static const char *const numbers[] = {"1.7976931348623157e308", "[-1.7976931348623157e308]",
                                          "{\"maximum\": 1.7976931348623157e308}"};

    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        json_auto_t *value = NULL;
        json_auto_t *again = NULL;
        AUTO_FREE char *text = NULL;

        assert_int_equal(parse(numbers[i], &value, NULL), ERR_OK);
        text = json_text(value);
        again = json_parse_own(text);
        assert_true(json_equal(value, again));
    }
}

/* ---- The fast twins of jansson ---- */

static const char *const texts[] = {
    "{}",
    "[]",
    "null",
    "true",
    "false",
    "\"\"",
    "0",
    "-1",
    "123456789012345678",
    "1.5",
    "-0.25",
    "0.7",
    "[1,2.5,\"a\",null,true,false,{\"b\":[]}]",
    " { \"a\" :\t[ 1 ,\n2 ] , \"b\": \"c\" }\r\n",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
    "{\"a\\nb\":\"\xc3\xa9 \xf0\x9f\x98\x80\"}",
    "{\"a\":1,\"b\":2,\"a\":3}",
    "{\"a key that is longer than sixty-four bytes, which is as long as keys usually are\":1}",
};

TEST(texts_are_read_as_jansson_reads_them)
{
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        json_auto_t *fast = json_read(texts[i], strlen(texts[i]), 0);
        json_auto_t *slow = json_loads(texts[i], JSON_DECODE_ANY, NULL);

        assert_non_null(fast);
        assert_true(json_equal(fast, slow));
    }
}

TEST(what_is_rare_or_wrong_is_left_to_jansson)
{
    static const char *const others[] = {
        "",
        " ",
        "{",
        "[1",
        "[1,]",
        "{\"a\"}",
        "{\"a\":}",
        "{,}",
        "\"a",
        "\"\\u0041\"",
        "\"\\x\"",
        "\"\x01\"",
        "\"\xff\"",
        "\"\xed\xa0\x80\"",
        "01",
        "-",
        "-0",
        "1.",
        ".5",
        "1e5",
        "1.50",
        "0.00001",
        "1234567890123456789",
        "tru",
        "nul",
        "1 2",
        "[1}",
        "nan",
    };

    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_null(json_read(others[i], strlen(others[i]), 0));
    assert_null(json_read("{\"a\":1,\"a\":2}", 13, JSON_REJECT_DUPLICATES));
}

TEST(deep_nesting_is_left_to_jansson)
{
    char deep[2 * 65 + 1];

    memset(deep, '[', 65);
    memset(deep + 65, ']', 65);
    assert_null(json_read(deep, 130, 0));
    json_decref(json_read(deep + 1, 128, 0));
}

TEST(values_are_written_as_jansson_writes_them)
{
    json_auto_t *value =
        json_pack("[s, I, I, f, f, b, n, {s:[], s:{}}]", "\x01\x1f\"\\/\b\f\n\r\t\x7f\xc3\xa9",
                  (json_int_t)INT64_MIN, (json_int_t)INT64_MAX, 0.1, 1e300, 1, "a\"", "b");
    AUTO_FREE char *slow = json_dumps(value, JSON_TEXT_FLAGS);
    AUTO_FREE char *fast = json_text(value);

    assert_string_equal(fast, slow);
}

/* Eight bytes are looked at at once, and long texts in blocks. */
TEST(escapes_are_found_wherever_they_are)
{
    static const char rare[] = {'"', '\\', '\n', 1, 31, '\x7f'};
    char text[600];

    for (size_t i = 0; i < sizeof(text) - 1; i++) {
        json_t *value;
        AUTO_FREE char *slow = NULL;
        AUTO_FREE char *fast = NULL;

        memset(text, i % 2 ? ' ' : '~', sizeof(text));
        text[i] = rare[i % sizeof(rare)];
        value = json_stringn(text + i / 2, sizeof(text) - i / 2 - i % 9);
        slow = json_dumps(value, JSON_TEXT_FLAGS);
        fast = json_text(value);
        assert_string_equal(fast, slow);
        json_decref(value);
    }
}

static void assert_spliced(const char *object, const struct json_splice *splice,
                           const char *expected)
{
    json_auto_t *value = json_loads(object, 0, NULL);
    CLEANUP(buf_clear) struct buf text = {0};

    json_add_spliced(&text, value, splice);
    assert_string_equal(text.data, expected);
}

TEST(elements_that_are_text_stand_where_they_belong)
{
    struct json_splice splice = {.key = "list", .text = "8,9", .length = 3};

    assert_spliced("{\"a\\\"b\":1,\"list\":[1,2],\"c\":[]}", &splice,
                   "{\"a\\\"b\":1,\"list\":[8,9,1,2],\"c\":[]}");
    assert_spliced("{\"list\":[]}", &splice, "{\"list\":[8,9]}");
    splice.at = 1;
    assert_spliced("{\"list\":[1,2]}", &splice, "{\"list\":[1,8,9,2]}");
    assert_spliced("{\"list\":[1]}", &splice, "{\"list\":[1,8,9]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_every_kind_survive_text_and_back),
        cmocka_unit_test(a_value_need_not_be_an_object),
        cmocka_unit_test(the_last_of_two_equal_keys_wins),
        cmocka_unit_test(a_strict_reader_refuses_duplicate_keys),
        cmocka_unit_test(a_nul_is_refused_everywhere),
        cmocka_unit_test(a_failure_names_the_place_and_leaves_the_result_unchanged),
        cmocka_unit_test(a_nul_in_the_middle_does_not_end_the_text),
        cmocka_unit_test(nesting_is_allowed_up_to_the_limit),
        cmocka_unit_test(brackets_in_strings_are_not_nesting),
        cmocka_unit_test(values_and_keys_are_counted_up_to_the_limit),
        cmocka_unit_test(a_list_has_its_texts_and_nothing_else),
        cmocka_unit_test(getters_fall_back_on_absence_null_and_other_types),
        cmocka_unit_test(setters_set_values),
        cmocka_unit_test(no_value_is_null_as_text),
        cmocka_unit_test(mistakes_of_the_program_end_the_process),
        cmocka_unit_test(cleaning_keeps_what_is_valid_and_replaces_the_rest),
        cmocka_unit_test(a_nul_is_not_valid_text),
        cmocka_unit_test(the_largest_number_can_be_read_back),
        cmocka_unit_test(texts_are_read_as_jansson_reads_them),
        cmocka_unit_test(what_is_rare_or_wrong_is_left_to_jansson),
        cmocka_unit_test(deep_nesting_is_left_to_jansson),
        cmocka_unit_test(values_are_written_as_jansson_writes_them),
        cmocka_unit_test(escapes_are_found_wherever_they_are),
        cmocka_unit_test(elements_that_are_text_stand_where_they_belong),
        cmocka_unit_test(utf8_is_valid_exactly_when_jansson_accepts_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
