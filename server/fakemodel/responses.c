#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "server/fakemodel/reply_internal.h"
#include "server/fakemodel/template.h"
#include "server/fakemodel/words.h"

/*
 * fakemodel/responses.c -- an answer as the Responses API writes it: items that open, grow and
 * close, one after another.
 *
 * A piece has a kind: text, summary, call ... The walk compares it with what is open. A piece of
 * another kind closes the open part, or the open item, and opens its own. So the order of a stream's
 * events follows from the list of pieces alone:
 *
 *   output_item.added ─▶ content_part.added ─▶ delta, delta ... ─▶ done ─▶ content_part.done ─▶ output_item.done
 *
 * The table `kinds` has the names that differ from kind to kind. The output that the walk has built so
 * far is in reply->output, because the last event of a stream has the whole response. An answer that
 * is not a stream is the same walk, with the events discarded and that response as the body. So the
 * two cannot differ.
 *
 * The events are those of OpenAI's API.
 */

/* ---- pieces ---- */

static void add_text_pieces(struct reply *reply, const char *kind,
                            const struct script_pieces *pieces, const struct prompt *prompt)
{
    json_auto_t *list = words_split(pieces, reply->answer->split, prompt);
    json_t *text;
    size_t i;

    json_array_foreach (list, i, text)
        json_array_append_new(reply->pieces, json_build("{ss sO}", "kind", kind, "text", text));
}

/* Each string of the script is a part of its own: its first piece is marked with "begins". */
static void add_summary_pieces(struct reply *reply, const struct prompt *prompt)
{
    const struct script_pieces *summary = &reply->answer->summary;

    for (size_t i = 0; i < summary->words.count; i++) {
        struct script_pieces one = {.words = {&summary->words.items[i], 1}};
        size_t first = json_array_size(reply->pieces);

        add_text_pieces(reply, "summary", &one, prompt);
        json_set_bool(json_array_get(reply->pieces, first), "begins", true);
    }
}

static void add_annotation_pieces(struct reply *reply, const struct prompt *prompt)
{
    json_auto_t *list = template_expand_json(reply->answer->annotations, prompt);
    json_t *given;
    size_t i;

    json_array_foreach (list, i, given)
        json_array_append_new(reply->pieces,
                              json_build("{ss sO}", "kind", "annotation", "annotation", given));
}

/* A custom tool takes text and not JSON: the member `input` of the script's arguments. */
static json_t *custom_input(const struct words_call *words)
{
    json_auto_t *arguments = json_loads(words->arguments, JSON_DECODE_ANY, NULL);

    return json_string(json_get_string(arguments, "input", words->arguments));
}

static json_t *call_item(const struct script_call *call, const struct words_call *words,
                         const struct prompt *prompt)
{
    const json_t *tool = prompt_tool(prompt, words->name);
    bool custom = !strcmp(json_get_string(tool, "type", ""), "custom");
    json_t *item = json_build(
        "{ss ss ss ss}", "type", custom ? "custom_tool_call" : "function_call", "name",
        words->name, custom ? "input" : "arguments", "", "status", "in_progress");

    if (call->send_id != WHEN_NEVER)
        json_set_string(item, "call_id", words_call_id(words));
    return item;
}

/* The first piece carries the item, so that the walk can open it. It is empty unless the arguments are sent
 * whole: OpenAI's servers announce a call before its arguments. */
static void add_call_pieces(struct reply *reply, const struct script_call *call,
                            const struct prompt *prompt)
{
    struct words_call words;
    json_auto_t *list = NULL;
    json_auto_t *item = NULL;
    json_t *text;
    size_t i;

    words_call_init(&words, call, prompt);
    item = call_item(call, &words, prompt);
    if (json_object_get(item, "input")) {
        json_auto_t *input = custom_input(&words);

        free(words.arguments);
        words.arguments = mem_strdup(json_string_value(input));
    }
    list = words_call_split(&words, call);
    if (call->split != SPLIT_WHOLE)
        json_array_insert_new(list, 0, json_string(""));
    json_array_foreach (list, i, text) {
        json_t *piece = json_build("{ss sO}", "kind", "call", "text", text);

        if (i == 0)
            json_object_set(piece, "item", item);
        json_array_append_new(reply->pieces, piece);
    }
    words_call_clear(&words);
}

