/* The words of a text. */

#include "core/retrieval/words.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

#define WORDS_LIMIT 64

struct list {
    uint32_t words[WORDS_LIMIT];
    size_t count;
};

static void add(void *arg, uint32_t word)
{
    struct list *list = arg;

    if (list->count < WORDS_LIMIT)
        list->words[list->count++] = word;
}

static struct list words_of(const char *text)
{
    struct list list = {.count = 0};

    words_read(text, strlen(text), add, &list);
    return list;
}

static bool is_same(const char *text, const char *other)
{
    struct list a = words_of(text), b = words_of(other);

    return a.count == b.count && memcmp(a.words, b.words, a.count * sizeof(*a.words)) == 0;
}

static bool has(const char *text, const char *word)
{
    struct list list = words_of(text), one = words_of(word);

    for (size_t i = 0; i < list.count; i++) {
        if (list.words[i] == one.words[0])
            return one.count == 1;
    }
    return false;
}

/* Each pair has the same words in the same order. */
static const char *const same[][2] = {
    {"Hello, World!", "hello world"},
    {"Caf\u00e9 CAFE\u0301 cafe", "cafe cafe cafe"},
    {"\u00c5ngstr\u00f6m \u0141\u00f3d\u017a \u00d8re", "angstrom lodz ore"},
    {"stra\u00dfe \u00c6ther \u0153uvre \ufb01nd e\ufb03cient",
     "strasse aether oeuvre find efficient"},
    {"\uff26\uff55\uff4c\uff4c\u3000\uff11\uff12", "full 12"},
    {"m\u00b2 x\u2079 h\u2082o", "m2 x9 h2o"},
    {"\u041c\u041e\u0421\u041a\u0412\u0410 \u0451\u043b\u043a\u0430",
     "\u043c\u043e\u0441\u043a\u0432\u0430 \u0435\u043b\u043a\u0430"},
    {"\u038c\u03bc\u03b7\u03c1\u03bf\u03c2", "\u03bf\u03bc\u03b7\u03c1\u03bf\u03c3"},
    {"\uff76\uff9e\uff97\uff7d", "\u30ac\u30e9\u30b9"},
    {"\u304b\u3099\u304f\u3061\u3099\u3064\u3099 \u306f\u309a\u306f\u3099",
     "\u304c\u304f\u3062\u3065 \u3071\u3070"},
    {"\u1112\u1161\u11ab\u1100\u116e\u11a8", "\ud55c\uad6d"},
    {"co\u00adoperate ze\u200bro", "cooperate ze ro"},
    {"batteries boxes classes caches sizes cars", "battery box class cache size car"},
    {"status this analysis bus gas it's", "STATUS THIS ANALYSIS BUS GAS it s"},
    {"IDs PDFs URLs", "id pdf url"},
    {"__init__ _x", "init x"},
    {"maxFileSize", "max_file_size"},
    {"", " \n\t .,;:!? -- \u3002\uff0c\u2014"},
};

TEST(letters_are_folded)
{
    for (size_t i = 0; i < COUNT_OF(same); i++) {
        if (!is_same(same[i][0], same[i][1]))
            fail_msg("row %zu: %s", i, same[i][0]);
    }
}

TEST(words_that_differ_have_different_numbers)
{
    static const char *const pairs[][2] = {
        {"battery", "butter"}, {"ab", "ba"}, {"news", "newt"}, {"\u4e2d\u6587", "\u6587\u4e2d"},
        {"x1", "x2"},
    };

    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        if (is_same(pairs[i][0], pairs[i][1]))
            fail_msg("row %zu: %s", i, pairs[i][0]);
    }
}

TEST(identifiers_are_themselves_and_their_parts)
{
    static const char *const parts[] = {"max", "file", "size", "maxfilesize"};

    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        assert_true(has("set maxFileSize = 3", parts[i]));
        assert_true(has("set max_file_size = 3", parts[i]));
        assert_true(has("MAX_FILE_SIZE", parts[i]));
    }
    assert_int_equal(words_of("maxFileSize").count, 4);
    assert_true(has("HTTPServer", "http"));
    assert_true(has("HTTPServer", "server"));
    assert_int_equal(words_of("McDonald").count, 3);
    assert_int_equal(words_of("word").count, 1);
    /* Base64 and the like are one word. */
    assert_int_equal(words_of("aGVsbG8gd29ybGQgaGVsbG8gd29ybGQaBcDeF").count, 1);
}

TEST(signs_are_words_two_by_two)
{
    /* 数据库 */
    assert_int_equal(words_of("\u6570\u636e\u5e93").count, 2);
    assert_true(has("\u6570\u636e\u5e93", "\u6570\u636e"));
    assert_true(has("\u6570\u636e\u5e93", "\u636e\u5e93"));
    assert_false(has("\u6570\u636e\u5e93", "\u6570"));
    /* A lone sign is a word; punctuation and letters end a run. */
    assert_int_equal(words_of("\u7b2c3\u7ae0").count, 3);
    assert_true(has("\u7b2c3\u7ae0", "\u7ae0"));
    assert_int_equal(words_of("\u4e2d\u3001\u6587").count, 2);
    assert_true(has("PDF\u6587\u4ef6\u683c\u5f0f", "pdf"));
    /* Kana and Hangul, and a sign beyond 16 bits. */
    assert_int_equal(words_of("\u98df\u3079\u308b").count, 2);
    assert_int_equal(words_of("\ud55c\uad6d\uc5b4 \uac80\uc0c9").count, 3);
    assert_int_equal(words_of("\U00020000\U00020001").count, 1);
    /* Thai has no blanks. */
    assert_int_equal(words_of("\u0e20\u0e32\u0e29\u0e32").count, 3);
    assert_int_equal(words_of("\U0001F600\U0001F600 \u2713").count, 3);
}

TEST(long_runs_of_letters_are_several_words)
{
    AUTO_FREE char *text = mem_zeroed(1, 1001);

    memset(text, 'x', 1000);
    assert_in_range(words_of(text).count, 8, 9);
}

TEST(bytes_that_are_no_characters_separate)
{
    assert_true(is_same("one\xFFtwo\xC3", "one two"));
    assert_true(is_same("a\xED\xA0\x80z", "a z"));
    words_read("", 0, add, &(struct list){.count = 0});
}

TEST(tokens_are_estimated)
{
    assert_int_equal(words_tokens(NULL, "", 0), 0);
    assert_int_equal(words_tokens(NULL, "abcd", 4), 1);
    assert_int_equal(words_tokens(NULL, "abcde", 5), 2);
    assert_int_equal(words_tokens(NULL, "\u4e2d\u6587", 6), 2);
    assert_int_equal(words_tokens(NULL, "\u0436\u0436", 4), 1);
}

static size_t count_bytes(const void *arg, const char *text, size_t length)
{
    (void)text;
    return length * *(const size_t *)arg;
}

TEST(a_counter_replaces_the_estimate)
{
    size_t factor = 3;
    struct token_counter counter = {.count = count_bytes, .arg = &factor};

    assert_int_equal(words_tokens(&counter, "abcd", 4), 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_are_folded),
        cmocka_unit_test(words_that_differ_have_different_numbers),
        cmocka_unit_test(identifiers_are_themselves_and_their_parts),
        cmocka_unit_test(signs_are_words_two_by_two),
        cmocka_unit_test(long_runs_of_letters_are_several_words),
        cmocka_unit_test(bytes_that_are_no_characters_separate),
        cmocka_unit_test(tokens_are_estimated),
        cmocka_unit_test(a_counter_replaces_the_estimate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
