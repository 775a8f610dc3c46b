#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/base/regex.h"
#include "tests/support/test.h"

static unsigned flags_of(const char *letters)
{
    return (strchr(letters, 'i') ? REGEX_IGNORE_CASE : 0u) |
           (strchr(letters, 'm') ? REGEX_MULTILINE : 0u) |
           (strchr(letters, 's') ? REGEX_DOT_ALL : 0u);
}

/* "0-3 1-2 -": begin and end of every group, a dash for a group that took no part. */
static void write_match(const struct regex *regex, const struct regex_match *match,
                        char *ret_text, size_t size)
{
    size_t length = 0;

    for (unsigned i = 0; i < regex_group_count(regex); i++) {
        size_t start = match->at[(size_t)i * 2], end = match->at[(size_t)i * 2 + 1];
        const char *blank = i ? " " : "";
        int added =
            start == REGEX_NOWHERE
                ? snprintf(ret_text + length, size - length, "%s-", blank)
                : snprintf(ret_text + length, size - length, "%s%zu-%zu", blank, start, end);

        length += (size_t)added;
    }
}

/* The outcome: the match, "none", "limit" or "refused". */
static void try(const char *pattern, const char *flags, const char *text, char *ret_text,
                size_t size)
{
    struct regex_match match;
    struct regex_scan *scan;
    struct regex *regex = NULL;
    enum err_code rc;

    rc = regex_compile(pattern, strlen(pattern), flags_of(flags), &regex, NULL);
    if (rc) {
        (void)snprintf(ret_text, size, "refused");
        return;
    }
    scan = regex_scan_new(regex, text, strlen(text), 100000);
    rc = regex_scan_next(scan, &match, NULL);
    if (rc)
        (void)snprintf(ret_text, size, "%s", rc == ERR_NOT_FOUND ? "none" : "limit");
    else
        write_match(regex, &match, ret_text, size);
    regex_scan_free(scan);
    regex_free(regex);
}

