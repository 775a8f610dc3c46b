/*
 * workspace_unpack.c -- an archive becomes a workspace.
 *
 * The archive comes from another node, through a store that others may write to. So every number is checked, and
 * every path is opened as in workspace.h: the worst archive fills its own workspace with nonsense. Modes and times of
 * folders come last, because a folder may forbid what is still to be written into it.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fault.h"
#include "core/base/mem.h"
#include "core/sandbox/workspace/archive_form.h"
#include "core/sandbox/workspace/beneath.h"
#include "core/sandbox/workspace/workspace_archive.h"
#include "core/sandbox/workspace/workspace_scan.h"

#define DISK_LOOK ((uint64_t)8 << 20) /* bytes between two looks at the disk */

struct folder {
    char *path; /* owned */
    mode_t mode;
    int64_t mtime_ns;
};

struct unpacking {
    const struct workspace *workspace;
    enum err_code (*take)(void *argument, void *ret_bytes, size_t size, size_t *ret_got,
                          struct err *err);
    void *argument;
    struct workspace_left *left;
    char *bytes; /* owned; ARCHIVE_PIECE */
    size_t at, length;
    char *piece;            /* owned; ARCHIVE_PIECE */
    uint64_t room;          /* bytes of the workspace that are left */
    uint64_t entries;       /* the same of files, folders and links */
    uint64_t recorded;      /* what the writer has left, as far as records say */
    uint64_t until_look;    /* bytes until the disk is looked at again */
    struct folder *folders; /* owned */
    size_t folder_count, folder_room;
};

void workspace_left_clear(struct workspace_left *left)
{
    for (size_t i = 0; i < left->named; i++)
        free(left->paths[i]);
    *left = (struct workspace_left){0};
}

/* ---- Bytes ---- */

static enum err_code broken(struct err *err)
{
    return err_set(err, ERR_INVALID, "the archive of the workspace is broken");
}

static enum err_code get(struct unpacking *all, void *ret_bytes, size_t size, struct err *err)
{
    char *out = ret_bytes;

    while (size) {
        size_t part = all->length - all->at < size ? all->length - all->at : size;

        memcpy(out, all->bytes + all->at, part);
        all->at += part;
        out += part;
        size -= part;
        if (size) {
            enum err_code rc =
                all->take(all->argument, all->bytes, ARCHIVE_PIECE, &all->length, err);

            all->at = 0;
            if (rc || !all->length)
                return rc ? rc : broken(err);
        }
    }
    return ERR_OK;
}

static enum err_code get_number(struct unpacking *all, uint64_t *ret_number, struct err *err)
{
    uint8_t bytes[ARCHIVE_NUMBER] = {0};
    enum err_code rc = get(all, bytes, sizeof(bytes), err);

    *ret_number = 0;
    for (size_t i = 0; i < sizeof(bytes); i++)
        *ret_number |= (uint64_t)bytes[i] << 8 * i;
    return rc;
}

/* The caller frees. */
static enum err_code get_text(struct unpacking *all, char **ret_text, struct err *err)
{
    AUTO_FREE char *text = NULL;
    uint64_t length;
    enum err_code rc = get_number(all, &length, err);

    if (rc)
        return rc;
    if (length > ARCHIVE_PATH)
        return broken(err);
    text = mem_new_array(char, (size_t)length + 1);
    rc = get(all, text, (size_t)length, err);
    if (!rc && strlen(text) != length)
        return broken(err);
    if (!rc)
        *ret_text = TAKE(text);
    return rc;
}

/* A path as the writer has it: from the workspace's folder on, each part a name. */
static bool is_path(const char *path)
{
    size_t length;

    if (strlen(path) > WORKSPACE_PATH_LIMIT)
        return false;
    for (;; path += length + 1) {
        length = strcspn(path, "/");
        if (!length || (length == 1 && *path == '.') ||
            (length == 2 && strncmp(path, "..", 2) == 0))
            return false;
        if (!path[length])
            return true;
    }
}

static enum err_code get_path(struct unpacking *all, char **ret_path, struct err *err)
{
    enum err_code rc = get_text(all, ret_path, err);

    return rc || is_path(*ret_path) ? rc : broken(err);
}

