/*
 * What a reader hands out is written as text, and compared: for the bytes in one piece, for every
 * cut into two, for every cut into three of short forms, and byte by byte.
 */

#include <string.h>

#include "core/base/buf.h"
#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "server/http/parse/multipart.h"
#include "tests/support/test.h"

#define FIELD(name) "Content-Disposition: form-data; name=\"" name "\"\r\n\r\n"

/* "<name" or "<name|filename", the data, ">" */
struct noted {
    struct buf text;
    size_t fail_at; /* calls until one fails; 0: none */
};

static enum err_code count_call(struct noted *noted, struct err *err)
{
    return noted->fail_at && !--noted->fail_at ? err_set(err, ERR_STORE, "full") : ERR_OK;
}

static enum err_code note_begin(void *arg, struct part_head *head, struct err *err)
{
    struct noted *noted = arg;

    buf_addf(&noted->text, "<%s%s%s:", head->name, head->filename ? "|" : "",
             head->filename ? head->filename : "");
    return count_call(noted, err);
}

static enum err_code note_data(void *arg, const char *bytes, size_t size, struct err *err)
{
    struct noted *noted = arg;

    assert_true(size > 0);
    buf_add(&noted->text, bytes, size);
    return count_call(noted, err);
}

static enum err_code note_end(void *arg, struct err *err)
{
    struct noted *noted = arg;

    buf_add_text(&noted->text, ">");
    return count_call(noted, err);
}

static const struct multipart_taker taker = {note_begin, note_data, note_end};

/* Each piece has memory of its own, so that reading beyond it is noticed. */
static enum err_code take_piece(struct multipart *reader, const char *bytes, size_t size,
                                struct err *err)
{
    AUTO_FREE char *piece = mem_strndup(bytes, size);

    return multipart_take(reader, piece, size, err);
}

/* Cut in front of `first` and of `second`. The error, if there is one, is written behind the parts. */
static char *read_cut(const char *body, size_t size, size_t first, size_t second)
{
    struct noted noted = {0};
    struct multipart *reader = multipart_new("b-1", &taker, &noted);
    struct err err = {0};
    enum err_code rc = take_piece(reader, body, first, &err);

    if (!rc)
        rc = take_piece(reader, body + first, second - first, &err);
    if (!rc)
        rc = take_piece(reader, body + second, size - second, &err);
    if (!rc)
        rc = multipart_end(reader, &err);
    if (rc)
        buf_addf(&noted.text, "!%s", err.text);
    multipart_free(reader);
    return buf_take(&noted.text);
}

static char *read_bytes(const char *body, size_t size)
{
    struct noted noted = {0};
    struct multipart *reader = multipart_new("b-1", &taker, &noted);
    struct err err = {0};
    enum err_code rc = ERR_OK;

    for (size_t i = 0; !rc && i < size; i++)
        rc = take_piece(reader, body + i, 1, &err);
    if (!rc)
        rc = multipart_end(reader, &err);
    if (rc)
        buf_addf(&noted.text, "!%s", err.text);
    multipart_free(reader);
    return buf_take(&noted.text);
}

static void expect_bytes(const char *body, size_t size, const char *expected)
{
    AUTO_FREE char *single = read_bytes(body, size);

    assert_string_equal(single, expected);
    for (size_t first = 0; first <= size; first++) {
        for (size_t second = first; second <= size; second += size > 300 ? size / 7 + 1 : 1) {
            AUTO_FREE char *noted = read_cut(body, size, first, second);

            assert_string_equal(noted, expected);
        }
    }
}

static void expect(const char *body, const char *expected)
{
    expect_bytes(body, strlen(body), expected);
}

static void expect_refused(const char *body, const char *noted, const char *why)
{
    AUTO_FREE char *expected =
        mem_printf("%s!We could not parse the form of your request: %s.", noted, why);

    expect(body, expected);
}

