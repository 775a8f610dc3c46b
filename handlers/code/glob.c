/*
 * glob -- which files of the container have names of a form.
 */

#include <stdlib.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "handlers/handlers.h"
#include "handlers/support/ripgrep.h"
#include "handlers/support/root_call.h"
#include "handlers/support/search_place.h"
#include "handlers/support/workspace_call.h"

#define SHOWN ((size_t)100) /* files */

/* Files that are looked at. */
#define FOUND_LIMIT ((size_t)50000)

struct found {
    const struct search_place *place;
    struct search_file *files;
    size_t count, room;
};

static bool take(void *argument, const char *record, size_t length)
{
    struct found *found = argument;
    char *path = search_place_path(found->place, record);

    (void)length;
    if (found->count == found->room) {
        found->room = found->room ? 2 * found->room : 64;
        found->files = mem_resize(found->files, found->room, sizeof(*found->files));
    }
    found->files[found->count++] =
        (struct search_file){path, search_place_time(found->place, path)};
    return found->count < FOUND_LIMIT;
}

/* ripgrep's patterns are relative to where it starts. */
static const char *relative(const struct search_place *place, const char *pattern)
{
    size_t length = strlen(place->folder);

    if (strncmp(pattern, place->folder, length) == 0 && pattern[length] == '/')
        return pattern + length;
    return pattern;
}

static void report(const struct found *found, struct tool_result *ret_result)
{
    AUTO_BUF text = {0};

    for (size_t i = 0; i < found->count && i < SHOWN; i++)
        buf_addf(&text, "%s%s", i ? "\n" : "", found->files[i].path);
    if (!found->count)
        buf_add_text(&text, "No files found");
    if (found->count > SHOWN)
        buf_add_text(&text, "\n\n" SEARCH_CUT_NOTE);
    tool_result_add_bytes(ret_result, text.data, text.length);
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    const char *pattern = json_get_string(tool_call_args(call), "pattern", "");
    CLEANUP(search_place_clear) struct search_place place = {.path = NULL};
    struct found found = {.place = &place};
    AUTO_FREE char *glob = NULL, *title = NULL;
    enum err_code rc = search_place_open(call, &place, err);

    if (rc)
        return rc;
    glob = mem_printf("--glob=%s", relative(&place, pattern));
    title = mem_printf("Found files like %s", pattern);
    rc = ripgrep_run(
        call,
        &(struct ripgrep){.folder = place.folder,
                          .root = place.root,
                          .arguments = (const char *const[]){"--files", "--null", glob, "--",
                                                             place.target, NULL},
                          .separator = '\0',
                          .take = take,
                          .argument = &found},
        err);
    if (!rc && found.count)
        qsort(found.files, found.count, sizeof(*found.files), search_file_order);
    if (!rc) {
        report(&found, ret_result);
        tool_result_describe(
            ret_result, title,
            call_described(call, json_build("{s:I}", "count", (json_int_t)found.count)));
    }
    for (size_t i = 0; i < found.count; i++)
        free(found.files[i].path);
    free(found.files);
    return rc;
}

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"pattern\"],"
    " \"properties\": {"
    "\"pattern\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 1000,"
    "  \"description\": \"For example **/*.py\"},"
    "\"path\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 4095,"
    "  \"description\": \"The folder to search; /mnt/data if it is missing.\"}}}";

static const char *const tags[] = {"code", "files", "search", NULL};

const struct tool_handler glob_handler = {
    .name = "glob",
    .group = "code",
    .description = "Finds files of the workspace, /mnt/data, by their names; newest first.",
    .parameters = parameters,
    .flags = TOOL_IDEMPOTENT | TOOL_READ_ONLY | TOOL_IN_ORDER | TOOL_NEEDS_SANDBOX |
             TOOL_NEEDS_RIPGREP | TOOL_TAKES_SEAT,
    .shown_limit = CODE_SHOWN,
    .permission = {EXECUTION_AUTO, RESULT_NEVER},
    .returns = {"string", "paths, one a line"},
    .tags = tags,
    .init = root_call_note,
    .plan = search_place_plan,
    .run = run,
};
