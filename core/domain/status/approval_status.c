/*
 * approval_status.c -- the table of transitions, and the names of statuses and kinds.
 *
 * An answer that was given already leads back to the same status. A client that got no reply sends its
 * answer again, and gets the same reply as the first time. The opposite answer is not listed, so the store
 * reports a conflict.
 *
 * An expired question accepts a rejection and stays expired, because the call is not executed either way.
 * It does not accept an approval: the run that asked has ended.
 */

#include "core/domain/status/approval_status.h"

#include <string.h>

/* clang-format off */

/* A pair that is not listed is APPROVAL_STATUS_NONE: a contradiction. */
static const enum approval_status next_status[APPROVAL_STATUS_COUNT][APPROVAL_EV_COUNT] = {
    [APPROVAL_PENDING] = {
        [APPROVAL_EV_APPROVE] = APPROVAL_APPROVED,
        [APPROVAL_EV_REJECT]  = APPROVAL_REJECTED,
        [APPROVAL_EV_EXPIRE]  = APPROVAL_EXPIRED,
    },
    [APPROVAL_APPROVED] = {
        [APPROVAL_EV_APPROVE] = APPROVAL_APPROVED,
        [APPROVAL_EV_EXPIRE]  = APPROVAL_APPROVED,
    },
    [APPROVAL_REJECTED] = {
        [APPROVAL_EV_REJECT]  = APPROVAL_REJECTED,
        [APPROVAL_EV_EXPIRE]  = APPROVAL_REJECTED,
    },
    [APPROVAL_EXPIRED] = {
        [APPROVAL_EV_REJECT]  = APPROVAL_EXPIRED,
        [APPROVAL_EV_EXPIRE]  = APPROVAL_EXPIRED,
    },
};

static const char *const names[APPROVAL_STATUS_COUNT] = {
    [APPROVAL_STATUS_NONE] = "none",
    [APPROVAL_PENDING]     = "pending",
    [APPROVAL_APPROVED]    = "approved",
    [APPROVAL_REJECTED]    = "rejected",
    [APPROVAL_EXPIRED]     = "expired",
};

static const char *const kind_names[APPROVAL_KIND_COUNT] = {
    [APPROVAL_OF_EXECUTION] = "execution",
    [APPROVAL_OF_RESULT]    = "result",
    [APPROVAL_OF_PERMISSION] = "permission",
};

/* clang-format on */

const char *approval_kind_name(enum approval_kind kind)
{
    return kind_names[kind];
}

/* Names come from rows of this server; the last kind stands for an unknown one. */
enum approval_kind approval_kind_parse(const char *name)
{
    enum approval_kind kind = APPROVAL_OF_EXECUTION;

    while (kind + 1 < APPROVAL_KIND_COUNT && strcmp(name, kind_names[kind]) != 0)
        kind++;
    return kind;
}

enum approval_status approval_status_next(enum approval_status status,
                                          enum approval_event event)
{
    return next_status[status][event];
}

const char *approval_status_name(enum approval_status status)
{
    return names[status];
}

enum approval_status approval_status_parse(const char *name)
{
    for (enum approval_status status = APPROVAL_PENDING; status < APPROVAL_STATUS_COUNT;
         status++) {
        if (strcmp(name, names[status]) == 0)
            return status;
    }
    return APPROVAL_STATUS_NONE;
}
