/* Texts as chunks. */

#include "core/retrieval/chunker.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "tests/support/test.h"

static struct chunks cut(const char *text, uint32_t max_tokens, uint32_t overlap_tokens)
{
    struct chunking chunking = {.max_tokens = max_tokens, .overlap_tokens = overlap_tokens};
    struct chunks chunks = {0};

    assert_int_equal(chunks_make(&chunking, NULL, text, strlen(text), &chunks, NULL), ERR_OK);
    return chunks;
}

/* What is shown of a chunk. The caller frees. */
static char *shown(const struct chunks *chunks, size_t n, const char *text)
{
    struct buf out = {0};

    chunk_add_text(&out, &chunks->items[n], text);
    return buf_take(&out);
}

static void assert_shown(const struct chunks *chunks, size_t n, const char *text,
                         const char *expected)
{
    AUTO_FREE char *part = shown(chunks, n, text);

    assert_string_equal(part, expected);
}

static bool is_blank(char byte)
{
    return strchr(" \t\r\n\f", byte) != NULL;
}

static void add_times(struct buf *out, const char *text, size_t times)
{
    while (times-- > 0)
        buf_add_text(out, text);
}

/* ---- What a single text becomes ---- */

TEST(a_short_text_is_one_chunk)
{
    struct chunks chunks = cut("\n  one two\n\nthree \n", 800, 400);

    assert_int_equal(chunks.count, 1);
    assert_shown(&chunks, 0, "\n  one two\n\nthree \n", "one two\n\nthree");
    assert_int_equal(chunks.items[0].tokens, 4);
    assert_int_equal(chunks.items[0].page, 0);
    assert_string_equal(chunks.items[0].heading, "");
    chunks_clear(&chunks);
}

TEST(blanks_alone_are_no_chunk)
{
    struct chunks chunks = cut("", 800, 400);

    assert_int_equal(chunks.count, 0);
    chunks = cut(" \n\f\t ", 800, 400);
    assert_int_equal(chunks.count, 0);
    chunks_clear(&chunks);
}

/* The text before and behind the expected cut; where it lies is the last eighth of 100 tokens. */
static const struct {
    const char *before, *behind;
} places[] = {
    {"word. word\nword\n\n", "# Heading\nword word word word"},
    {"word.\n\n", "word\nword. word word word"},
    {"word. word\n", "word. word. word word"},
    {"word word. ", "word word word word"},
    {"word word.\" ", "word word word word"},
    {"word ", "wordwordwordwordwordwordword"},
    {"\u53e5\u3002", "\u53e5\u53e5\u53e5\u53e5\u53e5\u53e5"},
    {"\u53e5\uff01\u201d", "\u53e5\uff0c\u53e5\u53e5\u53e5"},
    {"\u53e5\uff0c", "\u53e5\u53e5\u53e5\u53e5\u53e5\u53e5"},
};

TEST(a_chunk_ends_at_the_best_place)
{
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        AUTO_BUF text = {0};
        AUTO_FREE char *first = NULL;
        struct chunks chunks;
        size_t length;

        add_times(&text, "abcdefg ", 46); /* 92 tokens */
        buf_add_text(&text, places[i].before);
        length = text.length;
        buf_add_text(&text, places[i].behind);
        add_times(&text, "abcdefg ", 20);
        while (is_blank(text.data[length - 1]))
            length--;
        chunks = cut(text.data, 100, 0);
        if (chunks.items[0].length != length) {
            first = shown(&chunks, 0, text.data);
            fail_msg("row %zu: %s", i, first + 360);
        }
        chunks_clear(&chunks);
    }
}

TEST(a_long_run_is_cut_between_characters)
{
    static const char *const runs[] = {"x", "\u00e9", "\u4e2d", "\U0001F600", "e\u0301"};

    for (size_t i = 0; i < COUNT_OF(runs); i++) {
        AUTO_BUF text = {0};
        struct chunks chunks;
        size_t end = 0;

        add_times(&text, runs[i], 5000);
        chunks = cut(text.data, 100, 50);
        assert_true(chunks.count > 10);
        for (size_t n = 0; n < chunks.count; n++) {
            const struct chunk *chunk = &chunks.items[n];

            assert_int_equal(chunk->begin % strlen(runs[i]), 0);
            assert_int_equal(chunk->length % strlen(runs[i]), 0);
            assert_true(chunk->begin <= end);
            end = chunk->begin + chunk->length;
        }
        assert_int_equal(end, text.length);
        chunks_clear(&chunks);
    }
}

