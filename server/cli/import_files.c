#include "server/cli/import_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/store/tables/files/files.h"

#define PIECE ((size_t)1 << 20)

/* Of the bytes or of the text; -1 without them. The id is made of letters that are safe in a path. Something
 * else than a file, such as a pipe without a writer, must not be waited for. */
static int open_content(const char *dump, const char *id, const char *end)
{
    const char *slash = strrchr(dump, '/');
    AUTO_FREE char *path = mem_printf("%.*s" IMPORT_CONTENTS "/%s%s",
                                      slash ? (int)(slash + 1 - dump) : 0, dump, id, end);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat status;

    if (fd >= 0 && !fstat(fd, &status) && S_ISREG(status.st_mode))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static enum err_code copy(int fd, struct blob_write *write, struct err *err)
{
    AUTO_FREE char *bytes = mem_new_array(char, PIECE);
    enum err_code rc = ERR_OK;

    while (!rc) {
        ssize_t got = read(fd, bytes, PIECE);

        if (got == 0)
            break;
        if (got < 0 && errno == EINTR)
            continue;
        rc = got < 0 ? err_set(err, ERR_INVALID, "cannot be read: %s", strerror(errno))
                     : blob_write_add(write, bytes, (size_t)got, err);
    }
    return rc;
}

static enum err_code write_blob(const struct import_files *files, int fd,
                                struct blob_row *ret_blob, struct err *err)
{
    struct blob_write *write = NULL;
    enum err_code rc = blob_write_begin(files->blobs, &files->tenant, &write, err);

    if (!rc)
        rc = copy(fd, write, err);
    if (!rc)
        rc = blob_write_finish(write, ret_blob, err);
    blob_write_free(write);
    return rc;
}

/* Only the text was there: it is another file than the one that was uploaded. */
static void rename_to_text(struct file_row *row, struct buf *notes)
{
    char *name = mem_printf("%s.txt", row->filename);

    free(row->filename);
    row->filename = name;
    buf_addf(notes, "only its text was in %s, so it is called %s\n", IMPORT_CONTENTS, name);
}

static enum err_code find_content(const char *dump, struct file_row *row, struct buf *notes,
                                  int *ret_fd, bool *ret_text, struct err *err)
{
    *ret_fd = open_content(dump, row->id, "");
    *ret_text = *ret_fd < 0;
    if (*ret_text) {
        *ret_fd = open_content(dump, row->id, ".txt");
        if (*ret_fd < 0)
            return err_set(err, ERR_NOT_FOUND, "its bytes are not in %s/%s", IMPORT_CONTENTS,
                           row->id);
        rename_to_text(row, notes);
    }
    return ERR_OK;
}

static enum err_code make(const struct import_files *files, struct file_row *row, int fd,
                          bool text, struct err *err)
{
    static const struct idempotency no_key = {.key = ""};
    struct blob_row blob;
    enum err_code rc = write_blob(files, fd, &blob, err);

    if (rc)
        return rc;
    if (!text && blob.bytes != row->bytes) {
        rc = err_set(err, ERR_INVALID, "%s/%s has %llu bytes, and not %llu", IMPORT_CONTENTS,
                     row->id, (unsigned long long)blob.bytes, (unsigned long long)row->bytes);
    } else {
        row->bytes = blob.bytes;
        memcpy(row->blob_id, blob.id, sizeof(blob.id));
        rc = store_file_create(files->store, &files->tenant, &no_key, 0, row, err);
    }
    if (rc && blob_remove(files->blobs, &files->tenant, blob.id, NULL) != ERR_OK)
        log_info("%s is removed later", blob.id);
    return rc;
}

enum err_code import_file(const struct import_files *files, const char *dump,
                          struct file_row *row, struct buf *notes,
                          enum import_outcome *ret_outcome, struct err *err)
{
    struct file_row there = {0};
    struct err why = {0};
    bool text = false;
    int fd = -1;
    enum err_code rc = store_file_get(files->store, &files->tenant, row->id, &there, &why);

    file_row_clear(&there);
    if (!rc) {
        *ret_outcome = IMPORT_THERE;
        return ERR_OK;
    }
    if (rc != ERR_NOT_FOUND) {
        *err = why;
        return rc;
    }
    rc = find_content(dump, row, notes, &fd, &text, err);
    if (!rc)
        rc = make(files, row, fd, text, err);
    if (fd >= 0)
        close(fd);
    if (!rc)
        *ret_outcome = IMPORT_CREATED;
    return rc;
}
