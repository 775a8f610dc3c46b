/*
 * workspace_write.c -- new files: written where no box sees them, then renamed to their place.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fault.h"
#include "core/base/ids.h"
#include "core/base/mem.h"
#include "core/sandbox/workspace/beneath.h"
#include "core/sandbox/workspace/workspace.h"
#include "core/sandbox/workspace/workspace_scan.h"

#define PIECE ((size_t)64 << 10)

#define MODE_OF_FILES   0644
#define MODE_OF_FOLDERS 0755

struct workspace_writer {
    const struct workspace *workspace;
    struct workspace_target target; /* its path is owned, as it was written */
    char *path;                     /* parsed */
    char incoming[ID_SIZE];         /* the name under .incoming; "" when it has left it */
    int fd;
    uint64_t left; /* bytes that may still be written */
};

/* ---- Before the first byte ---- */

static enum err_code cannot_write(const struct workspace *workspace, struct err *err)
{
    return err_set(err, ERR_FORBIDDEN, WORKSPACE_ROOTS_MOUNT "/%s can only be read.",
                   workspace->root);
}

static size_t folders_of(const char *path)
{
    size_t count = 0;

    for (; *path; path++)
        count += *path == '/';
    return count;
}

/* What is at the place now, without following a link. False: nothing. */
static enum err_code look(const struct workspace_writer *writer, struct stat *ret_found,
                          bool *ret_there, struct err *err)
{
    int fd =
        beneath_open(writer->workspace->fd, writer->path, O_PATH | O_NOFOLLOW, BENEATH_FOLLOW);
    struct workspace_stat stat;
    enum err_code rc = ERR_OK;

    *ret_there = fd >= 0;
    if (fd < 0)
        return errno == ENOENT ? ERR_OK : workspace_failed(writer->target.path, errno, err);
    if (fstat(fd, ret_found) != 0) {
        rc = workspace_failed(writer->target.path, errno, err);
    } else {
        workspace_stat_fill(ret_found, &stat);
        if (stat.kind == WORKSPACE_FOLDER || stat.kind == WORKSPACE_OTHER)
            rc = workspace_not_a_file(writer->target.path, stat.kind, err);
    }
    close(fd);
    return rc;
}

static enum err_code changed(const struct workspace_writer *writer, struct err *err)
{
    AUTO_FREE char *shown = workspace_path_shown(writer->target.path);

    return err_set(err, ERR_CONFLICT, "%s was changed since it was read. Read it again.",
                   shown);
}

static enum err_code check_place(const struct workspace_writer *writer,
                                 const struct stat *found, bool there, struct err *err)
{
    struct workspace_stat stat;

    if (writer->target.place == WORKSPACE_FREE && there)
        return workspace_failed(writer->target.path, EEXIST, err);
    if (writer->target.place != WORKSPACE_SAME)
        return ERR_OK;
    if (!there)
        return changed(writer, err);
    workspace_stat_fill(found, &stat);
    return workspace_stat_equal(&stat, &writer->target.expected) ? ERR_OK
                                                                 : changed(writer, err);
}

