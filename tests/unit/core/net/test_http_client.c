#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above. */
#include <cmocka.h>

#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/net/http_client.h"
#include "tests/unit/core/net/errand.h"
#include "tests/unit/core/net/tiny_server.h"

#define SHORT (60 * NS_PER_MS)
#define LONG  (100 * NS_PER_SECOND)

/* --- the pages --- */

#define CHUNKED                                              \
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" \
    "Transfer-Encoding: chunked\r\n\r\n"

static bool page_hello(struct tiny_request *request)
{
    tiny_write(request, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
                        "Content-Length: 5\r\n\r\nhello");
    return true;
}

static bool page_hello_and_close(struct tiny_request *request)
{
    page_hello(request);
    return false;
}

static bool page_chunked(struct tiny_request *request)
{
    tiny_write(request, CHUNKED "3\r\none\r\n");
    tiny_write(request, "3;x=y\r\ntwo\r");
    tiny_write(request, "\n5\r\nthree\r\n0\r\nTrailer: 1\r\n\r\n");
    return true;
}

static bool page_cut_in_chunk(struct tiny_request *request)
{
    tiny_write(request, CHUNKED "5\r\nab");
    return false;
}

static bool page_cut_between_chunks(struct tiny_request *request)
{
    tiny_write(request, CHUNKED "2\r\nab\r\n");
    return false;
}

static bool page_cut_before_length(struct tiny_request *request)
{
    tiny_write(request, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nab");
    return false;
}

static bool page_until_close(struct tiny_request *request)
{
    tiny_write(request, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nab");
    return false;
}

static bool page_cut_in_head(struct tiny_request *request)
{
    tiny_write(request, "HTTP/1.1 200 OK\r\nContent-");
    return false;
}

static bool page_bad_chunk(struct tiny_request *request)
{
    tiny_write(request, CHUNKED "2\r\nab\r\nzz\r\n");
    return false;
}

static bool page_http09(struct tiny_request *request)
{
    tiny_write(request, "hello, world\n");
    return false;
}

static bool page_silent(struct tiny_request *request)
{
    tiny_wait_for_leave(request);
    return false;
}

static bool page_head_only(struct tiny_request *request)
{
    tiny_write(request, CHUNKED);
    tiny_wait_for_leave(request);
    return false;
}

static bool page_stalls(struct tiny_request *request)
{
    tiny_write(request, CHUNKED "2\r\nab\r\n");
    tiny_wait_for_leave(request);
    return false;
}

/* Never silent for long, never done. */
static bool page_drips(struct tiny_request *request)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    char byte;

    tiny_write(request, CHUNKED);
    while (recv(request->fd, &byte, 1, MSG_DONTWAIT) < 0) {
        tiny_write(request, "1\r\nx\r\n");
        nanosleep(&pause, NULL); /* the pace of the drip, not a wait for anything */
    }
    sem_post(&request->server->peer_left);
    return false;
}

static bool page_redirect(struct tiny_request *request)
{
    tiny_write(request, "HTTP/1.1 307 Temporary Redirect\r\nLocation: /hello\r\n"
                        "Content-Length: 4\r\n\r\ngone");
    return true;
}

static bool page_retry_seconds(struct tiny_request *request)
{
    tiny_write(request, "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\n"
                        "Content-Length: 0\r\n\r\n");
    return true;
}

static bool page_retry_for_ever(struct tiny_request *request)
{
    tiny_write(request, "HTTP/1.1 503 Busy\r\nRetry-After: 99999999999\r\n"
                        "Content-Length: 0\r\n\r\n");
    return true;
}

static bool write_retry_date(struct tiny_request *request, time_t when)
{
    char text[256];
    struct tm utc;

    gmtime_r(&when, &utc);
    (void)strftime(text, sizeof(text),
                   "HTTP/1.1 503 Busy\r\nRetry-After: %a, %d %b %Y %H:%M:%S GMT\r\n"
                   "Content-Length: 0\r\n\r\n",
                   &utc);
    tiny_write(request, text);
    return true;
}

static bool page_retry_date(struct tiny_request *request)
{
    return write_retry_date(request, time(NULL) + 100);
}

static bool page_retry_past(struct tiny_request *request)
{
    return write_retry_date(request, time(NULL) - 100);
}

static bool page_continue(struct tiny_request *request)
{
    tiny_write(request, "HTTP/1.1 100 Continue\r\n\r\n"
                        "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n");
    return page_hello(request);
}

/* Answers with what it was asked. */
static bool page_echo(struct tiny_request *request)
{
    char head[128];

    (void)snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n",
                   request->head.length + request->body.length);
    tiny_write(request, head);
    tiny_write(request, request->head.data);
    tiny_write(request, request->body.data ? request->body.data : "");
    return true;
}

