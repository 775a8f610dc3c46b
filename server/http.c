/*
 * http.c -- libmicrohttpd's callbacks: a request on its way from the first byte to its answer.
 *
 *   target_seen    the request line is there: the request exists, its header deadline runs
 *   handle  HEAD   the headers are there: clean? route? key? size? A failure is noted, not answered
 *   handle  BODY   pieces of the body, kept or thrown away
 *   handle  (end)  the endpoint, or the failure, is answered
 *   completed      the answer was sent, or the client left
 *
 * A failure is answered only once the body was read, because the library closes the connection
 * under an early answer and the client would see a reset instead of it. Only who cannot be
 * trusted about the length of its body, or announces more than is worth reading, is answered
 * at once.
 */

#include "server/http.h"

#include <assert.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "server/cors.h"
#include "server/http_internal.h"
#include "server/own_address.h"
#include "server/wait.h"
#include "server/websocket.h"

/* Of a connection: holds request line and headers, so above max_header. */
#define CONNECTION_MEMORY ((size_t)16 << 10)
/* Of a worker: room for jansson's recursion at JSON_DEPTH_LIMIT many times over. */
#define STACK_SIZE ((size_t)1 << 20)
/* A body that will not be used is read up to here, for the sake of the answer. */
#define DISCARD_LIMIT ((uint64_t)1 << 20)
/* Connections above our own limit that are still answered. */
#define REFUSED_ROOM 1024
/* When the server stops: for answers that are just being sent. */
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
    size_t row = request->match.route ? (size_t)(request->match.route - http->options.routes)
                                      : http->options.route_count;
    int class = request->status / 100 - 2;

    if (class >= 0 && class < HTTP_CLASS_COUNT)
        atomic_fetch_add(&http->answers[row][class], 1);
}

/* ---- Connections: how many, and until when ---- */

