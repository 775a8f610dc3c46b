#include <string.h>

#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "core/net/proxy/proxy_head.h"
#include "tests/support/test.h"

#define READY(text) assert_int_equal(read(&head, text), PROXY_HEAD_READY)

static enum proxy_head_state read(struct proxy_head *head, const char *text)
{
    proxy_head_clear(head);
    return proxy_head_read(head, text, strlen(text));
}

TEST(connect_asks_for_a_tunnel)
{
    CLEANUP(proxy_head_clear) struct proxy_head head = {0};

    READY("CONNECT files.example.org:443 HTTP/1.1\r\nHost: files.example.org:443\r\n\r\nbytes");
    assert_true(head.tunnel);
    assert_string_equal(head.host, "files.example.org");
    assert_int_equal(head.port, 443);
    assert_int_equal(head.size, strlen("CONNECT files.example.org:443 HTTP/1.1\r\n"
                                       "Host: files.example.org:443\r\n\r\n"));
    assert_int_equal(head.forward.length, 0);
    READY("CONNECT [::ffff:127.0.0.1]:80 HTTP/1.0\r\n\r\n");
    assert_string_equal(head.host, "[::ffff:127.0.0.1]");
}

TEST(a_url_becomes_a_request_to_its_host)
{
    CLEANUP(proxy_head_clear) struct proxy_head head = {0};

    READY("POST http://files.example.org/a?b=c HTTP/1.1\r\nHost: files.example.org\r\n"
          "Accept: */*\r\nProxy-Authorization: Basic x\r\nConnection: keep-alive, Host\r\n"
          "Proxy-Connection: keep-alive\r\nUpgrade: h2c\r\nContent-Length: 12\r\n\r\n");
    assert_false(head.tunnel);
    assert_int_equal(head.port, 80);
    assert_int_equal(head.body, 12);
    assert_string_equal(head.forward.data,
                        "POST /a?b=c HTTP/1.1\r\nHost: files.example.org\r\nAccept: */*\r\n"
                        "Content-Length: 12\r\nConnection: close\r\n\r\n");
    READY("GET http://a.example:8080 HTTP/1.1\r\n\r\n");
    assert_int_equal(head.port, 8080);
    assert_string_equal(head.forward.data,
                        "GET / HTTP/1.1\r\nHost: a.example:8080\r\nConnection: close\r\n\r\n");
    READY("GET HTTP://a.example?q HTTP/1.1\r\n\r\n");
    assert_string_equal(head.forward.data,
                        "GET /?q HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n");
}