/* Begins its answer before it has read the question. */
static bool page_early(struct tiny_request *request)
{
    char size[32];

    tiny_write(request, CHUNKED "5\r\nearly\r\n");
    if (!tiny_read_body(request))
        return false;
    (void)snprintf(size, sizeof(size), "%zx\r\n", request->body.length);
    tiny_write(request, size);
    tiny_write(request, request->body.data);
    tiny_write(request, "\r\n0\r\n\r\n");
    return true;
}

static bool page_bodyless(struct tiny_request *request)
{
    tiny_write(request, "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 10\r\n\r\n");
    return true;
}

static bool page_gate(struct tiny_request *request)
{
    tiny_wait_at_gate(request);
    return page_chunked(request);
}

static bool page_gate_silent(struct tiny_request *request)
{
    tiny_wait_at_gate(request);
    tiny_wait_for_leave(request);
    return false;
}

/* Pieces as fast as they are taken. */
static bool page_flood(struct tiny_request *request)
{
    static const char piece[] = "8\r\n12345678\r\n";

    tiny_write(request, CHUNKED);
    while (send(request->fd, piece, sizeof(piece) - 1, MSG_NOSIGNAL) > 0)
        ;
    sem_post(&request->server->peer_left);
    return false;
}

/* clang-format off */
static const struct tiny_page pages[] = {
    {"/hello",              page_hello},
    {"/hello-and-close",    page_hello_and_close},
    {"/chunked",            page_chunked},
    {"/cut-in-chunk",       page_cut_in_chunk},
    {"/cut-between-chunks", page_cut_between_chunks},
    {"/cut-before-length",  page_cut_before_length},
    {"/until-close",        page_until_close},
    {"/cut-in-head",        page_cut_in_head},
    {"/bad-chunk",          page_bad_chunk},
    {"/http09",             page_http09},
    {"/silent",             page_silent},
    {"/head-only",          page_head_only},
    {"/stalls",             page_stalls},
    {"/drips",              page_drips},
    {"/redirect",           page_redirect},
    {"/retry-seconds",      page_retry_seconds},
    {"/retry-for-ever",     page_retry_for_ever},
    {"/retry-date",         page_retry_date},
    {"/retry-past",         page_retry_past},
    {"/continue",           page_continue},
    {"/echo",               page_echo},
    {"/early",              page_early},
    {"/bodyless",           page_bodyless},
    {"/gate",               page_gate},
    {"/gate-silent",        page_gate_silent},
    {"/flood",              page_flood},
    {NULL, NULL},
};
/* clang-format on */

/* --- a name server of our own --- */

static sem_t name_asked;
static sem_t name_known;
static sem_t name_told;

typedef int getaddrinfo_fn(const char *, const char *, const struct addrinfo *,
                           struct addrinfo **);

static getaddrinfo_fn *real_getaddrinfo(void)
{
    getaddrinfo_fn *real;

    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    return real;
}

