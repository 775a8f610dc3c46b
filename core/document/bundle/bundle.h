#ifndef RUNNEL_CORE_DOCUMENT_BUNDLE_BUNDLE_H
#define RUNNEL_CORE_DOCUMENT_BUNDLE_BUNDLE_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/*
 * bundle.h -- the files of a zip, in memory, and a zip of files.
 *
 * Clients upload folders so. Both directions run in a compute child (core/sandbox/compute.h), because libarchive reads
 * what strangers made. The child is taken as hostile, too: what it writes is checked here.
 *
 * A zip that has more than files and folders is refused as a whole: links, devices, passwords, names that lead out of
 * the folder. Nothing is written to a disk.
 */

#define BUNDLE_FILES_LIMIT   ((size_t)500)
#define BUNDLE_ENTRIES_LIMIT ((size_t)1000)     /* of a zip, with its folders */
#define BUNDLE_BYTES_LIMIT   ((size_t)16 << 20) /* of all files together, unpacked */
#define BUNDLE_RATIO_LIMIT \
    ((size_t)100) /* unpacked bytes for one of the zip, from BUNDLE_RATIO_FROM on */
#define BUNDLE_RATIO_FROM  ((size_t)1 << 20)
#define BUNDLE_PATH_LIMIT  ((size_t)256) /* bytes */
#define BUNDLE_DEPTH_LIMIT ((size_t)16)  /* folders and the file */
#define BUNDLE_WALL_MS     5000

struct bundle_file {
    char *path; /* owned; bundle_path_problem() finds none */
    struct buf bytes;
};

struct bundle {
    struct bundle_file *list; /* owned; in the order of the zip */
    size_t count;
};
void bundle_clear(struct bundle *bundle);

/* Adds a file; copies both. */
void bundle_add(struct bundle *bundle, const char *path, const void *bytes, size_t length);

/* Why a path cannot be that of a file, the end of a sentence that begins with it; NULL: it can. A path is relative,
 * with `/` between names that are neither empty, `.` nor `..`, and has no backslash and no control character. */
const char *bundle_path_problem(const char *path);

/* Reads the zip. ERR_INVALID and ERR_TOO_LARGE: the text is the end of a sentence about the zip, such as "the entry
 * 'a/../b' has a part '..'". ERR_LIMIT: too many children are at work. ERR_INTERNAL. Blocks up to BUNDLE_WALL_MS. */
enum err_code bundle_unpack(const void *zip, size_t length, struct bundle *ret_bundle,
                            struct err *err) MUST_CHECK;

/* Adds a zip with these files to *ret_zip, each below the folder `top`. The same files make the same bytes. ERR_LIMIT,
 * ERR_INTERNAL. Blocks as above. */
enum err_code bundle_pack(const struct bundle *bundle, const char *top, struct buf *ret_zip,
                          struct err *err) MUST_CHECK;

/* What the children do (tasks.h). */
int task_bundle_unpack(void);
int task_bundle_pack(void);

#endif
