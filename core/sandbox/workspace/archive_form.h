#ifndef RUNNEL_CORE_SANDBOX_WORKSPACE_ARCHIVE_FORM_H
#define RUNNEL_CORE_SANDBOX_WORKSPACE_ARCHIVE_FORM_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * archive_form.h -- what writer and reader of workspace_archive.h share.
 */

#define ARCHIVE_HEAD   "RNWORK01"
#define ARCHIVE_NUMBER 8                   /* bytes of one */
#define ARCHIVE_PIECE  ((size_t)256 << 10) /* the most bytes behind one offset */
#define ARCHIVE_PATH \
    ((size_t)2 * 4095)     /* of a text: a folder that is too deep, and a name in it */
#define ARCHIVE_MODES 0777 /* a file that would run as its owner does not come along */

enum archive_record {
    ARCHIVE_FOLDER = 'd',
    ARCHIVE_LINK = 'l',
    ARCHIVE_NAME = 'h',
    ARCHIVE_FILE = 'f',
    ARCHIVE_LEFT = 'x',
    ARCHIVE_END = 'e',
};

/* The server has no descriptor or no memory left for now. That ends an archive, and costs no file: the move is tried
 * again. */
static inline bool archive_lacks_means(int why)
{
    return why == EMFILE || why == ENFILE || why == ENOMEM;
}

#endif