/* clang-format off */
static const struct {
    const char *pattern, *flags, *text, *expected;
} cases[] = {
    /* characters */
    {"b",                "",  "abc",       "1-2"},
    {"",                 "",  "abc",       "0-0"},
    {"x",                "",  "abc",       "none"},
    {".",                "",  "\n\ra",     "2-3"},
    {".",                "s", "\na",       "0-1"},
    {"\\.",              "",  "a.b",       "1-2"},
    {"\\x41\\u0042\\u{43}", "", "ABC",     "0-3"},
    {"\\t\\n",           "",  "\t\n",      "0-2"},
    {"a{",               "",  "a{",        "0-2"},
    {"]}",               "",  "]}",        "0-2"},
    {"ABC",              "i", "xabc",      "1-4"},
    {"\\u00C4",          "i", "ä",         "0-2"},
    {"\\u{1F30D}",       "",  "x🌍",       "1-5"},
    {"\\A\\K\\Q\\e\\cA", "", "AKQe\x01",  "0-5"}, /* letters without a meaning */
    {"\\c\\\\K",         "",  "\\c\\K",    "0-4"},
    {"\\v",              "",  "\n\v",      "1-2"},
    /* classes */
    {"[b-d]+",           "",  "abcde",     "1-4"},
    {"[^b-d]+",          "",  "bcdae",     "3-5"},
    {"[]",               "",  "a",         "none"},
    {"[^]",              "",  "\n",        "0-1"},
    {"[\\d\\-x]+",       "",  "a1-x2b",    "1-5"},
    {"[\\w-]+",          "",  " a-b ",     "1-4"},
    {"[a-]+",            "",  "-a",        "0-2"},
    {"[A-C]",            "i", "b",         "0-1"},
    {"[^a]",             "i", "A",         "none"},
    {"\\D+",             "",  "12ab3",     "2-4"},
    {"\\W",              "",  "a_1-",      "3-4"},
    {"\\S+",             "",  " \t\u00A0\u3000x ", "7-8"},
    {"[^\\s]+",          "",  "\u00A0x",   "2-3"},
    {"[\\w-.]+@",        "",  "<a-b.c@d>", "1-7"},
    {"[+-\\d]+",         "",  "a+-,1",     "1-3"},
    {"\\w+-\\w+",        "",  "a-b",       "0-3"},
    {"\\p{L}+",          "",  "1äб2",      "1-5"},
    {"\\P{L}+",          "",  "ä1б",       "2-3"},
    {"\\p{Lu}",          "",  "äÄ",        "2-4"},
    {"\\w+",             "",  "ä1",        "2-3"},
    {"\\d+",             "",  "\u0661" "1", "2-3"},
    {"[\\]\\\\]+",       "",  "a]\\",      "1-3"},
    /* places */
    {"^b",               "",  "a\nb",      "none"},
    {"^b",               "m", "a\nb",      "2-3"},
    {"^$",               "m", "a\n",       "2-2"},
    {"a$",               "",  "a\n",       "none"},
    {"a.$",              "m", "ab\r\nc",   "0-2"},
    {"a$",               "",  "a\nb",      "none"},
    {"a$",               "m", "a\nb",      "0-1"},
    {"\\bfoo\\b",        "",  "afoo foo",  "5-8"},
    {"\\Boo",            "",  "oo foo",    "4-6"},
    {"^$",               "",  "",          "0-0"},
    /* repetition */
    {"a*",               "",  "aab",       "0-2"},
    {"a+?",              "",  "aab",       "0-1"},
    {"a??b",             "",  "ab",        "0-2"},
    {"a{2}",             "",  "aaa",       "0-2"},
    {"a{2,}",            "",  "aaaa",      "0-4"},
    {"a{1,2}?",          "",  "aaa",       "0-1"},
    {"(a*)*",            "",  "b",         "0-0 0-0"},
    {"(a*)+",            "",  "b",         "0-0 0-0"},
    {"(?:a?)*?b",        "",  "aab",       "0-3"},
    {"(z)((a+)?(b+)?(c))*", "", "zaacbbbcac", "0-10 0-1 8-10 8-9 4-7 9-10"},
    {"(?:ab){2,3}",      "",  "abababab",  "0-6"},
    {"(a{0,2})*b",       "",  "aaaab",     "0-5 4-4"},
    {"x{0}y",            "",  "xy",        "1-2"},
    {"<.*>",             "",  "<a><b>",    "0-6"},
    {"<.*?>",            "",  "<a><b>",    "0-3"},
    /* alternatives and groups */
    {"a|ab",             "",  "abc",       "0-1"},
    {"(a|ab)(c|bcd)(d*)", "", "abcd",      "0-4 0-1 1-4 4-4"},
    {"x|y|z",            "",  "z",         "0-1"},
    {"|a",               "",  "a",         "0-0"},
    {"a(?:b|)c",         "",  "ac",        "0-2"},
    {"(a)|(b)",          "",  "b",         "0-1 - 0-1"},
    {"(?:(a)|b)*",       "",  "ab",        "0-2 0-1"},
    {"((a)(b))",         "",  "ab",        "0-2 0-2 0-1 1-2"},
    {"(?<y>\\d+)-\\k<y>4$", "", "1-12-124", "2-8 2-4"},
    {"(.)\\1",           "",  "abccd",     "2-4 2-3"},
    {"(a)\\1",           "i", "aA",        "0-2 0-1"},
    {"(a)?\\1b",         "",  "b",         "0-1 -"},
    {"\\1(a)",           "",  "a",         "0-1 0-1"},
    /* lookahead */
    {"a(?=b)",           "",  "acab",      "2-3"},
    {"a(?!b)",           "",  "abac",      "2-3"},
    {"(?=(a+))a*b\\1",   "",  "baaabac",   "3-6 3-4"},
    {"(?=(a))",          "",  "ba",        "1-1 1-2"},
    {"(?!(a))b",         "",  "ab",        "1-2 -"},
    {"(?=a)*b",          "",  "b",         "0-1"},
    {"^(?!.*(?:x|y)).+$", "", "abc",       "0-3"},
    {"(.*?)a(?!(a+)b\\2c)\\2(.*)", "", "baaabaac", "0-8 0-2 - 3-8"},
    /* lookbehind */
    {"(?<=a)b",          "",  "bab",       "2-3"},
    {"(?<!a)b",          "",  "abcb",      "3-4"},
    {"(?<=€|abc)\\d+",   "",  "1€23",      "4-6"},
    /* refused */
    {"(",                "",  "",          "refused"},
    {")",                "",  "",          "refused"},
    {"[a",               "",  "",          "refused"},
    {"[\\",              "",  "",          "refused"},
    {"[a-\\",            "",  "",          "refused"},
    {"\\",               "",  "",          "refused"},
    {"*",                "",  "",          "refused"},
    {"a|*",              "",  "",          "refused"},
    {"a*{2}",            "",  "",          "refused"},
    {"(?<a>x)(?<a>y)",   "",  "",          "refused"},
    {"[b-a]",            "",  "",          "refused"},
    {"a{2,1}",           "",  "",          "refused"},
    {"a{65536}",         "",  "",          "refused"},
    {"((((a{100}){100}){100}){100})", "", "", "refused"},
    {"\\2(a)",           "",  "",          "refused"},
    {"\\99",             "",  "",          "refused"},
    {"\\k<x>",           "",  "",          "refused"},
    {"(?<x",             "",  "",          "refused"},
    {"(?<=a+)b",         "",  "",          "refused"},
    {"\\p{Nonsense}",    "",  "",          "refused"},
    {"(*LIMIT_MATCH=9)a", "", "",          "refused"},
    {"(*UCP)a",          "",  "",          "refused"},
    {"\\ud83d",          "",  "",          "refused"},
    {"\xE4",             "",  "",          "refused"}, /* not UTF-8 */
    /* bills that must not run up */
    {"(a+)+[bc]",        "",  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "limit"},
    {"(a|aa)+$",         "",  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "limit"},
    {"(?=(a+)+[bc])",    "",  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "limit"},
};
/* clang-format on */

