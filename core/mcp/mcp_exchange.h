#ifndef RUNNEL_CORE_MCP_MCP_EXCHANGE_H
#define RUNNEL_CORE_MCP_MCP_EXCHANGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/net/http_client.h"

/*
 * mcp_exchange.h -- one request to an MCP server and its answer: a POST, answered with JSON or with
 * a stream of events that has the answer in it. A stream that is cut is asked for where it was,
 * with a GET, when its events have ids: the request itself is not sent again.
 *
 * Everything here is called on the loop's thread, and so are the callbacks.
 */

#define MCP_ANSWER_LIMIT \
    ((size_t)4 << 20)                   /* bytes of one answer, with all that comes beside it */
#define MCP_SESSION_LIMIT ((size_t)256) /* bytes of a session's id */
#define MCP_RESUME_LIMIT  16            /* times that a cut stream is gone on with */
#define MCP_ASKED_LIMIT   64            /* requests of the server within one answer */

/* Whose fault it is that there is no result. */
enum mcp_fault {
    MCP_FAULT_NONE,
    MCP_FAULT_HTTP,     /* `code` is the status, or 0 when there was none */
    MCP_FAULT_PROTOCOL, /* it was no MCP, or the server answered with an error: `code` */
    MCP_FAULT_SESSION,  /* the server does not know our session: nothing was done */
    MCP_FAULT_TOOL,     /* for those above: the tool itself has failed */
};

struct mcp_answer {
    enum mcp_fault fault;
    int code;
    json_t *result;      /* borrowed; NULL with a fault */
    const char *session; /* that the server has opened with this answer, or NULL; borrowed */
    const char *text; /* what is wrong, a sentence without its subject; NULL without a fault */
};

struct mcp_ask {
    struct loop *loop;
    const char *url;
    const char *const *headers;
    const struct egress_rules *egress;
    uint64_t connect_ns;
    json_int_t id;
    char *text;        /* taken */
    bool once;         /* never sent again, whatever happens */
    bool with_session; /* a session's id is among the headers */
    bool elsewhere;    /* the answer comes by mcp_exchange_offer(), the POST is only accepted */

    /* The server asks for something; borrowed. */
    void (*on_request)(void *arg, const json_t *message);
    /* It says how far it has come: the parameters, borrowed. NULL where nobody wants to know. */
    void (*on_progress)(void *arg, const json_t *params);
    /* Its list of tools is another now. NULL where nobody wants to know. */
    void (*on_list_changed)(void *arg);
    /* Last, once unless cancelled. The exchange is gone when this is called. */
    void (*on_done)(void *arg, const struct mcp_answer *answer);
    void *arg;
};

struct mcp_exchange;

/* No callback comes before this has returned. */
struct mcp_exchange *mcp_exchange_start(const struct mcp_ask *ask);
void mcp_exchange_cancel(struct mcp_exchange *exchange);

/* What came over another stream. False when it is neither an answer to this nor of its progress. */
bool mcp_exchange_offer(struct mcp_exchange *exchange, json_t *message);
/* No answer will come any more. */
void mcp_exchange_fail(struct mcp_exchange *exchange, const struct mcp_answer *why);

#endif
