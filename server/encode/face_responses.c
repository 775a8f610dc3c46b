/*
 * face_responses.c -- a run as the Responses API shows it: response.* events and the response object.
 *
 * It is the other rendering of the same run_event; face_assistants.c says what holds for both.
 *
 * Events have a grammar. Each item opens (output_item.added), its parts open, grow and close, and
 * the item closes (output_item.done). `output_index` counts items from 0 without gaps, and one item
 * is open at a time. openai-node's responses.stream() checks all of it and throws on a violation, so
 * it is the reference. Other SDKs are more lenient. The order and the fields of every event are in a
 * table in openapi.yaml.
 *
 * Every event has a `sequence_number`, which is the number of its frame. A client that reconnects
 * asks for the frames after the last number it has. So a frame is rendered once, and the log and all
 * clients get the same bytes (core/event/frames.h).
 *
 * What differs between types of items is data. Text has a table by kind of part, arguments have one
 * by type of call, and a hosted tool brings its events in struct tool_item. No tool is known by name
 * here.
 *
 * Text deltas are written by hand, because they are the token path; everything else is built with
 * jansson. A delta has no object to build and free, only bytes to copy and one escape.
 *
 * The end of a stream follows OpenAI where its behaviour is known. A failure is an `error` event and
 * then response.failed with the same error, since some SDKs read only the one and some the other.
 * There is no event for a cancelled response: it ends as response.failed with the status cancelled
 * and no error.
 */

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/context/compaction.h"
#include "core/run/context/context_fit.h"
#include "core/run/turn/run.h"
#include "core/tool/tool_item.h"
#include "server/encode/encode.h"
#include "server/encode/faces.h"

/* ---- Frames ---- */

/* One event: {"type","sequence_number", ...fields}; takes `fields`. */
static void frame(struct frames *frames, const char *type, json_t *fields)
{
    int64_t number = frames_begin(frames, type);
    json_auto_t *event =
        json_build("{s:s, s:I}", "type", type, "sequence_number", (json_int_t)number);

    json_object_update(event, fields);
    json_add_text(&frames->bytes, event);
    frames_end(frames);
    json_decref(fields);
}

/* An event about one item. Takes `fields`, which may be NULL. */
static void item_frame(struct frames *frames, const char *type, const struct item *item,
                       json_t *fields)
{
    json_t *all =
        json_build("{s:s, s:i}", "item_id", item->row.id, "output_index", item->output_index);

    if (fields)
        json_object_update(all, fields);
    json_decref(fields);
    frame(frames, type, all);
}

/* ---- The response itself ---- */

static void response_frame(const struct run *run, struct frames *frames, const char *type,
                           json_t *output)
{
    frame(frames, type, json_build("{s:o}", "response", encode_response(&run->row, output)));
}

/* ---- Failures ---- */

#define NO_QUOTA "insufficient_quota"

/* The last line is for all kinds that are not in the table. */
/* clang-format off */
static const struct failure {
    enum err_code kind;
    const char *type; /* of the error envelope */
    int http_status;
} failures[] = {
    {ERR_LIMIT,    "requests",              429},
    {ERR_INVALID,  "invalid_request_error", 400},
    {ERR_UPSTREAM, "server_error",          500},
};

/* Codes whose envelope has another type than the kind, or names a parameter. */
static const struct {
    const char *code;
    const char *type;  /* NULL: of the kind */
    const char *param; /* NULL: none */
} named_failures[] = {
    {NO_QUOTA,                  NO_QUOTA, NULL},
    {"context_length_exceeded", NULL,     "input"},
    {RUN_NO_MODEL,              NULL,     "model"},
};
/* clang-format on */

static const struct failure *failure_of(enum err_code kind)
{
    size_t i = 0;

    while (i + 1 < COUNT_OF(failures) && failures[i].kind != kind)
        i++;
    return &failures[i];
}

/* The error as it is in an envelope: {"message", "type", "param", "code"}. */
static json_t *failure_object(const struct run_row *row, enum err_code kind)
{
    json_auto_t *error = encode_response_error(row);
    const char *code = json_get_string(error, "code", "server_error");
    const char *type = failure_of(kind)->type;
    const char *param = NULL;

    for (size_t i = 0; i < COUNT_OF(named_failures); i++) {
        if (strcmp(named_failures[i].code, code) != 0)
            continue;
        type = named_failures[i].type ? named_failures[i].type : type;
        param = named_failures[i].param;
    }
    return json_build("{s:s, s:s, s:s?, s:s}", "message",
                      json_get_string(error, "message", "The server had to stop this."), "type",
                      type, "param", param, "code", code);
}

