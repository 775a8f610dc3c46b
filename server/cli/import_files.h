#ifndef RUNNEL_SERVER_CLI_IMPORT_FILES_H
#define RUNNEL_SERVER_CLI_IMPORT_FILES_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/blob/blob.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"
#include "core/store/tables/threads/imports.h"

/*
 * import_files.h -- files of a dump with their bytes, which lie in a folder beside it.
 *
 *     dump.ndjson              {"object": "file", "id": "file-abc", "filename": "report.pdf", ...}
 *     file_contents/file-abc   its bytes
 *     file_contents/file-abc.txt   or only its text, where OpenAI returns nothing else
 *
 * Blocks on disks and the store. One thread.
 */

#define IMPORT_CONTENTS "file_contents" /* the folder */

struct import_files {
    struct store *store;
    struct blobs *blobs;
    struct tenant tenant;
};

/* Makes the file with its id, and holds its bytes. `dump` is the path of the file of the dump that named it. The row
 * has everything but blob_id; a file of which only the text is there gets ".txt" behind its name,
 * and a line in `notes`. ERR_NOT_FOUND if its bytes are not in the folder, ERR_INVALID if they are others
 * than the row says, ERR_FULL. */
enum err_code import_file(const struct import_files *files, const char *dump,
                          struct file_row *row, struct buf *notes,
                          enum import_outcome *ret_outcome, struct err *err) MUST_CHECK;

#endif
