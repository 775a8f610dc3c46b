#ifndef RUNNEL_CORE_DOMAIN_CALL_STATUS_H
#define RUNNEL_CORE_DOMAIN_CALL_STATUS_H

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
 *        +--> refused --> rejected            nobody executes it, and its output says why
 *        +--> limited --> skipped
 *
 *   The client executes it:
 *
 *     open --> answered
 *
 * This table is the only place that knows. A run names an event and asks call_status_next(); only
 * call_move() in core/run/calls/call.c assigns a status. A call that is refused or limited is not
 * over yet: its output still comes through the channel, in the order of the floor.
 *
 * The store knows less (enum call_state): whether a call waits, may have begun, or is done. After a
 * crash core/run/calls/restore.c replays the events that lead to where the row says it was.
 */

enum call_status {
    CALL_STATUS_NONE,
    CALL_PROPOSED, /* the model asks for it; the server executes it unless somebody must approve */
    CALL_ASKED,    /* set aside until its approval is answered */
    CALL_APPROVED,  /* by a person, as it is */
    CALL_REFUSED,   /* by a person, or because nobody can be asked */
    CALL_LIMITED,   /* a limit of the chain stops it */
    CALL_ADMITTED,  /* counted by the chain; its tool does not have it yet */
    CALL_EXECUTING, /* its tool has it */
    CALL_SUCCEEDED,
    CALL_FAILED,
    CALL_REJECTED, /* refused, and the model has its output */
    CALL_SKIPPED,  /* limited, and the model has its output */
    CALL_OPEN,     /* the client executes it */
    CALL_ANSWERED, /* the client has */
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
    CALL_EV_TAKE_BACK, /* the client cannot execute it: its arguments make no sense */
    CALL_EV_ANSWER,
    CALL_EV_COUNT
};

/* CALL_STATUS_NONE when the event cannot happen in that status. */
enum call_status call_status_next(enum call_status status, enum call_event event);

/* Its output is known, and nothing changes it any more. */
bool call_status_is_final(enum call_status status);

/* The server has to bring it to its end, and nothing keeps it from that. */
bool call_status_is_due(enum call_status status);

/* The client executes it, or has executed it. */
bool call_status_is_clients(enum call_status status);

/* For logs. */
const char *call_status_name(enum call_status status);

#endif
