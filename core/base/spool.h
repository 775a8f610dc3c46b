#ifndef RUNNEL_CORE_BASE_SPOOL_H
#define RUNNEL_CORE_BASE_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

/*
 * spool.h -- bytes that are too many for memory, in a file without a name.
 *
 * The file is never in a directory, so nothing of it is left when it is closed, or when the process dies. On a file
 * system without O_TMPFILE it has a name for as long as it is empty. Writing goes into the page cache and waits
 * for the disk only if that is full of unwritten bytes.
 *
 * ERR_FULL when the file system has no room: less than SPOOL_RESERVE_PART of it, if that is less than
 * SPOOL_RESERVE bytes. The rest is for the database and the log, which fail worse. It is looked at before the first
 * byte, and again every SPOOL_LOOK bytes. ERR_INTERNAL for all else that a disk may say.
 *
 * One thread at a time.
 */

#define SPOOL_RESERVE      ((uint64_t)1 << 30)
#define SPOOL_RESERVE_PART 20 /* a twentieth */
#define SPOOL_LOOK         ((uint64_t)8 << 20)

struct spool {
    int fd; /* open for reading and writing; the owner of the spool may pread() */
    uint64_t size;
};

/* An empty one, in this directory. The caller closes. */
enum err_code spool_open(const char *directory, struct spool **ret_spool,
                         struct err *err) MUST_CHECK;

/* Adds at the end. After an error the spool can only be closed. */
enum err_code spool_write(struct spool *spool, const void *bytes, size_t size,
                          struct err *err) MUST_CHECK;

void spool_close(struct spool *spool); /* NULL is fine */

#endif
