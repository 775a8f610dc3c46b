/*
 * Bytes in a directory: a file for each blob, in one of some four thousand folders.
 *
 * A file has its name from the start, because its row was there before it: nobody reads it before the row says
 * that it is complete, and the sweep finds what a crash has left. Folder and name are parts of the id, whose last
 * characters are random. Ids are made by this server; no text of a client becomes part of a path.
 *
 * The kernel is asked to write now and then while the bytes come. Otherwise the fsync() at the end of a large file
 * would wait for all of them.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/base/fault.h"
#include "core/base/mem.h"
#include "core/blob/blob.h"
#include "core/blob/place.h"

#define FLUSH_BYTES ((uint64_t)8 << 20)
#define FOLDER_SIZE 3
#define PATH_SIZE   (FOLDER_SIZE + ID_SIZE)

struct writing {
    int fd;
    uint64_t bytes;
    uint64_t flushed;
};

struct reading {
    int fd;
};

static enum err_code failed(struct err *err, const char *what, int why)
{
    if (why == ENOSPC || why == EDQUOT)
        return blob_full(err);
    return err_set(err, ERR_INTERNAL, "cannot %s a file of files_dir: %s", what, strerror(why));
}

static void folder_of(const char *id, char ret_folder[FOLDER_SIZE])
{
    memcpy(ret_folder, id + strlen(id) - (FOLDER_SIZE - 1), FOLDER_SIZE);
}

static void path_of(const char *id, char ret_path[PATH_SIZE])
{
    char folder[FOLDER_SIZE];

    folder_of(id, folder);
    snprintf(ret_path, PATH_SIZE, "%s/%s", folder, id);
}

/* ---- Room ---- */

/* A file system that does not say how large it is has room. */
static enum err_code room(const struct blob_ground *ground, uint64_t bytes, struct err *err)
{
    struct statvfs disk;
    uint64_t reserve, size, left;

    if (FAULT("blob.room"))
        return blob_full(err);
    if (fstatvfs(ground->dir_fd, &disk) || !disk.f_blocks)
        return ERR_OK;
    size = (uint64_t)disk.f_blocks * disk.f_frsize;
    left = (uint64_t)disk.f_bavail * disk.f_frsize;
    reserve = size / BLOB_RESERVE_PART;
    reserve = reserve < BLOB_RESERVE ? reserve : BLOB_RESERVE;
    return left < reserve || left - reserve < bytes ? blob_full(err) : ERR_OK;
}

/* ---- Writing ---- */

static enum err_code begin(const struct blob_name *name, void **ret_state, struct err *err)
{
    struct writing *writing;
    char folder[FOLDER_SIZE];
    char path[PATH_SIZE];
    int fd;

    folder_of(name->id, folder);
    path_of(name->id, path);
    if (mkdirat(name->ground->dir_fd, folder, 0700) && errno != EEXIST)
        return failed(err, "make", errno);
    fd = FAULT("blob.begin")
             ? (errno = EIO, -1)
             : openat(name->ground->dir_fd, path,
                      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return failed(err, "make", errno);
    writing = mem_new(struct writing);
    writing->fd = fd;
    *ret_state = writing;
    return ERR_OK;
}

static enum err_code flush(const struct blob_name *name, struct writing *writing,
                           struct err *err)
{
    if (writing->bytes - writing->flushed < FLUSH_BYTES)
        return ERR_OK;
    (void)sync_file_range(writing->fd, (off_t)writing->flushed,
                          (off_t)(writing->bytes - writing->flushed), SYNC_FILE_RANGE_WRITE);
    writing->flushed = writing->bytes;
    return room(name->ground, 0, err);
}

static enum err_code add(const struct blob_name *name, void *state, const void *bytes,
                         size_t size, struct err *err)
{
    struct writing *writing = state;

    for (size_t at = 0; at < size;) {
        ssize_t count = FAULT("blob.add")
                            ? (errno = ENOSPC, -1)
                            : write(writing->fd, (const char *)bytes + at, size - at);

        if (count < 0 && errno != EINTR)
            return failed(err, "write", errno);
        at += count > 0 ? (size_t)count : 0;
    }
    writing->bytes += size;
    return flush(name, writing, err);
}

/* The name is durable when its folder is, and the folder when the directory is. */
static enum err_code sync_names(const struct blob_name *name, struct err *err)
{
    char folder[FOLDER_SIZE];
    int why = 0;
    int fd;

