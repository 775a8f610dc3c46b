/*
 * Bodies that are malformed, too large, or without an end. The client that sends one still reads
 * the answer.
 *
 * A server that answers early and closes while bytes still arrive sends a reset, which takes the
 * answer with it before the client has read it. So the server reads on for a while and throws
 * the bytes away. These tests keep sending behind an answer, and expect it whole, then a clean
 * end.
 */

#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/base/lock.h"
#include "core/base/mem.h"
#include "server/http/http.h"
#include "server/http/http_internal.h"
#include "server/http/request.h"
#include "tests/integration/server/served_http.h"
#include "tests/integration/server/socket_client.h"
#include "tests/support/test.h"

TEST(bodies_that_are_not_json_objects_are_refused)
{
    start(MODE_DIRECT, NULL);
    ask("POST /echo HTTP/1.1\r\n" HOST KEY "Content-Length: 7\r\n\r\n{\"a\":1}", "HTTP/1.1 200",
        "{\"a\":1}");
    ask("POST /echo HTTP/1.1\r\n" HOST KEY "Transfer-Encoding: chunked\r\n\r\n"
        "3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\n\r\n",
        "HTTP/1.1 200", "{\"a\":1}");
    ask("POST /echo HTTP/1.1\r\n" HOST KEY "Content-Length: 3\r\n\r\n{a}", "HTTP/1.1 400",
        "We could not parse the JSON body of your request. (HINT: This likely means you aren't "
        "using your HTTP library correctly.");
    ask("POST /echo HTTP/1.1\r\n" HOST KEY "\r\n", "HTTP/1.1 400", "We could not parse");
    ask("POST /echo HTTP/1.1\r\n" HOST KEY "Content-Length: 13\r\n\r\n{\"a\":1,\"a\":2}",
        "HTTP/1.1 400", "We could not parse the JSON body of your request.");
    ask("POST /maybe HTTP/1.1\r\n" HOST KEY "\r\n", "HTTP/1.1 200", "{}");
    ask("POST /echo HTTP/1.1\r\n" HOST KEY "Content-Length: 2\r\n\r\n[]", "HTTP/1.1 400",
        "\"code\":\"invalid_type\"");
    ask("POST /echo HTTP/1.1\r\n" HOST KEY
        "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 2\r\n\r\n{}",
        "HTTP/1.1 415", "expected application/json");
    ask("POST /echo HTTP/1.1\r\n" HOST KEY
        "Content-Type: application/json; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}",
        "HTTP/1.1 200", "{}");
    ask("POST /echo HTTP/1.1\r\n" HOST KEY
        "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
        "HTTP/1.1 415", "'gzip' is not supported");
    stop();
}

/* {"x":"aaa..."} of exactly `length` bytes. */
TEST(bodies_are_limited_to_the_byte)
{
    struct client client;
    AUTO_FREE char *fits = json_of(2000);
    AUTO_FREE char *over = json_of(2001);
    AUTO_FREE char *one = NULL;
    AUTO_FREE char *other = NULL;
    AUTO_FREE char *chunked = NULL;

    start(MODE_DIRECT, "--max-body", "2000", NULL);
    one = mem_printf("POST /echo HTTP/1.1\r\n" HOST KEY "Content-Length: 2000\r\n\r\n%s", fits);
    other =
        mem_printf("POST /echo HTTP/1.1\r\n" HOST KEY "Content-Length: 2001\r\n\r\n%s", over);
    chunked = mem_printf("POST /echo HTTP/1.1\r\n" HOST KEY
                         "Transfer-Encoding: chunked\r\n\r\n7d1\r\n%s\r\n0\r\n\r\n",
                         over);
    client = dial();
    put(&client, one);
    expect_answer(&client, "HTTP/1.1 200", "aaa");
    put(&client, one); /* the connection knows where it is */
    expect_answer(&client, "HTTP/1.1 200", "aaa");
    hang_up(&client);
    ask(other, "HTTP/1.1 413", "larger than 2000 bytes");
    ask(chunked, "HTTP/1.1 413", "larger than 2000 bytes");
    stop();
}

