/*
 * Where the socket of a private cluster lies.
 *
 * A Unix socket's path has room for 107 bytes, and a data_dir may be longer than that. Then the
 * socket is in a directory of /tmp with a random name. Every process that opens the cluster must
 * find it, also after any of them was killed at any moment:
 *
 *   1. the name is chosen and written to data_dir/socket_dir
 *   2. the directory is made
 *   3. PostgreSQL makes its socket in it
 *   4. the last process to leave removes the socket, the directory and then the note
 *
 * A crash after 1 leaves a note of a directory that does not exist yet: the next process makes
 * it. In the other order a crash would leave a directory that no one knows of. The note also
 * names its data_dir, so that a copy of data_dir does not share the directory of the original.
 *
 * /tmp belongs to everyone. The name is random, because one that is computed from data_dir could
 * be made first by another user. What exists under the name already counts only if it is a
 * directory of this user or of the database's; ownership is given with lchown(), which does not
 * follow a link that was put there in between.
 */

#include "core/store/embedded/socket_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/ids.h"
#include "core/base/mem.h"

/* A socket's path has room for 107 bytes; the name in the directory takes 16 of them. */
#define SOCKET_DIR_LIMIT 90

#define SHORT_HEAD    "/tmp/runnel-"
#define SHORT_LETTERS 8

#define SOCKET "/.s.PGSQL.5432"

/* PostgreSQL takes a list of directories, and libpq a list of hosts. */
static bool is_plain(const char *path)
{
    return strlen(path) <= SOCKET_DIR_LIMIT && !strpbrk(path, ",\"\\@");
}

static bool is_short(const char *path)
{
    size_t head = sizeof(SHORT_HEAD) - 1;

    return strncmp(path, SHORT_HEAD, head) == 0 && !strchr(path + head, '/');
}

enum err_code private_dir_make(const char *path, uid_t uid, gid_t gid, struct err *err)
{
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return err_set(err, ERR_STORE, "cannot make %s: %s", path, strerror(errno));
    /* The path in /tmp may be a link by now, and the file that it leads to must not change its
     * owner. */
    if (geteuid() == 0 && lchown(path, uid, gid) != 0)
        return err_set(err, ERR_STORE, "cannot give %s to user %u: %s", path, (unsigned)uid,
                       strerror(errno));
    return ERR_OK;
}

/* ---- The name that is kept ---- */

/* The name is kept with data_dir's own, so that a copy of data_dir gets a directory of its own. */
static char *note_of(const char *data_dir, const char *path)
{
    return mem_printf("%s %s\n", path, data_dir);
}

static char *note_path(const char *data_dir)
{
    return mem_printf("%s/socket_dir", data_dir);
}

/* A note that is cut, or that belongs to a copy, does not count. */
static bool read_note(const char *data_dir, char ret_path[PATH_MAX])
{
    AUTO_FREE char *name = note_path(data_dir);
    AUTO_FREE char *expected = NULL;
    char text[2 * PATH_MAX], path[PATH_MAX];
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return false;
    text[length] = '\0';
    snprintf(path, sizeof(path), "%.*s", (int)strcspn(text, " "), text);
    expected = note_of(data_dir, path);
    if (!is_short(path) || strcmp(text, expected) != 0)
        return false;
    memcpy(ret_path, path, sizeof(path));
    return true;
}

static enum err_code write_note(const char *data_dir, const char *path, struct err *err)
{
    AUTO_FREE char *name = note_path(data_dir);
    AUTO_FREE char *text = note_of(data_dir, path);
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ssize_t written = fd < 0 ? -1 : write(fd, text, strlen(text));

    if (fd >= 0)
        close(fd);
    if (written != (ssize_t)strlen(text))
        return err_set(err, ERR_STORE, "cannot write %s: %s", name, strerror(errno));
    return ERR_OK;
}

/* ---- In /tmp ---- */

/* In /tmp any user may have made it first, or a thing that looks like it. */
static bool is_of_another_user(const char *path, uid_t uid)
{
    struct stat info;

    return lstat(path, &info) == 0 &&
           (!S_ISDIR(info.st_mode) || (info.st_uid != geteuid() && info.st_uid != uid));
}

static enum err_code choose_short(const char *data_dir, uid_t uid, char path[PATH_MAX],
                                  struct err *err)
{
    if (read_note(data_dir, path) && !is_of_another_user(path, uid))
        return ERR_OK;
    memcpy(path, SHORT_HEAD, sizeof(SHORT_HEAD));
    id_random(path + sizeof(SHORT_HEAD) - 1, SHORT_LETTERS);
    return write_note(data_dir, path, err);
}

static enum err_code make_short(const char *path, uid_t uid, gid_t gid, struct err *err)
{
    if (mkdir(path, 0700) != 0 && errno == EEXIST && is_of_another_user(path, uid))
        return err_set(err, ERR_STORE,
                       "%s, where the private database has its socket, "
                       "belongs to another user",
                       path);
    return private_dir_make(path, uid, gid, err);
}

/* ---- The interface ---- */

/* A process that listens is alive, even if this one cannot see it: it may be in another
 * container. The socket of a dead process refuses connections. */
static bool is_listened_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool listened;

    if (fd < 0)
        return false;
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%.*s" SOCKET, SOCKET_DIR_LIMIT,
                   path);
    listened = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 ||
               errno == EAGAIN; /* its queue is full: it is alive */
    close(fd);
    return listened;
}

/* No process listens, so these files are stale. PostgreSQL would only check whether a process
 * with that number exists, and a dead one that was not reaped still does. */
static void clear(const char *path)
{
    AUTO_FREE char *socket = mem_printf("%s" SOCKET, path);
    AUTO_FREE char *lock = mem_printf("%s" SOCKET ".lock", path);

    unlink(socket);
    unlink(lock);
}

static enum err_code choose(const char *data_dir, uid_t uid, char path[PATH_MAX],
                            struct err *err)
{
    AUTO_FREE char *usual = mem_printf("%s/run", data_dir);

    if (!is_plain(usual))
        return choose_short(data_dir, uid, path, err);
    snprintf(path, PATH_MAX, "%s", usual);
    return ERR_OK;
}

/* The place does not change, because other processes know it. A directory of another user is
 * never entered in `path`: a caller that fails removes what `path` names. */
enum err_code socket_dir_make(const char *data_dir, uid_t uid, gid_t gid, char path[PATH_MAX],
                              struct err *err)
{
    char place[PATH_MAX];
    enum err_code rc = ERR_OK;

    if (*path)
        memcpy(place, path, sizeof(place));
    else
        rc = choose(data_dir, uid, place, err);
    if (rc)
        return rc;
    if (is_listened_to(place))
        return err_set(err, ERR_STORE,
                       "the private database in %s runs where its processes cannot be seen, in "
                       "another container perhaps: one place at a time may use it",
                       data_dir);
    memcpy(path, place, sizeof(place));
    rc = is_short(path) ? make_short(path, uid, gid, err)
                        : private_dir_make(path, uid, gid, err);
    if (!rc)
        clear(path);
    return rc;
}

bool socket_dir_has_socket(const char *path)
{
    AUTO_FREE char *socket = mem_printf("%s" SOCKET, path);

    return access(socket, F_OK) == 0 || errno != ENOENT;
}

void socket_dir_remove(const char *data_dir, uid_t uid, const char *path)
{
    AUTO_FREE char *note = note_path(data_dir);

    if (!is_short(path) || is_of_another_user(path, uid))
        return;
    clear(path);
    rmdir(path);
    unlink(note);
}