static void make_pieces(struct reply *reply, const struct prompt *prompt)
{
    const struct script_answer *answer = reply->answer;

    add_summary_pieces(reply, prompt);
    add_text_pieces(reply, "reasoning", &answer->reasoning, prompt);
    if (answer->encrypted_reasoning && !json_array_size(reply->pieces))
        json_array_append_new(reply->pieces, json_build("{ss}", "kind", "hidden"));
    reply->text_from = json_array_size(reply->pieces);
    add_text_pieces(reply, "text", &answer->text, prompt);
    reply->text_count = json_array_size(reply->pieces) - reply->text_from;
    add_annotation_pieces(reply, prompt);
    add_text_pieces(reply, "refusal", &answer->refusal, prompt);
    for (size_t i = 0; i < answer->call_count; i++)
        add_call_pieces(reply, &answer->calls[i], prompt);
}

/* ---- kinds: the item and the part of a piece, and the names of its events ---- */

/* clang-format off */
static const struct kind {
    const char *name;
    const char *item; /* its type */
    const char *list; /* the member of the item that holds its parts; NULL: it has no parts */
    const char *part; /* its type */
    const char *key;  /* of the text, in the part or in the call */
    const char *index; /* the member of an event with the number of the part */
    const char *events;      /* response.X.delta and response.X.done */
    const char *part_events; /* response.X.added and response.X.done */
} kinds[] = {
    {"summary",    "reasoning", "summary", "summary_text",   "text",    "summary_index", "reasoning_summary_text", "reasoning_summary_part"},
    {"reasoning",  "reasoning", "content", "reasoning_text", "text",    "content_index", "reasoning_text",         "content_part"},
    {"hidden",     "reasoning", NULL,      NULL,             NULL,      NULL,            NULL,                     NULL},
    {"text",       "message",   "content", "output_text",    "text",    "content_index", "output_text",            "content_part"},
    {"annotation", "message",   "content", "output_text",    "text",    "content_index", "output_text",            "content_part"},
    {"refusal",    "message",   "content", "refusal",        "refusal", "content_index", "refusal",                "content_part"},
    {"call",       "function_call",    NULL, NULL, "arguments", NULL, "function_call_arguments", NULL},
    {"call",       "custom_tool_call", NULL, NULL, "input",     NULL, "custom_tool_call_input",  NULL},
};
/* clang-format on */

static const char *type_of(const json_t *item)
{
    return json_get_string(item, "type", "");
}

/* The kind of that name. There are two kinds of calls, which differ in the type of their items. */
static const struct kind *kind_of(const char *name, const char *item_type)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (!strcmp(kinds[i].name, name) &&
            (strcmp(name, "call") || !strcmp(kinds[i].item, item_type)))
            return &kinds[i];
    }
    return NULL;
}

/* ---- events ---- */

/* Takes the fields. */
static void emit(struct reply *reply, struct buf *out, const char *type, json_t *fields)
{
    json_t *event = json_build("{ss sI}", "type", type, "sequence_number", reply->events++);

    json_object_update(event, fields);
    json_decref(fields);
    reply_add_event(reply, out, type, event);
}

/* response.`name`.`verb` of the open item; takes the fields. */
static void emit_scoped(struct reply *reply, struct buf *out, const char *name,
                        const char *verb, json_t *fields)
{
    AUTO_FREE char *type = mem_printf("response.%s.%s", name, verb);
    json_t *scope = json_build("{sO si}", "item_id", json_object_get(reply->open, "id"),
                               "output_index", (int)json_array_size(reply->output) - 1);

    json_object_update(scope, fields);
    json_decref(fields);
    emit(reply, out, type, scope);
}

