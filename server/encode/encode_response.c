#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/item.h"
#include "core/tool/registry.h"
#include "server/encode/encode.h"
#include "server/encode/encode_chain.h"
#include "server/encode/encode_field.h"

/*
 * Objects of the Responses API, from rows: the response, a compaction, an item.
 *
 * A response shows the request that made it, with every default filled in. The snapshot of the run
 * has what the client sent; the defaults are in the tables below. They are added when an object is
 * shown and not when the run is stored, so that a default which OpenAI adds needs no migration. The
 * engine has defaults of its own for what it executes (core/domain/run_settings.h).
 *
 * Members of the request are shown as they were, also those that this server does not act on.
 * Exceptions are secrets, and the service tier "auto", which becomes the one that was used.
 *
 * An item is stored as its body, without id, type and status, which have columns. encode_item() puts
 * them back, and takes out the server's notes (core/domain/notes.h). Calls that the server executed have
 * no call_id in this API.
 *
 * The stored status is finer than what is shown: a run that requires action or is being cancelled
 * is in progress for a client of this API, and an expired one has failed.
 */

/* The API has fewer statuses: a response never waits for its client, and an expired one has failed. */
static const char *response_status(enum run_status status)
{
    switch (status) {
    case RUN_CANCELLING:
    case RUN_REQUIRES_ACTION: return run_status_name(RUN_IN_PROGRESS);
    case RUN_EXPIRED: return run_status_name(RUN_FAILED);
    default: return run_status_name(status);
    }
}

json_t *encode_response_error(const struct run_row *row)
{
    if (row->status != RUN_FAILED && row->status != RUN_EXPIRED)
        return json_null();
    if (row->error)
        return json_parse_own(row->error);
    return json_build("{s:s, s:s}", "code", "server_error", "message",
                      row->status == RUN_EXPIRED ? RUN_TOOK_TOO_LONG
                                                 : "The response could not be completed.");
}

/* The error as the object shows it. OpenAI's list of codes has none for an unknown model, so it is an invalid
 * prompt, and `param` names the model. */
static json_t *shown_error(const struct run_row *row)
{
    json_t *error = encode_response_error(row);

    if (strcmp(json_get_string(error, "code", ""), RUN_NO_MODEL) == 0) {
        json_set_string(error, "code", "invalid_prompt");
        json_set_string(error, "param", "model");
    }
    return error;
}

json_t *encode_usage(const char *usage)
{
    json_auto_t *tokens = json_parse_own(usage);
    const json_t *input = json_object_get(tokens, "input_tokens_details");
    const json_t *output = json_object_get(tokens, "output_tokens_details");

    if (json_absent(tokens))
        return json_null();
    return json_build("{s:I, s:{s:I, s:I}, s:I, s:{s:I}, s:I}", "input_tokens",
                      json_get_int(tokens, "input_tokens", 0), "input_tokens_details",
                      "cached_tokens", json_get_int(input, "cached_tokens", 0),
                      "cache_write_tokens", json_get_int(input, "cache_write_tokens", 0),
                      "output_tokens", json_get_int(tokens, "output_tokens", 0),
                      "output_tokens_details", "reasoning_tokens",
                      json_get_int(output, "reasoning_tokens", 0), "total_tokens",
                      json_get_int(tokens, "total_tokens", 0));
}

/* Tools as they were sent; a function shows all of its keys. */
static json_t *response_tools(const json_t *tools)
{
    static const struct field fields[] = {
        {"description", NULL}, {"parameters", NULL}, {"strict", NULL}};
    json_t *list = json_array();
    size_t i;
    json_t *tool;

    json_array_foreach (tools, i, tool) {
        const struct tool_handler *handler =
            tool_registry_definition(json_get_string(tool, "type", ""));
        json_t *copy = json_copy(tool);

        if (handler && handler->flags & TOOL_AS_WRITTEN)
            field_copy_all(copy, tool, fields, COUNT_OF(fields));
        json_array_append_new(list, copy);
    }
    return list;
}

/* An object of the request, with members that are always shown. New reference. */
static json_t *with_members(const json_t *object, const struct field *fields, size_t count)
{
    json_t *copy = object ? json_copy((json_t *)(uintptr_t)object) : json_object();

    field_copy_all(copy, object, fields, count);
    return copy;
}

