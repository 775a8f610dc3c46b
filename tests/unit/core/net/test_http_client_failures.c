/*
 * Answers that break off, and answers that come too late.
 */

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "tests/support/test.h"
#include "tests/unit/core/net/errand.h"
#include "tests/unit/core/net/http_exchange.h"

TEST(an_answer_that_http_knows_to_be_cut_is_an_error)
{
    static const struct {
        const char *path;
        enum err_code rc;
        const char *text;
        int heads;
    } cases[] = {
        {"/cut-in-chunk", ERR_UPSTREAM, "broke off", 1},
        {"/cut-between-chunks", ERR_UPSTREAM, "broke off", 1},
        {"/cut-before-length", ERR_UPSTREAM, "broke off", 1},
        {"/bad-chunk", ERR_UPSTREAM, "broke off", 1},
        {"/cut-in-head", ERR_UPSTREAM, "no answer", 0},
        {"/http09", ERR_UPSTREAM, "no answer", 0},
        {"/until-close", ERR_OK, "", 1}, /* only its format shows */
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct exchange exchange;

        exchange_init(&exchange, *state, cases[i].path);
        run_exchange(&exchange);
        assert_int_equal(exchange.rc, cases[i].rc);
        assert_int_equal(exchange.heads, cases[i].heads);
        assert_int_equal(exchange.dones, 1);
        assert_non_null(strstr(exchange.error, cases[i].text));
        if (cases[i].heads)
            assert_string_equal(exchange.body.data, "ab");
        exchange_clear(&exchange);
    }
}

TEST(a_compressed_answer_is_an_error)
{
    static const struct {
        const char *path;
        enum err_code rc;
        const char *text;
        const char *body;
    } cases[] = {
        {"/compressed", ERR_UPSTREAM, "compressed", ""},
        {"/encoded-as-it-is", ERR_OK, "", "ab"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct exchange exchange;

        exchange_init(&exchange, *state, cases[i].path);
        run_exchange(&exchange);
        assert_int_equal(exchange.rc, cases[i].rc);
        assert_non_null(strstr(exchange.error, cases[i].text));
        assert_string_equal(exchange.body.length ? exchange.body.data : "", cases[i].body);
        exchange_clear(&exchange);
    }
}

TEST(every_phase_has_its_deadline)
{
    static const struct {
        const char *path;
        struct http_timeouts timeouts;
        const char *text;
    } cases[] = {
        {"/silent", {LONG, SHORT, LONG, LONG}, "begin its answer"},
        {"/head-only", {LONG, SHORT, LONG, LONG}, "begin its answer"},
        {"/stalls", {LONG, LONG, SHORT, LONG}, "go on with its answer"},
        {"/silent", {LONG, LONG, LONG, SHORT}, "complete its answer"},
        {"/silent", {0, 0, 0, SHORT}, "complete its answer"},
        {"/drips", {LONG, LONG, LONG, SHORT}, "complete its answer"},
    };
    struct fixture *fixture = *state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint64_t before = clock_mono_ns();
        struct exchange exchange;

        exchange_init(&exchange, fixture, cases[i].path);
        exchange.request.timeouts = cases[i].timeouts;
        run_exchange(&exchange);
        assert_int_equal(exchange.rc, ERR_TIMEOUT);
        assert_int_equal(exchange.dones, 1);
        assert_non_null(strstr(exchange.error, cases[i].text));
        assert_non_null(strstr(exchange.error, "0.06 s"));
        assert_in_range(clock_mono_ns() - before, 50 * NS_PER_MS, LONG / 2);
        wait_for(&fixture->server->peer_left); /* the connection is closed */
        exchange_clear(&exchange);
    }
}

TEST(a_server_that_does_not_accept_meets_the_connect_deadline)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct exchange exchange;
    int fillers[4];
    int fd;
    int port = tiny_listen(&fd, 0);

    /* Fill the queue of connections to be accepted. */
    address.sin_port = htons((uint16_t)port);
    for (size_t i = 0; i < COUNT_OF(fillers); i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(fillers[i], (struct sockaddr *)&address, sizeof(address));
    }
    exchange_init(&exchange, *state, "/");
    (void)snprintf(exchange.url, sizeof(exchange.url), "http://127.0.0.1:%d/", port);
    exchange.request.timeouts = (struct http_timeouts){.connect = SHORT, .total = LONG};
    run_exchange(&exchange);
    assert_int_equal(exchange.rc, ERR_TIMEOUT);
    assert_non_null(strstr(exchange.error, "accept the connection"));
    exchange_clear(&exchange);
    for (size_t i = 0; i < COUNT_OF(fillers); i++)
        close(fillers[i]);
    close(fd);
}

/* The whole answer takes longer than the deadline, but no piece does. */
TEST(an_answer_that_continues_is_not_idle)
{
    struct fixture *fixture = *state;
    struct exchange exchange;

    exchange_init(&exchange, fixture, "/drips");
    exchange.request.timeouts = (struct http_timeouts){
        .first_byte = 500 * NS_PER_MS, .idle = 500 * NS_PER_MS, .total = 1500 * NS_PER_MS};
    run_exchange(&exchange);
    assert_int_equal(exchange.rc, ERR_TIMEOUT);
    assert_non_null(strstr(exchange.error, "complete its answer"));
    wait_for(&fixture->server->peer_left);
    exchange_clear(&exchange);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        client_test(an_answer_that_http_knows_to_be_cut_is_an_error),
        client_test(a_compressed_answer_is_an_error),
        client_test(every_phase_has_its_deadline),
        client_test(a_server_that_does_not_accept_meets_the_connect_deadline),
        client_test(an_answer_that_continues_is_not_idle),
    };

    return cmocka_run_group_tests(tests, start_http, end_http);
}
