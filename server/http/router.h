#ifndef RUNNEL_SERVER_HTTP_ROUTER_H
#define RUNNEL_SERVER_HTTP_ROUTER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "server/http/parse/uri.h"
#include "server/http/routes.h"

/*
 * router.h -- from a method and a path to a row of the table.
 *
 * The first row that matches wins, so a literal path stands above one with a parameter. HEAD is
 * answered by the row for GET.
 */

#define ROUTE_PARAM_LIMIT 4

struct route_param {
    const char *name; /* inside the template, `name_length` long */
    size_t name_length;
    const char *value;
};

struct route_match {
    const struct route *route;
    size_t param_count;
    struct route_param params[ROUTE_PARAM_LIMIT];
};

enum route_outcome {
    ROUTE_FOUND,
    ROUTE_NO_PATH,   /* no such path */
    ROUTE_NO_METHOD, /* the path exists, but not with this method */
};

struct route_table {
    const struct route *rows;
    size_t count;
};

/* The values point into the uri. */
enum route_outcome router_find(const struct route_table *table, const char *method,
                               struct uri *uri, struct route_match *ret_match);

/* The methods that path allows, as the Allow header lists them. */
void router_allowed(const struct route_table *table, struct uri *uri, struct buf *ret_methods);

/* Whether OpenAI's API has the operation, and this server does not. `outcome` is what router_find() has
 * returned: if the path has other methods here, only rows with a method count. */
bool router_is_absent(const struct absent_route *rows, size_t count, enum route_outcome outcome,
                      const char *method, struct uri *uri);

/* "" if the template has no such parameter. */
const char *route_match_param(const struct route_match *match, const char *name);

#endif
