#ifndef RUNNEL_CORE_STORE_TABLES_THREADS_DELETED_H
#define RUNNEL_CORE_STORE_TABLES_THREADS_DELETED_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"
#include "core/store/tables/deletion_marks.h"
#include "core/store/tables/files/picture_sql.h"

/*
 * deleted.h -- objects that are deleted for clients, and kept for responses that were made from
 * them.
 *
 * Items are stored once. A response reads those of its ancestors and, if the chain began in a
 * conversation, those that were there before. A deletion must not shorten the context of a
 * descendant. So it deletes at once everything that a client can request, and the items when no
 * response reads them.
 *
 * A deleted response leaves a row with deleted_at, which only chains find. At purge_at the
 * keeper checks whether another response continues it. If not, the row is purged with its
 * items. If so, it waits until its last child is purged, which sets purge_at again. It is never
 * checked in between, however many such rows there are. The first check is not immediate: a
 * request may have read the chain already, and not stored its own row yet.
 *
 * An item that is removed from a thread, alone or with the whole thread, notes where the thread
 * ended then (left_position). A response of the thread that begins before that has read the
 * item, a later one has not. Such items are kept while the thread has responses, and are purged
 * with the last of them. Items that runs of Assistants have made are kept for their steps.
 */

/* Deletes a response with its calls and its log. ERR_NOT_FOUND "Response with id 'X' not
 * found." If it has not ended, its owner and its followers are woken (WAKEUP_DELETED). A request
 * that continues it has `grace_us` to store its own response. */
enum err_code store_response_delete(struct store *store, const struct tenant *tenant,
                                    const char *run_id, int64_t grace_us,
                                    struct err *err) MUST_CHECK;

/* For the keeper: purges at most `limit` responses that no other needs. *ret_count is how many
 * it checked: fewer than `limit` when none is left. */
enum err_code store_responses_purge(struct store *store, size_t limit, int64_t grace_us,
                                    size_t *ret_count, struct err *err) MUST_CHECK;

/* ---- For core/store ---- */

/* A response may still read items that leave thread $2 of project $1. */
#define THREAD_HAS_RESPONSES                                                  \
    "EXISTS (SELECT FROM runs r WHERE r.project_id = $1 AND r.thread_id = $2" \
    " AND r.face = 'responses')"

#define THREAD_END \
    "(SELECT max(e.position) + 1 FROM items e WHERE e.project_id = $1 AND e.thread_id = $2)"

/* Items i that a run of Assistants has made, whose steps still name them. */
#define ITEM_OF_ASSISTANTS                                                         \
    "NOT i.input AND EXISTS (SELECT FROM runs o WHERE o.project_id = i.project_id" \
    " AND o.id = i.run_id AND o.face = 'assistants')"

/* Removes those items i of the thread for which `matches` holds, and that are still in it.
 * Returns their number. The thread is locked and no run of it is active. The text of a message
 * that only steps name is erased. */
#define THREAD_TAKE_OUT(matches) THREAD_TAKE_OUT_AND(matches, "")

/* With another statement behind it, which finds (id, place) of the items in `kept` and `gone`. */
#define THREAD_TAKE_OUT_AND(matches, more)                                  \
    "WITH kept AS (UPDATE items i SET left_position = " THREAD_END          \
    "  , body = CASE WHEN i.type = 'message' AND NOT " THREAD_HAS_RESPONSES \
    "   THEN '{}' ELSE i.body END"                                          \
    "  WHERE i.project_id = $1 AND i.thread_id = $2 AND " matches           \
    "   AND (" THREAD_HAS_RESPONSES " OR " ITEM_OF_ASSISTANTS               \
    ") RETURNING i.id, i.position AS place),"                               \
    " gone AS (DELETE FROM items i"                                         \
    "  WHERE i.project_id = $1 AND i.thread_id = $2 AND " matches           \
    "   AND NOT (" THREAD_HAS_RESPONSES " OR " ITEM_OF_ASSISTANTS           \
    ") RETURNING i.id, i.type, i.position AS place),"                       \
    " pictured AS (" PICTURES_LET_GO(                                       \
        "gone") ")" more " SELECT (SELECT count(*) FROM kept) + (SELECT count(*) FROM gone)"

/* Item $3 alone. A client that pages through the thread may name it as a cursor. */
#define THREAD_ITEM_DELETE(matches)            \
    THREAD_TAKE_OUT_AND(                       \
        "i.id = $3 AND " matches,              \
        ", marked AS (" DELETION_MARKS_INSERT( \
            "$2", "(SELECT * FROM kept UNION ALL SELECT id, place FROM gone)") ")")

#endif
