#ifndef RUNNEL_CORE_DOMAIN_STATUS_RUN_STATUS_H
#define RUNNEL_CORE_DOMAIN_STATUS_RUN_STATUS_H

#include <stdbool.h>

/*
 * run_status.h -- the life of a run.
 *
 *   queued --> in_progress --> completed | incomplete | failed
 *     ^             |
 *     |             v
 *     +----- requires_action        any of the three may also expire, or be cancelled by way
 *                                   of cancelling, because work must first stop.
 *
 * This table is the only place that knows the transitions. All other code names an event and calls
 * run_status_next(). The store moves the row only from a status that allows it, so of two threads or two
 * nodes only one can win.
 *
 * Both faces use it. Only Assistants runs have requires_action and expired; a response that takes too long
 * has failed.
 *
 * A new status also needs: the CHECK in migrations, openapi.yaml, and a name in run_status.c.
 *
 * Pure functions: any thread.
 */

enum run_status {
    RUN_STATUS_NONE,
    RUN_QUEUED,
    RUN_IN_PROGRESS,
    RUN_REQUIRES_ACTION,
    RUN_CANCELLING,
    RUN_CANCELLED,
    RUN_COMPLETED,
    RUN_INCOMPLETE,
    RUN_FAILED,
    RUN_EXPIRED,
    RUN_STATUS_COUNT
};

enum run_status_event {
    RUN_EV_START,    /* a loop begins to work on it */
    RUN_EV_ASK,      /* the client has to execute calls, or to answer approvals */
    RUN_EV_SUBMIT,   /* the client has sent outputs or answers */
    RUN_EV_FINISH,   /* the model has given its answer */
    RUN_EV_TRUNCATE, /* a token limit or a content filter ended it early */
    RUN_EV_FAIL,
    RUN_EV_CANCEL,  /* a client has requested that it stops */
    RUN_EV_STOPPED, /* its work has stopped after that */
    RUN_EV_EXPIRE,
    RUN_EV_TAKE_BACK, /* its end or pause could not be stored, and no client has seen it: it is undone */
    RUN_EV_COUNT
};

/* RUN_STATUS_NONE when the event cannot happen in that status. */
enum run_status run_status_next(enum run_status status, enum run_status_event event);

bool run_status_is_final(enum run_status status);

/* The names in the API. parse: RUN_STATUS_NONE for an unknown name. */
const char *run_status_name(enum run_status status);
enum run_status run_status_parse(const char *name);

#define for_each_status(s) for (enum run_status s = RUN_QUEUED; s < RUN_STATUS_COUNT; s++)
#define for_each_event(e)  for (enum run_status_event e = 0; e < RUN_EV_COUNT; e++)

/* The message of a response that took longer than it may. */
#define RUN_TOOK_TOO_LONG "The response took too long."

/* The errors of a response that is deleted before it has ended. */
#define RUN_RESPONSE_DELETED     "The response was deleted."
#define RUN_CONVERSATION_DELETED "The conversation was deleted."

/* The code of a run's error when the upstream has no such model. The code is internal: neither API knows it,
 * and each face shows one of its own. */
#define RUN_NO_MODEL "model_not_found"

#endif
