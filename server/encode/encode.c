#include "server/encode/encode.h"

#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/domain/notes.h"
#include "core/domain/withheld.h"
#include "core/run/context/past_calls.h"
#include "core/tool/registry.h"
#include "core/tool/source.h"
#include "server/encode/encode_chain.h"
#include "server/encode/encode_field.h"

/*
 * Objects of the Assistants API, from rows of the store. An object has every key of OpenAI's schema,
 * null where there is no value: a client in a typed language may fail on a missing key.
 *
 * Rows hold JSON text where the API is wide and the database need not look inside: the body of an
 * assistant, the snapshot of a run, the body of an item. It was checked when it came in and is trusted
 * here (json_parse_own() asserts). Values are shared with the parsed tree instead of copied, since the
 * tree belongs to this call alone.
 *
 * Items are stored in the form of the Responses API (params/assistants/messages.c), so this file is
 * also a translation, and some of it loses information on purpose. Files within a message, citations
 * of URLs and reasoning have no place in Assistants, and are left out.
 *
 * Run steps show more calls than the API has types for. Any call is shown as a "function" with name,
 * arguments and output, by the client or by the server, unless its tool brings a step type of its own
 * (core/tool/tool_item.h). So a hosted tool needs no line here.
 */

/* ---- Assistants and threads ---- */

json_t *encode_assistant(const struct assistant_row *row)
{
    /* clang-format off */
    static const struct field fields[] = {
        {"name",             NULL},
        {"description",      NULL},
        {"model",            "\"\""},
        {"instructions",     NULL},
        {"tools",            "[]"},
        {"tool_resources",   "{}"},
        {"metadata",         "{}"},
        {"top_p",            "1.0"},
        {"temperature",      "1.0"},
        {"reasoning_effort", NULL},
        {"response_format",  "\"auto\""},
    };
    /* clang-format on */
    json_auto_t *body = json_parse_own(row->body);
    json_t *object = encode_new(row->id, "assistant", row->created_at);

    field_copy_all(object, body, fields, COUNT_OF(fields));
    if (json_is_object(json_object_get(body, "runnel")))
        json_object_set(object, "runnel", json_object_get(body, "runnel"));
    field_show_tools(object);
    return object;
}

json_t *encode_thread(const struct thread_row *row)
{
    json_t *object = encode_new(row->id, "thread", row->created_at);

    field_set_own(object, "metadata", row->metadata, "{}");
    field_set_own(object, "tool_resources", row->tool_resources, "{}");
    if (row->settings && strcmp(row->settings, "{}") != 0)
        json_set_own(object, "runnel", row->settings);
    return object;
}

void encode_conversation_id(const char *thread_id, char ret_id[ID_SIZE])
{
    const char *body = strchr(thread_id, '_');

    (void)snprintf(ret_id, ID_SIZE, "conv_%s", body ? body + 1 : thread_id);
}

json_t *encode_conversation(const struct thread_row *row)
{
    char id[ID_SIZE];
    json_t *object;

    encode_conversation_id(row->id, id);
    object = encode_new(id, "conversation", row->created_at);
    field_set_own(object, "metadata", row->metadata, "{}");
    return object;
}

/* ---- Messages of threads ---- */

/* A position in the text. Annotations of Responses may have one `index` instead of start and end. */
static json_int_t annotation_index(const json_t *annotation, const char *key)
{
    return json_get_int(annotation, key, json_get_int(annotation, "index", 0));
}

/* file_citation and file_path exist in both APIs, in different shapes. Other types exist only in Responses. */
bool encode_shows_annotation(const json_t *annotation)
{
    const char *type = json_get_string(annotation, "type", "");

    return strcmp(type, "file_citation") == 0 || strcmp(type, "file_path") == 0;
}

json_t *encode_annotation(const json_t *annotation, const char *mark, size_t length)
{
    const char *type = json_get_string(annotation, "type", "");
    json_int_t end =
        annotation_index(annotation, "end_index") + (json_int_t)utf8_count(mark, length);

    return json_build("{s:s, s:o, s:I, s:I, s:{s:s}}", "type", type, "text",
                      length ? json_stringn_nocheck(mark, length)
                             : json_string(json_get_string(annotation, "text", "")),
                      "start_index", annotation_index(annotation, "start_index"), "end_index",
                      end, type, "file_id", json_get_string(annotation, "file_id", ""));
}

