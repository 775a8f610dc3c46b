#include "core/domain/approval_status.h"

#include <string.h>

/* clang-format off */

/* What is not listed is APPROVAL_STATUS_NONE: it cannot happen. */
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

/* We have written it. */
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