TEST(parts_are_handed_out_in_their_order)
{
    expect("--b-1\r\n" FIELD("a") "one\r\n--b-1\r\n" FIELD("b") "two\r\n--b-1--\r\n",
           "<a:one><b:two>");
    expect("--b-1\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x.txt\"\r\n"
           "Content-Type: text/plain\r\n\r\nabc\r\n--b-1\r\n" FIELD(
               "purpose") "assistants\r\n--b-1--\r\n",
           "<file|x.txt:abc><purpose:assistants>");
    expect("--b-1\r\n" FIELD("a") "\r\n--b-1--", "<a:>");
    expect("--b-1 \t \r\n" FIELD("a") "x\r\n--b-1--\r\n\r\n", "<a:x>");
    expect("--b-1--\r\n", "");
}

TEST(data_may_look_like_a_boundary)
{
    expect("--b-1\r\n" FIELD(
               "a") "\r\n\r\r\n\n--b-1\r--b-1\n--b-1\r\n-\r\n--\r\n--b\r\n--b-\r\n--b-2"
                    "\r\n\r\n--b-1--\r\n",
           "<a:\r\n\r\r\n\n--b-1\r--b-1\n--b-1\r\n-\r\n--\r\n--b\r\n--b-\r\n--b-2\r\n>");
    expect("--b-1\r\n" FIELD("a") "--b-1--\r\n--b-1--\r\n", "<a:--b-1-->");
}

TEST(a_form_without_its_end_is_refused)
{
    static const char why[] = "expected multipart/form-data that ends with its boundary";

    expect_refused("", "", why);
    expect_refused("--b-", "", why);
    expect_refused("--b-1\r\n", "", why);
    expect_refused("--b-1\r\n" FIELD("a"), "<a:", why);
    expect_refused("--b-1\r\n" FIELD("a") "one", "<a:one", why);
    expect_refused("--b-1\r\n" FIELD("a") "one\r\n--b-1", "<a:one>", why);
    expect_refused("--b-1\r\n" FIELD("a") "one\r\n--b-1\r\n", "<a:one>", why);
    expect_refused("--b-1\r\n" FIELD("a") "one\r\n--b-1-", "<a:one>", why);
}

TEST(text_outside_of_the_parts_is_refused)
{
    expect_refused("hello\r\n--b-1--\r\n", "", "it does not begin with its boundary");
    expect_refused("--b-2\r\n", "", "it does not begin with its boundary");
    expect_refused("\r\n--b-1--\r\n", "", "it does not begin with its boundary");
    expect_refused("--b-1--\r\nhello", "", "there is text behind its last boundary");
    expect_refused("--b-1x\r\n", "", "a boundary has other text behind it");
    expect_refused("--b-1\n", "", "a boundary has other text behind it");
    expect_refused("--b-1-\r\n", "", "a boundary has other text behind it");
    expect_refused("--b-1 --\r\n", "", "a boundary has other text behind it");
    expect_refused("--b-1\r\r\n", "", "a boundary has other text behind it");
    expect_refused("--b-1\r\n" FIELD("a") "x\r\n--b-12\r\n", "<a:x>",
                   "a boundary has other text behind it");
}

TEST(a_head_that_is_wrong_is_refused)
{
    expect_refused("--b-1\r\n\r\nx\r\n--b-1--\r\n", "", "a part has no name");
    expect_refused("--b-1\r\nContent-Disposition: form-data; name=a\n\nx\r\n--b-1--\r\n", "",
                   "the head of a part is not well-formed");
    expect_refused("--b-1\r\nContent-Disposition: form-data\r\n\r\n", "", "a part has no name");
}

TEST(data_has_any_bytes)
{
    static const char body[] = "--b-1\r\n" FIELD("a") "x\0y\xFF\r\n\0\r\n--b-1--\r\n";
    struct noted noted = {0};
    struct multipart *reader = multipart_new("b-1", &taker, &noted);
    struct err err = {0};

    assert_int_equal(multipart_take(reader, body, sizeof(body) - 1, &err), ERR_OK);
    assert_int_equal(multipart_end(reader, &err), ERR_OK);
    assert_int_equal(noted.text.length, strlen("<a:x") + 6 + strlen(">"));
    assert_memory_equal(noted.text.data, "<a:x\0y\xFF\r\n\0>", noted.text.length);
    buf_clear(&noted.text);
    multipart_free(reader);
}