/* OpenAI's schema has the members at the top, its server sends them in `error`. Clients read one or the
 * other, so both are there. */
static void error_frame(const struct run *run, struct frames *frames)
{
    json_t *object = failure_object(&run->row, run->failure);

    frame(frames, "error",
          json_build("{s:O, s:O, s:O, s:o}", "code", json_object_get(object, "code"), "message",
                     json_object_get(object, "message"), "param",
                     json_object_get(object, "param"), "error", object));
}

/* A cancelled response ends with response.failed, the status "cancelled" inside and no error: the API has no
 * event for it. */
static void emit_status(const struct run *run, struct frames *frames)
{
    if (frames->next == 0)
        response_frame(run, frames, "response.created", json_array());
    switch (run->row.status) {
    case RUN_QUEUED: response_frame(run, frames, "response.queued", json_array()); return;
    case RUN_IN_PROGRESS:
        response_frame(run, frames, "response.in_progress", json_array());
        return;
    case RUN_COMPLETED:
        response_frame(run, frames, "response.completed", run_output(run));
        return;
    case RUN_INCOMPLETE:
        response_frame(run, frames, "response.incomplete", run_output(run));
        return;
    case RUN_FAILED:
    case RUN_EXPIRED:
        error_frame(run, frames);
        response_frame(run, frames, "response.failed", run_output(run));
        return;
    case RUN_CANCELLED: response_frame(run, frames, "response.failed", json_array()); return;
    case RUN_CANCELLING:
    case RUN_REQUIRES_ACTION:
    case RUN_STATUS_NONE:
    case RUN_STATUS_COUNT: return;
    }
}

/* ---- Items ---- */

static void emit_item(struct frames *frames, const char *type, const struct item *item,
                      json_t *object)
{
    frame(frames, type,
          json_build("{s:i, s:o}", "output_index", item->output_index, "item", object));
}

/* ---- Content parts and their text ---- */

static const struct part *part_of(const struct run_event *event)
{
    return &event->item->parts[event->part];
}

/* clang-format off */
static const struct text_event {
    const char *delta;      /* name of the event */
    const char *delta_tail; /* what follows the text in it */
    const char *done;
    const char *done_key;
    const char *part_added;
    const char *part_done;
    const char *index;
} text_events[] = {
    [PART_TEXT]      = {"response.output_text.delta",            "\",\"logprobs\":[]}", "response.output_text.done",            "text",
                        "response.content_part.added",           "response.content_part.done",           "content_index"},
    [PART_REFUSAL]   = {"response.refusal.delta",                "\"}",                 "response.refusal.done",                "refusal",
                        "response.content_part.added",           "response.content_part.done",           "content_index"},
    [PART_REASONING] = {"response.reasoning_text.delta",         "\"}",                 "response.reasoning_text.done",         "text",
                        "response.content_part.added",           "response.content_part.done",           "content_index"},
    [PART_SUMMARY]   = {"response.reasoning_summary_text.delta", "\"}",                 "response.reasoning_summary_text.done", "text",
                        "response.reasoning_summary_part.added", "response.reasoning_summary_part.done", "summary_index"},
};
/* clang-format on */

static const struct text_event *text_event_of(const struct run_event *event)
{
    return &text_events[part_of(event)->kind];
}

static void part_frame(struct frames *frames, const char *type, const struct run_event *event)
{
    item_frame(frames, type, event->item,
               json_build("{s:i, s:o}", text_event_of(event)->index, (int)part_of(event)->index,
                          "part", part_object(part_of(event))));
}

static void emit_annotation(const struct run_event *event, struct frames *frames)
{
    item_frame(frames, "response.output_text.annotation.added", event->item,
               json_build("{s:i, s:i, s:O}", "content_index", (int)part_of(event)->index,
                          "annotation_index", (int)event->number, "annotation", event->fields));
}

/* The end of a delta whose client has asked for probabilities. */
static void add_logprobs(struct buf *out, const json_t *tokens)
{
    buf_add_text(out, "\",\"logprobs\":");
    json_add_text(out, tokens);
    buf_add_text(out, "}");
}

