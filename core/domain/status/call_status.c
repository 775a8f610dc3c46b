/*
 * call_status.c -- a table (status x event -> status), and the facts of each status.
 *
 * Flags on a call would be simpler to add to, and were there before: twenty-one of them, of which most
 * combinations meant nothing. One status with a table makes an impossible step visible where it is made,
 * because call_move() asserts that the table has it.
 *
 * Flags remain for facts that never change, such as "final" or "hidden".
 */

#include "core/domain/status/call_status.h"

/* clang-format off */

/* A pair that is not listed is CALL_STATUS_NONE: it cannot happen. A status without a row is final. */
static const enum call_status next_status[CALL_STATUS_COUNT][CALL_EV_COUNT] = {
    [CALL_PROPOSED] = {
        [CALL_EV_ASK]       = CALL_ASKED,
        [CALL_EV_APPROVE]   = CALL_APPROVED,  /* the answer came with the request */
        [CALL_EV_REFUSE]    = CALL_REFUSED,
        [CALL_EV_LIMIT]     = CALL_LIMITED,
        [CALL_EV_ADMIT]     = CALL_ADMITTED,
        [CALL_EV_FAIL]      = CALL_FAILED,    /* its plan failed, or it may have run before a crash */
        [CALL_EV_HAND_OVER] = CALL_OPEN,
    },
    [CALL_ASKED] = {
        [CALL_EV_APPROVE]   = CALL_APPROVED,
        [CALL_EV_REFUSE]    = CALL_REFUSED,
    },
    [CALL_APPROVED] = {
        [CALL_EV_LIMIT]     = CALL_LIMITED,
        [CALL_EV_ADMIT]     = CALL_ADMITTED,
        [CALL_EV_FAIL]      = CALL_FAILED,
    },
    [CALL_REFUSED] = {
        [CALL_EV_FAIL]      = CALL_REJECTED,
    },
    [CALL_LIMITED] = {
        [CALL_EV_FAIL]      = CALL_SKIPPED,
    },
    [CALL_ADMITTED] = {
        [CALL_EV_EXECUTE]   = CALL_EXECUTING,
        [CALL_EV_FAIL]      = CALL_FAILED,    /* its arguments are wrong, or it may have run before */
    },
    [CALL_EXECUTING] = {
        [CALL_EV_SUCCEED]   = CALL_SUCCEEDED,
        [CALL_EV_FAIL]      = CALL_FAILED,
    },
    [CALL_OPEN] = {
        [CALL_EV_TAKE_BACK] = CALL_PROPOSED,
        [CALL_EV_ANSWER]    = CALL_ANSWERED,
    },
};

static const struct {
    const char *name;
    bool is_final, is_due, is_clients;
} facts[CALL_STATUS_COUNT] = {
    [CALL_STATUS_NONE] = {"none",      false, false, false},
    [CALL_PROPOSED]    = {"proposed",  false, true,  false},
    [CALL_ASKED]       = {"asked",     false, false, false},
    [CALL_APPROVED]    = {"approved",  false, true,  false},
    [CALL_REFUSED]     = {"refused",   false, true,  false},
    [CALL_LIMITED]     = {"limited",   false, true,  false},
    [CALL_ADMITTED]    = {"admitted",  false, true,  false},
    [CALL_EXECUTING]   = {"executing", false, true,  false},
    [CALL_SUCCEEDED]   = {"succeeded", true,  false, false},
    [CALL_FAILED]      = {"failed",    true,  false, false},
    [CALL_REJECTED]    = {"rejected",  true,  false, false},
    [CALL_SKIPPED]     = {"skipped",   true,  false, false},
    [CALL_OPEN]        = {"open",      false, false, true},
    [CALL_ANSWERED]    = {"answered",  true,  false, true},
};

/* clang-format on */

enum call_status call_status_next(enum call_status status, enum call_event event)
{
    return next_status[status][event];
}

bool call_status_is_final(enum call_status status)
{
    return facts[status].is_final;
}

bool call_status_is_due(enum call_status status)
{
    return facts[status].is_due;
}

bool call_status_is_clients(enum call_status status)
{
    return facts[status].is_clients;
}

const char *call_status_name(enum call_status status)
{
    return facts[status].name;
}
