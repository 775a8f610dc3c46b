/*
 * call_files.c -- which files a call may see, and which container it continues in.
 */

#include "core/run/calls/run_calls.h"
#include "core/run/catalog/run_files.h"
#include "core/tool/files_view.h"

/* Made when the first tool runs, because most runs call none, and a history may be long. */
static const json_t *files_view(struct run *run)
{
    if (!run->calls.files)
        run->calls.files = run_files_view(&run->settings, run->history, run->history_count);
    return run->calls.files;
}

/* The files of a tool that runs code. Made once, as the view is. */
static const json_t *code_files(struct run *run, const char *type)
{
    if (!run->calls.inputs_added && !run_is_assistants(run))
        run_files_add_inputs(run->calls.files, type, run->history, run->history_count);
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

/* Calls of this run share the container that the first of them takes, so only the history is searched. */
void run_past_container(const struct run *run, char ret_id[ID_SIZE])
{
    run_files_past_container(run->history, run->history_count, ret_id);
}
