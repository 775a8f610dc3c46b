/*
 * Requests of threads that wait for the answer.
 */

#include "core/net/http_ask.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "core/net/http_client.h"
#include "tests/support/test.h"
#include "tests/unit/core/net/http_exchange.h"
#include "tests/unit/core/net/http_pages.h"

#define ASKS 8

static struct loop *loop_of(void *arg)
{
    return ((struct fixture *)arg)->loop;
}

/* What is as in http_ask.h, and the place is the fixture's. */
static struct http_ask *start_with(struct http_asks *asks, const struct fixture *fixture,
                                   const char *path, struct http_ask_request request)
{
    char url[128];

    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d%s", fixture->server->port, path);
    request.url = url;
    request.total_ns = LONG;
    return http_ask_start(asks, &request);
}

static struct http_ask *start(struct http_asks *asks, const struct fixture *fixture,
                              const char *path, const char *body, size_t limit)
{
    static const char *const headers[] = {"Content-Type: text/plain", NULL};
    char url[128];

    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d%s", fixture->server->port, path);
    return http_ask_start(asks, &(struct http_ask_request){
                                    .url = url,
                                    .headers = headers,
                                    .body = body ? mem_strdup(body) : NULL,
                                    .length = body ? strlen(body) : 0,
                                    .answer_limit = limit,
                                    .total_ns = strcmp(path, "/silent") == 0 ? SHORT : LONG,
                                });
}

TEST(an_answer_comes_back_with_its_status)
{
    struct http_asks *asks = http_asks_new(loop_of, *state);
    struct http_answer answer = {0};

    assert_int_equal(
        http_ask_wait(start(asks, *state, "/hello", NULL, HTTP_BIG_PAGE), &answer, NULL),
        ERR_OK);
    assert_int_equal(answer.status, 200);
    assert_string_equal(answer.bytes, "hello");
    assert_int_equal(answer.length, 5);
    http_answer_clear(&answer);
    http_asks_free(asks);
}

TEST(a_busy_server_says_when_to_come_back)
{
    struct http_asks *asks = http_asks_new(loop_of, *state);
    struct http_answer answer = {0};

    assert_int_equal(
        http_ask_wait(start(asks, *state, "/retry-seconds", NULL, 100), &answer, NULL), ERR_OK);
    assert_int_equal(answer.status, 429);
    assert_true(answer.retry_after_ns > 0);
    http_answer_clear(&answer);
    http_asks_free(asks);
}

TEST(several_are_under_way_at_once)
{
    const struct fixture *fixture = *state;
    struct http_asks *asks = http_asks_new(loop_of, *state);
    struct http_ask *started[ASKS];

    tiny_close_gate(fixture->server, ASKS); /* no answer before all have come */
    for (size_t i = 0; i < ASKS; i++)
        started[i] = start(asks, fixture, "/gate", NULL, 1000);
    for (size_t i = 0; i < ASKS; i++) {
        struct http_answer answer = {0};

        assert_int_equal(http_ask_wait(started[i], &answer, NULL), ERR_OK);
        http_answer_clear(&answer);
    }
    http_asks_free(asks);
}

TEST(a_body_is_sent)
{
    struct http_asks *asks = http_asks_new(loop_of, *state);
    struct http_answer answer = {0};

    assert_int_equal(
        http_ask_wait(start(asks, *state, "/echo", "some text", 10000), &answer, NULL), ERR_OK);
    assert_non_null(strstr(answer.bytes, "some text"));
    assert_non_null(strstr(answer.bytes, "POST"));
    http_answer_clear(&answer);
    http_asks_free(asks);
}

TEST(an_answer_that_is_too_long_or_late_fails)
{
    struct http_asks *asks = http_asks_new(loop_of, *state);
    struct http_answer answer = {0};
    struct err err;

    assert_int_equal(
        http_ask_wait(start(asks, *state, "/big", NULL, HTTP_BIG_PAGE - 1), &answer, &err),
        ERR_UPSTREAM);
    assert_string_equal(err.text, "the answer has more than 65535 bytes");
    assert_int_equal(http_ask_wait(start(asks, *state, "/silent", NULL, 100), &answer, &err),
                     ERR_TIMEOUT);
    assert_null(answer.bytes);
    http_asks_free(asks);
}

struct waiter {
    struct http_ask *ask;
    enum err_code rc;
};

static void *wait_for_answer(void *arg)
{
    struct waiter *waiter = arg;
    struct http_answer answer;

    waiter->rc = http_ask_wait(waiter->ask, &answer, NULL);
    return NULL;
}

