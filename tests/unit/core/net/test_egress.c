#include <string.h>

#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "core/net/egress.h"
#include "core/net/http_client.h"
#include "tests/support/http_group.h"
#include "tests/support/test.h"

/* F109: requests to inner addresses. */
TEST(private_addresses_are_closed)
{
    static const char *const within[] = {
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "10.255.255.255",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.254",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.8",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.7",
        "203.0.113.9",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:0:4136:e378::1",
        "2001:1ff:ff::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "3fff::1",
        "3fff:fff::1",
        "5f00::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    };

    for (size_t i = 0; i < COUNT_OF(within); i++) {
        if (egress_text_is_public(within[i]))
            fail_msg("%s is open", within[i]);
    }
}

TEST(public_addresses_are_open)
{
    static const char *const outside[] = {
        "1.1.1.1",         "8.8.8.8",         "9.255.255.255",   "11.0.0.0",
        "100.63.255.255",  "100.128.0.0",     "126.255.255.255", "128.0.0.1",
        "169.253.1.1",     "169.255.1.1",     "172.15.255.255",  "172.32.0.0",
        "192.0.1.1",       "192.167.1.1",     "192.169.1.1",     "198.17.255.255",
        "198.20.0.0",      "223.255.255.255", "2001:200::1",     "2001:4860:4860::8888",
        "2606:4700::1111", "2003::1",         "3ffe::1",         "2a00:1450::1",
    };

    for (size_t i = 0; i < COUNT_OF(outside); i++) {
        if (!egress_text_is_public(outside[i]))
            fail_msg("%s is closed", outside[i]);
    }
}

TEST(invalid_addresses_are_closed)
{
    assert_false(egress_text_is_public(""));
    assert_false(egress_text_is_public("example.com"));
    assert_false(egress_text_is_public("0x7f.1"));
    assert_false(egress_text_is_public("2130706433"));
}

TEST(only_http_urls_without_a_user_are_accepted)
{
    static const char *const bad[] = {
        "",
        "example.com/mcp",
        "/mcp",
        "file:///etc/passwd",
        "gopher://example.com/",
        "ftp://example.com/",
        "unix:///run/x.sock",
        "builtin:basic",
        "http://",
        "https://user@example.com/",
        "https://user:secret@example.com/",
        "https://:secret@example.com/",
        "http://example.com:99999/",
        "http://a b/",
        "http://example.com/\r\nX: y",
    };
    static const char *const good[] = {"http://example.com", "https://example.com:8443/mcp?x=y",
                                       "HTTPS://Example.com/", "http://[2606:4700::1111]/mcp"};

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        if (egress_url_check(bad[i], NULL) != ERR_INVALID)
            fail_msg("'%s' was taken", bad[i]);
    }
    for (size_t i = 0; i < COUNT_OF(good); i++)
        assert_int_equal(egress_url_check(good[i], NULL), ERR_OK);
}

TEST(the_operator_opens_exact_pairs_of_host_and_port)
{
    static const char *const pairs[] = {"127.0.0.1:9000", "tools.internal:80", "[::1]:9000"};
    const struct egress_rules rules = {.open = pairs, .open_count = COUNT_OF(pairs)};
    const struct egress_rules none = {0};

    assert_true(egress_is_open(&rules, "http://127.0.0.1:9000/mcp"));
    assert_true(egress_is_open(&rules, "http://tools.internal/"));
    assert_true(egress_is_open(&rules, "http://Tools.Internal:80/"));
    assert_true(egress_is_open(&rules, "http://[::1]:9000/"));
    assert_false(egress_is_open(&rules, "http://127.0.0.1:9001/"));
    assert_false(egress_is_open(&rules, "http://127.0.0.1/"));
    assert_false(egress_is_open(&rules, "http://127.0.0.2:9000/"));
    assert_false(egress_is_open(&rules, "https://tools.internal/"));
    assert_false(egress_is_open(&rules, "http://x.tools.internal/"));
    assert_false(egress_is_open(&rules, "http://127.0.0.1:9000@10.0.0.1/"));
    assert_false(egress_is_open(&none, "http://127.0.0.1:9000/mcp"));
}

TEST(a_pair_is_a_host_and_a_port)
{
    static const char *const bad[] = {
        "",  "localhost", ":80",         "localhost:", "localhost:http",
        "*", "a:80/x",    "http://a:80", "u@a:80",     "::1:80"};

    assert_int_equal(egress_pair_check("127.0.0.1:9000", NULL), ERR_OK);
    assert_int_equal(egress_pair_check("[::1]:9000", NULL), ERR_OK);
    assert_int_equal(egress_pair_check("Tools:443", NULL), ERR_OK);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        if (egress_pair_check(bad[i], NULL) != ERR_INVALID)
            fail_msg("'%s' was taken", bad[i]);
    }
}

TEST(a_reference_stays_within_its_origin)
{
    static const struct {
        const char *base, *reference, *wanted;
    } cases[] = {
        {"http://a:81/sse", "/messages?id=1", "http://a:81/messages?id=1"},
        {"http://a:81/x/sse", "messages", "http://a:81/x/messages"},
        {"https://a/sse", "https://A:443/m", "https://A:443/m"},
        {"http://a:81/sse", "http://a:82/m", NULL},
        {"http://a/sse", "https://a/m", NULL},
        {"http://a/sse", "//b/m", NULL},
        {"http://a/sse", "http://a@b/m", NULL},
        {"http://a/sse", "http://u:p@a/m", NULL},
        {"http://a/sse", "file:///etc/passwd", NULL},
        {"http://a/sse", "http://a:99999/", NULL},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *joined = egress_url_join(cases[i].base, cases[i].reference);

        if (cases[i].wanted)
            assert_string_equal(joined, cases[i].wanted);
        else
            assert_null(joined);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reference_stays_within_its_origin),
        cmocka_unit_test(private_addresses_are_closed),
        cmocka_unit_test(public_addresses_are_open),
        cmocka_unit_test(invalid_addresses_are_closed),
        cmocka_unit_test(only_http_urls_without_a_user_are_accepted),
        cmocka_unit_test(the_operator_opens_exact_pairs_of_host_and_port),
        cmocka_unit_test(a_pair_is_a_host_and_a_port),
    };

    return cmocka_run_group_tests(tests, start_http, end_http);
}