/* A text, and how far its characters were counted. */
struct counted_text {
    const char *text;
    const char *at;
    json_int_t place; /* of `at`, in code points */
};

/* The place in the text. Places mostly rise, and each character is counted once. */
static const char *go_to(struct counted_text *counted, json_int_t place)
{
    if (place < counted->place) {
        counted->at = counted->text;
        counted->place = 0;
    }
    counted->at = utf8_at(counted->at, (size_t)(place - counted->place));
    counted->place = place;
    return counted->at;
}

/* The mark of a citation stands in the text, and its annotation knows only where. In a text of Responses there
 * is no mark. */
static json_t *encode_placed(const json_t *annotation, struct counted_text *counted)
{
    json_int_t index = json_get_int(annotation, "index", -1);
    const char *mark = index >= 0 ? go_to(counted, index) : "";

    return encode_annotation(annotation, mark, source_mark_length(mark));
}

static json_t *encode_annotations(const json_t *annotations, const char *text)
{
    struct counted_text counted = {.text = text, .at = text};
    json_t *list = json_array();
    size_t i;
    json_t *annotation;

    json_array_foreach (annotations, i, annotation) {
        if (encode_shows_annotation(annotation))
            json_array_append_new(list, encode_placed(annotation, &counted));
    }
    return list;
}

/* The text under a key, shared: it may be long. New reference. */
static json_t *text_of(const json_t *part, const char *key)
{
    json_t *text = json_object_get(part, key);

    return json_is_string(text) ? json_incref(text) : json_string("");
}

static json_t *text_content(const json_t *part)
{
    return json_build("{s:s, s:{s:o, s:o}}", "type", "text", "text", "value",
                      text_of(part, "text"), "annotations",
                      encode_annotations(json_object_get(part, "annotations"),
                                         json_get_string(part, "text", "")));
}

static json_t *refusal_content(const json_t *part)
{
    return json_build("{s:s, s:o}", "type", "refusal", "refusal", text_of(part, "refusal"));
}

static json_t *image_content(const json_t *part)
{
    const char *file = json_get_string(part, "file_id", NULL);
    const char *detail = json_get_string(part, "detail", "auto");

    if (file)
        return json_build("{s:s, s:{s:s, s:s}}", "type", "image_file", "image_file", "file_id",
                          file, "detail", detail);
    return json_build("{s:s, s:{s:s, s:s}}", "type", "image_url", "image_url", "url",
                      json_get_string(part, "image_url", ""), "detail", detail);
}

/* clang-format off */
static const struct {
    const char *type;
    json_t *(*encode)(const json_t *part);
} content_types[] = {
    {"output_text", text_content},
    {"input_text",  text_content},
    {"refusal",     refusal_content},
    {"input_image", image_content},
};
/* clang-format on */

/* Parts without a shape in Assistants, such as files, are left out. */
static json_t *message_content(const json_t *parts)
{
    json_t *content = json_array();
    size_t i;
    json_t *part;

    json_array_foreach (parts, i, part) {
        const char *type = json_get_string(part, "type", "");

        for (size_t k = 0; k < COUNT_OF(content_types); k++)
            if (strcmp(content_types[k].type, type) == 0)
                json_array_append_new(content, content_types[k].encode(part));
    }
    return content;
}

/* A message in progress has neither of the times. The reason of an incomplete one is in its notes. */
static void set_message_status(json_t *object, const struct item_row *row, const json_t *body)
{
    const char *reason = json_get_string(notes_of(body), "incomplete_reason", "run_failed");
    bool incomplete = row->status == ITEM_INCOMPLETE || row->status == ITEM_FAILED;
    int64_t ended_at = row->completed_at ? row->completed_at : row->created_at;

    json_set_string(object, "status",
                    incomplete ? "incomplete" : item_status_name(row->status));
    json_set(object, "incomplete_details",
             incomplete ? json_build("{s:s}", "reason", reason) : json_null());
    field_set_time(object, "incomplete_at", incomplete ? ended_at : 0);
    field_set_time(object, "completed_at", row->status == ITEM_COMPLETED ? ended_at : 0);
}

