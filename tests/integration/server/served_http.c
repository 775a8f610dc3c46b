/*
 * The HTTP layer alone, between a real socket and an engine that the test plays.
 *
 * Endpoints either answer by themselves or hand their sink to a loop of the test. From there the
 * test decides what happens, one act after another: events, an answer, an end. Each act is
 * performed on the loop, as the engine would, and the test waits until it has happened. So there
 * is no race to lose.
 *
 * Streams can be written in two ways, and most promises hold for both: the same test runs with
 * each.
 */

#include "tests/integration/server/served_http.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/net/listen.h"
#include "core/net/loop.h"
#include "core/store/tables/keys.h"
#include "server/complaint.h"
#include "server/http/http_internal.h"
#include "server/http/request.h"
#include "server/http/stream/sse.h"
#include "server/workers.h"
#include "tests/support/test.h"

struct served under;
int portable;

/* ---- The server ---- */

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
    request_answer(request, 200,
                   json_build("{s:s}", "hello", request_tenant(request)->project));
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

/* ---- A body that is taken as it arrives ---- */

struct upload {
    unsigned long long bytes;
};

static enum err_code upload_take(struct request *request, void *arg, const char *bytes,
                                 size_t size, struct err *err)
{
    struct upload *upload = arg;

    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '!')
            return err_set_api(err, ERR_INVALID, "a_code", "file", "a bad byte");
        if (bytes[i] == '#') {
            request_fail_status(request, 418);
            return err_set(err, ERR_INVALID, "a teapot");
        }
    }
    upload->bytes += size;
    return ERR_OK;
}

static enum err_code upload_end(struct request *request, void *arg, struct err *err)
{
    struct upload *upload = arg;

    if (request_query(request, "late_error"))
        return err_set(err, ERR_NOT_FOUND, "not after all");
    if (request_query(request, "wait"))
        return hand_over(request_wait(request, under.loop));
    if (request_query(request, "stream"))
        return hand_over(request_stream(request, under.loop));
    request_answer(request, 200, json_build("{s:I}", "bytes", (json_int_t)upload->bytes));
    return ERR_OK;
}

static void upload_drop(void *arg)
{
    free(arg);
    lock_acquire(&under.lock);
    under.uploads_dropped++;
    pthread_cond_broadcast(&under.changed);
    lock_release(&under.lock);
}

static void begin_upload(void)
{
    lock_acquire(&under.lock);
    under.uploads++;
    pthread_cond_broadcast(&under.changed);
    lock_release(&under.lock);
}

static enum err_code post_upload(struct request *request, struct err *err)
{
    struct body_taker taker = {
        .limit = UPLOAD_LIMIT, .take = upload_take, .end = upload_end, .drop = upload_drop};

    if (request_query(request, "full"))
        return err_set(err, ERR_FULL, "no room");
    if (request_query(request, "known")) {
        request_answer(request, 200, json_build("{s:b}", "known", 1));
        return ERR_OK;
    }
    taker.arg = mem_new(struct upload);
    begin_upload();
    request_take_streamed(request, &taker);
    return ERR_OK;
}

/* ---- A body that is taken, or given, on a worker ---- */

static void pass_gate(void)
{
    lock_acquire(&under.lock);
    under.at_gate++;
    pthread_cond_broadcast(&under.changed);
    while (under.gate_closed)
        lock_wait(&under.lock, &under.changed);
    lock_release(&under.lock);
}

static enum err_code slow_take(struct request *request, void *arg, const char *bytes,
                               size_t size, struct err *err)
{
    assert_null(request);
    assert_true(size <= REQUEST_PIECE + 16384);
    pass_gate();
    return upload_take(NULL, arg, bytes, size, err);
}

static enum err_code post_slow(struct request *request, struct err *err)
{
    const struct body_taker taker = {.limit = SLOW_LIMIT,
                                     .take = slow_take,
                                     .end = upload_end,
                                     .drop = upload_drop,
                                     .arg = mem_new(struct upload),
                                     .workers = under.workers,
                                     .loop = under.loop};

    (void)err;
    begin_upload();
    request_take_streamed(request, &taker);
    return ERR_OK;
}

static enum err_code slow_read(void *arg, uint64_t at, void *ret_bytes, size_t size,
                               size_t *ret_got, struct err *err)
{
    (void)arg;
    pass_gate();
    if (under.broken_from && at >= under.broken_from)
        return err_set(err, ERR_UPSTREAM, "the bucket is away");
    for (size_t i = 0; i < size; i++)
        ((char *)ret_bytes)[i] = (char)('a' + (at + i) % 26);
    *ret_got = size;
    return ERR_OK;
}

static enum err_code get_slow(struct request *request, struct err *err)
{
    (void)err;
    begin_upload();
    request_answer_from(request, 200, "text/plain",
                        &(struct body_source){.size = SLOW_LIMIT,
                                              .read = slow_read,
                                              .drop = upload_drop,
                                              .arg = mem_new(struct upload),
                                              .workers = under.workers,
                                              .loop = under.loop});
    return ERR_OK;
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
    {"GET",  "/slow",       get_slow,     "getSlow",  0},
    {"POST", "/slow",       post_slow,    "slow",     ROUTE_STREAMED},
    {"POST", "/upload",     post_upload,  "upload",   ROUTE_STREAMED},
    {"GET",  "/too_late",   get_too_late, "tooLate",  0},
};
/* clang-format on */

