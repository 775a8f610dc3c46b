#ifndef RUNNEL_CORE_RUN_APPROVAL_APPROVAL_ANSWER_H
#define RUNNEL_CORE_RUN_APPROVAL_APPROVAL_ANSWER_H

#include <jansson.h>
#include <stdbool.h>

/*
 * approval_answer.h -- what a client says to a question, as the output of a function.
 *
 * {"approve": true, "reason": "...", "remember": {...}}, or true, false, approve, reject as they are;
 * grant.h says what may be remembered. Anything else, with another key beside these too, is a
 * refusal: never an approval.
 */

#define APPROVAL_REASON_LIMIT ((size_t)4096) /* characters */

struct approval_reply {
    bool approve;
    bool unreadable; /* a refusal that nobody has meant: it is not remembered */
    char *reason;    /* owned; NULL for none */
    json_t *said;    /* owned: the object; or NULL */
};

/* Pure. */
struct approval_reply approval_reply_parse(const char *text);
void approval_reply_clear(struct approval_reply *reply);

#endif
