/*
 * workspace_scan.c -- a walk through a workspace, for scans and for sums.
 */

#include "core/sandbox/workspace/workspace_scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/sandbox/workspace/beneath.h"
#include "core/sandbox/workspace/walk.h"

static void hide(struct walk *walk, const char *path)
{
    walk->hidden = true;
    if (walk->hide)
        walk->hide(walk, path);
}

static void enter_later(struct walk *walk, const char *path)
{
    if (strlen(path) > WORKSPACE_PATH_LIMIT) {
        hide(walk, path);
        return;
    }
    if (walk->count == walk->room) {
        walk->room = walk->room ? 2 * walk->room : 32;
        walk->pending = mem_resize(walk->pending, walk->room, sizeof(*walk->pending));
    }
    walk->pending[walk->count++] = mem_strdup(path);
}

/* False: enough. */
static bool visit_names(struct walk *walk, const char *path, DIR *folder)
{
    const struct dirent *entry;

    while ((entry = readdir(folder))) {
        AUTO_FREE char *inner = NULL;
        struct stat found;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        inner = *path ? mem_printf("%s/%s", path, entry->d_name) : mem_strdup(entry->d_name);
        if (fstatat(dirfd(folder), entry->d_name, &found,
                    AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0) {
            if (errno == EACCES)
                hide(walk, inner);
            continue;
        }
        if (!walk->visit(walk, inner, &found))
            return false;
        if (S_ISDIR(found.st_mode))
            enter_later(walk, inner);
    }
    return true;
}

/* NULL and ERR_OK: it has vanished, or is hidden. */
static enum err_code open_folder(struct walk *walk, const char *path, DIR **ret_folder,
                                 struct err *err)
{
    int fd =
        beneath_open(walk->root, *path ? path : ".", O_RDONLY | O_DIRECTORY, BENEATH_NO_LINKS);

    *ret_folder = fd < 0 ? NULL : fdopendir(fd);
    if (*ret_folder)
        return ERR_OK;
    if (fd < 0 && (errno == EACCES || errno == EAGAIN || errno == EXDEV))
        hide(walk, path);
    else if (fd >= 0 || (errno != ENOENT && errno != ENOTDIR && errno != ELOOP))
        return workspace_failed(*path ? path : ".", errno, err);
    return ERR_OK;
}

enum err_code walk_all(struct walk *walk, struct err *err)
{
    enum err_code rc = ERR_OK;
    bool more = true;

    enter_later(walk, "");
    while (!rc && more && walk->count) {
        AUTO_FREE char *path = walk->pending[--walk->count];
        DIR *folder = NULL;

        rc = open_folder(walk, path, &folder, err);
        if (folder) {
            more = visit_names(walk, path, folder);
            (void)closedir(folder);
        }
    }
    while (walk->count)
        free(walk->pending[--walk->count]);
    free(walk->pending);
    return rc;
}

/* ---- Scans ---- */

struct scanning {
    struct workspace_scan scan;
    size_t room;
    uint64_t seen, limit; /* files, folders and links */
};

static bool is_text(const char *path)
{
    size_t length = strlen(path);

    for (size_t at = 0; at < length;) {
        uint32_t point;
        size_t size = utf8_take(path + at, length - at, &point);

        if (point < 0x20 || point == 0x7f ||
            (point == 0xfffd && size != UTF8_REPLACEMENT_LENGTH))
            return false;
        at += size;
    }
    return true;
}

static bool scan_one(struct walk *walk, const char *path, const struct stat *found)
{
    struct scanning *scanning = walk->argument;
    struct workspace_scan *scan = &scanning->scan;

    if (scanning->seen++ == scanning->limit) {
        scan->cut = true;
        return false;
    }
    if (!S_ISREG(found->st_mode))
        return true;
    if (!is_text(path)) {
        scan->nameless++;
        return true;
    }
    if (scan->count == scanning->room) {
        scanning->room = scanning->room ? 2 * scanning->room : 64;
        scan->files = mem_resize(scan->files, scanning->room, sizeof(*scan->files));
    }
    scan->files[scan->count].path = mem_strdup(path);
    workspace_stat_fill(found, &scan->files[scan->count].stat);
    scan->count++;
    return true;
}

static int by_path(const void *left, const void *right)
{
    const struct workspace_file *a = left, *b = right;

    return strcmp(a->path, b->path);
}

enum err_code workspace_scan(const struct workspace *workspace, struct workspace_scan *ret_scan,
                             struct err *err)
{
    struct scanning scanning = {.limit = workspace->all->options.files};
    struct walk walk = {.root = workspace->fd, .visit = scan_one, .argument = &scanning};
    enum err_code rc = walk_all(&walk, err);

    if (rc) {
        workspace_scan_clear(&scanning.scan);
        return rc;
    }
    scanning.scan.cut |= walk.hidden;
    if (scanning.scan.count)
        qsort(scanning.scan.files, scanning.scan.count, sizeof(*scanning.scan.files), by_path);
    *ret_scan = scanning.scan;
    return ERR_OK;
}

void workspace_scan_clear(struct workspace_scan *scan)
{
    for (size_t i = 0; i < scan->count; i++)
        free(scan->files[i].path);
    free(scan->files);
    *scan = (struct workspace_scan){0};
}

/* ---- What changed ---- */

static void add_change(struct workspace_changes *changes, enum workspace_event event,
                       const struct workspace_file *file)
{
    changes->changes[changes->count++] = (struct workspace_change){event, file};
}

/* Both are sorted, so they are read side by side. */
void workspace_compare(const struct workspace_scan *before, const struct workspace_scan *after,
                       struct workspace_changes *ret_changes)
{
    struct workspace_changes changes = {0};
    size_t old = 0, new = 0;

    changes.changes = mem_new_array(struct workspace_change, before->count + after->count + 1);
    while (old < before->count || new < after->count) {
        int order = old == before->count ? 1
                    : new == after->count
                        ? -1
                        : strcmp(before->files[old].path, after->files[new].path);

        if (order == 0) {
            if (!workspace_stat_equal(&before->files[old].stat, &after->files[new].stat))
                add_change(&changes, WORKSPACE_CHANGED, &after->files[new]);
            old++;
            new ++;
        } else if (order < 0) {
            if (!after->cut)
                add_change(&changes, WORKSPACE_DELETED, &before->files[old]);
            old++;
        } else {
            if (!before->cut)
                add_change(&changes, WORKSPACE_CREATED, &after->files[new]);
            new ++;
        }
    }
    *ret_changes = changes;
}

void workspace_changes_clear(struct workspace_changes *changes)
{
    free(changes->changes);
    *changes = (struct workspace_changes){0};
}

/* ---- Room ---- */

struct summing {
    struct workspace_usage usage;
    uint64_t bytes, files; /* it stops beyond them */
};

/* A file with several names is counted in parts, one for each: a box can link only what is its own. */
static bool sum_one(struct walk *walk, const char *path, const struct stat *found)
{
    struct summing *summing = walk->argument;
    uint64_t bytes = (uint64_t)found->st_blocks * 512;

    (void)path;
    if (!S_ISDIR(found->st_mode) && found->st_nlink > 1)
        bytes /= found->st_nlink;
    summing->usage.bytes += bytes;
    summing->usage.files++;
    return summing->usage.bytes <= summing->bytes && summing->usage.files <= summing->files;
}

static enum err_code sum(const struct workspace *workspace, uint64_t bytes, uint64_t files,
                         struct workspace_usage *ret_usage, struct err *err)
{
    struct summing summing = {.bytes = bytes, .files = files};
    struct walk walk = {.root = workspace->fd, .visit = sum_one, .argument = &summing};
    enum err_code rc = walk_all(&walk, err);

    if (rc)
        return rc;
    summing.usage.hidden = walk.hidden;
    *ret_usage = summing.usage;
    return ERR_OK;
}

enum err_code workspace_usage(const struct workspace *workspace,
                              struct workspace_usage *ret_usage, struct err *err)
{
    const struct workspaces_options *limits = &workspace->all->options;

    return sum(workspace, limits->bytes, limits->files, ret_usage, err);
}

static unsigned long long mebibytes(uint64_t bytes)
{
    return (bytes + (1 << 20) - 1) >> 20;
}

static enum err_code check_usage(const struct workspaces_options *limits,
                                 const struct workspace_usage *usage, uint64_t files,
                                 struct err *err)
{
    if (usage->hidden)
        return err_set(err, ERR_FULL,
                       "The workspace is full: it has a folder that is too deep or cannot be "
                       "read. Delete it.");
    if (usage->bytes >= limits->bytes)
        return err_set(err, ERR_FULL,
                       "The workspace is full: %llu MiB of %llu MiB. Delete files.",
                       mebibytes(usage->bytes), mebibytes(limits->bytes));
    if (usage->files > limits->files || limits->files - usage->files < files)
        return err_set(err, ERR_FULL,
                       "The workspace is full: %llu files of %llu. Delete files.",
                       (unsigned long long)usage->files, (unsigned long long)limits->files);
    return ERR_OK;
}

/* A disk that does not say how large it is has room. */
static uint64_t disk_bytes(const struct workspace *workspace)
{
    struct statvfs disk;

    if (fstatvfs(workspace->fd, &disk) != 0 || !disk.f_blocks)
        return UINT64_MAX;
    return (uint64_t)disk.f_bavail * disk.f_frsize;
}

uint64_t workspace_disk_left(const struct workspace *workspace)
{
    uint64_t left = disk_bytes(workspace);

    return left > workspace->all->options.reserve ? left - workspace->all->options.reserve : 0;
}

enum err_code workspace_room(const struct workspace *workspace, uint64_t files,
                             uint64_t *ret_bytes, struct err *err)
{
    const struct workspaces_options *limits = &workspace->all->options;
    struct workspace_usage usage = {.bytes = 0};
    uint64_t disk = workspace_disk_left(workspace);
    enum err_code rc = ERR_OK;

    if (!workspace->root) /* a root has what its disk has */
        rc = workspace_usage(workspace, &usage, err);
    if (!rc && !workspace->root)
        rc = check_usage(limits, &usage, files, err);
    if (!rc && !disk)
        rc = err_set(err, ERR_FULL, "The server has no disk space for files.");
    if (rc)
        return rc;
    *ret_bytes = disk;
    if (!workspace->root && limits->bytes - usage.bytes < disk)
        *ret_bytes = limits->bytes - usage.bytes;
    return ERR_OK;
}

/* ---- The watch ---- */

#define COUNTED 8 /* times the files that a workspace may have */

/* What cannot be counted is seen only by what the disk loses: hidden folders, and files that are open and have no
 * name. */
#define UNSEEN_GROWTH ((uint64_t)16 << 20)

enum workspace_growth workspace_check_growth(const struct workspace *workspace,
                                             struct workspace_watch *watch)
{
    const struct workspaces_options *limits = &workspace->all->options;
    struct workspace_watch now = {.disk = disk_bytes(workspace), .known = true};
    bool grown, beyond, reserve;

    if (sum(workspace, UINT64_MAX, COUNTED * limits->files, &now.usage, NULL))
        now.usage.hidden = true;
    now.usage.hidden |= now.usage.files > COUNTED * limits->files;
    reserve = now.disk <= limits->reserve;
    grown = now.usage.bytes > watch->usage.bytes || now.usage.files > watch->usage.files ||
            (now.usage.hidden && !watch->usage.hidden) ||
            ((now.usage.hidden || reserve) && now.disk + UNSEEN_GROWTH < watch->disk);
    grown = grown && watch->known;
    beyond = now.usage.bytes > limits->bytes || now.usage.files > limits->files ||
             now.usage.hidden || reserve;
    *watch = now;
    if (!grown)
        return WORKSPACE_STILL;
    return beyond ? WORKSPACE_TOO_FAR : WORKSPACE_GROWN;
}
