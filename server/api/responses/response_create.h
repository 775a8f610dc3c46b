#ifndef RUNNEL_SERVER_API_RESPONSES_RESPONSE_CREATE_H
#define RUNNEL_SERVER_API_RESPONSES_RESPONSE_CREATE_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/run_settings.h"
#include "core/net/loop.h"
#include "core/run/engine/engine.h"
#include "core/store/tables/idempotency.h"
#include "server/server.h"

/*
 * response_create.h -- from the body of a create request to a run that is ready for the engine.
 *
 * The same for a POST, a message of a WebSocket, a compaction and a count of tokens. Both functions
 * block on the store and count tokens, so they are for workers and never for loops. The struct is
 * borrowed for the call.
 */

struct past_text;

struct response_create {
    struct server *server;
    const struct tenant *tenant;
    const json_t *body; /* only read */

    /* What the caller knows beyond the body; all may be zero. */
    enum run_compact
        compact; /* RUN_COMPACT_WINDOW: the run makes a compaction and nothing else */
    bool idle;   /* the run executes no calls: answers to approval requests are only kept */
    struct loop *loop; /* the loop that the run must live on; NULL for any */
    struct item_row *
        *past; /* the items up to previous_response_id, if the caller has them; they
                             * are taken (*past becomes NULL) unless an earlier check fails. NULL:
                             * they are loaded from the store */
    size_t past_count;
    bool past_cut; /* there were more than the server reads */
    const struct idempotency
        *key;                 /* of a response that is stored; NULL or "": none. The response
                                    * is resumable then, so that a repeat may join it */
    struct run_row *repeated; /* with a key: becomes the row of the response that an earlier
                                    * request has made under it, or stays as it is */
};

/* Fills in the row of the run with these settings, and its context: the items before, then those of its
 * input. *ret_load must be zeroed; only `run`, `items`, `item_count` and `next_position`, which is the
 * number of input items, are filled in. *ret_past, held, is what the first items are sent as, if that is known: it must
 * be NULL before. *ret_position is where the conversation ends, if there is one.
 * Checks the input and not the parameters. Stores nothing. The caller clears the load, after a failure
 * too. */
enum err_code response_create_load(const struct response_create *create,
                                   const struct run_settings *settings,
                                   struct run_load *ret_load, struct past_text **ret_past,
                                   int64_t *ret_position, struct err *err) MUST_CHECK;

/* Checks the whole request, in the order in which OpenAI reports errors, and loads what the response
 * continues. The caller sets the sink of *ret_start and hands it to engine_run(), or releases it with
 * run_start_clear(). The latter is allowed only if ret_start->load.fence is 0: otherwise the response
 * is in the store, leased to this node, and must go to the engine. If the request repeats another one
 * (create->repeated), *ret_start stays empty, and there is nothing to run. */
enum err_code response_create_prepare(const struct response_create *create,
                                      struct run_start *ret_start, struct err *err) MUST_CHECK;

#endif
