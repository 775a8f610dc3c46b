/*
 * face_assistants.c -- a run as the Assistants API shows it: thread.run.*, thread.run.step.* and
 * thread.message.* events, and the run object.
 *
 * The engine reports what happens as a run_event and knows nothing of either API. This file turns
 * each event into none, one or several frames. It runs on the loop of the run and reads the run
 * without locks; it changes nothing but the frames. A switch without a default lists all events,
 * so the compiler reports an event that a face forgets.
 *
 * The data of an event is the whole object as it is at that moment, not a difference; only deltas
 * are pieces. The SDKs accumulate deltas with rules of their own: strings are concatenated, numbers
 * are added, and entries of lists are matched by `index`. So an id or a name is sent once, in the
 * first delta, and never again: sent twice, it would double. `type` is exempt, the SDKs replace it.
 *
 * The API is older than the item model of the engine and has no place for parts of it. Reasoning
 * and lists of tools belong to no step, and are not shown. Calls of any type, remote servers
 * included, appear as calls of type "function", unless the tool has a step type of its own.
 *
 * Text deltas are written by hand, without a JSON tree: they are most of the frames of most runs.
 *
 * Frames are stored in the log of the run. When its node dies, the node that takes the run over
 * reads them back (recover.h), and read_back() at the end of this file collects the text that was
 * already sent. Hence a rule: what this file writes into a delta, read_back() must be able to read.
 */

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/withheld.h"
#include "core/run/turn/run.h"
#include "core/tool/tool_item.h"
#include "server/encode/encode.h"
#include "server/encode/faces.h"

/* One event; takes the object. */
static void frame(struct frames *frames, const char *event, json_t *object)
{
    frames_begin(frames, event);
    json_add_text(&frames->bytes, object);
    frames_end(frames);
    json_decref(object);
}

/* Two events with the same object, which is made once; takes it. */
static void frame_twice(struct frames *frames, const char *first, const char *second,
                        json_t *object)
{
    frame(frames, first, json_incref(object));
    frame(frames, second, object);
}

/* ---- The run ---- */

static void emit_status(const struct run *run, struct frames *frames)
{
    char event[64];

    (void)snprintf(event, sizeof(event), "thread.run.%s", run_status_name(run->row.status));
    /* Frame 0 is the first of the run. A thread that was created with the run has not been shown yet. */
    if (frames->next == 0) {
        if (*run->thread.id)
            frame(frames, "thread.created", encode_thread(&run->thread));
        frame_twice(frames, "thread.run.created", event, encode_run(&run->row));
    } else {
        frame(frames, event, encode_run(&run->row));
    }
}

/* ---- Steps ---- */

/* A step of tool calls opens without calls, because deltas add them. A step of a message has its id from the
 * start. */
static json_t *step_object(const struct run *run, const struct step *step, bool opening)
{
    struct step_load load = {.step = step->row};
    AUTO_FREE const struct item_row **items = run_step_items(run, step, &load.item_count);
    AUTO_FREE struct item_row *rows = mem_new_array(struct item_row, load.item_count);

    if (opening && step->row.type == STEP_TOOL_CALLS)
        load.item_count = 0;
    for (size_t i = 0; i < load.item_count; i++)
        rows[i] = *items[i];
    load.items = rows;
    return encode_step(&load, run->settings.includes);
}

static void emit_step_opened(const struct run *run, const struct run_event *event,
                             struct frames *frames)
{
    frame_twice(frames, "thread.run.step.created", "thread.run.step.in_progress",
                step_object(run, event->step, true));
}

static void emit_step_closed(const struct run *run, const struct run_event *event,
                             struct frames *frames)
{
    char name[64];

    (void)snprintf(name, sizeof(name), "thread.run.step.%s",
                   step_status_name(event->step->row.status));
    frame(frames, name, step_object(run, event->step, false));
}

