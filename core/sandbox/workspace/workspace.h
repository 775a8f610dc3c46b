#ifndef RUNNEL_CORE_SANDBOX_WORKSPACE_WORKSPACE_H
#define RUNNEL_CORE_SANDBOX_WORKSPACE_WORKSPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/sandbox/workspace/workspace_path.h"

/*
 * workspace.h -- the files of a container, as the server reads and writes them.
 *
 *     data_dir/workspaces/<owner>/<container>/data     a box sees it as /mnt/data
 *                                             skills   as /mnt/skills, read-only (workspace_skills.h)
 *                         .incoming                      files that are being written
 *                         .trash                         workspaces on their way out (workspace_trash.h)
 *
 * Everything in a workspace is hostile. A box may replace any file by a link, a FIFO or a folder while the server
 * looks at it. So the folder is opened once, and each path is resolved by the kernel from there: openat2() with
 * RESOLVE_BENEATH, NO_MAGICLINKS and NO_XDEV never leaves it, however the links under it change. What is opened is
 * looked at afterwards, and counts only if it is a regular file. A check of the path before would be a race.
 *
 * Links within the workspace are followed when a file is read or written, and stay. A link that leads to no file of the
 * workspace is replaced when a file of its name is written. A link is removed, not what it leads to.
 *
 * A file is written under .incoming, where boxes do not see it, and renamed to its place: others find the old file
 * or the whole new one.
 *
 * Paths are those of workspace_path.h, as models write them. The text of an error is for the model, and names no
 * path of the host:
 *
 *   ERR_FORBIDDEN  the path, or a link in it, leads out of the workspace
 *   ERR_NOT_FOUND  there is no such file
 *   ERR_INVALID    it is a folder, or neither file nor folder, where a file is wanted, or the reverse
 *   ERR_CONFLICT   it was changed meanwhile
 *   ERR_TOO_LARGE  more bytes than the caller takes
 *   ERR_FULL       the workspace, or the server's disk, has no room
 *   ERR_INTERNAL   the disk fails otherwise
 *
 * All functions block on the disk. Any thread; a workspace does not change once it is open, and a writer is used by one
 * thread at a time.
 */

struct workspaces;
struct workspace;

struct workspaces_options {
    const char *data_dir; /* exists */
    uint64_t bytes;       /* of one workspace, as blocks of the disk */
    uint64_t files;       /* of one workspace, with folders and links */
    uint64_t reserve;     /* free bytes of the disk that nothing may use */
};

/* Makes data_dir/workspaces, and removes what was being written when a server ended. The caller has locked data_dir.
 * ERR_INTERNAL: the disk fails, or this kernel has no openat2(), so that there can be no tools on files. */
enum err_code workspaces_open(const struct workspaces_options *options,
                              struct workspaces **ret_workspaces, struct err *err) MUST_CHECK;
void workspaces_close(struct workspaces *workspaces); /* NULL is fine; no workspace is open */

const struct workspaces_options *workspaces_options(const struct workspaces *workspaces);

/* Bytes of the name of an owner, which is a project, or of a container: letters, digits, `_` and `-`. Other names
 * are ERR_INVALID. */
#define WORKSPACE_NAME_LIMIT ((size_t)64)

/* Opens a container's workspace, and makes it if it is missing. Its files belong to `user`, the one of its boxes;
 * 0: the server's own. Only root can name another. A workspace that exists keeps its user. */
enum err_code workspace_make(struct workspaces *workspaces, const char *owner,
                             const char *container, uint32_t user,
                             struct workspace **ret_workspace, struct err *err) MUST_CHECK;

/* ERR_NOT_FOUND: there is no such workspace. */
enum err_code workspace_open(struct workspaces *workspaces, const char *owner,
                             const char *container, struct workspace **ret_workspace,
                             struct err *err) MUST_CHECK;
void workspace_close(struct workspace *workspace); /* NULL is fine */

/* A folder of the host that the operator opens to tools: a workspace whose paths are /mnt/roots/<name>/... . Others may
 * change it meanwhile. Paths are resolved in the same way: they lead neither out of it nor to another disk. It has no
 * limits but the disk's reserve. New files belong to the server's user, and are written under a hidden name at its
 * top. ERR_INVALID: it is no folder that the server may read. */
enum err_code workspace_open_root(struct workspaces *workspaces, const char *name,
                                  const char *folder, bool writable,
                                  struct workspace **ret_workspace, struct err *err) MUST_CHECK;

/* The name of a root; NULL: it is none. Borrowed. */
const char *workspace_root(const struct workspace *workspace);

/* workspace_path_parse(), or the same within the root. */
enum err_code workspace_parse(const struct workspace *workspace, const char *text,
                              char **ret_path, struct err *err) MUST_CHECK;

/* Of a parsed path: as boxes see it. The caller frees. */
char *workspace_in_box(const struct workspace *workspace, const char *path);

