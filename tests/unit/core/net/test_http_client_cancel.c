/*
 * Calls that are cancelled and started from everywhere, also a thousand at once.
 */

#include <sys/resource.h>

#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "tests/support/test.h"
#include "tests/unit/core/net/errand.h"
#include "tests/unit/core/net/http_exchange.h"

TEST(a_cancelled_call_has_no_callback_and_its_connection_is_closed)
{
    struct fixture *fixture = *state;
    struct exchange exchange;

    tiny_close_gate(fixture->server, 1);
    exchange_init(&exchange, fixture, "/gate-silent");
    on_loop(fixture->loop, start_exchange, &exchange);
    tiny_wait_until_gate_opens(fixture->server);
    on_loop(fixture->loop, cancel_exchange, &exchange);
    wait_for(&fixture->server->peer_left);
    let_pass(fixture->loop);
    assert_int_equal(exchange.heads + exchange.pieces + exchange.dones, 0);
    exchange_clear(&exchange);
}

TEST(a_callback_may_cancel_its_own_call)
{
    static const enum exchange_end ends[] = {CANCEL_IN_HEAD, CANCEL_IN_DATA};
    struct fixture *fixture = *state;

    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        struct exchange exchange;

        exchange_init(&exchange, fixture, "/flood");
        exchange.end = ends[i];
        on_loop(fixture->loop, start_exchange, &exchange);
        wait_for(&fixture->server->peer_left);
        let_pass(fixture->loop);
        assert_int_equal(exchange.heads, 1);
        assert_int_equal(exchange.pieces, ends[i] == CANCEL_IN_DATA ? 1 : 0);
        assert_int_equal(exchange.dones, 0);
        exchange_clear(&exchange);
    }
}

TEST(a_callback_may_cancel_another_call)
{
    struct fixture *fixture = *state;
    struct exchange victim;
    struct exchange exchange;

    exchange_init(&victim, fixture, "/head-only");
    exchange_init(&exchange, fixture, "/chunked");
    exchange.end = CANCEL_OTHER_IN_DATA;
    exchange.other = &victim;
    on_loop(fixture->loop, start_exchange, &victim);
    run_exchange(&exchange);
    assert_int_equal(exchange.rc, ERR_OK);
    let_pass(fixture->loop);
    assert_null(victim.call);
    assert_int_equal(victim.dones, 0);
    exchange_clear(&victim);
    exchange_clear(&exchange);
}

TEST(a_callback_may_start_another_call)
{
    static const enum exchange_end ends[] = {START_OTHER_IN_DATA, START_OTHER_IN_DONE};
    struct fixture *fixture = *state;

    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        struct exchange next;
        struct exchange exchange;

        exchange_init(&next, fixture, "/hello");
        exchange_init(&exchange, fixture, "/chunked");
        exchange.end = ends[i];
        exchange.other = &next;
        run_exchange(&exchange);
        wait_for(&next.done);
        assert_int_equal(exchange.rc, ERR_OK);
        assert_int_equal(next.rc, ERR_OK);
        assert_string_equal(next.body.data, "hello");
        exchange_clear(&next);
        exchange_clear(&exchange);
    }
}

TEST(a_call_may_be_started_and_cancelled_in_one_callback)
{
    struct fixture *fixture = *state;
    struct exchange next;
    struct exchange exchange;

    exchange_init(&next, fixture, "/hello");
    set_body(&next, "POST", "released all the same");
    exchange_init(&exchange, fixture, "/chunked");
    exchange.end = START_AND_CANCEL_OTHER_IN_DATA;
    exchange.other = &next;
    run_exchange(&exchange);
    let_pass(fixture->loop);
    assert_int_equal(exchange.rc, ERR_OK);
    assert_int_equal(next.heads + next.pieces + next.dones, 0);
    assert_int_equal(fixture->server->accepted, 1);
    exchange_clear(&next);
    exchange_clear(&exchange);
}