/* The name of what a descriptor has open, as the kernel has found it. False: too long, or no such file any more. */
static bool name_of(int fd, char ret_name[PATH_MAX])
{
    AUTO_FREE char *link = mem_printf("/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, ret_name, PATH_MAX);

    if (length < 0 || length == PATH_MAX)
        return false;
    ret_name[length] = '\0';
    return true;
}

/* The path of what `fd` has open, from the workspace's folder on and without links. NULL and errno: it has no such path
 * any more. The caller frees. */
static char *path_of(const struct workspace *workspace, int fd)
{
    char folder[PATH_MAX], file[PATH_MAX];
    struct stat found, there;
    size_t length;
    int direct, rc;

    errno = ENOENT;
    if (!name_of(workspace->fd, folder) || !name_of(fd, file))
        return NULL;
    length = strlen(folder);
    if (strncmp(file, folder, length) != 0 || file[length] != '/')
        return NULL;
    direct =
        beneath_open(workspace->fd, file + length + 1, O_PATH | O_NOFOLLOW, BENEATH_NO_LINKS);
    if (direct < 0)
        return NULL;
    rc = fstat(fd, &found) != 0 || fstat(direct, &there) != 0 || found.st_ino != there.st_ino;
    close(direct);
    errno = EAGAIN;
    return rc ? NULL : mem_strdup(file + length + 1);
}

/* A file that is written by the name of a link keeps the link. The kernel follows it, and what it has opened says
 * where it leads; a link that is changed afterwards changes nothing any more. A link that leads to no file of the
 * workspace is replaced. */
static enum err_code follow_link(struct workspace_writer *writer, struct err *err)
{
    int fd = beneath_open(writer->workspace->fd, writer->path, O_PATH, BENEATH_FOLLOW);
    struct stat found;
    char *path = NULL;
    bool file;

    if (fd < 0)
        return errno == ENOENT || errno == ELOOP || errno == EXDEV || errno == ENOTDIR
                   ? ERR_OK
                   : workspace_failed(writer->target.path, errno, err);
    file = fstat(fd, &found) == 0 && S_ISREG(found.st_mode);
    if (file)
        path = path_of(writer->workspace, fd);
    close(fd);
    if (file && !path)
        return workspace_failed(writer->target.path, errno, err);
    if (path) {
        free(writer->path);
        writer->path = path;
    }
    return ERR_OK;
}

/* The room that the old file leaves counts as room for the new one. */
static enum err_code find_room(struct workspace_writer *writer, struct err *err)
{
    struct stat found;
    bool there = false;
    enum err_code rc = look(writer, &found, &there, err);

    rc = rc ? rc : check_place(writer, &found, there, err);
    rc = rc ? rc
            : workspace_room(writer->workspace, there ? 0 : 1 + folders_of(writer->path),
                             &writer->left, err);
    if (!rc && there)
        writer->left += (uint64_t)found.st_blocks * 512;
    return rc;
}

enum err_code workspace_writer_new(const struct workspace *workspace,
                                   const struct workspace_target *target,
                                   struct workspace_writer **ret_writer, struct err *err)
{
    struct workspace_writer *writer = mem_new(struct workspace_writer);
    enum err_code rc;

    writer->workspace = workspace;
    writer->target = *target;
    writer->target.path = mem_strdup(target->path);
    writer->fd = -1;
    rc = workspace_parse(workspace, target->path, &writer->path, err);
    if (!rc && !workspace->writable)
        rc = cannot_write(workspace, err);
    if (!rc && strcmp(writer->path, ".") == 0)
        rc = workspace_failed(target->path, EISDIR, err);
    if (!rc && target->place != WORKSPACE_FREE) /* which refuses a link, as anything else */
        rc = follow_link(writer, err);
    rc = rc ? rc : find_room(writer, err);
    if (!rc) {
        id_make(writer->incoming, workspace->root ? ".new_" : "new_");
        writer->fd = openat(workspace->incoming, writer->incoming,
                            O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (writer->fd < 0)
            rc = workspace_failed(target->path, errno, err);
    }
    if (rc)
        workspace_writer_free(writer);
    else
        *ret_writer = writer;
    return rc;
}

void workspace_writer_free(struct workspace_writer *writer)
{
    if (!writer)
        return;
    if (writer->fd >= 0) {
        close(writer->fd);
        if (*writer->incoming)
            (void)unlinkat(writer->workspace->incoming, writer->incoming, 0);
    }
    free((char *)(uintptr_t)writer->target.path);
    free(writer->path);
    free(writer);
}

/* ---- The bytes ---- */

static enum err_code full(const struct workspace_writer *writer, struct err *err)
{
    struct workspace_usage usage;
    uint64_t limit = writer->workspace->all->options.bytes;
    enum err_code rc = ERR_OK;

    if (writer->workspace->root)
        return workspace_failed(writer->target.path, ENOSPC, err);
    rc = workspace_usage(writer->workspace, &usage, err);

    if (rc)
        return rc;
    return err_set(err, ERR_FULL,
                   "The file does not fit into the workspace: %llu MiB of %llu MiB are used. "
                   "Delete files.",
                   (unsigned long long)(usage.bytes >> 20), (unsigned long long)(limit >> 20));
}

enum err_code workspace_writer_add(struct workspace_writer *writer, const void *bytes,
                                   size_t size, struct err *err)
{
    if (size > writer->left)
        return full(writer, err);
    writer->left -= size;
    for (size_t at = 0; at < size;) {
        ssize_t written = FAULT("workspace.write")
                              ? (errno = ENOSPC, -1)
                              : write(writer->fd, (const char *)bytes + at, size - at);

        if (written < 0 && errno != EINTR)
            return workspace_failed(writer->target.path, errno, err);
        at += written > 0 ? (size_t)written : 0;
    }
    return ERR_OK;
}

/* ---- Into its place ---- */

/* Opens the folder `path`, and makes it if it is missing. A folder that was replaced by another one of the box
 * meanwhile may get an owner that it has already. -1 and errno. */
static int open_or_make(const struct workspace *workspace, const char *path)
{
    int fd = beneath_open(workspace->fd, path, O_PATH | O_DIRECTORY, BENEATH_FOLLOW);
    const char *name = NULL;
    int parent;

    if (fd >= 0 || errno != ENOENT)
        return fd;
    parent = beneath_open_parent(workspace->fd, path, &name);
    if (parent < 0)
        return -1;
    if (mkdirat(parent, name, MODE_OF_FOLDERS) == 0 || errno == EEXIST) {
        fd = beneath_open(workspace->fd, path, O_PATH | O_DIRECTORY, BENEATH_FOLLOW);
        if (fd >= 0 && workspace->user &&
            fchownat(fd, "", workspace->user, workspace->user, AT_EMPTY_PATH) != 0) {
            close(fd);
            fd = -1;
        }
    }
    close(parent);
    return fd;
}

/* Makes what is missing on the way to `path`. Returns the folder that it is in; -1 and errno. */
static int open_way(const struct workspace *workspace, const char *path, const char **ret_name)
{
    int fd = beneath_open_parent(workspace->fd, path, ret_name);

    if (fd >= 0 || errno != ENOENT)
        return fd;
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        AUTO_FREE char *folder = mem_strndup(path, (size_t)(slash - path));

        if (fd >= 0)
            close(fd);
        fd = open_or_make(workspace, folder);
        if (fd < 0)
            return -1;
    }
    return fd;
}

static bool own(const struct workspace_writer *writer, const struct stat *old, bool there)
{
    mode_t mode = there && S_ISREG(old->st_mode) ? old->st_mode & 0777 : MODE_OF_FILES;
    uint32_t user = writer->workspace->user;

    return (!user || fchown(writer->fd, user, user) == 0) && fchmod(writer->fd, mode) == 0 &&
           !FAULT("workspace.sync") && fsync(writer->fd) == 0;
}

/* The file that came out of its place in exchange is the version that was read. */
static bool got_expected(const struct workspace_writer *writer)
{
    struct workspace_stat stat;
    struct stat found;

    if (fstatat(writer->workspace->incoming, writer->incoming, &found, AT_SYMLINK_NOFOLLOW) !=
        0)
        return false;
    workspace_stat_fill(&found, &stat);
    return workspace_stat_equal(&stat, &writer->target.expected);
}

/* The old file and the new one change places in one step. So what was there is looked at when no program can
 * replace it any more; another version goes back. EINVAL: a disk that cannot do that. ESTALE: it was another one. */
static int exchange(const struct workspace_writer *writer, int folder, const char *name)
{
    int incoming = writer->workspace->incoming;

    if (renameat2(incoming, writer->incoming, folder, name, RENAME_EXCHANGE) != 0)
        return -1;
    if (got_expected(writer))
        return unlinkat(incoming, writer->incoming, 0);
    if (renameat2(incoming, writer->incoming, folder, name, RENAME_EXCHANGE) == 0)
        errno = ESTALE;
    return -1;
}

static int put(const struct workspace_writer *writer, int folder, const char *name)
{
    unsigned flags = writer->target.place == WORKSPACE_FREE ? RENAME_NOREPLACE : 0;

    if (FAULT("workspace.rename")) {
        errno = EIO;
        return -1;
    }
    if (writer->target.place == WORKSPACE_SAME) {
        int rc = exchange(writer, folder, name);

        if (rc == 0 || errno != EINVAL)
            return rc;
    }
    return renameat2(writer->workspace->incoming, writer->incoming, folder, name, flags);
}

static enum err_code move_in(struct workspace_writer *writer, struct err *err)
{
    const char *name = NULL;
    int folder = open_way(writer->workspace, writer->path, &name);
    int rc = folder < 0 ? -1 : put(writer, folder, name), why = errno;

    if (folder >= 0)
        close(folder);
    if (rc == 0) {
        *writer->incoming = '\0';
        return ERR_OK;
    }
    if (writer->target.place == WORKSPACE_SAME && (why == ESTALE || why == ENOENT))
        return changed(writer, err);
    return workspace_failed(writer->target.path, why, err);
}

enum err_code workspace_writer_finish(struct workspace_writer *writer,
                                      struct workspace_written *ret_written, struct err *err)
{
    struct stat old, new;
    bool there = false;
    enum err_code rc = look(writer, &old, &there, err);

    rc = rc ? rc : check_place(writer, &old, there, err);
    if (rc)
        return rc;
    if (!own(writer, &old, there))
        return workspace_failed(writer->target.path, errno, err);
    rc = move_in(writer, err);
    if (rc)
        return rc;
    if (fstat(writer->fd, &new) != 0)
        return workspace_failed(writer->target.path, errno, err);
    if (ret_written) {
        ret_written->created = !there;
        workspace_stat_fill(&new, &ret_written->stat);
    }
    return ERR_OK;
}

/* ---- All at once ---- */

enum err_code workspace_write(const struct workspace *workspace,
                              const struct workspace_target *target, const void *bytes,
                              size_t size, struct workspace_written *ret_written,
                              struct err *err)
{
    struct workspace_writer *writer = NULL;
    enum err_code rc = workspace_writer_new(workspace, target, &writer, err);

    rc = rc ? rc : workspace_writer_add(writer, bytes, size, err);
    rc = rc ? rc : workspace_writer_finish(writer, ret_written, err);
    workspace_writer_free(writer);
    return rc;
}

static enum err_code copy(struct workspace_writer *writer, int fd, uint64_t limit,
                          struct err *err)
{
    AUTO_FREE char *bytes = mem_zeroed(PIECE, 1);
    enum err_code rc = ERR_OK;

    while (!rc) {
        ssize_t got = read(fd, bytes, PIECE);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set(err, ERR_INTERNAL, "cannot read what is imported: %s",
                           strerror(errno));
        if (got == 0)
            break;
        if ((uint64_t)got > limit)
            return err_set(err, ERR_TOO_LARGE, "The file is too large.");
        limit -= (uint64_t)got;
        rc = workspace_writer_add(writer, bytes, (size_t)got, err);
    }
    return rc;
}

enum err_code workspace_import(const struct workspace *workspace,
                               const struct workspace_target *target, int fd, uint64_t limit,
                               struct workspace_written *ret_written, struct err *err)
{
    struct workspace_writer *writer = NULL;
    enum err_code rc = workspace_writer_new(workspace, target, &writer, err);

    rc = rc ? rc : copy(writer, fd, limit, err);
    rc = rc ? rc : workspace_writer_finish(writer, ret_written, err);
    workspace_writer_free(writer);
    return rc;
}

/* ---- Links, and away with it ---- */

/* A path as its folder and the name in it. */
struct place {
    char *path; /* parsed; owned */
    const char *name;
    int folder;
};

static void place_clear(struct place *place)
{
    if (place->folder >= 0)
        close(place->folder);
    free(place->path);
}

static enum err_code open_place(const struct workspace *workspace, const char *path,
                                struct place *place, struct err *err)
{
    enum err_code rc = workspace_parse(workspace, path, &place->path, err);

    if (!rc && !workspace->writable)
        rc = cannot_write(workspace, err);
    if (rc)
        return rc;
    if (strcmp(place->path, ".") == 0)
        return workspace_failed(path, EISDIR, err);
    place->folder = beneath_open_parent(workspace->fd, place->path, &place->name);
    return place->folder < 0 ? workspace_failed(path, errno, err) : ERR_OK;
}

/* A link is known by what can be read of it. A box that puts something else there meanwhile loses that. */
static bool link_at(const struct place *place, const char *target)
{
    char there[2];

    if (symlinkat(target, place->folder, place->name) == 0)
        return true;
    if (errno != EEXIST)
        return false;
    if (readlinkat(place->folder, place->name, there, sizeof(there)) < 0) {
        errno = EEXIST;
        return false;
    }
    return unlinkat(place->folder, place->name, 0) == 0 &&
           symlinkat(target, place->folder, place->name) == 0;
}

static bool own_link(const struct workspace *workspace, const struct place *place)
{
    return !workspace->user || fchownat(place->folder, place->name, workspace->user,
                                        workspace->user, AT_SYMLINK_NOFOLLOW) == 0;
}

enum err_code workspace_link(const struct workspace *workspace, const char *path,
                             const char *target, struct err *err)
{
    CLEANUP(place_clear) struct place place = {.folder = -1};
    enum err_code rc = open_place(workspace, path, &place, err);

    if (rc)
        return rc;
    if (!link_at(&place, target) || !own_link(workspace, &place))
        return workspace_failed(path, errno, err);
    return ERR_OK;
}

enum err_code workspace_remove(const struct workspace *workspace, const char *path,
                               struct err *err)
{
    CLEANUP(place_clear) struct place place = {.folder = -1};
    enum err_code rc = open_place(workspace, path, &place, err);

    if (rc)
        return rc;
    if (unlinkat(place.folder, place.name, 0) != 0)
        return workspace_failed(path, errno, err);
    return ERR_OK;
}
