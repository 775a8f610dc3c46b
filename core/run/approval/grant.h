#ifndef RUNNEL_CORE_RUN_APPROVAL_GRANT_H
#define RUNNEL_CORE_RUN_APPROVAL_GRANT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/rows.h"

/*
 * grant.h -- what of an answer is remembered, and for whom.
 *
 * A question carries a memory: what an answer to it may be remembered by.
 *
 *   tool      "group/tool", or "server label/tool"
 *   key       permission_key() of the tool and its arguments; not of a permission, whose answer says
 *             nothing of other calls of the tool
 *   scopes    {"thread": id, "assistant": id, "user": name}: those that there are. Outside
 *             conversations the thread is the response that asks
 *   default   the scope of an answer that says nothing; absent: then nothing is remembered
 *   type, patterns   of a permission: what match "pattern" remembers. There it is the match of an answer
 *             that names none
 *
 * An answer may say `remember`: {"scope": "run" | "thread" | "assistant" | "user", "match": "exact" |
 * "tool" | "pattern", "ttl_s": seconds}, all of them optional, or in older words `persistDecision`: true
 * for {"match": "tool"}, false for nothing. What cannot be honoured is an error and never passed over.
 *
 * Pure functions.
 */

/* Longest life that a grant can be given: ten years. */
#define GRANT_TTL_LIMIT 315360000

extern const char *const grant_scopes[]; /* end with NULL */
extern const char *const grant_matches[];

/* Who has answered what. Borrowed. */
struct grant_answer {
    const char *approval_id;
    const char *memory;     /* of the question, or NULL: nothing may be remembered of it */
    const char *definition; /* of the tool, when it was asked */
    bool approve;
    const char *reason;
    const char *run; /* that goes on with it; NULL while there is none */
    bool forgets;    /* nothing is remembered of that run: it is not stored */
};

/* Whether `remember` and `persistDecision` of `said`, an object or NULL, are words of ours. `path` is
 * where `said` stands, or "". */
enum err_code grant_remember_check(const json_t *said, const char *path,
                                   struct err *err) MUST_CHECK;

/* Whether it has a word of these. */
bool grant_is_requested(const json_t *said);

/* Appends what is to be remembered. ERR_INVALID for what cannot be, with everything as it was. */
enum err_code grants_make(const json_t *said, const char *path,
                          const struct grant_answer *answer, struct grant_row **grants,
                          size_t *count, struct err *err) MUST_CHECK;

/* Whether the patterns among `grants`, which were made for one run, allow all that a question asks for
 * that waits for the same run; it has that memory and definition. */
bool grants_cover(const struct grant_row *grants, size_t count, const char *memory,
                  const char *definition);

#endif