TEST(a_chunk_knows_its_headings)
{
    AUTO_BUF text = {0};
    struct chunks chunks;
    AUTO_BUF indexed = {0};

    buf_add_text(&text, "# Safety #\n\n");
    add_times(&text, "abcdefg ", 46);
    buf_add_text(&text, "\n## Batteries\n\n");
    add_times(&text, "abcdefg ", 45);
    buf_add_text(&text, "\n# Index\n\n#no heading\n");
    add_times(&text, "abcdefg ", 45);
    chunks = cut(text.data, 100, 0);
    assert_string_equal(chunks.items[0].heading, "Safety");
    assert_string_equal(chunks.items[1].heading, "Safety > Batteries");
    assert_memory_equal(text.data + chunks.items[1].begin, "## Batteries", 12);
    assert_string_equal(chunks.items[2].heading, "Index");
    chunk_add_indexed(&indexed, &chunks.items[1], text.data, "manual.pdf");
    assert_memory_equal(indexed.data, "manual.pdf\nSafety > Batteries\n## Batteries\n", 43);
    chunks_clear(&chunks);
}

/* The one that ends inside a fence is a comment of a script. */
TEST(a_fence_has_no_headings)
{
    AUTO_BUF text = {0};
    struct chunks chunks;

    buf_add_text(&text, "# Real\n```\n# comment\n```\n");
    add_times(&text, "abcdefg ", 100);
    chunks = cut(text.data, 100, 0);
    assert_string_equal(chunks.items[1].heading, "Real");
    chunks_clear(&chunks);
}

TEST(a_long_path_loses_its_outer_headings)
{
    AUTO_BUF text = {0};
    struct chunks chunks;

    buf_add_text(&text, "# ");
    add_times(&text, "\u4e2d", 100);
    buf_add_text(&text, "\n## ");
    add_times(&text, "\u6587", 100);
    buf_add_text(&text, "\n### Inner\n");
    add_times(&text, "abcdefg ", 300);
    chunks = cut(text.data, 400, 0);
    assert_true(json_valid_utf8(chunks.items[1].heading, strlen(chunks.items[1].heading)));
    assert_true(strlen(chunks.items[1].heading) <= CHUNK_HEADING_MAX);
    assert_memory_equal(chunks.items[1].heading, "\u6587", 3);
    assert_string_equal(chunks.items[1].heading + strlen(chunks.items[1].heading) - 8,
                        " > Inner");
    chunks_clear(&chunks);
}

TEST(a_chunk_knows_its_page)
{
    AUTO_BUF text = {0};
    struct chunks chunks;

    add_times(&text, "abcdefg ", 48);
    buf_add_text(&text, "\fNext page ");
    add_times(&text, "abcdefg ", 60);
    chunks = cut(text.data, 100, 0);
    assert_int_equal(chunks.items[0].page, 1);
    assert_int_equal(chunks.items[0].length, 48 * 8 - 1);
    assert_int_equal(chunks.items[1].page, 2);
    chunks_clear(&chunks);

    chunks = cut("one\ftwo", 100, 0);
    assert_shown(&chunks, 0, "one\ftwo", "one\ntwo");
    chunks_clear(&chunks);
}

/* ---- Tables ---- */

#define ROW      "| cell one | cell two | cell three |\n"
#define HEADER   "| Name | Size | What |\n|------|:----:|-----:|\n"
#define NO_RULE  "Name | Size | What\n"
#define BARE_ROW "cell one | cell two | cell three\n"

