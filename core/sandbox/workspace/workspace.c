/*
 * workspace.c -- the folders of workspaces, down to the one that boxes see.
 *
 * Only the last one, data, belongs to a box. Those above it are the server's, so plain system calls will do for
 * them. If root runs the server, other users may pass through them, but not list them: a box's user mounts its
 * folder by its path.
 */

#include "core/sandbox/workspace/workspace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/sandbox/workspace/beneath.h"

/* A workspace may go while it is made, and takes its project's folder along. */
#define TRIES 8

#define FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static enum err_code cannot(const char *what, struct err *err)
{
    enum err_code code = errno == ENOSPC || errno == EDQUOT ? ERR_FULL : ERR_INTERNAL;

    return err_set(err, code, "cannot %s: %s", what, strerror(errno));
}

/* Makes a folder of the server and opens it. -1 and errno. */
static int make_folder(int parent, const char *name)
{
    if (mkdirat(parent, name, geteuid() == 0 ? 0711 : 0700) != 0 && errno != EEXIST)
        return -1;
    return openat(parent, name, FOLDER);
}

/* ---- All of them ---- */

/* Nothing under .incoming belongs to anyone when a server starts. */
static void empty_incoming(int incoming)
{
    int fd = dup(incoming);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;

    while (folder && (entry = readdir(folder))) {
        if (*entry->d_name != '.')
            (void)unlinkat(incoming, entry->d_name, 0);
    }
    if (folder)
        (void)closedir(folder);
    else if (fd >= 0)
        close(fd);
}

static enum err_code try_beneath(const struct workspaces *all, struct err *err)
{
    int fd = beneath_open(all->root, ".", O_PATH | O_DIRECTORY, BENEATH_FOLLOW);

    if (fd < 0)
        return cannot("keep paths within a folder: openat2", err);
    close(fd);
    return ERR_OK;
}

enum err_code workspaces_open(const struct workspaces_options *options,
                              struct workspaces **ret_workspaces, struct err *err)
{
    AUTO_FREE char *absolute = realpath(options->data_dir, NULL);
    AUTO_FREE char *path = absolute ? mem_printf("%s/workspaces", absolute) : NULL;
    struct workspaces *all;
    enum err_code rc;

    if (!absolute)
        return cannot("open data_dir", err);
    all = mem_new(struct workspaces);
    all->options = *options;
    all->options.data_dir = TAKE(absolute);
    all->root = make_folder(AT_FDCWD, path);
    all->incoming = all->root < 0 ? -1 : make_folder(all->root, ".incoming");
    all->trash = all->root < 0 ? -1 : make_folder(all->root, ".trash");
    if (all->incoming < 0 || all->trash < 0)
        rc = cannot("make the folders of workspaces", err);
    else
        rc = try_beneath(all, err);
    if (rc) {
        workspaces_close(all);
        return rc;
    }
    empty_incoming(all->incoming);
    *ret_workspaces = all;
    return ERR_OK;
}

void workspaces_close(struct workspaces *workspaces)
{
    if (!workspaces)
        return;
    for (size_t i = 0; i < 3; i++) {
        int fd = (int[]){workspaces->root, workspaces->incoming, workspaces->trash}[i];

        if (fd >= 0)
            close(fd);
    }
    free((char *)(uintptr_t)workspaces->options.data_dir);
    free(workspaces);
}

const struct workspaces_options *workspaces_options(const struct workspaces *workspaces)
{
    return &workspaces->options;
}

/* ---- One ---- */

