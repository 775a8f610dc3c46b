#ifndef RUNNEL_CORE_STORE_TABLES_THREADS_DELETED_H
#define RUNNEL_CORE_STORE_TABLES_THREADS_DELETED_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * deleted.h -- what is gone for clients and kept for what was made from it.
 *
 * Items are stored once: a response reads those of its ancestors, and where the chain began in a
 * conversation, what lay there before. Deleting must not shorten what a descendant hears. So a
 * deletion takes away at once whatever can be asked for, and the items when nobody reads them.
 *
 * A response that was deleted leaves a row with deleted_at, which chains alone find. When purge_at
 * has come the keeper looks whether anything was made from it. If so, the row waits until the last
 * of its children goes, which sets purge_at anew; if not, it goes with its items. It is never
 * looked at in between, however many there are. The first look is not at once, because whoever is
 * continuing it at that moment has read the chain already and not stored his own row yet.
 *
 * An item that is taken out of a thread, alone or with the whole thread, notes where the thread
 * ended then (left_position): a response in it that begins before that has read the item, a later
 * one has not. Such items are kept while the thread has responses, and go with the last of them;
 * what runs of Assistants have made stays with them, for their steps.
 */

/* Forgets a response with its calls and its log. ERR_NOT_FOUND "Response with id 'X' not found." One
 * that is going on is cancelled by its owner when its next write finds no row. Whoever is continuing
 * it has `grace_us` to store what he makes of it. */
enum err_code store_response_delete(struct store *store, const struct tenant *tenant,
                                    const char *run_id, int64_t grace_us,
                                    struct err *err) MUST_CHECK;

/* For the keeper: removes what nobody needs any more, at most `limit` responses. *ret_count is how
 * many it looked at: fewer than `limit` when none is left. */
enum err_code store_responses_purge(struct store *store, size_t limit, int64_t grace_us,
                                    size_t *ret_count, struct err *err) MUST_CHECK;

/* ---- For core/store ---- */

/* Somebody may still want to read what leaves thread $2 of project $1. */
#define THREAD_HAS_RESPONSES                                                  \
    "EXISTS (SELECT FROM runs r WHERE r.project_id = $1 AND r.thread_id = $2" \
    " AND r.face = 'responses')"

#define THREAD_END \
    "(SELECT max(e.position) + 1 FROM items e WHERE e.project_id = $1 AND e.thread_id = $2)"

/* What a run of Assistants has made, whose steps go on naming it: items i. */
#define ITEM_OF_ASSISTANTS                                                         \
    "NOT i.input AND EXISTS (SELECT FROM runs o WHERE o.project_id = i.project_id" \
    " AND o.id = i.run_id AND o.face = 'assistants')"

/* Takes items i of the thread out of it, those that `matches` says, of which none has left; tells how
 * many that were. The thread is locked and no run of it active. What a message said that only steps
 * name is wiped. */
#define THREAD_TAKE_OUT(matches)                                                      \
    "WITH kept AS (UPDATE items i SET left_position = " THREAD_END                    \
    "  , body = CASE WHEN i.type = 'message' AND NOT " THREAD_HAS_RESPONSES           \
    "   THEN '{}' ELSE i.body END"                                                    \
    "  WHERE i.project_id = $1 AND i.thread_id = $2 AND " matches                     \
    "   AND (" THREAD_HAS_RESPONSES " OR " ITEM_OF_ASSISTANTS ") RETURNING i.id),"    \
    " gone AS (DELETE FROM items i"                                                   \
    "  WHERE i.project_id = $1 AND i.thread_id = $2 AND " matches                     \
    "   AND NOT (" THREAD_HAS_RESPONSES " OR " ITEM_OF_ASSISTANTS ") RETURNING i.id)" \
    " SELECT (SELECT count(*) FROM kept) + (SELECT count(*) FROM gone)"

#define THREAD_ITEM_DELETE(matches) THREAD_TAKE_OUT("i.id = $3 AND " matches)

#endif