/* thread.run.step.delta of one call; takes `call`. */
static void call_delta(const struct item *item, json_t *call, struct frames *frames)
{
    json_set_int(call, "index", (json_int_t)item->step_index);
    frame(frames, "thread.run.step.delta",
          json_build("{s:s, s:s, s:{s:{s:s, s:[o]}}}", "id", item->step->row.id, "object",
                     "thread.run.step.delta", "delta", "step_details", "type", "tool_calls",
                     "tool_calls", call));
}

/* The type of its tool call in a step; NULL means "function". A call of another type is shown when it begins
 * and, with the step, when it has ended. Its tool says what comes in deltas between (tool_item.h). */
static const char *step_type(const struct item *item)
{
    return item->look ? item->look->step_type : NULL;
}

static void emit_call_opened(const struct item *item, struct frames *frames)
{
    const char *type = step_type(item);

    if (type) {
        const char *opening = item->look->step_opening;

        call_delta(item,
                   json_build("{s:i, s:s, s:s, s:o}", "index", 0, "id", item->row.call_id,
                              "type", type, type, json_parse_own(opening ? opening : "{}")),
                   frames);
        return;
    }
    call_delta(item,
               json_build("{s:i, s:s, s:s, s:{s:s, s:s, s:n}}", "index", 0, "id",
                          item->row.call_id, "type", "function", "function", "name",
                          item->name ? item->name : "", "arguments", "", "output"),
               frames);
}

/* A delta of a call of another type. Takes `details`; NULL: none. */
static void details_delta(const struct item *item, json_t *details, struct frames *frames)
{
    const char *type = step_type(item);

    if (details)
        call_delta(item, json_build("{s:i, s:s, s:o}", "index", 0, "type", type, type, details),
                   frames);
}

static void emit_call_delta(const struct run_event *event, struct frames *frames)
{
    const struct tool_item *look = event->item->look;

    if (look && look->step_delta)
        details_delta(event->item, look->step_delta(event->name, event->text, event->length),
                      frames);
}

static void emit_call_arguments(const struct run_event *event, struct frames *frames)
{
    if (step_type(event->item))
        return;
    call_delta(event->item,
               json_build("{s:i, s:s, s:{s:o}}", "index", 0, "type", "function", "function",
                          "arguments", json_stringn_nocheck(event->text, event->length)),
               frames);
}

/* The output of a server-side call. A client call has none yet. */
static void emit_call_closed(const struct item *item, struct frames *frames)
{
    const char *output = item->error ? item->error : item->output;

    if (withheld_is_noted(item->metadata))
        return; /* the approval request shows the result */
    if (item->look && item->look->step_end) {
        json_auto_t *body = json_parse_own(item->row.body);

        details_delta(item, item->look->step_end(body), frames);
        return;
    }
    if (output && !step_type(item))
        call_delta(item,
                   json_build("{s:i, s:s, s:{s:s}}", "index", 0, "type", "function", "function",
                              "output", output),
                   frames);
}

/* ---- Messages ---- */

/* A message in progress is shown without content, also when it is resumed: deltas carry the text. */
static json_t *open_message(const struct item *item)
{
    struct item_row row = item->row;

    row.body = NULL;
    return encode_message(&row);
}

static void emit_message_opened(const struct item *item, struct frames *frames)
{
    frame_twice(frames, "thread.message.created", "thread.message.in_progress",
                open_message(item));
}

static void emit_message_closed(const struct item *item, struct frames *frames)
{
    frame(frames,
          item->row.status == ITEM_COMPLETED ? "thread.message.completed"
                                             : "thread.message.incomplete",
          encode_message(&item->row));
}

/* The token path. The first delta of a part has an empty list of annotations, into which the SDKs put later
 * ones. */
static void emit_text(const struct run_event *event, struct frames *frames)
{
    const struct part *part = &event->item->parts[event->part];
    bool refusal = part->kind == PART_REFUSAL;
    bool first = part->text.length == event->length;
    struct buf *out = &frames->bytes;

    frames_begin(frames, "thread.message.delta");
    buf_add_text(out, "{\"id\":\"");
    buf_add_text(out, event->item->row.id);
    buf_add_text(out,
                 "\",\"object\":\"thread.message.delta\",\"delta\":{\"content\":[{\"index\":");
    buf_add_int(out, event->part);
    buf_add_text(out, refusal ? ",\"type\":\"refusal\",\"refusal\":\""
                              : ",\"type\":\"text\",\"text\":{\"value\":\"");
    buf_add_json_escaped(out, event->text, event->length);
    if (refusal)
        buf_add_text(out, "\"}]}}");
    else
        buf_add_text(out, first ? "\",\"annotations\":[]}}]}}" : "\"}}]}}");
    frames_end(frames);
}

