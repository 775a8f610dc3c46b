#ifndef RUNNEL_CORE_DOMAIN_STATUS_APPROVAL_STATUS_H
#define RUNNEL_CORE_DOMAIN_STATUS_APPROVAL_STATUS_H

#include <stdbool.h>

/*
 * approval_status.h -- the life of an approval: a question to a person about one call or one result.
 *
 *   pending --> approved | rejected | expired
 *
 * The first answer wins. The same answer again changes nothing; a different one is a conflict. A question
 * expires with the run that waits for it, and counts as refused. Expiry is not written to the row; it
 * follows from the status of the run. This table is the only place that knows the transitions. The store
 * moves a row only from the status in which it was read, while the row is locked.
 *
 * A new status also needs: the CHECK in migrations, openapi.yaml, and a name in approval_status.c.
 *
 * Pure functions: any thread.
 */

enum approval_status {
    APPROVAL_STATUS_NONE,
    APPROVAL_PENDING,
    APPROVAL_APPROVED,
    APPROVAL_REJECTED,
    APPROVAL_EXPIRED,
    APPROVAL_STATUS_COUNT
};

/* What the question is about. */
enum approval_kind {
    APPROVAL_OF_EXECUTION,  /* may the call be executed? */
    APPROVAL_OF_RESULT,     /* may the model see the result? */
    APPROVAL_OF_PERMISSION, /* may the call be executed, and do what its tool has planned? */
    APPROVAL_KIND_COUNT
};
const char *approval_kind_name(enum approval_kind kind);
enum approval_kind approval_kind_parse(const char *name);

enum approval_event {
    APPROVAL_EV_APPROVE,
    APPROVAL_EV_REJECT,
    APPROVAL_EV_EXPIRE, /* its run has ended */
    APPROVAL_EV_COUNT
};

/* APPROVAL_STATUS_NONE when the event contradicts the status: the answer was already a different one. */
enum approval_status approval_status_next(enum approval_status status,
                                          enum approval_event event);

/* The names in the API. parse: APPROVAL_STATUS_NONE for an unknown name. */
const char *approval_status_name(enum approval_status status);
enum approval_status approval_status_parse(const char *name);

#endif
