/*
 * GET /v1/responses: opens a WebSocket over which responses are created.
 *
 * The handshake is an ordinary GET and has passed everything that requests pass: limits, hygiene, the
 * key. Two more things are checked here. A browser lets any page open a WebSocket to any server, and
 * CORS does not apply to it, so the server itself must compare the page's origin with its settings.
 * And a server that drains must not accept a connection that lives for up to websocket_age.
 *
 * Errors are plain HTTP answers with the usual envelope. After 101 they are `error` events.
 */

#include <string.h>

#include "core/base/mem.h"
#include "server/api/api.h"
#include "server/api/responses/socket/session.h"
#include "server/complaint.h"
#include "server/config/config.h"
#include "server/http/cors.h"
#include "server/http/websocket/handshake.h"
#include "server/server.h"

/* A GET without a handshake: a client that expects a list of responses. Neither OpenAI nor this server has
 * such a list. */
static enum err_code no_socket(struct request *request, struct err *err)
{
    request_set_header(request, "Allow", "POST");
    request_set_header(request, "Upgrade", "websocket");
    return err_set_api(err, ERR_METHOD, "method_not_supported", NULL,
                       "Not allowed to %s on /v1/responses. (HINT: Perhaps you meant to use a "
                       "different HTTP method?)",
                       request_method(request));
}

/* Browsers send Origin with a handshake. Other clients send none, and are let through. */
static enum err_code check_origin(struct request *request, struct err *err)
{
    const struct config *config = request_server(request)->config;

    if (cors_may_act(request, config->cors_origins, config->no_auth))
        return ERR_OK;
    return err_set(err, ERR_FORBIDDEN, "Pages of this origin may not connect.");
}

static enum err_code check(struct request *request, const struct ws_handshake *handshake,
                           char ret_accept[WS_ACCEPT_SIZE], struct err *err)
{
    int status = 0;
    enum err_code rc = check_origin(request, err);

    if (rc)
        return rc;
    if (request_has_body(request))
        return err_set(err, ERR_INVALID, "A WebSocket handshake has no body.");
    rc = ws_handshake_check(handshake, ret_accept, &status, err);
    if (rc && status == 426) {
        request_set_header(request, "Upgrade", "websocket");
        request_set_header(request, "Sec-WebSocket-Version", WS_VERSION);
    }
    if (rc)
        request_fail_status(request, status);
    return rc;
}

enum err_code api_response_connect(struct request *request, struct err *err)
{
    AUTO_FREE char *connection = request_header_list(request, "connection");
    AUTO_FREE char *upgrade = request_header_list(request, "upgrade");
    AUTO_FREE char *protocols = request_header_list(request, "sec-websocket-protocol");
    const struct ws_handshake handshake = {
        .http_version = request_http_version(request),
        .connection = connection,
        .upgrade = upgrade,
        .version = request_header(request, "sec-websocket-version"),
        .key = request_header(request, "sec-websocket-key"),
        .protocols = protocols,
    };
    char accept[WS_ACCEPT_SIZE];
    AUTO_FREE char *protocol = ws_handshake_protocol(&handshake);
    enum err_code rc;

    if (strcmp(request_method(request), "GET") != 0 || !ws_handshake_asked(&handshake))
        return no_socket(request, err);
    rc = check(request, &handshake, accept, err);
    if (rc)
        return rc;
    if (atomic_load(&request_server(request)->draining)) {
        request_fail_status(request, 503);
        return err_set(err, ERR_UPSTREAM,
                       "The server is shutting down. Please retry your request.");
    }
    if (protocol)
        request_set_header(request, "Sec-WebSocket-Protocol", protocol);
    session_open(request, accept);
    return ERR_OK;
}