/* A format with a schema also shows all of its keys. */
static json_t *response_format(const json_t *format)
{
    static const struct field fields[] = {{"description", NULL}, {"strict", "false"}};

    return with_members(format, fields, COUNT_OF(fields));
}

static json_t *response_text(const json_t *config)
{
    static const struct field fields[] = {{"format", "{\"type\":\"text\"}"},
                                          {"verbosity", "\"medium\""}};
    json_t *text = with_members(json_object_get(config, "text"), fields, COUNT_OF(fields));
    const json_t *format = json_object_get(text, "format");

    if (strcmp(json_get_string(format, "type", ""), "json_schema") == 0)
        json_set(text, "format", response_format(format));
    return text;
}

static json_t *response_reasoning(const json_t *config)
{
    static const struct field fields[] = {{"effort", NULL}, {"summary", NULL}};

    return with_members(json_object_get(config, "reasoning"), fields, COUNT_OF(fields));
}

/* At the end `auto` becomes the tier that served the request. Which one the upstream has used is not
 * read. */
static void set_service_tier(json_t *object, const json_t *config, const struct run_row *row)
{
    const char *tier = json_get_string(config, "service_tier", "auto");

    if (strcmp(tier, "auto") == 0 && run_status_is_final(row->status))
        tier = "default";
    json_set_string(object, "service_tier", tier);
}

/* A client that names a response to compare with asks why its prompt was not in the cache. No upstream says. */
static void set_cache_diagnostics(json_t *object, const json_t *config)
{
    const json_t *options = json_object_get(config, "prompt_cache_options");

    if (!json_absent(json_object_get(options, "comparison_response_id")))
        json_set(object, "prompt_cache_diagnostics",
                 json_build("{s:s}", "type", "unavailable"));
}

static void set_response_config(json_t *object, const json_t *config)
{
    /* clang-format off */
    static const struct field fields[] = {
        {"frequency_penalty",      "0.0"},
        {"instructions",           NULL},
        {"max_output_tokens",      NULL},
        {"max_tool_calls",         NULL},
        {"model",                  "\"\""},
        {"moderation",             NULL},
        {"parallel_tool_calls",    "true"},
        {"presence_penalty",       "0.0"},
        {"prompt_cache_key",       NULL},
        {"prompt_cache_retention", NULL},
        {"safety_identifier",      NULL},
        {"temperature",            "1.0"},
        {"tool_choice",            "\"auto\""},
        {"top_logprobs",           "0"},
        {"top_p",                  "1.0"},
        {"truncation",             "\"disabled\""},
        {"user",                   NULL},
    };
    /* clang-format on */

    field_copy_all(object, config, fields, COUNT_OF(fields));
    json_set(object, "reasoning", response_reasoning(config));
    json_set(object, "text", response_text(config));
    json_set(object, "tools", response_tools(json_object_get(config, "tools")));
    field_show_tools(object);
    field_copy_present(object, config, "access_programs");
    field_copy_present(object, config, "input_transformations");
    field_copy_present(object, config, "prompt");
    field_copy_present(object, config, "prompt_cache_options");
    set_cache_diagnostics(object, config);
    field_set_unavailable(object, config);
}

static void set_response_links(json_t *object, const struct run_row *row)
{
    char conversation[ID_SIZE];

    field_set_id(object, "previous_response_id", row->parent_id);
    if (!*row->thread_id)
        return;
    encode_conversation_id(row->thread_id, conversation);
    json_set(object, "conversation", json_build("{s:s}", "id", conversation));
}

