/*
 * fs-Glob -- files and folders whose paths have a form.
 */

#include "core/base/json.h"
#include "core/base/mem.h"
#include "handlers/handlers.h"
#include "handlers/support/file_tree.h"
#include "handlers/support/workspace_call.h"

struct found {
    const char *pattern, *type;
    size_t limit, count;
    struct buf text;
    bool cut;
};

static bool has_type(const struct found *found, enum workspace_kind kind)
{
    bool folder = kind == WORKSPACE_FOLDER;

    return strcmp(found->type, "all") == 0 || folder == (strcmp(found->type, "dir") == 0);
}

/* What git keeps for itself is no file of the project. */
static enum file_tree_next take(void *argument, const struct file_tree_entry *entry)
{
    struct found *found = argument;

    if (strcmp(entry->name, ".git") == 0)
        return FILE_TREE_PASS;
    if (!has_type(found, entry->stat->kind) || !file_tree_matches(found->pattern, entry->path))
        return FILE_TREE_ENTER;
    if (found->count == found->limit) {
        found->cut = true;
        return FILE_TREE_STOP;
    }
    {
        AUTO_FREE char *path = workspace_path_shown(entry->path);

        buf_addf(&found->text, "%s%s", found->count++ ? "\n" : "", path);
    }
    return FILE_TREE_ENTER;
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    const json_t *args = tool_call_args(call);
    struct found found = {.pattern = json_get_string(args, "pattern", ""),
                          .type = json_get_string(args, "type", "file"),
                          .limit = (size_t)json_get_int(args, "maxResults", 100)};
    struct file_tree tree = {
        .depth = (size_t)json_get_int(args, "maxDepth", 10), .take = take, .argument = &found};
    AUTO_FREE char *folder = NULL, *title = mem_printf("Found files like %s", found.pattern);
    enum err_code rc = call_workspace(call, &tree.workspace, err);

    rc = rc ? rc : workspace_path_parse(json_get_string(args, "path", ""), &folder, err);
    tree.folder = folder;
    rc = rc ? rc : file_tree_walk(call, &tree, err);
    if (!rc && !found.count)
        buf_add_text(&found.text, "No files found");
    if (!rc && found.cut)
        buf_addf(&found.text, "\n... (the first %zu)", found.limit);
    if (!rc) {
        tool_result_add_bytes(ret_result, found.text.data, found.text.length);
        tool_result_describe(
            ret_result, title,
            call_described(call, json_build("{s:I}", "count", (json_int_t)found.count)));
    }
    buf_clear(&found.text);
    return rc;
}

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"path\", "
    "\"pattern\"],"
    " \"properties\": {"
    "\"path\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 4095,"
    "  \"description\": \"The folder to search, from /mnt/data on; / is that folder.\"},"
    "\"pattern\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 1000,"
    "  \"description\": \"For example **/*.py; * and ? stay within a folder, ** is any number "
    "of"
    " folders.\"},"
    "\"maxDepth\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 20, \"default\": 10, "
    "\"description\": \"How many levels of folders.\"},"
    "\"type\": {\"type\": \"string\", \"enum\": [\"file\", \"dir\", \"all\"], \"default\": "
    "\"file\", \"description\": \"Files, folders, or both.\"},"
    "\"maxResults\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 500,"
    "  \"default\": 100, \"description\": \"How many are shown.\"}}}";

static const char *const tags[] = {"files", "search", NULL};

const struct tool_handler fs_glob_handler = {
    .name = "fs-Glob",
    .group = "files",
    .description = "Finds files of the workspace, /mnt/data, by the form of their paths.",
    .parameters = parameters,
    .flags = TOOL_IDEMPOTENT | TOOL_READ_ONLY | TOOL_IN_ORDER | TOOL_NEEDS_SANDBOX,
    .permission = {EXECUTION_ASK_ONCE, RESULT_ALWAYS},
    .returns = {"string", "paths, one a line"},
    .tags = tags,
    .run = run,
};
