#ifndef RUNNEL_CORE_RUN_TURN_RUN_PASSED_H
#define RUNNEL_CORE_RUN_TURN_RUN_PASSED_H

#include <stdbool.h>

#include "core/model/model.h"

/*
 * run_passed.h -- calls that the upstream of a run executes itself: web searches, pictures. On the run's loop.
 *
 * The request has passed the tool on (core/run/catalog/passed_tools.h), and the answer brings whole calls: item,
 * stages, end. Each becomes an item of this server with an id of its own, in the order and the form of events that the
 * same tool has when this server executes it. A call of a tool that was not passed on is left out.
 *
 * In later requests to the same upstream the item goes back as the upstream's own.
 */

struct run;

/* Stages of one call that clients see; more are dropped. */
#define PASSED_STAGES_LIMIT 8

/* `arg` is the run. */
extern const struct model_hosted_events run_passed_events;

/* Of the open call. */
struct run_passed {
    const struct tool_use *use; /* NULL: no such call is open, or it is left out */
    bool begun;                 /* the stage that each call has was emitted */
    unsigned stages;            /* emitted so far */
};

#endif
