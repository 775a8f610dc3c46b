/*
 * run_status.c -- a table (status x event -> status), and the names.
 *
 * Everything that may happen to a run is an event, and the table says where it leads. Assigning a status
 * where something happens would leave no place that knows what may follow what.
 *
 * Cancelling is a status of its own because work has to stop first: a model's answer is on its way, tools
 * run. Work that ends before it notices the cancellation has ended normally.
 *
 * TAKE_BACK is the one way out of a final status. It undoes an end that was never committed, so no other
 * node and no client knows of it. Only the owner may use it.
 */

#include "core/domain/status/run_status.h"

#include <string.h>

/* clang-format off */

/* A pair that is not listed is RUN_STATUS_NONE: it cannot happen. */
static const enum run_status next_status[RUN_STATUS_COUNT][RUN_EV_COUNT] = {
    [RUN_QUEUED] = {
        [RUN_EV_START]    = RUN_IN_PROGRESS,
        [RUN_EV_FAIL]     = RUN_FAILED,
        [RUN_EV_CANCEL]   = RUN_CANCELLING,
        [RUN_EV_EXPIRE]   = RUN_EXPIRED,
    },
    [RUN_IN_PROGRESS] = {
        [RUN_EV_ASK]      = RUN_REQUIRES_ACTION,
        [RUN_EV_FINISH]   = RUN_COMPLETED,
        [RUN_EV_TRUNCATE] = RUN_INCOMPLETE,
        [RUN_EV_FAIL]     = RUN_FAILED,
        [RUN_EV_CANCEL]   = RUN_CANCELLING,
        [RUN_EV_EXPIRE]   = RUN_EXPIRED,
    },
    [RUN_REQUIRES_ACTION] = {
        [RUN_EV_SUBMIT]   = RUN_QUEUED,
        [RUN_EV_TAKE_BACK] = RUN_IN_PROGRESS,
        [RUN_EV_FAIL]     = RUN_FAILED,
        [RUN_EV_CANCEL]   = RUN_CANCELLING,
        [RUN_EV_EXPIRE]   = RUN_EXPIRED,
    },
    /* A run that ends before it notices the cancellation has ended normally. */
    [RUN_CANCELLING] = {
        [RUN_EV_STOPPED]  = RUN_CANCELLED,
        [RUN_EV_FINISH]   = RUN_COMPLETED,
        [RUN_EV_TRUNCATE] = RUN_INCOMPLETE,
        [RUN_EV_FAIL]     = RUN_FAILED,
        [RUN_EV_EXPIRE]   = RUN_EXPIRED,
    },
    /* Only by the owner, and only before the status was stored. A status that others have seen is final. */
    [RUN_COMPLETED]  = {[RUN_EV_TAKE_BACK] = RUN_IN_PROGRESS},
    [RUN_INCOMPLETE] = {[RUN_EV_TAKE_BACK] = RUN_IN_PROGRESS},
    [RUN_FAILED]     = {[RUN_EV_TAKE_BACK] = RUN_IN_PROGRESS},
    [RUN_EXPIRED]    = {[RUN_EV_TAKE_BACK] = RUN_IN_PROGRESS},
};

static const char *const names[RUN_STATUS_COUNT] = {
    [RUN_STATUS_NONE]     = "none",
    [RUN_QUEUED]          = "queued",
    [RUN_IN_PROGRESS]     = "in_progress",
    [RUN_REQUIRES_ACTION] = "requires_action",
    [RUN_CANCELLING]      = "cancelling",
    [RUN_CANCELLED]       = "cancelled",
    [RUN_COMPLETED]       = "completed",
    [RUN_INCOMPLETE]      = "incomplete",
    [RUN_FAILED]          = "failed",
    [RUN_EXPIRED]         = "expired",
};

/* clang-format on */

enum run_status run_status_next(enum run_status status, enum run_status_event event)
{
    return next_status[status][event];
}

bool run_status_is_final(enum run_status status)
{
    return status >= RUN_CANCELLED;
}

const char *run_status_name(enum run_status status)
{
    return names[status];
}

enum run_status run_status_parse(const char *name)
{
    for_each_status (status) {
        if (strcmp(name, names[status]) == 0)
            return status;
    }
    return RUN_STATUS_NONE;
}
