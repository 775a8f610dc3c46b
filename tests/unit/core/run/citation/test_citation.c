#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/run/citation/citation.h"
#include "tests/support/test.h"

/* What a parser has found: the text, with every mark as {2:0,2:3}. */
struct found {
    struct buf text;
    unsigned pieces; /* of text */
    const char *last;
};

static void note_text(void *arg, const char *text, size_t length)
{
    struct found *found = arg;

    assert_true(length > 0);
    buf_add(&found->text, text, length);
    found->pieces++;
    found->last = text;
}

static void note_mark(void *arg, const struct citation_mark *mark)
{
    struct found *found = arg;

    assert_in_range(mark->length, 5, CITATION_HELD_LIMIT);
    assert_in_range(mark->count, 1, CITATION_PAIR_LIMIT);
    for (unsigned i = 0; i < mark->count; i++)
        buf_addf(&found->text, "%c%u:%u", i ? ',' : '{', mark->pairs[i].search,
                 mark->pairs[i].passage);
    buf_add_text(&found->text, "}");
}

static const struct citation_events events = {.text = note_text, .mark = note_mark};

/* Each piece has memory of its own, so that a sanitizer sees who keeps it. */
static void feed(struct citation_parser *parser, const char *text, size_t length,
                 struct found *found)
{
    char *piece = mem_zeroed(length ? length : 1, 1);

    memcpy(piece, text, length);
    citation_feed(parser, piece, length, &events, found);
    assert_in_range(parser->held_length, 0, CITATION_HELD_LIMIT);
    free(piece);
}

static bool begins(char byte)
{
    return ((unsigned char)byte & 0xC0) != 0x80;
}

/* The end of the piece that begins at `from` and has at most `size` characters. */
static size_t piece_end(const char *text, size_t length, size_t from, size_t size)
{
    size_t at = from;

    while (at < length && size--) {
        at++;
        while (at < length && !begins(text[at]))
            at++;
    }
    return at;
}

/* Cut behind `first` characters, and then every `step` characters. */
static char *read_cut(const char *text, size_t first, size_t step)
{
    struct citation_parser parser = {0};
    struct found found = {0};
    size_t length = strlen(text);
    size_t at = piece_end(text, length, 0, first);

    feed(&parser, text, at, &found);
    while (at < length) {
        size_t end = piece_end(text, length, at, step);

        feed(&parser, text + at, end - at, &found);
        at = end;
    }
    citation_end(&parser, &events, &found);
    assert_int_equal(parser.held_length, 0);
    return found.text.data ? buf_take(&found.text) : mem_strdup("");
}

static void assert_found(const char *text, const char *expected)
{
    size_t length = strlen(text);

    for (size_t first = 0; first <= length; first++) {
        size_t steps[] = {1, 2, 3, 5, length + 1};

        for (size_t i = 0; i < COUNT_OF(steps); i++) {
            AUTO_FREE char *found = read_cut(text, first, steps[i]);

            if (strcmp(found, expected) != 0)
                fail_msg("%s, cut at %zu and every %zu, became %s", text, first, steps[i],
                         found);
        }
    }
}

TEST(marks_are_found)
{
    assert_found("a【2:0】b", "a{2:0}b");
    assert_found("a【2:0†source】b", "a{2:0}b");
    assert_found("a【2:0†】b", "a{2:0}b");
    assert_found("a【12:345†手册 [2].pdf】.", "a{12:345}.");
    assert_found("a【2:0,2:3†source】b", "a{2:0,2:3}b");
    assert_found("a【2:0,2:3】b", "a{2:0,2:3}b");
    assert_found("a[2:0†source]b", "a{2:0}b");
    assert_found("[2:0,3:1†source][1:1†x]", "{2:0,3:1}{1:1}");
    assert_found("【2:0】", "{2:0}");
    assert_found("保修两年【1:0†source】。See【注意】.", "保修两年{1:0}。See【注意】.");
}

