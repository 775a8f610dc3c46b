#include <stdio.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "tests/support/test.h"
#include "tests/unit/core/net/http_exchange.h"

/* --- answers --- */

TEST(an_answer_comes_as_head_data_and_end)
{
    struct exchange exchange;

    exchange_init(&exchange, *state, "/hello");
    run_exchange(&exchange);
    assert_int_equal(exchange.rc, ERR_OK);
    assert_int_equal(exchange.heads, 1);
    assert_int_equal(exchange.dones, 1);
    assert_int_equal(exchange.status, 200);
    assert_string_equal(exchange.type, "text/plain");
    assert_string_equal(exchange.body.data, "hello");
    exchange_clear(&exchange);
}

TEST(chunks_are_joined_and_trailers_are_no_second_head)
{
    struct exchange exchange;

    exchange_init(&exchange, *state, "/chunked");
    run_exchange(&exchange);
    assert_int_equal(exchange.rc, ERR_OK);
    assert_int_equal(exchange.heads, 1);
    assert_string_equal(exchange.type, "text/event-stream");
    assert_string_equal(exchange.body.data, "onetwothree");
    exchange_clear(&exchange);
}

TEST(interim_answers_are_not_the_answer)
{
    struct exchange exchange;

    exchange_init(&exchange, *state, "/continue");
    run_exchange(&exchange);
    assert_int_equal(exchange.rc, ERR_OK);
    assert_int_equal(exchange.heads, 1);
    assert_int_equal(exchange.status, 200);
    assert_string_equal(exchange.body.data, "hello");
    exchange_clear(&exchange);
}

TEST(a_redirect_is_not_followed)
{
    struct exchange exchange;

    exchange_init(&exchange, *state, "/redirect");
    run_exchange(&exchange);
    assert_int_equal(exchange.rc, ERR_OK);
    assert_int_equal(exchange.status, 307);
    assert_string_equal(exchange.body.data, "gone");
    exchange_clear(&exchange);
}

TEST(callbacks_may_be_left_out)
{
    struct exchange exchange;

    exchange_init(&exchange, *state, "/hello");
    exchange.request.on_head = NULL;
    exchange.request.on_data = NULL;
    run_exchange(&exchange);
    assert_int_equal(exchange.rc, ERR_OK);
    exchange_clear(&exchange);
}

TEST(retry_after_is_seconds_or_a_date)
{
    static const struct {
        const char *path;
        int status;
        uint64_t least;
        uint64_t most;
    } cases[] = {
        {"/retry-seconds", 429, 7, 7},
        {"/retry-date", 503, 80, 100},
        {"/retry-past", 503, 0, 0},
        {"/retry-for-ever", 503, HTTP_RETRY_AFTER_LIMIT, HTTP_RETRY_AFTER_LIMIT},
        {"/hello", 200, 0, 0},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct exchange exchange;

        exchange_init(&exchange, *state, cases[i].path);
        run_exchange(&exchange);
        assert_int_equal(exchange.rc, ERR_OK);
        assert_int_equal(exchange.status, cases[i].status);
        assert_in_range(exchange.retry_after_ns, cases[i].least * NS_PER_SECOND,
                        cases[i].most * NS_PER_SECOND);
        exchange_clear(&exchange);
    }
}

/* --- requests --- */

static bool sent(const struct exchange *exchange, const char *text)
{
    return strstr(exchange->body.data, text) != NULL;
}

TEST(a_request_is_sent_as_it_was_written)
{
    static const char *const headers[] = {"Authorization: Bearer k", "Content-Type: a/b",
                                          "Accept: text/event-stream", NULL};
    struct exchange exchange;

    exchange_init(&exchange, *state, "/echo");
    exchange.request.headers = headers;
    set_body(&exchange, "POST", "{\"x\":1}");
    run_exchange(&exchange);
    assert_int_equal(exchange.rc, ERR_OK);
    assert_true(sent(&exchange, "POST /echo HTTP/1.1\r\n"));
    assert_true(sent(&exchange, "\r\nAuthorization: Bearer k\r\n"));
    assert_true(sent(&exchange, "\r\nContent-Type: a/b\r\n"));
    assert_true(sent(&exchange, "\r\nAccept: text/event-stream\r\n"));
    assert_true(sent(&exchange, "\r\nContent-Length: 7\r\n"));
    assert_true(sent(&exchange, "\r\n\r\n{\"x\":1}"));
    assert_true(sent(&exchange, "\r\nAccept-Encoding: identity\r\n"));
    exchange_clear(&exchange);
}

