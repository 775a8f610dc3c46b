#ifndef RUNNEL_CORE_SANDBOX_WORKSPACE_BENEATH_H
#define RUNNEL_CORE_SANDBOX_WORKSPACE_BENEATH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/base/err.h"
#include "core/sandbox/workspace/workspace.h"

/*
 * beneath.h -- opens below a folder that a box may change at any time, and never outside of it. Only for this room.
 */

struct workspaces {
    struct workspaces_options options; /* data_dir is owned, and absolute */
    int root;                          /* data_dir/workspaces */
    int incoming, trash;               /* folders in it */
};

struct workspace {
    struct workspaces *all;
    int fd;       /* of its folder; every path begins here */
    char *folder; /* absolute, as the next */
    char *skills; /* beside it (workspace_skills.h) */
    uint32_t user;
    int incoming; /* where new files are written, on the same disk; borrowed */
    char *root;   /* the name of an operator's root; NULL: a container's folder */
    bool writable;
};

enum beneath_links {
    BENEATH_FOLLOW,   /* within the folder */
    BENEATH_NO_LINKS, /* a link anywhere in the path fails with ELOOP */
};

/* As openat(), with O_CLOEXEC, O_NONBLOCK and O_NOCTTY. -1 and errno: EXDEV, the path leads out of the folder or to
 * another disk; EAGAIN, it was changed again and again meanwhile. */
int beneath_open(int folder, const char *path, int flags, enum beneath_links links);

/* Of a parsed path: the folder that it is in (O_PATH), and the last part of it. -1 and errno as above. */
int beneath_open_parent(int folder, const char *path, const char **ret_name);

/* ERR_INVALID. */
enum err_code workspace_check_names(const char *owner, const char *container,
                                    struct err *err) MUST_CHECK;

/* The folder of its skills, if it is missing. */
enum err_code workspace_make_skills(const struct workspace *workspace,
                                    struct err *err) MUST_CHECK;

void workspace_stat_fill(const struct stat *found, struct workspace_stat *ret_stat);

/* What errno means for the model. `text`: the path as it was written. */
enum err_code workspace_failed(const char *text, int why, struct err *err);

enum err_code workspace_not_a_file(const char *text, enum workspace_kind kind, struct err *err);

#endif
