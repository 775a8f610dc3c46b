/*
 * A request as its endpoint sees it, and its answer on the way out.
 *
 * The struct is made with the request line and freed when the library has finished the request. In
 * between it has exactly one of four kinds of answer: bytes, a stream, a wait, an upgrade. The asserts
 * in request_answer_bytes() and its neighbours hold that, and request_send() knows how each is given
 * to the library.
 *
 * A request may live for hours, as the handle of a stream or a WebSocket. So each part is released as
 * soon as it is not needed: the text of the body after parsing, the JSON with the answer, target and
 * headers when the answer is on its way. What stays of a stream is a small struct.
 *
 * It belongs to the worker of its connection. While the connection is suspended, only the sink may be
 * used, on its loop (suspended.h); the request itself is left alone until it is back.
 */

#include "server/http/request.h"

#include <assert.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "server/complaint.h"
#include "server/http/cors.h"
#include "server/http/envelope.h"
#include "server/http/http_internal.h"
#include "server/http/mhd_overrides.h"
#include "server/http/parse/form.h"
#include "server/http/parse/form_boundary.h"
#include "server/http/parse/json_nul.h"
#include "server/http/parse/multipart.h"
#include "server/http/stream/sse.h"
#include "server/http/stream/wait.h"
#include "server/http/websocket/handshake.h"
#include "server/http/websocket/websocket.h"

#define API_VERSION "2020-10-01" /* the header openai-version, as OpenAI's servers send it */
#define RETRY_AFTER "1"          /* seconds; for answers that another try may change */

struct request *request_new(struct http *http, const char *target)
{
    struct request *request = mem_new(struct request);

    request->http = http;
    request->begun_ns = clock_mono_ns();
    request->address = mem_new(struct request_address);
    request->address->target = mem_strdup(target);
    id_make(request->id, "req_");
    return request;
}

void request_free(struct request *request)
{
    if (!request)
        return;
    if (request->later.drop)
        request->later.drop(request->later.arg);
    if (request->wait)
        wait_forgotten(request->wait);
    websocket_free_unopened(request->websocket);
    request_drop_body(request);
    request_drop_head(request);
    free(request->failure);
    free(request->answer);
    free(request->authorization);
    free(request);
}

/* ---- What an endpoint may ask ---- */

struct server *request_server(const struct request *request)
{
    return request->http->options.server;
}

const struct tenant *request_tenant(const struct request *request)
{
    return &request->tenant;
}

const char *request_id(const struct request *request)
{
    return request->id;
}

const char *request_method(const struct request *request)
{
    return request->method;
}

const char *request_target(const struct request *request)
{
    return request->address->target;
}

const char *request_param(const struct request *request, const char *name)
{
    return route_match_param(&request->address->match, name);
}

const char *request_query_name(const struct request *request, size_t n)
{
    return uri_query_name(&request->address->uri, n);
}

const char *request_query(const struct request *request, const char *name)
{
    return uri_query(&request->address->uri, name);
}

const char *request_query_next(const struct request *request, const char *name, size_t *at)
{
    return uri_query_next(&request->address->uri, name, at);
}

bool request_query_has(const struct request *request, const char *name, const char *value)
{
    return uri_query_has(&request->address->uri, name, value);
}

