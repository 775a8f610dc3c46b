/*
 * The frames of a WebSocket, by libwslay, behind an interface of bytes in and messages out.
 *
 * libwslay is made to be called when a socket is readable or writable. Here it never sees a socket: its
 * read callback takes from the input of the present ws_codec_feed() and then says "would block", its
 * write callback appends to `out`. So the codec is a pure state machine, and a fuzz target feeds it
 * whatever it likes (tests/fuzz/fuzz_websocket.c).
 *
 * Messages are gathered here and not in libwslay, which reserves memory for the length that a frame's
 * head announces: a client could reserve as much as the largest message with ten bytes. `partial`
 * grows with what has really come.
 *
 * Output that is queued inside a callback must wait until libwslay has returned: it cannot be entered
 * twice. So queueing only notes it then, and ws_codec_feed() drains at its end. The one exception is a
 * pong, which is sent where its ping ends, because a close that follows would overtake it.
 */

#include "server/http/websocket/codec.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <wslay/wslay.h>

#include "core/base/mem.h"

struct ws_codec {
    wslay_event_context_ptr wslay;
    size_t message_limit;
    ws_message_fn *message;
    void *arg;

    const char *input; /* the input of the ws_codec_feed() under way */
    size_t input_length;
    struct buf partial; /* the message so far; libwslay would reserve what a frame announces */
    bool in_text;       /* the present frame belongs to it */
    bool closed;
    struct buf out;
};

/* ---- What libwslay calls ---- */

static ssize_t take_input(wslay_event_context_ptr wslay, uint8_t *to, size_t room, int flags,
                          void *arg)
{
    struct ws_codec *codec = arg;
    size_t count = codec->input_length < room ? codec->input_length : room;

    (void)flags;
    if (!count) {
        wslay_event_set_error(wslay, WSLAY_ERR_WOULDBLOCK);
        return -1;
    }
    memcpy(to, codec->input, count);
    codec->input += count;
    codec->input_length -= count;
    return (ssize_t)count;
}

static ssize_t keep_output(wslay_event_context_ptr wslay, const uint8_t *bytes, size_t length,
                           int flags, void *arg)
{
    struct ws_codec *codec = arg;

    (void)wslay;
    (void)flags;
    buf_add(&codec->out, bytes, length);
    return (ssize_t)length;
}

/* The library limits frames, this file limits messages. A binary message is not even read. */
static void frame_begins(wslay_event_context_ptr wslay,
                         const struct wslay_event_on_frame_recv_start_arg *frame, void *arg)
{
    struct ws_codec *codec = arg;

    (void)wslay;
    codec->in_text = !wslay_is_ctrl_frame(frame->opcode);
    if (frame->opcode == WSLAY_BINARY_FRAME)
        ws_codec_close(codec, WS_CLOSE_UNSUPPORTED, "Messages must be text.");
    else if (codec->in_text &&
             frame->payload_length > codec->message_limit - codec->partial.length)
        ws_codec_close(codec, (enum ws_close)WSLAY_CODE_MESSAGE_TOO_BIG,
                       "The message is too large.");
}

static void frame_continues(wslay_event_context_ptr wslay,
                            const struct wslay_event_on_frame_recv_chunk_arg *chunk, void *arg)
{
    struct ws_codec *codec = arg;

    (void)wslay;
    if (codec->in_text && !codec->closed)
        buf_add(&codec->partial, chunk->data, chunk->data_length);
}

static void message_ends(wslay_event_context_ptr wslay,
                         const struct wslay_event_on_msg_recv_arg *message, void *arg)
{
    struct ws_codec *codec = arg;
    size_t length = codec->partial.length;

    /* Sent now, because a close that follows at once would overtake it. */
    if (message->opcode == WSLAY_PING)
        (void)wslay_event_send(wslay);
    if (message->opcode == WSLAY_TEXT_FRAME && !codec->closed)
        codec->message(codec->arg, buf_take(&codec->partial), length);
}

