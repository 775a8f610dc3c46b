#include <string.h>

#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "server/http/parse/part_head.h"
#include "tests/support/test.h"

#define NAMED "Content-Disposition: form-data; name=\"file\""

static void expect_text(const char *text, const char *expected)
{
    if (!expected) {
        assert_null(text);
        return;
    }
    assert_non_null(text);
    assert_string_equal(text, expected);
}

static void expect(const char *text, const char *name, const char *filename, const char *type)
{
    CLEANUP(part_head_clear) struct part_head head = {0};
    struct err err = {0};

    if (part_head_parse(text, strlen(text), &head, &err))
        fail_msg("%s: %s", text, err.text);
    expect_text(head.name, name);
    expect_text(head.filename, filename);
    expect_text(head.type, type);
}

static void expect_refused(const char *text, size_t length, const char *why)
{
    struct part_head head = {0};
    struct err err = {0};

    if (!part_head_parse(text, length, &head, &err))
        fail_msg("taken: %s", text);
    assert_null(head.name);
    assert_string_equal(err.text, why);
}

TEST(a_part_is_a_field_or_a_file)
{
    expect(NAMED "\r\n", "file", NULL, NULL);
    expect(NAMED "; filename=\"a.txt\"\r\n", "file", "a.txt", NULL);
    expect(NAMED "; filename=\"\"\r\n", "file", "", NULL);
    expect("content-disposition:form-data;NAME=x;FileName=y\r\nX-Other: z\r\n", "x", "y", NULL);
    expect("Content-Type: text/plain; charset=utf-8 \r\n" NAMED "\r\n", "file", NULL,
           "text/plain; charset=utf-8");
    expect("Content-Disposition: form-data; name=\"\"\r\n", "", NULL, NULL);
    expect("Content-Disposition: form-data; name=\"expires_after[seconds]\"\r\n",
           "expires_after[seconds]", NULL, NULL);
}

TEST(quotes_and_line_ends_in_names_are_what_the_client_meant)
{
    expect(NAMED "; filename=\"\xE6\x8A\xA5\xE5\x91\x8A %22a%22.md\"\r\n", "file",
           "\xE6\x8A\xA5\xE5\x91\x8A \"a\".md", NULL);
    expect(NAMED "; filename=\"a%0D%0ab\"\r\n", "file", "a\r\nb", NULL);
    expect(NAMED "; filename=\"100%25 %41%\"\r\n", "file", "100%25 %41%", NULL);
    expect(NAMED "; filename=\"a\\\"b\\\\c\"\r\n", "file", "a\"b\\c", NULL);
    expect(NAMED "; filename=\"C:\\notes\\a.txt\"\r\n", "file", "C:\\notes\\a.txt", NULL);
    expect(NAMED "; filename=\"a; name=b\"\r\n", "file", "a; name=b", NULL);
    expect(NAMED "; filename=\"caf\xE9\"\r\n", "file", "caf\xEF\xBF\xBD", NULL);
}

TEST(an_extended_filename_wins)
{
    expect(NAMED "; filename*=UTF-8''%e6%8a%a5.md\r\n", "file", "\xE6\x8A\xA5.md", NULL);
    expect(NAMED "; filename=\"x\"; filename*=utf-8'en'a%20b\r\n", "file", "a b", NULL);
    expect(NAMED "; filename*=UTF-8''y; filename=\"x\"\r\n", "file", "y", NULL);
    expect(NAMED "; filename*=UTF-8''a%00b\r\n", "file",
           "a\xEF\xBF\xBD"
           "b",
           NULL);
}

TEST(transfer_encodings_that_change_nothing_are_taken)
{
    expect(NAMED "\r\nContent-Transfer-Encoding: Binary\r\n", "file", NULL, NULL);
    expect(NAMED "\r\nContent-Transfer-Encoding: 8bit\r\n", "file", NULL, NULL);
}

TEST(what_two_readers_could_read_differently_is_refused)
{
    static const char *const texts[] = {
        "Content-Disposition: form-data; name=a; name=b\r\n",
        NAMED "; filename=a; filename=b\r\n",
        NAMED "; filename*=UTF-8''a; filename*=UTF-8''b\r\n",
        NAMED "; filename*=\"UTF-8''a\"\r\n",
        NAMED "; filename*=ISO-8859-1''a\r\n",
        NAMED "; filename*=UTF-8'a\r\n",
        NAMED "; filename*=UTF-8''%zz\r\n",
        NAMED "; filename*=UTF-8''a%4\r\n",
        NAMED "; filename*=\r\n",
        NAMED "; filename=\"a\r\n",
        NAMED "; filename=\"a\"b\r\n",
        NAMED "; filename=a b\r\n",
        NAMED " filename=a\r\n",
        NAMED "; filename\r\n",
        NAMED "\r\n" NAMED "\r\n",
        NAMED "\r\nContent-Type: a/b\r\nContent-Type: a/c\r\n",
        NAMED "\r\n Content-Type: a/b\r\n",
        NAMED "\r\nContent-Type : a/b\r\n",
        NAMED "\r\n: a\r\n",
        NAMED "\r\nnothing\r\n",
        NAMED "\r\nX: a\nb\r\n",
        NAMED "\r\nX: a\rb\r\n",
        NAMED "\r\nX: a\x1f\r\n",
        "Content-Disposition: attachment; name=a\r\n",
        "Content-Disposition: form-data-x; name=a\r\n",
    };

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        expect_refused(texts[i], strlen(texts[i]), "the head of a part is not well-formed");
    expect_refused(NAMED "\0\r\n", sizeof(NAMED "\0\r\n") - 1,
                   "the head of a part is not well-formed");
}

TEST(a_part_without_a_name_is_refused)
{
    expect_refused("", 0, "a part has no name");
    expect_refused("Content-Type: a/b\r\n", 19, "a part has no name");
    expect_refused("Content-Disposition: form-data\r\n", 32, "a part has no name");
}

TEST(an_encoded_part_is_refused)
{
    static const char text[] = NAMED "\r\nContent-Transfer-Encoding: base64\r\n";

    expect_refused(text, strlen(text), "a part has a Content-Transfer-Encoding");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_is_a_field_or_a_file),
        cmocka_unit_test(quotes_and_line_ends_in_names_are_what_the_client_meant),
        cmocka_unit_test(an_extended_filename_wins),
        cmocka_unit_test(transfer_encodings_that_change_nothing_are_taken),
        cmocka_unit_test(what_two_readers_could_read_differently_is_refused),
        cmocka_unit_test(a_part_without_a_name_is_refused),
        cmocka_unit_test(an_encoded_part_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