static void emit_item(struct reply *reply, struct buf *out, const char *type)
{
    emit(reply, out, type,
         json_build("{si so}", "output_index", (int)json_array_size(reply->output) - 1, "item",
                    json_deep_copy(reply->open)));
}

static json_t *usage_object(const struct reply *reply)
{
    const json_t *in = json_object_get(reply->usage, "prompt_tokens_details");
    const json_t *out = json_object_get(reply->usage, "completion_tokens_details");

    if (!reply->usage)
        return json_null();
    return json_build(
        "{sI s{sI si} sI s{sI} sI}", "input_tokens",
        json_get_int(reply->usage, "prompt_tokens", 0), "input_tokens_details", "cached_tokens",
        json_get_int(in, "cached_tokens", 0), "cache_write_tokens", 0, "output_tokens",
        json_get_int(reply->usage, "completion_tokens", 0), "output_tokens_details",
        "reasoning_tokens", json_get_int(out, "reasoning_tokens", 0), "total_tokens",
        json_get_int(reply->usage, "total_tokens", 0));
}

static json_t *response(const struct reply *reply, const char *status)
{
    json_t *output = reply->output ? json_deep_copy(reply->output) : json_array();

    return json_build("{ss ss sI ss ss so sn sn sn sn sn sb ss s[]}", "id", reply->id, "object",
                      "response", "created_at", reply->created, "status", status, "model",
                      reply->model, "output", output, "error", "incomplete_details", "usage",
                      "instructions", "metadata", "parallel_tool_calls", 1, "tool_choice",
                      "auto", "tools");
}

static void emit_response(struct reply *reply, struct buf *out, const char *type,
                          json_t *object)
{
    emit(reply, out, type, json_build("{so}", "response", object));
}

/* ---- parts and items ---- */

static json_t *open_part_of(const struct reply *reply, const struct kind *kind)
{
    const json_t *list = json_object_get(reply->open, kind->list);

    return json_array_get(list, json_array_size(list) - 1);
}

static int part_index(const struct reply *reply, const struct kind *kind)
{
    return (int)json_array_size(json_object_get(reply->open, kind->list)) - 1;
}

static const struct kind *open_kind(const struct reply *reply)
{
    return reply->kind ? kind_of(reply->kind, type_of(reply->open)) : NULL;
}

static json_t *new_part(const struct kind *kind)
{
    json_t *part = json_build("{ss ss}", "type", kind->part, kind->key, "");

    if (!strcmp(kind->part, "output_text")) {
        json_set(part, "annotations", json_array());
        json_set(part, "logprobs", json_array());
    }
    return part;
}

static void open_part(struct reply *reply, struct buf *out, const struct kind *kind)
{
    json_t *list = json_object_get(reply->open, kind->list);

    if (!list) {
        list = json_array();
        json_object_set_new(reply->open, kind->list, list);
    }
    json_array_append_new(list, new_part(kind));
    emit_scoped(
        reply, out, kind->part_events, "added",
        json_build("{si so}", kind->index, part_index(reply, kind), "part", new_part(kind)));
}

static json_t *grown_text(const struct reply *reply)
{
    return json_string(reply->growing.data ? reply->growing.data : "");
}

/* Ends the open part, or the arguments of the open call. Does nothing if no part is open. */
static void close_part(struct reply *reply, struct buf *out)
{
    const struct kind *kind = open_kind(reply);
    json_t *fields;

    if (!kind || !kind->events)
        return;
    fields = json_build("{so}", kind->key, grown_text(reply));
    if (kind->list) {
        json_object_set_new(open_part_of(reply, kind), kind->key, grown_text(reply));
        json_set_int(fields, kind->index, part_index(reply, kind));
    } else {
        json_object_set_new(reply->open, kind->key, grown_text(reply));
        json_object_set(fields, "name", json_object_get(reply->open, "name"));
    }
    if (!strcmp(kind->name, "text"))
        json_set(fields, "logprobs", json_array());
    emit_scoped(reply, out, kind->events, "done", fields);
    if (kind->list)
        emit_scoped(reply, out, kind->part_events, "done",
                    json_build("{si so}", kind->index, part_index(reply, kind), "part",
                               json_deep_copy(open_part_of(reply, kind))));
    buf_reset(&reply->growing);
    reply->kind = NULL;
}

