/*
 * Streams of events, each promise twice: written directly to the socket, and through the
 * library's reader.
 *
 * The client is a bare socket, so the tests see chunks, not events: that each event is sent at
 * once, by itself, and that the connection lives on afterwards. Slow readers are clients that do
 * not read; sockets hold some megabytes, so a stream of twelve fills them for certain.
 */

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "server/http/http.h"
#include "server/http/stream/sse.h"
#include "tests/integration/server/served_http.h"
#include "tests/integration/server/socket_client.h"
#include "tests/support/test.h"

TEST(events_come_one_by_one_and_the_connection_lives_on)
{
    struct client client;
    const char *head;

    start(mode_of(state), NULL);
    client = dial();
    for (int i = 0; i < 3; i++) {
        open_stream(&client, "");
        head = get_until(&client, "\r\n\r\n");
        expect_part(head, "HTTP/1.1 200");
        expect_part(head, "\r\nContent-Type: text/event-stream; charset=utf-8\r\n");
        expect_part(head, "\r\nCache-Control: no-cache\r\n");
        expect_part(head, "\r\nX-Accel-Buffering: no\r\n");
        expect_part(head, "\r\nx-request-id: req_");
        say("data: one\n\n");
        expect_part(get_until(&client, "one\n\n\r\n"), "b\r\ndata: one\n\n\r\n");
        say("data: two\n\n");
        expect_part(get_until(&client, "two\n\n\r\n"), "b\r\ndata: two\n\n\r\n");
        play(ACT_CLOSE, NULL, 0);
        assert_string_equal(get_until(&client, "0\r\n\r\n"), "0\r\n\r\n");
        put(&client, "GET /plain HTTP/1.1\r\n" HOST KEY "\r\n");
        expect_answer(&client, "HTTP/1.1 200", "proj_1");
    }
    hang_up(&client);
    stop();
}

TEST(what_is_said_before_the_headers_are_out_is_not_lost)
{
    struct client client;

    start(mode_of(state), NULL);
    client = dial();
    under.first_words = mem_strdup("data: early\n\n");
    for (int i = 0; i < 20; i++) {
        open_stream(&client, "");
        play(ACT_CLOSE, NULL, 0);
        expect_part(get_until(&client, "0\r\n\r\n"),
                    "\r\n\r\nd\r\ndata: early\n\n\r\n0\r\n\r\n");
    }
    free(under.first_words);
    hang_up(&client);
    stop();
}

TEST(a_stream_on_a_connection_that_is_to_close_ends_whole)
{
    struct client client;

    start(mode_of(state), NULL);
    client = dial();
    open_stream(&client, "Connection: close\r\n");
    say("data: one\n\n");
    get_until(&client, "data: one\n\n");
    play(ACT_CLOSE, NULL, 0);
    while (more(&client))
        continue;
    if (client.in.length) /* the library may end the stream with this, or by closing alone */
        assert_string_equal(client.in.data, "\r\n0\r\n\r\n");
    hang_up(&client);
    stop();
}

TEST(http_1_0_gets_events_without_chunks)
{
    struct client client;

    start(mode_of(state), NULL);
    client = dial();
    put(&client, "GET /stream HTTP/1.0\r\n" HOST KEY "\r\n");
    await_made(1);
    say("data: one\n\n");
    expect_part(get_until(&client, "\r\n\r\n"), "text/event-stream");
    assert_string_equal(get_until(&client, "data: one\n\n"), "data: one\n\n");
    say("data: two\n\n");
    play(ACT_CLOSE, NULL, 0);
    assert_string_equal(get_until(&client, "data: two\n\n"), "data: two\n\n");
    expect_end(&client);
    hang_up(&client);
    stop();
}

TEST(head_of_a_stream_has_no_events)
{
    struct client client;

    start(mode_of(state), NULL);
    client = dial();
    put(&client, "HEAD /stream HTTP/1.1\r\n" HOST KEY "\r\n");
    expect_part(get_until(&client, "\r\n\r\n"), "text/event-stream");
    await_made(1);
    await_gone();
    put(&client, "GET /plain HTTP/1.1\r\n" HOST KEY "\r\n");
    expect_answer(&client, "HTTP/1.1 200", "proj_1");
    hang_up(&client);
    stop();
}

TEST(a_reader_that_leaves_is_noticed_at_once)
{
    struct client client;

    start(mode_of(state), NULL);
    client = dial();
    open_stream(&client, "");
    say("data: one\n\n");
    get_until(&client, "one\n\n\r\n");
    hang_up(&client);
    await_gone(); /* the pings are 15 seconds apart */
    stop();
}

TEST(a_request_behind_a_stream_is_no_farewell)
{
    struct client client;

    start(mode_of(state), NULL);
    client = dial();
    put(&client, "GET /stream HTTP/1.1\r\n" HOST KEY "\r\n"
                 "GET /plain HTTP/1.1\r\n" HOST KEY "\r\n");
    await_made(1);
    say("data: one\n\n");
    get_until(&client, "one\n\n\r\n");
    say("data: two\n\n");
    get_until(&client, "two\n\n\r\n");
    play(ACT_CLOSE, NULL, 0);
    assert_string_equal(get_until(&client, "0\r\n\r\n"), "0\r\n\r\n");
    expect_answer(&client, "HTTP/1.1 200", "proj_1");
    hang_up(&client);
    stop();
}