TEST(a_body_that_is_announced_too_large_is_not_waited_for)
{
    struct client client;

    start(MODE_DIRECT, NULL);
    client = dial();
    put(&client, "POST /echo HTTP/1.1\r\n" HOST KEY "Content-Length: 99999999999\r\n\r\n");
    expect_answer(&client, "HTTP/1.1 413", "Connection: close");
    expect_end(&client);
    hang_up(&client);
    client = dial();
    put(&client,
        "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 10\r\nExpect: 100-continue\r\n\r\n");
    expect_answer(&client, "HTTP/1.1 401", "no key"); /* instead of 100 */
    expect_end(&client);
    hang_up(&client);
    stop();
}

/* One chunk of 64 KiB at a time. */
static void put_chunks(struct client *client, size_t count)
{
    static char chunk[7 + 65536 + 2];

    memset(chunk, 'x', sizeof(chunk));
    memcpy(chunk, "10000\r\n", 7);
    memcpy(chunk + 7 + 65536, "\r\n", 2);
    for (size_t i = 0; i < count; i++)
        put_bytes(client, chunk, sizeof(chunk));
}

/* An end, not a reset, which could take the answer with it. */
static void expect_clean_end(struct client *client)
{
    struct pollfd ready = {.fd = client->fd, .events = POLLIN};
    char byte;

    assert_int_equal(client->in.length, 0);
    assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
    assert_int_equal(recv(client->fd, &byte, 1, 0), 0);
}

static void expect_early_answer(struct client *client, const char *status, const char *part)
{
    const char *answer = get_answer(client);

    expect_part(answer, status);
    expect_part(answer, part);
    expect_part(answer, "\r\nConnection: close\r\n");
    expect_part(answer, "\r\nContent-Type: application/json\r\n");
    expect_part(answer, "\r\nx-request-id: req_");
    expect_part(answer, "\r\nDate: ");
    expect_part(answer, "{\"error\":{");
}

TEST(a_body_that_becomes_too_large_is_answered_before_its_end)
{
    struct client client;
    struct http_stats stats;

    start(MODE_DIRECT, "--max-body", "65536", NULL);
    client = dial();
    put(&client, CHUNKED);
    put_chunks(&client, 1);
    put(&client, "1\r\nx\r\n"); /* and not another byte */
    expect_early_answer(&client, "HTTP/1.1 413 ", "larger than 65536 bytes");
    expect_clean_end(&client);
    http_stats(under.http, &stats);
    assert_int_equal(stats.body_bytes, 0);
    put(&client, "0\r\n\r\n" OPEN_REQUEST); /* nothing of this is answered */
    expect_clean_end(&client);
    hang_up(&client);
    stop();
}

/* How long the server reads on from a client that was answered early. */
static void linger_for(uint64_t patience_ns)
{
    lock_acquire(&under.http->lock);
    under.http->deadlines.patience_ns[DEADLINE_LINGER] = patience_ns;
    lock_release(&under.http->lock);
}

TEST(a_client_that_keeps_sending_gets_the_whole_answer)
{
    static const char *const heads[][3] = {
        {CHUNKED, "413", "larger than 65536 bytes"},
        {"POST /nowhere HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n", "404",
         "Invalid URL"},
        {"POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n", "401", "no key"},
        {"GET /plain HTTP/1.1\r\n" HOST KEY "Transfer-Encoding: chunked\r\n\r\n", "413",
         "needs no body"},
        {"POST /echo HTTP/1.1\r\n" HOST KEY "Content-Length: 99999999999\r\n\r\n", "413",
         "larger than 65536 bytes"},
    };

    start(MODE_DIRECT, "--max-body", "65536", NULL);
    linger_for(60 * NS_PER_SECOND);
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        struct client client = dial();
        AUTO_FREE char *status = mem_printf("HTTP/1.1 %s ", heads[i][1]);

        put(&client, heads[i][0]);
        put_chunks(&client, 96); /* 6 MiB, before it looks */
        expect_early_answer(&client, status, heads[i][2]);
        put_chunks(&client, 32);
        expect_clean_end(&client);
        hang_up(&client);
    }
    stop();
}