/* IPv4 inside IPv6 is IPv4. False for loopback, which is not counted. */
static bool peer_address(const struct sockaddr *from, struct in6_addr *ret_address)
{
    struct in6_addr address = {0};

    if (from->sa_family == AF_INET6) {
        memcpy(&address, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr,
               sizeof(address));
    } else if (from->sa_family == AF_INET) {
        address.s6_addr[10] = address.s6_addr[11] = 0xFF;
        memcpy(&address.s6_addr[12],
               &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
    } else {
        return false;
    }
    *ret_address = address;
    return !IN6_IS_ADDR_LOOPBACK(&address) &&
           !(IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[12] == 127);
}

static struct http_peer **peer_bucket(struct http *http, const struct in6_addr *address)
{
    unsigned hash = 2166136261u;

    for (size_t i = 0; i < sizeof(address->s6_addr); i++)
        hash = (hash ^ address->s6_addr[i]) * 16777619u;
    return &http->peers[hash % HTTP_PEER_BUCKETS];
}

static struct http_peer *count_peer_locked(struct http *http, const struct in6_addr *address)
    REQUIRES(http->lock)
{
    struct http_peer **bucket = peer_bucket(http, address);
    struct http_peer *peer = *bucket;

    while (peer && memcmp(&peer->address, address, sizeof(*address)) != 0)
        peer = peer->next;
    if (!peer) {
        peer = mem_new(struct http_peer);
        peer->address = *address;
        peer->next = *bucket;
        *bucket = peer;
    }
    peer->connections++;
    return peer;
}

static void uncount_peer_locked(struct http *http, struct http_peer *peer) REQUIRES(http->lock)
{
    struct http_peer **at;

    if (!peer || --peer->connections)
        return;
    at = peer_bucket(http, &peer->address);
    while (*at != peer)
        at = &(*at)->next;
    *at = peer->next;
    free(peer);
}

/* Wakes the clock when it sleeps without a time. */
static void set_deadline_locked(struct http *http, struct http_connection *connection,
                                enum deadline_kind kind) REQUIRES(http->lock)
{
    bool was_empty = deadlines_next(&http->deadlines) == UINT64_MAX;

    deadlines_set(&http->deadlines, &connection->deadline, kind, clock_mono_ns());
    if (was_empty && kind != DEADLINE_NONE)
        pthread_cond_broadcast(&http->changed);
}

static void set_deadline(struct http *http, struct http_connection *connection,
                         enum deadline_kind kind)
{
    lock_acquire(&http->lock);
    set_deadline_locked(http, connection, kind);
    lock_release(&http->lock);
}

static struct http_connection *connection_opened(struct http *http, struct MHD_Connection *from)
{
    const struct config *config = http->options.config;
    struct http_connection *connection = mem_new(struct http_connection);
    const struct sockaddr *address =
        MHD_get_connection_info(from, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
    struct in6_addr peer;

    connection->fd =
        MHD_get_connection_info(from, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    connection->http = http;
    deadline_init(&connection->deadline);
    lock_acquire(&http->lock);
    if (++http->connections > config->max_connections)
        connection->refusal = 503;
    if (peer_address(address, &peer)) {
        connection->peer = count_peer_locked(http, &peer);
        if (config->max_connections_per_ip &&
            connection->peer->connections > config->max_connections_per_ip)
            connection->refusal = 429;
    }
    set_deadline_locked(http, connection, DEADLINE_HEADER);
    lock_release(&http->lock);
    return connection;
}

/* The socket is closed after this, so the clock must have forgotten it. */
static void connection_closed(struct http *http, struct http_connection *connection)
{
    lock_acquire(&http->lock);
    http->connections--;
    uncount_peer_locked(http, connection->peer);
    set_deadline_locked(http, connection, DEADLINE_NONE);
    lock_release(&http->lock);
    free(connection);
}

static void connection_notice(void *arg, struct MHD_Connection *from, void **state,
                              enum MHD_ConnectionNotificationCode what)
{
    struct http *http = arg;

    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        *state = connection_opened(http, from);
    else
        connection_closed(http, *state);
}

static struct http_connection *connection_of(struct MHD_Connection *from)
{
    return MHD_get_connection_info(from, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

/* The clock: hangs up on who is late. It looks now and then and not at the exact time, so that
 * nobody has to wake it for each request. */
static uint64_t clock_step_ns(const struct http *http)
{
    uint64_t step = NS_PER_SECOND;

    for (int kind = 0; kind < DEADLINE_KIND_COUNT; kind++)
        if (http->deadlines.patience_ns[kind] / 8 < step)
            step = http->deadlines.patience_ns[kind] / 8;
    return step < NS_PER_MS ? NS_PER_MS : step;
}

static void hang_up_locked(struct http *http) REQUIRES(http->lock)
{
    struct deadline *over;

    while ((over = deadlines_take_over(&http->deadlines, clock_mono_ns()))) {
        atomic_fetch_add(&http->late, 1);
        (void)shutdown(CONTAINER_OF(over, struct http_connection, deadline)->fd, SHUT_RDWR);
    }
}

static void *run_clock(void *arg)
{
    struct http *http = arg;

    lock_acquire(&http->lock);
    while (!http->stopping) {
        hang_up_locked(http);
        if (deadlines_next(&http->deadlines) == UINT64_MAX) {
            lock_wait(&http->lock, &http->changed);
        } else {
            uint64_t next = clock_mono_ns() + clock_step_ns(http);

            while (!http->stopping && lock_wait_until(&http->lock, &http->changed, next))
                continue;
        }
    }
    lock_release(&http->lock);
    return NULL;
}

/* ---- The head of a request ---- */

struct header_list {
    struct hygiene_header headers[HYGIENE_HEADER_LIMIT + 1];
    size_t count;
};

static enum MHD_Result add_to_list(void *arg, enum MHD_ValueKind kind, const char *name,
                                   size_t name_length, const char *value, size_t value_length)
{
    struct header_list *list = arg;

    (void)kind;
    if (list->count == COUNT_OF(list->headers))
        return MHD_NO;
    list->headers[list->count++] = (struct hygiene_header){
        name, name_length, value ? value : "", value ? value_length : 0};
    return MHD_YES;
}

static void note_failure(struct request *request, int status, const struct err *err)
{
    if (!request->failure)
        request->failure = mem_new(struct err);
    *request->failure = *err;
    request->failure_status = status;
}

/* Of a request that goes no further; the answer comes when the body has been read. It ends the
 * connection when there is a body that nobody wanted: whoever is in front of us might see its end
 * elsewhere. */
static void fail(struct request *request, int status, const struct err *err)
{
    note_failure(request, status, err);
    if (request->head.has_body)
        request->close = true;
}

/* 501 and 505, a method or version that we do not know, are the client's doing. */
static enum err_code code_of(int status)
{
    switch (status) {
    case 403: return ERR_FORBIDDEN;
    case 429: return ERR_LIMIT;
    case 503: return ERR_UPSTREAM;
    default: return ERR_INVALID;
    }
}

/* For who cannot be trusted, or not be heard: nothing that follows is read. */
static void fail_and_close(struct request *request, int status, const char *text)
{
    struct err err;

    atomic_fetch_add(&request->http->refused, 1);
    err_set(&err, code_of(status), "%s", text);
    fail(request, status, &err);
    request->close = request->at_once = true;
}

static bool check_head(struct request *request)
{
    struct header_list list = {.count = 0};
    struct hygiene_head head = {
        .method = request->method,
        .target = request->target,
        .version = request->version,
        .headers = list.headers,
        .size_limit = request->http->options.config->max_header,
    };

    (void)MHD_get_connection_values_n(request->connection, MHD_HEADER_KIND, add_to_list, &list);
    head.header_count = list.count;
    request->head = hygiene_check(&head);
    if (request->head.status)
        fail_and_close(request, request->head.status, request->head.text);
    return !request->head.status;
}

static bool check_connection(struct request *request)
{
    if (request->peer->refusal == 503)
        fail_and_close(request, 503,
                       "The server has too many connections. Please retry later.");
    else if (request->peer->refusal == 429)
        fail_and_close(request, 429, "Your address has too many connections.");
    return !request->peer->refusal;
}

/* Without keys a web page could reach us by a name of its own that leads to this machine: its
 * requests carry that name. */
static bool check_host(struct request *request)
{
    const char *host = request_header(request, "host");

    if (!request->http->options.config->no_auth || !host || own_address_is_local_name(host))
        return true;
    fail_and_close(
        request, 403,
        "Without keys, requests must be made to localhost or to a loopback address.");
    return false;
}

static struct route_table table_of(const struct http *http)
{
    return (struct route_table){http->options.routes, http->options.route_count};
}

static bool no_method(struct request *request)
{
    struct route_table table = table_of(request->http);
    AUTO_BUF methods = {0};
    struct err err;

    router_allowed(&table, &request->uri, &methods);
    request_set_header(request, "Allow", methods.data);
    err_set_api(&err, ERR_METHOD, "method_not_supported", NULL,
                "Not allowed to %s on %.200s. (HINT: Perhaps you meant to use a different HTTP "
                "method?)",
                request->method, request->target);
    fail(request, 0, &err);
    return false;
}

static bool find_route(struct request *request)
{
    struct route_table table = table_of(request->http);
    struct err err = {0};

    if (uri_parse(request->target, &request->uri, &err)) {
        fail(request, err.code == ERR_TOO_LARGE ? 414 : 0, &err);
        request->close = true;
        return false;
    }
    switch (router_find(&table, request->method, &request->uri, &request->match)) {
    case ROUTE_FOUND: return true;
    case ROUTE_NO_METHOD: return no_method(request);
    case ROUTE_NO_PATH: break;
    }
    err_set(&err, ERR_NOT_FOUND, "Invalid URL (%s %.*s)", request->method,
            (int)strcspn(request->target, "?"), request->target);
    fail(request, 0, &err);
    return false;
}

static bool authenticate(struct request *request)
{
    const struct http_options *options = &request->http->options;
    struct err err = {0};

    if (request->match.route->flags & ROUTE_PUBLIC)
        return true;
    if (!options->authenticate(options->server, request_header(request, "authorization"),
                               request->project, &err))
        return true;
    if (err.code == ERR_UNAUTHORIZED)
        request_set_header(request, "WWW-Authenticate", "Bearer");
    fail(request, 0, &err);
    return false;
}

/* While the server goes down it still answers questions, but begins nothing. */
static bool check_draining(struct request *request)
{
    struct err err;

    if (!atomic_load(&request->http->draining) || strcmp(request->method, "POST") != 0)
        return true;
    err_set(&err, ERR_UPSTREAM, "The server is shutting down. Please retry your request.");
    fail(request, 503, &err);
    return false;
}

static void body_too_large(struct request *request)
{
    struct err err;

    err_set(&err, ERR_TOO_LARGE, "The request body is larger than %zu bytes.",
            request->http->options.config->max_body);
    fail(request, 0, &err);
}

static bool check_body(struct request *request)
{
    const char *encoding = request_header(request, "content-encoding");
    struct err err;

    if (encoding && strcasecmp(encoding, "identity") != 0) {
        err_set(&err, ERR_INVALID, "Content-Encoding '%.40s' is not supported.", encoding);
        fail(request, 415, &err);
        return false;
    }
    if (request->head.length > request->http->options.config->max_body) {
        body_too_large(request);
        return false;
    }
    return true;
}

/* OPTIONS needs no key and no endpoint. */
static void answer_options(struct request *request)
{
    struct route_table table = table_of(request->http);
    AUTO_BUF methods = {0};
    struct err err = {0};

    if (uri_parse(request->target, &request->uri, &err)) {
        fail(request, err.code == ERR_TOO_LARGE ? 414 : 0, &err);
        request->close = true;
        return;
    }
    router_allowed(&table, &request->uri, &methods);
    if (!methods.length) {
        err_set(&err, ERR_NOT_FOUND, "Invalid URL (OPTIONS %.*s)",
                (int)strcspn(request->target, "?"), request->target);
        fail(request, 0, &err);
        return;
    }
    request_set_header(request, "Allow", methods.data);
    if (request_header(request, "access-control-request-method"))
        cors_preflight(request, request->http->options.config->cors_origins,
                       request_header(request, "origin"),
                       request_header(request, "access-control-request-headers"), methods.data);
    request_answer_bytes(request, MHD_HTTP_NO_CONTENT, NULL, mem_strdup(""), 0);
}

static bool wants_body(const struct request *request)
{
    return strcmp(request->method, "POST") == 0;
}

/* Nobody would read what follows such a head, or believe where it ends. */
static bool must_answer_at_once(const struct request *request)
{
    return request->failure && (request->at_once || request->head.length > DISCARD_LIMIT ||
                                (request->head.has_body && request_header(request, "expect")));
}

static enum MHD_Result answer_failure(struct request *request)
{
    if (request->failure_status)
        request_fail_with(request, request->failure_status, request->failure);
    else
        request_fail(request, request->failure);
    return request_send(request) ? MHD_YES : MHD_NO;
}

static enum MHD_Result take_head(struct request *request)
{
    bool fine = check_connection(request) && check_head(request) && check_host(request);

    if (fine && strcmp(request->method, "OPTIONS") == 0)
        answer_options(request);
    else if (fine)
        fine = find_route(request) && authenticate(request) && check_draining(request) &&
               check_body(request);
    if (request->head.has_body)
        set_deadline(request->http, request->peer, DEADLINE_BODY);
    else
        set_deadline(request->http, request->peer, DEADLINE_NONE);
    if (must_answer_at_once(request)) {
        request->close = true;
        return answer_failure(request);
    }
    request->phase = request->failure || request->status || !wants_body(request)
                         ? REQUEST_DISCARD
                         : REQUEST_BODY;
    return MHD_YES;
}

/* ---- Its body ---- */

static bool count_bytes(struct request *request, size_t size)
{
    struct http *http = request->http;

    request->counted += size;
    return atomic_fetch_add(&http->body_bytes, size) + size <= http->options.config->max_bodies;
}

static void keep_body(struct request *request, const char *bytes, size_t size)
{
    struct err err;

    if (request->body.length + size > request->http->options.config->max_body) {
        body_too_large(request);
    } else if (!count_bytes(request, size)) {
        err_set(&err, ERR_LIMIT, "The server is reading too much at once. Please retry later.");
        fail(request, 503, &err);
    } else {
        buf_add(&request->body, bytes, size);
        return;
    }
    buf_clear(&request->body);
    request->phase = REQUEST_DISCARD;
}

/* MHD_NO hangs up: it announced less than it sends, or nothing at all. */
static enum MHD_Result discard_body(struct request *request, size_t size)
{
    request->discarded += size;
    return request->discarded <= DISCARD_LIMIT ? MHD_YES : MHD_NO;
}

static enum MHD_Result take_body(struct request *request, const char *bytes, size_t size)
{
    if (request->phase == REQUEST_DISCARD)
        return discard_body(request, size);
    keep_body(request, bytes, size);
    return MHD_YES;
}

/* ---- Its answer ---- */

static enum MHD_Result stopping(struct request *request)
{
    struct err err;

    err_set(&err, ERR_UPSTREAM, "The server is shutting down. Please retry your request.");
    request->close = true;
    request_fail_with(request, 503, &err);
    return request_send(request) ? MHD_YES : MHD_NO;
}

static enum MHD_Result begin_waiting(struct request *request)
{
    request->phase = REQUEST_WAITING;
    request_drop_body(request);
    if (wait_begin(request->wait))
        return MHD_YES;
    return stopping(request);
}

static enum MHD_Result send_or_fail(struct request *request, enum err_code rc, struct err *err)
{
    if (rc) {
        err->code = rc;
        note_failure(request, request->failure_status, err);
        return answer_failure(request);
    }
    assert(request->stream || request->websocket || request->status);
    return request_send(request) ? MHD_YES : MHD_NO;
}

static enum MHD_Result go_on(struct request *request)
{
    struct request_later later = request->later;
    struct err err = {0};

    request->later = (struct request_later){0};
    wait_forgotten(request->wait);
    request->wait = NULL;
    return send_or_fail(request, later.go_on(request, later.arg, &err), &err);
}

static enum MHD_Result end_waiting(struct request *request)
{
    json_t *object;
    int status = wait_take(request->wait, &object);

    if (!status)
        return stopping(request);
    if (status == REQUEST_GO_ON)
        return go_on(request);
    request_answer(request, status, object);
    return request_send(request) ? MHD_YES : MHD_NO;
}

static enum MHD_Result call_endpoint(struct request *request)
{
    const struct route *route = request->match.route;
    struct err err = {0};
    enum err_code rc = ERR_OK;

    if (wants_body(request) && !(route->flags & ROUTE_RAW_BODY))
        rc = request_parse_body(request, &err);
    if (!rc)
        rc = route->endpoint(request, &err);
    assert(!rc || (!request->stream && !request->wait && !request->websocket));
    if (!rc && request->wait)
        return begin_waiting(request);
    return send_or_fail(request, rc, &err);
}

/* With what was known before its body came. */
static enum MHD_Result finish_unasked(struct request *request)
{
    if (request->failure)
        return answer_failure(request);
    return request_send(request) ? MHD_YES : MHD_NO;
}

static enum MHD_Result finish(struct request *request)
{
    set_deadline(request->http, request->peer, DEADLINE_NONE);
    return request->failure || request->status ? finish_unasked(request)
                                               : call_endpoint(request);
}

/* ---- What the library could not read ---- */

/* The library tells little about what is wrong, so where it was when it gave up has to say. */
static const char *unreadable_text(const struct request *request, int status)
{
    switch (status) {
    case 413: return "A chunk of the body is too large.";
    case 414: return "The request line is too long.";
    case 431: return "Request line and headers are too large.";
    case 505: return "This version of HTTP is not supported.";
    default: break;
    }
    if (!request->target[0])
        return "The request line could not be read.";
    return request->phase == REQUEST_HEAD ? "A line of the headers has no colon."
                                          : "The chunks of the body could not be read.";
}

static enum MHD_Result answer_unreadable(struct request *request, int status)
{
    /* 500: no room for a line of the body's encoding, which is the client's doing. */
    int own_status = status == 500 ? 400 : status;

    if (request->phase > REQUEST_DISCARD)
        return MHD_NO; /* it is answered, or will be */
    if (!request->failure && !request->status)
        fail_and_close(request, own_status, unreadable_text(request, own_status));
    request->close = true;
    return finish_unasked(request);
}

enum MHD_Result http_answer_unreadable(struct http_connection *peer,
                                       struct MHD_Connection *connection, int status)
{
    struct request *request = peer->request;
    enum MHD_Result taken;

    if (request)
        return answer_unreadable(request, status);
    /* It did not get as far as target_seen(), and completed() will not be called. */
    request = request_new(peer->http, "");
    request->connection = connection;
    request->peer = peer;
    taken = answer_unreadable(request, status);
    request_free(request);
    return taken;
}

/* ---- The library's callbacks ---- */

static void *target_seen(void *arg, const char *target, struct MHD_Connection *from)
{
    struct http *http = arg;
    struct request *request = request_new(http, target);

    request->connection = from;
    request->peer = connection_of(from);
    request->peer->request = request;
    lock_acquire(&http->lock);
    http->requests++;
    /* The first request's deadline runs since the connection was opened. */
    if (request->peer->used)
        set_deadline_locked(http, request->peer, DEADLINE_HEADER);
    request->peer->used = true;
    lock_release(&http->lock);
    return request;
}

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
        return take_head(request);
    case REQUEST_BODY:
    case REQUEST_DISCARD: return count ? take_body(request, data, count) : finish(request);
    case REQUEST_WAITING: return end_waiting(request);
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

    (void)how;
    *state = NULL;
    connection->request = NULL;
    lock_acquire(&http->lock);
    http->requests--;
    if (http->stopping)
        pthread_cond_broadcast(&http->changed);
    set_deadline_locked(http, connection, DEADLINE_IDLE);
    lock_release(&http->lock);
    request_free(request);
}

/* Everything is decoded by uri.c, after it was taken apart. */
static size_t leave_encoded(void *arg, struct MHD_Connection *from, char *text)
{
    (void)arg;
    (void)from;
    return strlen(text);
}

/* The library's own way to stop accepting, MHD_quiesce_daemon(), is a race: it and a worker that
 * wakes at that moment both take the socket out of the worker's epoll, and the second one ends the
 * process. Neither is there any need: what comes late is turned away here. */
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
static void library_says(void *arg, const char *format, va_list arguments)
{
    char text[512];

    (void)arg;
    (void)vsnprintf(text, sizeof(text), format, arguments);
    log_debug("libmicrohttpd: %.*s", (int)strcspn(text, "\n"), text);
}

/* ---- Start and end ---- */

static struct MHD_Daemon *start_daemon(struct http *http)
{
    const struct config *config = http->options.config;
    unsigned workers = config->http_workers;
    /* The library splits its limit evenly among its workers but not the connections, and above it
     * hangs clients instead of answering: so it is out of the way, and we count. */
    unsigned limit = (config->max_connections + REFUSED_ROOM) * workers;
    struct MHD_OptionItem options[] = {
        {MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)library_says, NULL},
        {MHD_OPTION_LISTEN_SOCKET, http->options.listen_fd, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)CONNECTION_MEMORY, NULL},
        {MHD_OPTION_CONNECTION_LIMIT, (intptr_t)limit, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)(config->keep_alive + 1), NULL},
        {MHD_OPTION_THREAD_STACK_SIZE, (intptr_t)STACK_SIZE, NULL},
        {MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)leave_encoded, NULL},
        {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)target_seen, http},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)completed, http},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)connection_notice, http},
