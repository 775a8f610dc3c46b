#ifndef RUNNEL_CORE_MCP_MCP_MESSAGE_H
#define RUNNEL_CORE_MCP_MCP_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>

/*
 * mcp_message.h -- messages to and from an MCP server: JSON-RPC 2.0.
 *
 * Pure functions: any thread.
 */

/* The newest supported version, which is offered first, and the one that a server may choose instead. */
#define MCP_VERSION "2025-06-18"
bool mcp_version_is_known(const char *version);

#define MCP_METHOD_NOT_FOUND (-32601)

/* Text of a message, which the caller frees. `params` may be NULL; borrowed. */
char *mcp_request_text(json_int_t id, const char *method, json_t *params);
char *mcp_notification_text(const char *method, json_t *params);

/* The answer to a request of the server: a ping is answered, anything else is refused. */
char *mcp_reply_text(const json_t *request);

/* The parameters of initialize. New reference. */
json_t *mcp_initialize_params(void);

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