/* The token path. */
static void emit_text(const struct run_event *event, struct frames *frames)
{
    const struct text_event *text = text_event_of(event);
    struct buf *out = &frames->bytes;
    int64_t number = frames_begin(frames, text->delta);

    buf_add_text(out, "{\"type\":\"");
    buf_add_text(out, text->delta);
    buf_add_text(out, "\",\"sequence_number\":");
    buf_add_int(out, number);
    buf_add_text(out, ",\"item_id\":\"");
    buf_add_text(out, event->item->row.id);
    buf_add_text(out, "\",\"output_index\":");
    buf_add_int(out, event->item->output_index);
    buf_add_text(out, ",\"");
    buf_add_text(out, text->index);
    buf_add_text(out, "\":");
    buf_add_int(out, part_of(event)->index);
    buf_add_text(out, ",\"delta\":\"");
    buf_add_json_escaped(out, event->text, event->length);
    if (event->fields)
        add_logprobs(out, event->fields);
    else
        buf_add_text(out, text->delta_tail);
    frames_end(frames);
}

static void emit_part_closed(const struct run_event *event, struct frames *frames)
{
    const struct part *part = part_of(event);
    const struct text_event *text = text_event_of(event);
    json_t *fields = json_build("{s:i}", text->index, (int)part->index);

    json_set(fields, text->done_key,
             json_stringn_nocheck(part->text.data ? part->text.data : "", part->text.length));
    if (part->kind == PART_TEXT)
        json_set(fields, "logprobs",
                 part->logprobs ? json_incref(part->logprobs) : json_array());
    item_frame(frames, text->done, event->item, fields);
    part_frame(frames, text->part_done, event);
}

/* ---- Calls ---- */

/* Types of calls whose arguments are streamed. The others have no such events. */
/* clang-format off */
static const struct argument_event {
    const char *delta;
    const char *done;
    const char *done_key;
} argument_events[ITEM_TYPE_COUNT] = {
    [ITEM_FUNCTION_CALL]    = {"response.function_call_arguments.delta", "response.function_call_arguments.done", "arguments"},
    [ITEM_CUSTOM_TOOL_CALL] = {"response.custom_tool_call_input.delta",  "response.custom_tool_call_input.done",  "input"},
    [ITEM_MCP_CALL]         = {"response.mcp_call_arguments.delta",      "response.mcp_call_arguments.done",      "arguments"},
};
/* clang-format on */

static void emit_arguments(const struct run_event *event, struct frames *frames)
{
    const struct argument_event *names = &argument_events[event->item->row.type];

    if (names->delta)
        item_frame(
            frames, names->delta, event->item,
            json_build("{s:o}", "delta", json_stringn_nocheck(event->text, event->length)));
}

/* Such events have the index of the item, and not its id. */
static void part_event(struct frames *frames, const struct item_parts *parts, const char *end,
                       const struct item *item, size_t index, const char *key, const char *text)
{
    char type[96];

    (void)snprintf(type, sizeof(type), "%s%s", parts->event, end);
    frame(frames, type,
          json_build("{s:i, s:i, s:s}", "output_index", item->output_index, parts->index,
                     (int)index, key, text));
}

/* The strings of a call, such as its shell commands. They are known when all arguments are, so each is sent
 * as one delta. */
static void emit_parts(const struct item *item, const struct item_parts *parts,
                       struct frames *frames)
{
    size_t i;
    json_t *part;

    json_array_foreach (parts->list(item->fields), i, part) {
        const char *text = json_string_value(part);

        part_event(frames, parts, ".added", item, i, parts->key, "");
        part_event(frames, parts, ".delta", item, i, "delta", text);
        part_event(frames, parts, ".done", item, i, parts->key, text);
    }
}

static void emit_arguments_done(const struct run_event *event, struct frames *frames)
{
    const struct item *item = event->item;
    const struct argument_event *names = &argument_events[item->row.type];
    json_t *fields;

    if (item->look && item->look->parts)
        emit_parts(item, item->look->parts, frames);
    if (!names->done)
        return;
    fields = json_object();
    json_set_string(fields, names->done_key, item->arguments.data ? item->arguments.data : "");
    if (item->row.type == ITEM_FUNCTION_CALL)
        json_set_string(fields, "name", item->name);
    item_frame(frames, names->done, item, fields);
}

static const struct item_stream *streams_of(const struct item *item)
{
    static const struct item_stream none[] = {{0}};

    return item->look && item->look->streams ? item->look->streams : none;
}

/* .done events of the fields that are whole when this stage begins. */
static void emit_whole(const struct run_event *event, struct frames *frames)
{
    const struct item *item = event->item;

    for (const struct item_stream *stream = streams_of(item); stream->field; stream++) {
        char type[96];

        if (strcmp(stream->whole_at, event->name) != 0)
            continue;
        (void)snprintf(type, sizeof(type), "%s.done", stream->event);
        item_frame(frames, type, item,
                   json_build("{s:s}", stream->field,
                              json_get_string(item->fields, stream->field, "")));
    }
}

/* The output of a call as it comes, where that is an item of its own. */
static void emit_answer_stage(const struct run_event *event, const struct item_answer *answer,
                              struct frames *frames)
{
    char type[96];