TEST(regex_matches_as_javascript_does)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[400];

        try(cases[i].pattern, cases[i].flags, cases[i].text, text, sizeof(text));
        if (strcmp(text, cases[i].expected) != 0)
            fail_msg("/%s/%s: %s instead of %s", cases[i].pattern, cases[i].flags, text,
                     cases[i].expected);
    }
}

TEST(regex_scans_for_all_matches)
{
    static const char text[] = "bä\nba";
    static const size_t starts[] = {0, 1, 3, 4, 5, 6}; /* ä is two bytes */
    struct regex_match match;
    struct regex_scan *scan;
    struct regex *regex;

    assert_int_equal(regex_compile("a|", 2, 0, &regex, NULL), ERR_OK);
    scan = regex_scan_new(regex, text, strlen(text), REGEX_STEP_LIMIT);
    for (size_t i = 0; i < COUNT_OF(starts); i++) {
        assert_int_equal(regex_scan_next(scan, &match, NULL), ERR_OK);
        assert_int_equal(match.at[0], starts[i]);
    }
    assert_int_equal(regex_scan_next(scan, &match, NULL), ERR_NOT_FOUND);
    assert_int_equal(regex_scan_next(scan, &match, NULL), ERR_NOT_FOUND);
    regex_scan_free(scan);
    regex_free(regex);
}

TEST(regex_knows_its_groups)
{
    struct regex *regex;

    assert_int_equal(regex_compile("(a)(?<year>b)(?:c)", 18, 0, &regex, NULL), ERR_OK);
    assert_int_equal(regex_group_count(regex), 3);
    assert_int_equal(regex_group_named(regex, "yearly", 4), 2);
    assert_int_equal(regex_group_named(regex, "yearly", 6), 0);
    regex_free(regex);
}

