#include "core/sandbox/memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fault.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

int memory_file(const void *bytes, size_t size, struct err *err)
{
    int fd = FAULT("sandbox.memory_file")
                 ? -1
                 : memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    size_t written = 0;

    while (fd >= 0 && written < size) {
        ssize_t wrote =
            pwrite(fd, (const char *)bytes + written, size - written, (off_t)written);

        if (wrote <= 0)
            break;
        written += (size_t)wrote;
    }
    /* A box's user is another one, and opens it by its name in /proc. */
    if (fd >= 0 && written == size && fchmod(fd, 0444) == 0 &&
        fcntl(fd, F_ADD_SEALS, SEALS) == 0)
        return fd;
    err_set(err, ERR_INTERNAL, "cannot make a file in memory: %s", strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}
