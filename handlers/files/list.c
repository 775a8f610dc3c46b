/*
 * fs-List -- a folder as a tree. Folders that programs fill are counted and not shown.
 */

#include "core/base/json.h"
#include "core/base/mem.h"
#include "handlers/handlers.h"
#include "handlers/support/file_tree.h"
#include "handlers/support/workspace_call.h"

#define SHOWN ((size_t)500)

static const char *const skipped[] = {
    "node_modules", ".git",          ".svn",   ".hg",      "dist",    "build",
    "out",          "target",        ".next",  ".nuxt",    ".vscode", ".idea",
    "__pycache__",  ".pytest_cache", "vendor", "coverage", ".venv",
};

struct listing {
    const json_t *args;
    const struct workspace *workspace;
    const char *folder;
    struct buf text;
    size_t count;
    bool cut;
};

/* Whether the comma separated list has the name. */
static bool list_has(const char *list, const char *name)
{
    size_t length = strlen(name);

    while (*list) {
        size_t part = strcspn(list, ",");

        while (part && *list == ' ')
            list++, part--;
        if (part == length && memcmp(list, name, length) == 0)
            return true;
        list += part + (list[part] == ',');
    }
    return false;
}

static bool is_skipped(const struct listing *listing, const char *name)
{
    for (size_t i = 0; i < COUNT_OF(skipped); i++) {
        if (strcmp(skipped[i], name) == 0)
            return true;
    }
    return list_has(json_get_string(listing->args, "skipDir", ""), name);
}

static void add_count(struct listing *listing, const struct file_tree_entry *entry)
{
    AUTO_FREE char *path = strcmp(listing->folder, ".") == 0
                               ? mem_strdup(entry->path)
                               : mem_printf("%s/%s", listing->folder, entry->path);
    struct workspace_list list = {0};

    if (workspace_list(listing->workspace, path, FILE_TREE_ENTRIES, &list, NULL) == ERR_OK)
        buf_addf(&listing->text, " [skipped: %zu%s entries]", list.count, list.cut ? "+" : "");
    workspace_list_clear(&list);
}

static void add_size(struct buf *text, uint64_t size)
{
    if (size < 1024)
        buf_addf(text, " (%llu B)", (unsigned long long)size);
    else if (size < 1024 * 1024)
        buf_addf(text, " (%.1f KB)", (double)size / 1024);
    else
        buf_addf(text, " (%.1f MB)", (double)size / (1024 * 1024));
}

/* Names are a box's: what is no text must not look like another line. */
static void add_entry(struct listing *listing, const struct file_tree_entry *entry, bool skip)
{
    AUTO_FREE char *name = workspace_path_shown(entry->name);
    enum workspace_kind kind = entry->stat->kind;

    buf_addf(&listing->text, "%*s%s%s", (int)(2 * (entry->depth - 1)), "", name,
             kind == WORKSPACE_FOLDER ? "/"
             : kind == WORKSPACE_LINK ? " (link)"
                                      : "");
    if (skip)
        add_count(listing, entry);
    else if (kind == WORKSPACE_FILE && json_get_bool(listing->args, "showSize", true))
        add_size(&listing->text, entry->stat->size);
    buf_add_char(&listing->text, '\n');
    listing->count++;
}

static bool is_wanted(const struct listing *listing, const struct file_tree_entry *entry)
{
    bool folder = entry->stat->kind == WORKSPACE_FOLDER;
    const char *pattern = json_get_string(listing->args, "pattern", NULL);

    if (folder)
        return !json_get_bool(listing->args, "onlyFiles", false);
    if (json_get_bool(listing->args, "onlyDirs", false))
        return false;
    return !pattern || file_tree_matches(pattern, entry->name);
}

static enum file_tree_next take(void *argument, const struct file_tree_entry *entry)
{
    struct listing *listing = argument;
    bool skip = entry->stat->kind == WORKSPACE_FOLDER && is_skipped(listing, entry->name);

    if (!skip && *entry->name == '.' && !json_get_bool(listing->args, "showHidden", false))
        return FILE_TREE_PASS;
    if (is_wanted(listing, entry)) {
        if (listing->count == SHOWN) {
            listing->cut = true;
            return FILE_TREE_STOP;
        }
        add_entry(listing, entry, skip);
    }
    return skip ? FILE_TREE_PASS : FILE_TREE_ENTER;
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    const json_t *args = tool_call_args(call);
    const char *path = json_get_string(args, "path", "");
    struct listing listing = {.args = args};
    AUTO_FREE char *folder = NULL, *title = mem_printf("Listed %s", path);
    enum err_code rc = call_workspace(call, &listing.workspace, err);

    rc = rc ? rc : workspace_path_parse(path, &folder, err);
    if (rc)
        return rc;
    listing.folder = folder;
    rc = file_tree_walk(call,
                        &(struct file_tree){.workspace = listing.workspace,
                                            .folder = folder,
                                            .depth = (size_t)json_get_int(args, "depth", 2),
                                            .take = take,
                                            .argument = &listing},
                        err);
    if (!rc && !listing.count)
        buf_add_text(&listing.text, "(nothing)\n");
    if (!rc && listing.cut)
        buf_addf(&listing.text, "... (the first %zu entries)\n", SHOWN);
    if (!rc) {
        tool_result_add_bytes(ret_result, listing.text.data, listing.text.length - 1);
        tool_result_describe(
            ret_result, title,
            call_described(call, json_build("{s:I}", "count", (json_int_t)listing.count)));
    }
    buf_clear(&listing.text);
    return rc;
}

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"path\"],"
    " \"properties\": {"
    "\"path\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 4095,"
    "  \"description\": \"The folder, from /mnt/data on; / is that folder.\"},"
    "\"pattern\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 1000,"
    "  \"description\": \"Only files with such names, for example *.py\"},"
    "\"depth\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 10, \"default\": 2, "
    "\"description\": \"How many levels of folders.\"},"
    "\"showSize\": {\"type\": \"boolean\", \"default\": true, \"description\": \"Sizes of "
    "files.\"},"
    "\"showHidden\": {\"type\": \"boolean\", \"default\": false, \"description\": \"Also what "
    "begins with a dot.\"},"
    "\"onlyFiles\": {\"type\": \"boolean\", \"default\": false, \"description\": \"Files "
    "without their folders.\"},"
    "\"onlyDirs\": {\"type\": \"boolean\", \"default\": false, \"description\": \"Folders "
    "without their files.\"},"
    "\"skipDir\": {\"type\": \"string\", \"maxLength\": 1000,"
    "  \"description\": \"More folders that are counted and not shown, with commas "
    "between.\"}}}";

static const char *const tags[] = {"files", NULL};

const struct tool_handler fs_list_handler = {
    .name = "fs-List",
    .group = "files",
    .description = "Shows what is in a folder of the workspace, /mnt/data, as a tree.",
    .parameters = parameters,
    .flags = TOOL_IDEMPOTENT | TOOL_READ_ONLY | TOOL_IN_ORDER | TOOL_NEEDS_SANDBOX,
    .permission = {EXECUTION_ASK_ONCE, RESULT_ALWAYS},
    .returns = {"string", "a tree"},
    .tags = tags,
    .run = run,
};
