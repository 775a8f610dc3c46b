#ifndef RUNNEL_HANDLERS_SUPPORT_ROOT_CALL_H
#define RUNNEL_HANDLERS_SUPPORT_ROOT_CALL_H

#include <stdbool.h>
#include <stddef.h>

#include "core/sandbox/workspace/operator_roots.h"
#include "core/sandbox/workspace/workspace.h"
#include "core/tool/tool.h"

/*
 * root_call.h -- calls that read or write folders of the operator (operator_roots.h).
 */

/* The type of the permission. Its patterns are "name:/folder/" and a star. */
#define ROOT_PERMISSION "external_directory"

/* Of a path: the workspace of the call, or the root in which it is. ERR_FORBIDDEN: there is no such root. */
enum err_code call_workspace_at(struct tool_call *call, const char *path,
                                const struct workspace **ret_workspace,
                                struct err *err) MUST_CHECK;

enum root_use {
    ROOT_READS,
    ROOT_READS_FOLDER, /* the same, and the path may be that of a folder */
    ROOT_WRITES,
};

/* In plan(): a path in a root needs the answer of a person, for all of its folder. `operation` is a word for that
 * person. ERR_FORBIDDEN: there is no such root, or it cannot be written. */
enum err_code root_call_ask(struct tool_call *call, const char *operation, const char *path,
                            enum root_use use, struct err *err) MUST_CHECK;

/* For init(): the note that says which roots there are. */
struct tool_context;
json_t *root_call_note(const struct tool_context *context);

/* ---- Command lines ---- */

/* The roots that a line names, or its folder; NULL ends them. Borrowed. A name that is none of a root is left out: the
 * line finds nothing there. */
struct root_names {
    const char *names[OPERATOR_ROOTS_LIMIT + 1];
    size_t count;
};
void root_names_find(const char *line, struct root_names *names);

#endif