/* Each has a reading that another server might take. */
TEST(a_head_with_two_meanings_is_refused)
{
    static const struct {
        const char *text;
        int status;
    } cases[] = {
        {"GET http://a/ HTTP/1.1\nHost: a\n\n", 400},
        {"GET http://a/ HTTP/1.1\r\nA: b\nHost: evil\r\n\r\n", 400},
        {"GET http://a/ HTTP/1.1\r\nA: b\rHost: evil\r\n\r\n", 400},
        {"GET http://a/ HTTP/1.1\r\nHost: evil\r\n\r\n", 400},
        {"GET http://a/ HTTP/1.1\r\nHost: a:81\r\n\r\n", 400},
        {"GET http://a/ HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400},
        {"GET http://a/ HTTP/1.1\r\nHost : a\r\n\r\n", 400},
        {"GET http://a/ HTTP/1.1\r\n Host: a\r\n\r\n", 400},
        {"GET http://a/ HTTP/1.1\r\nA: b\r\n folded\r\n\r\n", 400},
        {"GET http://a/ HTTP/1.1\r\nno colon\r\n\r\n", 400},
        {"GET http://a/ HTTP/1.1\r\n: empty\r\n\r\n", 400},
        {"POST http://a/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400},
        {"POST http://a/ HTTP/1.1\r\nContent-Length: +1\r\n\r\n", 400},
        {"POST http://a/ HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n", 400},
        {"POST http://a/ HTTP/1.1\r\nContent-Length: 0x1\r\n\r\n", 400},
        {"POST http://a/ HTTP/1.1\r\nContent-Length: 9999999999999999999\r\n\r\n", 400},
        {"POST http://a/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411},
        {"POST http://a/ HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: x\r\n\r\n", 411},
        {"GET http://a/\tHTTP/1.1\r\n\r\n", 400},
        {"GET  http://a/ HTTP/1.1\r\n\r\n", 400},
        {"GET http://a/ HTTP/1.1 \r\n\r\n", 400},
        {"GET http://a/ HTTP/2.0\r\n\r\n", 400},
        {"GET http://a/ HTTP/0.9\r\n\r\n", 400},
        {"get http://a/ HTTP/1.1\r\n\r\n", 400},
        {"GET http://a/#f HTTP/1.1\r\n\r\n", 400},
        {"GET http://u:p@a/ HTTP/1.1\r\n\r\n", 400},
        {"GET http://good\\@evil/ HTTP/1.1\r\n\r\n", 400},
        {"GET http://a:/ HTTP/1.1\r\n\r\n", 400},
        {"GET http://a:080/ HTTP/1.1\r\n\r\n", 400},
        {"GET http://a:65536/ HTTP/1.1\r\n\r\n", 400},
        {"GET http:/// HTTP/1.1\r\n\r\n", 400},
        {"GET https://a/ HTTP/1.1\r\n\r\n", 400},
        {"GET ftp://a/ HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"CONNECT a HTTP/1.1\r\n\r\n", 400},
        {"CONNECT a:0 HTTP/1.1\r\n\r\n", 400},
        {"CONNECT http://a:443 HTTP/1.1\r\n\r\n", 400},
        {"CONNECT a:443/ HTTP/1.1\r\n\r\n", 400},
        {"CONNECT a:443 HTTP/1.1\r\nContent-Length: 4\r\n\r\n", 400},
        {"CONNECT a:443 HTTP/1.1\r\nHost: evil:443\r\n\r\n", 400},
        {"CONNECT ::1:443 HTTP/1.1\r\n\r\n", 400},
        {"\r\n\r\n", 400},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CLEANUP(proxy_head_clear) struct proxy_head head = {0};

        if (read(&head, cases[i].text) != PROXY_HEAD_BAD)
            fail_msg("taken: %s", cases[i].text);
        assert_int_equal(head.status, cases[i].status);
        assert_non_null(head.why);
    }
}

TEST(a_nul_is_refused)
{
    static const char text[] = "GET http://a/ HTTP/1.1\r\nA: \0b\r\n\r\n";
    CLEANUP(proxy_head_clear) struct proxy_head head = {0};

    assert_int_equal(proxy_head_read(&head, text, sizeof(text) - 1), PROXY_HEAD_BAD);
}

TEST(a_head_comes_in_pieces)
{
    static const char text[] = "GET http://a/ HTTP/1.1\r\nA: b\r\n\r\n";
    CLEANUP(proxy_head_clear) struct proxy_head head = {0};

    for (size_t i = 1; i < sizeof(text) - 1; i++)
        assert_int_equal(proxy_head_read(&head, text, i), PROXY_HEAD_PARTIAL);
    assert_int_equal(proxy_head_read(&head, text, sizeof(text) - 1), PROXY_HEAD_READY);
}

TEST(a_head_has_a_limit_of_bytes_and_of_lines)
{
    AUTO_FREE char *text = mem_zeroed(PROXY_HEAD_LIMIT + 1, 1);
    CLEANUP(proxy_head_clear) struct proxy_head head = {0};
    AUTO_BUF lines = {0};

    memset(text, 'a', PROXY_HEAD_LIMIT);
    assert_int_equal(proxy_head_read(&head, text, PROXY_HEAD_LIMIT - 1), PROXY_HEAD_PARTIAL);
    assert_int_equal(proxy_head_read(&head, text, PROXY_HEAD_LIMIT), PROXY_HEAD_BAD);
    assert_int_equal(head.status, 431);
    buf_add_text(&lines, "GET http://a/ HTTP/1.1\r\n");
    for (int i = 0; i < 101; i++)
        buf_add_text(&lines, "A: b\r\n");
    buf_add_text(&lines, "\r\n");
    assert_int_equal(read(&head, lines.data), PROXY_HEAD_BAD);
    assert_int_equal(head.status, 431);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connect_asks_for_a_tunnel),
        cmocka_unit_test(a_url_becomes_a_request_to_its_host),
        cmocka_unit_test(a_head_with_two_meanings_is_refused),
        cmocka_unit_test(a_nul_is_refused),
        cmocka_unit_test(a_head_comes_in_pieces),
        cmocka_unit_test(a_head_has_a_limit_of_bytes_and_of_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