json_t *encode_message(const struct item_row *row)
{
    static const struct field attachments = {"attachments", "[]"};
    json_auto_t *body = json_parse_own(row->body);
    json_t *object = encode_new(row->id, "thread.message", row->created_at);

    field_set_id(object, "assistant_id", row->assistant_id);
    json_set_string(object, "thread_id", row->thread_id);
    /* A message of a conversation may be a response's, which has no place here. */
    field_set_id(object, "run_id", id_has_prefix(row->run_id, "run_") ? row->run_id : "");
    set_message_status(object, row, body);
    json_set_string(object, "role", row->role);
    json_set(object, "content", message_content(json_object_get(body, "content")));
    field_copy(object, body, &attachments);
    field_set_own(object, "metadata", row->metadata, "{}");
    return object;
}

/* ---- Runs ---- */

json_t *encode_run_usage(const char *usage)
{
    json_auto_t *tokens = json_parse_own(usage);

    if (json_absent(tokens))
        return json_null();
    return json_build("{s:I, s:I, s:I}", "prompt_tokens",
                      json_get_int(tokens, "input_tokens", 0), "completion_tokens",
                      json_get_int(tokens, "output_tokens", 0), "total_tokens",
                      json_get_int(tokens, "total_tokens", 0));
}

/* An error of the upstream keeps its name, although Assistants has only three for runs: applications compare
 * it. `invalid` is the code for a request that is wrong in a way without a name, such as an unknown model.
 * Steps have none for that. */
static json_t *encode_last_error(const char *error, const char *invalid)
{
    json_auto_t *parsed = json_parse_own(error);
    const char *code = json_get_string(parsed, "code", "server_error");

    if (json_absent(parsed))
        return json_null();
    if (strcmp(code, RUN_NO_MODEL) == 0 || strcmp(code, "invalid_prompt") == 0)
        code = invalid;
    return json_build("{s:s, s:s}", "code", code, "message",
                      json_get_string(parsed, "message", ""));
}

static void set_run_times(json_t *object, const struct run_row *row)
{
    field_set_time(object, "started_at", row->started_at);
    field_set_time(object, "expires_at",
                   run_status_is_final(row->status) ? 0 : row->expires_at);
    field_set_time(object, "cancelled_at", row->cancelled_at);
    field_set_time(object, "failed_at", row->failed_at);
    field_set_time(object, "completed_at", row->completed_at);
}

/* Usage is shown at the end, and while the run waits for its client. OpenAI shows null before. */
static json_t *current_run_usage(const struct run_row *row)
{
    bool settled = run_status_is_final(row->status) || row->status == RUN_REQUIRES_ACTION;

    return settled ? encode_run_usage(row->usage) : json_null();
}

static void set_run_config(json_t *object, const struct run_row *row)
{
    /* clang-format off */
    static const struct field fields[] = {
        {"model",                 "\"\""},
        {"instructions",          "\"\""},
        {"tools",                 "[]"},
        {"tool_resources",        "{}"},
        {"temperature",           "1.0"},
        {"top_p",                 "1.0"},
        {"max_completion_tokens", NULL},
        {"max_prompt_tokens",     NULL},
        {"truncation_strategy",   "{\"type\":\"auto\",\"last_messages\":null}"},
        {"reasoning_effort",      NULL},
        {"response_format",       "\"auto\""},
        {"tool_choice",           "\"auto\""},
        {"parallel_tool_calls",   "true"},
    };
    /* clang-format on */
    json_auto_t *config = json_parse_own(row->config);
    json_t *strategy;

    field_copy_all(object, config, fields, COUNT_OF(fields));
    field_show_tools(object);
    /* The client may have sent the strategy without this key, which the object always has. */
    strategy = json_object_get(object, "truncation_strategy");
    if (!json_object_get(strategy, "last_messages"))
        json_set(strategy, "last_messages", json_null());
    field_set_unavailable(object, config);
}