TEST(every_method_works_with_and_without_a_body)
{
    static const struct {
        const char *method;
        const char *body;
        const char *length;
    } cases[] = {
        {"GET", NULL, NULL},         {"DELETE", NULL, NULL},       {"POST", NULL, "Length: 0"},
        {"PUT", "abc", "Length: 3"}, {"PATCH", "ab", "Length: 2"}, {"DELETE", "x", "Length: 1"},
        {"GET", "x", "Length: 1"},   {"POST", "", "Length: 0"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char line[64];
        struct exchange exchange;

        (void)snprintf(line, sizeof(line), "%s /echo HTTP/1.1\r\n", cases[i].method);
        exchange_init(&exchange, *state, "/echo");
        set_body(&exchange, cases[i].method, cases[i].body);
        run_exchange(&exchange);
        assert_int_equal(exchange.rc, ERR_OK);
        assert_ptr_equal(strstr(exchange.body.data, line), exchange.body.data);
        assert_int_equal(sent(&exchange, "Content-Length"), cases[i].length != NULL);
        if (cases[i].length)
            assert_true(sent(&exchange, cases[i].length));
        exchange_clear(&exchange);
    }
}

TEST(a_head_request_expects_no_body)
{
    struct exchange exchange;

    exchange_init(&exchange, *state, "/bodyless");
    exchange.request.method = "HEAD";
    run_exchange(&exchange);
    assert_int_equal(exchange.rc, ERR_OK);
    assert_int_equal(exchange.heads, 1);
    assert_int_equal(exchange.pieces, 0);
    exchange_clear(&exchange);
}

/* Larger than any buffer on the way, and larger than the body for which libcurl would wait for "100
 * Continue"; also when the answer begins before the body was sent. */
TEST(a_large_body_arrives_whole)
{
    static const char *const paths[] = {"/echo", "/early"};
    size_t length = 9000000;
    AUTO_FREE char *body = mem_zeroed(length + 1, 1);

    for (size_t i = 0; i < length; i++)
        body[i] = (char)('a' + i % 23);
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        struct exchange exchange;

        exchange_init(&exchange, *state, paths[i]);
        set_body(&exchange, "POST", body);
        run_exchange(&exchange);
        assert_int_equal(exchange.rc, ERR_OK);
        assert_true(exchange.body.length > length);
        assert_memory_equal(exchange.body.data + exchange.body.length - length, body, length);
        assert_false(sent(&exchange, "\r\nExpect:"));
        exchange_clear(&exchange);
    }
}

static void set_spooled(struct exchange *exchange, const char *bytes, size_t length)
{
    struct spool *spool = NULL;

    assert_int_equal(spool_open("/tmp", &spool, NULL), ERR_OK);
    assert_int_equal(spool_write(spool, bytes, length, NULL), ERR_OK);
    exchange->request.method = "POST";
    exchange->request.body = http_body_new_spooled(spool);
}

/* The first page answers with the head, too. */
TEST(a_body_in_a_file_arrives_whole)
{
    static const char *const paths[] = {"/echo", "/early"};
    static const char *const headers[] = {"Content-Type: a/b", NULL};
    size_t length = 5000000;
    AUTO_FREE char *body = mem_zeroed(length + 1, 1);

    for (size_t i = 0; i < length; i++)
        body[i] = (char)('a' + i % 23);
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        struct exchange exchange;

        exchange_init(&exchange, *state, paths[i]);
        exchange.request.headers = headers;
        set_spooled(&exchange, body, length);
        run_exchange(&exchange);
        assert_int_equal(exchange.rc, ERR_OK);
        assert_true(exchange.body.length > length);
        assert_memory_equal(exchange.body.data + exchange.body.length - length, body, length);
        assert_int_equal(sent(&exchange, "\r\nContent-Length: 5000000\r\n"), i == 0);
        assert_int_equal(sent(&exchange, "\r\nContent-Type: a/b\r\n"), i == 0);
        exchange_clear(&exchange);
    }
}

