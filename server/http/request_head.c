/*
 * request_head.c -- the head of a request: is it clean, whose is it, which endpoint does it
 * want, and how large is its body?
 *
 * request_take_head() makes the checks in this order, and stops at the first failure:
 *
 *   connection   too many of them                          503, 429; before any work is done
 *   bytes        framing.c has read the same head          400
 *   head         hygiene.c: every reader reads it alike    400 ... 505
 *   host         without keys: a name of this machine      403
 *   origin       without keys: no page of a stranger       403
 *   route        path and method                           404, 405
 *   key          a query in the store, if there is a key   401, 503
 *   draining     nothing new begins                        503
 *   body         its encoding and its announced size       415, 413; a streamed one: its endpoint's
 *
 * The cheap checks that protect the server come first. The key comes after the route, so that a wrong
 * path costs no query and public routes need no key.
 *
 * A failure is noted and usually answered when the body has been read (request_failure.c). Two kinds
 * are answered at once: a head that cannot be trusted, and a client that waits for permission to send
 * its body (Expect: 100-continue).
 */

#include <assert.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/net/own_address.h"
#include "server/complaint.h"
#include "server/http/cors.h"
#include "server/http/http_internal.h"

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

/* The library has come to the end of this head, so framing.c must have come to one as well. */
static bool check_bytes(struct request *request)
{
    const struct framing *framing = &request->peer->framing;

    if (framing->heads >= request->peer->requests)
        return true;
    request_refuse(request, 400,
                   framing->fault ? framing->fault : "The headers are not well-formed.");
    return false;
}

static bool check_head(struct request *request)
{
    struct header_list list = {.count = 0};
    struct hygiene_head head = {
        .method = request->method,
        .target = request->address->target,
        .version = request->version,
        .headers = list.headers,
        .size_limit = request->http->options.config->max_header,
    };

    (void)MHD_get_connection_values_n(request->connection, MHD_HEADER_KIND, add_to_list, &list);
    head.header_count = list.count;
    request->head = hygiene_check(&head);
    if (request->head.status)
        request_refuse(request, request->head.status, request->head.text);
    return !request->head.status;
}

static bool check_connection(struct request *request)
{
    if (request->peer->refusal == 503)
        request_refuse(request, 503,
                       "The server has too many connections. Please retry later.");
    else if (request->peer->refusal == 429)
        request_refuse(request, 429, "Your address has too many connections.");
    return !request->peer->refusal;
}

/* Without keys, a web page could reach this server by a name of its own that leads to this
 * machine. Its requests carry that name. */
static bool check_host(struct request *request)
{
    const char *host = request_header(request, "host");

    if (!request->http->options.config->no_auth || !host || own_address_is_local_name(host))
        return true;
    request_refuse(
        request, 403,
        "Without keys, requests must be made to localhost or to a loopback address.");
    return false;
}

/* GET changes nothing and sends nothing to a model. */
static bool only_reads(const char *method)
{
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 ||
           strcmp(method, "OPTIONS") == 0;
}

/* Without keys, a page needs no key either, and a body without a type is sent without a
 * preflight. */
static bool check_origin(struct request *request)
{
    const struct config *config = request->http->options.config;

    if (!config->no_auth || only_reads(request->method) ||
        cors_may_act(request, config->cors_origins, config->no_auth))
        return true;
    request_refuse(request, 403,
                   "Without keys, pages must come from an origin in cors_origins.");
    return false;
}

static struct route_table table_of(const struct http *http)
{
    return (struct route_table){http->options.routes, http->options.route_count};
}

static void no_method(struct request *request)
{
    struct route_table table = table_of(request->http);
    AUTO_BUF methods = {0};
    struct err err;

    router_allowed(&table, &request->address->uri, &methods);
    request_set_header(request, "Allow", methods.data);
    err_set_api(&err, ERR_METHOD, "method_not_supported", NULL,
                "Not allowed to %s on %.200s. (HINT: Perhaps you meant to use a different HTTP "
                "method?)",
                request->method, request->address->target);
    request_failed(request, 0, &err);
}

/* Refuses a request that no route serves. */
static void not_served(struct request *request, enum route_outcome outcome)
{
    const struct http_options *options = &request->http->options;
    const char *target = request->address->target;
    int length = (int)strcspn(target, "?");
    struct err err;

    if (router_is_absent(options->absent, options->absent_count, outcome, request->method,
                         &request->address->uri)) {
        err_set(&err, ERR_NOT_FOUND, "This server does not offer %s %.*s.", request->method,
                length, target);
    } else if (outcome == ROUTE_NO_METHOD) {
        no_method(request);
        return;
    } else {
        err_set(&err, ERR_NOT_FOUND, "Invalid URL (%s %.*s)", request->method, length, target);
    }
    request_failed(request, 0, &err);
}

