/*
 * mcp_message.c -- writes messages, and sorts those of a server.
 *
 * JSON-RPC tells messages apart by two members: an id without a method is an answer, both together are a
 * request, a method alone is a notification. The ids of this client are integers that it counts up, so an
 * answer with any other id belongs to nothing here and is ignored.
 *
 * The id of a request is also its progress token. One number less to keep, and the specification only wants
 * it to be unique among active requests.
 */

#include "core/mcp/mcp_message.h"

#include <string.h>

#include "core/base/compiler.h"
#include "core/base/json.h"

bool mcp_version_is_known(const char *version)
{
    static const char *const versions[] = {MCP_VERSION, "2025-03-26", "2024-11-05"};

    for (size_t i = 0; i < COUNT_OF(versions); i++) {
        if (strcmp(versions[i], version) == 0)
            return true;
    }
    return false;
}

bool mcp_error_is_stateless(int code)
{
    return code <= MCP_HEADER_MISMATCH && code >= MCP_UNSUPPORTED_VERSION;
}

static char *text_of(json_t *message, json_t *params)
{
    json_auto_t *whole = message;

    if (params)
        json_object_set(whole, "params", params);
    return json_text(whole);
}

char *mcp_request_text(json_int_t id, const char *method, json_t *params)
{
    return text_of(json_build("{s:s, s:I, s:s}", "jsonrpc", "2.0", "id", id, "method", method),
                   params);
}

char *mcp_notification_text(const char *method, json_t *params)
{
    return text_of(json_build("{s:s, s:s}", "jsonrpc", "2.0", "method", method), params);
}

/* Sampling, roots and elicitation would let a server use the model, files or the user: refused. A server
 * should not send them, because initialize has offered none of these capabilities. */
char *mcp_reply_text(const json_t *request)
{
    json_t *id = json_object_get(request, "id");
    json_auto_t *reply = json_build("{s:s, s:O}", "jsonrpc", "2.0", "id", id);

    if (strcmp(json_get_string(request, "method", ""), "ping") == 0)
        json_set(reply, "result", json_object());
    else
        json_set(reply, "error",
                 json_build("{s:i, s:s}", "code", MCP_METHOD_NOT_FOUND, "message",
                            "This client offers nothing to servers."));
    return json_text(reply);
}

json_t *mcp_initialize_params(void)
{
    return json_build("{s:s, s:{}, s:{s:s, s:s}}", "protocolVersion", MCP_VERSION,
                      "capabilities", "clientInfo", "name", "runnel", "version",
                      RUNNEL_VERSION);
}

#define RESERVED "io.modelcontextprotocol/"

json_t *mcp_stateless_meta(void)
{
    return json_build("{s:s, s:{}, s:{s:s, s:s}}", RESERVED "protocolVersion", MCP_STATELESS,
                      RESERVED "clientCapabilities", RESERVED "clientInfo", "name", "runnel",
                      "version", RUNNEL_VERSION);
}

bool mcp_discovers_stateless(const json_t *result)
{
    return json_list_has(json_object_get(result, "supportedVersions"), MCP_STATELESS);
}

bool mcp_error_offers_session(const json_t *error)
{
    size_t i;
    json_t *version;

    json_array_foreach (json_object_get(json_object_get(error, "data"), "supported"), i,
                        version) {
        if (json_is_string(version) && mcp_version_is_known(json_string_value(version)))
            return true;
    }
    return false;
}

static bool is_progress_of(const json_t *message, json_int_t id)
{
    const json_t *params = json_object_get(message, "params");
    const json_t *token = json_object_get(params, "progressToken");

    return strcmp(json_get_string(message, "method", ""), "notifications/progress") == 0 &&
           json_is_integer(token) && json_integer_value(token) == id;
}

static enum mcp_message_kind news_kind(const json_t *message, json_int_t id)
{
    static const char changed[] = "notifications/tools/list_changed";

    if (strcmp(json_get_string(message, "method", ""), changed) == 0)
        return MCP_MESSAGE_LIST_CHANGED;
    return is_progress_of(message, id) ? MCP_MESSAGE_PROGRESS : MCP_MESSAGE_OTHER;
}

enum mcp_message_kind mcp_message_kind(const json_t *message, json_int_t id)
{
    const json_t *message_id = json_object_get(message, "id");

    if (json_absent(message_id))
        return news_kind(message, id);
    if (json_get_string(message, "method", NULL))
        return MCP_MESSAGE_REQUEST;
    return json_is_integer(message_id) && json_integer_value(message_id) == id
               ? MCP_MESSAGE_ANSWER
               : MCP_MESSAGE_OTHER;
}
