#ifndef RUNNEL_CORE_MCP_MCP_MESSAGE_H
#define RUNNEL_CORE_MCP_MCP_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>

/*
 * mcp_message.h -- messages to and from an MCP server: JSON-RPC 2.0.
 *
 * Pure functions: any thread.
 */

/* The version whose requests stand alone, and the newest with a session. A server may choose an older one
 * of the latter kind. */
#define MCP_STATELESS "2026-07-28"
#define MCP_VERSION   "2025-06-18"
/* True for versions with a session. */
bool mcp_version_is_known(const char *version);

#define MCP_METHOD_NOT_FOUND (-32601)
#define MCP_INVALID_PARAMS   (-32602)
/* Only servers that speak MCP_STATELESS or a later version answer with these. */
#define MCP_HEADER_MISMATCH     (-32020)
#define MCP_MISSING_CAPABILITY  (-32021)
#define MCP_UNSUPPORTED_VERSION (-32022)
bool mcp_error_is_stateless(int code);

/* The "resultType" of a result that is to be asked for again (2026-07-28). */
#define MCP_INPUT_REQUIRED "input_required"

/* Text of a message, which the caller frees. `params` may be NULL; borrowed. */
char *mcp_request_text(json_int_t id, const char *method, json_t *params);
char *mcp_notification_text(const char *method, json_t *params);

/* The answer to a request of the server: a ping is answered, anything else is refused. */
char *mcp_reply_text(const json_t *request);

/* The parameters of initialize. New reference. */
json_t *mcp_initialize_params(void);

/* What every request of MCP_STATELESS has as its "_meta". New reference. */
json_t *mcp_stateless_meta(void);

/* Whether the answer to server/discover is one, and offers MCP_STATELESS. */
bool mcp_discovers_stateless(const json_t *result);
/* Whether the error of an unsupported version names one with a session that this client knows. */
bool mcp_error_offers_session(const json_t *error);

/* What a message of the server is, for the request `id`. */
enum mcp_message_kind {
    MCP_MESSAGE_OTHER,        /* a notification, an answer to another request, or invalid */
    MCP_MESSAGE_ANSWER,       /* to the request */
    MCP_MESSAGE_REQUEST,      /* the server's own request */
    MCP_MESSAGE_PROGRESS,     /* of the request, whose id is the token */
    MCP_MESSAGE_LIST_CHANGED, /* the server's tools have changed */
};
enum mcp_message_kind mcp_message_kind(const json_t *message, json_int_t id);

#endif
