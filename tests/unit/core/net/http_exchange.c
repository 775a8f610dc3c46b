#include "tests/unit/core/net/http_exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/test.h"
#include "tests/unit/core/net/errand.h"
#include "tests/unit/core/net/http_pages.h"

void start_exchange(void *arg)
{
    struct exchange *exchange = arg;

    exchange->call = http_call_start(exchange->loop, &exchange->request);
    http_body_drop(TAKE(exchange->request.body));
    assert_int_equal(exchange->heads + exchange->pieces + exchange->dones, 0);
}

void cancel_exchange(void *arg)
{
    struct exchange *exchange = arg;

    http_call_cancel(TAKE(exchange->call));
}

static void on_head(void *arg, const struct http_head *head)
{
    struct exchange *exchange = arg;

    assert_int_equal(exchange->pieces + exchange->dones, 0);
    exchange->heads++;
    exchange->status = head->status;
    exchange->retry_after_ns = head->retry_after_ns;
    (void)snprintf(exchange->type, sizeof(exchange->type), "%s", head->content_type);
    if (exchange->end == CANCEL_IN_HEAD)
        cancel_exchange(exchange);
}

static void on_data(void *arg, const char *bytes, size_t size)
{
    struct exchange *exchange = arg;

    assert_int_equal(exchange->heads, 1);
    assert_int_equal(exchange->dones, 0);
    assert_non_null(exchange->call); /* not cancelled */
    buf_add(&exchange->body, bytes, size);
    if (exchange->pieces++ > 0)
        return;
    if (exchange->end == CANCEL_IN_DATA)
        cancel_exchange(exchange);
    if (exchange->end == CANCEL_OTHER_IN_DATA)
        cancel_exchange(exchange->other);
    if (exchange->end == START_OTHER_IN_DATA || exchange->end == START_AND_CANCEL_OTHER_IN_DATA)
        start_exchange(exchange->other);
    if (exchange->end == START_AND_CANCEL_OTHER_IN_DATA)
        cancel_exchange(exchange->other);
}

static void on_done(void *arg, enum err_code rc, const struct err *error)
{
    struct exchange *exchange = arg;

    exchange->dones++;
    exchange->rc = rc;
    assert_int_equal(error ? error->code : ERR_OK, rc);
    if (error)
        (void)snprintf(exchange->error, sizeof(exchange->error), "%s", error->text);
    if (exchange->end == START_OTHER_IN_DONE)
        start_exchange(exchange->other);
    if (exchange->end == CANCEL_SELF_IN_DONE)
        http_call_cancel(exchange->call);
    exchange->call = NULL;
    sem_post(&exchange->done);
}

void exchange_init(struct exchange *exchange, const struct fixture *fixture, const char *path)
{
    *exchange = (struct exchange){.loop = fixture->loop};
    (void)snprintf(exchange->url, sizeof(exchange->url), "http://127.0.0.1:%d%s",
                   fixture->server->port, path);
    exchange->request = (struct http_request){
        .method = "GET",
        .url = exchange->url,
        .on_head = on_head,
        .on_data = on_data,
        .on_done = on_done,
        .arg = exchange,
    };
    sem_init(&exchange->done, 0, 0);
}

void exchange_clear(struct exchange *exchange)
{
    buf_clear(&exchange->body);
    sem_destroy(&exchange->done);
}

void set_body(struct exchange *exchange, const char *method, const char *body)
{
    exchange->request.method = method;
    exchange->request.body = body ? http_body_new(mem_strdup(body), strlen(body)) : NULL;
}

void run_exchange(struct exchange *exchange)
{
    on_loop(exchange->loop, start_exchange, exchange);
    wait_for(&exchange->done);
}

static void do_nothing(void *arg)
{
    (void)arg;
}

void let_pass(struct loop *loop)
{
    for (int i = 0; i < 3; i++)
        on_loop(loop, do_nothing, NULL);
}

int set_up(void **state)
{
    struct fixture *fixture = mem_new(struct fixture);
    struct err err;

    fixture->server = tiny_server_new(http_pages);
    fixture->loop = loop_new("test");
    assert_int_equal(loop_start(fixture->loop, &err), ERR_OK);
    *state = fixture;
    return 0;
}

int tear_down(void **state)
{
    struct fixture *fixture = *state;

    loop_stop(fixture->loop);
    loop_free(fixture->loop);
    tiny_server_free(fixture->server);
    free(fixture);
    return 0;
}