    folder_of(name->id, folder);
    fd = openat(name->ground->dir_fd, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return failed(err, "find", errno);
    if (fsync(fd) || fsync(name->ground->dir_fd))
        why = errno;
    close(fd);
    return why ? failed(err, "keep", why) : ERR_OK;
}

static enum err_code finish(const struct blob_name *name, void *state, struct err *err)
{
    struct writing *writing = state;

    if (FAULT("blob.finish"))
        return failed(err, "keep", ENOSPC);
    if (fsync(writing->fd))
        return failed(err, "keep", errno);
    return sync_names(name, err);
}

static void end(void *state)
{
    struct writing *writing = state;

    close(writing->fd);
    free(writing);
}

/* ---- Reading ---- */

static enum err_code open_file(const struct blob_name *name, void **ret_state, struct err *err)
{
    struct reading *reading;
    struct stat stat;
    char path[PATH_SIZE];
    int fd;

    path_of(name->id, path);
    fd = openat(name->ground->dir_fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return blob_broken(name, strerror(errno), err);
    if (fstat(fd, &stat) || (uint64_t)stat.st_size != name->bytes) {
        close(fd);
        return blob_broken(name, "the file has another size", err);
    }
    reading = mem_new(struct reading);
    reading->fd = fd;
    *ret_state = reading;
    return ERR_OK;
}

static enum err_code read_file(const struct blob_name *name, void *state, uint64_t at,
                               void *ret_bytes, size_t size, struct err *err)
{
    const struct reading *reading = state;

    for (size_t got = 0; got < size;) {
        ssize_t count = FAULT("blob.read") ? (errno = EIO, -1)
                                           : pread(reading->fd, (char *)ret_bytes + got,
                                                   size - got, (off_t)(at + got));

        if (count == 0 || (count < 0 && errno != EINTR))
            return blob_broken(name, count ? strerror(errno) : "the file is too short", err);
        got += count > 0 ? (size_t)count : 0;
    }
    return ERR_OK;
}

static void close_file(void *state)
{
    struct reading *reading = state;

    close(reading->fd);
    free(reading);
}

static enum err_code remove_file(const struct blob_name *name, struct err *err)
{
    char path[PATH_SIZE];

    path_of(name->id, path);
    if (FAULT("blob.remove"))
        return failed(err, "remove", EIO);
    if (unlinkat(name->ground->dir_fd, path, 0) && errno != ENOENT)
        return failed(err, "remove", errno);
    return ERR_OK;
}

const struct blob_place_ops blob_dir = {
    .room = room,
    .begin = begin,
    .add = add,
    .finish = finish,
    .end = end,
    .open = open_file,
    .read = read_file,
    .close = close_file,
    .remove = remove_file,
};

/* ---- The directory ---- */

#define HOME "home"

/* False, with errno, if there is no id to read. */
static bool read_home(int dir_fd, char ret_home[ID_SIZE])
{
    char text[ID_SIZE] = "";
    int fd = openat(dir_fd, HOME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t size;

    if (fd < 0)
        return false;
    size = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[size > 0 ? (size_t)size : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    errno = EINVAL;
    if (!id_has_prefix(text, "dir_"))
        return false;
    memcpy(ret_home, text, ID_SIZE);
    return true;
}

/* Complete before it has its name, and linked, because another server may do the same now: the first one wins. */
static bool make_home(int dir_fd)
{
    char id[ID_SIZE], temporary[ID_SIZE + 1];
    bool done;
    int fd;

    id_make(id, "dir_");
    snprintf(temporary, sizeof(temporary), ".%s", id);
    fd = openat(dir_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    done = dprintf(fd, "%s\n", id) == (int)strlen(id) + 1 && fsync(fd) == 0 &&
           (linkat(dir_fd, temporary, dir_fd, HOME, 0) == 0 || errno == EEXIST) &&
           fsync(dir_fd) == 0;
    close(fd);
    (void)unlinkat(dir_fd, temporary, 0);
    return done;
}

enum err_code blob_dir_open(const char *path, struct blob_ground *ground, struct err *err)
{
    int fd;

    if (mkdir(path, 0700) && errno != EEXIST)
        return err_set(err, ERR_INTERNAL, "cannot make %s: %s", path, strerror(errno));
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, ERR_INTERNAL, "cannot open %s: %s", path, strerror(errno));
    if (!read_home(fd, ground->home) &&
        (errno != ENOENT || !make_home(fd) || !read_home(fd, ground->home))) {
        err_set(err, ERR_INTERNAL, "cannot use %s/" HOME ": %s", path, strerror(errno));
        close(fd);
        return ERR_INTERNAL;
    }
    ground->dir_fd = fd;
    return ERR_OK;
}
