/*
 * The end of a call as JSON, and back.
 *
 * An item is not stored before it is shown: its place in the output is known only then. What is stored
 * are the outputs of its tool, which the next owner replays as if they came out of the channel now. So
 * one path makes the item, with a crash or without (run_output.c).
 *
 * Rejected: storing the finished item beside the row. It would be made by a second path, without the
 * events that lead to it.
 */

#include "core/run/calls/call_end.h"

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/approval/run_grants.h"

/* clang-format off */
static const char *const kinds[] = {
    [TOOL_OUTPUT_START]    = "start",
    [TOOL_OUTPUT_TEXT]     = "text",
    [TOOL_OUTPUT_STAGE]    = "stage",
    [TOOL_OUTPUT_DELTA]    = "delta",
    [TOOL_OUTPUT_METADATA] = "metadata",
    [TOOL_OUTPUT_END]      = "end",
};
/* clang-format on */

/* ---- One output ---- */

/* The parts that are not text, and what the tool says about its work. The text is in the row. */
static json_t *result_json(const struct tool_result *result)
{
    json_t *json = json_object();
    json_t *parts = tool_result_json(result);

    for (size_t i = result->count; i-- > 0;) {
        if (result->parts[i].kind == TOOL_PART_TEXT)
            json_array_remove(parts, i);
    }
    json_set(json, "parts", parts);
    if (result->title)
        json_set_string(json, "title", result->title);
    if (result->metadata)
        json_object_set(json, "metadata", result->metadata);
    if (result->sources)
        json_object_set(json, "sources", result->sources);
    if (result->files)
        json_object_set(json, "files", result->files);
    if (*result->picture_id)
        json_set_string(json, "picture", result->picture_id);
    if (result->data && (result->sources || result->files ||
                         *result->picture_id)) /* what fill() makes the item's fields of */
        json_object_set(json, "data", result->data);
    return json;
}

static json_t *output_json(const struct tool_output *output)
{
    json_t *json = json_build("{s:s}", "kind", kinds[output->kind]);

    if (output->text)
        json_set(json, "text", json_build("s%", output->text, output->length));
    if (output->name)
        json_set_string(json, "name", output->name);
    if (output->fields)
        json_object_set(json, "fields", output->fields);
    if (output->kind == TOOL_OUTPUT_END)
        json_set(json, "result", result_json(&output->result));
    return json;
}

static void result_restore(struct tool_result *result, const json_t *json)
{
    const json_t *metadata = json_object_get(json, "metadata");
    const json_t *sources = json_object_get(json, "sources");
    const json_t *files = json_object_get(json, "files");

    if (tool_result_parse(json_object_get(json, "parts"), result, NULL))
        *result = (struct tool_result){0};
    tool_result_describe(result, json_get_string(json, "title", NULL),
                         metadata ? json_deep_copy(metadata) : NULL);
    tool_result_set_sources(result, sources ? json_deep_copy(sources) : NULL);
    tool_result_set_files(result, files ? json_deep_copy(files) : NULL);
    (void)snprintf(result->picture_id, sizeof(result->picture_id), "%s",
                   json_get_string(json, "picture", ""));
    if (json_object_get(json, "data"))
        tool_result_set_data(result, json_deep_copy(json_object_get(json, "data")));
}

static void output_restore(struct tool_output *output, const json_t *json)
{
    const char *kind = json_get_string(json, "kind", "");
    const json_t *text = json_object_get(json, "text");
    const json_t *fields = json_object_get(json, "fields");

    while (output->kind < TOOL_OUTPUT_END && strcmp(kinds[output->kind], kind) != 0)
        output->kind++;
    output->text = mem_strdup(json_string_value(text));
    output->length = json_string_length(text);
    output->name = mem_strdup(json_get_string(json, "name", NULL));
    output->fields = fields ? json_deep_copy(fields) : NULL;
    result_restore(&output->result, json_object_get(json, "result"));
}

/* ---- All that wait ---- */

