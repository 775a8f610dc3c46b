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
    return call_status_is_due(call->status);
}

bool call_is_clients(const struct call *call)
{
    return call_status_is_clients(call->status);
}

bool call_has_failed(const struct call *call)
{
    return call->status == CALL_FAILED || call->status == CALL_REJECTED;
}

bool call_result_is_rejected(const struct call *call)
{
    return call->reason && (call->status == CALL_SUCCEEDED || call->status == CALL_FAILED);
}

bool call_may_repeat(const struct call *call)
{
    return !call->use || call->use->handler->flags & TOOL_IDEMPOTENT;
}
