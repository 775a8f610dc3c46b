/*
 * call_files.c -- which files a call may see.
 */

#include <string.h>

#include "core/base/json.h"
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

/* A group's tools are listed under its label, others under their type. */
const json_t *run_files_of(struct run *run, const struct tool_use *use)
{
    const json_t *view = files_view(run);
    const json_t *own = files_view_of(view, use->label ? use->label : use->type);

    return own || !use->handler->files_of ? own : files_view_of(view, use->handler->files_of);
}
