#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/mcp/mcp_message.h"
#include "tests/support/test.h"

TEST(a_request_has_an_id_and_a_notification_none)
{
    json_auto_t *params = json_build("{s:i}", "a", 1);
    AUTO_FREE char *request = mcp_request_text(7, "tools/list", params);
    AUTO_FREE char *notification = mcp_notification_text("notifications/initialized", NULL);

    assert_string_equal(
        request,
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\",\"params\":{\"a\":1}}");
    assert_string_equal(notification,
                        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
}

TEST(a_ping_is_answered_and_every_other_request_refused)
{
    json_auto_t *ping = json_build("{s:s, s:s}", "id", "p", "method", "ping");
    json_auto_t *sampling =
        json_build("{s:i, s:s}", "id", 3, "method", "sampling/createMessage");
    AUTO_FREE char *pong = mcp_reply_text(ping);
    AUTO_FREE char *refusal = mcp_reply_text(sampling);

    assert_string_equal(pong, "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"result\":{}}");
    assert_non_null(strstr(refusal, "\"id\":3,\"error\":{\"code\":-32601"));
}

static enum mcp_message_kind kind_of(const char *text)
{
    json_auto_t *message = json_parse_own(text);

    return mcp_message_kind(message, 7);
}

TEST(only_a_message_with_the_id_of_the_request_is_its_answer)
{
    assert_int_equal(kind_of("{\"id\":7,\"result\":{}}"), MCP_MESSAGE_ANSWER);
    assert_int_equal(kind_of("{\"id\":7,\"error\":{}}"), MCP_MESSAGE_ANSWER);
    assert_int_equal(kind_of("{\"id\":8,\"result\":{}}"), MCP_MESSAGE_OTHER);
    assert_int_equal(kind_of("{\"id\":\"7\",\"result\":{}}"), MCP_MESSAGE_OTHER);
    assert_int_equal(kind_of("{\"id\":7,\"method\":\"ping\"}"), MCP_MESSAGE_REQUEST);
    assert_int_equal(kind_of("{\"method\":\"notifications/x\"}"), MCP_MESSAGE_OTHER);
    assert_int_equal(kind_of("{\"method\":\"notifications/tools/list_changed\"}"),
                     MCP_MESSAGE_LIST_CHANGED);
    assert_int_equal(kind_of("{\"id\":null,\"error\":{}}"), MCP_MESSAGE_OTHER);
    assert_int_equal(kind_of("[]"), MCP_MESSAGE_OTHER);
}

TEST(only_known_versions_are_accepted)
{
    assert_true(mcp_version_is_known("2025-06-18"));
    assert_true(mcp_version_is_known("2025-03-26"));
    assert_false(mcp_version_is_known("2099-01-01"));
    assert_false(mcp_version_is_known(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_has_an_id_and_a_notification_none),
        cmocka_unit_test(a_ping_is_answered_and_every_other_request_refused),
        cmocka_unit_test(only_a_message_with_the_id_of_the_request_is_its_answer),
        cmocka_unit_test(only_known_versions_are_accepted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