static enum err_code check_key(struct server *server, const char *authorization,
                               struct tenant *ret_tenant, struct err *err)
{
    (void)server;
    if (!authorization)
        return err_set(err, ERR_UNAUTHORIZED, "no key");
    if (strcmp(authorization, "Bearer away") == 0)
        return err_set(err, ERR_STORE, "connection refused");
    if (strcmp(authorization, "Bearer good") != 0)
        return err_set_api(err, ERR_UNAUTHORIZED, "invalid_api_key", NULL, "wrong key");
    *ret_tenant = tenant_of_project("proj_1");
    return ERR_OK;
}

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
void start(enum mode mode, ...)
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
    assert_int_equal(crew_start(NULL, NS_PER_SECOND, &under.crew, &err), ERR_OK);
    under.workers = workers_new(under.crew, 1);
    options.listen_fd = listen_somewhere(url);
    under.port = (unsigned short)strtol(strrchr(url, ':') + 1, NULL, 10);
    options.config = under.config;
    assert_int_equal(http_start(&options, &under.http, &err), ERR_OK);
}

void stop(void)
{
    http_stop(under.http);
    open_gate();
    workers_stop(under.workers);
    crew_stop(under.crew);
    loop_stop(under.loop);
    http_free(under.http);
    assert_int_equal(under.uploads_dropped, under.uploads);
    loop_free(under.loop);
    config_free(under.config);
    pthread_cond_destroy(&under.changed);
    lock_destroy(&under.lock);
    memset(&under, 0, sizeof(under));
}

/* ---- Playing the engine ---- */

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
        sink->ops->answer(
            sink, &(struct sink_answer){.status = 201,
                                        .object = json_build("{s:s}", "answer", play->text),
                                        .headers = {{"x-played", "yes"}},
                                        .header_count = 1});
    else if (sink && play->act == ACT_GO_ON)
        sink->ops->answer(sink, &(struct sink_answer){.status = REQUEST_CONTINUE});
    if (sink && play->act != ACT_EVENTS)
        forget_sink(sink);
    lock_acquire(&under.lock);
    play->done = true;
    pthread_cond_broadcast(&under.changed);
    lock_release(&under.lock);
}

void play(enum act act, const char *text, size_t length)
{
    struct play play = {.task = {.run = perform}, .act = act, .text = text, .length = length};

    loop_post(under.loop, &play.task);
    lock_acquire(&under.lock);
    while (!play.done)
        lock_wait(&under.lock, &under.changed);
    lock_release(&under.lock);
}

void say(const char *text)
{
    play(ACT_EVENTS, text, strlen(text));
}

void await_made(unsigned count)
{
    uint64_t deadline = clock_mono_ns() + (uint64_t)PATIENCE_MS * NS_PER_MS;

    lock_acquire(&under.lock);
    while (under.made < count)
        assert_true(lock_wait_until(&under.lock, &under.changed, deadline));
    lock_release(&under.lock);
}

void await_gone(void)
{
    uint64_t deadline = clock_mono_ns() + (uint64_t)PATIENCE_MS * NS_PER_MS;

    lock_acquire(&under.lock);
    while (!under.handed.gone)
        assert_true(lock_wait_until(&under.lock, &under.changed, deadline));
    lock_release(&under.lock);
}

void await_dropped(void)
{
    uint64_t deadline = clock_mono_ns() + (uint64_t)PATIENCE_MS * NS_PER_MS;

    lock_acquire(&under.lock);
    while (!under.handed.dropped)
        assert_true(lock_wait_until(&under.lock, &under.changed, deadline));
    lock_release(&under.lock);
}

void close_gate(void)
{
    lock_acquire(&under.lock);
    under.gate_closed = true;
    lock_release(&under.lock);
}

void open_gate(void)
{
    lock_acquire(&under.lock);
    under.gate_closed = false;
    pthread_cond_broadcast(&under.changed);
    lock_release(&under.lock);
}

void await_at_gate(unsigned count)
{
    uint64_t deadline = clock_mono_ns() + (uint64_t)PATIENCE_MS * NS_PER_MS;

    lock_acquire(&under.lock);
    while (under.at_gate < count)
        assert_true(lock_wait_until(&under.lock, &under.changed, deadline));
    lock_release(&under.lock);
}

void await_uploads(unsigned count)
{
    uint64_t deadline = clock_mono_ns() + (uint64_t)PATIENCE_MS * NS_PER_MS;

    lock_acquire(&under.lock);
    while (under.uploads < count)
        assert_true(lock_wait_until(&under.lock, &under.changed, deadline));
    lock_release(&under.lock);
}

void await_uploads_dropped(unsigned count)
{
    uint64_t deadline = clock_mono_ns() + (uint64_t)PATIENCE_MS * NS_PER_MS;

    lock_acquire(&under.lock);
    while (under.uploads_dropped < count)
        assert_true(lock_wait_until(&under.lock, &under.changed, deadline));
    assert_int_equal(under.uploads, under.uploads_dropped);
    lock_release(&under.lock);
}

bool gone_already(void)
{
    bool gone;

    lock_acquire(&under.lock);
    gone = under.handed.gone;
    lock_release(&under.lock);
    return gone;
}

enum mode mode_of(void **state)
{
    return *state ? MODE_PORTABLE : MODE_DIRECT;
}
