/*
 * Heads that are doubtful, unreadable, too large or meant for another host: the error that is
 * sent, and which client is disconnected.
 *
 * A head that two programs could read differently must not be acted on: behind a proxy, part of
 * it might be another client's request. So a refusal always ends the connection, and what stands
 * behind the head is never answered. Each sample is sent alone, and once more behind a request
 * that is fine.
 *
 * libmicrohttpd finds some of these itself, and which ones depends on its version. Where its
 * answer would differ, the test accepts either text and requires the status, the envelope and
 * the end.
 */

#include <string.h>
#include <sys/socket.h>

#include "core/base/buf.h"
#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "server/http/http_internal.h"
#include "tests/integration/server/served_http.h"
#include "tests/integration/server/socket_client.h"
#include "tests/support/test.h"

/* Version 1.0 of the library finds some of these itself, and does not say what is wrong. */
static void expect_reason(const char *answer, const char *reason)
{
    if (MHD_VERSION < 0x01000000 || !strstr(answer, "headers are not well-formed"))
        expect_part(answer, reason);
}

TEST(doubtful_heads_are_answered_and_disconnected)
{
    static const char *const samples[][2] = {
        {"POST /echo HTTP/1.1\r\n" HOST KEY
         "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
         "GET /plain HTTP/1.1\r\n" HOST KEY "\r\n",
         "exclude each other"},
        {"POST /echo HTTP/1.1\r\n" HOST KEY "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
         "given twice"},
        {"GET /plain HTTP/1.1\r\n" HOST HOST KEY "\r\n", "given twice"},
        {"GET http://test/plain HTTP/1.1\r\n" HOST KEY "\r\n", "does not begin with a slash"},
        {"BREW /plain HTTP/1.1\r\n" HOST KEY "\r\n", "method is not supported"},
    };

    start(MODE_DIRECT, NULL);
    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        struct client client = dial();
        const char *answer;

        put(&client, samples[i][0]);
        answer = get_answer(&client);
        expect_reason(answer, samples[i][1]);
        expect_part(answer, "Connection: close");
        expect_part(answer, "{\"error\":{");
        expect_end(&client); /* what was smuggled behind it is not answered */
        hang_up(&client);
    }
    stop();
}

/* Its own status and text, the end of the connection, and no answer to what follows it. */
static void expect_farewell(const char *request, const char *status, const char *part)
{
    struct client client = dial();
    const char *answer;

    put(&client, request);
    put(&client, OPEN_REQUEST);
    answer = get_answer(&client);
    expect_part(answer, status);
    expect_reason(answer, part);
    expect_part(answer, "\r\nConnection: close\r\n");
    expect_part(answer, "{\"error\":{");
    expect_end(&client);
    hang_up(&client);
}

TEST(a_client_whose_head_is_refused_is_disconnected)
{
    AUTO_FREE char *path = mem_zeroed(5001, 1);
    AUTO_FREE char *body = json_of(2001);
    AUTO_FREE char *announced = NULL;
    AUTO_FREE char *chunked = NULL;
    AUTO_FREE char *long_target = NULL;

    memset(path, 'p', 5000);
    long_target = mem_printf("GET /%s HTTP/1.1\r\n" HOST KEY "\r\n", path);
    announced =
        mem_printf("POST /echo HTTP/1.1\r\n" HOST KEY "Content-Length: 2001\r\n\r\n%s", body);
    chunked = mem_printf("POST /echo HTTP/1.1\r\n" HOST KEY
                         "Transfer-Encoding: chunked\r\n\r\n7d1\r\n%s\r\n0\r\n\r\n",
                         body);
    start(MODE_DIRECT, "--max-body", "2000", NULL);
    expect_farewell("GET /plain%00.x HTTP/1.1\r\n" HOST KEY "\r\n", "HTTP/1.1 400",
                    "control character");
    expect_farewell("GET /plain%0a.x HTTP/1.1\r\n" HOST KEY "\r\n", "HTTP/1.1 400",
                    "control character");
    expect_farewell("GET /plain?a=%00 HTTP/1.1\r\n" HOST KEY "\r\n", "HTTP/1.1 400",
                    "control character");
    expect_farewell("GET /plain%4 HTTP/1.1\r\n" HOST KEY "\r\n", "HTTP/1.1 400",
                    "percent encoding");
    expect_farewell("OPTIONS /plain%zz HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 400",
                    "percent encoding");
    expect_farewell(long_target, "HTTP/1.1 414", "longer than 4096");
    expect_farewell("GET /plain HTTP/1.1\r\n" HOST KEY "Expect: foo\r\n\r\n", "HTTP/1.1 417",
                    "expectation");
    expect_farewell("POST /echo HTTP/1.1\r\n" HOST KEY
                    "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
                    "HTTP/1.1 415", "'gzip'");
    expect_farewell("POST /echo HTTP/1.1\r\n" HOST KEY
                    "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}",
                    "HTTP/1.1 415", "expected application/json");
    expect_farewell(announced, "HTTP/1.1 413", "larger than 2000");
    expect_farewell(chunked, "HTTP/1.1 413", "larger than 2000");
    expect_farewell("POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n{}",
                    "HTTP/1.1 401", "no key");
    expect_farewell("POST /nowhere HTTP/1.1\r\n" HOST KEY "Content-Length: 2\r\n\r\n{}",
                    "HTTP/1.1 404", "Invalid URL");
    stop();
}