    if (!answer->event)
        return;
    (void)snprintf(type, sizeof(type), "%s.%s", answer->event, event->name);
    item_frame(frames, type, event->item, json_incref(event->fields));
}

/* response.<item type>.<stage>. Hosted calls have no "failed" event: the status of the item says it. */
static void emit_stage(const struct run_event *event, struct frames *frames)
{
    bool hosted = item_type_kind(event->item->row.type) == ITEM_KIND_HOSTED_CALL;
    bool failed = strcmp(event->name, "failed") == 0;
    const struct item_answer *answer = event->item->look ? event->item->look->answer : NULL;
    char type[96];

    if (answer) {
        emit_answer_stage(event, answer, frames);
        return;
    }
    emit_whole(event, frames);
    (void)snprintf(type, sizeof(type), "response.%s.%s", item_row_type_name(&event->item->row),
                   failed && hosted ? "completed" : event->name);
    item_frame(frames, type, event->item, json_incref(event->fields));
}

/* A piece of a field that streams. */
static void emit_delta(const struct run_event *event, struct frames *frames)
{
    for (const struct item_stream *stream = streams_of(event->item); stream->field; stream++) {
        char type[96];

        if (strcmp(stream->field, event->name) != 0)
            continue;
        (void)snprintf(type, sizeof(type), "%s.delta", stream->event);
        item_frame(
            frames, type, event->item,
            json_build("{s:o}", "delta", json_stringn_nocheck(event->text, event->length)));
    }
}

/* Live title and metadata are sent with the in_progress event, which SDKs accept more than once. */
static void emit_metadata(const struct run_event *event, struct frames *frames)
{
    char type[96];

    (void)snprintf(type, sizeof(type), "response.%s.in_progress",
                   item_row_type_name(&event->item->row));
    item_frame(frames, type, event->item, json_build("{s:O}", "runnel", event->fields));
}

/* ---- Steering ---- */

static void emit_steered(const struct run *run, const struct run_event *event,
                         struct frames *frames)
{
    frame(frames, "response.steer.accepted",
          json_build("{s:{s:s, s:s}}", "steer", "id", event->name, "previous_response_id",
                     run->row.id));
}

/* ---- Waiting ---- */

/* openai-node's strict stream helper throws on unknown events, but ignores "keepalive". */
static void emit_held(const struct run_event *event, struct frames *frames)
{
    frame(frames, "keepalive", json_build("{s:O}", "runnel", event->fields));
}

/* ---- The table of events ---- */

static void responses_event(const struct run *run, const struct run_event *event,
                            struct frames *frames)
{
    switch (event->kind) {
    case RUN_EVENT_TEXT: emit_text(event, frames); return;
    case RUN_EVENT_STATUS: emit_status(run, frames); return;
    case RUN_EVENT_ITEM_OPENED:
        emit_item(frames, "response.output_item.added", event->item,
                  run_item_object(run, event->item));
        return;
    case RUN_EVENT_PART_OPENED:
        part_frame(frames, text_event_of(event)->part_added, event);
        return;
    case RUN_EVENT_ANNOTATION: emit_annotation(event, frames); return;
    case RUN_EVENT_PART_CLOSED: emit_part_closed(event, frames); return;
    case RUN_EVENT_ARGUMENTS: emit_arguments(event, frames); return;
    case RUN_EVENT_ARGUMENTS_DONE: emit_arguments_done(event, frames); return;
    case RUN_EVENT_STAGE: emit_stage(event, frames); return;
    case RUN_EVENT_DELTA: emit_delta(event, frames); return;
    case RUN_EVENT_METADATA: emit_metadata(event, frames); return;
    case RUN_EVENT_ITEM_CLOSED:
        emit_item(frames, "response.output_item.done", event->item,
                  run_item_object(run, event->item));
        return;
    case RUN_EVENT_HELD: emit_held(event, frames); return;
    case RUN_EVENT_STEERED: emit_steered(run, event, frames); return;
    case RUN_EVENT_STEP_OPENED:
    case RUN_EVENT_STEP_CLOSED:
    case RUN_EVENT_KIND_COUNT: return; /* responses have no steps */
    }
}

/* ---- Objects ---- */

static bool is_window(const struct run *run)
{
    return run->settings.compact == RUN_COMPACT_WINDOW;
}

