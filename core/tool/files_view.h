#ifndef RUNNEL_CORE_TOOL_FILES_VIEW_H
#define RUNNEL_CORE_TOOL_FILES_VIEW_H

#include <jansson.h>

#include "core/base/err.h"

/*
 * files_view.h -- which files a tool may see: the same fact in two forms.
 *
 * On the wire it is OpenAI's `tool_resources`:
 *   {"code_interpreter":{"file_ids":[...]},"file_search":{"vector_store_ids":[...]}}
 * A tool wants its own list, by tool type:
 *   {"code_interpreter":["file-..."],"file_search":["vs_..."]}
 * The two convert into each other without loss. Attachments of messages
 * ({"file_id":...,"tools":[{"type":...}]}) and the request's file items are merged in, each
 * file once, in order of appearance; in the list of file_search stores stand before files.
 *
 * Pure functions: any thread. Results are new references.
 */

/* Files that one tool can see; further files are left out. */
#define FILES_VIEW_LIMIT 1000

json_t *files_view_from_resources(const json_t *tool_resources); /* NULL or null gives {} */
json_t *files_view_to_resources(const json_t *view);

/* Adds what `attachments` (an array, or NULL) gives to each tool type. */
void files_view_add_attachments(json_t *view, const json_t *attachments);
/* Adds the files that the parts of a message name: input_file and input_image with a `file_id`. `content` is a list, or
 * anything else, which names none. */
void files_view_add_content(json_t *view, const char *tool_type, const json_t *content);
void files_view_add(json_t *view, const char *tool_type, const char *file_id);

/* The view's own list of one tool type; NULL when it has none. */
const json_t *files_view_of(const json_t *view, const char *tool_type);

/* Checks shape, limits (20 files, 1 vector store) and how ids begin, with OpenAI's errors;
 * `param` is the path prefix, "tool_resources". */
enum err_code files_view_check_resources(const json_t *tool_resources, const char *param,
                                         struct err *err) MUST_CHECK;

#endif
