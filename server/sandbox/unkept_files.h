#ifndef RUNNEL_SERVER_SANDBOX_UNKEPT_FILES_H
#define RUNNEL_SERVER_SANDBOX_UNKEPT_FILES_H

#include <stddef.h>

#include "core/base/buf.h"

/*
 * unkept_files.h -- the files of a call that its user cannot get, as sentences for the model. A model that does not
 * know promises them.
 */

/* Files that are named, and bytes of a path; the others are counted. */
#define UNKEPT_NAMED      ((size_t)10)
#define UNKEPT_PATH_BYTES ((size_t)200)

/* Starts as zeros. */
struct unkept_files {
    struct buf text;
    size_t count;
};

/* `path` is what the code calls it. `why` ends "The user does not get PATH: ". */
void unkept_files_add(struct unkept_files *unkept, const char *path, const char *why);

/* A line for each file, without the last line feed. The caller frees. NULL: the user gets all files. */
char *unkept_files_take(struct unkept_files *unkept);

void unkept_files_clear(struct unkept_files *unkept);

#endif