static char *repeated(const char *before, char byte, size_t count, const char *after)
{
    struct buf text = {0};

    buf_add_text(&text, before);
    memset(buf_reserve(&text, count), byte, count);
    buf_added(&text, count);
    buf_add_text(&text, after);
    return buf_take(&text);
}

TEST(a_head_is_limited_to_the_byte)
{
    static const char before[] = "--b-1\r\nContent-Disposition: form-data; name=a\r\nX: ";
    size_t rest = MULTIPART_HEAD_LIMIT - (strlen(before) - strlen("--b-1\r\n")) - 4;
    AUTO_FREE char *fits = repeated(before, 'x', rest, "\r\n\r\ny\r\n--b-1--\r\n");
    AUTO_FREE char *over = repeated(before, 'x', rest + 1, "\r\n\r\ny\r\n--b-1--\r\n");
    AUTO_FREE char *far_over = repeated(before, 'x', 100000, "");
    AUTO_FREE char *one = read_cut(fits, strlen(fits), 0, 5000);
    AUTO_FREE char *two = read_cut(over, strlen(over), 0, 5000);
    AUTO_FREE char *three = read_bytes(far_over, strlen(far_over));

    assert_string_equal(one, "<a:y>");
    assert_non_null(strstr(two, "the head of a part is too large."));
    assert_non_null(strstr(three, "the head of a part is too large."));
}

TEST(parts_are_limited)
{
    AUTO_BUF body = {0};
    AUTO_FREE char *noted = NULL;
    AUTO_FREE char *over = NULL;

    buf_add_text(&body, "--b-1");
    for (size_t i = 0; i < MULTIPART_PART_LIMIT; i++)
        buf_add_text(&body, "\r\n" FIELD("a") "\r\n--b-1");
    noted = read_cut(body.data, body.length, 0, 0);
    assert_null(strstr(noted, "512 parts"));
    buf_add_text(&body, "\r\n" FIELD("a") "\r\n--b-1--");
    over = read_cut(body.data, body.length, 0, 0);
    assert_non_null(strstr(over, "!The form of your request has more than 512 parts."));
}

TEST(an_error_of_the_taker_ends_the_reading)
{
    static const char body[] =
        "--b-1\r\n" FIELD("a") "one\r\n--b-1\r\n" FIELD("b") "two\r\n--b-1--\r\n";
    static const char *const noted_until[] = {"<a:",        "<a:one",        "<a:one>",
                                              "<a:one><b:", "<a:one><b:two", "<a:one><b:two>"};

    for (size_t i = 0; i < COUNT_OF(noted_until); i++) {
        struct noted noted = {.fail_at = i + 1};
        struct multipart *reader = multipart_new("b-1", &taker, &noted);
        struct err err = {0};

        assert_int_equal(multipart_take(reader, body, strlen(body), &err), ERR_STORE);
        assert_string_equal(err.text, "full");
        assert_string_equal(noted.text.data, noted_until[i]);
        assert_int_equal(multipart_end(reader, &err), ERR_INVALID);
        buf_clear(&noted.text);
        multipart_free(reader);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_handed_out_in_their_order),
        cmocka_unit_test(data_may_look_like_a_boundary),
        cmocka_unit_test(a_form_without_its_end_is_refused),
        cmocka_unit_test(text_outside_of_the_parts_is_refused),
        cmocka_unit_test(a_head_that_is_wrong_is_refused),
        cmocka_unit_test(data_has_any_bytes),
        cmocka_unit_test(a_head_is_limited_to_the_byte),
        cmocka_unit_test(parts_are_limited),
        cmocka_unit_test(an_error_of_the_taker_ends_the_reading),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
