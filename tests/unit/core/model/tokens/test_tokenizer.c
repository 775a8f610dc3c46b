#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/model/model.h"
#include "core/model/tokens/ranks.h"
#include "core/model/tokens/tokenizer.h"
#include "tests/support/test.h"

static struct err err;

/* ---- A small rank file ---- */

static const char *const merges[] = {"he", "ll",   "hell", "hello", " w",
                                     "or", " wor", "ld",   "!!"};

static void add_line(struct buf *file, const char *bytes, size_t length, size_t rank)
{
    char text[64];

    sodium_bin2base64(text, sizeof(text), (const unsigned char *)bytes, length,
                      sodium_base64_VARIANT_ORIGINAL);
    buf_addf(file, "%s %zu\n", text, rank);
}

static void add_bytes(struct buf *file)
{
    for (int byte = 0; byte < 256; byte++) {
        char only = (char)byte;

        add_line(file, &only, 1, (size_t)byte);
    }
}

static void write_ranks(struct buf *file)
{
    add_bytes(file);
    for (size_t i = 0; i < COUNT_OF(merges); i++)
        add_line(file, merges[i], strlen(merges[i]), 256 + i);
}

static struct ranks *small_ranks(void)
{
    AUTO_BUF file = {0};
    struct ranks *ranks = NULL;

    write_ranks(&file);
    assert_int_equal(ranks_parse("small", file.data, file.length, &ranks, &err), ERR_OK);
    return ranks;
}

static struct tokenizer *small_tokenizer(const char *split)
{
    AUTO_BUF file = {0};
    struct tokenizer *tokenizer = NULL;

    write_ranks(&file);
    if (tokenizer_parse("small", split, file.data, file.length, &tokenizer, &err))
        fail_msg("%s", err.text);
    return tokenizer;
}

static int64_t tokens(const struct tokenizer *tokenizer, const char *text)
{
    return tokenizer_count(tokenizer, text, strlen(text));
}

/* ---- Pieces ---- */

TEST(a_piece_is_merged_by_rank)
{
    struct ranks *ranks = small_ranks();

    assert_int_equal(ranks_count(ranks, "", 0), 0);
    assert_int_equal(ranks_count(ranks, "x", 1), 1);
    assert_int_equal(ranks_count(ranks, "hello", 5), 1);
    assert_int_equal(ranks_count(ranks, "hellox", 6), 2); /* hello, x */
    assert_int_equal(ranks_count(ranks, "helol", 5), 4);  /* he, l, o, l */
    assert_int_equal(ranks_count(ranks, " world", 6), 2); /* " wor", ld */
    assert_int_equal(ranks_count(ranks, "!!!", 3), 2);    /* !!, ! */
    assert_int_equal(ranks_count(ranks, "lllll", 5), 3);  /* ll, ll, l: from the left */
    assert_int_equal(ranks_count(ranks, "\xff\xfe", 2), 2);
    ranks_free(ranks);
}

/* The definition, without a heap: joins the neighbours whose token has the lowest rank. */
struct plain {
    char token[600][24];
    size_t length[600];
    size_t count;
};

static long plain_rank(const struct plain *plain, const char *bytes, size_t length)
{
    for (size_t i = 0; i < plain->count; i++)
        if (plain->length[i] == length && memcmp(plain->token[i], bytes, length) == 0)
            return (long)i;
    return -1;
}

static size_t plain_count(const struct plain *plain, const char *piece, size_t length)
{
    size_t ends[64];
    size_t parts = length;

    for (size_t i = 0; i < length; i++)
        ends[i] = i + 1;
    for (;;) {
        size_t best = 0;
        long best_rank = -1;

        for (size_t i = 0; i + 1 < parts; i++) {
            size_t from = i ? ends[i - 1] : 0;
            long rank = plain_rank(plain, piece + from, ends[i + 1] - from);

            if (rank >= 0 && (best_rank < 0 || rank < best_rank)) {
                best = i;
                best_rank = rank;
            }
        }
        if (best_rank < 0)
            return parts;
        memmove(ends + best, ends + best + 1, (parts - best - 1) * sizeof(*ends));
        parts--;
    }
}

/* The same random numbers in every run. */
static size_t dice(size_t sides)
{
    static uint32_t state = 7;

    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state % sides;
}

static void grow(struct plain *plain, struct buf *file)
{
    size_t left = 256 + dice(plain->count - 255) - 1;
    size_t right = 256 + dice(plain->count - 255) - 1;
    char both[24];
    size_t length;

    left = left == 255 ? 'a' + dice(3) : left;
    right = right == 255 ? 'a' + dice(3) : right;
    length = plain->length[left] + plain->length[right];
    if (length > sizeof(both))
        return;
    memcpy(both, plain->token[left], plain->length[left]);
    memcpy(both + plain->length[left], plain->token[right], plain->length[right]);
    if (plain_rank(plain, both, length) >= 0)
        return;
    memcpy(plain->token[plain->count], both, length);
    plain->length[plain->count] = length;
    add_line(file, both, length, plain->count++);
}