json_t *encode_run(const struct run_row *row)
{
    json_t *object = encode_new(row->id, "thread.run", row->created_at);
    bool waits = row->status == RUN_REQUIRES_ACTION;

    json_set_string(object, "assistant_id", row->assistant_id);
    json_set_string(object, "thread_id", row->thread_id);
    json_set_string(object, "status", run_status_name(row->status));
    set_run_times(object, row);
    json_set_own(object, "required_action", waits ? row->required_action : NULL);
    json_set(object, "last_error", encode_last_error(row->error, "invalid_prompt"));
    json_set(object, "incomplete_details", encode_incomplete(row->incomplete, FACE_ASSISTANTS));
    set_run_config(object, row);
    field_set_own(object, "metadata", row->metadata, "{}");
    json_set(object, "usage", current_run_usage(row));
    encode_chain_stats(object, row);
    return object;
}

/* ---- Run steps ---- */

static void add_part_text(struct buf *text, const json_t *part)
{
    const char *piece = json_get_string(part, "text", NULL);

    if (piece)
        buf_add_text(text, piece);
    else
        json_add_text(text, part);
}

/* The text of an output, which is a string or a list of parts. NULL without one yet. The caller frees. */
static char *output_text(const json_t *output)
{
    AUTO_BUF text = {0};
    size_t i;
    json_t *part;

    if (json_absent(output))
        return NULL;
    if (json_is_string(output))
        return mem_strdup(json_string_value(output));
    if (!json_is_array(output))
        return json_text(output);
    json_array_foreach (output, i, part)
        add_part_text(&text, part);
    return buf_take(&text);
}

/* The text of an error: a string, an object with a message, or content that a remote server sent. NULL without
 * one. The caller frees. */
static char *error_text(const json_t *error)
{
    const char *message = json_get_string(error, "message", NULL);
    const json_t *content = json_object_get(error, "content");

    if (json_absent(error))
        return NULL;
    if (message)
        return mem_strdup(message);
    return output_text(content ? content : error);
}

/* A member of a call. Items of hosted tools have no `output` of their own: what the model wrote and read is in
 * their notes. */
static const json_t *call_member(const json_t *body, const char *key)
{
    const json_t *value = json_object_get(body, key);

    return json_absent(value) ? json_object_get(notes_of(body), key) : value;
}

/* The output of a client call is an item of its own; that of a server-side call is in the call. The caller
 * frees. */
static char *call_output(const json_t *call, const json_t *output)
{
    char *text;

    if (withheld_waits(call))
        return NULL; /* the approval request shows it */
    text =
        output_text(output ? json_object_get(output, "output") : call_member(call, "output"));

    return text ? text : error_text(call_member(call, "error"));
}

/* A call whose tool has a step type of its own. */
static json_t *own_call(const struct tool_item *look, const struct item_row *call,
                        const json_t *body, unsigned include)
{
    return json_build("{s:s, s:s, s:o}", "id", *call->call_id ? call->call_id : call->id,
                      "type", look->step_type, look->step_type, look->step(body, include));
}

static json_t *function_call(const struct item_row *call, const json_t *body,
                             const struct item_row *output)
{
    json_auto_t *output_body = json_parse_own(output ? output->body : NULL);
    AUTO_FREE char *arguments = past_call_arguments(call->type, body);
    AUTO_FREE char *name = past_call_name(call->type, body);
    AUTO_FREE char *text = call_output(body, output_body);

    return json_build("{s:s, s:s, s:{s:s, s:s, s:s?}}", "id",
                      *call->call_id ? call->call_id : call->id, "type", "function", "function",
                      "name", name, "arguments", arguments, "output", text);
}

/* What a person withholds is not shown beside the function, either. */
static void add_step_notes(json_t *function, const struct tool_item *look, const json_t *body)
{
    json_t *notes =
        look && look->step_notes && !withheld_is(body) ? look->step_notes(body) : NULL;

    if (notes)
        json_set(function, "runnel", notes);
}

json_t *encode_tool_call(const struct item_row *call, const struct item_row *output,
                         unsigned include)
{
    const struct tool_item *look = tool_registry_item(item_row_type_name(call));
    json_auto_t *body = NULL;
    json_t *shown;

    if (!item_type_is_call(call->type))
        return NULL;
    body = json_parse_own(call->body);
    if (look && look->step_type)
        return own_call(look, call, body, include);
    shown = function_call(call, body, output);
    add_step_notes(shown, look, body);
    return shown;
}