static enum err_code get_mode_and_time(struct unpacking *all, mode_t *ret_mode,
                                       int64_t *ret_mtime_ns, struct err *err)
{
    uint64_t mode = 0, time = 0;
    enum err_code rc = get_number(all, &mode, err);

    if (!rc)
        rc = get_number(all, &time, err);
    *ret_mode = (mode_t)(mode & ARCHIVE_MODES);
    *ret_mtime_ns = (int64_t)time;
    return rc;
}

/* ---- Onto the disk ---- */

static void leave(struct unpacking *all, const char *path)
{
    struct workspace_left *left = all->left;

    left->count++;
    if (left->named < WORKSPACE_LEFT_LIMIT)
        left->paths[left->named++] = workspace_path_shown(path);
}

static enum err_code no_disk(struct err *err)
{
    return err_set(err, ERR_FULL, "The server has no disk space for the container.");
}

/* A disk without room ends the whole. Other reasons cost that one file. */
static enum err_code failed(struct unpacking *all, const char *path, struct err *err)
{
    if (errno == ENOSPC || errno == EDQUOT)
        return no_disk(err);
    if (archive_lacks_means(errno))
        return workspace_failed(path, errno, err);
    leave(all, path);
    return ERR_OK;
}

static void times_of(int64_t mtime_ns, struct timespec ret_times[2])
{
    ret_times[0] = (struct timespec){.tv_nsec = UTIME_OMIT};
    ret_times[1] = (struct timespec){.tv_sec = (time_t)(mtime_ns / 1000000000),
                                     .tv_nsec = (long)(mtime_ns % 1000000000)};
    if (ret_times[1].tv_nsec < 0) {
        ret_times[1].tv_sec--;
        ret_times[1].tv_nsec += 1000000000;
    }
}

