/*
 * box_program.c -- the bytes of box/main.c, linked, are a part of this file.
 */

#include "core/sandbox/box_program.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        "box_program_begin: .incbin \"" BOX_PROGRAM "\"\n"
        "box_program_end:\n"
        ".popsection\n");

extern const char box_program_begin[] __attribute__((visibility("hidden")));
extern const char box_program_end[] __attribute__((visibility("hidden")));

/* Newer than Debian 12's headers: without it, kernels warn, or refuse to execute. Older ones refuse the flag. */
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

static int program = -1; /* made once, and open as long as the process */

static void make_program(void)
{
    size_t size = (size_t)(box_program_end - box_program_begin);
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int fd = memfd_create("box", flags | MFD_EXEC);

    if (fd < 0 && errno == EINVAL)
        fd = memfd_create("box", flags);
    if (fd < 0)
        return;
    if (write(fd, box_program_begin, size) == (ssize_t)size && fchmod(fd, 0555) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) == 0)
        program = fd;
    else
        close(fd);
}

int box_program(struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int copy;

    pthread_once(&once, make_program);
    copy = program >= 0 ? fcntl(program, F_DUPFD_CLOEXEC, 0) : -1;
    if (copy < 0)
        err_set(err, ERR_INTERNAL, "cannot make a program in memory: %s", strerror(errno));
    return copy;
}
