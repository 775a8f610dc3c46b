/* F44: which output of a client answers an approval request. */

#include <stdio.h>
#include <stdlib.h>

#include "core/base/buf.h"
#include "core/run/approval/approval_answer.h"
#include "tests/support/test.h"

static void expect(const char *text, int approve, const char *reason)
{
    struct approval_reply reply = approval_reply_parse(text);

    assert_int_equal(reply.approve, approve);
    if (reason)
        assert_string_equal(reply.reason, reason);
    else
        assert_null(reply.reason);
    approval_reply_clear(&reply);
}

TEST(test_every_form_of_an_answer_is_read)
{
    expect("{\"approve\":true}", 1, NULL);
    expect("{\"approve\":true,\"reason\":\"fine\"}", 1, "fine");
    expect("{\"approve\":false,\"reason\":\"no\"}", 0, "no");
    expect("true", 1, NULL);
    expect(" approve\n", 1, NULL);
    expect("false", 0, NULL);
    expect("reject", 0, NULL);
}

TEST(test_an_unreadable_answer_is_no_approval)
{
    static const char *const bad[] = {
        "",
        "yes",
        "True",
        "approved",
        "{}",
        "{\"approve\":1}",
        "{\"approve\":\"true\"}",
        "{\"approve\":true,\"persistDescision\":false}",
        "{\"approve\":false,\"approve\":true}",
        "{\"approve\":true",
        "[true]",
        "true false",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        expect(bad[i], 0, "The answer to the approval request could not be read.");
}

/* F35: an invalid value is not remembered. */
TEST(test_an_answer_with_a_misspelt_remember_is_no_approval)
{
    struct approval_reply reply =
        approval_reply_parse("{\"approve\":true,\"remember\":{\"scope\":\"all\"}}");

    assert_false(reply.approve);
    assert_true(reply.unreadable);
    approval_reply_clear(&reply);
    reply = approval_reply_parse("{\"approve\":false,\"remember\":{\"match\":\"tool\"}}");
    assert_false(reply.unreadable);
    assert_non_null(json_object_get(reply.said, "remember"));
    approval_reply_clear(&reply);
}

static struct approval_reply with_reason(const char *letter, size_t count)
{
    AUTO_BUF text = {0};

    buf_add_text(&text, "{\"approve\":true,\"reason\":\"");
    while (count--)
        buf_add_text(&text, letter);
    buf_add_text(&text, "\"}");
    return approval_reply_parse(text.data);
}

/* The limit counts characters, and not bytes. */
TEST(test_an_answer_with_a_too_long_reason_is_no_approval)
{
    static const char *const letters[] = {"x", "é"};

    for (size_t i = 0; i < sizeof(letters) / sizeof(*letters); i++) {
        struct approval_reply reply = with_reason(letters[i], APPROVAL_REASON_LIMIT);

        assert_true(reply.approve);
        approval_reply_clear(&reply);
        reply = with_reason(letters[i], APPROVAL_REASON_LIMIT + 1);
        assert_false(reply.approve);
        assert_true(reply.unreadable);
        approval_reply_clear(&reply);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_form_of_an_answer_is_read),
        cmocka_unit_test(test_an_unreadable_answer_is_no_approval),
        cmocka_unit_test(test_an_answer_with_a_misspelt_remember_is_no_approval),
        cmocka_unit_test(test_an_answer_with_a_too_long_reason_is_no_approval),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
