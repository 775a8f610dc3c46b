#ifndef RUNNEL_CORE_SANDBOX_WORKSPACE_WORKSPACE_SKILLS_H
#define RUNNEL_CORE_SANDBOX_WORKSPACE_WORKSPACE_SKILLS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/sandbox/workspace/workspace.h"

/*
 * workspace_skills.h -- folders beside a workspace that its boxes can read and not write.
 *
 *     data_dir/workspaces/<owner>/<container>/skills/<name>     a box sees it as /mnt/skills/<name>
 *                                             new-skill         one that is being written
 *
 * They belong to the server, and a box mounts their folder read-only. A folder that has its name has all its files,
 * even after a crash. A box that runs sees a new one at once. They go with the workspace.
 *
 * Any thread; one writes at a time.
 */

#define WORKSPACE_SKILLS_MOUNT "/mnt/skills"

/* The folder on the host, for struct box_folder. Borrowed. */
const char *workspace_skills_folder(const struct workspace *workspace);

bool workspace_has_skill(const struct workspace *workspace, const char *name);

/* A file of the folder. Its path is relative, without `..`, empty parts and links. */
struct workspace_skill_file {
    const char *path;
    const void *bytes;
    size_t size;
};

/* Writes the folder and gives it its name: letters, digits, `-`. A file whose place is taken by a folder is left out.
 * A file that begins with `#!` can be executed. ERR_INVALID: a path is none of these. ERR_FULL, ERR_INTERNAL. */
enum err_code workspace_put_skill(const struct workspace *workspace, const char *name,
                                  const struct workspace_skill_file *files, size_t count,
                                  struct err *err) MUST_CHECK;

#endif