TEST(merging_agrees_with_a_simple_implementation)
{
    for (int round = 0; round < 30; round++) {
        struct plain *plain = mem_new(struct plain);
        struct ranks *ranks = NULL;
        AUTO_BUF file = {0};

        add_bytes(&file);
        for (; plain->count < 256; plain->count++) {
            plain->token[plain->count][0] = (char)plain->count;
            plain->length[plain->count] = 1;
        }
        for (int i = 0; i < 60; i++)
            grow(plain, &file);
        assert_int_equal(ranks_parse("random", file.data, file.length, &ranks, &err), ERR_OK);
        for (int i = 0; i < 300; i++) {
            char piece[60];
            size_t length = 1 + dice(sizeof(piece));

            for (size_t at = 0; at < length; at++)
                piece[at] = (char)('a' + (int)dice(3));
            /* A piece that is a token counts as one, even if no merges lead to it. */
            if (plain_rank(plain, piece, length) >= 0)
                assert_int_equal(ranks_count(ranks, piece, length), 1);
            else
                assert_int_equal(ranks_count(ranks, piece, length),
                                 plain_count(plain, piece, length));
        }
        ranks_free(ranks);
        free(plain);
    }
}

TEST(a_long_piece_does_not_take_quadratic_time)
{
    struct ranks *ranks = small_ranks();
    size_t length = (size_t)2 << 20;
    char *piece = mem_new_array(char, length);
    uint64_t begin = clock_thread_ns();

    memset(piece, 'l', length);
    assert_int_equal(ranks_count(ranks, piece, length), length / 2);
    assert_true(clock_thread_ns() - begin <
                60 * NS_PER_SECOND); /* in quadratic time it would take hours */
    free(piece);
    ranks_free(ranks);
}

/* ---- Texts ---- */

TEST(text_is_split_before_it_is_merged)
{
    struct tokenizer *tokenizer = small_tokenizer("cl100k");

    assert_int_equal(tokens(tokenizer, ""), 0);
    assert_int_equal(tokens(tokenizer, "hello"), 1);
    assert_int_equal(tokens(tokenizer, "hello world"), 3);
    assert_int_equal(tokens(tokenizer, "hello world!!"), 4);
    assert_int_equal(tokens(tokenizer, "hello\n\nhello"), 4);
    assert_int_equal(tokens(tokenizer, "\xc3\xa4"), 2); /* one letter, two bytes */
    tokenizer_free(tokenizer);
}

TEST(every_well_known_split_is_an_expression)
{
    static const char *const names[] = {"r50k", "p50k", "cl100k", "o200k"};

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct tokenizer *tokenizer = small_tokenizer(names[i]);

        assert_int_equal(tokens(tokenizer, "hello world"), 3);
        assert_int_equal(tokens(tokenizer, "  hello   world  "), 9);
        tokenizer_free(tokenizer);
    }
}

TEST(text_that_the_expression_does_not_match_is_counted)
{
    struct tokenizer *tokenizer = small_tokenizer("[a-z]+");

    assert_int_equal(tokens(tokenizer, "hello, hello!"), 5); /* hello "," " " hello ! */
    tokenizer_free(tokenizer);
}

TEST(without_a_file_the_count_is_estimated)
{
    assert_int_equal(tokens(NULL, ""), 0);
    assert_int_equal(tokens(NULL, "a"), 1);
    assert_int_equal(tokens(NULL, "four"), 1);
    assert_int_equal(tokens(NULL, "fives"), 2);
    assert_int_equal(tokens(NULL, "\xe4\xbd\xa0\xe5\xa5\xbd"), 2);
    assert_int_equal(tokens(NULL, "\xd0\xb4\xd0\xb0"), 1);
}

/* ---- Files ---- */

static void refused(const char *text, const char *part)
{
    struct tokenizer *tokenizer = NULL;

    assert_int_equal(tokenizer_parse("bad", "cl100k", text, strlen(text), &tokenizer, &err),
                     ERR_INVALID);
    assert_null(tokenizer);
    if (!strstr(err.text, part))
        fail_msg("'%s' does not say '%s'", err.text, part);
}

TEST(a_bad_file_is_refused_with_its_line)
{
    refused("AA== 0\nwhat\n", "bad:2: expected a token in base64");
    refused("AA== 0\n*** 1\n", "bad:2: expected a token in base64");
    refused(" 1\n", "bad:1: expected a token in base64");
    refused("AA== x\n", "bad:1: the rank is not a number");
    refused("AA== 99999999999999999999\n", "bad:1: the rank is not a number");
    refused("AA== 0\nAQ== 1\n", "bad: the byte 0x02 has no token");
}