/* The output of a compaction: messages of the user's side, unchanged, and the item that replaces the rest. */
static json_t *window_output(const struct run *run)
{
    size_t count;
    AUTO_FREE const struct item_row **items = run_gather_items(run, &count);
    json_t *output = json_array();

    for (size_t i = context_window(items, count); i < count; i++) {
        bool said_to_it = *items[i]->role && strcmp(items[i]->role, "assistant") != 0;
        bool made = items[i]->type == ITEM_COMPACTION && !items[i]->input &&
                    strcmp(items[i]->run_id, run->row.id) == 0;

        if (said_to_it || made)
            json_array_append_new(output, encode_item(items[i], run->settings.includes));
    }
    return output;
}

static json_t *responses_object(const struct run *run)
{
    if (is_window(run))
        return encode_compaction(&run->row, window_output(run));
    return encode_response(&run->row, run_output(run));
}

/* A compaction that did not complete has no object. */
static bool has_failed(const struct run *run)
{
    return run->row.status == RUN_FAILED || run->row.status == RUN_EXPIRED ||
           (is_window(run) && run->row.status != RUN_COMPLETED);
}

static void add_header(struct sink_answer *answer, const char *name, const char *value)
{
    struct sink_header *header = &answer->headers[answer->header_count++];

    header->name = name;
    (void)snprintf(header->value, sizeof(header->value), "%s", value);
}

static void add_retry_after(struct sink_answer *answer, uint64_t wait_ns)
{
    uint64_t seconds = (wait_ns + NS_PER_SECOND - 1) / NS_PER_SECOND;
    char text[24];

    (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)seconds);
    add_header(answer, "Retry-After", text);
}

/* SDKs send a request again after 429 and 500. That cannot help without a quota, and would do a second time
 * what a tool has begun to do. */
static void fill_failure(const struct run_row *row, enum err_code kind, unsigned calls,
                         struct sink_answer *ret_answer)
{
    json_t *error = failure_object(row, kind);

    ret_answer->status = failure_of(kind)->http_status;
    ret_answer->object = json_build("{s:o}", "error", error);
    if (calls || strcmp(json_get_string(error, "code", ""), NO_QUOTA) == 0)
        add_header(ret_answer, "x-should-retry", "false");
    if (row->flags & RUN_STORED)
        add_header(ret_answer, "runnel-response-id", row->id);
}

/* The kind is not stored. The codes are those that core/run/turn/run_model.c gives to failures. */
static enum err_code kind_of(const struct run_row *row)
{
    json_auto_t *error = encode_response_error(row);
    const char *code = json_get_string(error, "code", "server_error");

    if (strcmp(code, "rate_limit_exceeded") == 0 || strcmp(code, NO_QUOTA) == 0)
        return ERR_LIMIT;
    return strcmp(code, "server_error") == 0 ? ERR_UPSTREAM : ERR_INVALID;
}

void responses_failure(const struct run_row *row, struct sink_answer *ret_answer)
{
    fill_failure(row, kind_of(row), chain_calls_of(row->usage), ret_answer);
}

/* A failed response is an error for the client that waits for it. If it is stored, others can read it, and a
 * header has its id. A deleted one is gone, and the sentence says what was deleted. */
static void responses_answer(const struct run *run, struct sink_answer *ret_answer)
{
    if (run->deleted) {
        ret_answer->status = 404;
        ret_answer->object =
            json_build("{s:{s:s, s:s, s:n, s:n}}", "error", "message", run->deleted, "type",
                       "invalid_request_error", "param", "code");
        return;
    }
    if (!has_failed(run)) {
        ret_answer->object = responses_object(run);
        return;
    }
    if (run->retry_after_ns)
        add_retry_after(ret_answer, run->retry_after_ns);
    fill_failure(&run->row, run->failure, run->chain.all_calls, ret_answer);
}

/* All events of an item have its id. Two of them have a part, when it opens and when it closes. */
static void read_back(const json_t *data, struct item *item, json_int_t *index)
{
    const json_t *part = json_object_get(data, "part");
    const json_t *annotation = json_object_get(data, "annotation");
    const char *delta = json_get_string(data, "delta", NULL);

    (void)index;
    if (strcmp(json_get_string(data, "item_id", ""), item->row.id) != 0)
        return;
    if (part && item->part_open)
        item->part_open = false;
    else if (part)
        item_add_part(item, part_kind_of(part));
    else if (delta && item->part_open)
        buf_add_text(&item->parts[item->part_count - 1].text, delta);
    else if (delta)
        buf_add_text(&item->arguments, delta);
    else if (annotation && item->part_open)
        item_annotate(item, json_deep_copy(annotation));
}

const struct face responses_face = {
    .event = responses_event,
    .stream_end = "data: [DONE]\n\n",
    .object = responses_object,
    .answer = responses_answer,
    .read_back = read_back,
};
