#ifndef RUNNEL_CORE_DOMAIN_RUN_STATUS_H
#define RUNNEL_CORE_DOMAIN_RUN_STATUS_H

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
 * This table is the only place that knows. Everything else names an event and asks
 * run_status_next(); the store then moves the row only from a status that allows it, so that
 * two threads, or two servers, cannot both win.
 *
 * Both faces use it: requires_action exists for Assistants runs only, expired too (a response
 * that takes too long has failed).
 *
 * A new status also needs: the CHECK in migrations, openapi.yaml, run_status_name().
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
    RUN_EV_START,    /* a loop has taken it up */
    RUN_EV_ASK,      /* the client has to execute calls */
    RUN_EV_SUBMIT,   /* the client has */
    RUN_EV_FINISH,   /* the model has nothing more to do */
    RUN_EV_TRUNCATE, /* a token limit or a content filter ended it early */
    RUN_EV_FAIL,
    RUN_EV_CANCEL,  /* somebody wants it to stop */
    RUN_EV_STOPPED, /* it has */
    RUN_EV_EXPIRE,
    RUN_EV_TAKE_BACK, /* its end or pause could not be stored, so nobody has seen it: it has not happened */
    RUN_EV_COUNT
};

/* RUN_STATUS_NONE when the event cannot happen in that status. */
enum run_status run_status_next(enum run_status status, enum run_status_event event);

bool run_status_is_final(enum run_status status);

/* The public words. parse: RUN_STATUS_NONE for what is not one. */
const char *run_status_name(enum run_status status);
enum run_status run_status_parse(const char *name);

#define for_each_status(s) for (enum run_status s = RUN_QUEUED; s < RUN_STATUS_COUNT; s++)
#define for_each_event(e)  for (enum run_status_event e = 0; e < RUN_EV_COUNT; e++)

/* What the error of a response says when it took longer than it may. */
#define RUN_TOOK_TOO_LONG "The response took too long."

/* The code of a run's error when the upstream has no such model. Neither face's object has that
 * word; they show another. */
#define RUN_NO_MODEL "model_not_found"

#endif
