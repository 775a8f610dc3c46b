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
 * It lives on a loop and holds no thread, however slow the server is. The session is opened when
 * the first question is asked, and opened again, once for each question, when the server has
 * forgotten it: that answer says that nothing was done. A call that may have been executed is
 * never sent again.
 *
 * Everything here is called on the loop's thread, and so are the callbacks. Questions may be asked
 * and cancelled inside them; the session may be closed there, too.
 */

struct mcp_session;
struct mcp_question;
struct mcp_extra;

struct mcp_session_options {
    struct loop *loop;
    const char *url;                   /* copied */
    const char *authorization;         /* a token, copied; NULL for none */
    const json_t *headers;             /* names and values, copied; NULL for none */
    const struct egress_rules *egress; /* outlives the session */
    uint64_t connect_ns;               /* until the server must have accepted a connection */
    uint64_t list_ns;                  /* until its list must be complete */
    uint64_t call_ns;                  /* until a call must be; 0: for ever */
};

struct mcp_session *mcp_session_new(const struct mcp_session_options *options);

/* Cancels what is under way, tells the server, and frees. NULL is fine. */
void mcp_session_close(struct mcp_session *session);

/* `answer->result` is borrowed. Called once, unless the question was cancelled; the question is gone
 * by then. */
typedef void mcp_answered(void *arg, const struct mcp_answer *answer);

/* All of the server's tools: the result is {"tools": [...]}, as mcp_tools.h makes them, and the
 * "capabilities" that it has said to have. */
struct mcp_question *mcp_session_list(struct mcp_session *session, mcp_answered *answered,
                                      void *arg);

/* How far a call has come: {"progress", "total", "message"} as the server says it, borrowed. */
typedef void mcp_progressed(void *arg, const json_t *params);
/* One call, of a tool or, with `extra`, of what stands beside the tools (mcp_extra.h). `arguments` is
 * an object, copied. The result is that of tools/call either way. `progressed` may be NULL. */
struct mcp_question *mcp_session_call(struct mcp_session *session, const char *tool,
                                      const struct mcp_extra *extra, const json_t *arguments,
                                      mcp_progressed *progressed, mcp_answered *answered,
                                      void *arg);

/* Whether the server has said, beside an answer, that its list of tools is another now. Not over the older
 * transport, where nothing tells this from what servers say of every session that begins. */
bool mcp_session_list_changed(const struct mcp_session *session);

/* Nobody wants the answer any more; the server is told. */
void mcp_question_cancel(struct mcp_question *question);

/* A header of a request that a client may set: a token as HTTP has them, and none of those that are
 * ours or the connection's. */
bool mcp_header_name_is_free(const char *name);

#endif
