#include "handlers/support/document_change.h"

#include "core/base/json.h"
#include "core/base/mem.h"
#include "handlers/support/changes.h"

struct edit_span document_text_arg(const json_t *args, const char *name)
{
    const json_t *text = json_object_get(args, name);

    return (struct edit_span){json_string_value(text), json_string_length(text)};
}

static enum err_code make_change(const struct tool_call *call,
                                 const struct document_change *kind, struct tool_text *text,
                                 struct text_change *change, struct err *err)
{
    const json_t *args = tool_call_args(call);
    const char *id = json_get_string(args, "file_id", "");
    struct edit_span bytes;
    enum err_code rc = tool_call_load_text(call, id, EDIT_FILE_LIMIT, text, err);

    if (rc)
        return changes_failed(kind->verb, id, rc, err);
    bytes = (struct edit_span){text->bytes, text->length};
    rc = text_file_check(bytes, err);
    if (!rc)
        rc = kind->make(args, bytes, change, err);
    return rc ? changes_failed(kind->verb, id, rc, err) : ERR_OK;
}

enum err_code document_change_plan(struct tool_call *call, const struct document_change *kind,
                                   struct err *err)
{
    CLEANUP(tool_text_clear) struct tool_text text = {.length = 0};
    CLEANUP(text_change_clear) struct text_change change = {.length = 0};
    enum err_code rc = make_change(call, kind, &text, &change, err);

    if (!rc)
        tool_call_preview(call, changes_of_file(&text, &change));
    return rc;
}

/* ERR_CONFLICT with *ret_raced: the file was changed since it was read. */
static enum err_code change_once(struct tool_call *call, const struct document_change *kind,
                                 struct tool_text *text, struct text_change *change,
                                 bool *ret_raced, struct err *err)
{
    enum err_code rc = make_change(call, kind, text, change, err);

    if (rc)
        return rc;
    rc = tool_call_change_text(call, text, change->bytes, change->length, err);
    *ret_raced = rc == ERR_CONFLICT;
    return rc ? changes_failed(kind->verb, text->id, rc, err) : ERR_OK;
}

enum err_code document_change_run(struct tool_call *call, const struct document_change *kind,
                                  struct tool_result *ret_result, struct err *err)
{
    CLEANUP(tool_text_clear) struct tool_text text = {.length = 0};
    CLEANUP(text_change_clear) struct text_change change = {.length = 0};
    AUTO_FREE char *title = NULL;
    AUTO_BUF report = {0};
    bool raced = true;
    enum err_code rc = ERR_CONFLICT;

    for (int i = 0; raced && i < DOCUMENT_CHANGE_ATTEMPTS; i++) {
        tool_text_clear(&text);
        text_change_clear(&change);
        raced = false;
        rc = tool_call_cancelled(call) ? ERR_CANCELLED
                                       : change_once(call, kind, &text, &change, &raced, err);
    }
    if (rc)
        return rc;
    title = mem_printf("%s %s", kind->title, text.name);
    kind->report(tool_call_args(call), &text, &change, &report);
    tool_result_add_bytes(ret_result, report.data, report.length);
    tool_result_describe(ret_result, title, changes_of_file(&text, &change));
    return ERR_OK;
}
