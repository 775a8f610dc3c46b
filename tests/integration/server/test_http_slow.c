/*
 * Bodies whose bytes go to a slow place, or come from one: on a worker, while their connections are suspended. There is
 * one HTTP worker, and it answers others meanwhile.
 */

#include <poll.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "server/http/http.h"
#include "server/http/request.h"
#include "tests/integration/server/served_http.h"
#include "tests/integration/server/socket_client.h"
#include "tests/support/test.h"

#define SLOW  "POST /slow HTTP/1.1\r\n" HOST KEY
#define PLAIN "GET /plain HTTP/1.1\r\n" HOST KEY "\r\n"

/* `length` bytes, of which the last is `last`. */
static char *upload_of(size_t length, char last)
{
    AUTO_FREE char *body = mem_zeroed(length + 1, 1);

    memset(body, 'x', length);
    body[length - 1] = last;
    return mem_printf(SLOW "Content-Length: %zu\r\n\r\n%s", length, body);
}

static void expect_no_bodies(void)
{
    struct http_stats stats;

    http_stats(under.http, &stats);
    assert_int_equal(stats.body_bytes, 0);
}

/* A client whose request waits at the gate, on a server with one HTTP worker. */
static struct client at_gate(const char *request)
{
    struct client client;

    start(MODE_DIRECT, "--http-workers", "1", NULL);
    close_gate();
    client = dial();
    put(&client, request);
    await_at_gate(1);
    return client;
}

TEST(a_body_that_waits_for_its_place_holds_up_no_other_request)
{
    AUTO_FREE char *large = upload_of(3 * REQUEST_PIECE, 'x');
    struct client client = at_gate(large);

    ask(PLAIN, "HTTP/1.1 200", "proj_1");
    open_gate();
    expect_answer(&client, "HTTP/1.1 200", "{\"bytes\":393216}");
    put(&client, SLOW "Content-Length: 3\r\n\r\nabc"); /* the connection knows where it is */
    expect_answer(&client, "HTTP/1.1 200", "{\"bytes\":3}");
    put(&client, SLOW "\r\n");
    expect_answer(&client, "HTTP/1.1 200", "{\"bytes\":0}");
    await_uploads_dropped(3);
    expect_no_bodies();
    hang_up(&client);
    stop();
}

TEST(chunks_behind_a_piece_wait_for_it)
{
    AUTO_BUF text = {0};
    struct client client;

    buf_add_text(&text, SLOW "Transfer-Encoding: chunked\r\n\r\n");
    for (size_t i = 0; i < 50000; i++)
        buf_add_text(&text, "5\r\nabcde\r\n");
    buf_add_text(&text, "0\r\n\r\n");
    start(MODE_DIRECT, "--http-workers", "1", NULL);
    client = dial();
    put_bytes(&client, text.data, text.length);
    expect_answer(&client, "HTTP/1.1 200", "{\"bytes\":250000}");
    hang_up(&client);
    stop();
}

TEST(a_place_that_refuses_is_answered_wherever_the_body_is)
{
    AUTO_FREE char *large = upload_of(2 * REQUEST_PIECE, 'x');
    AUTO_FREE char *bad_end = upload_of(5, '!');
    char *middle = strstr(large, "xx");

    middle[10] = '!';
    start(MODE_DIRECT, "--http-workers", "1", NULL);
    ask(large, "HTTP/1.1 400", "\"code\":\"a_code\"");
    ask(bad_end, "HTTP/1.1 400", "\"code\":\"a_code\"");
    ask(SLOW "Content-Length: 1000001\r\nExpect: 100-continue\r\n\r\n", "HTTP/1.1 413",
        "larger than 1000000 bytes");
    await_uploads_dropped(3);
    expect_no_bodies();
    stop();
}

TEST(pieces_count_for_the_limit_of_all_bodies)
{
    AUTO_FREE char *large = upload_of(REQUEST_PIECE, 'x');

    start(MODE_DIRECT, "--http-workers", "1", "--max-body", "1024", "--max-bodies", "100000",
          NULL);
    ask(large, "HTTP/1.1 503", "reading too much at once");
    await_uploads_dropped(1);
    expect_no_bodies();
    stop();
}

TEST(a_client_that_leaves_meanwhile_leaves_nothing)
{
    AUTO_FREE char *large = upload_of(3 * REQUEST_PIECE, 'x');
    struct client client;
    struct http_stats stats;

    large[strlen(large) - 2 * REQUEST_PIECE + 20000] =
        '\0'; /* its end is seen behind the rest */
    client = at_gate(large);
    hang_up(&client);
    do /* the piece is in memory, although its connection is gone */
        http_stats(under.http, &stats);
    while (stats.connections);
    assert_true(stats.body_bytes >= REQUEST_PIECE);
    ask(PLAIN, "HTTP/1.1 200", "proj_1");
    open_gate();
    await_uploads_dropped(1);
    expect_no_bodies();
    stop();
}