static bool find_route(struct request *request)
{
    struct route_table table = table_of(request->http);
    enum route_outcome outcome;
    struct err err = {0};

    if (uri_parse(request->address->target, &request->address->uri, &err)) {
        request_failed(request, err.code == ERR_TOO_LARGE ? 414 : 0, &err);
        request->close = true;
        return false;
    }
    outcome =
        router_find(&table, request->method, &request->address->uri, &request->address->match);
    if (outcome != ROUTE_FOUND)
        not_served(request, outcome);
    return outcome == ROUTE_FOUND;
}

static bool authenticate(struct request *request)
{
    const struct http_options *options = &request->http->options;
    struct err err = {0};

    if (request->address->match.route->flags & ROUTE_PUBLIC)
        return true;
    if (!options->authenticate(options->server, request_authorization(request),
                               &request->tenant, &err))
        return true;
    if (err.code == ERR_UNAUTHORIZED)
        request_set_header(request, "WWW-Authenticate", "Bearer");
    request_failed(request, 0, &err);
    return false;
}

/* While the server stops it still answers reads, but begins nothing. */
static bool check_draining(struct request *request)
{
    struct err err;

    if (!atomic_load(&request->http->draining) || strcmp(request->method, "POST") != 0)
        return true;
    err_set(&err, ERR_UPSTREAM, "The server is shutting down. Please retry your request.");
    request_failed(request, 503, &err);
    return false;
}

bool request_wants_body(const struct request *request)
{
    return strcmp(request->method, "POST") == 0;
}

static bool is_streamed(const struct request *request)
{
    unsigned flags = request->address->match.route->flags;

    return request_wants_body(request) && (flags & ROUTE_STREAMED) &&
           (!(flags & ROUTE_FORM) || request_has_form(request));
}

static bool fits(struct request *request, uint64_t limit)
{
    if (request->head.length <= limit)
        return true;
    request_body_too_large(request, limit);
    return false;
}

/* The endpoint says who takes the body. It may know already that it does not want it. */
static bool open_stream(struct request *request)
{
    struct err err = {0};

    err.code = request->address->match.route->endpoint(request, &err);
    assert(!request->stream && !request->wait && !request->websocket);
    if (!err.code) {
        assert(request->status || request->taker.take);
        return request->status || fits(request, request->taker.limit);
    }
    request_failed(request, request->failure_status, &err);
    return false;
}

static bool check_body(struct request *request)
{
    AUTO_FREE char *encoding = request_header_list(request, "content-encoding");
    struct err err;

    if (encoding && strcasecmp(encoding, "identity") != 0) {
        err_set(&err, ERR_INVALID, "Content-Encoding '%.40s' is not supported.", encoding);
        request_failed(request, 415, &err);
        return false;
    }
    return is_streamed(request) ? open_stream(request)
                                : fits(request, request->http->options.config->max_body);
}

/* OPTIONS needs no key and no endpoint. */
static void answer_options(struct request *request)
{
    struct route_table table = table_of(request->http);
    AUTO_BUF methods = {0};
    struct err err = {0};

    if (uri_parse(request->address->target, &request->address->uri, &err)) {
        request_failed(request, err.code == ERR_TOO_LARGE ? 414 : 0, &err);
        request->close = true;
        return;
    }
    router_allowed(&table, &request->address->uri, &methods);
    if (!methods.length) {
        not_served(request, ROUTE_NO_PATH);
        return;
    }
    request_set_header(request, "Allow", methods.data);
    if (request_header(request, "access-control-request-method")) {
        AUTO_FREE char *headers =
            request_header_list(request, "access-control-request-headers");

        cors_preflight(request, request->http->options.config->cors_origins,
                       request_header(request, "origin"), headers, methods.data);
    }
    request_answer_bytes(request, MHD_HTTP_NO_CONTENT, NULL, mem_strdup(""), 0);
}

/* The body of such a head would not be read, its length could not be trusted, or its client
 * waits for permission to send it. */
static bool must_answer_at_once(const struct request *request)
{
    return request->failure &&
           (request->at_once || (request->head.has_body && request_header(request, "expect")));
}

enum MHD_Result request_take_head(struct request *request)
{
    bool fine = check_connection(request) && check_bytes(request) && check_head(request) &&
                check_host(request) && check_origin(request);

    if (fine && strcmp(request->method, "OPTIONS") == 0)
        answer_options(request);
    else if (fine)
        fine = find_route(request) && authenticate(request) && check_draining(request) &&
               check_body(request);
    if (request->head.has_body)
        connection_set_deadline(request->http, request->peer, DEADLINE_BODY);
    else
        connection_set_deadline(request->http, request->peer, DEADLINE_NONE);
    if (must_answer_at_once(request)) {
        request->close = true;
        return request_answer_failure(request);
    }
    if (request->failure && request->head.length > REQUEST_DISCARD_LIMIT)
        return request_answer_failure_early(request);
    request->phase = request->failure || request->status || !request_wants_body(request)
                         ? REQUEST_DISCARD
                         : REQUEST_BODY;
    return MHD_YES;
}
