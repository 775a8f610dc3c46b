#include "handlers/support/workspace_call.h"

#include "core/base/json.h"
#include "core/tool/cut.h"

enum err_code call_workspace(struct tool_call *call, const struct workspace **ret_workspace,
                             struct err *err)
{
    struct tool_container *container = NULL;
    enum err_code rc = tool_call_container(call, &container, err);

    if (!rc)
        *ret_workspace = container->workspace;
    return rc;
}

json_t *call_described(struct tool_call *call, json_t *metadata)
{
    struct tool_container *container = NULL;

    if (tool_call_container(call, &container, NULL) == ERR_OK)
        json_set_string(metadata, "container_id", container->id);
    return metadata;
}

char *code_cut(const char *text, const struct cut_rule *rule, struct cut_shown *ret_shown)
{
    struct cut_rule all = *rule;

    all.limit = CUT_NO_LIMIT;
    return cut_text(text, &all, ret_shown);
}
