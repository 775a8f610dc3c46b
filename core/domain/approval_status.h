#ifndef RUNNEL_CORE_DOMAIN_APPROVAL_STATUS_H
#define RUNNEL_CORE_DOMAIN_APPROVAL_STATUS_H

#include <stdbool.h>

/*
 * approval_status.h -- the life of a question whether a tool may run.
 *
 *   pending --> approved | rejected | expired
 *
 * The first answer wins. The same answer again changes nothing; another one is a conflict. A
 * question expires with the run that waits for it, which is a refusal: nobody writes it down, it
 * follows from the run. This table is the only place that knows; the store moves a row only from
 * the status that it was read in, under its lock.
 *
 * A new status also needs: the CHECK in migrations, openapi.yaml, approval_status_name().
 */

enum approval_status {
    APPROVAL_STATUS_NONE,
    APPROVAL_PENDING,
    APPROVAL_APPROVED,
    APPROVAL_REJECTED,
    APPROVAL_EXPIRED,
    APPROVAL_STATUS_COUNT
};

/* What is asked. */
enum approval_kind {
    APPROVAL_OF_EXECUTION,  /* whether the call is made */
    APPROVAL_OF_RESULT,     /* whether the model is told what it gave */
    APPROVAL_OF_PERMISSION, /* whether it is made, and may do what its tool has planned */
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

/* APPROVAL_STATUS_NONE when the event cannot happen in that status: a contradiction. */
enum approval_status approval_status_next(enum approval_status status,
                                          enum approval_event event);

/* The public words. parse: APPROVAL_STATUS_NONE for what is not one. */
const char *approval_status_name(enum approval_status status);
enum approval_status approval_status_parse(const char *name);

#endif
