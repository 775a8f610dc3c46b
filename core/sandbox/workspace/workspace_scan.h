#ifndef RUNNEL_CORE_SANDBOX_WORKSPACE_WORKSPACE_SCAN_H
#define RUNNEL_CORE_SANDBOX_WORKSPACE_WORKSPACE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/sandbox/workspace/workspace.h"

/*
 * workspace_scan.h -- what a workspace has: its files, what a command has changed, how much there is.
 *
 *     workspace_scan(workspace, &before);
 *     ... a command runs ...
 *     workspace_scan(workspace, &after);
 *     workspace_compare(&before, &after, &changes);
 *
 * A scan reads folders, no files. What a box changes meanwhile is in it or not. Links are not followed. Twenty
 * thousand files take about 30 ms.
 *
 * A scan has the regular files whose names are text: UTF-8 without control characters. The others are counted. It ends
 * at the limit of files of workspaces_options, and is `cut` then. Hidden folders make it cut, too: those whose path is
 * longer than WORKSPACE_PATH_LIMIT, or that the server may not read.
 *
 * Any thread; a scan belongs to its caller.
 */

struct workspace_file {
    char *path; /* owned; from the workspace's folder on */
    struct workspace_stat stat;
};

struct workspace_scan {
    struct workspace_file *files; /* owned; sorted by the bytes of their paths */
    size_t count;
    size_t nameless; /* files whose names are no text */
    bool cut;
};

enum err_code workspace_scan(const struct workspace *workspace, struct workspace_scan *ret_scan,
                             struct err *err) MUST_CHECK;
void workspace_scan_clear(struct workspace_scan *scan);

enum workspace_event { WORKSPACE_CREATED, WORKSPACE_CHANGED, WORKSPACE_DELETED };

struct workspace_change {
    enum workspace_event event;
    const struct workspace_file *file; /* in the newer scan; of a deleted one in the older */
};

struct workspace_changes {
    struct workspace_change *changes; /* owned; sorted by path */
    size_t count;
};

/* The scans stay as they are while the changes are used. A file is changed if its size, its time or its inode is
 * another. Of a cut scan it is unknown what it does not have: nothing is created after one, and nothing deleted
 * before one. */
void workspace_compare(const struct workspace_scan *before, const struct workspace_scan *after,
                       struct workspace_changes *ret_changes);
void workspace_changes_clear(struct workspace_changes *changes);

/* ---- Room ---- */

struct workspace_usage {
    uint64_t bytes; /* blocks of the disk; a file with two names counts once */
    uint64_t files; /* with folders and links */
    /* There are hidden folders; what is in them is unknown, so nothing more may be written. */
    bool hidden;
};

/* Stops counting when a limit is passed. */
enum err_code workspace_usage(const struct workspace *workspace,
                              struct workspace_usage *ret_usage, struct err *err) MUST_CHECK;

/* Free bytes of the server's disk, without the reserve. */
uint64_t workspace_disk_left(const struct workspace *workspace);

/* How many bytes may be written beside `files` new files and folders; the disk's reserve counts. ERR_FULL, if it is
 * nothing: "The workspace is full: 1024 MiB of 1024 MiB. Delete files." */
enum err_code workspace_room(const struct workspace *workspace, uint64_t files,
                             uint64_t *ret_bytes, struct err *err) MUST_CHECK;

/* ---- The watch ---- */

/* What was seen at the last check. Starts as zeros, and the first check only counts. */
struct workspace_watch {
    struct workspace_usage usage;
    uint64_t disk; /* bytes that are free */
    bool known;
};

enum workspace_growth {
    WORKSPACE_STILL,   /* it has not grown since the last check */
    WORKSPACE_GROWN,   /* it has, within its limits */
    WORKSPACE_TOO_FAR, /* it has, and is now beyond a limit or uses the disk's reserve */
};

/* Counts what code in a box has written, which no file tool limits. A workspace that is full and shrinks is
 * WORKSPACE_STILL, so that commands can delete files. While the reserve is used and shrinks, every workspace counts as
 * grown: files without a name have no owner. Takes 1.5 us for each file, and counts at most eight times as many as a
 * workspace may have. */
enum workspace_growth workspace_check_growth(const struct workspace *workspace,
                                             struct workspace_watch *watch);

#endif
