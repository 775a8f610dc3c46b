/*
 * workspace_trash.c -- removal, however deep and however odd.
 *
 * A removal holds a descriptor for each level that it is in, LEVELS at most. A folder below that is renamed to the
 * top of the trash, where a later round begins anew. So the work is the same for a tree of any depth, and each step
 * leaves trash that the next start can take up.
 *
 * What a box left behind may be without rights for its owner. Those are given back through a descriptor, because a name
 * could have become a link.
 */

#include "core/sandbox/workspace/workspace_trash.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/ids.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/sandbox/workspace/beneath.h"

#define LEVELS 32

/* ---- Into the trash ---- */

static bool move_to_trash(const struct workspaces *all, int folder, const char *name)
{
    char id[ID_SIZE];

    id_make(id, "old_");
    return renameat(folder, name, all->trash, id) == 0;
}

enum err_code workspace_discard(struct workspaces *workspaces, const char *owner,
                                const char *container, struct err *err)
{
    AUTO_FREE char *path = NULL;
    enum err_code rc = workspace_check_names(owner, container, err);

    if (rc)
        return rc;
    path = mem_printf("%s/%s", owner, container);
    if (!move_to_trash(workspaces, workspaces->root, path) && errno != ENOENT)
        return err_set(err, ERR_INTERNAL, "cannot remove a workspace: %s", strerror(errno));
    /* Stays while the project has other workspaces. */
    (void)unlinkat(workspaces->root, owner, AT_REMOVEDIR);
    return ERR_OK;
}

/* ---- Out of it ---- */

struct removal {
    const struct workspaces *all;
    size_t budget;
    bool again;  /* something was left for another round */
    bool failed; /* something could not be removed */
};

/* Opens a folder in the trash, with all rights for its owner. -1 and errno. */
static int open_to_empty(int parent, const char *name)
{
    int place = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    AUTO_FREE char *path = NULL;
    struct stat found;
    int fd;

    if (place < 0)
        return -1;
    path = mem_printf("/proc/self/fd/%d", place);
    if (fstat(place, &found) == 0 && (found.st_mode & 0700) != 0700)
        (void)chmod(path, 0700);
    fd = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    close(place);
    return fd;
}

static void note_failure(struct removal *removal, const char *what)
{
    if (!removal->failed)
        log_warn("workspaces: the trash cannot be emptied: %s: %s", what, strerror(errno));
    removal->failed = true;
}

static void remove_folder(struct removal *removal, int parent, const char *name, int level);

/* One name in a folder. */
static void remove_name(struct removal *removal, int parent, const char *name, int level)
{
    if (unlinkat(parent, name, 0) == 0)
        removal->budget--;
    else if (errno == EISDIR || errno == EPERM)
        remove_folder(removal, parent, name, level);
    else if (errno != ENOENT)
        note_failure(removal, "unlink");
}

static void empty_folder(struct removal *removal, int fd, int level)
{
    DIR *folder = fdopendir(fd);
    const struct dirent *entry;

    if (!folder) {
        note_failure(removal, "fdopendir");
        close(fd);
        return;
    }
    while (removal->budget && (entry = readdir(folder))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove_name(removal, fd, entry->d_name, level);
    }
    (void)closedir(folder);
}

static void remove_deep(struct removal *removal, int parent, const char *name)
{
    if (!move_to_trash(removal->all, parent, name)) {
        note_failure(removal, "rename");
        return;
    }
    removal->budget--;
    removal->again = true;
}

static void remove_folder(struct removal *removal, int parent, const char *name, int level)
{
    int fd = open_to_empty(parent, name);

    if (fd < 0) {
        note_failure(removal, "open");
        return;
    }
    if (level == LEVELS) {
        close(fd);
        remove_deep(removal, parent, name);
        return;
    }
    empty_folder(removal, fd, level + 1);
    if (!removal->budget)
        return;
    if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
        removal->budget--;
    else if (errno == ENOTEMPTY)
        removal->again = true;
    else
        note_failure(removal, "rmdir");
}

bool workspace_trash_empty(struct workspaces *workspaces, size_t budget)
{
    struct removal removal = {.all = workspaces, .budget = budget};
    int fd = openat(workspaces->trash, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0) {
        note_failure(&removal, "open");
        return false;
    }
    empty_folder(&removal, fd, 0);
    return removal.budget < budget && (removal.again || !removal.budget);
}