const char *request_header(const struct request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

struct header_lines {
    const char *name;
    struct buf list;
};

static enum MHD_Result add_line(void *arg, enum MHD_ValueKind kind, const char *name,
                                const char *value)
{
    struct header_lines *lines = arg;

    (void)kind;
    if (strcasecmp(name, lines->name) == 0)
        buf_addf(&lines->list, "%s%s", lines->list.data ? ", " : "", value ? value : "");
    return MHD_YES;
}

char *request_header_list(const struct request *request, const char *name)
{
    struct header_lines lines = {.name = name};

    (void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, add_line, &lines);
    return lines.list.data ? buf_take(&lines.list) : NULL;
}

const char *request_authorization(struct request *request)
{
    const char *given = request_header(request, "authorization");
    AUTO_FREE char *upgrade = given ? NULL : request_header_list(request, "upgrade");
    AUTO_FREE char *protocols =
        upgrade ? request_header_list(request, "sec-websocket-protocol") : NULL;
    const struct ws_handshake handshake = {.upgrade = upgrade, .protocols = protocols};

    if (given || !ws_handshake_asked(&handshake))
        return given;
    if (!request->authorization)
        request->authorization = ws_handshake_bearer(&handshake);
    return request->authorization;
}

const char *request_path(const struct request *request)
{
    return request->address->match.route->path;
}

json_t *request_json(const struct request *request)
{
    return request->json;
}

json_t *request_take_json(struct request *request)
{
    return TAKE(request->json);
}

void request_put_json(struct request *request, json_t *json)
{
    assert(!request->json);
    request->json = json;
    request->came_back = true;
}

bool request_came_back(const struct request *request)
{
    return request->came_back;
}

struct form *request_take_form(struct request *request)
{
    return TAKE(request->form);
}

const struct form *request_form(const struct request *request)
{
    return request->form;
}

const char *request_body(const struct request *request, size_t *ret_length)
{
    *ret_length = request->body.length;
    return request->body.data ? request->body.data : "";
}

const char *request_http_version(const struct request *request)
{
    return request->version;
}

bool request_has_body(const struct request *request)
{
    return request->head.has_body;
}

/* ---- The body ---- */

static bool may_be_form(const struct request *request)
{
    return request->address->match.route->flags & ROUTE_FORM;
}

bool request_has_form(const struct request *request)
{
    static const char form[] = "multipart/form-data";
    const char *type = request_header(request, "content-type");

    return type && strcspn(type, "; ") == strlen(form) &&
           strncasecmp(type, form, strlen(form)) == 0;
}

static enum err_code parse_form(struct request *request, struct err *err)
{
    enum err_code rc = form_parse(request_header(request, "content-type"),
                                  request->body.data ? request->body.data : "",
                                  request->body.length, &request->form, err);

    buf_clear(&request->body);
    return rc;
}

/* The Content-Type must be JSON, or missing. `curl -d` sends JSON as a form unless its user sets the
 * header, hence the hint in the message. */
static enum err_code check_type(const struct request *request, struct err *err)
{
    const char *type = request_header(request, "content-type");
    size_t length = type ? strcspn(type, "; ") : 0;

    if (!type || (length == 16 && strncasecmp(type, "application/json", 16) == 0) ||
        (length > 5 && strncasecmp(type + length - 5, "+json", 5) == 0))
        return ERR_OK;
    return err_set(
        err, ERR_INVALID,
        "Invalid Content-Type header (%.100s), expected application/json%s. (HINT: with "
        "curl, pass -H 'Content-Type: application/json')",
        type, may_be_form(request) ? " or multipart/form-data" : "");
}

static enum err_code parse_object(struct request *request, struct err *err)
{
    struct err why = {0};
    enum err_code rc =
        json_parse_strict(request->body.data, request->body.length, &request->json, &why);

    if (rc == ERR_INVALID && json_nul_check(request->body.data, request->body.length, err))
        return rc;
    if (rc == ERR_INVALID)
        return err_set(err, rc,
                       "We could not parse the JSON body of your request. (HINT: This likely "
                       "means you aren't using your HTTP library correctly. A JSON payload is "
                       "expected, but what was sent was not valid JSON. %.200s)",
                       why.text);
    if (rc)
        return err_set(err, rc, "%s", why.text);
    /* Releases the text, so that the body is in memory once while an endpoint works on it. */
    if (!(request->address->match.route->flags & ROUTE_KEEP_BODY))
        buf_clear(&request->body);
    if (!json_is_object(request->json))
        return err_invalid(err, "invalid_type", NULL,
                           "Invalid type for the body: expected an object.");
    return ERR_OK;
}

enum err_code request_parse_body(struct request *request, struct err *err)
{
    enum err_code rc;

    if (!request->body.length && (request->address->match.route->flags & ROUTE_BODY_OPTIONAL)) {
        request->json = json_object();
        return ERR_OK;
    }
    if (may_be_form(request) && request_has_form(request))
        return parse_form(request, err);
    rc = request->body.length ? check_type(request, err) : ERR_OK;
    if (rc) {
        request->failure_status = 415;
        request->close = true;
        return rc;
    }
    /* A missing body is an error of the JSON, with its text. The parser needs at least one byte. */
    if (!request->body.length)
        buf_add_text(&request->body, " ");
    return parse_object(request, err);
}

void request_take_streamed(struct request *request, const struct body_taker *taker)
{
    assert(request->phase == REQUEST_HEAD && !request->taker.take);
    request->taker = *taker;
}

enum err_code request_boundary(struct request *request, char **ret_boundary, struct err *err)
{
    const char *type = request_header(request, "content-type");
    char *boundary;

    if (!request_has_form(request)) {
        request_fail_status(request, 415);
        return err_set(err, ERR_INVALID,
                       "Invalid Content-Type header (%.100s), expected multipart/form-data.",
                       type ? type : "");
    }
    boundary = form_boundary(type);
    if (!boundary)
        return multipart_refuse(err, MULTIPART_EXPECTED);
    *ret_boundary = boundary;
    return ERR_OK;
}

void request_drop_body(struct request *request)
{
    struct body_source source = request->source;

    atomic_fetch_sub(&request->http->body_bytes, request->counted);
    request->counted = 0;
    request_drop_taker(request);
    request->source = (struct body_source){0};
    if (source.drop)
        source.drop(source.arg);
    json_decref(request->json);
    request->json = NULL;
    form_free(TAKE(request->form));
    buf_clear(&request->body);
}

void request_drop_head(struct request *request)
{
    struct request_address *address = TAKE(request->address);

    for (size_t i = 0; i < request->header_count; i++) {
        free(request->headers[i].name);
        free(request->headers[i].value);
    }
    free(TAKE(request->headers));
    request->header_count = 0;
    if (!address)
        return;
    uri_clear(&address->uri);
    free(address->target);
    free(address);
}

/* ---- Answers ---- */

void request_set_header(struct request *request, const char *name, const char *value)
{
    assert(request->header_count < HTTP_HEADER_LIMIT);
    request->headers =
        mem_resize(request->headers, request->header_count + 1, sizeof(*request->headers));
    request->headers[request->header_count++] =
        (struct request_header){mem_strdup(name), mem_strdup(value)};
}

void request_answer_bytes(struct request *request, int status, const char *content_type,
                          char *body, size_t length)
{
    assert(!request->status);
    request->status = status;
    request->content_type = content_type;
    request->answer = body;
    request->answer_length = length;
}

void request_answer_from(struct request *request, int status, const char *content_type,
                         const struct body_source *source)
{
    assert(!request->status);
    request->status = status;
    request->content_type = content_type;
    request->source = *source;
}

void request_answer(struct request *request, int status, json_t *object)
{
    char *text = json_text(object);

    json_decref(object);
    request_answer_bytes(request, status, "application/json", text, strlen(text));
}

struct sink *request_stream(struct request *request, struct loop *loop)
{
    assert(!request->status && !request->stream && !request->wait);
    request->stream = sse_stream_new(request, loop);
    return sse_stream_sink(request->stream);
}

struct sink *request_stream_bytes(struct request *request, struct loop *loop, const char *type,
                                  size_t limit)
{
    struct sink *sink = request_stream(request, loop);

    sse_stream_make_plain(request->stream, type, limit);
    return sink;
}

void request_break_stream(struct sink *sink)
{
    sse_stream_break(sink);
}

struct websocket *request_upgrade(struct request *request, struct loop *loop,
                                  const char *accept, const struct websocket_ops *ops,
                                  void *owner)
{
    assert(!request->status && !request->stream && !request->wait);
    request_set_header(request, "Upgrade", "websocket");
    request_set_header(request, "Sec-WebSocket-Accept", accept);
    request->websocket = websocket_new(request->http, loop, ops, owner);
    return request->websocket;
}

void request_fail_status(struct request *request, int status)
{
    request->failure_status = status;
}

struct sink *request_wait(struct request *request, struct loop *loop)
{
    assert(!request->status && !request->stream && !request->wait);
    request->wait = wait_new(request, loop);
    return wait_sink(request->wait);
}

struct sink *request_wait_then(struct request *request, struct loop *loop,
                               const struct request_later *later)
{
    struct sink *sink = request_wait(request, loop);

    request->later = *later;
    return sink;
}

/* ---- Errors ---- */

void request_fail_with(struct request *request, int status, const struct err *err)
{
    request_answer(request, status,
                   json_build("{s:o}", "error", envelope_error(request->id, err)));
}

void request_fail(struct request *request, const struct err *err)
{
    request_fail_with(request, err_http_status(err->code), err);
}

/* ---- Out ---- */

static void add(struct MHD_Response *response, const char *name, const char *value)
{
    /* The library refuses values with a line end. No value of this server has one. */
    if (MHD_add_response_header(response, name, value) != MHD_YES)
        log_error("cannot answer with the header %s", name);
}

static bool has_header(const struct request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++)
        if (strcasecmp(request->headers[i].name, name) == 0)
            return true;
    return false;
}

