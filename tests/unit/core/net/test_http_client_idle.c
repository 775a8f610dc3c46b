/*
 * Idle connections: how long they are kept, how many of them, and that those closed by the server
 * are closed.
 */

#include <assert.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/net/http_multi.h"
#include "tests/support/test.h"
#include "tests/unit/core/net/errand.h"
#include "tests/unit/core/net/http_exchange.h"

#define CALLS      20
#define PROMISED_S 5 /* within which a connection closed by the server is closed here */

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

/* Waits until so many connections are closed, without another call. */
static void wait_for_leaves(const struct fixture *fixture, size_t count)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PROMISED_S;
    for (size_t i = 0; i < count; i++)
        assert_int_equal(sem_timedwait(&fixture->server->peer_left, &until), 0);
}

static void assert_connections_are_closed(const struct fixture *fixture, size_t count)
{
    wait_for_leaves(fixture, count);
    assert_int_equal(idle_connections(fixture), 0);
}

TEST(connections_closed_by_the_server_are_closed_without_another_call)
{
    run_together(*state, "/leaves");
    assert_connections_are_closed(*state, CALLS);
}

TEST(connections_idle_for_too_long_are_closed)
{
    limit_pool(*state, HTTP_IDLE_LIMIT, 1);
    run_together(*state, "/stays");
    assert_int_equal(idle_connections(*state), CALLS);
    assert_connections_are_closed(*state, CALLS);
}

TEST(too_many_idle_connections_are_closed)
{
    limit_pool(*state, CALLS - 1, HTTP_IDLE_AGE);
    run_together(*state, "/stays");
    assert_connections_are_closed(*state, CALLS);
}

TEST(bytes_before_a_close_keep_no_connection_open)
{
    struct fixture *fixture = *state;
    struct exchange first;
    struct exchange second;

    tiny_close_gate(fixture->server, 2);
    exchange_init(&first, fixture, "/last-word");
    exchange_init(&second, fixture, "/gate");
    second.request.once = true;
    run_exchange(&first);
    run_exchange(&second); /* opens the gate */
    assert_int_equal(second.rc, ERR_OK);
    wait_for_leaves(fixture, 1);
    exchange_clear(&first);
    exchange_clear(&second);
}

struct later {
    struct loop_timer timer;
    struct exchange *exchange;
};

static void start_later(struct loop_timer *timer)
{
    start_exchange(CONTAINER_OF(timer, struct later, timer)->exchange);
}

static void plan_later(void *arg)
{
    struct later *later = arg;

    loop_timer_start(later->exchange->loop, &later->timer,
                     loop_now(later->exchange->loop) + NS_PER_SECOND);
}

/* libcurl looks at its connections at most once a second. The third call makes it do so shortly
 * before the sweep that the first closed connection is due, and the second one is closed in
 * between. */
TEST(a_sweep_that_libcurl_skips_is_repeated)
{
    struct fixture *fixture = *state;
    struct exchange first;
    struct exchange second;
    struct exchange third;
    struct later later = {.timer.fire = start_later, .exchange = &third};

    tiny_close_gate(fixture->server, 2);
    exchange_init(&first, fixture, "/gate-then-leaves");
    exchange_init(&second, fixture, "/gate-leaves-late");
    exchange_init(&third, fixture, "/until-close");
    third.request.once = true;
    on_loop(fixture->loop, start_exchange, &first);
    on_loop(fixture->loop, start_exchange, &second);
    wait_for(&first.done);
    on_loop(fixture->loop, plan_later, &later);
    wait_for(&second.done);
    wait_for(&third.done);
    assert_connections_are_closed(fixture, 2);
    exchange_clear(&first);
    exchange_clear(&second);
    exchange_clear(&third);
}

/* A server that answers once, and leaves the next request on the same connection without an answer
 * and no room for another connection. */
struct fickle_server {
    pthread_t thread;
    int fd;
    int port;
    int fillers[4];
};

static void read_head(int fd)
{
    char head[4096] = "";
    size_t length = 0;

    while (!strstr(head, "\r\n\r\n")) {
        ssize_t got = recv(fd, head + length, sizeof(head) - 1 - length, 0);

        assert(got > 0);
        length += (size_t)got;
        head[length] = '\0';
    }
}

static void *be_fickle(void *arg)
{
    static const char hello[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    struct fickle_server *server = arg;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)server->port)};
    int fd = accept(server->fd, NULL, NULL);

    read_head(fd);
    assert(send(fd, hello, sizeof(hello) - 1, MSG_NOSIGNAL) == sizeof(hello) - 1);
    read_head(fd);
    for (size_t i = 0; i < COUNT_OF(server->fillers); i++) {
        server->fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(server->fillers[i], (struct sockaddr *)&address, sizeof(address));
    }
    close(fd);
    return NULL;
}

/* libcurl retries on a new connection, and closes that one without notice. */
TEST(only_open_connections_are_kept)
{
    struct fixture *fixture = *state;
    struct fickle_server server;
    struct exchange exchange;

    server.port = tiny_listen(&server.fd, 0);
    pthread_create(&server.thread, NULL, be_fickle, &server);
    for (int i = 0; i < 2; i++) {
        exchange_init(&exchange, fixture, "/");
        (void)snprintf(exchange.url, sizeof(exchange.url), "http://127.0.0.1:%d/", server.port);
        exchange.request.timeouts.total = 500 * NS_PER_MS;
        run_exchange(&exchange);
        assert_int_equal(exchange.rc, i ? ERR_TIMEOUT : ERR_OK);
        exchange_clear(&exchange);
    }
    assert_int_equal(idle_connections(fixture), 0);
    pthread_join(server.thread, NULL);
    for (size_t i = 0; i < COUNT_OF(server.fillers); i++)
        close(server.fillers[i]);
    close(server.fd);
}

/* The server closes one of two idle connections: the other one is kept and used again. */
TEST(a_sweep_leaves_living_connections_alone)
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
TEST(a_connection_can_be_used_many_times)
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
        client_test(connections_closed_by_the_server_are_closed_without_another_call),
        client_test(connections_idle_for_too_long_are_closed),
        client_test(too_many_idle_connections_are_closed),
        client_test(bytes_before_a_close_keep_no_connection_open),
        client_test(a_sweep_that_libcurl_skips_is_repeated),
        client_test(only_open_connections_are_kept),
        client_test(a_sweep_leaves_living_connections_alone),
        client_test(a_connection_can_be_used_many_times),
    };

    return cmocka_run_group_tests(tests, start_http, end_http);
}