/* The item with the output of a call. */
static const struct item_row *find_output(const struct step_load *load,
                                          const struct item_row *call)
{
    for (size_t i = 0; i < load->item_count; i++) {
        const struct item_row *item = &load->items[i];

        if (item_type_is_output(item->type) && strcmp(item->call_id, call->call_id) == 0)
            return item;
    }
    return NULL;
}

/* After a crash the model may have written a call again. The first item is incomplete, and a step with both
 * would show one call twice. */
static bool comes_again(const struct step_load *load, size_t index)
{
    const struct item_row *call = &load->items[index];

    for (size_t i = index + 1; i < load->item_count; i++)
        if (strcmp(load->items[i].call_id, call->call_id) == 0 &&
            load->items[i].type == call->type)
            return true;
    return false;
}

static json_t *tool_calls_details(const struct step_load *load, unsigned include)
{
    json_t *calls = json_array();

    for (size_t i = 0; i < load->item_count; i++) {
        const struct item_row *item = &load->items[i];
        bool shown = !item->hidden && !comes_again(load, i);
        json_t *call = shown ? encode_tool_call(item, find_output(load, item), include) : NULL;

        if (call)
            json_array_append_new(calls, call);
    }
    return json_build("{s:s, s:o}", "type", "tool_calls", "tool_calls", calls);
}

/* A failed step has a message that was cut, which is hidden. Any other step has one that is shown. */
static json_t *message_details(const struct step_load *load)
{
    const char *message = "";

    for (size_t i = 0; i < load->item_count; i++) {
        const struct item_row *item = &load->items[i];

        if (item->type == ITEM_MESSAGE && (!*message || !item->hidden))
            message = item->id;
    }
    return json_build("{s:s, s:{s:s}}", "type", "message_creation", "message_creation",
                      "message_id", message);
}

static void set_step_times(json_t *object, const struct step_row *step)
{
    int64_t ended_at = step->ended_at;

    field_set_time(object, "cancelled_at", step->status == STEP_CANCELLED ? ended_at : 0);
    field_set_time(object, "completed_at", step->completed_at);
    field_set_time(object, "expired_at", step->status == STEP_EXPIRED ? ended_at : 0);
    /* OpenAI's schema has expired_at, its streams have expires_at. Both are shown. */
    json_set(object, "expires_at", json_null());
    field_set_time(object, "failed_at", step->status == STEP_FAILED ? ended_at : 0);
}

json_t *encode_step(const struct step_load *load, unsigned include)
{
    const struct step_row *step = &load->step;
    bool tools = step->type == STEP_TOOL_CALLS;
    json_t *object = encode_new(step->id, "thread.run.step", step->created_at);

    json_set_string(object, "run_id", step->run_id);
    json_set_string(object, "assistant_id", step->assistant_id);
    json_set_string(object, "thread_id", step->thread_id);
    json_set_string(object, "type", tools ? "tool_calls" : "message_creation");
    json_set_string(object, "status", step_status_name(step->status));
    set_step_times(object, step);
    json_set(object, "last_error", encode_last_error(step->error, "server_error"));
    json_set(object, "step_details",
             tools ? tool_calls_details(load, include) : message_details(load));
    json_set(object, "metadata", json_object());
    json_set(object, "usage", encode_run_usage(step->usage));
    return object;
}

/* ---- Envelopes ---- */

json_t *encode_deleted(const char *id, const char *object)
{
    return json_build("{s:s, s:s, s:b}", "id", id, "object", object, "deleted", 1);
}

static json_t *id_of(const json_t *list, size_t index)
{
    const json_t *object = json_array_get(list, index);
    json_t *id = json_object_get(object, "id");

    return id ? json_incref(id) : json_null();
}

json_t *encode_list(json_t *data, bool has_more)
{
    size_t count = json_array_size(data);
    json_t *first = id_of(data, 0);
    json_t *last = id_of(data, count ? count - 1 : 0);

    return json_build("{s:s, s:o, s:o, s:o, s:b}", "object", "list", "data", data, "first_id",
                      first, "last_id", last, "has_more", (int)has_more);
}
