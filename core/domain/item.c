/*
 * item.c -- an item from its first delta to its row.
 *
 *   deltas of the model ─▶ parts, arguments ──┐
 *   output of a handler ─▶ fields, growing ───┼─▶ item_body() ─▶ row.body (at item_close())
 *   what the engine knows ─▶ notes ───────────┘        └───────▶ item_object(), for clients
 *
 * While an item is open its content stands in typed members and buffers, because it grows piece by piece
 * and a tree would have to be changed for each token. JSON is made when it is needed: when the item closes,
 * and when a client is shown the item.
 *
 * The store keeps one form, the body of the Responses API, also for runs of the Assistants API. Messages and
 * run steps are made from it when they are shown. Two stored forms could disagree after a crash.
 *
 * Notes (core/domain/notes.h) are part of the body, so one write stores an item with all that recovery and
 * later requests need. Clients must not see some of them; item_hide_notes() alone knows which.
 */

#include "core/domain/item.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/notes.h"

static void part_clear(struct part *part)
{
    buf_clear(&part->text);
    json_decref(part->annotations);
    json_decref(part->logprobs);
}

void item_free(struct item *item)
{
    if (!item)
        return;
    for (unsigned i = 0; i < item->part_count; i++)
        part_clear(&item->parts[i]);
    free(item->parts);
    free(item->name);
    free(item->label);
    free(item->tool_type);
    buf_clear(&item->arguments);
    free(item->growing_name);
    buf_clear(&item->growing);
    free(item->output);
    free(item->error);
    json_decref(item->fields);
    json_decref(item->metadata);
    json_decref(item->extra);
    item_row_clear(&item->row);
    free(item);
}

struct part *item_add_part(struct item *item, enum part_kind kind)
{
    struct part *part;
    unsigned index = 0;

    /* Summaries and other parts are counted apart: in the API they are two lists of one item. */
    for (unsigned i = 0; i < item->part_count; i++)
        index += (item->parts[i].kind == PART_SUMMARY) == (kind == PART_SUMMARY);
    item->parts = mem_resize(item->parts, item->part_count + 1, sizeof(*item->parts));
    part = &item->parts[item->part_count++];
    *part = (struct part){.kind = kind, .index = index};
    item->part_open = true;
    return part;
}

size_t item_annotate(struct item *item, json_t *annotation)
{
    struct part *part = &item->parts[item->part_count - 1];

    if (!part->annotations)
        part->annotations = json_array();
    json_array_append_new(part->annotations, annotation);
    return json_array_size(part->annotations) - 1;
}

void item_set_field(struct item *item, const char *key, json_t *value)
{
    if (!item->fields)
        item->fields = json_object();
    json_set(item->fields, key, value);
}

void item_note(struct item *item, const char *key, const char *text)
{
    if (!item->metadata)
        item->metadata = json_object();
    json_set_string(item->metadata, key, text);
}

void item_keep_picture(struct item *item, const char *field, const char *blob_id)
{
    item->kept_field = field;
    item_note(item, NOTE_PICTURE, blob_id);
    (void)snprintf(item->row.picture_id, sizeof(item->row.picture_id), "%s", blob_id);
}

const char *item_picture(const json_t *body)
{
    return json_get_string(notes_of(body), NOTE_PICTURE, NULL);
}

/* Most items have no such note, and are not parsed. */
void item_row_find_picture(struct item_row *row)
{
    json_auto_t *body = row->body && strstr(row->body, "\"" NOTE_PICTURE "\"")
                            ? json_parse_own(row->body)
                            : NULL;
    const char *id = body ? item_picture(body) : NULL;

    (void)snprintf(row->picture_id, sizeof(row->picture_id), "%s", id ? id : "");
}

static json_t *text_value(const struct buf *buf)
{
    return json_stringn_nocheck(buf->data ? buf->data : "", buf->length);
}

void part_add_logprobs(struct part *part, json_t *tokens)
{
    if (!part->logprobs)
        part->logprobs = json_array();
    json_array_extend(part->logprobs, tokens);
}

static json_t *list_or_none(json_t *list)
{
    return list ? json_copy(list) : json_array();
}

json_t *part_object(const struct part *part)
{
    switch (part->kind) {
    case PART_TEXT:
        return json_build("{s:s, s:o, s:o, s:o}", "type", "output_text", "annotations",
                          list_or_none(part->annotations), "logprobs",
                          list_or_none(part->logprobs), "text", text_value(&part->text));
    case PART_REFUSAL:
        return json_build("{s:s, s:o}", "type", "refusal", "refusal", text_value(&part->text));
    case PART_REASONING:
        return json_build("{s:s, s:o}", "type", "reasoning_text", "text",
                          text_value(&part->text));
    case PART_SUMMARY:
        return json_build("{s:s, s:o}", "type", "summary_text", "text",
                          text_value(&part->text));
    case PART_PICTURE:
        return json_build("{s:s, s:o, s:s}", "type", "input_image", "file_id",
                          text_value(&part->text), "detail", "auto");
    }
    return NULL;
}