/* Names with several addresses; the test's server has the last one, and nobody the others. */
static const struct {
    const char *name;
    const char *homes[4];
} many_homes[] = {
    {"two.test", {"127.0.0.2", "127.0.0.1"}},
    {"three.test", {"127.0.0.3", "127.0.0.2", "127.0.0.1"}},
    {"now.test", {"127.0.0.2", "255.255.255.255", "127.0.0.1"}}, /* the second fails at once */
    {"six.test", {"::1", "127.0.0.1"}},
    {"all.test", {"::1", "::2", "127.0.0.2", "127.0.0.1"}},
};

static int give_homes(const char *const homes[4], const char *service,
                      const struct addrinfo *hints, struct addrinfo **ret_list)
{
    struct addrinfo **end = ret_list;

    for (size_t i = 0; i < 4 && homes[i]; i++)
        if (real_getaddrinfo()(homes[i], service, hints, end) == 0)
            end = &(*end)->ai_next;
    return 0;
}

/* libcurl asks this one: the name "slow.test" is known when the test says so. */
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **ret_list)
{
    for (size_t i = 0; name && i < COUNT_OF(many_homes); i++)
        if (strcmp(name, many_homes[i].name) == 0)
            return give_homes(many_homes[i].homes, service, hints, ret_list);
    if (!name || strcmp(name, "slow.test") != 0)
        return real_getaddrinfo()(name, service, hints, ret_list);
    sem_post(&name_asked);
    wait_for(&name_known);
    sem_post(&name_told);
    return EAI_NONAME;
}

/* --- one call, seen from its caller --- */

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

static void start_exchange(void *arg)
{
    struct exchange *exchange = arg;

    exchange->call = http_call_start(exchange->loop, &exchange->request);
    http_body_drop(TAKE(exchange->request.body));
    assert_int_equal(exchange->heads + exchange->pieces + exchange->dones, 0);
}

static void cancel_exchange(void *arg)
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

static void exchange_init(struct exchange *exchange, const struct fixture *fixture,
                          const char *path)
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

static void exchange_clear(struct exchange *exchange)
{
    buf_clear(&exchange->body);
    sem_destroy(&exchange->done);
}

static void set_body(struct exchange *exchange, const char *method, const char *body)
{
    exchange->request.method = method;
    exchange->request.body = body ? http_body_new(mem_strdup(body), strlen(body)) : NULL;
}

static void run_exchange(struct exchange *exchange)
{
    on_loop(exchange->loop, start_exchange, exchange);
    wait_for(&exchange->done);
}

static void do_nothing(void *arg)
{
    (void)arg;
}

/* The loop has been round: what was ready when this was called has been dealt with. */
static void let_pass(struct loop *loop)
{
    for (int i = 0; i < 3; i++)
        on_loop(loop, do_nothing, NULL);
}

static int set_up(void **state)
{
    struct fixture *fixture = mem_new(struct fixture);
    struct err err;

    fixture->server = tiny_server_new(pages);
    fixture->loop = loop_new("test");
    assert_int_equal(loop_start(fixture->loop, &err), ERR_OK);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    loop_stop(fixture->loop);
    loop_free(fixture->loop);
    tiny_server_free(fixture->server);
    free(fixture);
    return 0;
}

/* --- answers --- */

static void an_answer_comes_as_head_data_and_end(void **state)
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

static void chunks_are_joined_and_trailers_are_no_second_head(void **state)
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

static void interim_answers_are_not_the_answer(void **state)
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

static void a_redirect_is_an_answer_not_an_order(void **state)
{
    struct exchange exchange;

    exchange_init(&exchange, *state, "/redirect");
    run_exchange(&exchange);
    assert_int_equal(exchange.rc, ERR_OK);
    assert_int_equal(exchange.status, 307);
    assert_string_equal(exchange.body.data, "gone");
    exchange_clear(&exchange);
}

