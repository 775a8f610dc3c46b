/*
 * http.c -- libmicrohttpd's callbacks: a request on its way from the first byte to its answer.
 *
 *   target_seen    the request line is there: the request exists, its header deadline runs
 *   handle  HEAD   the headers are there: clean? route? key? size? A failure is noted, not answered
 *   handle  BODY   pieces of the body, kept or discarded
 *   handle  (end)  the endpoint, or the failure, is answered
 *   completed      the answer was sent, or the client left
 *
 * Why libmicrohttpd. Its HTTP/1.1 has been tested by many programs, it runs a pool of workers with
 * epoll, and it can suspend a connection. An HTTP server written for this program would be the
 * largest risk in it. What the library lacks is added around it, each thing beside the code that
 * needs it (see README.md).
 *
 * Threads. A connection belongs to one worker of the pool for its life, and all callbacks here run on
 * that worker. What workers share is in struct http, under its lock. An endpoint runs on the worker,
 * too, and may block on the store: then the worker's other connections wait, which is why anything
 * longer is suspended. The settings say how many workers there are.
 *
 * Stopping has an order, because the library aborts when it is stopped with a suspended connection:
 * new connections and suspensions are refused; streams, waits and WebSockets are cut, and their loops
 * give the connections back; the last answers get half a second; then the library stops. The loops
 * must run until then (serve.c).
 */

#include "server/http/http.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "server/http/body_work.h"
#include "server/http/http_internal.h"
#include "server/http/websocket/websocket.h"

/* A connection's memory. It holds request line and headers, so it is larger than max_header. */
#define CONNECTION_MEMORY ((size_t)16 << 10)
/* A worker's stack: room for jansson's recursion at JSON_DEPTH_LIMIT many times over. */
#define STACK_SIZE ((size_t)1 << 20)
/* Connections above the server's own limit that are still answered. */
#define REFUSED_ROOM 1024
/* Time for answers that are being sent when the server stops. */
#define LAST_ANSWERS_NS (500 * NS_PER_MS)

/* ---- Counting what is suspended ---- */

bool http_may_suspend(struct http *http)
{
    bool may;

    lock_acquire(&http->lock);
    may = !http->stopping;
    if (may)
        http->suspended++;
    lock_release(&http->lock);
    return may;
}

void http_resumed(struct http *http)
{
    lock_acquire(&http->lock);
    http->suspended--;
    pthread_cond_broadcast(&http->changed);
    lock_release(&http->lock);
}

void http_count_answer(struct http *http, const struct request *request)
{
    size_t row = request->address->match.route
                     ? (size_t)(request->address->match.route - http->options.routes)
                     : http->options.route_count;
    int class = request->status / 100 - 2;

    if (class >= 0 && class < HTTP_CLASS_COUNT)
        atomic_fetch_add(&http->answers[row][class], 1);
}

/* ---- The library's callbacks ---- */

static void *target_seen(void *arg, const char *target, struct MHD_Connection *from)
{
    struct http *http = arg;
    unsigned limit = http->options.config->max_connection_requests;
    struct request *request = request_new(http, target);

    request->connection = from;
    request->peer = connection_of(from);
    request->peer->request = request;
    lock_acquire(&http->lock);
    http->requests++;
    /* The deadline of the first request runs from the opening of the connection. Later ones begin here,
     * with the request line: until then the connection was idle. */
    if (request->peer->requests++ > 0)
        connection_set_deadline_locked(http, request->peer, DEADLINE_HEADER);
    request->close = limit > 0 && request->peer->requests >= limit;
    lock_release(&http->lock);
    return request;
}

/* The library calls this once for the head, once for each piece of the body, once at its end, and again
 * when a suspended request is resumed. */
static enum MHD_Result handle(void *arg, struct MHD_Connection *from, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *size, void **state)
{
    struct request *request = *state;
    size_t count = *size;

    (void)arg;
    (void)from;
    (void)url;
    *size = 0;
    switch (request->phase) {
    case REQUEST_HEAD:
        request->method = method;
        request->version = version;
        *size = count;
        return request_take_head(request);
    case REQUEST_PAUSED:
        if (body_work_is_paused(request)) { /* bytes behind those that were taken */
            *size = count;
            return MHD_YES;
        }
        return request_go_on(request, data, count);
    case REQUEST_BODY:
    case REQUEST_DISCARD:
        return count ? request_take_body(request, data, count) : request_finish(request);
    case REQUEST_WAITING: return request_end_waiting(request);
    case REQUEST_LINGERING: return request_linger(request, count);
    case REQUEST_ANSWERED: break;
    }
    return MHD_YES;
}

