#ifndef RUNNEL_SERVER_HTTP_ROUTES_H
#define RUNNEL_SERVER_HTTP_ROUTES_H

#include <stddef.h>

#include "server/http/request.h"

/*
 * routes.h -- THE table: every method and path that is served. tests/lint compares it with
 * openapi.yaml.
 */

enum route_flags {
    ROUTE_PUBLIC = 1 << 0,        /* no key needed */
    ROUTE_BODY_OPTIONAL = 1 << 1, /* an absent body is an empty object */
    ROUTE_RAW_BODY = 1 << 2,      /* the body is not parsed */
    ROUTE_KEEP_BODY = 1 << 3,     /* it is parsed, and also kept as it came */
    ROUTE_FORM = 1 << 4,          /* it may be a form: request_form() */
    /* It is taken as it arrives: struct body_taker. With ROUTE_FORM: only a form is */
    ROUTE_STREAMED = 1 << 5,
};

struct route {
    const char *method;
    const char
        *path; /* "/v1/threads/{thread}/runs"; {x} matches one segment, {x...} the rest */
    endpoint_fn *endpoint;
    const char *operation; /* operationId of openapi.yaml */
    unsigned flags;
};

extern const struct route routes[];
extern const size_t route_count;

/* An operation of OpenAI's API that this server does not offer. */
struct absent_route {
    const char *method; /* NULL: every method, also of all paths below */
    const char *path;   /* as in struct route */
};

extern const struct absent_route absent_routes[];
extern const size_t absent_route_count;

#endif