static void callbacks_may_be_left_out(void **state)
{
    struct exchange exchange;

    exchange_init(&exchange, *state, "/hello");
    exchange.request.on_head = NULL;
    exchange.request.on_data = NULL;
    run_exchange(&exchange);
    assert_int_equal(exchange.rc, ERR_OK);
    exchange_clear(&exchange);
}

static void retry_after_is_seconds_or_a_date(void **state)
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

static void a_request_is_sent_as_it_was_written(void **state)
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
    assert_false(sent(&exchange, "\r\nAccept-Encoding:"));
    exchange_clear(&exchange);
}

static void every_method_goes_with_and_without_a_body(void **state)
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

static void head_asks_for_no_body(void **state)
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

/* Larger than any buffer on the way, and larger than what libcurl would ask consent for; also
 * when the answer begins before the body was sent. */
static void a_large_body_arrives_whole(void **state)
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

static void a_line_break_in_a_header_fails_the_call(void **state)
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

static void a_connection_is_used_again(void **state)
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

static void a_connection_that_died_meanwhile_is_made_anew(void **state)
{
    struct fixture *fixture = *state;

    for (int i = 0; i < 20; i++) {
        struct exchange exchange;

        exchange_init(&exchange, fixture, "/hello-and-close");
        set_body(&exchange, "POST", "again");
        run_exchange(&exchange);
        assert_int_equal(exchange.rc, ERR_OK);
        assert_string_equal(exchange.body.data, "hello");
        exchange_clear(&exchange);
    }
    assert_int_equal(fixture->server->accepted, 20);
}

static void nobody_there_is_an_error_that_names_the_place(void **state)
{
    struct exchange exchange;
    char place[32];
    int fd;
    int port = tiny_listen(&fd, 1);

    close(fd);
    exchange_init(&exchange, *state, "/");
    (void)snprintf(exchange.url, sizeof(exchange.url), "http://user:secret@127.0.0.1:%d/x",
                   port);
    (void)snprintf(place, sizeof(place), " 127.0.0.1:%d:", port);
    run_exchange(&exchange);
    assert_int_equal(exchange.rc, ERR_UPSTREAM);
    assert_int_equal(exchange.heads, 0);
    assert_non_null(strstr(exchange.error, place));
    assert_null(strstr(exchange.error, "secret"));
    exchange_clear(&exchange);
}

/* libcurl may give the next socket the number of the one it has closed. */
static void every_address_of_a_name_is_tried(void **state)
{
    struct fixture *fixture = *state;

    for (size_t i = 0; i < 3 * COUNT_OF(many_homes); i++) {
        struct exchange exchange;

        exchange_init(&exchange, fixture, "/");
        (void)snprintf(exchange.url, sizeof(exchange.url), "http://%s:%d/hello-and-close",
                       many_homes[i % COUNT_OF(many_homes)].name, fixture->server->port);
        exchange.request.timeouts.total = LONG / 20;
        run_exchange(&exchange);
        assert_string_equal(exchange.error, "");
        assert_int_equal(exchange.rc, ERR_OK);
        exchange_clear(&exchange);
    }
}

/* F109: what counts is where a name leads when the socket is opened. */
static void a_guarded_call_reaches_no_address_within(void **state)
{
    static const char *const hosts[] = {"127.0.0.1",         "localhost",  "two.test",
                                        "six.test",          "2130706433", "0x7f.1",
                                        "[::ffff:127.0.0.1]"};
    static const struct egress_rules rules = {0};
    struct fixture *fixture = *state;

    for (size_t i = 0; i < COUNT_OF(hosts); i++) {
        struct exchange exchange;

        exchange_init(&exchange, fixture, "/");
        (void)snprintf(exchange.url, sizeof(exchange.url), "http://%s:%d/hello", hosts[i],
                       fixture->server->port);
        exchange.request.egress = &rules;
        run_exchange(&exchange);
        assert_int_equal(exchange.rc, ERR_UPSTREAM);
        assert_non_null(strstr(exchange.error, "not one of the public internet"));
        exchange_clear(&exchange);
    }
    assert_int_equal(fixture->server->accepted, 0);
}