static void check_table(const char *header, const char *row)
{
    AUTO_BUF text = {0};
    struct chunks chunks;
    size_t rows = 0, header_length = strlen(header), row_length = strlen(row);

    buf_add_text(&text, header);
    add_times(&text, row, 40);
    buf_add_text(&text, "\nBehind the table.");
    chunks = cut(text.data, 100, 30);
    assert_true(chunks.count > 3);
    for (size_t n = 0; n < chunks.count; n++) {
        AUTO_FREE char *part = shown(&chunks, n, text.data);
        const char *at = part + header_length;

        assert_memory_equal(part, header, header_length);
        assert_true(words_tokens(NULL, part, strlen(part)) <= 100);
        assert_true(words_tokens(NULL, part, strlen(part)) <= chunks.items[n].tokens);
        assert_int_equal(chunks.items[n].head_length, n ? header_length - 1 : 0);
        for (; strncmp(at, row, row_length - 1) == 0; rows++)
            at += row_length - (at[row_length - 1] == '\0');
        assert_true(*at == '\0' || strstr(at, "Behind"));
    }
    assert_true(rows >= 40);
    chunks_clear(&chunks);
}

TEST(a_table_is_cut_between_rows_and_repeats_its_header)
{
    check_table(HEADER, ROW);
    check_table(NO_RULE, BARE_ROW);
}

TEST(a_header_that_is_too_large_is_not_repeated)
{
    AUTO_BUF text = {0};
    struct chunks chunks;

    add_times(&text, "Header with many words | ", 6);
    buf_add_text(&text, "end\n");
    add_times(&text, "a | b | c | d | e | f | g\n", 60);
    chunks = cut(text.data, 100, 0);
    assert_true(chunks.count > 2);
    assert_int_equal(chunks.items[1].head_length, 0);
    assert_memory_equal(text.data + chunks.items[1].begin, "a | b", 5);
    chunks_clear(&chunks);
}

/* It fits into a chunk, but not behind what is there, nor with an overlap. */
TEST(a_large_row_gets_a_chunk_of_its_own)
{
    AUTO_BUF row = {0};
    AUTO_BUF text = {0};
    struct chunks chunks;

    buf_add_text(&row, "| ");
    add_times(&row, "abcdefg ", 44);
    buf_add_text(&row, "| x |");
    buf_add_text(&text, "| N | V |\n| - | - |\n");
    for (int i = 0; i < 5; i++) {
        buf_add(&text, row.data, row.length);
        buf_add_char(&text, '\n');
    }
    chunks = cut(text.data, 100, 50);
    /* The first has the header alone: the row does not fit behind it. */
    for (size_t n = 1; n < chunks.count; n++) {
        assert_int_equal(chunks.items[n].length, row.length);
        assert_memory_equal(text.data + chunks.items[n].begin, row.data, row.length);
        assert_int_equal(chunks.items[n].head_length, 19);
    }
    assert_in_range(chunks.count, 5, 6);
    chunks_clear(&chunks);
}

TEST(a_row_that_fits_into_no_chunk_is_cut)
{
    AUTO_BUF text = {0};
    struct chunks chunks;

    buf_add_text(&text, "| N | V |\n| - | - |\n| ");
    add_times(&text, "abcdefg ", 200);
    buf_add_text(&text, "| x |\n");
    chunks = cut(text.data, 100, 0);
    assert_in_range(chunks.count, 4, 6);
    for (size_t n = 0; n < chunks.count; n++)
        assert_true(chunks.items[n].tokens <= 100);
    assert_int_equal(chunks.items[2].head_length, 19);
    chunks_clear(&chunks);
}

/* ---- Limits ---- */

TEST(too_many_chunks_are_refused)
{
    struct chunking chunking = {.max_tokens = 100, .overlap_tokens = 0};
    struct chunks chunks = {0};
    AUTO_BUF text = {0};
    struct err err;

    add_times(&text, "abc ", (CHUNKS_MAX - 1) * 100);
    assert_int_equal(chunks_make(&chunking, NULL, text.data, text.length, &chunks, &err),
                     ERR_OK);
    assert_true(chunks.count > CHUNKS_MAX - 200);
    chunks_clear(&chunks);
    add_times(&text, "abc ", 400);
    assert_int_equal(chunks_make(&chunking, NULL, text.data, text.length, &chunks, &err),
                     ERR_TOO_LARGE);
    assert_null(chunks.items);
}

/* ---- Every text ---- */

static unsigned random_seed;

