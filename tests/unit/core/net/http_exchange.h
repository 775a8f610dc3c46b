#ifndef RUNNEL_TESTS_UNIT_CORE_NET_HTTP_EXCHANGE_H
#define RUNNEL_TESTS_UNIT_CORE_NET_HTTP_EXCHANGE_H

#include <semaphore.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/net/http_client.h"
#include "core/net/loop.h"
#include "tests/support/http_group.h"
#include "tests/unit/core/net/tiny_server.h"

/*
 * http_exchange.h -- one call of the client as its caller sees it: a loop, a server with
 * http_pages.h, and the callbacks in order.
 */

#define SHORT (60 * NS_PER_MS)
#define LONG  (100 * NS_PER_SECOND)

struct fixture {
    struct loop *loop;
    struct tiny_server *server;
};

enum exchange_end {
    LISTEN_TO_THE_END,
    CANCEL_IN_HEAD,
    CANCEL_IN_DATA,
    CANCEL_OTHER_IN_DATA,
    START_OTHER_IN_DATA,
    START_AND_CANCEL_OTHER_IN_DATA,
    START_OTHER_IN_DONE,
    CANCEL_SELF_IN_DONE,
};

struct exchange {
    struct loop *loop;
    char url[128];
    struct http_request request;
    struct http_call *call;
    enum exchange_end end;
    struct exchange *other;

    int heads;
    int pieces;
    int dones;
    int status;
    char type[64];
    uint64_t retry_after_ns;
    struct buf body;
    enum err_code rc;
    char error[1024];
    sem_t done;
};

/* A GET of the page at `path`; the fields of the request may be changed before it starts. */
void exchange_init(struct exchange *exchange, const struct fixture *fixture, const char *path);
void exchange_clear(struct exchange *exchange);
void set_body(struct exchange *exchange, const char *method, const char *body);

/* Starts it on its loop and waits for its end. */
void run_exchange(struct exchange *exchange);

/* On the loop: for on_loop(). */
void start_exchange(void *arg);
void cancel_exchange(void *arg);

/* Waits for one round of the loop: everything that was ready is handled. */
void let_pass(struct loop *loop);

/* For cmocka: of each test, whose state is the fixture. The program starts and ends with
 * http_group.h. */
int set_up(void **state);
int tear_down(void **state);

#define client_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

#endif