TEST(an_empty_body_in_a_file_is_a_body)
{
    struct exchange exchange;

    exchange_init(&exchange, *state, "/echo");
    set_spooled(&exchange, "", 0);
    run_exchange(&exchange);
    assert_int_equal(exchange.rc, ERR_OK);
    assert_true(sent(&exchange, "Content-Length: 0\r\n"));
    exchange_clear(&exchange);
}

TEST(a_line_break_in_a_header_fails_the_call)
{
    static const char *const headers[] = {"X: a\r\nY: b", NULL};
    struct fixture *fixture = *state;
    struct exchange exchange;

    exchange_init(&exchange, fixture, "/hello");
    exchange.request.headers = headers;
    run_exchange(&exchange);
    assert_int_equal(exchange.rc, ERR_UPSTREAM);
    assert_int_equal(exchange.dones, 1);
    assert_int_equal(fixture->server->accepted, 0);
    exchange_clear(&exchange);
}

/* --- connections --- */

TEST(a_connection_is_used_again)
{
    struct fixture *fixture = *state;

    for (int i = 0; i < 20; i++) {
        struct exchange exchange;

        exchange_init(&exchange, fixture, i % 2 ? "/hello" : "/chunked");
        run_exchange(&exchange);
        assert_int_equal(exchange.rc, ERR_OK);
        exchange_clear(&exchange);
    }
    assert_int_equal(fixture->server->accepted, 1);
}

TEST(a_connection_closed_meanwhile_is_opened_again)
{
    struct fixture *fixture = *state;

    for (int i = 0; i < 20; i++) {
        struct exchange exchange;

        exchange_init(&exchange, fixture, "/hello-and-close");
        if (i % 2)
            set_spooled(&exchange, "again", 5);
        else
            set_body(&exchange, "POST", "again");
        run_exchange(&exchange);
        assert_int_equal(exchange.rc, ERR_OK);
        assert_string_equal(exchange.body.data, "hello");
        exchange_clear(&exchange);
    }
    assert_int_equal(fixture->server->accepted, 20);
}

/* libcurl would repeat it over a new connection, although the server may have read it. */
TEST(a_request_marked_once_is_not_repeated)
{
    struct fixture *fixture = *state;

    for (int i = 0; i < 5; i++) {
        struct exchange exchange;

        exchange_init(&exchange, fixture, "/hello");
        set_body(&exchange, "POST", "once");
        exchange.request.once = true;
        run_exchange(&exchange);
        assert_int_equal(exchange.rc, ERR_OK);
        exchange_clear(&exchange);
    }
    assert_int_equal(fixture->server->accepted, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        client_test(an_answer_comes_as_head_data_and_end),
        client_test(chunks_are_joined_and_trailers_are_no_second_head),
        client_test(interim_answers_are_not_the_answer),
        client_test(a_redirect_is_not_followed),
        client_test(callbacks_may_be_left_out),
        client_test(retry_after_is_seconds_or_a_date),
        client_test(a_request_is_sent_as_it_was_written),
        client_test(every_method_works_with_and_without_a_body),
        client_test(a_head_request_expects_no_body),
        client_test(a_large_body_arrives_whole),
        client_test(a_body_in_a_file_arrives_whole),
        client_test(an_empty_body_in_a_file_is_a_body),
        client_test(a_line_break_in_a_header_fails_the_call),
        client_test(a_connection_is_used_again),
        client_test(a_connection_closed_meanwhile_is_opened_again),
        client_test(a_request_marked_once_is_not_repeated),
    };

    return cmocka_run_group_tests(tests, start_http, end_http);
}
