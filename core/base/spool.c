#include "core/base/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/base/fault.h"
#include "core/base/mem.h"

static enum err_code failed(struct err *err, int why)
{
    if (why == ENOSPC || why == EDQUOT)
        return err_set(err, ERR_FULL, "The server has no disk space for this body.");
    return err_set(err, ERR_INTERNAL, "cannot spool a body: %s", strerror(why));
}

/* A file system that does not say is taken to have room. */
static enum err_code look(int fd, struct err *err)
{
    struct statvfs disk;
    uint64_t reserve;

    if (FAULT("spool.look"))
        return failed(err, ENOSPC);
    if (fstatvfs(fd, &disk) || !disk.f_blocks)
        return ERR_OK;
    reserve = (uint64_t)disk.f_blocks * disk.f_frsize / SPOOL_RESERVE_PART;
    reserve = reserve < SPOOL_RESERVE ? reserve : SPOOL_RESERVE;
    return (uint64_t)disk.f_bavail * disk.f_frsize < reserve ? failed(err, ENOSPC) : ERR_OK;
}

static int open_named(const char *directory)
{
    AUTO_FREE char *path = mem_printf("%s/.spool-XXXXXX", directory);
    int fd = mkostemp(path, O_CLOEXEC);

    if (fd >= 0)
        (void)unlink(path);
    return fd;
}

enum err_code spool_open(const char *directory, struct spool **ret_spool, struct err *err)
{
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    struct spool *spool;

    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR))
        fd = open_named(directory);
    if (fd < 0)
        return failed(err, errno);
    if (look(fd, err)) {
        close(fd);
        return ERR_FULL;
    }
    spool = mem_new(struct spool);
    spool->fd = fd;
    *ret_spool = spool;
    return ERR_OK;
}

enum err_code spool_write(struct spool *spool, const void *bytes, size_t size, struct err *err)
{
    bool due = spool->size / SPOOL_LOOK != (spool->size + size) / SPOOL_LOOK;

    for (size_t at = 0; at < size;) {
        ssize_t written = FAULT("spool.write")
                              ? (errno = ENOSPC, -1)
                              : write(spool->fd, (const char *)bytes + at, size - at);

        if (written < 0 && errno != EINTR)
            return failed(err, errno);
        at += written > 0 ? (size_t)written : 0;
    }
    spool->size += size;
    return due ? look(spool->fd, err) : ERR_OK;
}

void spool_close(struct spool *spool)
{
    if (!spool)
        return;
    close(spool->fd);
    free(spool);
}