/* SDKs retry 409, 429 and 5xx by themselves, unless this header says that a retry cannot help. */
static void add_retry_headers(const struct request *request, struct MHD_Response *response)
{
    int status = request->status;

    if (has_header(request, "retry-after") || has_header(request, "x-should-retry"))
        return;
    if (status == 429 || status == 503)
        add(response, "Retry-After", RETRY_AFTER);
    else if ((status >= 400 && status < 500 && status != 408) || status == 501 || status == 505)
        add(response, "x-should-retry", "false");
}

static bool is_last(const struct request *request)
{
    return request->close || atomic_load(&request->http->draining);
}

static void add_headers(struct request *request, struct MHD_Response *response)
{
    uint64_t took = clock_mono_ns() - request->begun_ns;
    char text[24];

    (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)(took / NS_PER_MS));
    add(response, "x-request-id", request->id);
    add(response, "openai-processing-ms", text);
    add(response, "openai-version", API_VERSION);
    for (size_t i = 0; i < request->header_count; i++)
        add(response, request->headers[i].name, request->headers[i].value);
    add_retry_headers(request, response);
}

/* The bytes are the library's from here on. */
static struct MHD_Response *bytes_response(struct request *request)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        request->answer_length, request->answer, MHD_RESPMEM_MUST_FREE);

    if (!response)
        return NULL;
    request->answer = NULL;
    return response;
}