static void a_guarded_call_reaches_what_is_opened(void **state)
{
    struct fixture *fixture = *state;
    AUTO_FREE char *pair = mem_printf("127.0.0.1:%d", fixture->server->port);
    const char *const pairs[] = {pair};
    const struct egress_rules rules = {.open = pairs, .open_count = 1};
    struct exchange exchange;

    exchange_init(&exchange, fixture, "/hello");
    exchange.request.egress = &rules;
    run_exchange(&exchange);
    assert_int_equal(exchange.rc, ERR_OK);
    exchange_clear(&exchange);
}

static void a_guarded_call_uses_no_connection_of_a_free_one(void **state)
{
    static const struct egress_rules rules = {0};
    struct fixture *fixture = *state;

    for (int i = 0; i < 2; i++) {
        struct exchange exchange;

        exchange_init(&exchange, fixture, "/hello");
        exchange.request.egress = i ? &rules : NULL;
        run_exchange(&exchange);
        assert_int_equal(exchange.rc, i ? ERR_UPSTREAM : ERR_OK);
        exchange_clear(&exchange);
    }
    assert_int_equal(fixture->server->accepted, 1);
}

/* libcurl would send it again over a new connection, although the server may have read it. */
static void what_is_sent_once_is_not_sent_again(void **state)
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

static void only_http_is_spoken(void **state)
{
    static const char *const urls[] = {
        "file:///etc/passwd",       "ftp://127.0.0.1/x", "gopher://127.0.0.1/", "", "http://",
        "http://127.0.0.1:99999/x", "http://a b/",
    };

    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        struct exchange exchange;

        exchange_init(&exchange, *state, "/");
        exchange.request.url = urls[i];
        run_exchange(&exchange);
        assert_int_equal(exchange.rc, ERR_UPSTREAM);
        assert_int_equal(exchange.heads + exchange.pieces, 0);
        exchange_clear(&exchange);
    }
}

static void proxies_of_the_environment_are_not_ours(void **state)
{
    struct exchange exchange;

    setenv("http_proxy", "http://127.0.0.1:1", 1);
    setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
    exchange_init(&exchange, *state, "/hello");
    run_exchange(&exchange);
    assert_int_equal(exchange.rc, ERR_OK);
    exchange_clear(&exchange);
    unsetenv("http_proxy");
    unsetenv("ALL_PROXY");
}

/* --- broken answers --- */

static void a_cut_answer_is_an_error_if_http_can_tell(void **state)
{
    static const struct {
        const char *path;
        enum err_code rc;
        const char *text;
        int heads;
    } cases[] = {
        {"/cut-in-chunk", ERR_UPSTREAM, "broke off", 1},
        {"/cut-between-chunks", ERR_UPSTREAM, "broke off", 1},
        {"/cut-before-length", ERR_UPSTREAM, "broke off", 1},
        {"/bad-chunk", ERR_UPSTREAM, "broke off", 1},
        {"/cut-in-head", ERR_UPSTREAM, "no answer", 0},
        {"/http09", ERR_UPSTREAM, "no answer", 0},
        {"/until-close", ERR_OK, "", 1}, /* its format must tell */
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct exchange exchange;

        exchange_init(&exchange, *state, cases[i].path);
        run_exchange(&exchange);
        assert_int_equal(exchange.rc, cases[i].rc);
        assert_int_equal(exchange.heads, cases[i].heads);
        assert_int_equal(exchange.dones, 1);
        assert_non_null(strstr(exchange.error, cases[i].text));
        if (cases[i].heads)
            assert_string_equal(exchange.body.data, "ab");
        exchange_clear(&exchange);
    }
}

/* --- deadlines --- */

