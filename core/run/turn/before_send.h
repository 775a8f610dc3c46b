#ifndef RUNNEL_CORE_RUN_TURN_BEFORE_SEND_H
#define RUNNEL_CORE_RUN_TURN_BEFORE_SEND_H

#include <jansson.h>

#include "core/base/err.h"

/*
 * before_send.h -- what is done to the messages of a request before a model gets them: an operator's
 * hook, to take out what the model must not know, or to leave out what it need not.
 *
 * A hook gets the messages of every request to a model, in the words of Chat Completions whatever its
 * upstream speaks: those of turns, of last answers and of summaries. What it does to them is for the
 * model only: nothing of it is stored, shown or counted. A hook has all the time that the run has,
 * because nobody waits for it, and a run that ends meanwhile no longer hears its answer.
 */

/* Messages on their way. The hook's between look() and done(); then their sender's again. */
struct outgoing {
    json_t *messages;                        /* an array; nobody else holds a part of it */
    enum err_code rc;                        /* why they must not be sent: then the run fails */
    struct err why;                          /* for the log */
    void (*done)(struct outgoing *outgoing); /* any thread, once */
};

struct before_send {
    /* On a loop: must not block. Calls done() now or later. */
    void (*look)(struct before_send *hook, struct outgoing *outgoing);
};

#endif
