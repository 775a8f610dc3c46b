#include "core/sandbox/workspace/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/fault.h"
#include "core/base/mem.h"

/* The kernel gives up when something was renamed while it went through `..`. A file with a lease looks the same. */
#define TRIES 1000

int beneath_open(int folder, const char *path, int flags, enum beneath_links links)
{
    struct open_how how = {
        .flags = (unsigned)flags | O_CLOEXEC | (flags & O_PATH ? 0 : O_NONBLOCK | O_NOCTTY),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV |
                   (links == BENEATH_NO_LINKS ? RESOLVE_NO_SYMLINKS : 0),
    };
    long fd = -1;

    if (FAULT("workspace.open")) {
        errno = EIO;
        return -1;
    }
    for (int i = 0; i < TRIES; i++) {
        fd = syscall(SYS_openat2, folder, path, &how, sizeof(how));
        if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
            break;
    }
    return (int)fd;
}

int beneath_open_parent(int folder, const char *path, const char **ret_name)
{
    const char *slash = strrchr(path, '/');
    AUTO_FREE char *parent =
        slash ? mem_strndup(path, (size_t)(slash - path)) : mem_strdup(".");

    *ret_name = slash ? slash + 1 : path;
    return beneath_open(folder, parent, O_PATH | O_DIRECTORY, BENEATH_FOLLOW);
}

void workspace_stat_fill(const struct stat *found, struct workspace_stat *ret_stat)
{
    *ret_stat = (struct workspace_stat){
        .kind = S_ISREG(found->st_mode)   ? WORKSPACE_FILE
                : S_ISDIR(found->st_mode) ? WORKSPACE_FOLDER
                : S_ISLNK(found->st_mode) ? WORKSPACE_LINK
                                          : WORKSPACE_OTHER,
        .size = (uint64_t)found->st_size,
        .mtime_ns =
            (int64_t)found->st_mtim.tv_sec * 1000000000 + (int64_t)found->st_mtim.tv_nsec,
        .inode = (uint64_t)found->st_ino,
    };
}

bool workspace_stat_equal(const struct workspace_stat *a, const struct workspace_stat *b)
{
    return a->kind == b->kind && a->size == b->size && a->mtime_ns == b->mtime_ns &&
           a->inode == b->inode;
}

/* clang-format off */
static const struct {
    int why;
    enum err_code code;
    const char *sentence; /* behind the path */
} failures[] = {
    {ENOENT,       ERR_NOT_FOUND, "does not exist."},
    {ENOTDIR,      ERR_INVALID,   "cannot be reached: a part of the path is no folder."},
    {EXDEV,        ERR_FORBIDDEN, "is outside of the workspace."},
    {ELOOP,        ERR_INVALID,   "is a link that leads nowhere."},
    {EISDIR,       ERR_INVALID,   "is a folder."},
    {ENXIO,        ERR_INVALID,   "is no regular file."},
    {ENAMETOOLONG, ERR_INVALID,   "has a name of more than 255 bytes."},
    {EACCES,       ERR_INVALID,   "cannot be used: its mode forbids it."},
    {EPERM,        ERR_INVALID,   "cannot be used: its mode forbids it."},
    {EAGAIN,       ERR_CONFLICT,  "is being changed. Try again."},
    {EEXIST,       ERR_CONFLICT,  "exists."},
    {ENOSPC,       ERR_FULL,      "was not written: the server has no disk space."},
    {EDQUOT,       ERR_FULL,      "was not written: the server has no disk space."},
};
/* clang-format on */

enum err_code workspace_failed(const char *text, int why, struct err *err)
{
    AUTO_FREE char *shown = workspace_path_shown(text);

    for (size_t i = 0; i < COUNT_OF(failures); i++) {
        if (failures[i].why == why)
            return err_set(err, failures[i].code, "%s %s", shown, failures[i].sentence);
    }
    return err_set(err, ERR_INTERNAL, "%s cannot be used: %s.", shown, strerror(why));
}

enum err_code workspace_not_a_file(const char *text, enum workspace_kind kind, struct err *err)
{
    return workspace_failed(text, kind == WORKSPACE_FOLDER ? EISDIR : ENXIO, err);
}
