#ifndef RUNNEL_CORE_SANDBOX_WORKSPACE_WALK_H
#define RUNNEL_CORE_SANDBOX_WORKSPACE_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "core/base/err.h"

/*
 * walk.h -- everything in a workspace, a folder before what is in it. Only for this room.
 *
 * Each folder is opened by its path from the top, without following links. So a folder that is moved meanwhile cannot
 * lead the walk anywhere, and the walk holds one descriptor however deep it is. What vanishes meanwhile is left out.
 */

struct walk {
    int root;
    /* False: enough. `path` is owned by the walk. */
    bool (*visit)(struct walk *walk, const char *path, const struct stat *found);
    /* A folder, or a name in one, that the walk cannot look at. NULL: nobody wants to know. */
    void (*hide)(struct walk *walk, const char *path);
    void *argument;
    bool hidden;    /* there was such a folder */
    char **pending; /* the walk's own: folders to enter */
    size_t count, room;
};

enum err_code walk_all(struct walk *walk, struct err *err) MUST_CHECK;

#endif
