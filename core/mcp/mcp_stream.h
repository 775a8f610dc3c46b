#ifndef RUNNEL_CORE_MCP_MCP_STREAM_H
#define RUNNEL_CORE_MCP_MCP_STREAM_H

#include <jansson.h>

#include "core/mcp/mcp_exchange.h"

/*
 * mcp_stream.h -- the stream of the older transport (2024-11-05): one stream of events with all
 * answers of a server. Its first event names the URL for requests. That URL must be of the same
 * origin, because the session's secrets are sent there.
 *
 * Everything here is called on the loop's thread, and so are the callbacks. The stream may be
 * cancelled inside them.
 */

#define MCP_STREAM_LIMIT ((size_t)64 << 20) /* bytes in all */

struct mcp_stream_options {
    struct loop *loop;
    const char *url; /* copied */
    const char *const *headers;
    const struct egress_rules *egress;
    uint64_t connect_ns;

    /* Called first, and once. */
    void (*on_endpoint)(void *arg, const char *url);
    /* Borrowed. Requests of the server are among them. */
    void (*on_message)(void *arg, json_t *message);
    /* Called last, once unless cancelled; the stream is freed by then. */
    void (*on_end)(void *arg, const struct mcp_answer *why);
    void *arg;
};

struct mcp_stream;

/* No callback comes before this has returned. */
struct mcp_stream *mcp_stream_start(const struct mcp_stream_options *options);
void mcp_stream_cancel(struct mcp_stream *stream); /* NULL is fine */

#endif