TEST(closing_ends_waits_and_drops_connections)
{
    const struct fixture *fixture = *state;
    struct http_asks *asks = http_asks_new(loop_of, *state);
    struct waiter waiter = {0};
    pthread_t thread;

    tiny_close_gate(fixture->server, 1);
    waiter.ask = start(asks, fixture, "/gate-silent", NULL, 100);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_answer, &waiter), 0);
    tiny_wait_until_gate_opens(fixture->server);
    http_asks_close(asks);
    pthread_join(thread, NULL);
    assert_int_equal(waiter.rc, ERR_CANCELLED);
    waiter.ask = start(asks, fixture, "/hello", NULL, 100);
    wait_for_answer(&waiter);
    http_asks_free(asks); /* although their ends may still be under way */
    let_pass(fixture->loop);
}

TEST(what_is_dropped_is_not_waited_for)
{
    const struct fixture *fixture = *state;
    struct http_asks *asks = http_asks_new(loop_of, *state);

    http_ask_drop(start(asks, fixture, "/silent", NULL, 100));
    http_ask_drop(start(asks, fixture, "/hello", NULL, 100));
    http_ask_drop(NULL);
    let_pass(fixture->loop);
    http_asks_free(asks);
}

TEST(a_compressed_answer_is_decoded_when_that_is_wanted)
{
    struct http_asks *asks = http_asks_new(loop_of, *state);
    const struct http_ask_request wanted = {.decodes = true, .answer_limit = 1000};
    struct http_answer answer = {0};

    assert_int_equal(http_ask_wait(start_with(asks, *state, "/packed", wanted), &answer, NULL),
                     ERR_OK);
    assert_string_equal(answer.bytes, "packed");
    assert_string_equal(answer.type, "text/html; charset=x");
    assert_null(answer.location);
    http_answer_clear(&answer);
    http_asks_free(asks);
}

TEST(a_bomb_is_not_unpacked)
{
    struct http_asks *asks = http_asks_new(loop_of, *state);
    const struct http_ask_request wanted = {.decodes = true, .answer_limit = 1 << 20};
    struct http_answer answer = {0};
    struct err err;

    assert_int_equal(http_ask_wait(start_with(asks, *state, "/bomb", wanted), &answer, &err),
                     ERR_UPSTREAM);
    assert_string_equal(err.text,
                        "the answer is compressed to less than a 100th of its length");
    http_asks_free(asks);
}

TEST(only_the_one_encoding_that_was_asked_for_is_decoded)
{
    static const char *const paths[] = {"/stacked", "/stacked-twice", "/brotli",
                                        "/packed-transfer"};
    struct http_asks *asks = http_asks_new(loop_of, *state);
    const struct http_ask_request wanted = {.decodes = true, .answer_limit = 1000};
    struct http_answer answer = {0};
    struct err err;

    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        assert_int_equal(
            http_ask_wait(start_with(asks, *state, paths[i], wanted), &answer, &err),
            ERR_UPSTREAM);
        if (!strstr(err.text, "it is compressed in a way that was not asked for"))
            fail_msg("%s: %s", paths[i], err.text);
    }
    http_asks_free(asks);
}

static bool wants_no_redirect(const struct http_head *head)
{
    return head->status != 307;
}

TEST(a_body_that_is_not_wanted_is_not_read)
{
    struct http_asks *asks = http_asks_new(loop_of, *state);
    const struct http_ask_request wanted = {.wants = wants_no_redirect, .answer_limit = 1000};
    struct http_answer answer = {0};

    assert_int_equal(
        http_ask_wait(start_with(asks, *state, "/redirect", wanted), &answer, NULL), ERR_OK);
    assert_int_equal(answer.status, 307);
    assert_string_equal(answer.location, "/hello");
    assert_int_equal(answer.length, 0);
    http_answer_clear(&answer);
    http_asks_free(asks);
}

TEST(a_private_address_is_not_asked)
{
    static const struct egress_rules public_only = {0};
    struct http_asks *asks = http_asks_new(loop_of, *state);
    const struct http_ask_request wanted = {.egress = &public_only, .answer_limit = 1000};
    struct http_answer answer = {0};
    struct err err;

    assert_int_equal(http_ask_wait(start_with(asks, *state, "/hello", wanted), &answer, &err),
                     ERR_UPSTREAM);
    assert_int_equal(err.reason, REASON_ADDRESS);
    http_asks_free(asks);
}