/* The text that a final call has emitted streams as the answer; that of others is in its result. */
static json_t *waiting_json(const struct call *call)
{
    json_t *outputs = json_array();

    for (unsigned i = 0; i < call->waiting_count; i++) {
        if (call->final || call->waiting[i].kind != TOOL_OUTPUT_TEXT)
            json_array_append_new(outputs, output_json(&call->waiting[i]));
    }
    return outputs;
}

static void restore_waiting(struct call *call, const json_t *outputs)
{
    size_t count = json_array_size(outputs);

    if (!count)
        return;
    call->waiting = mem_new_array(struct tool_output, count);
    call->waiting_count = (unsigned)count;
    for (size_t i = 0; i < count; i++)
        output_restore(&call->waiting[i], json_array_get(outputs, i));
}

void call_end_clear(struct call *call)
{
    for (unsigned i = 0; i < call->waiting_count; i++)
        tool_output_clear(&call->waiting[i]);
    free(TAKE(call->waiting));
    call->waiting_count = 0;
}

/* ---- The end ---- */

json_t *call_end_json(const struct call *call)
{
    json_t *end = json_build(
        "{s:s, s:b, s:b, s:I, s:I}", "status", tool_status_name(call->outcome), "misread",
        call->phase == CHAIN_PARSE_ARGUMENTS, "truncated", call->truncated, "start",
        (json_int_t)call->started_at, "end", (json_int_t)call->ended_at);

    if (call->search)
        json_set_int(end, "search", call->search);
    if (call->why)
        json_set_string(end, "why", call->why);
    if (call->status == CALL_REJECTED)
        json_set_string(end, "rejected", call->reason);
    else if (call->reason)
        json_set_string(end, "result_rejected", call->reason);
    if (call->recall && *call->recall->grant_id)
        json_set_string(end, "grant_id", call->recall->grant_id);
    if (call->fault)
        json_object_set(end, "fault", call->fault);
    if (call->list_changed)
        json_set_bool(end, "list_changed", true);
    if (call->kept)
        json_set(
            end, "kept",
            json_build("{s:s, s:s}", "result", call->kept->result, "args", call->kept->args));
    if (call->waiting_count)
        json_set(end, "outputs", waiting_json(call));
    return end;
}

static void restore_kept(struct call *call, const json_t *kept)
{
    if (!kept)
        return;
    call->kept = mem_new(struct variable_names);
    (void)snprintf(call->kept->result, sizeof(call->kept->result), "%s",
                   json_get_string(kept, "result", ""));
    (void)snprintf(call->kept->args, sizeof(call->kept->args), "%s",
                   json_get_string(kept, "args", ""));
}

void call_end_restore(struct call *call, const json_t *end)
{
    const char *grant_id = json_get_string(end, "grant_id", "");
    const char *rejected = json_get_string(end, "rejected", NULL);
    const json_t *fault = json_object_get(end, "fault");

    call->outcome = tool_status_parse(json_get_string(end, "status", ""));
    call->why = mem_strdup(json_get_string(end, "why", NULL));
    call->phase =
        json_get_bool(end, "misread", false) ? CHAIN_PARSE_ARGUMENTS : CHAIN_TOOL_EXECUTION;
    call->truncated = json_get_bool(end, "truncated", false);
    call->search = (unsigned)json_get_int(end, "search", 0);
    call->started_at = json_get_int(end, "start", 0);
    call->ended_at = json_get_int(end, "end", 0);
    call->reason =
        mem_strdup(rejected ? rejected : json_get_string(end, "result_rejected", NULL));
    call->fault = fault ? json_deep_copy(fault) : NULL;
    call->list_changed = json_get_bool(end, "list_changed", false);
    if (*grant_id) { /* only for the item: a call that has ended is not looked up again */
        call->recall = mem_new(struct recall);
        (void)snprintf(call->recall->grant_id, sizeof(call->recall->grant_id), "%s", grant_id);
    }
    restore_kept(call, json_object_get(end, "kept"));
    restore_waiting(call, json_object_get(end, "outputs"));
}
