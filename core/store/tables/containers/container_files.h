#ifndef RUNNEL_CORE_STORE_TABLES_CONTAINERS_CONTAINER_FILES_H
#define RUNNEL_CORE_STORE_TABLES_CONTAINERS_CONTAINER_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * container_files.h -- the files of containers, as rows.
 *
 * The folder is the truth. The rows say what was in it when it was last looked at, give each path an id that it keeps
 * as long as the file is there, and hold the copies of files. They exist only while their container runs.
 *
 * ERR_NOT_FOUND is "Container file with id 'X' not found.", or that of containers.h if the container does not run, or
 * has another epoch than the writer has read.
 */

enum err_code container_file_not_found(const char *id, struct err *err);

/* What a look at the folder has found: all files that are to be listed. */
struct seen_file {
    const char *path;
    uint64_t bytes;
    int64_t modified_ns;
    uint64_t inode;
};

/* Of a part it is unknown what is missing: no row goes. */
enum seen_extent { SEEN_ALL, SEEN_PART };

enum container_change {
    CONTAINER_FILE_CREATED,
    CONTAINER_FILE_CHANGED,
    CONTAINER_FILE_DELETED,
};

/* What is different from the rows. */
struct changed_file {
    char id[ID_SIZE];
    char *path;
    uint64_t bytes;
    enum container_change change;
};

void changed_files_free(struct changed_file *files, size_t count); /* NULL is fine */

/* Makes the rows equal to what was seen: new files get an id, changed ones keep theirs and lose their copy, others
 * go. `source` and `call_id` ("": none) are noted for new and changed ones. *ret_changed is in the order of paths. What
 * a scan without a call has found counts as new for the next call: it may have made it. */
enum err_code store_container_files_seen(struct store *store, const struct tenant *tenant,
                                         const char *container_id, int64_t epoch,
                                         const struct seen_file *seen, size_t count,
                                         enum seen_extent extent, enum container_source source,
                                         const char *call_id, struct changed_file **ret_changed,
                                         size_t *ret_changed_count, struct err *err) MUST_CHECK;

/* A file that a request has put there: *row, whose id, container, path, origin and the three facts of its folder are
 * filled in. A row of the same path gives way. */
enum err_code store_container_file_put(struct store *store, const struct tenant *tenant,
                                       const struct container_file_row *row, int64_t epoch,
                                       struct err *err) MUST_CHECK;

enum err_code store_container_file_get(struct store *store, const struct tenant *tenant,
                                       const char *container_id, const char *id,
                                       struct container_file_row *ret_row,
                                       struct err *err) MUST_CHECK;

/* The same by its path below /mnt/data, and by the file that it was copied from. */
enum err_code store_container_file_at(struct store *store, const struct tenant *tenant,
                                      const char *container_id, const char *path,
                                      struct container_file_row *ret_row,
                                      struct err *err) MUST_CHECK;
enum err_code store_container_file_from(struct store *store, const struct tenant *tenant,
                                        const char *container_id, const char *origin_id,
                                        struct container_file_row *ret_row,
                                        struct err *err) MUST_CHECK;

/* Those that were copied from one of these files. The caller frees with container_file_rows_free(). */
enum err_code store_container_files_from(struct store *store, const struct tenant *tenant,
                                         const char *container_id,
                                         const char *const *origin_ids, size_t count,
                                         struct container_file_row **ret_rows,
                                         size_t *ret_count, struct err *err) MUST_CHECK;

/* Those that lie in no folder, of the running container `container_id`; if it is "", of the one that `owner_id` has. No
 * rows: there is no such container. The caller frees with container_file_rows_free(). */
enum err_code store_container_files_top(struct store *store, const struct tenant *tenant,
                                        const char *container_id, const char *owner_id,
                                        struct container_file_row **ret_rows, size_t *ret_count,
                                        struct err *err) MUST_CHECK;

/* In the order of their ids. */
enum err_code store_container_file_list(struct store *store, const struct tenant *tenant,
                                        const char *container_id, const struct page *page,
                                        struct container_file_row **ret_rows, size_t *ret_count,
                                        bool *ret_more, struct err *err) MUST_CHECK;

/* Lets go of its copy. */
enum err_code store_container_file_delete(struct store *store, const struct tenant *tenant,
                                          const char *container_id, const char *id,
                                          struct err *err) MUST_CHECK;

/* Bytes of the copies that a container's files have. */
enum err_code store_container_copied_bytes(struct store *store, const struct tenant *tenant,
                                           const char *container_id, uint64_t *ret_bytes,
                                           struct err *err) MUST_CHECK;

/* row->blob_id, which must be written, is a copy of the file as `row` has it. ERR_CONFLICT if it has changed since, or
 * has a copy. */
enum err_code store_container_file_copied(struct store *store, const struct tenant *tenant,
                                          const struct container_file_row *row,
                                          struct err *err) MUST_CHECK;

#endif
