#ifndef RUNNEL_HANDLERS_SUPPORT_FILE_TREE_H
#define RUNNEL_HANDLERS_SUPPORT_FILE_TREE_H

#include "core/sandbox/workspace/workspace.h"
#include "core/tool/tool.h"

/*
 * file_tree.h -- walks a folder of a container and what is below it, in the order of names, and matches names.
 *
 * Links are entries, and are not followed. What disappears meanwhile is left out.
 */

struct file_tree_entry {
    const char *path; /* from where the walk begins: "src/a.c"; borrowed, as the name is */
    const char *name;
    size_t depth; /* 1: directly in the folder */
    const struct workspace_stat *stat;
};

enum file_tree_next {
    FILE_TREE_ENTER, /* if it is a folder */
    FILE_TREE_PASS,  /* not into it */
    FILE_TREE_STOP,
};

struct file_tree {
    const struct workspace *workspace;
    const char *folder; /* as workspace_path_parse() makes it */
    size_t depth;       /* how deep it goes, from 1 */
    enum file_tree_next (*take)(void *argument, const struct file_tree_entry *entry);
    void *argument;
};

/* Folders that a walk has open at once, and entries of one of them. */
#define FILE_TREE_DEPTH   ((size_t)20)
#define FILE_TREE_ENTRIES ((size_t)20000)

/* The folder itself must be there. ERR_CANCELLED: the call has ended. */
enum err_code file_tree_walk(struct tool_call *call, const struct file_tree *tree,
                             struct err *err) MUST_CHECK;

/* Whether a path has this form: `*` and `?` stay within a part of it, `**` is any number of parts. Takes at most the
 * product of both lengths. */
bool file_tree_matches(const char *pattern, const char *path);

#endif
