#ifndef RUNNEL_HANDLERS_SUPPORT_SEARCH_PLACE_H
#define RUNNEL_HANDLERS_SUPPORT_SEARCH_PLACE_H

#include "core/sandbox/workspace/workspace_scan.h"
#include "core/tool/tool.h"

/*
 * search_place.h -- where a search looks, and how old the files there are: newer ones come first.
 */

struct search_place {
    char *path;       /* as workspace_path_parse() makes it */
    char *folder;     /* the same as boxes see it; of a file the folder that it is in */
    char *target;     /* what is searched from there on: "." or a file */
    char *top;        /* the workspace or the root as boxes see it */
    const char *root; /* its name; NULL: it is the workspace. Borrowed */
    struct workspace_scan scan;
};

/* In plan(): a place in a root needs the answer of a person. */
enum err_code search_place_plan(struct tool_call *call, struct err *err) MUST_CHECK;

/* The place that the argument `path` names; without one the workspace. */
enum err_code search_place_open(struct tool_call *call, struct search_place *ret_place,
                                struct err *err) MUST_CHECK;
void search_place_clear(struct search_place *place);

/* Of a name as ripgrep prints it, "./a" or "a": the path as boxes see it. The caller frees. */
char *search_place_path(const struct search_place *place, const char *name);

/* When the file was changed, for such a path; INT64_MIN: unknown. */
int64_t search_place_time(const struct search_place *place, const char *path);

/* Later ones first, then by path. For qsort(). */
struct search_file {
    char *path; /* as boxes see it; owned */
    int64_t time;
};
int search_file_order(const void *left, const void *right);

#define SEARCH_CUT_NOTE \
    "(Results are truncated. Consider using a more specific path or pattern.)"

#endif
