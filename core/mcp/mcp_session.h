#ifndef RUNNEL_CORE_MCP_MCP_SESSION_H
#define RUNNEL_CORE_MCP_MCP_SESSION_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/mcp/mcp_exchange.h"
#include "core/net/egress.h"
#include "core/net/loop.h"

/*
 * mcp_session.h -- a client of one remote MCP server, over streamable HTTP.
 *
 * It lives on a loop and holds no thread, no matter how slow the server is. A question is a request of the
 * protocol with its answer. The session is opened for the first question; what the server speaks is found
 * out then, unless it is known from another session (mcp_known.h). If the server has forgotten the
 * session, it has not executed the question; then the session is opened again, once for each question. A
 * call that may have been executed is never sent again, unless the server asks for that (2026-07-28,
 * "input_required"), at most MCP_ROUND_LIMIT times.
 *
 * Everything here is called on the loop's thread, and so are the callbacks. Inside them questions may
 * be put and cancelled, and the session may be closed.
 */

#define MCP_ROUND_LIMIT 16

struct mcp_session;
struct mcp_question;
struct mcp_extra;
struct mcp_named;
struct mcp_processes;
struct tenant;

struct mcp_session_options {
    struct loop *loop;
    const char *url;                   /* copied */
    const char *authorization;         /* a token, copied; NULL for none */
    const json_t *headers;             /* names and values, copied; NULL for none */
    const struct egress_rules *egress; /* outlives the session */
    /* Of a server that is a process (mcp_process.h): all of these; then the four above have no meaning. NULL: HTTP */
    struct mcp_processes *processes;
    const struct mcp_named *named;
    const struct tenant *tenant; /* outlives the session */
    uint64_t connect_ns;         /* limit for connecting */
    uint64_t discover_ns;        /* limit for an unknown server to say what it speaks */
    uint64_t list_ns;            /* limit for a whole list */
    uint64_t call_ns;            /* limit for a call; 0: none */
};

struct mcp_session *mcp_session_new(const struct mcp_session_options *options);

/* Cancels all questions, notifies the server, and frees. NULL is fine. */
void mcp_session_close(struct mcp_session *session);

/* `answer->result` is borrowed. Called once, unless the question was cancelled; the question is freed
 * by then. */
typedef void mcp_answered(void *arg, const struct mcp_answer *answer);

/* Lists all tools of the server. The result is {"tools": [...]}, as mcp_tools.h makes them, and the
 * server's "capabilities". */
struct mcp_question *mcp_session_list(struct mcp_session *session, mcp_answered *answered,
                                      void *arg);

/* Progress of a call: {"progress", "total", "message"} as the server sends it, borrowed. */
typedef void mcp_progressed(void *arg, const json_t *params);
/* Calls a tool or, with `extra`, reads a resource or prompt (mcp_extra.h). `schema` is the tool's, for the
 * headers that it asks for; NULL: none. `arguments` is an object, copied. The result has the form of tools/call either
 * way. `progressed` may be NULL. */
struct mcp_question *mcp_session_call(struct mcp_session *session, const char *tool,
                                      const struct mcp_extra *extra, const json_t *schema,
                                      const json_t *arguments, mcp_progressed *progressed,
                                      mcp_answered *answered, void *arg);

/* True when the server has reported, beside an answer, that its list of tools has changed. Always false
 * over the older transport, where servers send that report at the beginning of every session. */
bool mcp_session_list_changed(const struct mcp_session *session);

/* Cancels the question and notifies the server. No callback follows. NULL is fine. */
void mcp_question_cancel(struct mcp_question *question);

/* True for a header that a client may set: a valid name, and none that this client or the connection
 * sets. */
bool mcp_header_name_is_free(const char *name);

#endif
