#include "core/domain/status/container_status.h"

#include <string.h>

/* clang-format off */

/* A pair that is not listed is CONTAINER_STATUS_NONE: a contradiction. */
static const enum container_status
    next_status[CONTAINER_STATUS_COUNT][CONTAINER_EV_COUNT] = {
    [CONTAINER_RUNNING] = {
        [CONTAINER_EV_USE]    = CONTAINER_RUNNING,
        [CONTAINER_EV_EXPIRE] = CONTAINER_EXPIRED,
        [CONTAINER_EV_DELETE] = CONTAINER_DELETED,
    },
    [CONTAINER_EXPIRED] = {
        [CONTAINER_EV_EXPIRE] = CONTAINER_EXPIRED,
        [CONTAINER_EV_DELETE] = CONTAINER_DELETED,
    },
    [CONTAINER_DELETED] = {
        [CONTAINER_EV_DELETE] = CONTAINER_DELETED,
    },
};

static const char *const names[CONTAINER_STATUS_COUNT] = {
    [CONTAINER_STATUS_NONE] = "none",
    [CONTAINER_RUNNING]     = "running",
    [CONTAINER_EXPIRED]     = "expired",
    [CONTAINER_DELETED]     = "deleted",
};

/* clang-format on */

enum container_status container_status_next(enum container_status status,
                                            enum container_event event)
{
    return next_status[status][event];
}

const char *container_status_name(enum container_status status)
{
    return names[status];
}

enum container_status container_status_parse(const char *name)
{
    for (enum container_status status = CONTAINER_RUNNING; status < CONTAINER_STATUS_COUNT;
         status++) {
        if (strcmp(name, names[status]) == 0)
            return status;
    }
    return CONTAINER_STATUS_NONE;
}