TEST(regex_all_matches_of_a_scan_share_its_steps)
{
    struct regex_match match;
    struct regex_scan *scan;
    struct regex *regex;
    struct err err = {0};
    enum err_code rc;
    int count = 0;

    assert_int_equal(regex_compile("a", 1, 0, &regex, NULL), ERR_OK);
    scan = regex_scan_new(regex, "aaaaaaaaaa", 10, 12);
    while (!(rc = regex_scan_next(scan, &match, &err)))
        count++;
    assert_int_equal(rc, ERR_LIMIT);
    assert_in_range(count, 1, 9);
    assert_non_null(strstr(err.text, "simpler"));
    assert_int_equal(regex_scan_next(scan, &match, NULL), ERR_LIMIT);
    regex_scan_free(scan);
    regex_free(regex);
}

/* 30 failures at two places of the pattern each, but 465 bytes. */
TEST(regex_steps_are_bytes_too)
{
    struct regex_match match;
    struct regex_scan *scan;
    struct regex *regex;

    assert_int_equal(regex_compile("\\d+[xy]", 7, 0, &regex, NULL), ERR_OK);
    scan = regex_scan_new(regex, "123456789012345678901234567890", 30, 300);
    assert_int_equal(regex_scan_next(scan, &match, NULL), ERR_LIMIT);
    regex_scan_free(scan);
    scan = regex_scan_new(regex, "123456789012345678901234567890", 30, 600);
    assert_int_equal(regex_scan_next(scan, &match, NULL), ERR_NOT_FOUND);
    regex_scan_free(scan);
    regex_free(regex);
}

static void add_round(struct buf *text, const char *piece, size_t times, const char *end)
{
    while (times--)
        buf_add_text(text, piece);
    buf_add_text(text, end);
}

/* Patterns that are cheap at one place and too expensive at a million, that take long in one step,
 * or that need memory for every character. The text is rounds of pieces with an end. */
TEST(regex_ends_a_search_that_would_take_hours)
{
    static const struct {
        const char *pattern, *piece;
        size_t times;
        const char *end;
        size_t rounds;
    } hours[] = {
        {"(a+)+$", "a", 50000, "!", 1},
        {"\\d+[xy]", "1", 1000000, "", 1},
        {"(?:(?=\\w*)\\w)*!!", "a", 1000000, "!", 1},
        {"(?:(a)|b)*c", "ab", 500000, "c", 1},
        {"\\w{60000}[!?]", "a", 59999, " ", 17},
        {"(\\w+)[ab]*?\\1!", "a", 500000, "b!", 2},
    };

    for (size_t i = 0; i < COUNT_OF(hours); i++) {
        AUTO_BUF text = {0};
        struct regex_match match;
        struct regex_scan *scan;
        struct regex *regex;
        uint64_t begin = clock_thread_ns();
        enum err_code rc;

        for (size_t j = 0; j < hours[i].rounds; j++)
            add_round(&text, hours[i].piece, hours[i].times, hours[i].end);
        assert_int_equal(
            regex_compile(hours[i].pattern, strlen(hours[i].pattern), 0, &regex, NULL), ERR_OK);
        scan = regex_scan_new(regex, text.data, text.length, REGEX_STEP_LIMIT);
        rc = regex_scan_next(scan, &match, NULL);
        if (rc != ERR_LIMIT || clock_thread_ns() - begin > 2 * REGEX_TIME_LIMIT_MS * NS_PER_MS)
            fail_msg("/%s/: code %d after %zu ms", hours[i].pattern, (int)rc,
                     (size_t)((clock_thread_ns() - begin) / NS_PER_MS));
        regex_scan_free(scan);
        regex_free(regex);
    }
}

static enum err_code search(struct regex_budget *budget, const char *pattern, const char *text,
                            struct err *err)
{
    struct regex_match match;
    struct regex_scan *scan;
    struct regex *regex;
    enum err_code rc;

    assert_int_equal(regex_compile(pattern, strlen(pattern), 0, &regex, NULL), ERR_OK);
    scan = regex_scan_new(regex, text, strlen(text), REGEX_STEP_LIMIT);
    regex_scan_share(scan, budget);
    rc = regex_scan_next(scan, &match, err);
    regex_scan_free(scan);
    regex_free(regex);
    return rc;
}