static unsigned dice(unsigned sides)
{
    random_seed = random_seed * 1103515245u + 12345u;
    return (random_seed >> 16) % sides;
}

static const char *const pieces[] = {
    "word ",
    "a ",
    "longerword, ",
    "End. ",
    "Why? ",
    "\n",
    "\n\n",
    "\f",
    "# Title\n",
    "\n### Deep one\n",
    "\t",
    "\u4e2d\u6587\u5b57\u7b26",
    "\u3002",
    "\uff0c",
    "\uff1f\u201d",
    "\u300c\u53e5\u300d",
    "\u30ab\u30bf\u30ab\u30ca",
    "\ud55c\uad6d\uc5b4 ",
    "\U0001F600",
    "~ ",
    "x=y(z);",
    "caf\u00e9 ",
    "    ",
    "\u0e20\u0e32\u0e29\u0e32",
    "verylongidentifierwithoutanyblankinitwhichisnotusual",
    "(",
    ")",
    "|",
    " | ",
    "1.5 ",
};

static void add_random(struct buf *text)
{
    if (dice(12) == 0) {
        buf_add_text(text, "\n\n" HEADER);
        add_times(text, ROW, dice(30));
        buf_add_text(text, "\n");
    } else if (dice(40) == 0) {
        add_times(text, pieces[dice(COUNT_OF(pieces))], dice(600));
    } else {
        buf_add_text(text, pieces[dice(COUNT_OF(pieces))]);
    }
}

/* The row is not cut. */
static void check_rows(const char *text, size_t at)
{
    const char *begin = text + at;

    while (begin > text && begin[-1] != '\n')
        begin--;
    if (strncmp(begin, ROW, strlen(ROW)) == 0 && text + at != begin &&
        text + at != begin + strlen(ROW) - 1)
        fail_msg("a row is cut at %zu: %.60s", at, begin);
}

static void check_chunks(const char *text, size_t length, const struct chunks *chunks,
                         struct chunking chunking)
{
    size_t covered = 0;

    for (size_t n = 0; n < chunks->count; n++) {
        const struct chunk *chunk = &chunks->items[n];
        size_t end = chunk->begin + chunk->length;
        AUTO_FREE char *part = shown(chunks, n, text);

        assert_int_equal(chunk->n, n);
        assert_true(chunk->length > 0 && end <= length);
        assert_false(is_blank(text[chunk->begin]));
        assert_false(is_blank(text[end - 1]));
        assert_true(json_valid_utf8(text + chunk->begin, chunk->length));
        assert_true(json_valid_utf8(chunk->heading, strlen(chunk->heading)));
        check_rows(text, chunk->begin);
        check_rows(text, end);

        /* Size kept, and counted right. */
        assert_true(chunk->tokens <= chunking.max_tokens);
        assert_in_range(words_tokens(NULL, part, strlen(part)),
                        chunk->tokens - (chunk->head_length ? 1 : 0), chunk->tokens);

        /* The text covered, and the overlap not more than asked. */
        for (; covered < chunk->begin; covered++)
            assert_true(is_blank(text[covered]));
        if (n) {
            const struct chunk *before = chunk - 1;
            size_t stop = before->begin + before->length;

            assert_true(chunk->begin > before->begin);
            assert_true(end > stop);
            if (stop > chunk->begin) {
                assert_true(words_tokens(NULL, text + chunk->begin, stop - chunk->begin) <=
                            chunking.overlap_tokens);
            }
        }
        covered = end;
    }
    for (; covered < length; covered++)
        assert_true(is_blank(text[covered]));
}

TEST(random_texts_are_covered_by_chunks_of_the_right_size)
{
    for (unsigned round = 0; round < 300; round++) {
        struct chunking chunking = {.max_tokens = 100 + (round % 7) * 60};
        AUTO_BUF text = {0};
        struct chunks chunks;

        chunking.overlap_tokens = (round % 5) * chunking.max_tokens / 8;
        random_seed = round;
        for (size_t i = 0; i < 50 * (size_t)round; i++)
            add_random(&text);
        chunks = cut(text.data ? text.data : "", chunking.max_tokens, chunking.overlap_tokens);
        check_chunks(text.data, text.length, &chunks, chunking);
        chunks_clear(&chunks);
    }
}

