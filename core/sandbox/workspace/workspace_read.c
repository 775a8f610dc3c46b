#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/sandbox/workspace/beneath.h"
#include "core/sandbox/workspace/workspace.h"

#define PIECE ((size_t)64 << 10)

static enum err_code open_path(const struct workspace *workspace, const char *text, int flags,
                               int *ret_fd, struct err *err)
{
    AUTO_FREE char *path = NULL;
    enum err_code rc = workspace_parse(workspace, text, &path, err);

    if (rc)
        return rc;
    *ret_fd = beneath_open(workspace->fd, path, flags, BENEATH_FOLLOW);
    return *ret_fd < 0 ? workspace_failed(text, errno, err) : ERR_OK;
}

enum err_code workspace_stat(const struct workspace *workspace, const char *path,
                             struct workspace_stat *ret_stat, struct err *err)
{
    struct stat found;
    int fd = -1;
    enum err_code rc = open_path(workspace, path, O_PATH, &fd, err);

    if (rc)
        return rc;
    if (fstat(fd, &found) == 0)
        workspace_stat_fill(&found, ret_stat);
    else
        rc = workspace_failed(path, errno, err);
    close(fd);
    return rc;
}

/* ---- Folders ---- */

static int by_name(const void *left, const void *right)
{
    const struct workspace_entry *a = left, *b = right;

    return strcmp(a->name, b->name);
}

/* What has gone between the two calls is left out. */
static void add_entry(struct workspace_list *list, size_t *room, int folder, const char *name)
{
    struct stat found;

    if (fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0)
        return;
    if (list->count == *room) {
        *room = *room ? 2 * *room : 32;
        list->entries = mem_resize(list->entries, *room, sizeof(*list->entries));
    }
    list->entries[list->count].name = mem_strdup(name);
    workspace_stat_fill(&found, &list->entries[list->count].stat);
    list->count++;
}

enum err_code workspace_list(const struct workspace *workspace, const char *path, size_t limit,
                             struct workspace_list *ret_list, struct err *err)
{
    struct workspace_list list = {0};
    const struct dirent *entry;
    size_t room = 0;
    DIR *folder;
    int fd = -1;
    enum err_code rc = open_path(workspace, path, O_RDONLY | O_DIRECTORY, &fd, err);

    if (rc)
        return rc;
    folder = fdopendir(fd);
    if (!folder) {
        rc = workspace_failed(path, errno, err);
        close(fd);
        return rc;
    }
    while ((entry = readdir(folder)) && !list.cut) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (list.count == limit)
            list.cut = true;
        else
            add_entry(&list, &room, fd, entry->d_name);
    }
    (void)closedir(folder);
    if (list.count)
        qsort(list.entries, list.count, sizeof(*list.entries), by_name);
    *ret_list = list;
    return ERR_OK;
}

void workspace_list_clear(struct workspace_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->entries[i].name);
    free(list->entries);
    *list = (struct workspace_list){0};
}

/* ---- Files ---- */

enum err_code workspace_read_fd(const struct workspace *workspace, const char *path,
                                int *ret_fd, struct workspace_stat *ret_stat, struct err *err)
{
    struct workspace_stat stat;
    struct stat found;
    int fd = -1;
    enum err_code rc = open_path(workspace, path, O_RDONLY, &fd, err);

    if (rc)
        return rc;
    if (fstat(fd, &found) != 0) {
        rc = workspace_failed(path, errno, err);
    } else {
        workspace_stat_fill(&found, &stat);
        if (stat.kind != WORKSPACE_FILE)
            rc = workspace_not_a_file(path, stat.kind, err);
    }
    if (rc) {
        close(fd);
        return rc;
    }
    *ret_fd = fd;
    if (ret_stat)
        *ret_stat = stat;
    return ERR_OK;
}

static enum err_code too_large(const char *path, size_t limit, struct err *err)
{
    AUTO_FREE char *shown = workspace_path_shown(path);

    return err_set(err, ERR_TOO_LARGE, "%s has more than %zu bytes.", shown, limit);
}

/* It may have grown since, so the limit counts what is read. */
static enum err_code read_all(int fd, const char *path, size_t limit, struct buf *ret_bytes,
                              struct err *err)
{
    size_t before = ret_bytes->length;

    for (;;) {
        ssize_t got = read(fd, buf_reserve(ret_bytes, PIECE), PIECE);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0 ? ERR_OK : workspace_failed(path, errno, err);
        buf_added(ret_bytes, (size_t)got);
        if (ret_bytes->length - before > limit)
            return too_large(path, limit, err);
    }
}

enum err_code workspace_read(const struct workspace *workspace, const char *path, size_t limit,
                             struct buf *ret_bytes, struct workspace_stat *ret_stat,
                             struct err *err)
{
    size_t before = ret_bytes->length;
    struct workspace_stat stat;
    int fd = -1;
    enum err_code rc = workspace_read_fd(workspace, path, &fd, &stat, err);

    if (rc)
        return rc;
    if (stat.size > limit)
        rc = too_large(path, limit, err);
    else
        rc = read_all(fd, path, limit, ret_bytes, err);
    close(fd);
    if (rc)
        ret_bytes->length = before;
    else if (ret_stat)
        *ret_stat = stat;
    return rc;
}
