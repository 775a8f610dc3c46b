#ifndef RUNNEL_CORE_MCP_MCP_EXCHANGE_H
#define RUNNEL_CORE_MCP_MCP_EXCHANGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/net/http_client.h"

/*
 * mcp_exchange.h -- one request to an MCP server and its answer: a POST, answered with JSON or with
 * a stream of events that contains the answer. A stream that breaks off is resumed with a GET after its
 * last event, if its events have ids and the version has that. The request itself is not sent again.
 *
 * Everything here is called on the loop's thread, and so are the callbacks.
 */

#define MCP_ANSWER_LIMIT  ((size_t)4 << 20) /* bytes of one answer, other messages included */
#define MCP_SESSION_LIMIT ((size_t)256)     /* bytes of a session's id */
#define MCP_RESUME_LIMIT  16                /* resumptions of a broken stream */
#define MCP_ASKED_LIMIT   64                /* requests of the server within one answer */

/* Why a question has no result. */
enum mcp_fault {
    MCP_FAULT_NONE,
    MCP_FAULT_HTTP,     /* `code` is the status, or 0 if no answer came */
    MCP_FAULT_PROTOCOL, /* not MCP, or an error of the server, whose code is `code` */
    MCP_FAULT_SESSION,  /* the server does not know the session: nothing was done */
    MCP_FAULT_VERSION,  /* it does not speak the version of the request: nothing was done */
    MCP_FAULT_TOOL,     /* the tool itself has failed; set only by callers of this layer */
};

struct mcp_answer {
    enum mcp_fault fault;
    int code;
    json_t *result;      /* borrowed; NULL with a fault */
    const json_t *error; /* of the server, if the fault is one; borrowed, or NULL */
    const char *session; /* opened by the server with this answer, or NULL; borrowed */
    const char *text;    /* the fault, a sentence without its subject; NULL without a fault */
};

/* The server has no such request: 400, 404 or 405. It speaks another version, or has no such place. */
bool mcp_is_refusal(const struct mcp_answer *answer);

struct mcp_link;

struct mcp_ask {
    struct loop *loop;
    struct mcp_link
        *link; /* sent there (mcp_process.h), and not over HTTP; or NULL. With `elsewhere` */
    const char *url;
    const char *const *headers;
    const struct egress_rules *egress;
    uint64_t connect_ns;
    json_int_t id;
    char *text;        /* taken */
    bool once;         /* sent over a new connection, so that libcurl cannot repeat it */
    bool with_session; /* a session's id is among the headers */
    bool elsewhere;    /* the older transport: the answer comes through mcp_exchange_offer() */
    bool
        stateless; /* 2026-07-28: errors have bodies; nothing is resumed, nothing else answered */

    /* A request of the server; borrowed. Not called for a stateless server, which has none. */
    void (*on_request)(void *arg, const json_t *message);
    /* A progress notification: its parameters, borrowed. May be NULL. */
    void (*on_progress)(void *arg, const json_t *params);
    /* The server's list of tools has changed. May be NULL. */
    void (*on_list_changed)(void *arg);
    /* Called last, once unless cancelled. The exchange is freed by then. */
    void (*on_done)(void *arg, const struct mcp_answer *answer);
    void *arg;
};

struct mcp_exchange;

/* Starts the request. No callback comes before this has returned. */
struct mcp_exchange *mcp_exchange_start(const struct mcp_ask *ask);
/* No callback follows. NULL is fine. */
void mcp_exchange_cancel(struct mcp_exchange *exchange);

/* A message that came over another stream. False when it is neither the answer nor progress of this
 * exchange. */
bool mcp_exchange_offer(struct mcp_exchange *exchange, json_t *message);
/* Ends the exchange with a fault, because no answer will come. */
void mcp_exchange_fail(struct mcp_exchange *exchange, const struct mcp_answer *why);

#endif
