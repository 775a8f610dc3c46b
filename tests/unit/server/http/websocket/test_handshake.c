#include <string.h>

#include "core/base/mem.h"
#include "server/http/websocket/handshake.h"
#include "tests/support/test.h"

static const struct ws_handshake good = {
    .http_version = "HTTP/1.1",
    .connection = "keep-alive, Upgrade",
    .upgrade = "websocket",
    .version = "13",
    .key = "dGhlIHNhbXBsZSBub25jZQ==",
};

static int status_of(const struct ws_handshake *handshake)
{
    char accept[WS_ACCEPT_SIZE];
    struct err err = {0};
    int status = 0;

    if (ws_handshake_check(handshake, accept, &status, &err) == ERR_OK)
        return 101;
    assert_true(*err.text);
    return status;
}

TEST(the_example_of_the_rfc_is_accepted)
{
    char accept[WS_ACCEPT_SIZE];
    int status;

    assert_int_equal(ws_handshake_check(&good, accept, &status, NULL), ERR_OK);
    assert_string_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(a_handshake_with_a_missing_header_is_refused)
{
    struct ws_handshake one = good;

    one.http_version = "HTTP/1.0";
    assert_int_equal(status_of(&one), 400);
    one = good;
    one.connection = "upgraded";
    assert_int_equal(status_of(&one), 400);
    one = good;
    one.connection = NULL;
    assert_int_equal(status_of(&one), 400);
    one = good;
    one.version = "12";
    assert_int_equal(status_of(&one), 426);
    one = good;
    one.key = "dGhlIHNhbXBsZSBub25jZQ=";
    assert_int_equal(status_of(&one), 400);
    one.key = "dGhlIHNhbXBsZSBub25jZTEy";
    assert_int_equal(status_of(&one), 400);
}

TEST(only_an_upgrade_to_websocket_counts)
{
    struct ws_handshake one = good;

    assert_true(ws_handshake_asked(&one));
    one.upgrade = "h2c, WebSocket";
    assert_true(ws_handshake_asked(&one));
    one.upgrade = "h2c";
    assert_false(ws_handshake_asked(&one));
    one.upgrade = NULL;
    assert_false(ws_handshake_asked(&one));
}

static void expect_protocols(const char *offered, const char *bearer, const char *protocol)
{
    struct ws_handshake one = good;
    AUTO_FREE char *got_bearer = NULL;
    AUTO_FREE char *got_protocol = NULL;

    one.protocols = offered;
    got_bearer = ws_handshake_bearer(&one);
    got_protocol = ws_handshake_protocol(&one);
    assert_string_equal(got_bearer ? got_bearer : "none", bearer);
    assert_string_equal(got_protocol ? got_protocol : "none", protocol);
}

TEST(a_key_may_come_as_a_protocol)
{
    expect_protocols(NULL, "none", "none");
    expect_protocols("", "none", "none");
    expect_protocols("responses", "none", "responses");
    expect_protocols("responses, openai-insecure-api-key.sk-1", "Bearer sk-1", "responses");
    expect_protocols("openai-insecure-api-key.sk-1,realtime , other", "Bearer sk-1",
                     "realtime");
    expect_protocols("openai-insecure-api-key.sk-1", "Bearer sk-1", "none");
    expect_protocols("openai-insecure-api-key., x", "none", "openai-insecure-api-key.");
    expect_protocols("x-openai-insecure-api-key.sk-1", "none",
                     "x-openai-insecure-api-key.sk-1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_of_the_rfc_is_accepted),
        cmocka_unit_test(a_handshake_with_a_missing_header_is_refused),
        cmocka_unit_test(only_an_upgrade_to_websocket_counts),
        cmocka_unit_test(a_key_may_come_as_a_protocol),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