TEST(an_endpoint_that_refuses_keeps_the_connection)
{
    struct client client;

    start(MODE_DIRECT, NULL);
    client = dial();
    put(&client, "POST /echo HTTP/1.1\r\n" HOST KEY "Content-Length: 3\r\n\r\n{a}"
                 "GET /plain HTTP/1.1\r\n" HOST "\r\n" OPEN_REQUEST);
    expect_answer(&client, "HTTP/1.1 400", "We could not parse");
    expect_answer(&client, "HTTP/1.1 401", "no key");
    expect_answer(&client, "HTTP/1.1 200", "hello");
    hang_up(&client);
    stop();
}

/* The library would answer these with pages of HTML, and some with two heads: mhd_overrides.h. A
 * library that does not let itself be overridden fails here. */
TEST(heads_that_the_library_refuses_get_an_error_envelope)
{
    static const char *const samples[][3] = {
        {"GET /open\r\n\r\n", "400", "request line could not be read"},
        {"GET /open HTTP/1\r\n" HOST "\r\n", "400", "request line could not be read"},
        {"GET /open http/1.1\r\n" HOST "\r\n", "400", "request line could not be read"},
        {"GET /open HTTP/2.0\r\n" HOST "\r\n", "505", "version of HTTP"},
        {"GET /open HTTP/0.9\r\n" HOST "\r\n", "505", "version of HTTP"},
        {"GET /open HTTP/1.7\r\n" HOST "\r\n", "505", "version of HTTP"},
        {"GET /open HTTP/1.1\r\n" HOST "no colon\r\n\r\n", "400", "not well-formed"},
        {"GET /open HTTP/1.1\r\nno colon\r\n" HOST "\r\n", "400", "not well-formed"},
        {"GET /open HTTP/1.1\r\n\r\n", "400", "Host header is missing"},
        {"POST /echo HTTP/1.1\r\n" HOST KEY "Content-Length: abc\r\n\r\n", "400",
         "not a number"},
        {"POST /echo HTTP/1.1\r\n" HOST KEY "Content-Length: -1\r\n\r\n", "400", "number"},
        {"POST /echo HTTP/1.1\r\n" HOST KEY "Content-Length: 2, 2\r\n\r\n", "400", "number"},
        {"POST /echo HTTP/1.1\r\n" HOST KEY "Content-Length: 2x\r\n\r\n{}", "400", "number"},
        {"POST /echo HTTP/1.1\r\n" HOST KEY "Content-Length:\r\n\r\n", "400", "number"},
        {"POST /echo HTTP/1.1\r\n" HOST KEY "Content-Length: 99999999999999999999999\r\n\r\n",
         "413", "larger than any"},
        {CHUNKED "xyz\r\n", "400", "chunks of the body"},
        {CHUNKED "\r\n", "400", "chunks of the body"},
        {CHUNKED "-2\r\n{}\r\n", "400", "chunks of the body"},
        {CHUNKED "2\r\n{}}\r\n", "400", "chunks of the body"},
        {CHUNKED "fffffffffffffffff\r\n", "413", "chunk of the body is too large"},
        {CHUNKED "2\r\n{}\r\n0\r\nno colon\r\n\r\n", "400", "chunks of the body"},
        /* The error that was found before the body counts. */
        {"POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", "401",
         "no key"},
    };

    start(MODE_DIRECT, NULL);
    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        AUTO_FREE char *status = mem_printf("HTTP/1.1 %s ", samples[i][1]);

        expect_farewell(samples[i][0], status, samples[i][2]);
        expect_farewell(samples[i][0], status, "\r\nContent-Type: application/json\r\n");
        expect_farewell(samples[i][0], status, "\r\nx-request-id: req_");
    }
    /* Its answer was made before the body came. */
    ask("OPTIONS /open HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 204", "Connection: close");
    /* On a connection that has answered before. */
    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        AUTO_FREE char *second = mem_printf(OPEN_REQUEST "%s", samples[i][0]);
        struct client client = dial();
        const char *answer;

        put(&client, second);
        expect_answer(&client, "HTTP/1.1 200", "hello");
        answer = get_answer(&client);
        expect_part(answer, samples[i][1]);
        expect_reason(answer, samples[i][2]);
        expect_end(&client);
        hang_up(&client);
    }
    ask(OPEN_REQUEST, "HTTP/1.1 200", "hello");
    stop();
}

