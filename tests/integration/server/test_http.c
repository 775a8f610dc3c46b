/*
 * The HTTP layer with a table of endpoints of its own, spoken to through plain sockets: what a
 * client does wrong, late, half, or not at all. Everything about streams runs twice, once
 * written directly and once through the library's reader.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above. */
#include <cmocka.h>

#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/base/json.h"
#include "core/base/lock.h"
#include "core/base/mem.h"
#include "core/net/loop.h"
#include "core/store/keys.h"
#include "server/http.h"
#include "server/http_internal.h"
#include "server/listen.h"
#include "server/request.h"
#include "server/sse.h"

#define PATIENCE_MS 10000
#define HOST        "Host: test\r\n"
#define KEY         "Authorization: Bearer good\r\n"

/* ---- The server under test ---- */

/* What an endpoint has handed to the loop; the test plays the engine. */
struct handed {
    struct sink *sink;
    bool gone;    /* its client has left; the loop's, like sink */
    bool dropped; /* request_later was */
};

static struct {
    struct config *config;
    struct http *http;
    struct loop *loop;
    unsigned short port;
    struct lock lock;
    pthread_cond_t changed;
    struct handed handed; /* the latest; guarded by lock */
    unsigned made;        /* sinks so far */
    char *first_words;    /* sent as soon as a stream exists */
    bool stream_later;    /* what /later turns into */
} under;

static void note_gone(struct sink *sink, void *arg)
{
    (void)arg;
    sink->ops->close(sink);
    lock_acquire(&under.lock);
    if (under.handed.sink == sink) {
        under.handed.sink = NULL;
        under.handed.gone = true;
    }
    pthread_cond_broadcast(&under.changed);
    lock_release(&under.lock);
}

struct hand_over {
    struct loop_task task;
    struct sink *sink;
};

static void take_over(struct loop_task *task)
{
    struct hand_over *hand_over = CONTAINER_OF(task, struct hand_over, task);
    struct sink *sink = hand_over->sink;

    sink->gone = note_gone;
    if (under.first_words && sink->ops->events)
        sink->ops->events(sink, under.first_words, strlen(under.first_words));
    lock_acquire(&under.lock);
    under.handed.sink = sink;
    under.handed.gone = false;
    under.made++;
    pthread_cond_broadcast(&under.changed);
    lock_release(&under.lock);
    free(hand_over);
}

static enum err_code hand_over(struct sink *sink)
{
    struct hand_over *task = mem_new(struct hand_over);

    task->task.run = take_over;
    task->sink = sink;
    loop_post(under.loop, &task->task);
    return ERR_OK;
}

static enum err_code get_plain(struct request *request, struct err *err)
{
    (void)err;
    request_answer(request, 200, json_build("{s:s}", "hello", request_project(request)));
    return ERR_OK;
}

static enum err_code post_echo(struct request *request, struct err *err)
{
    (void)err;
    request_answer(request, 200, json_incref(request_json(request)));
    return ERR_OK;
}

static enum err_code get_error(struct request *request, struct err *err)
{
    (void)request;
    return err_set_api(err, ERR_CONFLICT, "a_code", "a_param", "no \"such\" luck");
}

static enum err_code get_internal(struct request *request, struct err *err)
{
    (void)request;
    return err_set(err, ERR_INTERNAL, "secret detail");
}

static enum err_code get_stream(struct request *request, struct err *err)
{
    (void)err;
    return hand_over(request_stream(request, under.loop));
}

static enum err_code get_wait(struct request *request, struct err *err)
{
    (void)err;
    return hand_over(request_wait(request, under.loop));
}

/* Stays on its worker until the server stops, and only then wants to take its time. */
static enum err_code get_too_late(struct request *request, struct err *err)
{
    struct http *http = request->http;
    bool stream = request_query(request, "stream");

    (void)err;
    lock_acquire(&under.lock);
    under.made++;
    pthread_cond_broadcast(&under.changed);
    lock_release(&under.lock);
    lock_acquire(&http->lock);
    while (!http->stopping)
        lock_wait(&http->lock, &http->changed);
    lock_release(&http->lock);
    return hand_over(stream ? request_stream(request, under.loop)
                            : request_wait(request, under.loop));
}

static enum err_code later_goes_on(struct request *request, void *arg, struct err *err)
{
    (void)arg;
    if (under.stream_later)
        return hand_over(request_stream(request, under.loop));
    (void)err;
    request_answer_bytes(request, 207, "text/plain", mem_strdup("later"), 5);
    return ERR_OK;
}

static void later_dropped(void *arg)
{
    (void)arg;
    lock_acquire(&under.lock);
    under.handed.dropped = true;
    pthread_cond_broadcast(&under.changed);
    lock_release(&under.lock);
}

static enum err_code get_later(struct request *request, struct err *err)
{
    const struct request_later later = {later_goes_on, later_dropped, NULL};

    (void)err;
    return hand_over(request_wait_then(request, under.loop, &later));
}

/* clang-format off */
static const struct route table[] = {
    {"GET",  "/open",       get_plain,    "open",     ROUTE_PUBLIC},
    {"GET",  "/plain",      get_plain,    "plain",    0},
    {"POST", "/echo",       post_echo,    "echo",     0},
    {"POST", "/maybe",      post_echo,    "maybe",    ROUTE_BODY_OPTIONAL},
    {"GET",  "/error",      get_error,    "error",    0},
    {"GET",  "/internal",   get_internal, "internal", 0},
    {"GET",  "/stream",     get_stream,   "stream",   0},
    {"POST", "/stream",     get_stream,   "stream",   ROUTE_BODY_OPTIONAL},
    {"GET",  "/wait",       get_wait,     "wait",     0},
    {"GET",  "/later",      get_later,    "later",    0},
    {"GET",  "/too_late",   get_too_late, "tooLate",  0},
};
/* clang-format on */

