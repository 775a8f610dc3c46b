#ifndef RUNNEL_CORE_STORE_TABLES_DELETION_MARKS_H
#define RUNNEL_CORE_STORE_TABLES_DELETION_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * deletion_marks.h -- where deleted objects stood in their lists.
 *
 * Clients clean up by paging through a list and deleting what they see. Their next page begins after
 * an object that is gone. Its mark says where that was. A mark is made in the statement that deletes
 * the object. It is kept for DELETION_MARK_SECONDS.
 *
 * After that, the time in an id that this server made says about the same (id_time()). So marks are
 * for ids from elsewhere, and for lists that are not sorted by id. A list that is
 * sorted by ids of this server needs none.
 *
 * A list is named by the id of its thread, or by a word for a list of the whole project.
 */

#define DELETION_MARK_SECONDS 86400

/* Where the object was: what its list is sorted by. False: it has no mark. */
enum err_code deletion_mark_find(struct store *store, const struct tenant *tenant,
                                 const char *list, const char *id, bool *ret_found,
                                 int64_t *ret_place, struct err *err) MUST_CHECK;

/* For the keeper: forgets the marks that are old. */
enum err_code store_deletion_marks_forget(struct store *store, struct err *err) MUST_CHECK;

/* ---- For core/store ---- */

#define DELETION_MARKS_NOW "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

/* Marks the rows (id, place) of `gone`, in a statement whose project is $1. `list` is SQL. An id from
 * elsewhere may have been used before, so the later place counts. */
#define DELETION_MARKS_INSERT(list, gone)                                         \
    "INSERT INTO deletion_marks (project_id, list, id, place, deleted_at)"        \
    " SELECT $1, " list ", g.id, g.place, " DELETION_MARKS_NOW " FROM " gone " g" \
    " ON CONFLICT (project_id, list, id) DO UPDATE SET place = excluded.place,"   \
    " deleted_at = excluded.deleted_at"

#endif