TEST(cancelling_a_finished_call_does_nothing)
{
    struct exchange exchange;

    exchange_init(&exchange, *state, "/hello");
    exchange.end = CANCEL_SELF_IN_DONE;
    run_exchange(&exchange);
    let_pass(exchange.loop);
    assert_int_equal(exchange.dones, 1);
    exchange_clear(&exchange);
}

TEST(calls_that_are_alive_end_with_the_loop)
{
    struct fixture *fixture = *state;
    struct exchange exchanges[10];

    for (size_t i = 0; i < COUNT_OF(exchanges); i++) {
        exchange_init(&exchanges[i], fixture, i % 2 ? "/silent" : "/stalls");
        exchanges[i].request.timeouts.total = LONG;
        set_body(&exchanges[i], "POST", "a body");
        on_loop(fixture->loop, start_exchange, &exchanges[i]);
    }
    loop_stop(fixture->loop);
    loop_free(fixture->loop);
    for (size_t i = 0; i < COUNT_OF(exchanges); i++) {
        assert_int_equal(exchanges[i].dones, 0);
        exchange_clear(&exchanges[i]);
    }
    fixture->loop = loop_new("again");
}

/* --- many --- */

#define MANY 1000

static void start_crowd(void *arg)
{
    struct exchange *exchanges = arg;

    for (size_t i = 0; i < MANY; i++)
        start_exchange(&exchanges[i]);
}

static void cancel_crowd(void *arg)
{
    struct exchange *exchanges = arg;

    for (size_t i = 0; i < MANY; i++)
        cancel_exchange(&exchanges[i]);
}

static void allow_descriptors(rlim_t wanted)
{
    struct rlimit limit;

    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = wanted;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* The server answers when all requests have come. In the second round no call connects. */
TEST(a_thousand_calls_run_at_once)
{
    struct fixture *fixture = *state;
    AUTO_FREE struct exchange *exchanges = mem_new_array(struct exchange, MANY);

    allow_descriptors(2 * MANY + 100);
    for (int round = 0; round < 2; round++) {
        tiny_close_gate(fixture->server, MANY);
        for (size_t i = 0; i < MANY; i++)
            exchange_init(&exchanges[i], fixture, "/gate");
        on_loop(fixture->loop, start_crowd, exchanges);
        for (size_t i = 0; i < MANY; i++) {
            wait_for(&exchanges[i].done);
            assert_int_equal(exchanges[i].rc, ERR_OK);
            assert_string_equal(exchanges[i].body.data, "onetwothree");
            exchange_clear(&exchanges[i]);
        }
    }
    assert_int_equal(fixture->server->accepted, MANY);
}

TEST(a_thousand_calls_can_be_cancelled_at_once)
{
    struct fixture *fixture = *state;
    AUTO_FREE struct exchange *exchanges = mem_new_array(struct exchange, MANY);

    allow_descriptors(2 * MANY + 100);
    tiny_close_gate(fixture->server, MANY);
    for (size_t i = 0; i < MANY; i++)
        exchange_init(&exchanges[i], fixture, "/gate-silent");
    on_loop(fixture->loop, start_crowd, exchanges);
    tiny_wait_until_gate_opens(fixture->server);
    on_loop(fixture->loop, cancel_crowd, exchanges);
    for (size_t i = 0; i < MANY; i++)
        wait_for(&fixture->server->peer_left);
    let_pass(fixture->loop);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(exchanges[i].heads + exchanges[i].dones, 0);
        exchange_clear(&exchanges[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        client_test(a_cancelled_call_has_no_callback_and_its_connection_is_closed),
        client_test(a_callback_may_cancel_its_own_call),
        client_test(a_callback_may_cancel_another_call),
        client_test(a_callback_may_start_another_call),
        client_test(a_call_may_be_started_and_cancelled_in_one_callback),
        client_test(cancelling_a_finished_call_does_nothing),
        client_test(calls_that_are_alive_end_with_the_loop),
        client_test(a_thousand_calls_run_at_once),
        client_test(a_thousand_calls_can_be_cancelled_at_once),
    };

    return cmocka_run_group_tests(tests, start_http, end_http);
}