TEST(a_server_stops_while_a_piece_waits)
{
    AUTO_FREE char *large = upload_of(3 * REQUEST_PIECE, 'x');
    struct client client = at_gate(large);

    stop();
    hang_up(&client);
}

/* Waits for as many milliseconds, or until the server hangs up. */
static bool stays_open(struct client *client, int milliseconds)
{
    struct pollfd ready = {.fd = client->fd, .events = POLLIN};

    return poll(&ready, 1, milliseconds) == 0;
}

TEST(the_time_of_the_place_is_not_the_clients)
{
    AUTO_FREE char *large = upload_of(3 * REQUEST_PIECE, 'x');
    struct client client;
    struct http_stats stats;

    large[strlen(large) - 10] = '\0';
    start(MODE_DIRECT, "--http-workers", "1", "--body-timeout", "0.3", NULL);
    close_gate();
    client = dial();
    put(&client, large);
    await_at_gate(1);
    assert_true(stays_open(&client, 900));
    open_gate();
    expect_end(&client); /* the last bytes do not come */
    hang_up(&client);
    await_uploads_dropped(1);
    http_stats(under.http, &stats);
    assert_int_equal(stats.late, 1);
    stop();
}

/* ---- Answers ---- */

#define SLOW_ANSWER(method, headers) method " /slow HTTP/1.1\r\n" HOST KEY headers "\r\n"

/* The body of an answer of SLOW_LIMIT bytes. */
static void expect_slow_bytes(struct client *client)
{
    expect_part(get_until(client, "\r\n\r\n"), "Content-Length: 1000000");
    while (client->in.length < SLOW_LIMIT)
        assert_true(more(client));
    assert_int_equal(client->in.length, SLOW_LIMIT);
    for (size_t i = 0; i < SLOW_LIMIT; i++)
        assert_int_equal(client->in.data[i], 'a' + i % 26);
    buf_reset(&client->in);
}

TEST(an_answer_that_waits_for_its_place_holds_up_no_other_request)
{
    struct client client = at_gate(SLOW_ANSWER("GET", ""));

    ask(PLAIN, "HTTP/1.1 200", "proj_1");
    open_gate();
    expect_slow_bytes(&client);
    put(&client, SLOW_ANSWER("GET", "")); /* the connection goes on */
    expect_slow_bytes(&client);
    await_uploads_dropped(2);
    hang_up(&client);
    stop();
}

TEST(nothing_is_read_for_an_answer_without_bytes)
{
    struct client client;

    start(MODE_DIRECT, "--http-workers", "1", NULL);
    close_gate();
    client = dial();
    put(&client, SLOW_ANSWER("HEAD", ""));
    expect_part(get_until(&client, "\r\n\r\n"), "Content-Length: 1000000");
    await_uploads_dropped(1);
    hang_up(&client);
    assert_int_equal(under.at_gate, 0);
    stop();
}

TEST(an_answer_whose_place_fails_is_cut_off)
{
    struct client client;

    start(MODE_DIRECT, "--http-workers", "1", NULL);
    under.broken_from = 500000;
    client = dial();
    put(&client, SLOW_ANSWER("GET", ""));
    while (more(&client))
        continue;
    assert_true(client.in.length > 400000 && client.in.length < 600000);
    hang_up(&client);
    await_uploads_dropped(1);
    stop();
}

TEST(a_client_that_leaves_an_answer_leaves_nothing)
{
    struct client client = at_gate(SLOW_ANSWER("GET", ""));

    hang_up(&client);
    ask(PLAIN, "HTTP/1.1 200", "proj_1");
    open_gate();
    await_uploads_dropped(1);
    close_gate();
    client = dial();
    put(&client, SLOW_ANSWER("GET", ""));
    await_at_gate(2);
    stop(); /* in the middle, too */
    hang_up(&client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_that_waits_for_its_place_holds_up_no_other_request),
        cmocka_unit_test(chunks_behind_a_piece_wait_for_it),
        cmocka_unit_test(a_place_that_refuses_is_answered_wherever_the_body_is),
        cmocka_unit_test(pieces_count_for_the_limit_of_all_bodies),
        cmocka_unit_test(a_client_that_leaves_meanwhile_leaves_nothing),
        cmocka_unit_test(a_server_stops_while_a_piece_waits),
        cmocka_unit_test(the_time_of_the_place_is_not_the_clients),
        cmocka_unit_test(an_answer_that_waits_for_its_place_holds_up_no_other_request),
        cmocka_unit_test(nothing_is_read_for_an_answer_without_bytes),
        cmocka_unit_test(an_answer_whose_place_fails_is_cut_off),
        cmocka_unit_test(a_client_that_leaves_an_answer_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
