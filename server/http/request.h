#ifndef RUNNEL_SERVER_HTTP_REQUEST_H
#define RUNNEL_SERVER_HTTP_REQUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/event/sink.h"
#include "core/net/loop.h"

/*
 * request.h -- what an endpoint may ask of a request, and the ways it can answer.
 *
 * An endpoint decodes, makes one call into core/, encodes. It runs on an HTTP worker. It may
 * block on the store for a moment and on nothing else. Long waits go through request_stream()
 * or request_wait(), which suspend the connection.
 *
 * When an endpoint is called, the request has been authenticated, its body was read within its
 * limit and parsed (but see struct body_taker), and its path parameters are decoded. It answers exactly once:
 *
 *   - by returning an error: OpenAI's envelope is made from it;
 *   - by request_answer(), and returning ERR_OK;
 *   - by handing a sink from request_stream() or request_wait() to the engine, and returning
 *     ERR_OK;
 *   - by request_upgrade(), and returning ERR_OK.
 *
 * The last three may be called only after everything that can fail has succeeded.
 *
 * Everything borrowed from a request lives until the endpoint returns.
 */

struct request;
struct server;
struct tenant;
struct websocket_ops;
struct workers;

typedef enum err_code endpoint_fn(struct request *request, struct err *err);

struct server *request_server(const struct request *request);

/* The tenant whose key was used, as of the look-up of the key. Borrowed; without a user. */
const struct tenant *request_tenant(const struct request *request);

/* req_...; also the x-request-id header of the answer. */
const char *request_id(const struct request *request);

/* From the request line: "POST", and "/v1/threads?x=y" as it came. */
const char *request_method(const struct request *request);
const char *request_target(const struct request *request);

/* The path of its route: "/v1/threads/{thread}". */
const char *request_path(const struct request *request);

/* A parameter of the path, such as "thread" in /v1/threads/{thread}. Never NULL. */
const char *request_param(const struct request *request, const char *name);

/* The name of query parameter number n, decoded; NULL behind the last. */
const char *request_query_name(const struct request *request, size_t n);

/* A query parameter, decoded; NULL if missing. */
const char *request_query(const struct request *request, const char *name);

/* Each value of `name`, `name[]` or a repeated `name`, one after another, then NULL. *at starts
 * as 0. */
const char *request_query_next(const struct request *request, const char *name, size_t *at);

/* True if the query has `name`, `name[]` or a repeated `name` with this value. */
bool request_query_has(const struct request *request, const char *name, const char *value);

/* A header; NULL if missing. */
const char *request_header(const struct request *request, const char *name);

/* A header that is a list and may come on several lines: all values, with commas between; NULL
 * if missing. The caller frees. */
char *request_header_list(const struct request *request, const char *name);

/* "Bearer KEY": the header, or what a WebSocket handshake has instead; NULL if missing. */
const char *request_authorization(struct request *request);

/* The body: an object. Empty if the body is missing and the route allows that. Read only: an
 * endpoint that keeps a part of it takes a reference and does not change it. */
json_t *request_json(const struct request *request);

/* Hands the body over to the caller: for an endpoint that waits and needs it afterwards. */
json_t *request_take_json(struct request *request);

/* Gives such a body back, before the endpoint is called again. Takes it. */
void request_put_json(struct request *request, json_t *json);

/* Whether that has happened: the endpoint is called again. */
bool request_came_back(const struct request *request);

/* Its Content-Type is that of a form. */
bool request_has_form(const struct request *request);

/* The body of a route with ROUTE_FORM, if it is a form; NULL if it is JSON. */
struct form;
const struct form *request_form(const struct request *request);
/* The same, which the caller then owns. */
struct form *request_take_form(struct request *request);

/* The body as it came, for passing it on; of routes with ROUTE_KEEP_BODY or ROUTE_RAW_BODY. */
const char *request_body(const struct request *request, size_t *ret_length);

/*
 * A body that is taken as it arrives, instead of being kept in memory within max_body. For routes with
 * ROUTE_STREAMED, whose endpoint is called when the head has come: authenticated, and before anything of the body
 * was read. It refuses the request by returning an error, answers it, or calls request_take_streamed() and
 * returns ERR_OK. No request_json(), request_form() or request_body() then.
 *
 * All functions run on the HTTP worker of the connection, one after another. take() is called for each piece, of
 * at most some 16 KiB. It may write to a file and should not wait for anything else. With `workers` it may wait: then
 * take() and drop() run on one of those, with pieces of up to REQUEST_PIECE bytes, while the connection is suspended
 * and belongs to `loop`. `request` is NULL then, because the client may leave meanwhile. If take() fails, its error is
 * the answer, which is sent before the end of the body, and the rest of the body is thrown away. end() is called when
 * the body is complete. It is an endpoint, and answers like one. drop() is called exactly once, in any case last:
 * behind end(), when the answer needs the body no longer, or when the client has left, was too slow or sent what is no
 * HTTP. What end() hands on, it must take out of `arg`. Each function but drop() may use request_fail_status().
 *
 * The body may take as long as it keeps coming: REQUEST_STREAM_RATE bytes a second on average, behind the first
 * body_timeout. A client that is slower, or silent for body_timeout, is hung up on.
 */
