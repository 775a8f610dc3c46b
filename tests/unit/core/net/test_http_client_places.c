/*
 * Which addresses the client reaches: names with several addresses, addresses that a guarded call
 * must not reach, and servers that are missing.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "tests/support/test.h"
#include "tests/unit/core/net/errand.h"
#include "tests/unit/core/net/http_exchange.h"
#include "tests/unit/core/net/name_server.h"

TEST(a_refused_connection_is_an_error_that_names_the_host)
{
    struct exchange exchange;
    char place[32];
    int fd;
    int port = tiny_listen(&fd, 1);

    close(fd);
    exchange_init(&exchange, *state, "/");
    (void)snprintf(exchange.url, sizeof(exchange.url), "http://user:secret@127.0.0.1:%d/x",
                   port);
    (void)snprintf(place, sizeof(place), " 127.0.0.1:%d:", port);
    run_exchange(&exchange);
    assert_int_equal(exchange.rc, ERR_UPSTREAM);
    assert_int_equal(exchange.heads, 0);
    assert_non_null(strstr(exchange.error, place));
    assert_null(strstr(exchange.error, "secret"));
    exchange_clear(&exchange);
}

/* libcurl may give the next socket the number of the one it has closed. */
TEST(every_address_of_a_name_is_tried)
{
    struct fixture *fixture = *state;

    for (size_t i = 0; i < 3 * many_homes_count; i++) {
        struct exchange exchange;

        exchange_init(&exchange, fixture, "/");
        (void)snprintf(exchange.url, sizeof(exchange.url), "http://%s:%d/hello-and-close",
                       many_homes[i % many_homes_count].name, fixture->server->port);
        exchange.request.timeouts.total = LONG / 20;
        run_exchange(&exchange);
        assert_string_equal(exchange.error, "");
        assert_int_equal(exchange.rc, ERR_OK);
        exchange_clear(&exchange);
    }
}

/* F109: the address counts to which a name leads when the socket is opened. */
TEST(a_guarded_call_reaches_no_private_address)
{
    static const char *const hosts[] = {"127.0.0.1",         "localhost",  "two.test",
                                        "six.test",          "2130706433", "0x7f.1",
                                        "[::ffff:127.0.0.1]"};
    static const struct egress_rules rules = {0};
    struct fixture *fixture = *state;

    for (size_t i = 0; i < COUNT_OF(hosts); i++) {
        struct exchange exchange;

        exchange_init(&exchange, fixture, "/");
        (void)snprintf(exchange.url, sizeof(exchange.url), "http://%s:%d/hello", hosts[i],
                       fixture->server->port);
        exchange.request.egress = &rules;
        run_exchange(&exchange);
        assert_int_equal(exchange.rc, ERR_UPSTREAM);
        assert_non_null(strstr(exchange.error, "not one of the public internet"));
        exchange_clear(&exchange);
    }
    assert_int_equal(fixture->server->accepted, 0);
}

TEST(a_guarded_call_reaches_opened_places)
{
    struct fixture *fixture = *state;
    AUTO_FREE char *pair = mem_printf("127.0.0.1:%d", fixture->server->port);
    const char *const pairs[] = {pair};
    const struct egress_rules rules = {.open = pairs, .open_count = 1};
    struct exchange exchange;

    exchange_init(&exchange, fixture, "/hello");
    exchange.request.egress = &rules;
    run_exchange(&exchange);
    assert_int_equal(exchange.rc, ERR_OK);
    exchange_clear(&exchange);
}

TEST(a_guarded_call_uses_no_connection_of_an_unguarded_one)
{
    static const struct egress_rules rules = {0};
    struct fixture *fixture = *state;

    for (int i = 0; i < 2; i++) {
        struct exchange exchange;

        exchange_init(&exchange, fixture, "/hello");
        exchange.request.egress = i ? &rules : NULL;
        run_exchange(&exchange);
        assert_int_equal(exchange.rc, i ? ERR_UPSTREAM : ERR_OK);
        exchange_clear(&exchange);
    }
    assert_int_equal(fixture->server->accepted, 1);
}

TEST(only_http_urls_are_fetched)
{
    static const char *const urls[] = {
        "file:///etc/passwd",       "ftp://127.0.0.1/x", "gopher://127.0.0.1/", "", "http://",
        "http://127.0.0.1:99999/x", "http://a b/",
    };

    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        struct exchange exchange;

        exchange_init(&exchange, *state, "/");
        exchange.request.url = urls[i];
        run_exchange(&exchange);
        assert_int_equal(exchange.rc, ERR_UPSTREAM);
        assert_int_equal(exchange.heads + exchange.pieces, 0);
        exchange_clear(&exchange);
    }
}

TEST(proxies_of_the_environment_are_ignored)
{
    struct exchange exchange;

    setenv("http_proxy", "http://127.0.0.1:1", 1);
    setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
    exchange_init(&exchange, *state, "/hello");
    run_exchange(&exchange);
    assert_int_equal(exchange.rc, ERR_OK);
    exchange_clear(&exchange);
    unsetenv("http_proxy");
    unsetenv("ALL_PROXY");
}

static bool name_was_answered(void)
{
    int count;

    sem_getvalue(&name_answered, &count);
    return count > 0;
}

/* Giving up on a name must not wait for the name server. */
TEST(a_slow_name_server_delays_no_other_call)
{
    struct exchange exchange;

    exchange_init(&exchange, *state, "/");
    (void)snprintf(exchange.url, sizeof(exchange.url), "http://slow.test/");
    on_loop(exchange.loop, start_exchange, &exchange);
    wait_for(&name_asked);
    on_loop(exchange.loop, cancel_exchange, &exchange);
    assert_false(name_was_answered());
    assert_int_equal(exchange.dones, 0);

    exchange.request.timeouts.connect = SHORT;
    run_exchange(&exchange);
    assert_int_equal(exchange.rc, ERR_TIMEOUT);
    assert_false(name_was_answered());

    wait_for(&name_asked);
    sem_post(&name_known);
    sem_post(&name_known);
    wait_for(&name_answered);
    wait_for(&name_answered);
    exchange_clear(&exchange);
}

static int know_names(void **state)
{
    name_server_init();
    return start_http(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        client_test(a_refused_connection_is_an_error_that_names_the_host),
        client_test(every_address_of_a_name_is_tried),
        client_test(a_guarded_call_reaches_no_private_address),
        client_test(a_guarded_call_reaches_opened_places),
        client_test(a_guarded_call_uses_no_connection_of_an_unguarded_one),
        client_test(only_http_urls_are_fetched),
        client_test(proxies_of_the_environment_are_ignored),
        client_test(a_slow_name_server_delays_no_other_call),
    };

    return cmocka_run_group_tests(tests, know_names, end_http);
}
