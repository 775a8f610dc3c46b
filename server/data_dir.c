#include "server/data_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mem.h"

/*
 * The data directory has two lines that must survive the process, the node's id and the generated API
 * key, beside the private database.
 *
 * A file is replaced and never changed in place: written under another name, synced, renamed. After a
 * crash there is the old line or the new one, and never half a key. The mode is 0600 from the first
 * moment, and O_NOFOLLOW keeps a planted link from being written through. Nothing here locks; the
 * caller holds the lock of the directory (data_dir_lock()).
 *
 * A first start that fails removes what it has made. Otherwise an operator who mistypes a path, or
 * starts with a database that is away, finds directories with keys that open nothing.
 */

static enum err_code failed(const char *what, const char *path, struct err *err)
{
    return err_set(err, ERR_INTERNAL, "cannot %s %s: %s", what, path, strerror(errno));
}

static bool write_line(int fd, const char *line)
{
    size_t length = strlen(line);

    return write(fd, line, length) == (ssize_t)length && write(fd, "\n", 1) == 1 &&
           fsync(fd) == 0;
}

enum err_code data_dir_write(const char *data_dir, const char *name, const char *line,
                             struct err *err)
{
    AUTO_FREE char *path = mem_printf("%s/%s", data_dir, name);
    AUTO_FREE char *fresh = mem_printf("%s/%s.new", data_dir, name);
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool written;

    if (fd < 0)
        return failed("write", fresh, err);
    written = fchmod(fd, 0600) == 0 && write_line(fd, line);
    if (close(fd) != 0 || !written || rename(fresh, path) != 0)
        return failed("write", path, err);
    return ERR_OK;
}

enum err_code data_dir_line(const char *data_dir, const char *name,
                            void (*make)(char ret_line[DATA_DIR_LINE_SIZE]),
                            char ret_line[DATA_DIR_LINE_SIZE], struct err *err)
{
    AUTO_FREE char *path = mem_printf("%s/%s", data_dir, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length;

    if (fd < 0 && errno != ENOENT)
        return failed("read", path, err);
    if (fd < 0) {
        make(ret_line);
        return data_dir_write(data_dir, name, ret_line, err);
    }
    length = read(fd, ret_line, DATA_DIR_LINE_SIZE - 1);
    close(fd);
    if (length < 0)
        return failed("read", path, err);
    ret_line[length] = '\0';
    ret_line[strcspn(ret_line, "\r\n")] = '\0';
    if (!*ret_line)
        return err_set(err, ERR_INTERNAL, "%s is empty: delete it to have it made anew", path);
    return ERR_OK;
}

/* ---- Undoing a start that failed ---- */

static const char *const file_names[DATA_DIR_FILES] = {"api_key", "node_id", "lock"};

void data_dir_inspect(const char *data_dir, struct data_dir_traces *ret_before)
{
    ret_before->directory = access(data_dir, F_OK) == 0;
    for (size_t i = 0; i < DATA_DIR_FILES; i++) {
        AUTO_FREE char *path = mem_printf("%s/%s", data_dir, file_names[i]);

        ret_before->files[i] = access(path, F_OK) == 0;
    }
}

void data_dir_restore(const char *data_dir, const struct data_dir_traces *before)
{
    for (size_t i = 0; i < DATA_DIR_FILES; i++) {
        AUTO_FREE char *path = mem_printf("%s/%s", data_dir, file_names[i]);

        if (!before->files[i])
            (void)unlink(path);
    }
    if (!before->directory)
        (void)rmdir(data_dir);
}
