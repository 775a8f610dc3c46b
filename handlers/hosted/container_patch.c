/*
 * container_patch -- apply_patch in a container: one file is created, changed or deleted.
 *
 *   operation ─▶ path ─▶ file_change: read, patch_update(), write if it has not changed ─▶ "Updated a.py"
 *
 * OpenAI's tool is always the client's. With "runnel": {"execute": true} in its entry the server applies the patch in
 * the workspace of the container that all tools of the response share, and shows the output as the client would have
 * sent it. So clients and models need no other form. Everything happens in this process, by openat2(): no box is
 * started.
 *
 * Other tools take /mnt/data/a for a. A patch may not: what models know as its rules says that paths are relative, and
 * the same patch may be meant for the client's folder.
 */

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/edit/patch.h"
#include "handlers/handlers.h"
#include "handlers/items/patch_item.h"
#include "handlers/support/document_change.h"
#include "handlers/support/file_change.h"
#include "handlers/support/workspace_call.h"

static enum err_code missing(const json_t *args, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "File not found: %.512s",
                   json_get_string(args, "path", ""));
}

static enum err_code make_new(const json_t *args, struct edit_span bytes,
                              struct text_change *ret_change, struct buf *note, struct err *err)
{
    (void)bytes;
    (void)note;
    return patch_create(document_text_arg(args, "diff"), ret_change, err);
}

static enum err_code make_changed(const json_t *args, struct edit_span bytes,
                                  struct text_change *ret_change, struct buf *note,
                                  struct err *err)
{
    (void)note;
    if (!bytes.at)
        return missing(args, err);
    return patch_update(bytes, document_text_arg(args, "diff"), ret_change, err);
}

static enum err_code make_nothing(const json_t *args, struct edit_span bytes,
                                  struct text_change *ret_change, struct buf *note,
                                  struct err *err)
{
    (void)note;
    if (!bytes.at)
        return missing(args, err);
    *ret_change = (struct text_change){.bytes = mem_strdup("")};
    return ERR_OK;
}

static void report(const json_t *args, const char *path, bool created,
                   const struct text_change *change, const struct buf *note, struct buf *out)
{
    const char *type = json_get_string(args, "type", "");
    const char *verb = strcmp(type, "create_file") == 0   ? "Created"
                       : strcmp(type, "delete_file") == 0 ? "Deleted"
                                                          : "Updated";

    (void)created;
    (void)change;
    (void)note;
    buf_addf(out, "%s %s", verb, path);
}

static const struct file_change creation = {.title = "Created",
                                            .argument = "path",
                                            .whole = true,
                                            .only_new = true,
                                            .make = make_new,
                                            .report = report};
static const struct file_change update = {
    .title = "Updated", .argument = "path", .make = make_changed, .report = report};
static const struct file_change deletion = {.title = "Deleted",
                                            .argument = "path",
                                            .whole = true,
                                            .removes = true,
                                            .make = make_nothing,
                                            .report = report};

static const struct file_change *kind_of(const struct tool_call *call)
{
    const char *type = json_get_string(tool_call_args(call), "type", "");

    if (strcmp(type, "create_file") == 0)
        return &creation;
    return strcmp(type, "delete_file") == 0 ? &deletion : &update;
}

static bool has_parent(const char *path)
{
    for (const char *part = path; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || !part[2]))
            return true;
    }
    return false;
}

/* The schema does not say which operations need a diff. */
static enum err_code check(const json_t *args, struct err *err)
{
    const char *path = json_get_string(args, "path", "");
    json_auto_t *operation = NULL;
    enum err_code rc = patch_operation(args, &operation, err);

    if (rc)
        return rc;
    if (*path == '/' || has_parent(path))
        return err_set(
            err, ERR_FORBIDDEN,
            "Invalid Path: %.512s\nA path is relative to the workspace, without '..'.", path);
    return ERR_OK;
}

/* A patch that cannot be applied now may follow one of the same turn that makes it possible. So its error is for run().
 */
static enum err_code plan(struct tool_call *call, struct err *err)
{
    enum err_code rc = check(tool_call_args(call), err);

    if (!rc && file_change_plan(call, kind_of(call), NULL) == ERR_CANCELLED)
        rc = err_set(err, ERR_CANCELLED, "The patch was interrupted.");
    return rc == ERR_CANCELLED ? rc : ERR_OK;
}

/* ---- Its end ---- */

static void put_outcome(struct tool_result *result, bool applied, const char *output)
{
    json_auto_t *text = patch_outcome(applied, output);

    tool_result_set_data(result, json_build("{s:s}", "output", output));
    tool_result_add_text(result, json_string_value(text));
}

static json_t *opened(const struct tool_container *container)
{
    return json_build("{s:{s:s}}", "runnel", "container_id", container->id);
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    struct tool_container *container = NULL;
    CLEANUP(tool_result_clear) struct tool_result made = {0};
    CLEANUP(tool_run_clear) struct tool_run ran = {0};
    struct err why = {0};
    enum err_code rc = tool_call_container(call, &container, err);

    rc = rc ? rc : tool_call_open(call, opened(container));
    if (rc)
        return rc;
    rc = check(tool_call_args(call), &why);
    rc = rc ? rc : file_change_run(call, kind_of(call), &made, &why);
    if (rc == ERR_CANCELLED) {
        *err = why;
        return rc;
    }
    if (!rc)
        rc = tool_call_note_files(call, &ran, &why) == ERR_CONFLICT ? ERR_CONFLICT : ERR_OK;
    if (rc) {
        put_outcome(ret_result, false, why.text);
        tool_result_describe(ret_result, NULL, call_described(call, json_object()));
        tool_result_end(ret_result, TOOL_ERROR, why.text);
        return ERR_OK;
    }
    AUTO_FREE char *text = tool_result_text(&made);

    put_outcome(ret_result, true, text);
    tool_result_describe(ret_result, made.title, json_incref(made.metadata));
    tool_result_set_files(ret_result, ran.files ? TAKE(ran.files) : json_array());
    return ERR_OK;
}

const struct tool_handler container_patch_handler = {
    .name = "apply_patch",
    .type = "apply_patch",
    .group = "hosted",
    .description = "Creates, changes or deletes one file of the workspace, /mnt/data.",
    .parameters = patch_parameters,
    .flags = TOOL_HOSTED | TOOL_NEEDS_SANDBOX | TOOL_OPENS | TOOL_IN_ORDER,
    .item = &patch_item,
    .plan = plan,
    .run = run,
};
