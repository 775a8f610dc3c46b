#ifndef RUNNEL_CORE_SANDBOX_WORKSPACE_WORKSPACE_TRASH_H
#define RUNNEL_CORE_SANDBOX_WORKSPACE_WORKSPACE_TRASH_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/sandbox/workspace/workspace.h"

/*
 * workspace_trash.h -- how workspaces go.
 *
 * A workspace is renamed into .trash, which is quick and final: its name is free at once. What is in the trash is
 * removed in steps, by a thread that may block. A crash at any point leaves a workspace or trash, and the next
 * start finds the trash.
 *
 * Folders of any depth and names of any bytes are removed, with a constant number of descriptors: what is deeper than
 * some levels is first renamed to the top.
 *
 * The boxes of a workspace have ended before it goes.
 */

/* ERR_OK also if there is no such workspace. */
enum err_code workspace_discard(struct workspaces *workspaces, const char *owner,
                                const char *container, struct err *err) MUST_CHECK;

/* Removes up to `budget` files and folders. True: more can be removed now. What a disk refuses to remove gets a
 * line in the log, and is tried again at the next call that begins anew. One thread at a time. */
bool workspace_trash_empty(struct workspaces *workspaces, size_t budget);

#endif