/* The first search ends far below its own limit, and takes all that the others would have. */
TEST(regex_searches_share_a_budget)
{
    static const char text[] =
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!";
    struct regex_budget *budget = regex_budget_new(20 * NS_PER_MS);
    struct regex_budget *other = regex_budget_new(NS_PER_SECOND);
    uint64_t begin = clock_thread_ns();
    struct err err;

    assert_int_equal(search(budget, "a", text, NULL), ERR_OK);
    assert_int_equal(search(budget, "(a+)+$", text, &err), ERR_LIMIT);
    assert_non_null(strstr(err.text, "of this run have taken 0.02 s together"));
    assert_true(clock_thread_ns() - begin < REGEX_TIME_LIMIT_MS * NS_PER_MS / 2);
    assert_int_equal(search(budget, "a", text, NULL), ERR_LIMIT);
    assert_int_equal(search(other, "a", text, NULL), ERR_OK);
    assert_int_equal(search(NULL, "a", text, NULL), ERR_OK);
    regex_budget_release(budget);
    regex_budget_release(other);
}

TEST(regex_says_where_a_pattern_is_wrong)
{
    char long_pattern[REGEX_PATTERN_LIMIT + 1];
    struct err err = {0};
    struct regex *regex;

    assert_int_equal(regex_compile("\\sä[z-a]x", 10, 0, &regex, &err), ERR_INVALID);
    assert_string_equal(err.text,
                        "invalid regular expression: range out of order in character class "
                        "(at character 6 of the pattern)");
    memset(long_pattern, 'a', sizeof(long_pattern));
    assert_int_equal(regex_compile(long_pattern, sizeof(long_pattern), 0, &regex, &err),
                     ERR_TOO_LARGE);
}

TEST(regex_refuses_text_that_is_not_utf8)
{
    struct regex_match match;
    struct regex_scan *scan;
    struct regex *regex;

    assert_int_equal(regex_compile("b", 1, 0, &regex, NULL), ERR_OK);
    scan = regex_scan_new(regex,
                          "a\xE4"
                          "b",
                          3, REGEX_STEP_LIMIT);
    assert_int_equal(regex_scan_next(scan, &match, NULL), ERR_INVALID);
    regex_scan_free(scan);
    regex_free(regex);
}

static unsigned next_random(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Any sequence of characters is refused or runs within the limits, and matches lie in the text. */
TEST(regex_survives_random_patterns)
{
    static const char signs[] = "aab.*+?|()[]{}^$\\1,2-dwbBKcs:=!<>kx";
    unsigned seed = 7;

    for (int round = 0; round < 20000; round++) {
        char pattern[14], text[12];
        size_t length = next_random(&seed) % COUNT_OF(pattern), from = 0;
        struct regex_match match;
        struct regex_scan *scan;
        struct regex *regex;

        for (size_t i = 0; i < length; i++)
            pattern[i] = signs[next_random(&seed) % (sizeof(signs) - 1)];
        for (size_t i = 0; i < COUNT_OF(text); i++)
            text[i] = "ab1\n"[next_random(&seed) % 4];
        if (regex_compile(pattern, length, seed >> 29, &regex, NULL) != ERR_OK)
            continue;
        scan = regex_scan_new(regex, text, COUNT_OF(text), 20000);
        while (regex_scan_next(scan, &match, NULL) == ERR_OK) {
            assert_in_range(match.at[0], from, COUNT_OF(text));
            assert_in_range(match.at[1], match.at[0], COUNT_OF(text));
            from = match.at[1];
        }
        regex_scan_free(scan);
        regex_free(regex);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regex_matches_as_javascript_does),
        cmocka_unit_test(regex_scans_for_all_matches),
        cmocka_unit_test(regex_knows_its_groups),
        cmocka_unit_test(regex_all_matches_of_a_scan_share_its_steps),
        cmocka_unit_test(regex_steps_are_bytes_too),
        cmocka_unit_test(regex_ends_a_search_that_would_take_hours),
        cmocka_unit_test(regex_searches_share_a_budget),
        cmocka_unit_test(regex_says_where_a_pattern_is_wrong),
        cmocka_unit_test(regex_refuses_text_that_is_not_utf8),
        cmocka_unit_test(regex_survives_random_patterns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