static bool is_name(const char *name)
{
    size_t length =
        strspn(name, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz-");

    return length && length <= WORKSPACE_NAME_LIMIT && !name[length];
}

enum err_code workspace_check_names(const char *owner, const char *container, struct err *err)
{
    if (!is_name(owner) || !is_name(container))
        return err_set(err, ERR_INVALID, "A container's id has letters, digits, `_` and `-`.");
    return ERR_OK;
}

/* data is the box's, and private to its user. A crash may have left it without an owner. */
static int make_data(int container, uint32_t user)
{
    struct stat found;
    int fd;

    if (mkdirat(container, "data", 0700) != 0 && errno != EEXIST)
        return -1;
    fd = openat(container, "data", FOLDER);
    if (fd >= 0 && user && (fstat(fd, &found) != 0 || found.st_uid != user) &&
        (found.st_uid != geteuid() || fchown(fd, user, user) != 0)) {
        int why = errno;

        close(fd);
        errno = why;
        return -1;
    }
    return fd;
}

/* Opens data, with what is on the way, which `open_at` opens or makes. -1 and errno. */
static int descend(int root, const char *owner, const char *container,
                   int open_at(int parent, const char *name), uint32_t user)
{
    int outer = open_at(root, owner), inner = outer < 0 ? -1 : open_at(outer, container);
    int fd = -1, why;

    if (inner >= 0)
        fd = open_at == make_folder ? make_data(inner, user) : open_at(inner, "data");
    why = errno;
    if (outer >= 0)
        close(outer);
    if (inner >= 0)
        close(inner);
    errno = why;
    return fd;
}

static enum err_code opened(struct workspaces *all, const char *owner, const char *container,
                            int fd, struct workspace **ret_workspace, struct err *err)
{
    struct workspace *workspace;
    struct stat found;
    enum err_code rc;

    if (fstat(fd, &found) != 0) {
        close(fd);
        return cannot("open a workspace", err);
    }
    workspace = mem_new(struct workspace);
    *workspace = (struct workspace){
        .all = all,
        .fd = fd,
        .folder =
            mem_printf("%s/workspaces/%s/%s/data", all->options.data_dir, owner, container),
        .skills =
            mem_printf("%s/workspaces/%s/%s/skills", all->options.data_dir, owner, container),
        .user = found.st_uid == geteuid() ? 0 : found.st_uid,
        .incoming = all->incoming,
        .writable = true,
    };
    rc = workspace_make_skills(workspace, err);
    if (rc) {
        workspace_close(workspace);
        return rc;
    }
    *ret_workspace = workspace;
    return ERR_OK;
}

enum err_code workspace_make(struct workspaces *workspaces, const char *owner,
                             const char *container, uint32_t user,
                             struct workspace **ret_workspace, struct err *err)
{
    enum err_code rc = workspace_check_names(owner, container, err);
    int fd = -1;

    if (rc)
        return rc;
    for (int i = 0; i < TRIES && fd < 0; i++) {
        fd = descend(workspaces->root, owner, container, make_folder, user);
        if (fd < 0 && errno != ENOENT)
            break;
    }
    if (fd < 0)
        return cannot("make a workspace", err);
    return opened(workspaces, owner, container, fd, ret_workspace, err);
}

static int open_folder(int parent, const char *name)
{
    return openat(parent, name, FOLDER);
}

enum err_code workspace_open(struct workspaces *workspaces, const char *owner,
                             const char *container, struct workspace **ret_workspace,
                             struct err *err)
{
    enum err_code rc = workspace_check_names(owner, container, err);
    int fd;

    if (rc)
        return rc;
    fd = descend(workspaces->root, owner, container, open_folder, 0);
    if (fd < 0 && errno == ENOENT)
        return err_set(err, ERR_NOT_FOUND, "The container has no workspace.");
    if (fd < 0)
        return cannot("open a workspace", err);
    return opened(workspaces, owner, container, fd, ret_workspace, err);
}

struct workspace *workspace_copy(const struct workspace *workspace)
{
    int fd = fcntl(workspace->fd, F_DUPFD_CLOEXEC, 0);
    struct workspace *copy;

    if (fd < 0)
        return NULL;
    copy = mem_new(struct workspace);
    *copy = *workspace;
    copy->fd = fd;
    copy->folder = mem_strdup(workspace->folder);
    copy->skills = mem_strdup(workspace->skills);
    copy->root = mem_strdup(workspace->root);
    return copy;
}

void workspace_close(struct workspace *workspace)
{
    if (!workspace)
        return;
    close(workspace->fd);
    free(workspace->folder);
    free(workspace->skills);
    free(workspace->root);
    free(workspace);
}

const char *workspace_folder(const struct workspace *workspace)
{
    return workspace->folder;
}

uint32_t workspace_user(const struct workspace *workspace)
{
    return workspace->user;
}

/* ---- Roots ---- */

enum err_code workspace_open_root(struct workspaces *workspaces, const char *name,
                                  const char *folder, bool writable,
                                  struct workspace **ret_workspace, struct err *err)
{
    AUTO_FREE char *absolute = realpath(folder, NULL);
    int fd = absolute ? open(absolute, FOLDER) : -1;
    struct workspace *workspace;

    if (fd < 0)
        return err_set(err, ERR_INVALID, "cannot open the folder %s: %s", folder,
                       strerror(errno));
    workspace = mem_new(struct workspace);
    *workspace = (struct workspace){
        .all = workspaces,
        .fd = fd,
        .folder = TAKE(absolute),
        .incoming = fd,
        .root = mem_strdup(name),
        .writable = writable,
    };
    *ret_workspace = workspace;
    return ERR_OK;
}

const char *workspace_root(const struct workspace *workspace)
{
    return workspace->root;
}

char *workspace_in_box(const struct workspace *workspace, const char *path)
{
    bool top = strcmp(path, ".") == 0;

    if (!workspace->root)
        return workspace_path_in_box(path);
    return mem_printf(WORKSPACE_ROOTS_MOUNT "/%s%s%s", workspace->root, top ? "" : "/",
                      top ? "" : path);
}

enum err_code workspace_parse(const struct workspace *workspace, const char *text,
                              char **ret_path, struct err *err)
{
    char *path = NULL;
    AUTO_FREE char *root = NULL;

    if (!workspace->root)
        return workspace_path_parse(text, ret_path, err);
    root = workspace_path_root(text, &path);
    if (!root || strcmp(root, workspace->root) != 0) {
        free(path);
        return workspace_path_outside(text, err);
    }
    *ret_path = path;
    return ERR_OK;
}