/* Ends the open item, if there is one. Reasoning has no status; its encrypted content comes last. */
static void close_item(struct reply *reply, struct buf *out, const char *status)
{
    if (!reply->open)
        return;
    close_part(reply, out);
    if (strcmp(type_of(reply->open), "reasoning") != 0)
        json_set_string(reply->open, "status", status);
    else if (reply->answer->encrypted_reasoning)
        json_set_string(reply->open, "encrypted_content", reply->answer->encrypted_reasoning);
    emit_item(reply, out, "response.output_item.done");
    reply->open = NULL;
    reply->kind = NULL;
}

static json_t *new_item(const struct kind *kind, json_t *given)
{
    static const struct {
        const char *type;
        const char *prefix;
    } prefixes[] = {{"message", "msg_"},
                    {"reasoning", "rs_"},
                    {"function_call", "fc_"},
                    {"custom_tool_call", "ctc_"}};
    const char *type = given ? type_of(given) : kind->item;
    json_t *item = given ? json_copy(given) : json_build("{ss}", "type", type);
    char id[ID_SIZE] = "";

    for (size_t i = 0; i < COUNT_OF(prefixes); i++)
        if (!strcmp(prefixes[i].type, type))
            id_make(id, prefixes[i].prefix);
    json_set_string(item, "id", id);
    if (!strcmp(type, "reasoning")) {
        json_set(item, "summary", json_array());
    } else if (!strcmp(type, "message")) {
        json_set_string(item, "status", "in_progress");
        json_set_string(item, "role", "assistant");
        json_set(item, "content", json_array());
    }
    return item;
}

static void open_item(struct reply *reply, struct buf *out, json_t *item)
{
    close_item(reply, out, "completed");
    if (!reply->output)
        reply->output = json_array();
    json_array_append_new(reply->output, item);
    reply->open = item;
    emit_item(reply, out, "response.output_item.added");
}

/* ---- the stages of a stream ---- */

static void begin(struct reply *reply, struct buf *out)
{
    emit_response(reply, out, "response.created", response(reply, "in_progress"));
    emit_response(reply, out, "response.in_progress", response(reply, "in_progress"));
}

/* Opens and closes items and parts until `piece` can be added. An annotation belongs to the text part that
 * is open, so it counts as text here. */
static void make_room(struct reply *reply, struct buf *out, const struct kind *kind,
                      json_t *piece)
{
    bool annotates = !strcmp(kind->name, "annotation");

    if (!reply->open || json_object_get(piece, "item") ||
        strcmp(type_of(reply->open), kind->item) != 0)
        open_item(reply, out, new_item(kind, json_object_get(piece, "item")));
    if (annotates && reply->kind && !strcmp(reply->kind, "text"))
        return;
    if (reply->kind &&
        (strcmp(reply->kind, kind->name) != 0 || json_get_bool(piece, "begins", false)))
        close_part(reply, out);
    if (!reply->kind && kind->list)
        open_part(reply, out, kind);
    if (!reply->kind)
        reply->kind = annotates ? "text" : kind->name;
}

static void annotate(struct reply *reply, struct buf *out, const struct kind *kind,
                     json_t *annotation)
{
    json_t *list = json_object_get(open_part_of(reply, kind), "annotations");

    json_array_append(list, annotation);
    emit_scoped(reply, out, "output_text.annotation", "added",
                json_build("{si si sO}", "content_index", part_index(reply, kind),
                           "annotation_index", (int)json_array_size(list) - 1, "annotation",
                           annotation));
}