enum part_kind part_kind_of(const json_t *object)
{
    const char *type = json_get_string(object, "type", "");

    if (strcmp(type, "refusal") == 0)
        return PART_REFUSAL;
    if (strcmp(type, "reasoning_text") == 0)
        return PART_REASONING;
    if (strcmp(type, "input_image") == 0)
        return PART_PICTURE;
    return strcmp(type, "summary_text") == 0 ? PART_SUMMARY : PART_TEXT;
}

static json_t *parts_array(const struct item *item)
{
    json_t *parts = json_array();

    for (unsigned i = 0; i < item->part_count; i++)
        json_array_append_new(parts, part_object(&item->parts[i]));
    return parts;
}

static json_t *optional_text(const char *text)
{
    return text ? json_string_nocheck(text) : json_null();
}

static json_t *message_body(const struct item *item)
{
    return json_build("{s:s, s:o}", "role", "assistant", "content", parts_array(item));
}

/* Most reasoning has either a summary or the raw text, and then no other. */
static json_t *reasoning_body(const struct item *item)
{
    json_t *summary = json_array();
    json_t *content = json_array();
    json_t *body;

    for (unsigned i = 0; i < item->part_count; i++)
        json_array_append_new(item->parts[i].kind == PART_SUMMARY ? summary : content,
                              part_object(&item->parts[i]));
    body = json_build("{s:o}", "summary", summary);
    if (json_array_size(content))
        json_object_set(body, "content", content);
    json_decref(content);
    return body;
}

static json_t *function_call_body(const struct item *item)
{
    return json_build("{s:o, s:s, s:s}", "arguments", text_value(&item->arguments), "call_id",
                      item->row.call_id, "name", item->name);
}

static json_t *mcp_error(const char *error)
{
    if (!error)
        return json_null();
    return json_build("{s:s, s:[{s:s, s:s}]}", "type", "mcp_tool_execution_error", "content",
                      "type", "text", "text", error);
}

static json_t *mcp_call_body(const struct item *item)
{
    return json_build("{s:n, s:o, s:o, s:s, s:o, s:s}", "approval_request_id", "arguments",
                      text_value(&item->arguments), "error", mcp_error(item->error), "name",
                      item->name, "output", optional_text(item->error ? NULL : item->output),
                      "server_label", item->label ? item->label : "");
}

/* A hosted call shows fields of its own. What later requests to the model need of it stands in the notes. */
static json_t *hosted_call_body(const struct item *item)
{
    json_t *runnel =
        json_build("{s:s, s:s, s:o, s:o, s:o}", "type", item->tool_type ? item->tool_type : "",
                   "name", item->name, "arguments", text_value(&item->arguments), "output",
                   optional_text(item->output), "error", optional_text(item->error));

    return json_build("{s:o}", "runnel", runnel);
}

json_t *item_body(const struct item *item)
{
    enum item_type type = item->row.type;
    json_t *body;

    if (type == ITEM_MESSAGE)
        body = message_body(item);
    else if (type == ITEM_REASONING)
        body = reasoning_body(item);
    else if (type == ITEM_FUNCTION_CALL)
        body = function_call_body(item);
    else if (type == ITEM_MCP_CALL)
        body = mcp_call_body(item);
    else if (item->tool_type)
        body = hosted_call_body(item);
    else
        body = json_object();

    /* Fields of announcements and handlers replace those of the model. */
    if (item->fields)
        json_object_update(body, item->fields);
    if (item->arguments.length && type == ITEM_CUSTOM_TOOL_CALL)
        json_set(body, "input",
                 text_value(&item->arguments)); /* as much of it as has arrived */
    if (item->metadata)
        json_object_update(notes_make(body), item->metadata);
    if (item->extra)
        json_object_set(notes_make(body), "extra_content", item->extra);
    return body;
}

const char *item_container(const json_t *body)
{
    const json_t *const places[] = {body, json_object_get(body, "environment"), notes_of(body)};

    for (size_t i = 0; i < COUNT_OF(places); i++) {
        const char *id = json_get_string(places[i], "container_id", "");

        if (*id)
            return id;
    }
    return "";
}

void item_hide_notes(json_t *object)
{
    json_t *notes = notes_of(object);

    json_object_del(notes, "compaction");
    json_object_del(notes, "cut");
    json_object_del(notes, "incomplete_reason");
    json_object_del(notes, "function");
    json_object_del(notes, "group");
    json_object_del(notes, "server");
    json_object_del(notes, "upstream");
    json_object_del(notes, "upstream_id");
    json_object_del(notes, "encrypted_content");
    json_object_del(notes, "reasoning");
    json_object_del(notes, "extra_content");
    json_object_del(notes, NOTE_SOURCES);
    json_object_del(notes, NOTE_FOREIGN);
    json_object_del(notes, NOTE_PICTURE);
    if (!json_object_size(notes))
        json_object_del(object, "runnel");
}