json_t *encode_response(const struct run_row *row, json_t *output)
{
    json_auto_t *config = json_parse_own(row->config);
    json_t *object = encode_new(row->id, "response", row->created_at);
    bool incomplete = row->status == RUN_INCOMPLETE;

    json_set_string(object, "status", response_status(row->status));
    json_set_bool(object, "background", row->flags & RUN_BACKGROUND);
    field_set_time(object, "completed_at",
                   row->status == RUN_COMPLETED ? row->completed_at : 0);
    json_set(object, "error", shown_error(row));
    json_set(object, "incomplete_details",
             encode_incomplete(incomplete ? row->incomplete : NULL, FACE_RESPONSES));
    set_response_config(object, config);
    json_set(object, "output", output);
    set_response_links(object, row);
    set_service_tier(object, config, row);
    json_set_bool(object, "store", row->flags & RUN_STORED);
    json_set(object, "usage",
             encode_usage(run_status_is_final(row->status) ? row->usage : NULL));
    field_set_own(object, "metadata", row->metadata, "{}");
    encode_chain_stats(object, row);
    return object;
}

json_t *encode_compaction(const struct run_row *row, json_t *output)
{
    json_t *object = encode_new(row->id, "response.compaction", row->created_at);

    json_set(object, "output", output);
    json_set(object, "usage", encode_usage(row->usage));
    return object;
}

/* ---- Items ---- */

/* Only client calls and their outputs show a call id. */
static bool shows_call_id(enum item_type type)
{
    return item_type_is_client_call(type) || item_type_is_output(type);
}

static void set_item_status(json_t *object, const struct item_row *row, const json_t *body)
{
    if (item_type_statuses(row->type) != ITEM_STATUSES_NONE)
        json_set_string(object, "status", item_status_name(item_body_status(row, body)));
}

/* A text of a thread that names a file is covered by its annotation there; here that has a place only. */
static void hide_covered_text(json_t *annotations)
{
    size_t i;
    json_t *annotation;

    json_array_foreach (annotations, i, annotation) {
        if (json_object_del(annotation, "text"))
            continue;
        json_object_del(annotation, "start_index");
        json_object_del(annotation, "end_index");
    }
}

/* Text of the model always shows annotations and probabilities, an image its detail. */
static json_t *response_part(json_t *part)
{
    static const struct field text[] = {{"annotations", "[]"}, {"logprobs", "[]"}};
    static const struct field image[] = {{"detail", "\"auto\""}};
    const char *type = json_get_string(part, "type", "");

    hide_covered_text(json_object_get(part, "annotations"));
    if (strcmp(type, "output_text") == 0)
        return with_members(part, text, COUNT_OF(text));
    if (strcmp(type, "input_image") == 0)
        return with_members(part, image, COUNT_OF(image));
    return json_incref(part);
}

/* In a thread, pictures that code has drawn are parts of the model's message. This API has no such parts. */
static bool shows_picture_of_thread(const struct item_row *row, const json_t *part)
{
    return strcmp(row->role, "assistant") == 0 && !row->input &&
           strcmp(json_get_string(part, "type", ""), "input_image") == 0;
}

static void set_item_message(json_t *object, const struct item_row *row, const json_t *body)
{
    json_t *content = json_array();
    size_t i;
    json_t *part;

    json_set_string(object, "role",
                    *row->role ? row->role : json_get_string(body, "role", "user"));
    json_array_foreach (json_object_get(body, "content"), i, part) {
        if (!shows_picture_of_thread(row, part))
            json_array_append_new(content, response_part(part));
    }
    json_set(object, "content", content);
    field_copy_present(object, body, "phase");
}

/* The text that was read from a file is for the model. */
static void hide_part_notes(json_t *body)
{
    static const char *const lists[] = {"content", "output"};
    size_t i;
    json_t *part;

    for (size_t list = 0; list < COUNT_OF(lists); list++) {
        json_array_foreach (json_object_get(body, lists[list]), i, part)
            json_object_del(part, "runnel");
    }
}

json_t *encode_item(const struct item_row *row, unsigned include)
{
    json_auto_t *body = json_parse_own(row->body);
    json_t *object = json_build("{s:s, s:s}", "id", row->id, "type", item_row_type_name(row));

    hide_part_notes(body);
    set_item_status(object, row, body);
    if (row->type == ITEM_MESSAGE) {
        set_item_message(object, row, body);
        return object;
    }
    json_object_update(object, body);
    item_hide_notes(object);
    if (!row->input) /* what a client has sent, it sees */
        tool_registry_show(object, include);
    if (*row->call_id && !json_object_get(object, "call_id") && shows_call_id(row->type))
        json_set_string(object, "call_id", row->call_id);
    return object;
}
