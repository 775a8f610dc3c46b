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

static enum proxy_head_state bad(struct proxy_head *head, int status, const char *why)
{
    head->status = status;
    head->why = why;
    return PROXY_HEAD_BAD;
}

static bool equals(struct piece piece, const char *text)
{
    return piece.length == strlen(text) && strncasecmp(piece.at, text, piece.length) == 0;
}

static bool is_token(struct piece piece)
{
    static const char marks[] = "!#$%&'*+-.^_`|~";

    for (size_t i = 0; i < piece.length; i++) {
        char byte = piece.at[i];

        if ((byte < '0' || byte > '9') && (byte < 'A' || byte > 'Z') &&
            (byte < 'a' || byte > 'z') && (!byte || !strchr(marks, byte)))
            return false;
    }
    return piece.length > 0;
}