/* The same workspace, open a second time. NULL: no descriptor. The caller closes it. */
struct workspace *workspace_copy(const struct workspace *workspace) MUST_CHECK;

/* The folder on the host, for struct box_folder. Never for a model or a client. Borrowed. */
const char *workspace_folder(const struct workspace *workspace);

/* For struct box_plan: whom its files belong to; 0: the server's user, who is not root. */
uint32_t workspace_user(const struct workspace *workspace);

/* ---- Looking ---- */

enum workspace_kind {
    WORKSPACE_FILE,
    WORKSPACE_FOLDER,
    WORKSPACE_LINK,  /* only in lists */
    WORKSPACE_OTHER, /* a FIFO, a socket */
};

/* A file as it was at one time. Two are the same version if all members are equal. */
struct workspace_stat {
    enum workspace_kind kind;
    uint64_t size; /* bytes */
    int64_t mtime_ns;
    uint64_t inode;
};

bool workspace_stat_equal(const struct workspace_stat *a, const struct workspace_stat *b);

enum err_code workspace_stat(const struct workspace *workspace, const char *path,
                             struct workspace_stat *ret_stat, struct err *err) MUST_CHECK;

struct workspace_entry {
    char *name; /* owned; any bytes but `/` and NUL */
    struct workspace_stat stat;
};

struct workspace_list {
    struct workspace_entry *entries; /* owned; sorted by the bytes of their names */
    size_t count;
    bool cut; /* the folder has more */
};

/* What is in a folder, without `.` and `..`; `limit` names of it at most. workspace_list_clear() releases it. */
enum err_code workspace_list(const struct workspace *workspace, const char *path, size_t limit,
                             struct workspace_list *ret_list, struct err *err) MUST_CHECK;
void workspace_list_clear(struct workspace_list *list);

/* ---- Reading ---- */

/* Opens a regular file for reading; the caller closes *ret_fd. A box may change its bytes and its size meanwhile.
 * `ret_stat` may be NULL. */
enum err_code workspace_read_fd(const struct workspace *workspace, const char *path,
                                int *ret_fd, struct workspace_stat *ret_stat,
                                struct err *err) MUST_CHECK;

/* Adds the bytes of a file to *ret_bytes. ERR_TOO_LARGE: it has more than `limit`. A sparse file counts with all its
 * size. `ret_stat` may be NULL. */
enum err_code workspace_read(const struct workspace *workspace, const char *path, size_t limit,
                             struct buf *ret_bytes, struct workspace_stat *ret_stat,
                             struct err *err) MUST_CHECK;

/* ---- Writing ---- */

/* What may be at the place of a new file. */
enum workspace_place {
    WORKSPACE_ANY,  /* an old file, which is replaced and gives its mode to the new one */
    WORKSPACE_FREE, /* nothing: ERR_CONFLICT otherwise */
    WORKSPACE_SAME, /* the version `expected`, as it was read: ERR_CONFLICT otherwise */
};

struct workspace_target {
    const char *path; /* folders on the way are made */
    enum workspace_place place;
    struct workspace_stat expected; /* for WORKSPACE_SAME */
};

struct workspace_written {
    bool created; /* no file was there */
    struct workspace_stat stat;
};

struct workspace_writer;

/* A file that comes in pieces. Looks first whether the workspace has room. finish() puts the file into its place,
 * when its bytes are safe on disk; free() without it leaves nothing. After an error the writer can only be freed.
 * `ret_written` may be NULL. */
enum err_code workspace_writer_new(const struct workspace *workspace,
                                   const struct workspace_target *target,
                                   struct workspace_writer **ret_writer,
                                   struct err *err) MUST_CHECK;
enum err_code workspace_writer_add(struct workspace_writer *writer, const void *bytes,
                                   size_t size, struct err *err) MUST_CHECK;
enum err_code workspace_writer_finish(struct workspace_writer *writer,
                                      struct workspace_written *ret_written,
                                      struct err *err) MUST_CHECK;
void workspace_writer_free(struct workspace_writer *writer); /* NULL is fine */

/* All at once. */
enum err_code workspace_write(const struct workspace *workspace,
                              const struct workspace_target *target, const void *bytes,
                              size_t size, struct workspace_written *ret_written,
                              struct err *err) MUST_CHECK;

/* From a descriptor that is read from its place to its end. ERR_TOO_LARGE: more than `limit` bytes. */
enum err_code workspace_import(const struct workspace *workspace,
                               const struct workspace_target *target, int fd, uint64_t limit,
                               struct workspace_written *ret_written,
                               struct err *err) MUST_CHECK;

/* Makes a link at `path`, whose folder exists, to `target` beside it. A link that is there already is replaced, nothing
 * else is: ERR_CONFLICT. */
enum err_code workspace_link(const struct workspace *workspace, const char *path,
                             const char *target, struct err *err) MUST_CHECK;

/* Removes a file or a link, no folder. */
enum err_code workspace_remove(const struct workspace *workspace, const char *path,
                               struct err *err) MUST_CHECK;

#endif