/* In prose there is always a blank where the overlap should begin. */
TEST(prose_overlaps_as_asked)
{
    AUTO_BUF text = {0};
    struct chunks chunks;

    for (int i = 0; i < 3000; i++)
        buf_add_text(&text, i % 11 ? "word and " : "its end. ");
    chunks = cut(text.data, 200, 80);
    for (size_t n = 1; n < chunks.count; n++) {
        const struct chunk *chunk = &chunks.items[n], *before = chunk - 1;
        size_t stop = before->begin + before->length;

        assert_true(stop > chunk->begin);
        assert_in_range(words_tokens(NULL, text.data + chunk->begin, stop - chunk->begin), 70,
                        80);
        assert_in_range(before->tokens, 174, 200);
    }
    chunks_clear(&chunks);
}

/* Counts as a model might: one for each word of up to eight letters. */
static size_t count_words(const void *arg, const char *text, size_t length)
{
    size_t words = 0;

    ++*(size_t *)(uintptr_t)arg;
    for (size_t i = 0, letters = 0; i < length; i++) {
        letters = is_blank(text[i]) ? 0 : letters + 1;
        words += letters % 8 == 1;
    }
    return words;
}

TEST(a_counter_sets_the_sizes)
{
    size_t calls = 0;
    struct token_counter counter = {.count = count_words, .arg = &calls};
    struct chunking chunking = {.max_tokens = 100, .overlap_tokens = 50};
    struct chunks chunks;
    AUTO_BUF text = {0};

    for (int i = 0; i < 1000; i++)
        buf_add_text(&text, i % 10 ? "incomprehensibility " : "end. ");
    assert_int_equal(chunks_make(&chunking, &counter, text.data, text.length, &chunks, NULL),
                     ERR_OK);
    assert_in_range(chunks.count, 50, 70);
    assert_true(calls < 3000); /* each word once */
    for (size_t n = 0; n + 1 < chunks.count; n++) {
        const struct chunk *chunk = &chunks.items[n];

        assert_in_range(chunk->tokens, 86, 100);
        assert_int_equal(count_words(&calls, text.data + chunk->begin, chunk->length),
                         chunk->tokens);
    }
    chunks_clear(&chunks);
}

static size_t count_nothing(const void *arg, const char *text, size_t length)
{
    (void)arg, (void)text, (void)length;
    return 0;
}

TEST(a_counter_that_counts_nothing_ends_too)
{
    struct token_counter counter = {.count = count_nothing};
    struct chunking chunking = CHUNKING_AUTO;
    struct chunks chunks;
    AUTO_BUF text = {0};

    add_times(&text, "word ", 10000);
    assert_int_equal(chunks_make(&chunking, &counter, text.data, text.length, &chunks, NULL),
                     ERR_OK);
    assert_in_range(chunks.count, 2, 10);
    chunks_clear(&chunks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_text_is_one_chunk),
        cmocka_unit_test(blanks_alone_are_no_chunk),
        cmocka_unit_test(a_chunk_ends_at_the_best_place),
        cmocka_unit_test(a_long_run_is_cut_between_characters),
        cmocka_unit_test(a_chunk_knows_its_headings),
        cmocka_unit_test(a_fence_has_no_headings),
        cmocka_unit_test(a_long_path_loses_its_outer_headings),
        cmocka_unit_test(a_chunk_knows_its_page),
        cmocka_unit_test(a_table_is_cut_between_rows_and_repeats_its_header),
        cmocka_unit_test(a_header_that_is_too_large_is_not_repeated),
        cmocka_unit_test(a_large_row_gets_a_chunk_of_its_own),
        cmocka_unit_test(a_row_that_fits_into_no_chunk_is_cut),
        cmocka_unit_test(too_many_chunks_are_refused),
        cmocka_unit_test(random_texts_are_covered_by_chunks_of_the_right_size),
        cmocka_unit_test(prose_overlaps_as_asked),
        cmocka_unit_test(a_counter_sets_the_sizes),
        cmocka_unit_test(a_counter_that_counts_nothing_ends_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
