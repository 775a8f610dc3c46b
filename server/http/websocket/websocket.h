#ifndef RUNNEL_SERVER_HTTP_WEBSOCKET_WEBSOCKET_H
#define RUNNEL_SERVER_HTTP_WEBSOCKET_WEBSOCKET_H

#include <stdbool.h>
#include <stddef.h>

#include "core/net/loop.h"
#include "server/http/websocket/codec.h"

/*
 * websocket.h -- a connection that libmicrohttpd has given away, on a loop.
 *
 * The library speaks HTTP up to and including "101 Switching Protocols" and then hands the socket
 * over; it gets it back only to close it. In between the loop reads and writes it, pings it when it
 * is silent, and gives up on a client that does not answer, does not read, or sends a message too
 * slowly. What messages mean is the business of an owner: whoever implements websocket_ops.
 *
 *   opening ─▶ open ─▶ closing ─▶ gone
 *                │     a close was said: what waits is sent, and the client may hang up first
 *                └──────────────▶ gone
 *
 * It lives as long as somebody holds it: itself until it is gone, and whoever calls
 * websocket_hold(), so that an owner may have work under way with others.
 */

struct http;
struct websocket;
struct MHD_UpgradeResponseHandle;

/* All on the loop. */
struct websocket_ops {
    /* Takes `text`, as ws_message_fn does. */
    void (*message)(void *owner, char *text, size_t length);

    /* The client has gone or was given up, or the close is under way: nothing that is sent from
     * now on arrives. Once. */
    void (*gone)(void *owner);

    /* The connection has become too old, or the server is ending: finish what is there, accept
     * nothing new, and close it. At most once each. */
    void (*aged)(void *owner);
    void (*draining)(void *owner);

    void (*destroy)(void *owner); /* nobody holds it any more */
};

/* Before the upgrade. Takes `owner` when it is opened; until then it may be freed, with the owner
 * its maker's. */
struct websocket *websocket_new(struct http *http, struct loop *loop,
                                const struct websocket_ops *ops, void *owner);
void websocket_free_unopened(struct websocket *websocket);

/* From the library's upgrade handler. `early` are bytes that came with the handshake. */
void websocket_open(struct websocket *websocket, int fd,
                    struct MHD_UpgradeResponseHandle *handle, const char *early,
                    size_t early_length);

/* ---- On the loop ---- */

/* Adds a message to what is sent; nothing leaves before websocket_flush(). */
void websocket_text(struct websocket *websocket, const char *text, size_t length);
void websocket_flush(struct websocket *websocket);

/* Says goodbye and waits a moment for the client to do so too. */
void websocket_close(struct websocket *websocket, enum ws_close code, const char *reason);

/* Nothing more is read, so that the client has to wait; its leaving is still noticed. */
void websocket_pause(struct websocket *websocket);
void websocket_resume(struct websocket *websocket);

bool websocket_is_open(const struct websocket *websocket);

void websocket_hold(struct websocket *websocket);
void websocket_release(struct websocket *websocket);

/* ---- For http.c, with http's lock held ---- */

void websocket_drain(struct websocket *websocket);
void websocket_cut(struct websocket *websocket);
struct websocket *websocket_next(const struct websocket *websocket);

#endif
