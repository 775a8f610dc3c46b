#ifndef RUNNEL_SERVER_HTTP_WEBSOCKET_WEBSOCKET_H
#define RUNNEL_SERVER_HTTP_WEBSOCKET_WEBSOCKET_H

#include <stdbool.h>
#include <stddef.h>

#include "core/net/loop.h"
#include "server/http/websocket/codec.h"

/*
 * websocket.h -- a connection that libmicrohttpd has given away, on a loop.
 *
 * The library speaks HTTP up to and including "101 Switching Protocols" and then hands the
 * socket over. It gets it back only to close it. In between the loop reads and writes it and
 * pings it when it is silent. It gives up on a client that does not answer, does not read, or
 * sends a message too slowly. The owner, which implements websocket_ops, knows what the
 * messages mean.
 *
 *   opening ─▶ open ─▶ closing ─▶ gone
 *                │     a close was sent or received: what waits is sent, and the client may close first
 *                └──────────────▶ gone
 *
 * It lives as long as it is held: by itself until it is gone, and by every caller of
 * websocket_hold(), so that an owner may have work under way elsewhere.
 */

struct http;
struct websocket;
struct MHD_UpgradeResponseHandle;

/* All are called on the loop. */
struct websocket_ops {
    /* A whole message. Takes `text`, as ws_message_fn does. */
    void (*message)(void *owner, char *text, size_t length);

    /* The client has left or was given up, or the close is under way: nothing that is sent from
     * now on arrives. Once. */
    void (*gone)(void *owner);

    /* The connection has become too old, or the server stops: finish what is there, accept
     * nothing new, and close it. At most once each. */
    void (*aged)(void *owner);
    void (*draining)(void *owner);

    void (*destroy)(void *owner); /* the last holder has released it */
};

/* Before the upgrade. Takes `owner` when it is opened. Until then it may be freed, and the
 * owner stays its maker's. */
struct websocket *websocket_new(struct http *http, struct loop *loop,
                                const struct websocket_ops *ops, void *owner);
void websocket_free_unopened(struct websocket *websocket);

/* From the library's upgrade handler. `early` are bytes that came with the handshake. */
void websocket_open(struct websocket *websocket, int fd,
                    struct MHD_UpgradeResponseHandle *handle, const char *early,
                    size_t early_length);

/* ---- On the loop ---- */

/* Adds a message to the output. Nothing is sent before websocket_flush(). */
void websocket_text(struct websocket *websocket, const char *text, size_t length);
void websocket_flush(struct websocket *websocket);

/* Sends a close frame and waits a moment for the client's. */
void websocket_close(struct websocket *websocket, enum ws_close code, const char *reason);

/* Stops reading, so that the client has to wait. Its leaving is still noticed. */
void websocket_pause(struct websocket *websocket);
void websocket_resume(struct websocket *websocket);

bool websocket_is_open(const struct websocket *websocket);

void websocket_hold(struct websocket *websocket);
void websocket_release(struct websocket *websocket);

/* ---- For http.c, with http's lock held ---- */

void websocket_drain(struct websocket *websocket);
void websocket_cut(struct websocket *websocket);
struct websocket *websocket_next(const struct websocket *websocket);
struct backlog *websocket_backlog(struct websocket *websocket);

#endif
