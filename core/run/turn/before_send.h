#ifndef RUNNEL_CORE_RUN_TURN_BEFORE_SEND_H
#define RUNNEL_CORE_RUN_TURN_BEFORE_SEND_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/domain/tenant.h"
#include "core/model/model.h"

/*
 * before_send.h -- a hook, which sees the messages of a request before a model does. It may change them or refuse
 * them. There are two: the operator's, which takes out what the model must not know, and behind it the server's, which
 * puts in the bytes of files (named_files.h).
 *
 * A hook gets the messages of every request to a model: of turns, of last answers and of compactions.
 * They have the form of Chat Completions, whatever the upstream speaks. What the hook changes is for the
 * model only: it is not stored, shown or counted. No thread waits for a hook, so it may take as long as
 * the run has time. If the run ends meanwhile, the result is dropped.
 */

/* The messages of one request. They are the hook's from look() until it calls done(). */
struct outgoing {
    json_t *messages;     /* an array that shares no part with another thread */
    struct tenant tenant; /* whose request it is; without a user */
    const struct model_upstream *upstream; /* that will get it */
    enum err_code rc; /* ERR_OK, or why they must not be sent: then the run fails */
    /* With rc: for the log. The client sees it only with REASON_BUSY: then it may try again later. */
    struct err why;
    void (*done)(struct outgoing *outgoing); /* any thread; call it exactly once */
    /* A hook may set these before it calls done(), for what it holds as long as the messages are in memory. Then sent()
     * is called once, on any thread: when they have been sent or dropped. */
    void (*sent)(void *arg);
    void *sent_arg;
};

struct before_send {
    /* Called on a run loop: must not block. Calls outgoing->done() now or later. */
    void (*look)(struct before_send *hook, struct outgoing *outgoing);
};

#endif
