#ifndef RUNNEL_CORE_STORE_TABLES_CONTAINERS_CONTAINERS_H
#define RUNNEL_CORE_STORE_TABLES_CONTAINERS_CONTAINERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"
#include "core/store/tables/idempotency.h"

/*
 * containers.h -- the rows of containers.
 *
 * A row comes before its folder, and its end before the folder's removal: status first, folder second. So a crash
 * leaves either a container with an empty folder, or a folder that store_containers_left() names.
 *
 * A container whose time has passed counts as expired from that moment, by the database's clock, also before the keeper
 * has noticed. Its row is then still shown, for CONTAINER_KEPT_SECONDS; its files are not.
 *
 * ERR_NOT_FOUND is "Container with id 'X' not found.". Deleted ones are not found.
 */

#define CONTAINER_KEPT_SECONDS 86400

/* A use that comes so soon after another is not written. */
#define CONTAINER_TOUCH_SECONDS 15
#define CONTAINER_TOUCH_TEXT    "15"

enum err_code container_not_found(const char *id, struct err *err);

/* A container that a client names. Its times, and its status, are filled in. ERR_LIMIT with REASON_BUSY if the project
 * would have more than `limit` that run. A repeated key makes nothing: *row becomes what the first request made. */
enum err_code store_container_create(struct store *store, const struct tenant *tenant,
                                     const struct idempotency *idempotency, unsigned limit,
                                     struct container_row *row, struct err *err) MUST_CHECK;

/* The container of row->owner_id: the one that it has, if that runs, on any node, with row->memory_gib (0: any) and
 * row->domains (NULL: any), or else this new one, of `default_gib` instead of 0, which takes its place; the old one
 * then has no owner. One answer for all who ask at once. *ret_made says which. Errors as above. */
enum err_code store_container_of_owner(struct store *store, const struct tenant *tenant,
                                       unsigned limit, int default_gib,
                                       struct container_row *row, bool *ret_made,
                                       struct err *err) MUST_CHECK;

enum err_code store_container_get(struct store *store, const struct tenant *tenant,
                                  const char *id, struct container_row *ret_row,
                                  struct err *err) MUST_CHECK;

/* The same for a caller that uses it, if it runs: from now on it has its idle time again. */
enum err_code store_container_use(struct store *store, const struct tenant *tenant,
                                  const char *id, struct container_row *ret_row,
                                  struct err *err) MUST_CHECK;

/* The node of the running container `id`, or else of that of `owner_id`, if it is another node than this one,
 * lives, and is not going down. "": there is no such container, or none on such a node. */
enum err_code store_container_node(struct store *store, const struct tenant *tenant,
                                   const char *id, const char *owner_id, char ret_node[ID_SIZE],
                                   struct err *err) MUST_CHECK;

/* Notes that Python runs in it. */
enum err_code store_container_has_python(struct store *store, const struct tenant *tenant,
                                         const char *id, struct err *err) MUST_CHECK;

/* In the order of their ids. `name` NULL: all. */
enum err_code store_container_list(struct store *store, const struct tenant *tenant,
                                   const char *name, const struct page *page,
                                   struct container_row **ret_rows, size_t *ret_count,
                                   bool *ret_more, struct err *err) MUST_CHECK;

/* Its files are forgotten, and let go of their copies. The folder is removed by its node. */
enum err_code store_container_delete(struct store *store, const struct tenant *tenant,
                                     const char *id, struct err *err) MUST_CHECK;

/* ---- For the keeper ---- */

/* Ends up to `limit` containers whose time has passed, of all projects, with the rows of their files. */
enum err_code store_containers_expire(struct store *store, size_t limit, size_t *ret_count,
                                      struct err *err) MUST_CHECK;

/* A container that has ended, and whose folder may still be there. */
struct left_container {
    struct tenant tenant;
    char id[ID_SIZE];
    enum container_status status;
    bool moved; /* it may run, but on another node */
};

/* Those of a node, of all projects. The caller frees. */
enum err_code store_containers_left(struct store *store, const char *node_id, size_t limit,
                                    struct left_container **ret_left, size_t *ret_count,
                                    struct err *err) MUST_CHECK;

/* The folder of a container that has ended is gone. So is the row, if it was deleted. */
enum err_code store_container_cleared(struct store *store, const struct tenant *tenant,
                                      const char *id, struct err *err) MUST_CHECK;

/* Removes up to `limit` rows that ended CONTAINER_KEPT_SECONDS ago, of all projects. One whose folder is still on a
 * node that lives stays: that node removes the folder by it. */
enum err_code store_containers_forget(struct store *store, size_t limit, size_t *ret_count,
                                      struct err *err) MUST_CHECK;

#endif