/* A picture is whole from the start. Text comes in deltas. */
static void emit_part_opened(const struct run_event *event, struct frames *frames)
{
    const struct part *part = &event->item->parts[event->part];

    if (part->kind != PART_PICTURE)
        return;
    frame(frames, "thread.message.delta",
          json_build("{s:s, s:s, s:{s:[{s:i, s:s, s:{s:s, s:s}}]}}", "id", event->item->row.id,
                     "object", "thread.message.delta", "delta", "content", "index",
                     (int)event->part, "type", "image_file", "image_file", "file_id",
                     part->text.data, "detail", "auto"));
}

/* Its index among the annotations that this API shows. The index of the engine counts all types. */
static int shown_index(const struct part *part, size_t number)
{
    int shown = 0;

    for (size_t i = 0; i < number; i++)
        shown += encode_shows_annotation(json_array_get(part->annotations, i));
    return shown;
}

/* The mark of a citation is a delta of its own, together with its annotation. */
static void emit_annotation(const struct run_event *event, struct frames *frames)
{
    json_t *shown;
    json_t *text;

    if (!encode_shows_annotation(event->fields))
        return;
    shown = encode_annotation(event->fields, event->text ? event->text : "", event->length);
    json_set_int(shown, "index", shown_index(&event->item->parts[event->part], event->number));
    text = json_build("{s:[o]}", "annotations", shown);
    if (event->text)
        json_set(text, "value", json_stringn_nocheck(event->text, event->length));
    frame(frames, "thread.message.delta",
          json_build("{s:s, s:s, s:{s:[{s:i, s:s, s:o}]}}", "id", event->item->row.id, "object",
                     "thread.message.delta", "delta", "content", "index", (int)event->part,
                     "type", "text", "text", text));
}

/* ---- The table of events ---- */

static bool is_message(const struct item *item)
{
    return item->row.type == ITEM_MESSAGE;
}

static void emit_metadata(const struct run *run, const struct run_event *event,
                          struct frames *frames)
{
    json_t *data = json_build("{s:s, s:s, s:s}", "run_id", run->row.id, "step_id",
                              event->item->step->row.id, "call_id", event->item->row.call_id);

    json_object_update(data, event->fields);
    frame(frames, "thread.runnel.step.metadata", data);
}

static void assistants_event(const struct run *run, const struct run_event *event,
                             struct frames *frames)
{
    /* Items without a step (reasoning, lists of tools) are not shown. */
    if (event->item && !event->item->step)
        return;
    switch (event->kind) {
    case RUN_EVENT_TEXT: emit_text(event, frames); return;
    case RUN_EVENT_STATUS: emit_status(run, frames); return;
    case RUN_EVENT_STEP_OPENED: emit_step_opened(run, event, frames); return;
    case RUN_EVENT_STEP_CLOSED: emit_step_closed(run, event, frames); return;
    case RUN_EVENT_ITEM_OPENED:
        if (is_message(event->item))
            emit_message_opened(event->item, frames);
        else
            emit_call_opened(event->item, frames);
        return;
    case RUN_EVENT_ARGUMENTS: emit_call_arguments(event, frames); return;
    case RUN_EVENT_ITEM_CLOSED:
        if (is_message(event->item))
            emit_message_closed(event->item, frames);
        else
            emit_call_closed(event->item, frames);
        return;
    case RUN_EVENT_METADATA: emit_metadata(run, event, frames); return;
    case RUN_EVENT_ANNOTATION: emit_annotation(event, frames); return;
    case RUN_EVENT_DELTA: emit_call_delta(event, frames); return;
    case RUN_EVENT_PART_OPENED: emit_part_opened(event, frames); return;
    case RUN_EVENT_PART_CLOSED:
    case RUN_EVENT_ARGUMENTS_DONE:
    case RUN_EVENT_STAGE:
    case RUN_EVENT_HELD:
    case RUN_EVENT_STEERED:
    case RUN_EVENT_KIND_COUNT: return; /* this API has no event for it */
    }
}

