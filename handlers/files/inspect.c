/*
 * fs-Inspect -- what kind of thing a path is, and how large.
 */

#include <stdio.h>
#include <strings.h>
#include <time.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/edit/edit.h"
#include "core/edit/text_file.h"
#include "handlers/handlers.h"
#include "handlers/support/file_tree.h"
#include "handlers/support/root_call.h"
#include "handlers/support/workspace_call.h"

/* clang-format off */
static const struct {
    const char *extension, *language;
} languages[] = {
    {".c", "C"}, {".h", "C"}, {".cpp", "C++"}, {".cc", "C++"}, {".hpp", "C++"}, {".cs", "C#"},
    {".css", "CSS"}, {".csv", "CSV"}, {".go", "Go"}, {".html", "HTML"}, {".htm", "HTML"},
    {".java", "Java"}, {".js", "JavaScript"}, {".mjs", "JavaScript"}, {".json", "JSON"},
    {".jsx", "JavaScript"}, {".kt", "Kotlin"}, {".lua", "Lua"}, {".md", "Markdown"},
    {".php", "PHP"}, {".ps1", "PowerShell"}, {".py", "Python"}, {".r", "R"}, {".rb", "Ruby"},
    {".rs", "Rust"}, {".sh", "Shell"}, {".sql", "SQL"}, {".svelte", "Svelte"},
    {".swift", "Swift"}, {".toml", "TOML"}, {".ts", "TypeScript"}, {".tsx", "TypeScript"},
    {".txt", "text"}, {".vue", "Vue"}, {".xml", "XML"}, {".yaml", "YAML"}, {".yml", "YAML"},
};
/* clang-format on */

static const char *language_of(const char *path)
{
    const char *dot = strrchr(path, '.');

    for (size_t i = 0; dot && i < COUNT_OF(languages); i++) {
        if (strcasecmp(dot, languages[i].extension) == 0)
            return languages[i].language;
    }
    return "unknown";
}

static void add_time(struct buf *text, int64_t mtime_ns)
{
    time_t seconds = (time_t)(mtime_ns / 1000000000);
    struct tm moment;
    char shown[32];

    if (gmtime_r(&seconds, &moment) &&
        strftime(shown, sizeof(shown), "%Y-%m-%d %H:%M:%S UTC", &moment))
        buf_addf(text, "\nmodified: %s", shown);
}

static enum err_code add_file(const struct workspace *workspace, const char *path,
                              const struct workspace_stat *stat, struct buf *text,
                              struct err *err)
{
    AUTO_BUF bytes = {0};
    struct edit_span span;
    struct edit_lines lines;
    enum err_code rc;

    buf_addf(text, "type: file\nsize: %llu bytes", (unsigned long long)stat->size);
    if (stat->size > EDIT_FILE_LIMIT)
        return ERR_OK;
    rc = workspace_read(workspace, path, EDIT_FILE_LIMIT, &bytes, NULL, err);
    if (rc)
        return rc;
    span = (struct edit_span){bytes.data ? bytes.data : "", bytes.length};
    if (text_file_is_binary(span)) {
        buf_add_text(text, "\ncontent: binary");
        return ERR_OK;
    }
    edit_lines_init(&lines, span);
    buf_addf(text, "\ncontent: text\nlines: %zu\nlanguage: %s",
             span.length ? edit_lines_trimmed(&lines) : 0, language_of(path));
    edit_lines_clear(&lines);
    return ERR_OK;
}

static enum err_code add_folder(const struct workspace *workspace, const char *path,
                                struct buf *text, struct err *err)
{
    struct workspace_list list = {0};
    enum err_code rc = workspace_list(workspace, path, FILE_TREE_ENTRIES, &list, err);

    if (!rc)
        buf_addf(text, "type: directory\nentries: %zu%s", list.count, list.cut ? "+" : "");
    workspace_list_clear(&list);
    return rc;
}

static enum err_code plan(struct tool_call *call, struct err *err)
{
    return root_call_ask(call, "Inspect", json_get_string(tool_call_args(call), "path", ""),
                         ROOT_READS, err);
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    const char *path = json_get_string(tool_call_args(call), "path", "");
    const struct workspace *workspace = NULL;
    struct workspace_stat stat;
    AUTO_BUF text = {0};
    AUTO_FREE char *title = mem_printf("Inspected %s", path);
    enum err_code rc = call_workspace_at(call, path, &workspace, err);

    rc = rc ? rc : workspace_stat(workspace, path, &stat, err);
    if (rc)
        return rc;
    buf_addf(&text, "path: %s\n", path);
    if (stat.kind == WORKSPACE_FILE)
        rc = add_file(workspace, path, &stat, &text, err);
    else if (stat.kind == WORKSPACE_FOLDER)
        rc = add_folder(workspace, path, &text, err);
    else
        buf_add_text(&text, "type: other");
    if (rc)
        return rc;
    add_time(&text, stat.mtime_ns);
    tool_result_add_bytes(ret_result, text.data, text.length);
    tool_result_describe(ret_result, title,
                         call_described(call, json_build("{s:s}", "path", path)));
    return ERR_OK;
}

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"path\"],"
    " \"properties\": {\"path\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 4095,"
    "  \"description\": \"The file or the folder, from /mnt/data on.\"}}}";

static const char *const tags[] = {"files", NULL};

const struct tool_handler fs_inspect_handler = {
    .name = "fs-Inspect",
    .group = "files",
    .description =
        "Says what a path of the workspace, /mnt/data, is: kind, size, lines, language, "
        "time, entries.",
    .parameters = parameters,
    .flags = TOOL_IDEMPOTENT | TOOL_READ_ONLY | TOOL_IN_ORDER | TOOL_NEEDS_SANDBOX,
    .permission = {EXECUTION_AUTO, RESULT_NEVER},
    .returns = {"string", "lines of names and values"},
    .tags = tags,
    .init = root_call_note,
    .plan = plan,
    .run = run,
};
