#include "tests/unit/handlers/tool_run.h"

#include "core/base/buf.h"

/* args: input, operation, search, replacement; NULL leaves one out. */
static char *make_args(const char *input, const char *operation, const char *search,
                       const char *replacement)
{
    json_auto_t *args = json_build("{s:s, s:s}", "input", input, "operation", operation);

    if (search)
        json_set_string(args, "search", search);
    if (replacement)
        json_set_string(args, "replacement", replacement);
    return json_text(args);
}

static void expect_text(const char *input, const char *operation, const char *search,
                        const char *replacement, const char *expected)
{
    AUTO_FREE char *args = make_args(input, operation, search, replacement);

    expect_tool_result(&text_handler, args, expected);
}

TEST(text_counts_characters_not_bytes)
{
    expect_text("", "length", NULL, NULL, "0");
    expect_text("strawberry", "length", NULL, NULL, "10");
    expect_text("Grüße, 世界 🌍", "length", NULL, NULL, "11");
}

TEST(text_finds_plain_text)
{
    expect_text("a.b.c", "find", ".", NULL, "1");
    expect_text("世界 🌍 x", "find", "x", NULL, "5");
    expect_text("abc", "find", "z", NULL, "-1");
    expect_text("strawberry", "findAll", "r", NULL, "[2,7,8]");
    expect_text("aaaa", "findAll", "aa", NULL, "[0,2]");
    expect_text("abc", "findAll", "z", NULL, "[]");
    expect_text("/usr/bin", "find", "/bin", NULL, "4");
}

TEST(text_finds_regular_expressions)
{
    expect_text("abc 123 def 45", "find", "/\\d+/", NULL, "4");
    expect_text("abc 123 def 45", "findAll", "/\\d+/", NULL, "[4,12]");
    expect_text("abc 123 def 45", "find", "/\\d+/g", NULL, "4");
    expect_text("one TWO", "find", "/two/i", NULL, "4");
    expect_text("a\nb\nc", "findAll", "/^./gm", NULL, "[0,2,4]");
    expect_text("aXb", "findAll", "/x*/i", NULL, "[0,1,2,3]");
    expect_text("世界 🌍 x1", "findAll", "/\\p{L}/u", NULL, "[0,1,5]");
    expect_text("5 € 7", "find", "/(?<=€ )\\d/", NULL, "4");
    expect_text("äö", "findAll", "/(?:)/", NULL, "[0,1,2]");
}

TEST(text_replaces_once_or_everywhere)
{
    expect_text("a-b-c", "replace", "-", "+", "a+b-c");
    expect_text("a-b-c", "replaceAll", "-", "+", "a+b+c");
    expect_text("a-b-c", "replaceAll", "-", "", "abc");
    expect_text("a-b-c", "replace", "/[a-z]/g", "x", "x-b-c");
    expect_text("a-b-c", "replaceAll", "/[a-z]/", "x", "x-x-x");
    expect_text("über", "replaceAll", "/\\w/", "_", "ü___");
    expect_text("abc", "replaceAll", "/x*/", "-", "-a-b-c-");
    expect_text("äö🌍", "replaceAll", "/x*/", "-", "-ä-ö-🌍-");
    expect_text("abc", "replace", "z", "y", "abc");
}

TEST(text_fills_in_groups)
{
    expect_text("John Smith", "replace", "/(\\w+) (\\w+)/", "$2, $1", "Smith, John");
    expect_text("2026-11-21", "replace", "/(?<y>\\d+)-(?<m>\\d+)/", "$<m>/$<y>", "11/2026-21");
    expect_text("abc", "replace", "b", "[$&$`$'$$$1$x$]", "a[bac$$1$x$]c");
    expect_text("ab", "replace", "/(a)(x)?/", "<$1$2$3$12>", "<a$3a2>b");
}

TEST(text_errors_name_what_is_missing)
{
    AUTO_FREE char *no_search = make_args("a", "find", NULL, NULL);
    AUTO_FREE char *empty_search = make_args("a", "replace", "", "b");
    AUTO_FREE char *no_replacement = make_args("a", "replaceAll", "a", NULL);
    AUTO_FREE char *no_operation = make_args("a", "count", "a", NULL);
    AUTO_FREE char *bad_regex = make_args("a", "find", "/(/", NULL);

    expect_tool_error(&text_handler, no_search, ERR_INVALID, "search");
    expect_tool_error(&text_handler, empty_search, ERR_INVALID, "search");
    expect_tool_error(&text_handler, no_replacement, ERR_INVALID, "replacement");
    expect_tool_error(&text_handler, no_operation, ERR_INVALID, "no such operation: count");
    expect_tool_error(&text_handler, bad_regex, ERR_INVALID, "closing parenthesis");
    expect_tool_error(&text_handler, "{\"operation\":\"length\"}", ERR_INVALID, "input");
}

static char *repeat(const char *piece, size_t count)
{
    struct buf buf = {0};

    while (count--)
        buf_add_text(&buf, piece);
    return buf_take(&buf);
}

TEST(text_ends_expensive_searches)
{
    AUTO_FREE char *as = repeat("a", 5000);
    AUTO_FREE char *much = repeat("0123456789", 110000);
    AUTO_FREE char *nested = make_args(as, "find", "/^(a+)+$b/", NULL);
    AUTO_FREE char *plain = repeat("a", 40000);
    AUTO_FREE char *half = repeat("a", 20000);
    AUTO_FREE char *needle = mem_printf("%sb", half);
    AUTO_FREE char *quadratic = make_args(plain, "find", needle, NULL);
    AUTO_FREE char *large = make_args(much, "length", NULL, NULL);
    AUTO_FREE char *growing = make_args(as, "replaceAll", "a", half);
    AUTO_FREE char *dollars = repeat("$'", 400000);
    AUTO_FREE char *exploding = make_args(as, "replace", "a", dollars);

    expect_tool_error(&text_handler, nested, ERR_LIMIT, "simpler");
    expect_tool_result(&text_handler, quadratic, "-1");
    expect_tool_error(&text_handler, large, ERR_TOO_LARGE, "1048576");
    expect_tool_error(&text_handler, growing, ERR_TOO_LARGE, "1048576");
    expect_tool_error(&text_handler, exploding, ERR_TOO_LARGE, "1048576");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_counts_characters_not_bytes),
        cmocka_unit_test(text_finds_plain_text),
        cmocka_unit_test(text_finds_regular_expressions),
        cmocka_unit_test(text_replaces_once_or_everywhere),
        cmocka_unit_test(text_fills_in_groups),
        cmocka_unit_test(text_errors_name_what_is_missing),
        cmocka_unit_test(text_ends_expensive_searches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
