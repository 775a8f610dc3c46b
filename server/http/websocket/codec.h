#ifndef RUNNEL_SERVER_HTTP_WEBSOCKET_CODEC_H
#define RUNNEL_SERVER_HTTP_WEBSOCKET_CODEC_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"

/*
 * websocket/codec.h -- bytes of a WebSocket into messages and back; libwslay with a buffer on
 * each side.
 *
 * The server's end of RFC 6455, without extensions. It has no socket and no clock: bytes are
 * fed in as they come, and output gathers in ws_codec_out(). Pings are answered, a close is
 * answered, and a violation of the protocol is answered with the close that the RFC has for it:
 *
 *   1002  not a frame that a client may send
 *   1003  a binary message: this API uses JSON
 *   1007  text that is not UTF-8
 *   1009  a message above the limit
 *
 * Nothing is read after a close of either side. For one thread at a time.
 */

enum ws_close {
    WS_CLOSE_NORMAL = 1000,
    WS_CLOSE_GOING_AWAY = 1001,
    WS_CLOSE_UNSUPPORTED = 1003,
    WS_CLOSE_POLICY = 1008,
    WS_CLOSE_TRY_LATER = 1013,
};

struct ws_codec;

/* A whole text message. Takes `text`, which is valid UTF-8 and ends in a NUL that does not count;
 * never NULL. */
typedef void ws_message_fn(void *arg, char *text, size_t length);

struct ws_codec *ws_codec_new(size_t message_limit, ws_message_fn *message, void *arg);
void ws_codec_free(struct ws_codec *codec);

/* Calls message() for each message that is complete now, before it returns. */
void ws_codec_feed(struct ws_codec *codec, const char *bytes, size_t length);

/* Bytes of the message that is not complete yet. */
size_t ws_codec_partial(const struct ws_codec *codec);

/* Does nothing after a close. Text must be valid UTF-8. */
void ws_codec_text(struct ws_codec *codec, const char *text, size_t length);
void ws_codec_ping(struct ws_codec *codec);
void ws_codec_close(struct ws_codec *codec, enum ws_close code, const char *reason);

/* The bytes to send; the sender consumes them. */
struct buf *ws_codec_out(struct ws_codec *codec);

/* A close is in ws_codec_out(), or was sent: nothing follows it. */
bool ws_codec_is_closed(const struct ws_codec *codec);

#endif