/* ---- Out ---- */

/* Moves all queued output of the library to `out`: keep_output() takes everything. Not inside
 * its callbacks; ws_codec_feed() does it after them. */
static void drain(struct ws_codec *codec)
{
    if (!codec->input && wslay_event_want_write(codec->wslay))
        (void)wslay_event_send(codec->wslay);
}

static void queue(struct ws_codec *codec, uint8_t opcode, const char *text, size_t length)
{
    const struct wslay_event_msg message = {
        .opcode = opcode, .msg = (const uint8_t *)text, .msg_length = length};

    if (codec->closed)
        return;
    (void)wslay_event_queue_msg(codec->wslay, &message);
    drain(codec);
}

void ws_codec_text(struct ws_codec *codec, const char *text, size_t length)
{
    queue(codec, WSLAY_TEXT_FRAME, text, length);
}

void ws_codec_ping(struct ws_codec *codec)
{
    queue(codec, WSLAY_PING, "", 0);
}

void ws_codec_close(struct ws_codec *codec, enum ws_close code, const char *reason)
{
    if (codec->closed)
        return;
    codec->closed = true;
    wslay_event_shutdown_read(codec->wslay);
    (void)wslay_event_queue_close(codec->wslay, (uint16_t)code, (const uint8_t *)reason,
                                  strlen(reason));
    drain(codec);
}

struct buf *ws_codec_out(struct ws_codec *codec)
{
    return &codec->out;
}

bool ws_codec_is_closed(const struct ws_codec *codec)
{
    return codec->closed;
}

/* ---- In ---- */

/* When the head of a frame makes no sense, the library closes without a reason. The reason is
 * then the last two bytes of its output. */
static void give_reason(struct ws_codec *codec)
{
    static const char close_1002[] = {'\x88', 2, 1002 >> 8, (char)(1002 & 0xFF)};

    assert(codec->out.length >= 2 && codec->out.data[codec->out.length - 1] == 0);
    codec->out.length -= 2;
    buf_add(&codec->out, close_1002, sizeof(close_1002));
}

void ws_codec_feed(struct ws_codec *codec, const char *bytes, size_t length)
{
    bool bad_head;

    assert(!codec->input);
    if (codec->closed || !length)
        return;
    codec->input = bytes;
    codec->input_length = length;
    bad_head = wslay_event_recv(codec->wslay) != 0 && !codec->closed;
    codec->input = NULL;
    codec->input_length = 0;
    /* A close that was received, or a violation that is answered with one. */
    if (!wslay_event_get_read_enabled(codec->wslay))
        codec->closed = true;
    drain(codec);
    if (bad_head)
        give_reason(codec);
    if (codec->closed)
        buf_clear(&codec->partial);
}

size_t ws_codec_partial(const struct ws_codec *codec)
{
    return codec->partial.length;
}

/* ---- Making and unmaking ---- */

struct ws_codec *ws_codec_new(size_t message_limit, ws_message_fn *message, void *arg)
{
    static const struct wslay_event_callbacks callbacks = {
        .recv_callback = take_input,
        .send_callback = keep_output,
        .on_frame_recv_start_callback = frame_begins,
        .on_frame_recv_chunk_callback = frame_continues,
        .on_msg_recv_callback = message_ends,
    };
    struct ws_codec *codec = mem_new(struct ws_codec);

    codec->message_limit = message_limit;
    codec->message = message;
    codec->arg = arg;
    if (wslay_event_context_server_init(&codec->wslay, &callbacks, codec) != 0)
        abort(); /* no memory, which cannot happen: see mem.h */
    wslay_event_config_set_no_buffering(codec->wslay, 1);
    wslay_event_config_set_max_recv_msg_length(codec->wslay, message_limit);
    return codec;
}

void ws_codec_free(struct ws_codec *codec)
{
    if (!codec)
        return;
    wslay_event_context_free(codec->wslay);
    buf_clear(&codec->partial);
    buf_clear(&codec->out);
    free(codec);
}
