/*
 * workspace_pack.c -- a workspace becomes an archive: one walk, and each file is read once.
 *
 * Everything here is hostile: names, links, sizes. Paths are opened as in workspace.h. What a file claims to be is not
 * believed: its bytes are counted as they are read.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/sandbox/workspace/archive_form.h"
#include "core/sandbox/workspace/beneath.h"
#include "core/sandbox/workspace/walk.h"
#include "core/sandbox/workspace/workspace_archive.h"

/* The first name of a file that has several. */
struct first_name {
    uint64_t inode;
    char *path; /* owned */
};

struct packing {
    const struct workspace *workspace;
    enum err_code (*add)(void *argument, const void *bytes, size_t size, struct err *err);
    void *argument;
    struct buf out;
    uint64_t room;    /* bytes of files that may still come */
    uint64_t entries; /* that may still come */
    uint64_t left, left_named;
    struct first_name *names; /* owned */
    size_t name_count, name_room;
    char *piece; /* owned; ARCHIVE_PIECE */
    enum err_code rc;
    struct err err; /* of rc */
};

/* ---- Bytes ---- */

static void flush(struct packing *packing)
{
    if (!packing->rc && packing->out.length)
        packing->rc = packing->add(packing->argument, packing->out.data, packing->out.length,
                                   &packing->err);
    buf_reset(&packing->out);
}

static void put(struct packing *packing, const void *bytes, size_t size)
{
    buf_add(&packing->out, bytes, size);
    if (packing->out.length >= ARCHIVE_PIECE)
        flush(packing);
}

static void put_number(struct packing *packing, uint64_t number)
{
    uint8_t bytes[ARCHIVE_NUMBER];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(number >> 8 * i);
    put(packing, bytes, sizeof(bytes));
}

static void put_text(struct packing *packing, const char *text)
{
    put_number(packing, strlen(text));
    put(packing, text, strlen(text));
}

static void put_kind(struct packing *packing, enum archive_record kind, const char *path)
{
    const char byte = (char)kind;

    put(packing, &byte, 1);
    put_text(packing, path);
}

static void put_mode_and_time(struct packing *packing, const struct stat *found)
{
    struct workspace_stat stat;

    workspace_stat_fill(found, &stat);
    put_number(packing, found->st_mode & ARCHIVE_MODES);
    put_number(packing, (uint64_t)stat.mtime_ns);
}

static void leave(struct packing *packing, const char *path)
{
    packing->left++;
    if (packing->left_named == WORKSPACE_LEFT_LIMIT)
        return;
    packing->left_named++;
    put_kind(packing, ARCHIVE_LEFT, path);
}

/* ---- Files ---- */

/* From `at` on: the next bytes that are data. False: only a hole, or nothing. A disk that knows no holes has data up to
 * the end. */
static bool next_data(int fd, off_t at, off_t size, off_t *ret_from, off_t *ret_to)
{
    off_t from = lseek(fd, at, SEEK_DATA), to;

    if (from < 0) {
        if (errno != EINVAL)
            return false;
        *ret_from = at;
        *ret_to = size;
        return at < size;
    }
    to = lseek(fd, from, SEEK_HOLE);
    *ret_from = from;
    *ret_to = to < 0 ? size : to;
    return *ret_to > from;
}

/* False: it cannot be read on, or has more than there is room for. */
static bool put_data(struct packing *packing, int fd, off_t from, off_t to)
{
    while (from < to && !packing->rc) {
        size_t want = to - from < (off_t)ARCHIVE_PIECE ? (size_t)(to - from) : ARCHIVE_PIECE;
        ssize_t got = pread(fd, packing->piece, want, from);

        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0) /* it became shorter */
            return true;
        if (got < 0 || (uint64_t)got > packing->room)
            return false;
        packing->room -= (uint64_t)got;
        put_number(packing, (uint64_t)from);
        put_number(packing, (uint64_t)got);
        put(packing, packing->piece, (size_t)got);
        from += got;
    }
    return true;
}

static void put_contents(struct packing *packing, int fd, const char *path,
                         const struct stat *found)
{
    off_t at = 0, from, to;
    bool whole = true;
    const char *byte;

    put_kind(packing, ARCHIVE_FILE, path);
    put_mode_and_time(packing, found);
    while (whole && next_data(fd, at, found->st_size, &from, &to)) {
        whole = put_data(packing, fd, from, to);
        at = to;
    }
    put_number(packing, (uint64_t)found->st_size);
    put_number(packing, 0);
    byte = whole ? "\1" : "\0";
    put(packing, byte, 1);
    packing->left += !whole;
}

static const char *first_name(const struct packing *packing, uint64_t inode)
{
    for (size_t i = 0; i < packing->name_count; i++)
        if (packing->names[i].inode == inode)
            return packing->names[i].path;
    return NULL;
}

