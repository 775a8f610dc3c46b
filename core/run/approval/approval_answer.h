#ifndef RUNNEL_CORE_RUN_APPROVAL_APPROVAL_ANSWER_H
#define RUNNEL_CORE_RUN_APPROVAL_APPROVAL_ANSWER_H

#include <jansson.h>
#include <stdbool.h>

/*
 * approval_answer.h -- reads a client's answer to an approval request: the output of the
 * reserved function runnel_approval.
 *
 * An answer is an object, {"approve": true, "reason": "...", "remember": {...}}, or one of the
 * bare words true, false, approve and reject. `reason`, `remember` and the older
 * `persistDecision` are optional; grant.h describes the last two. Anything else refuses: an
 * answer that cannot be read never approves.
 *
 * Pure functions: any thread.
 */

/* Characters. A longer reason makes the answer unreadable. */
#define APPROVAL_REASON_LIMIT ((size_t)4096)

struct approval_reply {
    bool approve;
    bool unreadable; /* a refusal because of the form of the answer: it is not remembered */
    char *reason;    /* owned; NULL: the answer gave none */
    json_t *said;    /* owned: the whole object, for grants_make(); NULL for a bare word */
};

/* `text` is what the client sent. The caller clears the result. */
struct approval_reply approval_reply_parse(const char *text);
void approval_reply_clear(struct approval_reply *reply);

#endif
