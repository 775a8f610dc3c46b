#include "core/domain/status/upload_status.h"

#include <string.h>

/* clang-format off */

/* A pair that is not listed is UPLOAD_STATUS_NONE: a contradiction. */
static const enum upload_status next_status[UPLOAD_STATUS_COUNT][UPLOAD_EV_COUNT] = {
    [UPLOAD_PENDING] = {
        [UPLOAD_EV_PART]     = UPLOAD_PENDING,
        [UPLOAD_EV_COMPLETE] = UPLOAD_COMPLETED,
        [UPLOAD_EV_CANCEL]   = UPLOAD_CANCELLED,
        [UPLOAD_EV_EXPIRE]   = UPLOAD_EXPIRED,
    },
    [UPLOAD_COMPLETED] = {
        [UPLOAD_EV_COMPLETE] = UPLOAD_COMPLETED,
    },
    [UPLOAD_CANCELLED] = {
        [UPLOAD_EV_CANCEL]   = UPLOAD_CANCELLED,
    },
    [UPLOAD_EXPIRED] = {
        [UPLOAD_EV_EXPIRE]   = UPLOAD_EXPIRED,
    },
};

static const char *const names[UPLOAD_STATUS_COUNT] = {
    [UPLOAD_STATUS_NONE] = "none",
    [UPLOAD_PENDING]     = "pending",
    [UPLOAD_COMPLETED]   = "completed",
    [UPLOAD_CANCELLED]   = "cancelled",
    [UPLOAD_EXPIRED]     = "expired",
};

/* clang-format on */

enum upload_status upload_status_next(enum upload_status status, enum upload_event event)
{
    return next_status[status][event];
}

const char *upload_status_name(enum upload_status status)
{
    return names[status];
}

enum upload_status upload_status_parse(const char *name)
{
    for (enum upload_status status = UPLOAD_PENDING; status < UPLOAD_STATUS_COUNT; status++) {
        if (strcmp(name, names[status]) == 0)
            return status;
    }
    return UPLOAD_STATUS_NONE;
}
