#ifndef RUNNEL_HANDLERS_SUPPORT_WORKSPACE_CALL_H
#define RUNNEL_HANDLERS_SUPPORT_WORKSPACE_CALL_H

#include "core/sandbox/workspace/workspace.h"
#include "core/tool/tool.h"
#include "core/tool/tool_container.h"

/*
 * workspace_call.h -- what the tools of the group share: the workspace of a call, and its results as text.
 */

/* Characters of a result that the model sees. The tools have limits of their own below it. */
#define CODE_SHOWN ((size_t)100000)

enum err_code call_workspace(struct tool_call *call, const struct workspace **ret_workspace,
                             struct err *err) MUST_CHECK;

/* For tool_result_describe(): adds the container to the metadata, which it takes. Later requests that continue this one
 * get the same container by it. */
json_t *call_described(struct tool_call *call, json_t *metadata);

/* For tools with an argument `limit` that does not mean characters: shows all, up to CUT_NO_LIMIT. */
struct cut_rule;
struct cut_shown;
char *code_cut(const char *text, const struct cut_rule *rule, struct cut_shown *ret_shown);

#endif
