#ifndef RUNNEL_SERVER_API_RESPONSES_RESPONSE_CREATE_H
#define RUNNEL_SERVER_API_RESPONSES_RESPONSE_CREATE_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/run_settings.h"
#include "core/net/loop.h"
#include "core/run/engine/engine.h"
#include "server/server.h"

/*
 * response_create.h -- from the body of a create request to a run that is ready for the engine.
 *
 * The same for every way in which such a body may come. Blocks on the store, so not for loops.
 */

struct response_create {
    struct server *server;
    const struct tenant *tenant;
    const json_t *body; /* only read */

    /* For who knows more than the body says: */
    enum run_compact
        compact;            /* RUN_COMPACT_WINDOW: only that is wanted; else as the body says */
    bool idle;              /* nothing is executed: answers to questions are only kept */
    struct loop *loop;      /* the loop that the run must live on; NULL for any */
    struct item_row **past; /* the items of previous_response_id, where the store need not be
                             * asked: taken, but by what fails before; NULL to ask */
    size_t past_count;
};

/* What the run would be by these settings, and what it would see: only the row and the items of a zeroed load, with
 * the number of input items, which come last, as its next_position. *ret_position is where a
 * conversation ends. Checks what the input says, not the parameters, and stores nothing. The load is
 * the caller's to clear, after a failure too. */
enum err_code response_create_load(const struct response_create *create,
                                   const struct run_settings *settings,
                                   struct run_load *ret_load, int64_t *ret_position,
                                   struct err *err) MUST_CHECK;

/* Checks all of it, in OpenAI's order, and loads what it continues. *ret_start has no sink yet. A
 * stored response in a conversation is in the store afterwards, and must go to the engine. */
enum err_code response_create_prepare(const struct response_create *create,
                                      struct run_start *ret_start, struct err *err) MUST_CHECK;

#endif
