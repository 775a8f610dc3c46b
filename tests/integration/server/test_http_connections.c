/*
 * Connections that are slow, idle or too many.
 *
 * A client that sends a byte now and then never looks idle to a time-out of inactivity, and
 * could hold a connection for ever. So the deadlines are for a whole head and a whole body, and
 * the client here drips bytes until it is cut off.
 */

#include <poll.h>

#include "core/base/clock.h"
#include "server/http/http.h"
#include "tests/integration/server/served_http.h"
#include "tests/integration/server/socket_client.h"
#include "tests/support/test.h"

/* Sends a byte whenever nothing has come for a while; returns when the server hangs up. */
static void drip(struct client *client, const char *first)
{
    struct pollfd ready = {.fd = client->fd, .events = POLLIN};
    uint64_t begun = clock_mono_ns();

    put(client, first);
    while (poll(&ready, 1, 50) == 0) {
        put(client, "x");
        assert_true(clock_mono_ns() - begun < (uint64_t)PATIENCE_MS * NS_PER_MS);
    }
    expect_end(client);
}

TEST(a_client_that_drips_bytes_is_cut_off)
{
    struct client client;
    struct http_stats stats;

    start(MODE_DIRECT, "--header-timeout", "0.3", "--body-timeout", "0.3", NULL);
    client = dial();
    drip(&client, "GET /plain HTTP/1.1\r\nX: "); /* headers */
    hang_up(&client);
    client = dial();
    drip(&client, "GET /"); /* the request line */
    hang_up(&client);
    client = dial();
    drip(&client,
         "POST /echo HTTP/1.1\r\n" HOST KEY "Content-Length: 100000\r\n\r\n{"); /* body */
    hang_up(&client);
    client = dial();
    put(&client, "GET /open HTTP/1.1\r\n" HOST "\r\n");
    expect_answer(&client, "200", "hello");
    drip(&client, "GET /plain HTTP/1.1\r\nX: "); /* of a second request */
    hang_up(&client);
    http_stats(under.http, &stats);
    assert_int_equal(stats.late, 4);
    stop();
}

TEST(idle_connections_are_closed_and_busy_ones_are_not)
{
    struct client idle;
    struct client busy;

    start(MODE_DIRECT, "--keep-alive", "0.3", "--header-timeout", "0.3", "--body-timeout",
          "0.3", NULL);
    idle = dial();
    busy = dial();
    put(&busy, "GET /wait HTTP/1.1\r\n" HOST KEY "\r\n");
    await_made(1);
    put(&idle, "GET /open HTTP/1.1\r\n" HOST "\r\n");
    expect_answer(&idle, "200", "hello");
    expect_end(&idle);
    play(ACT_ANSWER, "late but here", 0);
    expect_answer(&busy, "201", "late but here");
    hang_up(&idle);
    hang_up(&busy);
    stop();
}

TEST(connections_beyond_the_limit_get_an_error)
{
    struct client first;
    struct client second;

    start(MODE_DIRECT, "--max-connections", "1", NULL);
    first = dial();
    put(&first, "GET /open HTTP/1.1\r\n" HOST "\r\n");
    expect_answer(&first, "HTTP/1.1 200", "hello");
    second = dial();
    put(&second, "GET /open HTTP/1.1\r\n" HOST "\r\n");
    expect_answer(&second, "HTTP/1.1 503", "too many connections");
    expect_end(&second);
    hang_up(&first);
    hang_up(&second);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_that_drips_bytes_is_cut_off),
        cmocka_unit_test(idle_connections_are_closed_and_busy_ones_are_not),
        cmocka_unit_test(connections_beyond_the_limit_get_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