/* Of a name that this room has just made. */
static bool own_name(const struct unpacking *all, int folder, const char *name)
{
    uint32_t user = all->workspace->user;

    return !user || fchownat(folder, name, user, user, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Opens the folder that a path is in. -1: it was left. */
static int open_folder(const struct unpacking *all, const char *path, const char **ret_name)
{
    return beneath_open_parent(all->workspace->fd, path, ret_name);
}

static bool take_room(uint64_t *left, uint64_t size)
{
    if (size > *left)
        return false;
    *left -= size;
    return true;
}

static void note_folder(struct unpacking *all, char *path, mode_t mode, int64_t mtime_ns)
{
    if (all->folder_count == all->folder_room) {
        all->folder_room = all->folder_room ? 2 * all->folder_room : 32;
        all->folders = mem_resize(all->folders, all->folder_room, sizeof(*all->folders));
    }
    all->folders[all->folder_count++] =
        (struct folder){.path = path, .mode = mode, .mtime_ns = mtime_ns};
}

static enum err_code unpack_folder(struct unpacking *all, struct err *err)
{
    AUTO_FREE char *path = NULL;
    const char *name;
    int64_t mtime_ns;
    mode_t mode;
    int parent;
    enum err_code rc = get_path(all, &path, err);

    if (!rc)
        rc = get_mode_and_time(all, &mode, &mtime_ns, err);
    if (rc)
        return rc;
    errno = 0;
    parent = take_room(&all->entries, 1) ? open_folder(all, path, &name) : -1;
    if (parent >= 0 && mkdirat(parent, name, 0700) == 0 && own_name(all, parent, name))
        note_folder(all, TAKE(path), mode, mtime_ns);
    else
        rc = failed(all, path, err);
    if (parent >= 0)
        close(parent);
    return rc;
}

static enum err_code unpack_link(struct unpacking *all, struct err *err)
{
    AUTO_FREE char *path = NULL, *target = NULL;
    struct timespec times[2];
    uint64_t mtime_ns;
    const char *name;
    int parent;
    enum err_code rc = get_path(all, &path, err);

    if (!rc)
        rc = get_text(all, &target, err);
    if (!rc)
        rc = get_number(all, &mtime_ns, err);
    if (rc)
        return rc;
    errno = 0;
    parent = take_room(&all->entries, 1) ? open_folder(all, path, &name) : -1;
    times_of((int64_t)mtime_ns, times);
    if (parent < 0 || symlinkat(target, parent, name) != 0 || !own_name(all, parent, name) ||
        utimensat(parent, name, times, AT_SYMLINK_NOFOLLOW) != 0)
        rc = failed(all, path, err);
    if (parent >= 0)
        close(parent);
    return rc;
}

static enum err_code unpack_name(struct unpacking *all, struct err *err)
{
    AUTO_FREE char *path = NULL, *first = NULL;
    const char *name, *first_name;
    int parent, first_parent;
    enum err_code rc = get_path(all, &path, err);

    if (!rc)
        rc = get_path(all, &first, err);
    if (rc)
        return rc;
    errno = 0;
    parent = take_room(&all->entries, 1) ? open_folder(all, path, &name) : -1;
    first_parent = open_folder(all, first, &first_name);
    if (parent < 0 || first_parent < 0 ||
        linkat(first_parent, first_name, parent, name, 0) != 0)
        rc = failed(all, path, err);
    if (parent >= 0)
        close(parent);
    if (first_parent >= 0)
        close(first_parent);
    return rc;
}

/* ---- Files ---- */

/* One that is being written. fd -1: it was left, and its bytes are only passed over. */
struct file {
    int fd;
    int parent;
    const char *path, *name;
};

static void give_up(struct unpacking *all, struct file *file)
{
    if (file->fd >= 0) {
        close(file->fd);
        (void)unlinkat(file->parent, file->name, 0);
    }
    file->fd = -1;
    leave(all, file->path);
}

static enum err_code check_disk(struct unpacking *all, uint64_t size, struct err *err)
{
    if (all->until_look > size) {
        all->until_look -= size;
        return ERR_OK;
    }
    all->until_look = DISK_LOOK;
    return workspace_disk_left(all->workspace) < DISK_LOOK ? no_disk(err) : ERR_OK;
}

static enum err_code write_piece(struct unpacking *all, struct file *file, uint64_t offset,
                                 size_t size, struct err *err)
{
    enum err_code rc;

    if (file->fd < 0)
        return ERR_OK;
    if (!take_room(&all->room, size)) {
        give_up(all, file);
        return ERR_OK;
    }
    rc = check_disk(all, size, err);
    for (size_t at = 0; !rc && at < size;) {
        ssize_t written = FAULT("workspace.unpack") ? (errno = ENOSPC, -1)
                                                    : pwrite(file->fd, all->piece + at,
                                                             size - at, (off_t)(offset + at));

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            int why = errno;

            give_up(all, file);
            return why == ENOSPC || why == EDQUOT ? no_disk(err) : ERR_OK;
        }
        at += (size_t)written;
    }
    return rc;
}

/* All pieces. *ret_size: of the whole file, with the hole at its end. */
static enum err_code unpack_pieces(struct unpacking *all, struct file *file, uint64_t *ret_size,
                                   struct err *err)
{
    for (;;) {
        uint64_t offset, length;
        enum err_code rc = get_number(all, &offset, err);

        if (!rc)
            rc = get_number(all, &length, err);
        if (rc)
            return rc;
        if (length > ARCHIVE_PIECE || offset > INT64_MAX - length)
            return broken(err);
        *ret_size = offset;
        if (!length)
            return ERR_OK;
        rc = get(all, all->piece, (size_t)length, err);
        if (!rc)
            rc = write_piece(all, file, offset, (size_t)length, err);
        if (rc)
            return rc;
    }
}

static bool finish_file(const struct unpacking *all, int fd, uint64_t size, mode_t mode,
                        int64_t mtime_ns)
{
    struct timespec times[2];
    uint32_t user = all->workspace->user;

    times_of(mtime_ns, times);
    return ftruncate(fd, (off_t)size) == 0 && (!user || fchown(fd, user, user) == 0) &&
           fchmod(fd, mode) == 0 && futimens(fd, times) == 0;
}

static enum err_code unpack_file(struct unpacking *all, struct err *err)
{
    AUTO_FREE char *path = NULL;
    struct file file = {.fd = -1};
    uint64_t size = 0;
    uint8_t whole = 0;
    int64_t mtime_ns;
    mode_t mode;
    enum err_code rc = get_path(all, &path, err);

    if (!rc)
        rc = get_mode_and_time(all, &mode, &mtime_ns, err);
    if (rc)
        return rc;
    file.path = path;
    errno = 0;
    file.parent = take_room(&all->entries, 1) ? open_folder(all, path, &file.name) : -1;
    if (file.parent >= 0)
        file.fd = openat(file.parent, file.name,
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file.fd < 0)
        rc = failed(all, path, err);
    if (!rc)
        rc = unpack_pieces(all, &file, &size, err);
    if (!rc)
        rc = get(all, &whole, 1, err);
    if (!rc && !whole)
        all->recorded++;
    if (!rc && file.fd >= 0 && (!whole || !finish_file(all, file.fd, size, mode, mtime_ns)))
        give_up(all, &file);
    if (file.fd >= 0)
        close(file.fd);
    if (file.parent >= 0)
        close(file.parent);
    return rc;
}

/* ---- The whole ---- */

static enum err_code unpack_left(struct unpacking *all, struct err *err)
{
    AUTO_FREE char *path = NULL;
    enum err_code rc = get_text(all, &path, err);

    if (rc)
        return rc;
    leave(all, path);
    all->recorded++;
    return ERR_OK;
}

/* Those that have a record were counted. */
static enum err_code unpack_end(struct unpacking *all, struct err *err)
{
    uint64_t count;
    enum err_code rc = get_number(all, &count, err);

    if (!rc && count > all->recorded)
        all->left->count += count - all->recorded;
    return rc;
}

/* `*ret_end`: that was the last one. */
static enum err_code unpack_record(struct unpacking *all, bool *ret_end, struct err *err)
{
    char kind = 0;
    enum err_code rc = get(all, &kind, 1, err);

    if (rc)
        return rc;
    *ret_end = kind == ARCHIVE_END;
    switch (kind) {
    case ARCHIVE_FOLDER: return unpack_folder(all, err);
    case ARCHIVE_LINK: return unpack_link(all, err);
    case ARCHIVE_NAME: return unpack_name(all, err);
    case ARCHIVE_FILE: return unpack_file(all, err);
    case ARCHIVE_LEFT: return unpack_left(all, err);
    case ARCHIVE_END: return unpack_end(all, err);
    default: return broken(err);
    }
}

/* What is deeper comes first: a folder of no rights would hide it. */
static void finish_folders(struct unpacking *all)
{
    while (all->folder_count) {
        const struct folder *folder = &all->folders[--all->folder_count];
        int fd = beneath_open(all->workspace->fd, folder->path, O_RDONLY | O_DIRECTORY,
                              BENEATH_NO_LINKS);
        struct timespec times[2];

        times_of(folder->mtime_ns, times);
        if (fd < 0 || fchmod(fd, folder->mode) != 0 || futimens(fd, times) != 0)
            leave(all, folder->path);
        if (fd >= 0)
            close(fd);
        free(folder->path);
    }
    free(all->folders);
}

enum err_code workspace_unpack(const struct workspace *workspace,
                               enum err_code (*take)(void *argument, void *ret_bytes,
                                                     size_t size, size_t *ret_got,
                                                     struct err *err),
                               void *argument, struct workspace_left *ret_left, struct err *err)
{
    struct unpacking all = {.workspace = workspace,
                            .take = take,
                            .argument = argument,
                            .left = ret_left,
                            .bytes = mem_new_array(char, ARCHIVE_PIECE),
                            .piece = mem_new_array(char, ARCHIVE_PIECE),
                            .room = workspace->all->options.bytes,
                            .entries = workspace->all->options.files};
    char head[sizeof(ARCHIVE_HEAD)] = "";
    bool end = false;
    enum err_code rc = get(&all, head, strlen(ARCHIVE_HEAD), err);

    if (!rc && strcmp(head, ARCHIVE_HEAD) != 0)
        rc = broken(err);
    while (!rc && !end)
        rc = unpack_record(&all, &end, err);
    finish_folders(&all);
    if (!rc && syncfs(workspace->fd) != 0)
        rc = errno == ENOSPC || errno == EDQUOT
                 ? no_disk(err)
                 : err_set(err, ERR_INTERNAL, "cannot write a workspace: %s", strerror(errno));
    free(all.bytes);
    free(all.piece);
    return rc;
}