static void add_piece(struct reply *reply, struct buf *out, json_t *piece)
{
    const json_t *given = json_object_get(piece, "item");
    const struct kind *kind =
        kind_of(json_get_string(piece, "kind", ""), type_of(given ? given : reply->open));
    const char *text = json_get_string(piece, "text", "");
    json_t *fields;

    make_room(reply, out, kind, piece);
    if (!strcmp(kind->name, "annotation")) {
        annotate(reply, out, kind, json_object_get(piece, "annotation"));
        return;
    }
    if (!*text)
        return;
    if (reply->growing.length < REPLY_TEXT_LIMIT)
        buf_add_text(&reply->growing, text);
    fields = json_build("{ss}", "delta", text);
    if (!strcmp(kind->name, "text"))
        json_set(fields, "logprobs", json_array());
    if (kind->list)
        json_set_int(fields, kind->index, part_index(reply, kind));
    emit_scoped(reply, out, kind->events, "delta", fields);
}

/* The status of a response for the finish_reason of the script, which is a word of Chat Completions. */
static const char *end_status(const struct reply *reply)
{
    const char *reason = reply->finish_reason ? reply->finish_reason : "";

    return !strcmp(reason, "length") || !strcmp(reason, "content_filter") ? "incomplete"
                                                                          : "completed";
}

static json_t *ended_response(const struct reply *reply)
{
    const char *status = end_status(reply);
    json_t *object = response(reply, status);

    if (!strcmp(status, "incomplete"))
        json_set(object, "incomplete_details",
                 json_build("{ss}", "reason",
                            strcmp(reply->finish_reason, "length") ? reply->finish_reason
                                                                   : "max_output_tokens"));
    json_set(object, "usage", usage_object(reply));
    return object;
}

static void finish(struct reply *reply, struct buf *out)
{
    AUTO_FREE char *type = mem_printf("response.%s", end_status(reply));

    if (!reply->finish_reason) /* never sent */
        return;
    close_item(reply, out, end_status(reply));
    emit_response(reply, out, type, ended_response(reply));
}

static void add_usage(struct reply *reply, struct buf *out)
{
    (void)reply;
    (void)out;
}

static json_t *failed_response(struct reply *reply, const json_t *error)
{
    json_t *object = response(reply, "failed");

    json_set(object, "error",
             json_build(
                 "{ss ss}", "code",
                 json_get_string(error, "code", json_get_string(error, "type", "server_error")),
                 "message", json_get_string(error, "message", "")));
    return object;
}

/* As OpenAI's servers do: the event `error`, and then the response with status failed. */
static void add_error(struct reply *reply, struct buf *out, json_t *error)
{
    emit(reply, out, "error", json_build("{sO}", "error", error));
    emit_response(reply, out, "response.failed", failed_response(reply, error));
    json_decref(error);
}

/* ---- a whole answer ---- */

static json_t *make_whole(struct reply *reply, const struct prompt *prompt)
{
    struct buf discarded = {0};

    (void)prompt;
    for (size_t i = 0; i < reply_piece_total(reply); i++) {
        add_piece(reply, &discarded, reply_piece_at(reply, i));
        buf_reset(&discarded);
    }
    close_item(reply, &discarded, end_status(reply));
    buf_clear(&discarded);
    return ended_response(reply);
}

static json_t *whole_error(struct reply *reply, json_t *error)
{
    json_t *object = failed_response(reply, error);

    json_decref(error);
    return object;
}

const struct reply_shape reply_responses = {
    .id_prefix = "resp_",
    .ends_with_done = false,
    .make_pieces = make_pieces,
    .whole = make_whole,
    .whole_error = whole_error,
    .begin = begin,
    .piece = add_piece,
    .finish = finish,
    .usage = add_usage,
    .error = add_error,
};
