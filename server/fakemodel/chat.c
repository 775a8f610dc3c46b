#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "server/fakemodel/reply_internal.h"
#include "server/fakemodel/template.h"
#include "server/fakemodel/words.h"

/*
 * fakemodel/chat.c -- an answer as Chat Completions writes it: a list of deltas.
 *
 * A piece is a delta as it will stand in a chunk: {"content": "..."}, {"tool_calls": [...]}, and so on.
 * They are made all at once, in the order in which a model produces them: reasoning, text,
 * annotations, refusal, calls. A stream then wraps each into a chunk. An answer that is not a stream
 * joins what the deltas say under the same key, so both say the same.
 *
 * Servers differ most in how they send tool calls: whether the id comes with each chunk, whether the
 * index is there at all, whether arguments are a string or an object. Each such habit is a key of the
 * script (send_id, send_index, send_name, arguments_as), because the reader in core/model/chat has to
 * cope with all of them and its tests need them.
 */

static const char *reasoning_field(const struct script_answer *answer)
{
    return answer->reasoning_field ? answer->reasoning_field : "reasoning_content";
}

/* Adds one delta with this key for each piece. */
static void add_text_deltas(struct reply *reply, const char *key,
                            const struct script_pieces *pieces, const struct prompt *prompt)
{
    json_auto_t *list = words_split(pieces, reply->answer->split, prompt);
    json_t *piece;
    size_t i;

    json_array_foreach (list, i, piece)
        json_array_append_new(reply->pieces, json_build("{sO}", key, piece));
}

/* The Chat API nests an annotation under its type: {"type": T, T: {...}}. Each gets a delta of its own. */
static void add_annotation_deltas(struct reply *reply, const struct prompt *prompt)
{
    json_auto_t *list = template_expand_json(reply->answer->annotations, prompt);
    json_t *given;
    size_t i;

    json_array_foreach (list, i, given) {
        const char *type = json_get_string(given, "type", "url_citation");
        json_t *nested = json_copy(given);

        json_object_del(nested, "type");
        json_array_append_new(reply->pieces, json_build("{s[{ss so}]}", "annotations", "type",
                                                        type, type, nested));
    }
}

static bool goes_with(enum script_when when, bool first)
{
    return when == WHEN_EVERY || (when == WHEN_FIRST && first);
}

/* A delta of a call. Takes the arguments. */
static json_t *call_delta(const struct script_call *call, const char *name, const char *id,
                          size_t index, bool first, json_t *arguments)
{
    json_t *delta = json_object();
    json_t *function = json_object();

    if (goes_with(call->send_index, first))
        json_set_int(delta, "index", (json_int_t)index);
    if (goes_with(call->send_id, first))
        json_set_string(delta, "id", id);
    if (first)
        json_set_string(delta, "type", "function");
    if (goes_with(call->send_name, first))
        json_set_string(function, "name", name);
    json_set(function, "arguments", arguments);
    json_set(delta, "function", function);
    return json_build("{s[o]}", "tool_calls", delta);
}

static json_t *parsed_arguments(const struct words_call *words)
{
    json_t *value = NULL;

    return json_parse_exact(words->arguments, strlen(words->arguments), &value, NULL) ? NULL
                                                                                      : value;
}

/* OpenAI's servers begin a call with a delta that has its name and no arguments; the pieces of the
 * arguments follow. Some servers send the whole call at once instead: `split: whole`, or arguments as
 * an object, which cannot be cut. */
static void add_call_deltas(struct reply *reply, const struct script_call *call, size_t index,
                            const struct prompt *prompt)
{
    struct words_call words;
    const char *id;
    json_auto_t *list = NULL;
    json_t *piece;
    size_t i;

    words_call_init(&words, call, prompt);
    id = words_call_id(&words);
    if (call->as_object || call->split == SPLIT_WHOLE) {
        json_t *object = call->as_object ? parsed_arguments(&words) : NULL;

        piece = object ? object : json_string(words.arguments);
        json_array_append_new(reply->pieces,
                              call_delta(call, words.name, id, index, true, piece));
    } else {
        json_array_append_new(reply->pieces,
                              call_delta(call, words.name, id, index, true, json_string("")));
        list = words_call_split(&words, call);
        json_array_foreach (list, i, piece)
            json_array_append_new(reply->pieces, call_delta(call, words.name, id, index, false,
                                                            json_incref(piece)));
    }
    words_call_clear(&words);
}

static void make_pieces(struct reply *reply, const struct prompt *prompt)
{
    const struct script_answer *answer = reply->answer;

    add_text_deltas(reply, reasoning_field(answer), &answer->reasoning, prompt);
    reply->text_from = json_array_size(reply->pieces);
    add_text_deltas(reply, "content", &answer->text, prompt);
    reply->text_count = json_array_size(reply->pieces) - reply->text_from;
    add_annotation_deltas(reply, prompt);
    add_text_deltas(reply, "refusal", &answer->refusal, prompt);
    for (size_t i = 0; i < answer->call_count; i++)
        add_call_deltas(reply, &answer->calls[i], i, prompt);
}

/* ---- a JSON answer ---- */

