/*
 * workspace_skills.c -- written beside its place, made safe, and renamed.
 *
 * Only the server writes here, so plain system calls will do. The rights of a file are set through its descriptor: the
 * server's umask may be anything, and a box may have another user.
 */

#include "core/sandbox/workspace/workspace_skills.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fault.h"
#include "core/base/ids.h"
#include "core/base/mem.h"
#include "core/sandbox/workspace/beneath.h"

#define FOLDER    (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define NEW_SKILL "new-skill"

static enum err_code cannot(const char *what, struct err *err)
{
    enum err_code code = errno == ENOSPC || errno == EDQUOT ? ERR_FULL : ERR_INTERNAL;

    return err_set(err, code, "cannot %s: %s", what, strerror(errno));
}

const char *workspace_skills_folder(const struct workspace *workspace)
{
    return workspace->skills;
}

bool workspace_has_skill(const struct workspace *workspace, const char *name)
{
    AUTO_FREE char *path = mem_printf("%s/%s", workspace->skills, name);
    struct stat found;

    return lstat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

/* Makes a folder that every user may read, if it is missing. -1 and errno. */
static int open_folder(int parent, const char *name)
{
    int fd;

    if (mkdirat(parent, name, 0700) != 0 && errno != EEXIST)
        return -1;
    fd = openat(parent, name, FOLDER);
    if (fd >= 0 && fchmod(fd, 0755) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Opens the folder of a file below `top`, and makes what is missing. *ret_name is the file's own name. */
static int open_parent(int top, const char *path, const char **ret_name)
{
    int fd = fcntl(top, F_DUPFD_CLOEXEC, 0);
    const char *slash;

    for (; fd >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
        AUTO_FREE char *name = mem_strndup(path, (size_t)(slash - path));
        int inner = open_folder(fd, name);
        int why = errno;

        close(fd);
        fd = inner;
        errno = why;
    }
    *ret_name = path;
    return fd;
}

/* Whether each of its parts is the name of something in the folder before. */
static bool is_inside(const char *path)
{
    do {
        size_t length = strcspn(path, "/");

        if (!length || (length == 1 && *path == '.') ||
            (length == 2 && memcmp(path, "..", 2) == 0))
            return false;
        path += length;
    } while (*path++);
    return true;
}

static bool write_all(int fd, const char *bytes, size_t size)
{
    while (size) {
        ssize_t wrote = write(fd, bytes, size);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        bytes += wrote;
        size -= (size_t)wrote;
    }
    return true;
}

static bool is_program(const struct workspace_skill_file *file)
{
    return file->size > 2 && memcmp(file->bytes, "#!", 2) == 0;
}

static bool write_file(int parent, const char *name, const struct workspace_skill_file *file)
{
    int fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool done;
    int why;

    if (fd < 0)
        return false;
    done = write_all(fd, file->bytes, file->size) &&
           fchmod(fd, is_program(file) ? 0755 : 0644) == 0 && fsync(fd) == 0;
    why = errno;
    close(fd);
    errno = why;
    return done;
}

/* The names in a zip may be such that a file has the place of a folder. */
static bool is_taken(int why)
{
    return why == EEXIST || why == ENOTDIR || why == EISDIR || why == ELOOP;
}

static bool put_file(int top, const struct workspace_skill_file *file)
{
    const char *name;
    int parent = open_parent(top, file->path, &name);
    bool done;
    int why;

    if (parent < 0)
        return is_taken(errno);
    done = write_file(parent, name, file) || is_taken(errno);
    why = errno;
    close(parent);
    errno = why;
    return done;
}

/* What a crash has left of another attempt goes to the trash. */
static int begin(const struct workspace *workspace, int container)
{
    char id[ID_SIZE];

    id_make(id, "old_");
    if (renameat(container, NEW_SKILL, workspace->all->trash, id) != 0 && errno != ENOENT)
        return -1;
    return open_folder(container, NEW_SKILL);
}

static enum err_code fill(int container, int top, const char *name,
                          const struct workspace_skill_file *files, size_t count,
                          struct err *err)
{
    AUTO_FREE char *place = mem_printf("skills/%s", name);

    for (size_t i = 0; i < count; i++) {
        if (!is_inside(files[i].path))
            return err_set(err, ERR_INVALID, "a skill has a file outside of its folder");
        if (!put_file(top, &files[i]))
            return cannot("write a skill", err);
    }
    if (fsync(top) != 0)
        return cannot("keep a skill on the disk", err);
    if (FAULT("workspace.skill") || renameat(container, NEW_SKILL, container, place) != 0)
        return cannot("put a skill to its place", err);
    return ERR_OK;
}

enum err_code workspace_put_skill(const struct workspace *workspace, const char *name,
                                  const struct workspace_skill_file *files, size_t count,
                                  struct err *err)
{
    AUTO_FREE char *path = mem_printf("%s/..", workspace->skills);
    int container = open(path, FOLDER);
    int top = container < 0 ? -1 : begin(workspace, container);
    enum err_code rc =
        top < 0 ? cannot("write a skill", err) : fill(container, top, name, files, count, err);

    if (top >= 0)
        close(top);
    if (container >= 0)
        close(container);
    return rc;
}

enum err_code workspace_make_skills(const struct workspace *workspace, struct err *err)
{
    int fd = open_folder(AT_FDCWD, workspace->skills);

    if (fd < 0)
        return cannot("make the folder of a workspace's skills", err);
    close(fd);
    return ERR_OK;
}
