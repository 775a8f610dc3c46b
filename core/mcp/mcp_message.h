#ifndef RUNNEL_CORE_MCP_MCP_MESSAGE_H
#define RUNNEL_CORE_MCP_MCP_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>

/*
 * mcp_message.h -- what is said to an MCP server: JSON-RPC 2.0.
 *
 * Pure functions: any thread.
 */

/* The newest version we speak, offered first; what a server may settle on instead. */
#define MCP_VERSION "2025-06-18"
bool mcp_version_is_known(const char *version);

#define MCP_METHOD_NOT_FOUND (-32601)

/* Text of a message, which the caller frees. `params` may be NULL; borrowed. */
char *mcp_request_text(json_int_t id, const char *method, json_t *params);
char *mcp_notification_text(const char *method, json_t *params);

/* What a server asks while it answers: it is alive, or it is refused. */
char *mcp_reply_text(const json_t *request);

/* The parameters of initialize. New reference. */
json_t *mcp_initialize_params(void);

/* What a message of the server is. */
enum mcp_message_kind {
    MCP_MESSAGE_OTHER,    /* a notification, an answer to something else, or nothing at all */
    MCP_MESSAGE_ANSWER,   /* to the request `id` */
    MCP_MESSAGE_REQUEST,  /* the server wants something */
    MCP_MESSAGE_PROGRESS, /* of the request `id`, which is its token */
    MCP_MESSAGE_LIST_CHANGED, /* the server has other tools now */
};
enum mcp_message_kind mcp_message_kind(const json_t *message, json_int_t id);

#endif