#define REQUEST_STREAM_RATE ((uint64_t)32 << 10)
#define REQUEST_PIECE       ((size_t)128 << 10)

struct body_taker {
    uint64_t limit; /* bytes; a larger body is refused with 413, by its head if that says so */
    enum err_code (*take)(struct request *request, void *arg, const char *bytes, size_t size,
                          struct err *err);
    enum err_code (*end)(struct request *request, void *arg, struct err *err);
    void (*drop)(void *arg);
    void *arg;
    struct workers *workers; /* NULL: take() is quick. Borrowed beyond drop(), as `loop` */
    struct loop *loop;
};

/* Once a request; `taker` is copied. */
void request_take_streamed(struct request *request, const struct body_taker *taker);

/* The boundary of a request whose Content-Type is multipart/form-data, for multipart_new(); the caller frees.
 * ERR_INVALID: it is of another type (415), or has no boundary. */
enum err_code request_boundary(struct request *request, char **ret_boundary,
                               struct err *err) MUST_CHECK;

/* Adds a header to the answer, of whatever kind. */
void request_set_header(struct request *request, const char *name, const char *value);

/* Answers with JSON; takes the object. */
void request_answer(struct request *request, int status, json_t *object);
/* Answers with bytes of another kind; takes `body` (malloc'd). */
void request_answer_bytes(struct request *request, int status, const char *content_type,
                          char *body, size_t length);

/*
 * An answer whose bytes are read when the client takes them. read() is called on the HTTP worker of the connection, for
 * `size` bytes from byte `at` of the answer, and gives at least one of them. It may block on the store or a disk for a
 * moment. With `workers` it may block for long: read() and drop() run on one of those, while the connection is
 * suspended and belongs to `loop`. If it fails, which is logged, the connection is cut: the client sees that the end is
 * missing. drop() is called exactly once, in any case last.
 *
 * An answer of BODY_SIZE_UNKNOWN ends where read() gives no bytes. It is read from its beginning to its end.
 */
#define BODY_SIZE_UNKNOWN UINT64_MAX

struct body_source {
    uint64_t size;
    enum err_code (*read)(void *arg, uint64_t at, void *ret_bytes, size_t size, size_t *ret_got,
                          struct err *err);
    void (*drop)(void *arg);
    void *arg;
    struct workers *workers; /* or NULL. Borrowed beyond drop(), as `loop` */
    struct loop *loop;
};

/* `source` is copied. */
void request_answer_from(struct request *request, int status, const char *content_type,
                         const struct body_source *source);

/* Makes the answer a stream of events, written by `loop`. See server/http/stream/sse.h. */
struct sink *request_stream(struct request *request, struct loop *loop);

/* Makes the answer a stream of plain bytes of this type, which is copied. `limit` bytes may wait for a
 * slow client. */
struct sink *request_stream_bytes(struct request *request, struct loop *loop, const char *type,
                                  size_t limit);
/* On the loop: cuts the stream off, so that its client sees that the end is missing. The caller closes
 * the sink. */
void request_break_stream(struct sink *sink);

/* Makes the connection a WebSocket on `loop`; see server/http/websocket/websocket.h. `accept`
 * is the value of Sec-WebSocket-Accept. Takes `owner`. Returns the socket, for the owner. */
struct websocket *request_upgrade(struct request *request, struct loop *loop,
                                  const char *accept, const struct websocket_ops *ops,
                                  void *owner);

/* As it stood on the request line. */
const char *request_http_version(const struct request *request);
bool request_has_body(const struct request *request);

/* Sets a status other than that of the error's code; the caller returns the error as usual. */
void request_fail_status(struct request *request, int status);

/* Keeps the request until the sink's answer() is called on `loop`, and answers with that. If
 * the client leaves meanwhile, sink->gone is called on the loop. */
struct sink *request_wait(struct request *request, struct loop *loop);

/* For an endpoint that knows only later what kind of answer it will give. As request_wait().
 * When the sink is answered with status REQUEST_CONTINUE and no object, `resume` is called on a
 * worker, like an endpoint, and answers in any way, also by waiting again. If that never happens,
 * because the client has left or the request was answered otherwise, `drop` is called instead,
 * on any thread. */
#define REQUEST_CONTINUE 100

struct request_later {
    enum err_code (*resume)(struct request *request, void *arg, struct err *err);
    void (*drop)(void *arg);
    void *arg;
};
struct sink *request_wait_then(struct request *request, struct loop *loop,
                               const struct request_later *later);

#endif
