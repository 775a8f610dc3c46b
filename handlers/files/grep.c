/*
 * fs-Grep -- lines of files that have a text, or match a regular expression.
 */

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "handlers/handlers.h"
#include "handlers/support/ripgrep.h"
#include "handlers/support/root_call.h"
#include "handlers/support/search_place.h"
#include "handlers/support/workspace_call.h"

#define LINE_LETTERS ((size_t)2000) /* of a line; the rest is cut */

struct found {
    size_t limit, count;
    struct buf text;
    bool cut;
};

static const char *text_of(const json_t *data, const char *name)
{
    return json_get_string(json_object_get(data, name), "text", "(not UTF-8)");
}

static void add_line(struct found *found, const json_t *data, bool match)
{
    const char *text = text_of(data, "lines");
    const char *path = text_of(data, "path");
    const char *end = utf8_at(text, LINE_LETTERS);
    size_t length = strcspn(text, "\r\n");

    if (length > (size_t)(end - text))
        length = (size_t)(end - text);
    if (strncmp(path, "./", 2) == 0)
        path += 2;
    buf_addf(&found->text, "%s%s%c%lld%c%.*s", found->text.length ? "\n" : "", path,
             match ? ':' : '-', (long long)json_get_int(data, "line_number", 0),
             match ? ':' : '-', (int)length, text);
}

static bool take(void *argument, const char *record, size_t length)
{
    struct found *found = argument;
    json_auto_t *message = NULL;
    const char *type;
    bool match;

    if (json_parse(record, length, &message, NULL) != ERR_OK)
        return true;
    type = json_get_string(message, "type", "");
    match = strcmp(type, "match") == 0;
    if (match && found->count == found->limit) {
        found->cut = true;
        return false;
    }
    if (match || strcmp(type, "context") == 0)
        add_line(found, json_object_get(message, "data"), match);
    found->count += match;
    return true;
}

static enum err_code search(struct tool_call *call, const struct search_place *place,
                            struct found *found, struct err *err)
{
    const json_t *args = tool_call_args(call);
    const char *include = json_get_string(args, "include", NULL);
    AUTO_FREE char *glob = include ? mem_printf("--glob=%s", include) : NULL;
    AUTO_FREE char *context =
        mem_printf("--context=%d", (int)json_get_int(args, "contextLines", 0));
    const char *arguments[20] = {"--json",
                                 "--sort=path",
                                 context,
                                 "--glob=!**/node_modules/**",
                                 "--glob=!**/.git/**",
                                 "--glob=!**/dist/**",
                                 "--glob=!**/build/**",
                                 "--glob=!**/__pycache__/**"};
    size_t count = 8;

    if (!json_get_bool(args, "caseSensitive", false))
        arguments[count++] = "--ignore-case";
    if (!json_get_bool(args, "regex", false))
        arguments[count++] = "--fixed-strings";
    if (glob)
        arguments[count++] = glob;
    arguments[count++] = "-e";
    arguments[count++] = json_get_string(args, "pattern", "");
    arguments[count++] = "--";
    arguments[count] = place->target;
    return ripgrep_run(call,
                       &(struct ripgrep){.folder = place->folder,
                                         .root = place->root,
                                         .arguments = arguments,
                                         .separator = '\n',
                                         .take = take,
                                         .argument = found},
                       err);
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    const json_t *args = tool_call_args(call);
    CLEANUP(search_place_clear) struct search_place place = {.path = NULL};
    struct found found = {.limit = (size_t)json_get_int(args, "maxResults", 50)};
    AUTO_FREE char *title = mem_printf("Searched for %s", json_get_string(args, "pattern", ""));
    enum err_code rc = search_place_open(call, &place, err);

    rc = rc ? rc : search(call, &place, &found, err);
    if (!rc && !found.count)
        buf_add_text(&found.text, "No matches found");
    if (!rc && found.cut)
        buf_addf(&found.text, "\n... (the first %zu matches)", found.limit);
    if (!rc) {
        tool_result_add_bytes(ret_result, found.text.data, found.text.length);
        tool_result_describe(
            ret_result, title,
            call_described(call, json_build("{s:I}", "matches", (json_int_t)found.count)));
    }
    buf_clear(&found.text);
    return rc;
}

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"path\", "
    "\"pattern\"],"
    " \"properties\": {"
    "\"path\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 4095,"
    "  \"description\": \"The folder or the file to search; / is /mnt/data.\"},"
    "\"pattern\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 1000,"
    "  \"description\": \"A text, or with regex a regular expression.\"},"
    "\"include\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 1000,"
    "  \"description\": \"Only files with such names, for example *.py\"},"
    "\"caseSensitive\": {\"type\": \"boolean\", \"default\": false, \"description\": \"The "
    "case of letters counts.\"},"
    "\"contextLines\": {\"type\": \"integer\", \"minimum\": 0, \"maximum\": 10, \"default\": "
    "0, \"description\": \"Lines to show around each match.\"},"
    "\"maxResults\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 200, \"default\": "
    "50, \"description\": \"How many are shown.\"},"
    "\"regex\": {\"type\": \"boolean\", \"default\": false, \"description\": \"The pattern is "
    "a regular expression.\"}}}";

static const char *const tags[] = {"files", "search", NULL};

const struct tool_handler fs_grep_handler = {
    .name = "fs-Grep",
    .group = "files",
    .description = "Finds lines in files of the workspace, /mnt/data, by a plain text.",
    .parameters = parameters,
    .flags = TOOL_IDEMPOTENT | TOOL_READ_ONLY | TOOL_IN_ORDER | TOOL_NEEDS_SANDBOX |
             TOOL_NEEDS_RIPGREP | TOOL_TAKES_SEAT,
    .permission = {EXECUTION_ASK_ONCE, RESULT_ALWAYS},
    .returns = {"string", "path:line:text, one a line"},
    .tags = tags,
    .init = root_call_note,
    .plan = search_place_plan,
    .run = run,
};
