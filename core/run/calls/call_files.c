/*
 * call_files.c -- which files a call may see, and which container it continues in.
 */

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/domain/notes.h"
#include "core/run/calls/run_calls.h"
#include "core/tool/files_view.h"

/* Which type of tool may see which files: those of tool_resources and of the attachments of
 * messages. Made when the first tool runs, because most runs call none, and a history may be
 * long. */
static const json_t *files_view(struct run *run)
{
    if (run->calls.files)
        return run->calls.files;
    run->calls.files = files_view_from_resources(run->settings.tool_resources);
    for (size_t i = 0; i < run->history_count; i++) {
        const struct item_row *item = &run->history[i];

        if (item->type == ITEM_MESSAGE && item->body && strstr(item->body, "\"attachments\"")) {
            json_auto_t *body = json_parse_own(item->body);

            files_view_add_attachments(run->calls.files, json_object_get(body, "attachments"));
        }
    }
    return run->calls.files;
}

/* Code of a response sees all files of its input. In a thread, files are given to it by name. */
static void add_inputs(struct run *run, const char *type)
{
    for (size_t i = 0; i < run->history_count; i++) {
        const struct item_row *item = &run->history[i];

        if (item->type == ITEM_MESSAGE && item->body && strstr(item->body, "\"file_id\"")) {
            json_auto_t *body = json_parse_own(item->body);

            files_view_add_content(run->calls.files, type, json_object_get(body, "content"));
        }
    }
}

/* The files of a tool that runs code. Made once, as the view is. */
static const json_t *code_files(struct run *run, const char *type)
{
    if (!run->calls.inputs_added && !run_is_assistants(run))
        add_inputs(run, type);
    run->calls.inputs_added = true;
    return files_view_of(run->calls.files, type);
}

/* A group's tools are listed under its label, others under their type. */
const json_t *run_files_of(struct run *run, const struct tool_use *use)
{
    const json_t *view = files_view(run);
    const json_t *own = files_view_of(view, use->label ? use->label : use->type);

    if (use->handler->flags & TOOL_NEEDS_SANDBOX && !use->label)
        return code_files(run, use->type);
    return own || !use->handler->files_of ? own : files_view_of(view, use->handler->files_of);
}

/* ---- Containers ---- */

/* A hosted tool has it in its item, another tool of this server in the metadata of its result; a remote one has no text
 * there. */
static bool used_container(const struct item_row *row, char ret_id[ID_SIZE])
{
    enum item_kind kind = item_type_kind(row->type);
    json_auto_t *body = NULL;
    const char *id;

    if ((kind != ITEM_KIND_HOSTED_CALL && kind != ITEM_KIND_SERVER_CALL) || !row->body ||
        !strstr(row->body, "\"container_id\""))
        return false;
    body = json_parse_own(row->body);
    id = json_get_string(
        kind == ITEM_KIND_HOSTED_CALL ? body : json_object_get(notes_of(body), "metadata"),
        "container_id", "");
    if (!*id || strlen(id) >= ID_SIZE)
        return false;
    (void)snprintf(ret_id, ID_SIZE, "%s", id);
    return true;
}

/* Calls of this run share the container that the first of them takes, so only the history is searched. */
void run_past_container(const struct run *run, char ret_id[ID_SIZE])
{
    *ret_id = '\0';
    for (size_t i = run->history_count; i-- > 0;) {
        if (used_container(&run->history[i], ret_id))
            return;
    }
}
