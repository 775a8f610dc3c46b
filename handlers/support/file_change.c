#include "handlers/support/file_change.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/edit/edit.h"
#include "handlers/support/changes.h"
#include "handlers/support/root_call.h"
#include "handlers/support/workspace_call.h"

enum err_code file_change_whole(const json_t *args, struct edit_span bytes,
                                struct text_change *ret_change, struct buf *note,
                                struct err *err)
{
    const json_t *content = json_object_get(args, "content");
    size_t length = json_string_length(content);

    (void)bytes;
    (void)note;
    (void)err;
    *ret_change = (struct text_change){.bytes = mem_strndup(json_string_value(content), length),
                                       .length = length,
                                       .replacements = 1};
    return ERR_OK;
}

/* A file before and after. */
struct changed {
    const struct workspace *workspace;
    const char *path; /* of the arguments */
    struct buf before;
    struct workspace_stat stat;
    bool exists;
    bool shown; /* `before` is a text that can be shown */
    struct text_change change;
    struct buf note;
};

static void changed_clear(struct changed *changed)
{
    buf_clear(&changed->before);
    buf_clear(&changed->note);
    text_change_clear(&changed->change);
}

/* A missing file is no error. */
static enum err_code load(struct changed *changed, const struct file_change *kind,
                          struct err *err)
{
    enum err_code rc = workspace_stat(changed->workspace, changed->path, &changed->stat, err);

    if (rc == ERR_NOT_FOUND)
        return ERR_OK;
    if (!rc)
        rc = workspace_read(changed->workspace, changed->path, EDIT_FILE_LIMIT,
                            &changed->before, &changed->stat, err);
    if (rc == ERR_TOO_LARGE && kind->whole) {
        changed->exists = true;
        return ERR_OK;
    }
    changed->exists = changed->shown = rc == ERR_OK;
    return rc;
}

static struct edit_span bytes_of(const struct changed *changed)
{
    const char *at = changed->before.data ? changed->before.data : "";

    return (struct edit_span){changed->exists ? at : NULL, changed->before.length};
}

static enum err_code explain(const struct file_change *kind, const char *path, enum err_code rc,
                             struct err *err)
{
    return kind->verb ? changes_failed(kind->verb, path, rc, err) : rc;
}

static enum err_code make_change(struct tool_call *call, const struct file_change *kind,
                                 struct changed *changed, struct err *err)
{
    const json_t *args = tool_call_args(call);
    enum err_code rc;

    changed->path = json_get_string(args, kind->argument, "");
    rc = call_workspace_at(call, changed->path, &changed->workspace, err);
    if (rc)
        return rc;
    rc = load(changed, kind, err);
    if (!rc && changed->exists && kind->only_new)
        rc = kind->verb
                 ? err_set(err, ERR_CONFLICT, "The file exists.")
                 : err_set(err, ERR_CONFLICT, "File already exists: %.512s", changed->path);
    rc = rc ? rc : kind->make(args, bytes_of(changed), &changed->change, &changed->note, err);
    if (changed->shown && text_file_check(bytes_of(changed), NULL) != ERR_OK)
        changed->shown = false;
    return rc ? explain(kind, changed->path, rc, err) : ERR_OK;
}

static json_t *describe(const struct changed *changed)
{
    struct edit_span before = changed->shown ? bytes_of(changed) : (struct edit_span){"", 0};
    json_t *described = changes_describe(changed->path, before, &changed->change);

    json_set_string(described, "file_path", changed->path);
    return described;
}

enum err_code file_change_plan(struct tool_call *call, const struct file_change *kind,
                               struct err *err)
{
    CLEANUP(changed_clear) struct changed changed = {.path = ""};
    const char *path = json_get_string(tool_call_args(call), kind->argument, "");
    enum err_code rc = root_call_ask(call, kind->title, path, ROOT_WRITES, err);

    rc = rc ? rc : make_change(call, kind, &changed, err);
    if (!rc)
        tool_call_preview(call, describe(&changed));
    return rc;
}

enum err_code file_change_run(struct tool_call *call, const struct file_change *kind,
                              struct tool_result *ret_result, struct err *err)
{
    CLEANUP(changed_clear) struct changed changed = {.path = ""};
    struct workspace_target target = {.place = WORKSPACE_FREE};
    struct workspace_written written = {.created = false};
    AUTO_FREE char *title = NULL;
    AUTO_BUF report = {0};
    enum err_code rc = make_change(call, kind, &changed, err);

    if (rc)
        return rc;
    target.path = changed.path;
    target.expected = changed.stat;
    if (kind->whole && !kind->only_new)
        target.place = WORKSPACE_ANY;
    else if (changed.exists)
        target.place = WORKSPACE_SAME;
    if (kind->removes)
        rc = workspace_remove(changed.workspace, changed.path, err);
    else
        rc = workspace_write(changed.workspace, &target, changed.change.bytes,
                             changed.change.length, &written, err);
    if (rc)
        return explain(kind, changed.path, rc, err);
    title = mem_printf("%s %s", kind->title, changed.path);
    kind->report(tool_call_args(call), changed.path, written.created, &changed.change,
                 &changed.note, &report);
    tool_result_add_bytes(ret_result, report.data, report.length);
    tool_result_describe(ret_result, title, call_described(call, describe(&changed)));
    return ERR_OK;
}