static void completed(void *arg, struct MHD_Connection *from, void **state,
                      enum MHD_RequestTerminationCode how)
{
    struct http *http = arg;
    struct request *request = *state;
    struct http_connection *connection = connection_of(from);

    *state = NULL;
    connection->request = NULL;
    connection->over = how != MHD_REQUEST_TERMINATED_COMPLETED_OK || !request->stays_open;
    lock_acquire(&http->lock);
    http->requests--;
    if (http->stopping)
        pthread_cond_broadcast(&http->changed);
    connection_set_deadline_locked(http, connection, DEADLINE_IDLE);
    lock_release(&http->lock);
    request_free(request);
}

/* uri.c decodes everything, after taking it apart. */
static size_t leave_encoded(void *arg, struct MHD_Connection *from, char *text)
{
    (void)arg;
    (void)from;
    return strlen(text);
}

/* The library's function to stop accepting, MHD_quiesce_daemon(), has a race. It and a worker
 * that wakes at that moment both remove the socket from the worker's epoll, and the second one
 * ends the process. It is not needed: late connections are turned away here. */
static enum MHD_Result may_connect(void *arg, const struct sockaddr *from, socklen_t length)
{
    struct http *http = arg;
    bool may;

    (void)from;
    (void)length;
    lock_acquire(&http->lock);
    may = !http->stopping;
    lock_release(&http->lock);
    return may ? MHD_YES : MHD_NO;
}

PRINTF_LIKE(2, 0)
static void log_library(void *arg, const char *format, va_list arguments)
{
    char text[512];

    (void)arg;
    (void)vsnprintf(text, sizeof(text), format, arguments);
    log_debug("libmicrohttpd: %.*s", (int)strcspn(text, "\n"), text);
}

/* ---- Start and end ---- */

/* Seconds of silence after which the library hangs up by itself: later than every deadline of
 * this server. */
static intptr_t library_patience(const struct config *config)
{
    return 1 + (intptr_t)fmax(config->keep_alive,
                              fmax(config->header_timeout, config->body_timeout));
}

static struct MHD_Daemon *start_daemon(struct http *http)
{
    const struct config *config = http->options.config;
    unsigned workers = config->http_workers;
    /* The library divides its limit evenly among its workers, but not the connections. Above
     * the limit it leaves clients hanging. So its limit is set out of the way, and connection.c
     * counts. */
    unsigned limit = (config->max_connections + REFUSED_ROOM) * workers;
    struct MHD_OptionItem options[] = {
        {MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)log_library, NULL},
        {MHD_OPTION_LISTEN_SOCKET, http->options.listen_fd, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)CONNECTION_MEMORY, NULL},
        {MHD_OPTION_CONNECTION_LIMIT, (intptr_t)limit, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, library_patience(config), NULL},
        {MHD_OPTION_THREAD_STACK_SIZE, (intptr_t)STACK_SIZE, NULL},
        {MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)leave_encoded, NULL},
        {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)target_seen, http},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)completed, http},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)connection_notice, http},
#if MHD_VERSION >= 0x00097701
        {MHD_OPTION_CLIENT_DISCIPLINE_LVL, 1, NULL},
#endif
        {workers > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, (intptr_t)workers, NULL},
        {MHD_OPTION_END, 0, NULL},
    };

    /* Turbo, so that a connection that the library ends can still be written to (connection.c). */
    return MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_TURBO | MHD_ALLOW_SUSPEND_RESUME |
            MHD_ALLOW_UPGRADE | MHD_USE_ERROR_LOG,
        0, may_connect, http, handle, http, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}

static struct http *http_new(const struct http_options *options)
{
    const struct config *config = options->config;
    struct http *http = mem_new(struct http);

    http->options = *options;
    http->ping_interval = config->sse_ping_interval;
    http->stall_timeout = config->stream_stall_timeout;
    http->stream_buffer = config->stream_buffer;
    http->stream_buffers = config->stream_buffers;
    http->deadlines.patience_ns[DEADLINE_IDLE] = clock_ns_from_seconds(config->keep_alive);
    http->deadlines.patience_ns[DEADLINE_HEADER] =
        clock_ns_from_seconds(config->header_timeout);
    http->deadlines.patience_ns[DEADLINE_BODY] = clock_ns_from_seconds(config->body_timeout);
    http->deadlines.patience_ns[DEADLINE_LINGER] = REQUEST_LINGER_NS;
    http->answers = mem_zeroed(options->route_count + 1, sizeof(*http->answers));
    lock_init(&http->lock, LOCK_HTTP);
    lock_cond_init(&http->changed);
    return http;
}

