#include "core/base/json.h"
#include "server/fakemodel/reply_internal.h"

/*
 * fakemodel/events.c -- an answer that a script spells out: each piece is the data of one event, sent
 * without a change.
 *
 * It is for a server with a habit that no key describes, mostly one that was seen once and must not
 * break the reader again: the recorded events go into a script as they are. Delays, `dialect` and
 * faults work as with the other shapes. The other keys of the answer are ignored, and no template is
 * filled in.
 */

static void make_pieces(struct reply *reply, const struct prompt *prompt)
{
    const struct script_words *events = &reply->answer->events;

    (void)prompt;
    for (size_t i = 0; i < events->count; i++)
        json_array_append_new(reply->pieces, json_string(events->items[i]));
}

static void add_piece(struct reply *reply, struct buf *out, json_t *piece)
{
    reply_add_data(reply, out, NULL, json_string_value(piece));
}

const struct reply_shape reply_events = {
    .id_prefix = "chatcmpl-",
    .ends_with_done = true,
    .make_pieces = make_pieces,
    .begin = reply_add_nothing,
    .piece = add_piece,
    .finish = reply_add_nothing,
    .usage = reply_add_nothing,
    .error = reply_add_error,
};
