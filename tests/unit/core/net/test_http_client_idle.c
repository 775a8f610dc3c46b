/*
 * Connections that wait for their next call: how long they may, how many of them, and that one that
 * the server has closed does not stay behind.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above. */
#include <cmocka.h>

#include <time.h>

#include "core/base/compiler.h"
#include "core/net/http_multi.h"
#include "tests/unit/core/net/errand.h"
#include "tests/unit/core/net/http_exchange.h"

#define CALLS      20
#define PROMISED_S 5 /* within which a connection that the server has closed is closed here */

struct pool {
    struct loop *loop;
    size_t limit;
    long age;
    size_t idle;
};

static void set_limits(void *arg)
{
    struct pool *pool = arg;
    struct http_multis *multis = loop_http_state(pool->loop);

    multis->idle_limit = pool->limit;
    multis->idle_age = pool->age;
}

static void count_idle(void *arg)
{
    struct pool *pool = arg;
    struct http_multis *multis = loop_http_state(pool->loop);

    pool->idle = multis->idle_count;
}

static size_t idle_connections(const struct fixture *fixture)
{
    struct pool pool = {.loop = fixture->loop};

    on_loop(fixture->loop, count_idle, &pool);
    return pool.idle;
}

static void limit_pool(const struct fixture *fixture, size_t limit, long age)
{
    struct pool pool = {.loop = fixture->loop, .limit = limit, .age = age};
    struct exchange exchange;

    exchange_init(&exchange, fixture, "/until-close"); /* makes the pool, and leaves nothing */
    run_exchange(&exchange);
    exchange_clear(&exchange);
    on_loop(fixture->loop, set_limits, &pool);
}

static void run_together(const struct fixture *fixture, const char *path)
{
    struct exchange exchanges[CALLS];

    tiny_close_gate(fixture->server, CALLS);
    for (size_t i = 0; i < CALLS; i++) {
        exchange_init(&exchanges[i], fixture, path);
        on_loop(fixture->loop, start_exchange, &exchanges[i]);
    }
    for (size_t i = 0; i < CALLS; i++) {
        wait_for(&exchanges[i].done);
        assert_int_equal(exchanges[i].rc, ERR_OK);
        exchange_clear(&exchanges[i]);
    }
}

/* All of them are, while no other call is made. */
static void assert_connections_are_closed(const struct fixture *fixture)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PROMISED_S;
    for (size_t i = 0; i < CALLS; i++)
        assert_int_equal(sem_timedwait(&fixture->server->peer_left, &until), 0);
    assert_int_equal(idle_connections(fixture), 0);
}

static void what_the_server_has_closed_is_closed_without_another_call(void **state)
{
    run_together(*state, "/leaves");
    assert_connections_are_closed(*state);
}

static void what_has_been_idle_for_long_is_closed(void **state)
{
    limit_pool(*state, HTTP_IDLE_LIMIT, 1);
    run_together(*state, "/stays");
    assert_int_equal(idle_connections(*state), CALLS);
    assert_connections_are_closed(*state);
}

static void too_many_idle_connections_are_closed(void **state)
{
    limit_pool(*state, CALLS - 1, HTTP_IDLE_AGE);
    run_together(*state, "/stays");
    assert_connections_are_closed(*state);
}

/* Of two idle connections the server closes one: the other is still there and serves again. */
static void a_sweep_leaves_living_connections_alone(void **state)
{
    struct fixture *fixture = *state;
    struct exchange first;
    struct exchange second;
    struct exchange third;

    tiny_close_gate(fixture->server, 2);
    exchange_init(&first, fixture, "/gate");
    exchange_init(&second, fixture, "/gate-then-leaves");
    exchange_init(&third, fixture, "/hello");
    on_loop(fixture->loop, start_exchange, &first);
    on_loop(fixture->loop, start_exchange, &second);
    wait_for(&first.done);
    wait_for(&second.done);
    wait_for(&fixture->server->peer_left);
    assert_int_equal(idle_connections(fixture), 1);
    run_exchange(&third);
    assert_int_equal(third.rc, ERR_OK);
    assert_int_equal(fixture->server->accepted, 2);
    assert_int_equal(idle_connections(fixture), 1);
    exchange_clear(&first);
    exchange_clear(&second);
    exchange_clear(&third);
}

/* Each use counts once: the list of idle connections is neither lost nor grown. */
static void a_connection_may_be_used_many_times(void **state)
{
    struct fixture *fixture = *state;

    for (int i = 0; i < 50; i++) {
        struct exchange exchange;

        exchange_init(&exchange, fixture, i % 2 ? "/hello" : "/chunked");
        run_exchange(&exchange);
        assert_int_equal(exchange.rc, ERR_OK);
        assert_int_equal(idle_connections(fixture), 1);
        exchange_clear(&exchange);
    }
    assert_int_equal(fixture->server->accepted, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        client_test(what_the_server_has_closed_is_closed_without_another_call),
        client_test(what_has_been_idle_for_long_is_closed),
        client_test(too_many_idle_connections_are_closed),
        client_test(a_sweep_leaves_living_connections_alone),
        client_test(a_connection_may_be_used_many_times),
    };

    return cmocka_run_group_tests(tests, start_client, end_client);
}
