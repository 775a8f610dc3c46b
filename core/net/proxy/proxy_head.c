/*
 * proxy_head.c -- a strict reader of one head.
 *
 * Headers are passed on as they are, but for those that belong to one connection, and Host, which is written from the
 * target. The names that `Connection` lists are not removed: a list of the client's choice could remove what the server
 * behind needs in order to read the request as this reader has.
 *
 * One request is served on a connection. So its second request cannot be another host's.
 */

#include "core/net/proxy/proxy_head.h"

#include <string.h>
#include <strings.h>

#include "core/base/compiler.h"

#define METHOD_LIMIT 20
#define LINES_LIMIT  100

/* A piece of the head, which is not NUL-terminated. */
struct piece {
    const char *at;
    size_t length;
};