TEST(silence_is_filled_with_comments)
{
    struct client client;

    start(mode_of(state), "--sse-ping-interval", "0.1", NULL);
    client = dial();
    open_stream(&client, "");
    get_until(&client, ": ping\n\n\r\n");
    get_until(&client, ": ping\n\n\r\n");
    play(ACT_CLOSE, NULL, 0);
    get_until(&client, "0\r\n\r\n");
    hang_up(&client);
    stop();
}

#define BIG 30000

TEST(a_slow_reader_gets_every_byte_in_order)
{
    static char event[BIG];
    struct client client;
    unsigned seen = 0;

    start(mode_of(state), "--stream-buffer", "100000000", NULL);
    client = dial();
    open_stream(&client, "");
    for (unsigned i = 0; i < 400; i++) { /* 12 MB: more than any socket holds */
        memset(event, 'a' + (int)(i % 26), sizeof(event));
        event[sizeof(event) - 1] = '\n';
        play(ACT_EVENTS, event, sizeof(event));
    }
    play(ACT_CLOSE, NULL, 0);
    get_until(&client, "\r\n\r\n");
    for (;;) { /* the chunks' sizes say how much; the library cuts them as it likes */
        size_t size = strtoul(get_until(&client, "\r\n"), NULL, 16);

        if (!size)
            break;
        while (client.in.length < size + 2)
            assert_true(more(&client));
        for (size_t i = 0; i < size; i++, seen++) {
            char wanted = seen % BIG == BIG - 1 ? '\n' : (char)('a' + seen / BIG % 26);

            if (client.in.data[i] != wanted)
                fail_msg("byte %u is wrong", seen);
        }
        assert_memory_equal(client.in.data + size, "\r\n", 2);
        buf_consume(&client.in, size + 2);
    }
    assert_int_equal(seen, 400 * BIG);
    get_until(&client, "\r\n");
    put(&client, "GET /plain HTTP/1.1\r\n" HOST KEY "\r\n");
    expect_answer(&client, "HTTP/1.1 200", "proj_1");
    hang_up(&client);
    stop();
}

TEST(a_reader_that_never_reads_is_cut_off)
{
    static char event[BIG];
    struct http_stats stats;
    struct client client;
    unsigned said = 0;

    start(mode_of(state), "--stream-buffer", "65536", NULL);
    client = dial();
    open_stream(&client, "");
    memset(event, 'e', sizeof(event));
    for (; !gone_already(); said++) {
        play(ACT_EVENTS, event, sizeof(event));
        assert_true(said < 2000); /* 60 MB */
    }
    http_stats(under.http, &stats);
    assert_int_equal(stats.cut, 1);
    hang_up(&client);
    ask("GET /open HTTP/1.1\r\n" HOST "\r\n", "200", "hello");
    stop();
}

TEST(a_reader_that_stalls_is_cut_off_in_time)
{
    static char event[BIG];
    struct client client;

    start(MODE_DIRECT, "--stream-buffer", "100000000", "--stream-stall-timeout", "0.2", NULL);
    client = dial();
    open_stream(&client, "");
    memset(event, 'e', sizeof(event));
    for (unsigned i = 0; i < 400; i++)
        play(ACT_EVENTS, event, sizeof(event));
    await_gone();
    hang_up(&client);
    stop();
}

TEST(a_large_event_is_not_slowness)
{
    AUTO_FREE char *event = mem_zeroed(1000000, 1);
    struct client client;

    start(mode_of(state), "--stream-buffer", "4096", NULL);
    client = dial();
    open_stream(&client, "");
    memset(event, 'e', 999998);
    memcpy(event + 999998, "\n", 2);
    play(ACT_EVENTS, event, 999999);
    play(ACT_CLOSE, NULL, 0);
    get_until(&client, "eee\n");
    get_until(&client, "0\r\n\r\n");
    hang_up(&client);
    stop();
}

TEST(the_self_test_passes_here)
{
    struct err err;

    if (sse_self_test(&err))
        fail_msg("%s", err.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_self_test_passes_here),
        BOTH_WAYS(events_come_one_by_one_and_the_connection_lives_on),
        BOTH_WAYS(what_is_said_before_the_headers_are_out_is_not_lost),
        BOTH_WAYS(a_stream_on_a_connection_that_is_to_close_ends_whole),
        BOTH_WAYS(http_1_0_gets_events_without_chunks),
        BOTH_WAYS(head_of_a_stream_has_no_events),
        BOTH_WAYS(a_reader_that_leaves_is_noticed_at_once),
        BOTH_WAYS(a_request_behind_a_stream_is_no_farewell),
        BOTH_WAYS(silence_is_filled_with_comments),
        BOTH_WAYS(a_slow_reader_gets_every_byte_in_order),
        BOTH_WAYS(a_reader_that_never_reads_is_cut_off),
        cmocka_unit_test(a_reader_that_stalls_is_cut_off_in_time),
        BOTH_WAYS(a_large_event_is_not_slowness),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