TEST(a_wait_ends_when_its_descriptor_is_raised)
{
    const struct fixture *fixture = *state;
    struct http_asks *asks = http_asks_new(loop_of, *state);
    const struct http_ask_request watched = {.watched = true, .answer_limit = 1000};
    struct http_answer answer = {0};
    int fd = eventfd(0, EFD_CLOEXEC);

    assert_int_equal(
        http_ask_wait_or(start_with(asks, fixture, "/hello", watched), fd, &answer, NULL),
        ERR_OK);
    assert_string_equal(answer.bytes, "hello");
    http_answer_clear(&answer);
    assert_int_equal(eventfd_write(fd, 1), 0);
    assert_int_equal(
        http_ask_wait_or(start_with(asks, fixture, "/silent", watched), fd, &answer, NULL),
        ERR_CANCELLED);
    http_asks_close(asks);
    assert_int_equal(
        http_ask_wait_or(start_with(asks, fixture, "/silent", watched), -1, &answer, NULL),
        ERR_CANCELLED);
    close(fd);
    http_asks_free(asks);
    let_pass(fixture->loop);
}

TEST(an_answer_is_read_in_pieces_to_its_end)
{
    struct http_asks *asks = http_asks_new(loop_of, *state);
    struct http_ask *ask =
        start_with(asks, *state, "/chunked",
                   (struct http_ask_request){.in_pieces = true, .answer_limit = HTTP_BIG_PAGE});
    struct http_answer answer = {0};
    AUTO_BUF text = {0};
    bool ended = false;

    while (!ended)
        assert_int_equal(http_ask_read(ask, -1, &text, &ended, NULL), ERR_OK);
    assert_int_equal(http_ask_wait(ask, &answer, NULL), ERR_OK);
    assert_int_equal(answer.status, 200);
    assert_int_equal(answer.length, 0);
    assert_string_equal(text.data, "onetwothree");
    http_answer_clear(&answer);
    http_asks_free(asks);
}

TEST(pieces_that_are_too_many_end_the_answer)
{
    struct http_asks *asks = http_asks_new(loop_of, *state);
    struct http_ask *ask = start_with(
        asks, *state, "/big",
        (struct http_ask_request){.in_pieces = true, .answer_limit = HTTP_BIG_PAGE - 1});
    struct http_answer answer = {0};
    AUTO_BUF text = {0};
    bool ended = false;

    while (!ended)
        assert_int_equal(http_ask_read(ask, -1, &text, &ended, NULL), ERR_OK);
    assert_int_equal(http_ask_wait(ask, &answer, NULL), ERR_UPSTREAM);
    assert_true(text.length < HTTP_BIG_PAGE);
    http_asks_free(asks);
}

TEST(a_reader_whose_answer_is_no_longer_wanted_leaves)
{
    const struct fixture *fixture = *state;
    struct http_asks *asks = http_asks_new(loop_of, *state);
    struct http_ask *ask =
        start_with(asks, fixture, "/stalls",
                   (struct http_ask_request){.in_pieces = true, .answer_limit = 100});
    int cancel_fd = eventfd(1, EFD_CLOEXEC);
    AUTO_BUF text = {0};
    bool ended = false;

    assert_int_equal(http_ask_read(ask, -1, &text, &ended, NULL), ERR_OK);
    assert_false(ended);
    assert_int_equal(http_ask_read(ask, cancel_fd, &text, &ended, NULL), ERR_CANCELLED);
    http_ask_drop(ask);
    let_pass(fixture->loop);
    http_asks_free(asks);
    close(cancel_fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        client_test(an_answer_comes_back_with_its_status),
        client_test(a_busy_server_says_when_to_come_back),
        client_test(several_are_under_way_at_once),
        client_test(a_body_is_sent),
        client_test(an_answer_that_is_too_long_or_late_fails),
        client_test(closing_ends_waits_and_drops_connections),
        client_test(what_is_dropped_is_not_waited_for),
        client_test(a_compressed_answer_is_decoded_when_that_is_wanted),
        client_test(a_bomb_is_not_unpacked),
        client_test(only_the_one_encoding_that_was_asked_for_is_decoded),
        client_test(a_body_that_is_not_wanted_is_not_read),
        client_test(a_private_address_is_not_asked),
        client_test(a_wait_ends_when_its_descriptor_is_raised),
        client_test(an_answer_is_read_in_pieces_to_its_end),
        client_test(pieces_that_are_too_many_end_the_answer),
        client_test(a_reader_whose_answer_is_no_longer_wanted_leaves),
    };

    return cmocka_run_group_tests(tests, start_http, end_http);
}
