#ifndef RUNNEL_CORE_RUN_APPROVAL_GRANT_H
#define RUNNEL_CORE_RUN_APPROVAL_GRANT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/rows.h"

/*
 * grant.h -- turns an answer to an approval request into grants: what is remembered, and for
 * whom.
 *
 * A question carries a memory, a JSON object that says by what an answer to it can be
 * remembered:
 *
 *   tool      "group/tool", or "server label/tool"
 *   key       permission_key() of the tool and its arguments. Absent for a permission: its
 *             answer says nothing about other calls of the tool
 *   scopes    {"thread": id, "assistant": id, "user": name}, each if it exists. Outside
 *             conversations the thread is the id of the response that asks
 *   default   the scope of an answer without `remember`; absent: such an answer is not
 *             remembered
 *   type, patterns   of a permission: what match "pattern" remembers, which is the default
 *                    match there
 *
 * An answer may have `remember`: {"scope": "run" | "thread" | "assistant" | "user", "match":
 * "exact" | "tool" | "pattern", "ttl_s": seconds}, each member optional. It may have the older
 * `persistDecision` instead: true means {"match": "tool"}, false means that nothing is
 * remembered. A `remember` that cannot be honoured is an error. It is never dropped silently.
 *
 * Pure functions: any thread.
 */

/* Seconds: ten years. The longest `ttl_s`; without one a grant does not expire. */
#define GRANT_TTL_LIMIT 315360000

extern const char *const grant_scopes[]; /* end with NULL */
extern const char *const grant_matches[];

/* An answer to an approval request. Borrowed. */
struct grant_answer {
    const char *approval_id;
    const char *memory;     /* of the question, JSON; NULL: no answer to it is remembered */
    const char *definition; /* hash of the tool's definition at the time of the question */
    bool approve;           /* refusals are remembered, too */
    const char *reason;     /* or NULL */
    const char *run;        /* the run that continues with the answer; NULL: not created yet */
    bool forgets;           /* that run is not stored, so it must not create grants */
};

/* Checks the form of `remember` and `persistDecision` in `said`, an object or NULL. `path` is
 * the path of `said` in the request, or "", for the parameter that ERR_INVALID names. */
enum err_code grant_remember_check(const json_t *said, const char *path,
                                   struct err *err) MUST_CHECK;

/* True if `said` has one of these two keys. */
bool grant_is_requested(const json_t *said);

/* Appends the grants that the answer creates, often none. The caller frees the list.
 * ERR_INVALID when `said` requests a grant that cannot be made; then the list is unchanged. */
enum err_code grants_make(const json_t *said, const char *path,
                          const struct grant_answer *answer, struct grant_row **grants,
                          size_t *count, struct err *err) MUST_CHECK;

/* Whether the patterns among `grants` allow all patterns of another question, which has this
 * memory and definition. Both must belong to one run: grants for the run or its thread are not
 * compared by id. */
bool grants_cover(const struct grant_row *grants, size_t count, const char *memory,
                  const char *definition);

#endif