static json_t *assistants_object(const struct run *run)
{
    return encode_run(&run->row);
}

/* ---- Reading deltas back, after a crash ---- */

/* A citation in the form in which items have it: a mark in the text, or a text that it covers. */
static json_t *annotation_of(const json_t *shown)
{
    const char *type = json_get_string(shown, "type", "");
    const char *file = json_get_string(json_object_get(shown, type), "file_id", "");
    json_int_t start = json_get_int(shown, "start_index", 0);

    if (strcmp(type, "file_path") != 0)
        return json_build("{s:s, s:s, s:s, s:I}", "type", type, "file_id", file, "filename", "",
                          "index", start);
    return json_build("{s:s, s:s, s:s, s:I, s:I, s:I}", "type", type, "file_id", file, "text",
                      json_get_string(shown, "text", ""), "index", start, "start_index", start,
                      "end_index", json_get_int(shown, "end_index", 0));
}

static void add_citations(const json_t *annotations, struct item *item)
{
    size_t i;
    json_t *shown;

    json_array_foreach (annotations, i, shown) {
        (void)item_annotate(item, annotation_of(shown));
    }
}

static const char *piece_of(const json_t *delta, enum part_kind *ret_kind)
{
    const char *refusal = json_get_string(delta, "refusal", NULL);
    const char *file = json_get_string(json_object_get(delta, "image_file"), "file_id", NULL);

    if (refusal) {
        *ret_kind = PART_REFUSAL;
        return refusal;
    }
    *ret_kind = file ? PART_PICTURE : PART_TEXT;
    return file ? file : json_get_string(json_object_get(delta, "text"), "value", "");
}

/* This API has no event for the end of a part, so the last one counts as open. */
static void add_message_delta(const json_t *content, struct item *item)
{
    size_t i;
    json_t *delta;

    json_array_foreach (content, i, delta) {
        enum part_kind kind;
        const char *text = piece_of(delta, &kind);

        if (json_get_int(delta, "index", 0) >= (json_int_t)item->part_count)
            item_add_part(item, kind);
        buf_add_text(&item->parts[item->part_count - 1].text, text);
        add_citations(json_object_get(json_object_get(delta, "text"), "annotations"), item);
    }
}

/* The first delta of a call has its id, later ones only its index. *index is remembered between the frames. */
static void add_call_delta(const json_t *calls, const char *call_id, json_int_t *index,
                           struct buf *text)
{
    size_t i;
    json_t *call;

    json_array_foreach (calls, i, call) {
        if (strcmp(json_get_string(call, "id", ""), call_id) == 0)
            *index = json_get_int(call, "index", -1);
        if (*index >= 0 && json_get_int(call, "index", -1) == *index)
            buf_add_text(text,
                         json_get_string(json_object_get(call, "function"), "arguments", ""));
    }
}

/* `data` may be any frame of the log: an item takes text only from deltas with its own id. */
static void read_back(const json_t *data, struct item *item, json_int_t *index)
{
    const json_t *delta = json_object_get(data, "delta");
    const char *id = json_get_string(data, "id", "");

    if (strcmp(id, item->row.id) == 0)
        add_message_delta(json_object_get(delta, "content"), item);
    else if (*item->row.step_id && strcmp(id, item->row.step_id) == 0)
        add_call_delta(json_object_get(json_object_get(delta, "step_details"), "tool_calls"),
                       item->row.call_id, index, &item->arguments);
}

const struct face assistants_face = {
    .event = assistants_event,
    .stream_end = "event: done\ndata: [DONE]\n\n",
    .object = assistants_object,
    .read_back = read_back,
};