enum item_status item_shown_status(const struct item_row *row)
{
    switch (item_type_statuses(row->type)) {
    case ITEM_STATUSES_USUAL: return row->status == ITEM_FAILED ? ITEM_INCOMPLETE : row->status;
    case ITEM_STATUSES_WHOLE: return row->status == ITEM_INCOMPLETE ? ITEM_FAILED : row->status;
    case ITEM_STATUSES_ENDED:
        return row->status == ITEM_FAILED || row->status == ITEM_INCOMPLETE ? ITEM_FAILED
                                                                            : ITEM_COMPLETED;
    case ITEM_STATUSES_CLOSED:
        return row->status == ITEM_FAILED || row->status == ITEM_INCOMPLETE ? ITEM_INCOMPLETE
                                                                            : ITEM_COMPLETED;
    case ITEM_STATUSES_FAILED:
    case ITEM_STATUSES_NONE: break;
    }
    return row->status;
}

enum item_status item_body_status(const struct item_row *row, const json_t *body)
{
    const json_t *caller = json_object_get(body, "caller");

    if (row->type == ITEM_FUNCTION_CALL && !row->input && row->status == ITEM_COMPLETED &&
        json_get_string(caller, "caller_id", NULL))
        return ITEM_IN_PROGRESS;
    return item_shown_status(row);
}

json_t *item_object(const struct item *item)
{
    json_t *object =
        json_build("{s:s, s:s}", "id", item->row.id, "type", item_row_type_name(&item->row));
    /* A closed item is read from its row: nothing that is shown differs from what is stored. */
    json_t *body = item->row.body ? json_parse_own(item->row.body) : item_body(item);

    if (item_type_statuses(item->row.type) != ITEM_STATUSES_NONE)
        json_set_string(object, "status", item_status_name(item_body_status(&item->row, body)));
    json_object_update(object, body);
    if (item->kept_field && item->fields) /* not from the row: see item_close() */
        json_object_set(object, item->kept_field,
                        json_object_get(item->fields, item->kept_field));
    item_hide_notes(object);
    json_decref(body);
    return object;
}

void item_settle(struct item *item)
{
    if (!item->growing_name)
        return;
    if (!item->fields)
        item->fields = json_object();
    json_set(item->fields, item->growing_name, text_value(&item->growing));
}

void item_grow(struct item *item, const char *name, const char *text, size_t length)
{
    if (!item->growing_name || strcmp(item->growing_name, name) != 0) {
        item_settle(item);
        free(item->growing_name);
        item->growing_name = mem_strdup(name);
        buf_reset(&item->growing);
    }
    buf_add(&item->growing, text, length);
}

void item_close(struct item *item, enum item_status status)
{
    json_t *body;

    item_settle(item);
    body = item_body(item);
    if (item->kept_field)
        json_set(body, item->kept_field, json_null());
    item->row.status = status;
    item->row.completed_at = clock_wall_us();
    free(item->row.body);
    item->row.body = json_text(body);
    json_decref(body);
    item->open = false;
    item->part_open = false;
}

bool item_row_is_cut(const struct item_row *row)
{
    json_auto_t *body = json_parse_own(row->body);

    return notes_say_cut(body);
}

void item_row_copy(struct item_row *ret_copy, const struct item_row *row)
{
    *ret_copy = *row;
    ret_copy->body = mem_strdup(row->body ? row->body : "{}");
    ret_copy->metadata = mem_strdup(row->metadata);
}

void approval_row_copy(struct approval_row *ret_copy, const struct approval_row *row)
{
    *ret_copy = *row;
    ret_copy->server_label = mem_strdup(row->server_label);
    ret_copy->tool = mem_strdup(row->tool);
    ret_copy->arguments = mem_strdup(row->arguments);
    ret_copy->policy = mem_strdup(row->policy);
    ret_copy->details = mem_strdup(row->details);
    ret_copy->held = mem_strdup(row->held);
    ret_copy->definition = mem_strdup(row->definition);
    ret_copy->memory = mem_strdup(row->memory);
    ret_copy->extra = mem_strdup(row->extra);
    ret_copy->reason = mem_strdup(row->reason);
}

void step_row_copy(struct step_row *ret_copy, const struct step_row *row)
{
    *ret_copy = *row;
    ret_copy->usage = mem_strdup(row->usage);
    ret_copy->error = mem_strdup(row->error);
}

void call_row_copy(struct call_row *ret_copy, const struct call_row *row)
{
    *ret_copy = *row;
    ret_copy->tool = mem_strdup(row->tool);
    ret_copy->arguments = mem_strdup(row->arguments);
    ret_copy->resolved = mem_strdup(row->resolved);
    ret_copy->extra = mem_strdup(row->extra);
    ret_copy->output = mem_strdup(row->output);
}