#if MHD_VERSION >= 0x00097701
        {MHD_OPTION_CLIENT_DISCIPLINE_LVL, 2, NULL},
#endif
        {workers > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, (intptr_t)workers, NULL},
        {MHD_OPTION_END, 0, NULL},
    };

    return MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
                                MHD_ALLOW_UPGRADE | MHD_USE_ERROR_LOG,
                            0, may_connect, http, handle, http, MHD_OPTION_ARRAY, options,
                            MHD_OPTION_END);
}

static struct http *http_new(const struct http_options *options)
{
    const struct config *config = options->config;
    struct http *http = mem_new(struct http);

    http->options = *options;
    http->ping_interval = config->sse_ping_interval;
    http->stall_timeout = config->stream_stall_timeout;
    http->stream_buffer = config->stream_buffer;
    http->websocket_memory.limit = config->websocket_memory;
    http->deadlines.patience_ns[DEADLINE_IDLE] = clock_ns_from_seconds(config->keep_alive);
    http->deadlines.patience_ns[DEADLINE_HEADER] =
        clock_ns_from_seconds(config->header_timeout);
    http->deadlines.patience_ns[DEADLINE_BODY] = clock_ns_from_seconds(config->body_timeout);
    http->answers = mem_zeroed(options->route_count + 1, sizeof(*http->answers));
    lock_init(&http->lock, LOCK_HTTP);
    lock_cond_init(&http->changed);
    return http;
}

enum err_code http_start(const struct http_options *options, struct http **ret_http,
                         struct err *err)
{
    struct http *http = http_new(options);

    *ret_http = http; /* before the first request: an endpoint may look for it */
    /* The clock first: its thread's start is what can fail without consequences. */
    if (pthread_create(&http->clock, NULL, run_clock, http) == 0)
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

/* Nothing may be suspended when the library stops: it would abort; and an upgraded socket would be
 * closed under us. New ones are refused from here on, those there are are cut, and their loops
 * give them back. */
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

/* The library has forgotten every request; the loops still have to hear of it. */
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

void http_stats(struct http *http, struct http_stats *ret_stats)
{
    lock_acquire(&http->lock);
    ret_stats->connections = http->connections;
    ret_stats->suspended = http->suspended;
    ret_stats->websockets = http->websocket_count;
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
