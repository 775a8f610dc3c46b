#ifndef RUNNEL_CORE_STORE_TABLES_CONTAINERS_CONTAINER_MOVES_H
#define RUNNEL_CORE_STORE_TABLES_CONTAINERS_CONTAINER_MOVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * container_moves.h -- a container goes from one node to another.
 *
 *   the owner lives   asked ─▶ it makes an archive ─▶ given  ─┐
 *   it is dead        ──────────────────────────▶ taken over ─┴▶ arriving ─▶ its files are put in the folder ─▶ arrived
 *
 * A move is one UPDATE that compares the epoch and raises it. So of two nodes that want a container one gets it, and
 * what its owner before still writes is refused (container_files.h). Until it has arrived, the row is true and the
 * folder is not: a crash in between leaves a container whose files are put once more.
 *
 * What a node asks of another is in the rows, and counts for CONTAINER_ASK_SECONDS.
 */

#define CONTAINER_ASK_SECONDS 5

/* An owner that is about to give a container away is waited for so long: an archive takes its time, and so do calls
 * that have the container while the owner drains. */
#define CONTAINER_GIVE_SECONDS 60

/* Takes it from a node that is dead; `node_id` is the new one. *ret_taken false: that node lives, or another was
 * first. */
enum err_code store_container_take_over(struct store *store, const struct tenant *tenant,
                                        const char *id, int64_t epoch, const char *node_id,
                                        bool *ret_taken, struct err *err) MUST_CHECK;

/* Asks the owner to give the container to `node_id`; or, with a file, to copy that. */
enum err_code store_container_ask(struct store *store, const struct tenant *tenant,
                                  const char *id, const char *node_id,
                                  struct err *err) MUST_CHECK;
enum err_code store_container_ask_copy(struct store *store, const struct tenant *tenant,
                                       const char *id, const char *file_id,
                                       struct err *err) MUST_CHECK;

struct asked_container {
    struct tenant tenant;
    char id[ID_SIZE];
    char file_id[ID_SIZE];   /* "": all of it is wanted, */
    char wanted_by[ID_SIZE]; /* by this node */
};

/* What other nodes ask of this one, of all projects. The caller frees. */
enum err_code store_containers_asked(struct store *store, const char *node_id, size_t limit,
                                     struct asked_container **ret_asked, size_t *ret_count,
                                     struct err *err) MUST_CHECK;

/* The owner is about to give it away (row->giving), or is not any more. */
enum err_code store_container_giving(struct store *store, const struct tenant *tenant,
                                     const char *id, int64_t epoch, bool giving,
                                     struct err *err) MUST_CHECK;

/* The owner gives it to another node. The blob has all of its workspace, and is held until it has arrived; "": there is
 * no new one, since it never arrived here. ERR_NOT_FOUND: it has another epoch, or does not run. */
enum err_code store_container_give(struct store *store, const struct tenant *tenant,
                                   const char *id, int64_t epoch, const char *node_id,
                                   const char *blob_id, struct err *err) MUST_CHECK;

/* Where the workspace of one that arrives is. "": nowhere; its node has died, and there are only copies of files. */
enum err_code store_container_archive(struct store *store, const struct tenant *tenant,
                                      const char *id, char ret_blob_id[ID_SIZE],
                                      struct err *err) MUST_CHECK;

/* All of its files. blob_id is where the bytes of each are: its copy, or else the file of the Files API that it is;
 * "": nowhere but in the folder. The caller frees with container_file_rows_free(). */
enum err_code store_container_files_sources(struct store *store, const struct tenant *tenant,
                                            const char *id,
                                            struct container_file_row **ret_rows,
                                            size_t *ret_count, struct err *err) MUST_CHECK;

/* They are in the folder: bytes, modified_ns and inode of each are its new ones. Rows with an empty path are lost: they
 * go. `lost` is what the model reads of that, as container_row has it; NULL: nothing. The archive is let go.
 * ERR_NOT_FOUND as above. */
enum err_code store_container_arrived(struct store *store, const struct tenant *tenant,
                                      const char *id, int64_t epoch,
                                      const struct container_file_row *rows, size_t count,
                                      const char *lost, struct err *err) MUST_CHECK;

/* The model has read what was lost. */
enum err_code store_container_lost_shown(struct store *store, const struct tenant *tenant,
                                         const char *id, struct err *err) MUST_CHECK;

/* Ends one of which nothing is left. */
enum err_code store_container_expire(struct store *store, const struct tenant *tenant,
                                     const char *id, int64_t epoch, struct err *err) MUST_CHECK;

/* The folder that it had on this node is gone. */
enum err_code store_container_left_cleared(struct store *store, const struct tenant *tenant,
                                           const char *id, const char *node_id,
                                           struct err *err) MUST_CHECK;

#endif