/* After an answer on the same connection, which stays. */
static void expect_second_refused(const char *request)
{
    struct client client = dial();
    const char *answer;

    put(&client, OPEN_REQUEST);
    expect_answer(&client, "HTTP/1.1 200", "hello");
    put(&client, request);
    answer = get_answer(&client);
    expect_part(answer, "HTTP/1.1 400");
    expect_part(answer, "request line could not be read");
    expect_end(&client);
    hang_up(&client);
}

/* The library hangs up by itself: connection.c finds out why. */
TEST(bytes_that_are_no_request_are_answered)
{
    static const char *const lines[] = {"hello\r\n\r\n", "GET\r\n", "\r\nhello\r\n",
                                        "\x16\x03\x01\x02\r\n\r\n", " / HTTP/1.1\r\n\r\n"};
    struct http_stats stats;

    start(MODE_DIRECT, NULL);
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        AUTO_FREE char *second = mem_printf(OPEN_REQUEST "%s", lines[i]);
        struct client client = dial();

        expect_farewell(lines[i], "HTTP/1.1 400", "request line could not be read");
        expect_farewell(lines[i], "HTTP/1.1 400", "\r\nx-request-id: req_");
        expect_second_refused(lines[i]);
        put(&client, second);
        expect_answer(&client, "HTTP/1.1 200", "hello");
        expect_part(get_answer(&client), "HTTP/1.1 400");
        expect_end(&client);
        hang_up(&client);
    }
    http_stats(under.http, &stats);
    assert_int_equal(stats.refused, 4 * COUNT_OF(lines));
    /* A client that has closed its sending half still gets its answer. */
    {
        struct client client = dial();

        put(&client, "hello\r\n");
        shutdown(client.fd, SHUT_WR);
        expect_answer(&client, "HTTP/1.1 400", "request line could not be read");
        expect_end(&client);
        hang_up(&client);
    }
    ask(OPEN_REQUEST, "HTTP/1.1 200", "hello");
    stop();
}

