#ifndef RUNNEL_CORE_DOMAIN_STATUS_CALL_STATUS_H
#define RUNNEL_CORE_DOMAIN_STATUS_CALL_STATUS_H

#include <stdbool.h>

/*
 * call_status.h -- the life of a tool call within one turn of a run.
 *
 *   The server executes it:
 *
 *     proposed --> admitted --> executing --> succeeded | failed
 *        |  ^          \__________________________^
 *        |  |
 *        +--> asked --> approved --> admitted ...
 *        |      |
 *        |      v
 *        +--> refused --> rejected            not executed; its output says why
 *        +--> limited --> skipped
 *
 *   The client executes it:
 *
 *     open --> answered
 *
 * This table is the only place that knows the transitions. A run names an event; call_status_next() says
 * where it leads; only call_move() in core/run/turn/call.c assigns a status. A call that is refused or
 * limited is not over yet: its output still comes through the channel, in the order of the floor.
 *
 * The store keeps less (enum call_state): whether a call waits, may have begun, or is done. After a crash
 * core/run/calls/restore.c replays the events that lead to the state of the row.
 *
 * Pure functions: any thread.
 */

enum call_status {
    CALL_STATUS_NONE,
    CALL_PROPOSED,  /* the model has written it; no stage has decided about it */
    CALL_ASKED,     /* waits until its approval is answered */
    CALL_APPROVED,  /* by a person, or by a grant */
    CALL_REFUSED,   /* by a person, or because this run cannot ask one */
    CALL_LIMITED,   /* a limit of the chain stops it */
    CALL_ADMITTED,  /* counted by the chain; not yet handed to its tool */
    CALL_EXECUTING, /* handed to its tool */
    CALL_SUCCEEDED,
    CALL_FAILED,
    CALL_REJECTED, /* refused, and the model has its output */
    CALL_SKIPPED,  /* limited, and the model has its output */
    CALL_OPEN,     /* handed to the client */
    CALL_ANSWERED, /* the client has sent its output */
    CALL_STATUS_COUNT
};

enum call_event {
    CALL_EV_ASK,
    CALL_EV_APPROVE,
    CALL_EV_REFUSE,
    CALL_EV_LIMIT,
    CALL_EV_ADMIT,
    CALL_EV_EXECUTE,
    CALL_EV_SUCCEED,
    CALL_EV_FAIL,      /* its output is an error, whatever the reason */
    CALL_EV_HAND_OVER, /* to the client */
    CALL_EV_TAKE_BACK, /* from the client: its arguments are invalid */
    CALL_EV_ANSWER,
    CALL_EV_COUNT
};

/* CALL_STATUS_NONE when the event cannot happen in that status. */
enum call_status call_status_next(enum call_status status, enum call_event event);

/* Its output is known and does not change any more. */
bool call_status_is_final(enum call_status status);

/* The server has to finish it, and it waits for neither a person nor the client. */
bool call_status_is_due(enum call_status status);

/* The client executes it, or has executed it. */
bool call_status_is_clients(enum call_status status);

/* For logs. */
const char *call_status_name(enum call_status status);

#endif