static enum err_code check_key(struct server *server, const char *authorization,
                               struct key_owner *ret_owner, struct err *err)
{
    (void)server;
    if (!authorization)
        return err_set(err, ERR_UNAUTHORIZED, "no key");
    if (strcmp(authorization, "Bearer away") == 0)
        return err_set(err, ERR_STORE, "connection refused");
    if (strcmp(authorization, "Bearer good") != 0)
        return err_set_api(err, ERR_UNAUTHORIZED, "invalid_api_key", NULL, "wrong key");
    (void)snprintf(ret_owner->project, ID_SIZE, "proj_1");
    return ERR_OK;
}

enum mode {
    MODE_DIRECT,
    MODE_PORTABLE,
};

/* Below the ports that outgoing connections take: one of those could be taken by our own client. */
static int listen_somewhere(char ret_url[LISTEN_URL_SIZE])
{
    static unsigned next;
    int fd = -1;

    for (int attempts = 0; fd < 0 && attempts < 100; attempts++) {
        AUTO_FREE char *address =
            mem_printf("127.0.0.1:%u", 20000 + ((unsigned)getpid() * 31 + next++) % 12000);

        if (listen_open(address, &fd, ret_url, NULL))
            fd = -1;
    }
    assert_true(fd >= 0);
    return fd;
}