enum err_code http_start(const struct http_options *options, struct http **ret_http,
                         struct err *err)
{
    struct http *http = http_new(options);

    *ret_http = http; /* set before the first request: an endpoint may need it */
    /* The clock is started first: if its thread cannot start, nothing has to be undone. */
    if (pthread_create(&http->clock, NULL, connection_run_clock, http) == 0)
        http->clock_started = true;
    if (http->clock_started)
        http->daemon = start_daemon(http);
    if (!http->daemon) {
        close(options->listen_fd);
        http->options.listen_fd = -1;
        http_stop(http);
        http_free(http);
        *ret_http = NULL;
        return err_set(err, ERR_INTERNAL, "cannot start the HTTP workers: %s", strerror(errno));
    }
    return ERR_OK;
}

void http_drain(struct http *http)
{
    lock_acquire(&http->lock);
    atomic_store(&http->draining, true);
    for (struct websocket *one = http->websockets; one; one = websocket_next(one))
        websocket_drain(one);
    lock_release(&http->lock);
}

static bool is_busy_locked(const struct http *http) REQUIRES(http->lock)
{
    return http->live || http->websockets;
}

bool http_wait_idle(struct http *http, uint64_t deadline_ns)
{
    bool idle;

    lock_acquire(&http->lock);
    while (is_busy_locked(http) && lock_wait_until(&http->lock, &http->changed, deadline_ns))
        continue;
    idle = !is_busy_locked(http);
    lock_release(&http->lock);
    return idle;
}

/* Nothing may be suspended when the library stops: it would abort. An upgraded socket would be
 * closed while in use. From here on new ones are refused, the present ones are cut, and their
 * loops give them back. */
static void end_suspended(struct http *http)
{
    lock_acquire(&http->lock);
    http->stopping = true;
    pthread_cond_broadcast(&http->changed);
    for (struct suspended *one = http->live; one; one = one->next)
        suspended_cut(one);
    for (struct websocket *one = http->websockets; one; one = websocket_next(one))
        websocket_cut(one);
    while (http->suspended || http->websockets)
        lock_wait(&http->lock, &http->changed);
    lock_release(&http->lock);
}

static void await_last_answers(struct http *http)
{
    uint64_t deadline = clock_mono_ns() + LAST_ANSWERS_NS;

    lock_acquire(&http->lock);
    while (http->requests && lock_wait_until(&http->lock, &http->changed, deadline))
        continue;
    lock_release(&http->lock);
}

/* The library has released every request; the loops still have to notice. */
static void await_forgotten(struct http *http)
{
    lock_acquire(&http->lock);
    while (http->live)
        lock_wait(&http->lock, &http->changed);
    lock_release(&http->lock);
}

void http_stop(struct http *http)
{
    atomic_store(&http->draining, true);
    end_suspended(http);
    if (http->daemon) {
        await_last_answers(http);
        MHD_stop_daemon(http->daemon); /* closes the listening socket, too */
        http->daemon = NULL;
        await_forgotten(http);
    }
    if (http->clock_started)
        pthread_join(http->clock, NULL);
    http->clock_started = false;
}

void http_free(struct http *http)
{
    if (!http)
        return;
    assert(!http->daemon && !http->live && !http->websockets);
    pthread_cond_destroy(&http->changed);
    lock_destroy(&http->lock);
    free((void *)http->answers);
    free(http);
}

/* ---- Figures ---- */

void http_count_body(struct http *http, size_t bytes)
{
    atomic_fetch_add(&http->body_bytes, bytes);
}

void http_uncount_body(struct http *http, size_t bytes)
{
    atomic_fetch_sub(&http->body_bytes, bytes);
}

void http_stats(struct http *http, struct http_stats *ret_stats)
{
    lock_acquire(&http->lock);
    ret_stats->connections = http->connections;
    ret_stats->suspended = http->suspended;
    ret_stats->websockets = http->websocket_count;
    ret_stats->waiting = http->backlogs;
    lock_release(&http->lock);
    ret_stats->refused = atomic_load(&http->refused);
    ret_stats->late = atomic_load(&http->late);
    ret_stats->cut = atomic_load(&http->cut);
    ret_stats->body_bytes = atomic_load(&http->body_bytes);
}

uint64_t http_answers(struct http *http, size_t route, enum http_class class)
{
    return atomic_load(&http->answers[route][class]);
}
