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
