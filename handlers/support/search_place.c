#include "handlers/support/search_place.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "handlers/support/root_call.h"
#include "handlers/support/workspace_call.h"

/* A file is searched from its folder on. */
static void set_target(struct search_place *place, const struct workspace *workspace,
                       enum workspace_kind kind)
{
    char *in_box = workspace_in_box(workspace, place->path);
    char *slash = strrchr(in_box, '/');

    if (kind == WORKSPACE_FOLDER) {
        place->folder = in_box;
        place->target = mem_strdup(".");
        return;
    }
    place->target = mem_strdup(slash + 1);
    place->folder = mem_strndup(in_box, (size_t)(slash - in_box));
    free(in_box);
}

enum err_code search_place_plan(struct tool_call *call, struct err *err)
{
    return root_call_ask(call, "Search", json_get_string(tool_call_args(call), "path", "/"),
                         ROOT_READS_FOLDER, err);
}

enum err_code search_place_open(struct tool_call *call, struct search_place *ret_place,
                                struct err *err)
{
    const char *text = json_get_string(tool_call_args(call), "path", "/");
    CLEANUP(search_place_clear) struct search_place place = {.path = NULL};
    const struct workspace *workspace = NULL;
    struct workspace_stat stat;
    enum err_code rc = call_workspace_at(call, text, &workspace, err);

    rc = rc ? rc : workspace_parse(workspace, text, &place.path, err);
    rc = rc ? rc : workspace_stat(workspace, text, &stat, err);
    rc = rc ? rc : workspace_scan(workspace, &place.scan, err);
    if (rc)
        return rc;
    place.root = workspace_root(workspace);
    place.top = workspace_in_box(workspace, ".");
    set_target(&place, workspace, stat.kind);
    *ret_place = place;
    place = (struct search_place){.path = NULL};
    return ERR_OK;
}

void search_place_clear(struct search_place *place)
{
    free(place->path);
    free(place->folder);
    free(place->target);
    free(place->top);
    workspace_scan_clear(&place->scan);
}

char *search_place_path(const struct search_place *place, const char *name)
{
    if (strncmp(name, "./", 2) == 0)
        name += 2;
    return mem_printf("%s/%s", place->folder, name);
}

int64_t search_place_time(const struct search_place *place, const char *path)
{
    size_t low = 0, high = place->scan.count, top = strlen(place->top);

    if (strncmp(path, place->top, top) != 0 || path[top] != '/')
        return INT64_MIN;
    path += top + 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(path, place->scan.files[middle].path);

        if (order == 0)
            return place->scan.files[middle].stat.mtime_ns;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return INT64_MIN;
}

int search_file_order(const void *left, const void *right)
{
    const struct search_file *a = left, *b = right;

    if (a->time != b->time)
        return a->time > b->time ? -1 : 1;
    return strcmp(a->path, b->path);
}
