#ifndef RUNNEL_CORE_SANDBOX_WORKSPACE_WORKSPACE_ARCHIVE_H
#define RUNNEL_CORE_SANDBOX_WORKSPACE_WORKSPACE_ARCHIVE_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/sandbox/workspace/workspace.h"

/*
 * workspace_archive.h -- a whole workspace as one row of bytes, and back.
 *
 * It has files, folders and links, with their modes, their times and the names that share a file. Of a sparse file it
 * has the data only. Listed or hidden makes no difference here: code finds what it has left.
 *
 * Some things are left behind, and the archive names them: FIFOs and sockets, folders that are too deep or cannot be
 * read, and files beyond the bytes or the number that a workspace may have. So an archive is never much larger than a
 * workspace, however large its files claim to be.
 *
 * The form is our own, because both sides are this program. tar would need extensions for half of it (holes, odd names,
 * large numbers), and a second reader for those.
 *
 *   archive  "RNWORK01" record... end
 *   folder   'd' path mode time
 *   link     'l' path target time
 *   name     'h' path target          one more name of a file before
 *   file     'f' path mode time (offset length bytes)... (size 0) whole
 *   left     'x' path
 *   end      'e' count                of all that were left, also of those without a record
 *
 * Numbers are eight bytes, the lowest first; texts are a number and their bytes. `whole` 0: the file could not be read
 * to its end, and counts as left.
 */

/* How many of those that were left have a name in an archive. */
#define WORKSPACE_LEFT_LIMIT ((size_t)50)

/* Writes the archive piece by piece through `add`, whose errors it returns. The caller has ended what runs in the
 * workspace; what changes all the same is in the archive in some state, or not. */
enum err_code workspace_pack(const struct workspace *workspace,
                             enum err_code (*add)(void *argument, const void *bytes,
                                                  size_t size, struct err *err),
                             void *argument, struct err *err) MUST_CHECK;

/* What an archive could not bring. */
struct workspace_left {
    char *
        paths[WORKSPACE_LEFT_LIMIT]; /* owned; for people: no control characters, valid UTF-8 */
    size_t named;
    uint64_t count; /* also those without a name here */
};

void workspace_left_clear(struct workspace_left *left);

/* Fills an empty workspace without other users. `take` gives up to `size` bytes, 0 at the end. What does not fit into
 * this workspace is left, too.
 *
 * ERR_FULL: the server's disk has no room. ERR_INVALID: that is no archive, or not all of one. In both cases the
 * workspace has some of it, and is to be discarded. */
enum err_code workspace_unpack(const struct workspace *workspace,
                               enum err_code (*take)(void *argument, void *ret_bytes,
                                                     size_t size, size_t *ret_got,
                                                     struct err *err),
                               void *argument, struct workspace_left *ret_left,
                               struct err *err) MUST_CHECK;

#endif