static void every_phase_has_its_deadline(void **state)
{
    static const struct {
        const char *path;
        struct http_timeouts timeouts;
        const char *text;
    } cases[] = {
        {"/silent", {LONG, SHORT, LONG, LONG}, "begin its answer"},
        {"/head-only", {LONG, SHORT, LONG, LONG}, "begin its answer"},
        {"/stalls", {LONG, LONG, SHORT, LONG}, "go on with its answer"},
        {"/silent", {LONG, LONG, LONG, SHORT}, "complete its answer"},
        {"/silent", {0, 0, 0, SHORT}, "complete its answer"},
        {"/drips", {LONG, LONG, LONG, SHORT}, "complete its answer"},
    };
    struct fixture *fixture = *state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint64_t before = clock_mono_ns();
        struct exchange exchange;

        exchange_init(&exchange, fixture, cases[i].path);
        exchange.request.timeouts = cases[i].timeouts;
        run_exchange(&exchange);
        assert_int_equal(exchange.rc, ERR_TIMEOUT);
        assert_int_equal(exchange.dones, 1);
        assert_non_null(strstr(exchange.error, cases[i].text));
        assert_non_null(strstr(exchange.error, "0.06 s"));
        assert_in_range(clock_mono_ns() - before, 50 * NS_PER_MS, LONG / 2);
        wait_for(&fixture->server->peer_left); /* the connection is closed */
        exchange_clear(&exchange);
    }
}

static void a_server_that_does_not_accept_meets_the_connect_deadline(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct exchange exchange;
    int fillers[4];
    int fd;
    int port = tiny_listen(&fd, 0);

    /* Fill the queue of those to be accepted. */
    address.sin_port = htons((uint16_t)port);
    for (size_t i = 0; i < COUNT_OF(fillers); i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(fillers[i], (struct sockaddr *)&address, sizeof(address));
    }
    exchange_init(&exchange, *state, "/");
    (void)snprintf(exchange.url, sizeof(exchange.url), "http://127.0.0.1:%d/", port);
    exchange.request.timeouts = (struct http_timeouts){.connect = SHORT, .total = LONG};
    run_exchange(&exchange);
    assert_int_equal(exchange.rc, ERR_TIMEOUT);
    assert_non_null(strstr(exchange.error, "accept the connection"));
    exchange_clear(&exchange);
    for (size_t i = 0; i < COUNT_OF(fillers); i++)
        close(fillers[i]);
    close(fd);
}

/* It takes longer than the deadline for one piece, but no piece does. */
static void an_answer_that_goes_on_is_not_idle(void **state)
{
    struct fixture *fixture = *state;
    struct exchange exchange;

    exchange_init(&exchange, fixture, "/drips");
    exchange.request.timeouts = (struct http_timeouts){
        .first_byte = 500 * NS_PER_MS, .idle = 500 * NS_PER_MS, .total = 1500 * NS_PER_MS};
    run_exchange(&exchange);
    assert_int_equal(exchange.rc, ERR_TIMEOUT);
    assert_non_null(strstr(exchange.error, "complete its answer"));
    wait_for(&fixture->server->peer_left);
    exchange_clear(&exchange);
}

static bool name_was_told(void)
{
    int count;

    sem_getvalue(&name_told, &count);
    return count > 0;
}

/* Giving up on a name must not wait for the name server. */
static void a_slow_name_server_keeps_nobody_waiting(void **state)
{
    struct exchange exchange;

    exchange_init(&exchange, *state, "/");
    (void)snprintf(exchange.url, sizeof(exchange.url), "http://slow.test/");
    on_loop(exchange.loop, start_exchange, &exchange);
    wait_for(&name_asked);
    on_loop(exchange.loop, cancel_exchange, &exchange);
    assert_false(name_was_told());
    assert_int_equal(exchange.dones, 0);

    exchange.request.timeouts.connect = SHORT;
    run_exchange(&exchange);
    assert_int_equal(exchange.rc, ERR_TIMEOUT);
    assert_false(name_was_told());

    wait_for(&name_asked);
    sem_post(&name_known);
    sem_post(&name_known);
    wait_for(&name_told);
    wait_for(&name_told);
    exchange_clear(&exchange);
}

