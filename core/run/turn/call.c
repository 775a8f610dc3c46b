/*
 * What can be said of a call from its status and its facts.
 *
 * The status says what has happened to a call, not whose it is or what to do next. The questions that the
 * stages have are functions here, so that each has one answer. What a status allows is in the table of
 * domain/call_status.c.
 */

#include "core/run/turn/call.h"

#include <assert.h>

void call_move(struct call *call, enum call_event event)
{
    enum call_status next = call_status_next(call->status, event);

    assert(next != CALL_STATUS_NONE);
    call->status = next;
}

bool call_is_due(const struct call *call)
{
    bool program = call->use && call->use->handler->flags & TOOL_PROGRAM;

    return call_status_is_due(call->status) && !program;
}

bool call_is_clients(const struct call *call)
{
    return call_status_is_clients(call->status);
}

bool call_has_failed(const struct call *call)
{
    return call->status == CALL_FAILED || call->status == CALL_REJECTED;
}

/* Its status stays what the tool's was: the call did run, and the client may see how it ended. */
bool call_result_is_rejected(const struct call *call)
{
    return call->reason && (call->status == CALL_SUCCEEDED || call->status == CALL_FAILED);
}

/* A call of an unknown tool only has an error as its output. */
bool call_may_repeat(const struct call *call)
{
    return !call->use || call->use->handler->flags & TOOL_IDEMPOTENT;
}
