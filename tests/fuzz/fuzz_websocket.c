/*
 * However the bytes of a WebSocket are cut into pieces, the messages and the commands in them
 * are the same. When and with which code it ends may differ, because the library reads the
 * reason of a close piece by piece.
 *
 * Each piece has memory of its own, so that reading beyond it is noticed. The first byte of the
 * input says where the bytes are cut; masked frames follow.
 */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "server/api/responses/socket/command.h"
#include "server/http/websocket/codec.h"

#define MESSAGE_LIMIT ((size_t)4096)

/* What was understood, as text. */
static void note(void *arg, char *text, size_t length)
{
    struct buf *seen = arg;
    struct ws_command command = {0};
    struct err err = {0};

    assert(length <= MESSAGE_LIMIT && strlen(text) <= length && text[length] == '\0');
    if (ws_command_parse(text, length, &command, &err)) {
        buf_addf(seen, "%d %s %s\n", (int)err.code, command.lane, err.text);
        assert(!command.body);
    } else {
        assert(json_is_object(command.body));
        assert(command.kind == WS_CREATE || command.target);
        assert(!json_object_get(command.body, "stream_id") || command.kind == WS_STEER);
        buf_addf(seen, "%d %s %d %d ", (int)command.kind, command.lane, (int)command.generate,
                 (int)command.complaint.code);
        json_add_text(seen, command.body);
        buf_add_char(seen, '\n');
    }
    ws_command_clear(&command);
    free(text);
}

static void feed(const uint8_t *bytes, size_t size, uint32_t cuts, struct buf *seen)
{
    struct ws_codec *codec = ws_codec_new(MESSAGE_LIMIT, note, seen);

    for (size_t at = 0; at < size;) {
        size_t length = size - at;
        char *piece;

        if (cuts) {
            cuts = cuts * 1664525u + 1013904223u;
            length = (cuts >> 24) % 7 == 0 ? 1 + (cuts >> 16) % 64 : 1 + (cuts >> 16) % 4;
            length = length > size - at ? size - at : length;
        }
        piece = mem_zeroed(length, 1);
        memcpy(piece, bytes + at, length);
        ws_codec_feed(codec, piece, length);
        free(piece);
        at += length;
        assert(ws_codec_partial(codec) <= MESSAGE_LIMIT);
    }
    buf_add_text(seen, "end");
    assert(!ws_codec_is_closed(codec) || ws_codec_out(codec)->length >= 2);
    ws_codec_free(codec);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct buf whole = {0};
    struct buf cut = {0};

    if (!size)
        return 0;
    feed(bytes + 1, size - 1, 0, &whole);
    feed(bytes + 1, size - 1, 1u + bytes[0] * 2654435761u, &cut);
    assert(whole.length == cut.length && memcmp(whole.data, cut.data, cut.length) == 0);
    buf_clear(&whole);
    buf_clear(&cut);
    return 0;
}
