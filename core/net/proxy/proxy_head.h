#ifndef RUNNEL_CORE_NET_PROXY_PROXY_HEAD_H
#define RUNNEL_CORE_NET_PROXY_PROXY_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/net/proxy/domain.h"

/*
 * proxy_head.h -- the head of a request to the proxy of a box: where it wants to go, and what is sent there.
 *
 *   CONNECT files.example.org:443 HTTP/1.1          a tunnel
 *   GET http://files.example.org/a.csv HTTP/1.1     one request: the head is written anew, its body follows
 *
 * The bytes come from hostile code. A head has one meaning or is refused: lines end in CRLF, nothing is folded, lengths
 * are said once and in digits, bodies are not chunked, and Host is the target's. So the server behind cannot read two
 * requests where this proxy has read one.
 *
 * Pure functions: any thread.
 */

#define PROXY_HEAD_LIMIT ((size_t)16 << 10) /* bytes, with the blank line */

enum proxy_head_state {
    PROXY_HEAD_PARTIAL, /* more bytes are needed */
    PROXY_HEAD_READY,
    PROXY_HEAD_BAD, /* `status` and `why` answer it */
};

/* Starts as zeros. */
struct proxy_head {
    size_t scanned; /* bytes that were looked at for the end of the head */

    size_t size;                 /* of the head */
    bool tunnel;                 /* CONNECT */
    char host[DOMAIN_LIMIT + 1]; /* as it was written: a name, or an address */
    unsigned port;
    uint64_t body;      /* bytes behind the head; 0 for a tunnel */
    struct buf forward; /* the head for the server; empty for a tunnel */

    int status;
    const char *why; /* a sentence. A constant */
};

/* Reads the head from the first `size` bytes; the same bytes, and more, come with each call until it is not partial. */
enum proxy_head_state proxy_head_read(struct proxy_head *head, const char *bytes, size_t size);

void proxy_head_clear(struct proxy_head *head);

#endif
