#ifndef RUNNEL_SERVER_HTTP_WEBSOCKET_HANDSHAKE_H
#define RUNNEL_SERVER_HTTP_WEBSOCKET_HANDSHAKE_H

#include <stdbool.h>

#include "core/base/err.h"

/*
 * websocket/handshake.h -- whether a request may become a WebSocket: RFC 6455, section 4.2.
 *
 * Pure functions.
 */

#define WS_ACCEPT_SIZE 29 /* base64 of 20 bytes, and NUL */

/* The headers of these names, with all lines of those that are lists; NULL if missing.
 * Borrowed. */
struct ws_handshake {
    const char *http_version; /* "HTTP/1.1" */
    const char *connection;
    const char *upgrade;
    const char *version;
    const char *key;
    const char *protocols;
};

/* True if the request asks for a WebSocket at all, valid or not. */
bool ws_handshake_asked(const struct ws_handshake *handshake);

/* Fills in the value of Sec-WebSocket-Accept. ERR_INVALID says what is wrong. *ret_status is
 * then 400, or 426 for another version, whose answer must name the version of this server. */
enum err_code ws_handshake_check(const struct ws_handshake *handshake,
                                 char ret_accept[WS_ACCEPT_SIZE], int *ret_status,
                                 struct err *err) MUST_CHECK;

#define WS_VERSION "13"

/* A page cannot give a WebSocket an Authorization header. It sends its key as a protocol,
 * openai-insecure-api-key.KEY, as it does to OpenAI, beside one that can be agreed on. */

/* "Bearer KEY", or NULL. The caller frees. */
char *ws_handshake_bearer(const struct ws_handshake *handshake);

/* The first protocol that is not a key, for the answer; or NULL. The caller frees. */
char *ws_handshake_protocol(const struct ws_handshake *handshake);

#endif
