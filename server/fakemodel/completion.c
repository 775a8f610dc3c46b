#include "core/base/json.h"
#include "server/fakemodel/reply_internal.h"
#include "server/fakemodel/words.h"

/*
 * fakemodel/completion.c -- an answer as the legacy /v1/completions writes it: pieces of text.
 *
 * Only the text of an answer counts here, because this API has neither reasoning nor calls. A request
 * with several prompts gets one choice, for the last of them.
 */

static void make_pieces(struct reply *reply, const struct prompt *prompt)
{
    json_decref(reply->pieces);
    reply->pieces = words_split(&reply->answer->text, reply->answer->split, prompt);
    reply->text_count = json_array_size(reply->pieces);
}

/* Takes the choices. */
static json_t *completion(const struct reply *reply, json_t *choices, json_t *usage)
{
    return json_build("{ss ss sI ss so sO*}", "id", reply->id, "object", "text_completion",
                      "created", reply->created, "model", reply->model, "choices", choices,
                      "usage", usage);
}

static json_t *choice(const char *text, const char *finish_reason)
{
    return json_build("[{si ss sn ss?}]", "index", 0, "text", text, "logprobs", "finish_reason",
                      finish_reason);
}

static json_t *make_whole(struct reply *reply, const struct prompt *prompt)
{
    AUTO_BUF text = {0};
    size_t total = reply_piece_total(reply);

    (void)prompt;
    for (size_t i = 0; i < total && text.length < REPLY_TEXT_LIMIT; i++)
        buf_add_text(&text, json_string_value(reply_piece_at(reply, i)));
    return completion(reply, choice(text.data ? text.data : "", reply->finish_reason),
                      reply->usage);
}

static void add_piece(struct reply *reply, struct buf *out, json_t *piece)
{
    reply_add_event(reply, out, NULL,
                    completion(reply, choice(json_string_value(piece), NULL), NULL));
}

static void finish(struct reply *reply, struct buf *out)
{
    if (reply->finish_reason)
        reply_add_event(reply, out, NULL,
                        completion(reply, choice("", reply->finish_reason), NULL));
}

static void add_usage(struct reply *reply, struct buf *out)
{
    if (reply->usage && reply->wants_usage)
        reply_add_event(reply, out, NULL, completion(reply, json_array(), reply->usage));
}

const struct reply_shape reply_completion = {
    .id_prefix = "cmpl-",
    .ends_with_done = true,
    .make_pieces = make_pieces,
    .whole = make_whole,
    .whole_error = reply_whole_error,
    .begin = reply_add_nothing,
    .piece = add_piece,
    .finish = finish,
    .usage = add_usage,
    .error = reply_add_error,
};