/* More flags may follow, ending with NULL; they win over those here. */
static void start(enum mode mode, ...)
{
    const char *words[24] = {"--http-workers", "2", "--log", "off"};
    int count = 4;
    struct http_options options = {
        .routes = table,
        .route_count = COUNT_OF(table),
        .authenticate = check_key,
        .direct_stream = mode == MODE_DIRECT,
    };
    char url[LISTEN_URL_SIZE];
    struct err err;
    va_list more;

    va_start(more, mode);
    for (const char *word; (word = va_arg(more, const char *));)
        words[count++] = word;
    va_end(more);

    char *argv[24];

    for (int i = 0; i < count; i++)
        argv[i] = mem_strdup(words[i]);
    char *kept[24];

    memcpy(kept, argv, sizeof(argv));
    if (config_read(count, argv, &under.config, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < count; i++)
        free(kept[i]);
    log_set_level(LOG_OFF);
    lock_init(&under.lock, LOCK_ENGINE);
    lock_cond_init(&under.changed);
    under.loop = loop_new("test");
    assert_int_equal(loop_start(under.loop, NULL), ERR_OK);
    options.listen_fd = listen_somewhere(url);
    under.port = (unsigned short)strtol(strrchr(url, ':') + 1, NULL, 10);
    options.config = under.config;
    assert_int_equal(http_start(&options, &under.http, &err), ERR_OK);
}

static void stop(void)
{
    http_stop(under.http);
    loop_stop(under.loop);
    http_free(under.http);
    loop_free(under.loop);
    config_free(under.config);
    pthread_cond_destroy(&under.changed);
    lock_destroy(&under.lock);
    memset(&under, 0, sizeof(under));
}

/* ---- Playing the engine ---- */

enum act {
    ACT_EVENTS,
    ACT_ANSWER,
    ACT_GO_ON,
    ACT_CLOSE,
};

struct play {
    struct loop_task task;
    enum act act;
    const char *text;
    size_t length;
    bool done;
};

static struct sink *current_sink(void)
{
    struct sink *sink;

    lock_acquire(&under.lock);
    sink = under.handed.sink;
    lock_release(&under.lock);
    return sink;
}

static void forget_sink(struct sink *sink)
{
    lock_acquire(&under.lock);
    if (under.handed.sink == sink)
        under.handed.sink = NULL;
    lock_release(&under.lock);
    sink->ops->close(sink);
}

static void perform(struct loop_task *task)
{
    struct play *play = CONTAINER_OF(task, struct play, task);
    struct sink *sink = current_sink();

    if (sink && play->act == ACT_EVENTS)
        sink->ops->events(sink, play->text, play->length);
    else if (sink && play->act == ACT_ANSWER)
        sink->ops->answer(sink, 201, json_build("{s:s}", "answer", play->text));
    else if (sink && play->act == ACT_GO_ON)
        sink->ops->answer(sink, REQUEST_GO_ON, NULL);
    if (sink && play->act != ACT_EVENTS)
        forget_sink(sink);
    lock_acquire(&under.lock);
    play->done = true;
    pthread_cond_broadcast(&under.changed);
    lock_release(&under.lock);
}

/* On the loop, and back when it has happened. */
static void play(enum act act, const char *text, size_t length)
{
    struct play play = {.task = {.run = perform}, .act = act, .text = text, .length = length};

    loop_post(under.loop, &play.task);
    lock_acquire(&under.lock);
    while (!play.done)
        lock_wait(&under.lock, &under.changed);
    lock_release(&under.lock);
}

static void say(const char *text)
{
    play(ACT_EVENTS, text, strlen(text));
}

static void await_made(unsigned count)
{
    uint64_t deadline = clock_mono_ns() + PATIENCE_MS * NS_PER_MS;

    lock_acquire(&under.lock);
    while (under.made < count)
        assert_true(lock_wait_until(&under.lock, &under.changed, deadline));
    lock_release(&under.lock);
}

static void await_gone(void)
{
    uint64_t deadline = clock_mono_ns() + PATIENCE_MS * NS_PER_MS;

    lock_acquire(&under.lock);
    while (!under.handed.gone)
        assert_true(lock_wait_until(&under.lock, &under.changed, deadline));
    lock_release(&under.lock);
}

static void await_dropped(void)
{
    uint64_t deadline = clock_mono_ns() + PATIENCE_MS * NS_PER_MS;

    lock_acquire(&under.lock);
    while (!under.handed.dropped)
        assert_true(lock_wait_until(&under.lock, &under.changed, deadline));
    lock_release(&under.lock);
}

/* ---- Playing the client ---- */

struct client {
    int fd;
    struct buf in;
};

static struct client dial(void)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(under.port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    struct client client = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};

    assert_true(client.fd >= 0);
    assert_int_equal(connect(client.fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return client;
}

static void hang_up(struct client *client)
{
    close(client->fd);
    buf_clear(&client->in);
}

static void put_bytes(struct client *client, const char *bytes, size_t length)
{
    while (length) {
        ssize_t sent = send(client->fd, bytes, length, MSG_NOSIGNAL);

        if (sent < 0)
            return; /* the server has hung up, which the test will see */
        bytes += sent;
        length -= (size_t)sent;
    }
}

static void put(struct client *client, const char *text)
{
    put_bytes(client, text, strlen(text));
}

/* False at the end of the connection. */
static bool more(struct client *client)
{
    struct pollfd ready = {.fd = client->fd, .events = POLLIN};
    ssize_t got;

    assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
    got = recv(client->fd, buf_reserve(&client->in, 65536), 65536, 0);
    if (got <= 0)
        return false;
    buf_added(&client->in, (size_t)got);
    return true;
}

static char *find(struct client *client, const char *text)
{
    return client->in.data ? strstr(client->in.data, text) : NULL;
}

/* Reads until `text` has come; what comes before and the text itself are taken and returned,
 * borrowed until the next call. */
static const char *get_until(struct client *client, const char *text)
{
    static struct buf taken;
    char *found;

    while (!(found = find(client, text)))
        if (!more(client))
            fail_msg("'%s' did not come, but: %s", text, client->in.data);
    buf_reset(&taken);
    buf_add(&taken, client->in.data, (size_t)(found - client->in.data) + strlen(text));
    buf_consume(&client->in, taken.length);
    return taken.data;
}

static void expect_end(struct client *client)
{
    while (more(client))
        continue;
    if (client->in.length)
        fail_msg("more came: %s", client->in.data);
}

static void expect_part(const char *text, const char *part)
{
    if (!strcasestr(text, part))
        fail_msg("'%s' is not in: %s", part, text);
}

static void expect_no_part(const char *text, const char *part)
{
    if (strcasestr(text, part))
        fail_msg("'%s' is in: %s", part, text);
}

/* An answer with a Content-Length, whole. Borrowed until the next call. */
static const char *get_answer(struct client *client)
{
    static struct buf answer;
    const char *head = get_until(client, "\r\n\r\n");
    const char *length = strcasestr(head, "content-length: ");
    size_t size = length ? strtoul(length + 16, NULL, 10) : 0;

    buf_reset(&answer);
    buf_add_text(&answer, head);
    while (client->in.length < size)
        assert_true(more(client));
    buf_add(&answer, client->in.data, size);
    buf_consume(&client->in, size);
    return answer.data;
}

static void expect_answer(struct client *client, const char *status, const char *part)
{
    const char *answer = get_answer(client);

    expect_part(answer, status);
    expect_part(answer, part);
}

/* One request on a connection of its own. */
static void ask(const char *request, const char *status, const char *part)
{
    struct client client = dial();

    put(&client, request);
    expect_answer(&client, status, part);
    hang_up(&client);
}

/* ---- Answers ---- */

static void every_answer_names_its_request(void **state)
{
    struct client client;

    (void)state;
    start(MODE_DIRECT, NULL);
    client = dial();
    for (int i = 0; i < 2; i++) { /* the second on the same connection */
        const char *answer;

        put(&client, "GET /plain HTTP/1.1\r\n" HOST KEY "\r\n");
        answer = get_answer(&client);
        expect_part(answer, "HTTP/1.1 200");
        expect_part(answer, "\r\nx-request-id: req_");
        expect_part(answer, "\r\nopenai-processing-ms: ");
        expect_part(answer, "\r\nopenai-version: 2020-10-01");
        expect_part(answer, "\r\nContent-Type: application/json\r\n");
        expect_part(answer, "\r\n\r\n{\"hello\":\"proj_1\"}");
        expect_no_part(answer, "should-retry");
    }
    hang_up(&client);
    stop();
}

static void errors_come_in_their_envelope(void **state)
{
    (void)state;
    start(MODE_DIRECT, NULL);
    ask("GET /error HTTP/1.1\r\n" HOST KEY "\r\n", "HTTP/1.1 400",
        "{\"error\":{\"message\":\"no \\\"such\\\" luck\",\"type\":\"invalid_request_error\","
        "\"param\":\"a_param\",\"code\":\"a_code\"}}");
    ask("GET /error HTTP/1.1\r\n" HOST KEY "\r\n", "400", "x-should-retry: false");
    ask("GET /internal HTTP/1.1\r\n" HOST KEY "\r\n", "HTTP/1.1 500",
        "{\"error\":{\"message\":\"The server had an error while processing your request.\","
        "\"type\":\"server_error\",\"param\":null,\"code\":null}}");
    stop();
}

static void a_key_is_asked_for_and_a_lost_store_lets_nobody_in(void **state)
{
    (void)state;
    start(MODE_DIRECT, NULL);
    ask("GET /open HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 200", "hello");
    ask("GET /plain HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 401", "\"message\":\"no key\"");
    ask("GET /plain HTTP/1.1\r\n" HOST "Authorization: Bearer bad\r\n\r\n", "HTTP/1.1 401",
        "\"code\":\"invalid_api_key\"");
    ask("GET /plain HTTP/1.1\r\n" HOST "Authorization: Bearer away\r\n\r\n", "HTTP/1.1 503",
        "retry-after: 1");
    ask("POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n{}", "HTTP/1.1 401", "no key");
    stop();
}

static void unknown_paths_and_methods_are_told_apart(void **state)
{
    (void)state;
    start(MODE_DIRECT, NULL);
    ask("POST /v1/foo?x=1 HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", "HTTP/1.1 404",
        "\"message\":\"Invalid URL (POST /v1/foo)\"");
    ask("PUT /plain HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", "HTTP/1.1 405",
        "\r\nAllow: GET, HEAD, OPTIONS\r\n");
    ask("OPTIONS /plain HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 204",
        "\r\nAllow: GET, HEAD, OPTIONS\r\n");
    ask("OPTIONS /foo HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 404", "Invalid URL (OPTIONS /foo)");
    stop();
}

static void head_is_a_get_without_a_body(void **state)
{
    struct client client;

    (void)state;
    start(MODE_DIRECT, NULL);
    client = dial();
    put(&client, "HEAD /plain HTTP/1.1\r\n" HOST KEY "\r\n"
                 "GET /plain HTTP/1.1\r\n" HOST KEY "\r\n");
    expect_part(get_until(&client, "\r\n\r\n"), "Content-Length: 18");
    expect_answer(&client, "HTTP/1.1 200", "{\"hello\":\"proj_1\"}");
    hang_up(&client);
    stop();
}

static void browsers_are_answered_by_the_setting(void **state)
{
    const char *preflight = "OPTIONS /echo HTTP/1.1\r\n" HOST "Origin: https://a.example\r\n"
                            "Access-Control-Request-Method: POST\r\n"
                            "Access-Control-Request-Headers: authorization,x-new\r\n\r\n";
    struct client client;

    (void)state;
    start(MODE_DIRECT, "--cors-origins", "https://b.example, https://a.example", NULL);
    ask(preflight, "HTTP/1.1 204", "Access-Control-Allow-Origin: https://a.example\r\n");
    ask(preflight, "HTTP/1.1 204", "Access-Control-Allow-Headers: authorization,x-new\r\n");
    ask(preflight, "HTTP/1.1 204", "Access-Control-Allow-Methods: POST, OPTIONS\r\n");
    ask("GET /error HTTP/1.1\r\n" HOST "Origin: https://b.example\r\n\r\n", "HTTP/1.1 401",
        "Access-Control-Allow-Origin: https://b.example\r\n");
    client = dial();
    put(&client, "GET /open HTTP/1.1\r\n" HOST "Origin: https://c.example\r\n\r\n");
    expect_no_part(get_answer(&client), "Access-Control");
    hang_up(&client);
    stop();

    start(MODE_DIRECT, NULL);
    client = dial();
    put(&client, preflight);
    expect_no_part(get_answer(&client), "Access-Control");
    hang_up(&client);
    stop();
}

/* ---- Bodies ---- */

#define OPEN_REQUEST "GET /open HTTP/1.1\r\n" HOST "\r\n"
#define CHUNKED      "POST /echo HTTP/1.1\r\n" HOST KEY "Transfer-Encoding: chunked\r\n\r\n"

static void bodies_that_are_not_json_objects_are_refused(void **state)
{
    (void)state;
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
static char *json_of(size_t length)
{
    char *text = mem_zeroed(length + 1, 1);

    memset(text, 'a', length);
    memcpy(text, "{\"x\":\"", 6);
    memcpy(text + length - 2, "\"}", 2);
    return text;
}

static void bodies_are_limited_to_the_byte(void **state)
{
    struct client client;
    AUTO_FREE char *fits = json_of(2000);
    AUTO_FREE char *over = json_of(2001);
    AUTO_FREE char *one = NULL;
    AUTO_FREE char *other = NULL;
    AUTO_FREE char *chunked = NULL;

    (void)state;
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

static void a_body_that_is_announced_too_large_is_not_waited_for(void **state)
{
    struct client client;

    (void)state;
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

static void a_body_that_becomes_too_large_is_answered_before_its_end(void **state)
{
    struct client client;
    struct http_stats stats;

    (void)state;
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

/* How long who was answered early is listened to. */
static void linger_for(uint64_t patience_ns)
{
    lock_acquire(&under.http->lock);
    under.http->deadlines.patience_ns[DEADLINE_LINGER] = patience_ns;
    lock_release(&under.http->lock);
}

static void who_goes_on_sending_gets_the_answer_whole(void **state)
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

    (void)state;
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

static void an_early_answer_keeps_to_the_method(void **state)
{
    struct client client;

    (void)state;
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

static void who_sends_without_an_end_is_hung_up_on(void **state)
{
    struct pollfd writable;
    struct client client;

    (void)state;
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

static void who_was_answered_early_is_not_kept_for_ever(void **state)
{
    struct client client;
    struct http_stats stats;

    (void)state;
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

static void all_bodies_together_are_limited(void **state)
{
    struct client holder;

    (void)state;
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

/* ---- Form ---- */

/* Strict as 1.0 of the library is, it finds some of that before us; it does not say what it was. */
static void expect_reason(const char *answer, const char *reason)
{
    if (MHD_VERSION < 0x01000000 || !strstr(answer, "headers are not well-formed"))
        expect_part(answer, reason);
}

static void doubtful_heads_are_answered_and_disconnected(void **state)
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

    (void)state;
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

static void who_is_refused_unread_is_disconnected(void **state)
{
    AUTO_FREE char *path = mem_zeroed(5001, 1);
    AUTO_FREE char *body = json_of(2001);
    AUTO_FREE char *announced = NULL;
    AUTO_FREE char *chunked = NULL;
    AUTO_FREE char *long_target = NULL;

    (void)state;
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

static void an_endpoint_that_refuses_keeps_the_connection(void **state)
{
    struct client client;

    (void)state;
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
static void what_the_library_cannot_read_is_answered_in_the_envelope(void **state)
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
        /* What was found before the body has the word. */
        {"POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", "401",
         "no key"},
    };

    (void)state;
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

/* Not even a blank: this is no HTTP, and the library hangs up without asking anybody. */
static void what_is_no_request_at_all_is_hung_up_on(void **state)
{
    static const char *const lines[] = {"hello\r\n\r\n", "\x16\x03\x01\x02\r\n\r\n",
                                        " / HTTP/1.1\r\n\r\n"};

    (void)state;
    start(MODE_DIRECT, NULL);
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        struct client client = dial();

        put(&client, lines[i]);
        put(&client, OPEN_REQUEST);
        expect_end(&client);
        hang_up(&client);
    }
    ask(OPEN_REQUEST, "HTTP/1.1 200", "hello");
    stop();
}

static void without_keys_only_this_machines_names_are_served(void **state)
{
    (void)state;
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

/* `format` with `count` times `piece` in the place of its %s. */
static char *with_many(const char *format, const char *piece, size_t count)
{
    AUTO_BUF pieces = {0};
    const char *place = strstr(format, "%s");

    for (size_t i = 0; i < count; i++)
        buf_add_text(&pieces, piece);
    return mem_printf("%.*s%s%s", (int)(place - format), format, pieces.data, place + 2);
}

/* Just above our limit, and above the library's memory. */
static void large_heads_are_refused(void **state)
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

    (void)state;
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

static void pipelined_requests_are_answered_in_order(void **state)
{
    struct client client;

    (void)state;
    start(MODE_DIRECT, NULL);
    client = dial();
    put(&client, "GET /plain HTTP/1.1\r\n" HOST KEY "\r\n"
                 "POST /echo HTTP/1.1\r\n" HOST KEY "Content-Length: 7\r\n\r\n{\"b\":2}"
                 "GET /nowhere HTTP/1.1\r\n" HOST "\r\n"
                 "GET /open HTTP/1.1\r\n" HOST "\r\n");
    expect_answer(&client, "HTTP/1.1 200", "proj_1");
    expect_answer(&client, "HTTP/1.1 200", "{\"b\":2}");
    expect_answer(&client, "HTTP/1.1 404", "Invalid URL");
    expect_answer(&client, "HTTP/1.1 200", "hello");
    hang_up(&client);
    stop();
}

/* ---- Time ---- */

/* Sends a byte whenever nothing has come for a while; returns when the server hangs up. */
static void drip(struct client *client, const char *first)
{
    struct pollfd ready = {.fd = client->fd, .events = POLLIN};
    uint64_t begun = clock_mono_ns();

    put(client, first);
    while (poll(&ready, 1, 50) == 0) {
        put(client, "x");
        assert_true(clock_mono_ns() - begun < PATIENCE_MS * NS_PER_MS);
    }
    expect_end(client);
}

static void who_drips_bytes_is_cut_off(void **state)
{
    struct client client;
    struct http_stats stats;

    (void)state;
    start(MODE_DIRECT, "--header-timeout", "0.3", "--body-timeout", "0.3", NULL);
    client = dial();
    drip(&client, "GET /plain HTTP/1.1\r\nX: "); /* headers */
    hang_up(&client);
    client = dial();
    drip(&client, "GET /"); /* the request line */
    hang_up(&client);
    client = dial();
    drip(&client,
         "POST /echo HTTP/1.1\r\n" HOST KEY "Content-Length: 100000\r\n\r\n{"); /* body */
    hang_up(&client);
    client = dial();
    put(&client, "GET /open HTTP/1.1\r\n" HOST "\r\n");
    expect_answer(&client, "200", "hello");
    drip(&client, "GET /plain HTTP/1.1\r\nX: "); /* of a second request */
    hang_up(&client);
    http_stats(under.http, &stats);
    assert_int_equal(stats.late, 4);
    stop();
}

static void idle_connections_are_closed_and_busy_ones_are_not(void **state)
{
    struct client idle;
    struct client busy;

    (void)state;
    start(MODE_DIRECT, "--keep-alive", "0.3", "--header-timeout", "0.3", "--body-timeout",
          "0.3", NULL);
    idle = dial();
    busy = dial();
    put(&busy, "GET /wait HTTP/1.1\r\n" HOST KEY "\r\n");
    await_made(1);
    put(&idle, "GET /open HTTP/1.1\r\n" HOST "\r\n");
    expect_answer(&idle, "200", "hello");
    expect_end(&idle);
    play(ACT_ANSWER, "late but here", 0);
    expect_answer(&busy, "201", "late but here");
    hang_up(&idle);
    hang_up(&busy);
    stop();
}

static void connections_beyond_the_limit_are_told_so(void **state)
{
    struct client first;
    struct client second;

    (void)state;
    start(MODE_DIRECT, "--max-connections", "1", NULL);
    first = dial();
    put(&first, "GET /open HTTP/1.1\r\n" HOST "\r\n");
    expect_answer(&first, "HTTP/1.1 200", "hello");
    second = dial();
    put(&second, "GET /open HTTP/1.1\r\n" HOST "\r\n");
    expect_answer(&second, "HTTP/1.1 503", "too many connections");
    expect_end(&second);
    hang_up(&first);
    hang_up(&second);
    stop();
}

/* ---- Waiting ---- */

static void an_answer_may_come_later(void **state)
{
    struct client client;

    (void)state;
    start(MODE_DIRECT, NULL);
    client = dial();
    for (unsigned i = 1; i <= 3; i++) {
        put(&client, "GET /wait HTTP/1.1\r\n" HOST KEY "\r\n");
        await_made(i);
        play(ACT_ANSWER, "at last", 0);
        expect_answer(&client, "HTTP/1.1 201", "{\"answer\":\"at last\"}");
    }
    put(&client, "GET /wait HTTP/1.1\r\n" HOST KEY "\r\n");
    await_made(4);
    play(ACT_CLOSE, NULL, 0); /* nobody has answered */
    expect_answer(&client, "HTTP/1.1 503", "server_error");
    hang_up(&client);
    stop();
}

static void who_waits_may_go_on_in_any_way(void **state)
{
    struct client client;

    (void)state;
    start(MODE_DIRECT, NULL);
    client = dial();
    put(&client, "GET /later HTTP/1.1\r\n" HOST KEY "\r\n");
    await_made(1);
    play(ACT_GO_ON, NULL, 0);
    expect_answer(&client, "HTTP/1.1 207", "\r\n\r\nlater");
    under.stream_later = true;
    put(&client, "GET /later HTTP/1.1\r\n" HOST KEY "\r\n");
    await_made(2);
    play(ACT_GO_ON, NULL, 0);
    await_made(3);
    say("data: 1\n\n");
    expect_part(get_until(&client, "data: 1\n\n\r\n"), "text/event-stream");
    play(ACT_CLOSE, NULL, 0);
    get_until(&client, "0\r\n\r\n");
    put(&client, "GET /later HTTP/1.1\r\n" HOST KEY "\r\n");
    await_made(4);
    hang_up(&client);
    await_gone();
    await_dropped();
    stop();
}

static void a_client_that_stops_waiting_is_noticed(void **state)
{
    struct client client;

    (void)state;
    start(MODE_DIRECT, NULL);
    client = dial();
    put(&client, "GET /wait HTTP/1.1\r\n" HOST KEY "\r\n");
    await_made(1);
    hang_up(&client);
    await_gone();
    ask("GET /open HTTP/1.1\r\n" HOST "\r\n", "200", "hello");
    stop();
}

/* ---- Streams, both ways ---- */

static enum mode mode_of(void **state)
{
    return *state ? MODE_PORTABLE : MODE_DIRECT;
}

static void open_stream(struct client *client, const char *more_headers)
{
    AUTO_FREE char *request =
        mem_printf("GET /stream HTTP/1.1\r\n" HOST KEY "%s\r\n", more_headers);
    unsigned made = under.made;

    put(client, request);
    await_made(made + 1);
}

static void events_come_one_by_one_and_the_connection_lives_on(void **state)
{
    struct client client;
    const char *head;

    start(mode_of(state), NULL);
    client = dial();
    for (int i = 0; i < 3; i++) {
        open_stream(&client, "");
        head = get_until(&client, "\r\n\r\n");
        expect_part(head, "HTTP/1.1 200");
        expect_part(head, "\r\nContent-Type: text/event-stream; charset=utf-8\r\n");
        expect_part(head, "\r\nCache-Control: no-cache\r\n");
        expect_part(head, "\r\nX-Accel-Buffering: no\r\n");
        expect_part(head, "\r\nx-request-id: req_");
        say("data: one\n\n");
        expect_part(get_until(&client, "one\n\n\r\n"), "b\r\ndata: one\n\n\r\n");
        say("data: two\n\n");
        expect_part(get_until(&client, "two\n\n\r\n"), "b\r\ndata: two\n\n\r\n");
        play(ACT_CLOSE, NULL, 0);
        assert_string_equal(get_until(&client, "0\r\n\r\n"), "0\r\n\r\n");
        put(&client, "GET /plain HTTP/1.1\r\n" HOST KEY "\r\n");
        expect_answer(&client, "HTTP/1.1 200", "proj_1");
    }
    hang_up(&client);
    stop();
}

static void what_is_said_before_the_headers_are_out_is_not_lost(void **state)
{
    struct client client;

    start(mode_of(state), NULL);
    client = dial();
    under.first_words = mem_strdup("data: early\n\n");
    for (int i = 0; i < 20; i++) {
        open_stream(&client, "");
        play(ACT_CLOSE, NULL, 0);
        expect_part(get_until(&client, "0\r\n\r\n"),
                    "\r\n\r\nd\r\ndata: early\n\n\r\n0\r\n\r\n");
    }
    free(under.first_words);
    hang_up(&client);
    stop();
}

static void a_stream_on_a_connection_that_is_to_close_ends_whole(void **state)
{
    struct client client;

    start(mode_of(state), NULL);
    client = dial();
    open_stream(&client, "Connection: close\r\n");
    say("data: one\n\n");
    get_until(&client, "data: one\n\n");
    play(ACT_CLOSE, NULL, 0);
    while (more(&client))
        continue;
    if (client.in.length) /* how the end is told is the library's choice, but for this one */
        assert_string_equal(client.in.data, "\r\n0\r\n\r\n");
    hang_up(&client);
    stop();
}

static void http_1_0_gets_events_without_chunks(void **state)
{
    struct client client;

    start(mode_of(state), NULL);
    client = dial();
    put(&client, "GET /stream HTTP/1.0\r\n" HOST KEY "\r\n");
    await_made(1);
    say("data: one\n\n");
    expect_part(get_until(&client, "\r\n\r\n"), "text/event-stream");
    assert_string_equal(get_until(&client, "data: one\n\n"), "data: one\n\n");
    say("data: two\n\n");
    play(ACT_CLOSE, NULL, 0);
    assert_string_equal(get_until(&client, "data: two\n\n"), "data: two\n\n");
    expect_end(&client);
    hang_up(&client);
    stop();
}

static void head_of_a_stream_has_no_events(void **state)
{
    struct client client;

    start(mode_of(state), NULL);
    client = dial();
    put(&client, "HEAD /stream HTTP/1.1\r\n" HOST KEY "\r\n");
    expect_part(get_until(&client, "\r\n\r\n"), "text/event-stream");
    await_made(1);
    await_gone();
    put(&client, "GET /plain HTTP/1.1\r\n" HOST KEY "\r\n");
    expect_answer(&client, "HTTP/1.1 200", "proj_1");
    hang_up(&client);
    stop();
}

static void a_reader_that_leaves_is_noticed_at_once(void **state)
{
    struct client client;

    start(mode_of(state), NULL);
    client = dial();
    open_stream(&client, "");
    say("data: one\n\n");
    get_until(&client, "one\n\n\r\n");
    hang_up(&client);
    await_gone(); /* the pings are 15 seconds apart */
    stop();
}

static void a_request_behind_a_stream_is_no_farewell(void **state)
{
    struct client client;

    start(mode_of(state), NULL);
    client = dial();
    put(&client, "GET /stream HTTP/1.1\r\n" HOST KEY "\r\n"
                 "GET /plain HTTP/1.1\r\n" HOST KEY "\r\n");
    await_made(1);
    say("data: one\n\n");
    get_until(&client, "one\n\n\r\n");
    say("data: two\n\n");
    get_until(&client, "two\n\n\r\n");
    play(ACT_CLOSE, NULL, 0);
    assert_string_equal(get_until(&client, "0\r\n\r\n"), "0\r\n\r\n");
    expect_answer(&client, "HTTP/1.1 200", "proj_1");
    hang_up(&client);
    stop();
}

static void silence_is_filled_with_comments(void **state)
{
    struct client client;

    start(mode_of(state), "--sse-ping-interval", "0.1", NULL);
    client = dial();
    open_stream(&client, "");
    get_until(&client, ": ping\n\n\r\n");
    get_until(&client, ": ping\n\n\r\n");
    play(ACT_CLOSE, NULL, 0);
    get_until(&client, "0\r\n\r\n");
    hang_up(&client);
    stop();
}

#define BIG 30000

static void a_slow_reader_gets_every_byte_in_order(void **state)
{
    static char event[BIG];
    struct client client;
    unsigned seen = 0;

    start(mode_of(state), "--stream-buffer", "100000000", NULL);
    client = dial();
    open_stream(&client, "");
    for (unsigned i = 0; i < 400; i++) { /* 12 MB: more than any socket holds */
        memset(event, 'a' + (int)(i % 26), sizeof(event));
        event[sizeof(event) - 1] = '\n';
        play(ACT_EVENTS, event, sizeof(event));
    }
    play(ACT_CLOSE, NULL, 0);
    get_until(&client, "\r\n\r\n");
    for (;;) { /* the chunks' sizes say how much; the library cuts them as it likes */
        size_t size = strtoul(get_until(&client, "\r\n"), NULL, 16);

        if (!size)
            break;
        while (client.in.length < size + 2)
            assert_true(more(&client));
        for (size_t i = 0; i < size; i++, seen++) {
            char wanted = seen % BIG == BIG - 1 ? '\n' : (char)('a' + seen / BIG % 26);

            if (client.in.data[i] != wanted)
                fail_msg("byte %u is wrong", seen);
        }
        assert_memory_equal(client.in.data + size, "\r\n", 2);
        buf_consume(&client.in, size + 2);
    }
    assert_int_equal(seen, 400 * BIG);
    get_until(&client, "\r\n");
    put(&client, "GET /plain HTTP/1.1\r\n" HOST KEY "\r\n");
    expect_answer(&client, "HTTP/1.1 200", "proj_1");
    hang_up(&client);
    stop();
}

static bool gone_already(void)
{
    bool gone;

    lock_acquire(&under.lock);
    gone = under.handed.gone;
    lock_release(&under.lock);
    return gone;
}

static void a_reader_that_never_reads_is_cut_off(void **state)
{
    static char event[BIG];
    struct http_stats stats;
    struct client client;
    unsigned said = 0;

    start(mode_of(state), "--stream-buffer", "65536", NULL);
    client = dial();
    open_stream(&client, "");
    memset(event, 'e', sizeof(event));
    for (; !gone_already(); said++) {
        play(ACT_EVENTS, event, sizeof(event));
        assert_true(said < 2000); /* 60 MB */
    }
    http_stats(under.http, &stats);
    assert_int_equal(stats.cut, 1);
    hang_up(&client);
    ask("GET /open HTTP/1.1\r\n" HOST "\r\n", "200", "hello");
    stop();
}

static void a_reader_that_stalls_is_cut_off_in_time(void **state)
{
    static char event[BIG];
    struct client client;

    start(MODE_DIRECT, "--stream-buffer", "100000000", "--stream-stall-timeout", "0.2", NULL);
    (void)state;
    client = dial();
    open_stream(&client, "");
    memset(event, 'e', sizeof(event));
    for (unsigned i = 0; i < 400; i++)
        play(ACT_EVENTS, event, sizeof(event));
    await_gone();
    hang_up(&client);
    stop();
}

static void a_large_event_is_not_slowness(void **state)
{
    AUTO_FREE char *event = mem_zeroed(1000000, 1);
    struct client client;

    start(mode_of(state), "--stream-buffer", "4096", NULL);
    client = dial();
    open_stream(&client, "");
    memset(event, 'e', 999998);
    memcpy(event + 999998, "\n", 2);
    play(ACT_EVENTS, event, 999999);
    play(ACT_CLOSE, NULL, 0);
    get_until(&client, "eee\n");
    get_until(&client, "0\r\n\r\n");
    hang_up(&client);
    stop();
}

/* ---- The end ---- */

static void stopping_cuts_what_is_open(void **state)
{
    struct client streaming[8];
    struct client waiting;
    struct client idle;

    start(mode_of(state), NULL);
    idle = dial();
    put(&idle, "GET /open HTTP/1.1\r\n" HOST "\r\n");
    expect_answer(&idle, "200", "hello");
    for (size_t i = 0; i < COUNT_OF(streaming); i++) {
        streaming[i] = dial();
        open_stream(&streaming[i], "");
        say("data: one\n\n");
        get_until(&streaming[i], "one\n\n\r\n");
    }
    waiting = dial();
    put(&waiting, "GET /wait HTTP/1.1\r\n" HOST KEY "\r\n");
    await_made(COUNT_OF(streaming) + 1);
    http_stop(under.http);
    for (size_t i = 0; i < COUNT_OF(streaming); i++) {
        expect_end(&streaming[i]);
        hang_up(&streaming[i]);
    }
    expect_answer(&waiting, "HTTP/1.1 503", "shutting down");
    expect_end(&waiting);
    expect_end(&idle);
    hang_up(&waiting);
    hang_up(&idle);
    stop();
}

static void what_begins_while_it_stops_is_refused(void **state)
{
    struct client streaming;
    struct client waiting;

    start(mode_of(state), NULL);
    streaming = dial();
    put(&streaming, "GET /too_late?stream HTTP/1.1\r\n" HOST KEY "\r\n");
    await_made(1);
    http_stop(under.http); /* would abort with anything suspended */
    while (more(&streaming))
        continue;
    hang_up(&streaming);
    stop();

    start(mode_of(state), NULL);
    waiting = dial();
    put(&waiting, "GET /too_late HTTP/1.1\r\n" HOST KEY "\r\n");
    await_made(1);
    http_stop(under.http);
    expect_answer(&waiting, "HTTP/1.1 503", "shutting down");
    hang_up(&waiting);
    stop();
}

static void draining_finishes_and_begins_nothing(void **state)
{
    struct client client;

    start(mode_of(state), NULL);
    client = dial();
    open_stream(&client, "");
    http_drain(under.http);
    ask("POST /echo HTTP/1.1\r\n" HOST KEY "Content-Length: 2\r\n\r\n{}", "HTTP/1.1 503",
        "shutting down");
    ask("GET /open HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 200", "Connection: close");
    assert_false(http_wait_idle(under.http, clock_mono_ns() + 20 * NS_PER_MS));
    say("data: last\n\n");
    get_until(&client, "last\n\n\r\n");
    play(ACT_CLOSE, NULL, 0);
    get_until(&client, "0\r\n\r\n");
    assert_true(http_wait_idle(under.http, clock_mono_ns() + PATIENCE_MS * NS_PER_MS));
    hang_up(&client);
    stop();
}

static void it_starts_and_stops_again_and_again(void **state)
{
    for (int i = 0; i < 10; i++) {
        struct client client;

        start(mode_of(state), NULL);
        client = dial();
        put(&client,
            "GET /stream HTTP/1.1\r\n" HOST KEY "\r\n"); /* stops at any moment of it */
        if (i % 2)
            await_made(1);
        stop();
        hang_up(&client);
    }
}

static void the_self_test_passes_here(void **state)
{
    struct err err;

    (void)state;
    if (sse_self_test(&err))
        fail_msg("%s", err.text);
}

static int portable;

#define BOTH_WAYS(test)                                  \
    cmocka_unit_test(test),                              \
    {                                                    \
#test " (portable)", test, NULL, NULL, &portable \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_self_test_passes_here),
        cmocka_unit_test(every_answer_names_its_request),
        cmocka_unit_test(errors_come_in_their_envelope),
        cmocka_unit_test(a_key_is_asked_for_and_a_lost_store_lets_nobody_in),
        cmocka_unit_test(unknown_paths_and_methods_are_told_apart),
        cmocka_unit_test(head_is_a_get_without_a_body),
        cmocka_unit_test(browsers_are_answered_by_the_setting),
        cmocka_unit_test(bodies_that_are_not_json_objects_are_refused),
        cmocka_unit_test(bodies_are_limited_to_the_byte),
        cmocka_unit_test(a_body_that_is_announced_too_large_is_not_waited_for),
        cmocka_unit_test(a_body_that_becomes_too_large_is_answered_before_its_end),
        cmocka_unit_test(who_goes_on_sending_gets_the_answer_whole),
        cmocka_unit_test(an_early_answer_keeps_to_the_method),
        cmocka_unit_test(who_sends_without_an_end_is_hung_up_on),
        cmocka_unit_test(who_was_answered_early_is_not_kept_for_ever),
        cmocka_unit_test(all_bodies_together_are_limited),
        cmocka_unit_test(doubtful_heads_are_answered_and_disconnected),
        cmocka_unit_test(who_is_refused_unread_is_disconnected),
        cmocka_unit_test(an_endpoint_that_refuses_keeps_the_connection),
        cmocka_unit_test(what_the_library_cannot_read_is_answered_in_the_envelope),
        cmocka_unit_test(what_is_no_request_at_all_is_hung_up_on),
        cmocka_unit_test(without_keys_only_this_machines_names_are_served),
        cmocka_unit_test(large_heads_are_refused),
        cmocka_unit_test(pipelined_requests_are_answered_in_order),
        cmocka_unit_test(who_drips_bytes_is_cut_off),
        cmocka_unit_test(idle_connections_are_closed_and_busy_ones_are_not),
        cmocka_unit_test(connections_beyond_the_limit_are_told_so),
        cmocka_unit_test(an_answer_may_come_later),
        cmocka_unit_test(who_waits_may_go_on_in_any_way),
        cmocka_unit_test(a_client_that_stops_waiting_is_noticed),
        BOTH_WAYS(events_come_one_by_one_and_the_connection_lives_on),
        BOTH_WAYS(what_is_said_before_the_headers_are_out_is_not_lost),
        BOTH_WAYS(a_stream_on_a_connection_that_is_to_close_ends_whole),
        BOTH_WAYS(http_1_0_gets_events_without_chunks),
        BOTH_WAYS(head_of_a_stream_has_no_events),
        BOTH_WAYS(a_reader_that_leaves_is_noticed_at_once),
        BOTH_WAYS(a_request_behind_a_stream_is_no_farewell),
        BOTH_WAYS(silence_is_filled_with_comments),
        BOTH_WAYS(a_slow_reader_gets_every_byte_in_order),
        BOTH_WAYS(a_reader_that_never_reads_is_cut_off),
        cmocka_unit_test(a_reader_that_stalls_is_cut_off_in_time),
        BOTH_WAYS(a_large_event_is_not_slowness),
        BOTH_WAYS(stopping_cuts_what_is_open),
        BOTH_WAYS(what_begins_while_it_stops_is_refused),
        BOTH_WAYS(draining_finishes_and_begins_nothing),
        BOTH_WAYS(it_starts_and_stops_again_and_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