/* No answer is sent to a client that was answered for the last time, leaves, or is late. */
TEST(a_client_that_sends_no_request_gets_no_answer)
{
    static const char *const last[] = {
        "GET /open HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n",
        "GET /open HTTP/1.1\r\n" HOST "Connection: x, close\r\n\r\n",
        "GET /open HTTP/1.0\r\n\r\n",
        "GET /open HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    };
    struct client client;
    struct http_stats stats;

    start(MODE_DIRECT, "--keep-alive", "0.3", "--header-timeout", "0.3", NULL);
    for (size_t i = 0; i < COUNT_OF(last); i++) {
        client = dial();
        put(&client, last[i]);
        put(&client, "hello\r\n\r\n");
        expect_answer(&client, "HTTP/1.1 200", "hello");
        expect_end(&client);
        hang_up(&client);
    }
    client = dial();
    shutdown(client.fd, SHUT_WR);
    expect_end(&client);
    hang_up(&client);
    client = dial();
    put(&client, OPEN_REQUEST);
    expect_answer(&client, "HTTP/1.1 200", "hello");
    shutdown(client.fd, SHUT_WR);
    expect_end(&client);
    hang_up(&client);
    client = dial();
    put(&client, "GET /op");
    assert_int_equal(setsockopt(client.fd, SOL_SOCKET, SO_LINGER,
                                &(struct linger){.l_onoff = 1}, sizeof(struct linger)),
                     0);
    hang_up(&client); /* with a reset */
    for (size_t i = 0; i < 3; i++) {
        client = dial();
        put(&client, (const char *[]){"", "hello", OPEN_REQUEST}[i]);
        if (i == 2)
            expect_answer(&client, "HTTP/1.1 200", "hello");
        expect_end(&client);
        hang_up(&client);
    }
    http_stats(under.http, &stats);
    assert_int_equal(stats.refused, 0);
    assert_int_equal(stats.late, 3);
    client = dial(); /* open when the server stops */
    put(&client, OPEN_REQUEST);
    expect_answer(&client, "HTTP/1.1 200", "hello");
    stop();
    expect_end(&client);
    hang_up(&client);
}

TEST(without_keys_only_this_machines_names_are_served)
{
    start(MODE_DIRECT, "--no-auth", NULL);
    expect_farewell("GET /open HTTP/1.1\r\nHost: rebound.example\r\n\r\n", "HTTP/1.1 403",
                    "must be made to localhost");
    expect_farewell("POST /echo HTTP/1.1\r\nHost: rebound.example:8080\r\n" KEY
                    "Content-Length: 2\r\n\r\n{}",
                    "HTTP/1.1 403", "must be made to localhost");
    ask("GET /open HTTP/1.1\r\nHost: localhost:8080\r\n\r\n", "HTTP/1.1 200", "hello");
    ask("GET /open HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", "HTTP/1.1 200", "hello");
    ask("GET /open HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "HTTP/1.1 200", "hello");
    stop();

    start(MODE_DIRECT, NULL); /* with keys a name does not matter */
    ask("GET /open HTTP/1.1\r\nHost: any.example\r\n\r\n", "HTTP/1.1 200", "hello");
    stop();
}

/* `format` with `count` times `piece` instead of its %s. */
static char *with_many(const char *format, const char *piece, size_t count)
{
    AUTO_BUF pieces = {0};
    const char *place = strstr(format, "%s");

    for (size_t i = 0; i < count; i++)
        buf_add_text(&pieces, piece);
    return mem_printf("%.*s%s%s", (int)(place - format), format, pieces.data, place + 2);
}

/* Just above the server's limit, and above the library's memory. */
TEST(large_heads_are_refused)
{
    static const struct {
        const char *format, *piece;
        size_t count;
        const char *status, *text;
    } samples[] = {
        {"GET /plain HTTP/1.1\r\n" HOST KEY "X: %s\r\n\r\n", "v", 12399, "431", "too large"},
        {"GET /plain HTTP/1.1\r\n" HOST KEY "X: %s\r\n\r\n", "v", 20000, "431", "too large"},
        {"GET /plain HTTP/1.1\r\n" HOST KEY "X: %s\r\n\r\n", "v", 200000, "431", "too large"},
        {"GET /plain HTTP/1.1\r\n" HOST KEY "%s\r\n", "X: 1\r\n", 2000, "431", "too large"},
        {"GET /plain HTTP/1.1\r\n" HOST KEY "%s\r\n", "X: 1\r\n", 70, "431", "many headers"},
        {"GET /plain HTTP/1.1\r\n" HOST KEY "Cookie: %s\r\n\r\n", "a;", 7000, "431",
         "too large"},
        {"GET /plain HTTP/1.1\r\n" HOST KEY "Cookie: %s\r\n\r\n", "a;", 4000, "200", "proj_1"},
        {"GET /plain?%s HTTP/1.1\r\n" HOST KEY "\r\n", "a&", 3000, "414", "longer than 4096"},
        {"GET /plain?%s HTTP/1.1\r\n" HOST KEY "\r\n", "&", 4000, "200", "proj_1"},
        {"GET /%s HTTP/1.1\r\n" HOST KEY "\r\n", "p", 20000, "414", "request line is too long"},
        /* The last three only before 1.0 of the library: that takes no value that goes on in the next
         * line, and forgets to send what it says of chunks, until a deadline ends the connection. */
        {"GET /plain HTTP/1.1\r\n" HOST KEY "X: a\r\n%s\r\n", " b\r\n", 6000, "431",
         "too large"},
        {CHUNKED "2;%s\r\n{}\r\n", "x", 20000, "400", "chunks of the body"},
        {CHUNKED "2\r\n{}\r\n0\r\nX: %s\r\n\r\n", "x", 20000, "431", "too large"},
    };
    size_t count = COUNT_OF(samples) - (MHD_VERSION < 0x01000000 ? 0 : 3);

    start(MODE_DIRECT, NULL);
    for (size_t i = 0; i < count; i++) {
        AUTO_FREE char *head = with_many(samples[i].format, samples[i].piece, samples[i].count);
        AUTO_FREE char *status = mem_printf("HTTP/1.1 %s ", samples[i].status);

        if (samples[i].status[0] == '4')
            expect_farewell(head, status, samples[i].text);
        else
            ask(head, status, samples[i].text);
    }
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubtful_heads_are_answered_and_disconnected),
        cmocka_unit_test(a_client_whose_head_is_refused_is_disconnected),
        cmocka_unit_test(an_endpoint_that_refuses_keeps_the_connection),
        cmocka_unit_test(heads_that_the_library_refuses_get_an_error_envelope),
        cmocka_unit_test(bytes_that_are_no_request_are_answered),
        cmocka_unit_test(a_client_that_sends_no_request_gets_no_answer),
        cmocka_unit_test(without_keys_only_this_machines_names_are_served),
        cmocka_unit_test(large_heads_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
