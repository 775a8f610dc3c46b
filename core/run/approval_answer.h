#ifndef RUNNEL_CORE_RUN_APPROVAL_ANSWER_H
#define RUNNEL_CORE_RUN_APPROVAL_ANSWER_H

#include <stdbool.h>

/*
 * approval_answer.h -- what a client says to a question, as the output of a function.
 *
 * {"approve": true, "reason": "..."}, or true, false, approve, reject as they are. Anything else is
 * a refusal: never an approval.
 */

struct approval_reply {
    bool approve;
    char *reason; /* owned; NULL for none */
};

/* Pure. The caller frees the reason. */
struct approval_reply approval_reply_parse(const char *text);

#endif