TEST(all_else_is_text)
{
    /* clang-format off */
    static const char *const texts[] = {
        "", "plain", "a[0]", "[2:0]", "at [12:30] or [1:2, 3:4]", "【注意】", "【", "【2", "【2:", "【2:0", "【2:0†", "【2:0†source",
        "【】", "【:0】", "【2:】", "【2.0】", "【2:0 †source】", "【2:0,】", "【2:0,2】", "【2:0;2:1】", "【2:0†source]", "[2:0†source】",
        "【1234567:0】", "【1:1234567】", "[2:0†a\xE2\x80", "、、【、】", "[link](【2】)", "ideographs 〈〉《》「」", "†【†】",
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        assert_found(texts[i], texts[i]);
}

TEST(what_does_not_fit_can_begin_the_next_mark)
{
    assert_found("【2:0【2:1】", "【2:0{2:1}");
    assert_found("【2:0†so【2:1†source】", "【2:0†so{2:1}");
    assert_found("[2:0†so[2:1†source]", "[2:0†so{2:1}");
    assert_found("[[[2:0†source]]]", "[[{2:0}]]");
    assert_found("[2:0【2:1】]", "[2:0{2:1}]");
    assert_found("【[2:0†source]】", "【{2:0}】");
    assert_found("【2:0†[2:1†source]】", "{2:0}");
    assert_found("【【【2:0】】】", "【【{2:0}】】");
}

TEST(a_mark_has_limits)
{
    struct buf text = {0};
    AUTO_FREE char *fits = NULL;
    AUTO_FREE char *long_rest = NULL;
    AUTO_FREE char *long_list = NULL;

    buf_add_text(&text, "【2:0†");
    for (size_t i = 0; i < CITATION_REST_LIMIT; i++)
        buf_add_char(&text, 'x');
    fits = mem_printf("%s】", text.data);
    long_rest = mem_printf("%sx】", text.data);
    assert_found(fits, "{2:0}");
    assert_found(long_rest, long_rest);
    buf_reset(&text);
    buf_add_text(&text, "【1:1");
    while (text.length < CITATION_HELD_LIMIT)
        buf_add_text(&text, ",1:1");
    long_list = mem_printf("%s】", text.data);
    assert_found(long_list, long_list);
    buf_clear(&text);
}

/* Texts of the characters that marks are made of: the result is the same however they are cut. */
TEST(every_cutting_finds_the_same)
{
    static const char *const signs[] = {"【", "】", "[",     "]",         "†",
                                        "2",  "13", ":",     ",",         "x",
                                        "、", "。", "【2:0", "†source】", "[7:1†"};
    uint32_t random = 20261124;

    for (int n = 0; n < 1500; n++) {
        struct buf text = {0};
        AUTO_FREE char *whole = NULL;

        buf_add_text(&text, "");
        for (int i = 0; i < 14; i++) {
            random = random * 1664525u + 1013904223u;
            buf_add_text(&text, signs[(random >> 16) % COUNT_OF(signs)]);
        }
        whole = read_cut(text.data, text.length, 1);
        assert_found(text.data, whole);
        buf_clear(&text);
    }
}

TEST(text_without_brackets_is_not_copied)
{
    static const char text[] = "Die Garantie beträgt zwei Jahre. 保修两年。";
    struct citation_parser parser = {0};
    struct found found = {0};

    citation_feed(&parser, text, strlen(text), &events, &found);
    assert_int_equal(found.pieces, 1);
    assert_ptr_equal(found.last, text);
    buf_clear(&found.text);
}

TEST(a_bracket_that_begins_no_mark_delays_nothing)
{
    static const char text[] = "a [b] 【注意】 x[0] [2:0] 【2:x";
    struct citation_parser parser = {0};
    struct found found = {0};

    citation_feed(&parser, text, strlen(text), &events, &found);
    assert_int_equal(found.pieces, 1);
    assert_ptr_equal(found.last, text);
    assert_int_equal(found.text.length, strlen(text));
    buf_clear(&found.text);
}

/* 6 MB of brackets of one kind: a search to the end for each would take minutes. */
TEST(a_piece_full_of_brackets_takes_linear_time)
{
    static const char *const kinds[] = {"【", "[", "【1:1†x】", "[1:1†x]"};

    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct citation_parser parser = {0};
        struct found found = {0};
        AUTO_BUF text = {0};

        while (text.length < (size_t)6 << 20)
            buf_add_text(&text, kinds[i]);
        citation_feed(&parser, text.data, text.length, &events, &found);
        citation_end(&parser, &events, &found);
        assert_true(found.text.length >= text.length / 3);
        buf_clear(&found.text);
    }
}

TEST(what_may_become_a_mark_is_held)
{
    struct citation_parser parser = {0};
    struct found found = {0};

    feed(&parser, "years【2:", strlen("years【2:"), &found);
    assert_string_equal(found.text.data, "years");
    feed(&parser, "0†sou", strlen("0†sou"), &found);
    assert_string_equal(found.text.data, "years");
    feed(&parser, "rce】.", strlen("rce】."), &found);
    assert_string_equal(found.text.data, "years{2:0}.");
    buf_clear(&found.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_are_found),
        cmocka_unit_test(all_else_is_text),
        cmocka_unit_test(what_does_not_fit_can_begin_the_next_mark),
        cmocka_unit_test(a_mark_has_limits),
        cmocka_unit_test(every_cutting_finds_the_same),
        cmocka_unit_test(text_without_brackets_is_not_copied),
        cmocka_unit_test(a_bracket_that_begins_no_mark_delays_nothing),
        cmocka_unit_test(a_piece_full_of_brackets_takes_linear_time),
        cmocka_unit_test(what_may_become_a_mark_is_held),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