/* Joins the texts that the deltas have under one key. */
static void set_joined(json_t *message, const struct reply *reply, const char *key)
{
    struct buf buf = {0};
    size_t total = reply_piece_total(reply);
    bool any = false;

    for (size_t i = 0; i < total && buf.length < REPLY_TEXT_LIMIT; i++) {
        const char *text = json_get_string(reply_piece_at(reply, i), key, NULL);

        any |= text != NULL;
        buf_add_text(&buf, text ? text : "");
    }
    if (any)
        json_set_string(message, key, buf.data ? buf.data : "");
    buf_clear(&buf);
}

static json_t *whole_call(const struct script_call *call, const struct prompt *prompt)
{
    struct words_call words;
    json_t *object;
    json_t *whole = json_object();

    words_call_init(&words, call, prompt);
    object = call->as_object ? parsed_arguments(&words) : NULL;
    if (call->send_id != WHEN_NEVER)
        json_set_string(whole, "id", words_call_id(&words));
    json_set_string(whole, "type", "function");
    json_set(whole, "function",
             json_build("{ss so}", "name", words.name, "arguments",
                        object ? object : json_string(words.arguments)));
    words_call_clear(&words);
    return whole;
}

static void set_annotations(json_t *message, const struct reply *reply)
{
    json_auto_t *all = json_array();
    json_t *piece;
    size_t i;

    json_array_foreach (reply->pieces, i, piece)
        json_array_extend(all, json_object_get(piece, "annotations"));
    if (json_array_size(all))
        json_object_set(message, "annotations", all);
}

static json_t *whole_message(const struct reply *reply, const struct prompt *prompt)
{
    const struct script_answer *answer = reply->answer;
    json_t *message = json_build("{ss sn}", "role", "assistant", "content");

    set_joined(message, reply, "content");
    set_joined(message, reply, reasoning_field(answer));
    set_joined(message, reply, "refusal");
    set_annotations(message, reply);
    if (answer->call_count) {
        json_t *calls = json_array();

        for (size_t i = 0; i < answer->call_count; i++)
            json_array_append_new(calls, whole_call(&answer->calls[i], prompt));
        json_set(message, "tool_calls", calls);
    }
    return message;
}

static json_t *make_whole(struct reply *reply, const struct prompt *prompt)
{
    json_t *choice =
        json_build("{si so ss?}", "index", 0, "message", whole_message(reply, prompt),
                   "finish_reason", reply->finish_reason);

    return json_build("{ss ss sI ss so sO*}", "id", reply->id, "object", "chat.completion",
                      "created", reply->created, "model", reply->model, "choices",
                      json_build("[o]", choice), "usage", reply->usage);
}

/* ---- a stream ---- */

/* Takes the choices. If the request asked for usage (stream_options.include_usage), every chunk has the
 * member: null, until the last one has the figures. */
static void add_chunk(const struct reply *reply, struct buf *out, json_t *choices,
                      json_t *usage)
{
    json_t *chunk =
        json_build("{ss ss sI ss so}", "id", reply->id, "object", "chat.completion.chunk",
                   "created", reply->created, "model", reply->model, "choices", choices);

    if (usage)
        json_set(chunk, "usage", json_incref(usage));
    else if (reply->usage && reply->wants_usage)
        json_set(chunk, "usage", json_null());
    reply_add_event(reply, out, NULL, chunk);
}

/* A request with `logprobs` gets the same number for each piece. NULL if it did not ask for them. */
static json_t *logprobs_of(const struct reply *reply, json_t *piece)
{
    if (!reply->wants_logprobs || !json_string_length(piece))
        return NULL;
    return json_build("{s[{sO sf sn s[{sO sf sn}]}]}", "content", "token", piece, "logprob",
                      -0.25, "bytes", "top_logprobs", "token", piece, "logprob", -0.25,
                      "bytes");
}

static void add_delta(const struct reply *reply, struct buf *out, json_t *delta,
                      const char *finish_reason, json_t *usage)
{
    json_t *choice = json_build("{si sO so* ss?}", "index", 0, "delta", delta, "logprobs",
                                logprobs_of(reply, json_object_get(delta, "content")),
                                "finish_reason", finish_reason);

    add_chunk(reply, out, json_build("[o]", choice), usage);
}

static void begin(struct reply *reply, struct buf *out)
{
    json_auto_t *delta = json_build("{ss ss}", "role", "assistant", "content", "");

    if (!(reply->answer->dialect & DIALECT_NO_ROLE))
        add_delta(reply, out, delta, NULL, NULL);
}

static void finish(struct reply *reply, struct buf *out)
{
    json_auto_t *delta = json_object();
    json_t *usage = reply->answer->usage_place == USAGE_LAST ? reply->usage : NULL;

    if (reply->finish_reason || usage)
        add_delta(reply, out, delta, reply->finish_reason, usage);
}

static void add_usage(struct reply *reply, struct buf *out)
{
    if (reply->usage && reply->wants_usage && reply->answer->usage_place == USAGE_OWN)
        add_chunk(reply, out, json_array(), reply->usage);
}

static void add_piece(struct reply *reply, struct buf *out, json_t *piece)
{
    add_delta(reply, out, piece, NULL, NULL);
}

const struct reply_shape reply_chat = {
    .id_prefix = "chatcmpl-",
    .ends_with_done = true,
    .make_pieces = make_pieces,
    .whole = make_whole,
    .whole_error = reply_whole_error,
    .begin = begin,
    .piece = add_piece,
    .finish = finish,
    .usage = add_usage,
    .error = reply_add_error,
};