TEST(an_unknown_split_must_be_an_expression)
{
    struct tokenizer *tokenizer = NULL;
    AUTO_BUF file = {0};

    write_ranks(&file);
    assert_int_equal(
        tokenizer_parse("mine.tiktoken", NULL, file.data, file.length, &tokenizer, &err),
        ERR_INVALID);
    assert_non_null(strstr(err.text, "does not tell how its text is split"));
    assert_int_equal(
        tokenizer_parse("mine.tiktoken", "(", file.data, file.length, &tokenizer, &err),
        ERR_INVALID);
    assert_non_null(strstr(err.text, "missing closing parenthesis"));
    assert_int_equal(tokenizer_parse("/x/cl100k_base.tiktoken", NULL, file.data, file.length,
                                     &tokenizer, &err),
                     ERR_OK);
    tokenizer_free(tokenizer);
}

TEST(upstreams_share_a_file)
{
    char path[] = "/tmp/runnel-ranks-XXXXXX";
    AUTO_BUF file = {0};
    int fd = mkstemp(path);
    struct model_upstream list[] = {
        {.name = "a", .tokenizer_file = path, .tokenizer_split = "o200k"},
        {.name = "b"},
        {.name = "c", .tokenizer_file = path, .tokenizer_split = "o200k"},
        {.name = "d", .tokenizer_file = path, .tokenizer_split = "r50k"},
    };

    write_ranks(&file);
    assert_int_equal(write(fd, file.data, file.length), file.length);
    close(fd);
    assert_int_equal(model_upstreams_load(list, 4, &err), ERR_OK);
    assert_non_null(list[0].tokenizer);
    assert_null(list[1].tokenizer);
    assert_ptr_equal(list[2].tokenizer, list[0].tokenizer);
    assert_ptr_not_equal(list[3].tokenizer, list[0].tokenizer);
    model_upstreams_unload(list, 4);
    unlink(path);
    assert_int_equal(model_upstreams_load(list, 4, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "the tokenizer of upstream a: cannot open /tmp/"));
    assert_null(list[0].tokenizer);
}

/* ---- Requests ---- */

TEST(all_parts_of_a_request_are_counted)
{
    struct tokenizer *tokenizer = small_tokenizer("cl100k");
    json_auto_t *request = json_build(
        "{s:[{s:s, s:s}, {s:s, s:n, s:[{s:{s:s, s:s}}]}, {s:s, s:s}]}", "messages", "role",
        "user", "content", "hello world", "role", "assistant", "content", "tool_calls",
        "function", "name", "hello", "arguments", "!!", "role", "tool", "content", "hello");
    int64_t plain = tokenizer_count_request(tokenizer, request);
    json_t *format = json_build("{s:s}", "type", "json_object");

    assert_int_equal(plain, TOKENS_OF_ANSWER + 3 * TOKENS_OF_MESSAGE + 3 +
                                (TOKENS_OF_MESSAGE + 1 + 1) + 1);
    json_set_string(json_array_get(json_object_get(request, "messages"), 1), "reasoning",
                    "hello");
    assert_int_equal(tokenizer_count_request(tokenizer, request), ++plain);
    json_set(request, "response_format", format);
    assert_true(tokenizer_count_request(tokenizer, request) > plain);
    tokenizer_free(tokenizer);
}

TEST(pictures_and_files_have_a_fixed_cost)
{
    json_auto_t *content = json_build(
        "[{s:s, s:s}, {s:s, s:{s:s, s:s}}, {s:s, s:{s:s}}, {s:s, s:{s:s}}, {s:s, s:{s:s}}]",
        "type", "text", "text", "four", "type", "image_url", "image_url", "url", "x", "detail",
        "low", "type", "image_url", "image_url", "url", "x", "type", "file", "file", "file_id",
        "file-1", "type", "file", "file", "file_data", "data:text/plain;base64,AAAAAAAAA");

    assert_int_equal(tokenizer_count_content(NULL, content),
                     1 + TOKENS_OF_LOW_IMAGE + TOKENS_OF_IMAGE + TOKENS_OF_FILE + 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_piece_is_merged_by_rank),
        cmocka_unit_test(merging_agrees_with_a_simple_implementation),
        cmocka_unit_test(a_long_piece_does_not_take_quadratic_time),
        cmocka_unit_test(text_is_split_before_it_is_merged),
        cmocka_unit_test(every_well_known_split_is_an_expression),
        cmocka_unit_test(text_that_the_expression_does_not_match_is_counted),
        cmocka_unit_test(without_a_file_the_count_is_estimated),
        cmocka_unit_test(a_bad_file_is_refused_with_its_line),
        cmocka_unit_test(an_unknown_split_must_be_an_expression),
        cmocka_unit_test(upstreams_share_a_file),
        cmocka_unit_test(all_parts_of_a_request_are_counted),
        cmocka_unit_test(pictures_and_files_have_a_fixed_cost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