TEST(an_early_answer_keeps_to_the_method)
{
    struct client client;

    start(MODE_DIRECT, NULL);
    client = dial();
    put(&client, "HEAD /plain HTTP/1.1\r\n" HOST KEY "Transfer-Encoding: chunked\r\n\r\n");
    put_chunks(&client, 17);
    expect_part(get_until(&client, "\r\n\r\n"), "HTTP/1.1 413 ");
    expect_clean_end(&client);
    hang_up(&client);
    client = dial();
    put(&client, "OPTIONS /open HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n");
    put_chunks(&client, 17);
    expect_answer(&client, "HTTP/1.1 204 No Content", "Connection: close");
    expect_clean_end(&client);
    hang_up(&client);
    stop();
}

TEST(a_client_that_sends_without_end_is_disconnected)
{
    struct pollfd writable;
    struct client client;

    start(MODE_DIRECT, "--max-body", "65536", NULL);
    client = dial();
    put(&client, CHUNKED);
    /* What the server reads, and room for what stands in the sockets. */
    put_chunks(&client, (REQUEST_LINGER_LIMIT >> 16) + 1024);
    writable = (struct pollfd){.fd = client.fd, .events = POLLOUT};
    assert_int_equal(poll(&writable, 1, PATIENCE_MS), 1);
    assert_true(writable.revents & (POLLERR | POLLHUP));
    hang_up(&client);
    stop();
}

TEST(a_client_that_was_answered_early_is_not_kept_for_ever)
{
    struct client client;
    struct http_stats stats;

    start(MODE_DIRECT, "--max-body", "65536", NULL);
    linger_for(NS_PER_SECOND / 10);
    client = dial();
    put(&client, CHUNKED);
    put_chunks(&client, 2);
    expect_early_answer(&client, "HTTP/1.1 413 ", "larger than 65536 bytes");
    expect_clean_end(&client);
    do /* although the client does not close */
        http_stats(under.http, &stats);
    while (stats.connections);
    assert_int_equal(stats.late, 0);
    hang_up(&client);
    stop();
}

TEST(all_bodies_together_are_limited)
{
    struct client holder;

    start(MODE_DIRECT, "--max-bodies", "1024", NULL);
    holder = dial();
    put(&holder, "POST /echo HTTP/1.1\r\n" HOST KEY "Content-Length: 1000\r\n\r\n");
    AUTO_FREE char *text = json_of(1000);

    put_bytes(&holder, text, 990);
    /* Until the server has taken what was sent, a second body may still fit. */
    for (;;) {
        struct http_stats stats;

        http_stats(under.http, &stats);
        if (stats.body_bytes == 990)
            break;
        ask("GET /open HTTP/1.1\r\n" HOST "\r\n", "200", "hello");
    }
    AUTO_FREE char *more_text = json_of(100);
    AUTO_FREE char *request = mem_printf(
        "POST /echo HTTP/1.1\r\n" HOST KEY "Content-Length: 100\r\n\r\n%s", more_text);

    ask(request, "HTTP/1.1 503", "reading too much at once");
    put_bytes(&holder, text + 990, 10);
    expect_answer(&holder, "HTTP/1.1 200", "aaa");
    hang_up(&holder);
    ask(request, "HTTP/1.1 200", "aaa");
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_that_are_not_json_objects_are_refused),
        cmocka_unit_test(bodies_are_limited_to_the_byte),
        cmocka_unit_test(a_body_that_is_announced_too_large_is_not_waited_for),
        cmocka_unit_test(a_body_that_becomes_too_large_is_answered_before_its_end),
        cmocka_unit_test(a_client_that_keeps_sending_gets_the_whole_answer),
        cmocka_unit_test(an_early_answer_keeps_to_the_method),
        cmocka_unit_test(a_client_that_sends_without_end_is_disconnected),
        cmocka_unit_test(a_client_that_was_answered_early_is_not_kept_for_ever),
        cmocka_unit_test(all_bodies_together_are_limited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