/* --- cancelling, and starting, from everywhere --- */

static void a_cancelled_call_is_silent_and_its_connection_closed(void **state)
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

static void a_callback_may_cancel_its_own_call(void **state)
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

static void a_callback_may_cancel_another_call(void **state)
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

static void a_callback_may_start_another_call(void **state)
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

static void a_call_may_be_started_and_cancelled_in_one_callback(void **state)
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

static void cancelling_what_is_done_does_nothing(void **state)
{
    struct exchange exchange;

    exchange_init(&exchange, *state, "/hello");
    exchange.end = CANCEL_SELF_IN_DONE;
    run_exchange(&exchange);
    let_pass(exchange.loop);
    assert_int_equal(exchange.dones, 1);
    exchange_clear(&exchange);
}

static void calls_alive_at_the_end_of_the_loop_end_with_it(void **state)
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

/* The server answers nobody before all have asked. In the second round nobody connects. */
static void a_thousand_calls_are_under_way_at_once(void **state)
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

static void a_thousand_calls_may_be_cancelled_at_once(void **state)
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

static int start_all(void **state)
{
    (void)state;
    http_client_global_init();
    sem_init(&name_asked, 0, 0);
    sem_init(&name_known, 0, 0);
    sem_init(&name_told, 0, 0);
    return 0;
}

static int end_all(void **state)
{
    (void)state;
    http_client_global_free();
    return 0;
}

#define client_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        client_test(an_answer_comes_as_head_data_and_end),
        client_test(chunks_are_joined_and_trailers_are_no_second_head),
        client_test(interim_answers_are_not_the_answer),
        client_test(a_redirect_is_an_answer_not_an_order),
        client_test(callbacks_may_be_left_out),
        client_test(retry_after_is_seconds_or_a_date),
        client_test(a_request_is_sent_as_it_was_written),
        client_test(every_method_goes_with_and_without_a_body),
        client_test(head_asks_for_no_body),
        client_test(a_large_body_arrives_whole),
        client_test(a_line_break_in_a_header_fails_the_call),
        client_test(a_connection_is_used_again),
        client_test(a_connection_that_died_meanwhile_is_made_anew),
        client_test(nobody_there_is_an_error_that_names_the_place),
        client_test(every_address_of_a_name_is_tried),
        client_test(a_guarded_call_reaches_no_address_within),
        client_test(a_guarded_call_reaches_what_is_opened),
        client_test(a_guarded_call_uses_no_connection_of_a_free_one),
        client_test(what_is_sent_once_is_not_sent_again),
        client_test(only_http_is_spoken),
        client_test(proxies_of_the_environment_are_not_ours),
        client_test(a_cut_answer_is_an_error_if_http_can_tell),
        client_test(every_phase_has_its_deadline),
        client_test(a_server_that_does_not_accept_meets_the_connect_deadline),
        client_test(an_answer_that_goes_on_is_not_idle),
        client_test(a_slow_name_server_keeps_nobody_waiting),
        client_test(a_cancelled_call_is_silent_and_its_connection_closed),
        client_test(a_callback_may_cancel_its_own_call),
        client_test(a_callback_may_cancel_another_call),
        client_test(a_callback_may_start_another_call),
        client_test(a_call_may_be_started_and_cancelled_in_one_callback),
        client_test(cancelling_what_is_done_does_nothing),
        client_test(calls_alive_at_the_end_of_the_loop_end_with_it),
        client_test(a_thousand_calls_are_under_way_at_once),
        client_test(a_thousand_calls_may_be_cancelled_at_once),
    };

    return cmocka_run_group_tests(tests, start_all, end_all);
}
