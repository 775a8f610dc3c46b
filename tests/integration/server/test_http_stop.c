/*
 * The end of the server, with requests at work, waiting and streaming.
 *
 * libmicrohttpd aborts the process if it is stopped while a connection is suspended, and so does
 * a test here if one was forgotten. Streams must end properly, requests that wait get 503, and
 * what begins during the stop is refused.
 */

#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "server/http/http.h"
#include "tests/integration/server/served_http.h"
#include "tests/integration/server/socket_client.h"
#include "tests/support/test.h"

TEST(stopping_cuts_what_is_open)
{
    struct client streaming[8];
    struct client waiting;
    struct client idle;

    start(mode_of(state), NULL);
    idle = dial();
    put(&idle, "GET /open HTTP/1.1\r\n" HOST "\r\n");
    expect_answer(&idle, "200", "hello");
    for (size_t i = 0; i < COUNT_OF(streaming); i++) {
        streaming[i] = dial();
        open_stream(&streaming[i], "");
        say("data: one\n\n");
        get_until(&streaming[i], "one\n\n\r\n");
    }
    waiting = dial();
    put(&waiting, "GET /wait HTTP/1.1\r\n" HOST KEY "\r\n");
    await_made(COUNT_OF(streaming) + 1);
    http_stop(under.http);
    for (size_t i = 0; i < COUNT_OF(streaming); i++) {
        expect_end(&streaming[i]);
        hang_up(&streaming[i]);
    }
    expect_answer(&waiting, "HTTP/1.1 503", "shutting down");
    expect_end(&waiting);
    expect_end(&idle);
    hang_up(&waiting);
    hang_up(&idle);
    stop();
}

TEST(what_begins_while_it_stops_is_refused)
{
    struct client streaming;
    struct client waiting;

    start(mode_of(state), NULL);
    streaming = dial();
    put(&streaming, "GET /too_late?stream HTTP/1.1\r\n" HOST KEY "\r\n");
    await_made(1);
    http_stop(under.http); /* would abort with anything suspended */
    while (more(&streaming))
        continue;
    hang_up(&streaming);
    stop();

    start(mode_of(state), NULL);
    waiting = dial();
    put(&waiting, "GET /too_late HTTP/1.1\r\n" HOST KEY "\r\n");
    await_made(1);
    http_stop(under.http);
    expect_answer(&waiting, "HTTP/1.1 503", "shutting down");
    hang_up(&waiting);
    stop();
}

TEST(draining_finishes_and_begins_nothing)
{
    struct client client;

    start(mode_of(state), NULL);
    client = dial();
    open_stream(&client, "");
    http_drain(under.http);
    ask("POST /echo HTTP/1.1\r\n" HOST KEY "Content-Length: 2\r\n\r\n{}", "HTTP/1.1 503",
        "shutting down");
    ask("GET /open HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 200", "Connection: close");
    assert_false(http_wait_idle(under.http, clock_mono_ns() + 20 * NS_PER_MS));
    say("data: last\n\n");
    get_until(&client, "last\n\n\r\n");
    play(ACT_CLOSE, NULL, 0);
    get_until(&client, "0\r\n\r\n");
    assert_true(
        http_wait_idle(under.http, clock_mono_ns() + (uint64_t)PATIENCE_MS * NS_PER_MS));
    hang_up(&client);
    stop();
}

TEST(it_starts_and_stops_again_and_again)
{
    for (int i = 0; i < 10; i++) {
        struct client client;

        start(mode_of(state), NULL);
        client = dial();
        put(&client,
            "GET /stream HTTP/1.1\r\n" HOST KEY "\r\n"); /* stops at any moment of it */
        if (i % 2)
            await_made(1);
        stop();
        hang_up(&client);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH_WAYS(stopping_cuts_what_is_open),
        BOTH_WAYS(what_begins_while_it_stops_is_refused),
        BOTH_WAYS(draining_finishes_and_begins_nothing),
        BOTH_WAYS(it_starts_and_stops_again_and_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