static struct MHD_Response *stream_response(struct request *request)
{
    struct MHD_Response *response = sse_stream_response(request->stream, is_last(request));

    request->stream = NULL; /* the response's */
    return response;
}

/* The headers are sent, so the socket is this server's. The request is only kept as the
 * library's handle of the connection. */
static void upgraded(void *arg, struct MHD_Connection *connection, void *state,
                     const char *early, size_t early_length, MHD_socket fd,
                     struct MHD_UpgradeResponseHandle *handle)
{
    struct request *request = state;
    struct websocket *websocket = TAKE(request->websocket);

    (void)arg;
    (void)connection;
    websocket_open(websocket, fd, handle, early, early_length);
}

static struct MHD_Response *make_body(struct request *request)
{
    struct MHD_Response *response;

    if (request->stream)
        return stream_response(request);
    if (request->websocket)
        return MHD_create_response_for_upgrade(upgraded, NULL);
    response =
        request->source.read ? request_source_response(request) : bytes_response(request);
    if (response && is_last(request))
        add(response, "Connection", "close");
    if (response && request->content_type)
        add(response, "Content-Type", request->content_type);
    return response;
}

static unsigned status_of(const struct request *request)
{
    if (request->stream)
        return MHD_HTTP_OK;
    return request->websocket ? MHD_HTTP_SWITCHING_PROTOCOLS : (unsigned)request->status;
}

struct MHD_Response *request_make_response(struct request *request)
{
    const char *origin = request_header(request, "origin");
    struct MHD_Response *response;

    cors_answer(request, request->http->options.config->cors_origins, origin);
    response = make_body(request);
    if (response)
        add_headers(request, response);
    return response;
}

bool request_send(struct request *request)
{
    unsigned status = status_of(request);
    struct MHD_Response *response = request_make_response(request);
    bool taken;

    request->phase = REQUEST_ANSWERED;
    if (!response)
        return false;
    request->stays_open = request->head.keep_alive && !request->websocket && !is_last(request);
    taken = mhd_queue_answer(request->connection, status, response) == MHD_YES;
    MHD_destroy_response(response);
    request_drop_body(request);
    request->status = (int)status;
    http_count_answer(request->http, request);
    request_drop_head(request);
    return taken;
}