static void note_first_name(struct packing *packing, uint64_t inode, const char *path)
{
    if (packing->name_count == packing->name_room) {
        packing->name_room = packing->name_room ? 2 * packing->name_room : 32;
        packing->names =
            mem_resize(packing->names, packing->name_room, sizeof(*packing->names));
    }
    packing->names[packing->name_count++] = (struct first_name){inode, mem_strdup(path)};
}

/* A disk that compresses has less than the bytes; a sparse file, too. */
static bool fits(const struct packing *packing, const struct stat *found)
{
    uint64_t size = (uint64_t)found->st_size, blocks = (uint64_t)found->st_blocks * 512;

    return (size < blocks ? size : blocks) <= packing->room;
}

static void pack_file(struct packing *packing, const char *path)
{
    int fd = beneath_open(packing->workspace->fd, path, O_RDONLY, BENEATH_NO_LINKS);
    const char *first;
    struct stat found;

    if (fd < 0 && archive_lacks_means(errno)) {
        packing->rc = workspace_failed(path, errno, &packing->err);
    } else if (fd < 0 || fstat(fd, &found) != 0 || !S_ISREG(found.st_mode)) {
        if (fd >= 0 || errno != ENOENT)
            leave(packing, path);
    } else if (found.st_nlink > 1 && (first = first_name(packing, found.st_ino)) != NULL) {
        put_kind(packing, ARCHIVE_NAME, path);
        put_text(packing, first);
    } else if (!fits(packing, &found)) {
        leave(packing, path);
    } else {
        uint64_t left = packing->left;

        put_contents(packing, fd, path, &found);
        if (found.st_nlink > 1 && packing->left == left)
            note_first_name(packing, found.st_ino, path);
    }
    if (fd >= 0)
        close(fd);
}

/* ---- The rest ---- */

static void pack_link(struct packing *packing, const char *path, const struct stat *found)
{
    const char *name;
    int folder = beneath_open_parent(packing->workspace->fd, path, &name);
    char target[PATH_MAX];
    ssize_t length = folder < 0 ? -1 : readlinkat(folder, name, target, sizeof(target) - 1);
    struct workspace_stat stat;

    if (folder < 0 && archive_lacks_means(errno)) {
        packing->rc = workspace_failed(path, errno, &packing->err);
        return;
    }
    if (folder >= 0)
        close(folder);
    if (length <= 0) {
        leave(packing, path);
        return;
    }
    target[length] = '\0';
    workspace_stat_fill(found, &stat);
    put_kind(packing, ARCHIVE_LINK, path);
    put_text(packing, target);
    put_number(packing, (uint64_t)stat.mtime_ns);
}

static bool pack_one(struct walk *walk, const char *path, const struct stat *found)
{
    struct packing *packing = walk->argument;

    if (!packing->entries) {
        leave(packing, path);
        return !packing->rc;
    }
    packing->entries--;
    if (strlen(path) > WORKSPACE_PATH_LIMIT) {
        if (!S_ISDIR(found->st_mode)) /* which the walk will hide */
            leave(packing, path);
    } else if (S_ISREG(found->st_mode)) {
        pack_file(packing, path);
    } else if (S_ISDIR(found->st_mode)) {
        put_kind(packing, ARCHIVE_FOLDER, path);
        put_mode_and_time(packing, found);
    } else if (S_ISLNK(found->st_mode)) {
        pack_link(packing, path, found);
    } else {
        leave(packing, path);
    }
    return !packing->rc;
}

static void leave_hidden(struct walk *walk, const char *path)
{
    leave(walk->argument, path);
}

enum err_code workspace_pack(const struct workspace *workspace,
                             enum err_code (*add)(void *argument, const void *bytes,
                                                  size_t size, struct err *err),
                             void *argument, struct err *err)
{
    struct packing packing = {.workspace = workspace,
                              .add = add,
                              .argument = argument,
                              .room = workspace->all->options.bytes,
                              .entries = workspace->all->options.files,
                              .piece = mem_new_array(char, ARCHIVE_PIECE)};
    struct walk walk = {
        .root = workspace->fd, .visit = pack_one, .hide = leave_hidden, .argument = &packing};
    const char end = ARCHIVE_END;
    enum err_code rc;

    put(&packing, ARCHIVE_HEAD, strlen(ARCHIVE_HEAD));
    rc = walk_all(&walk, err);
    put(&packing, &end, 1);
    put_number(&packing, packing.left);
    if (!rc)
        flush(&packing);
    if (!rc && packing.rc) {
        rc = packing.rc;
        if (err)
            *err = packing.err;
    }
    for (size_t i = 0; i < packing.name_count; i++)
        free(packing.names[i].path);
    free(packing.names);
    free(packing.piece);
    buf_clear(&packing.out);
    return rc;
}
