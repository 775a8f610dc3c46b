#ifndef RUNNEL_CORE_INGEST_MODEL_REST_H
#define RUNNEL_CORE_INGEST_MODEL_REST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/clock.h"
#include "core/base/err.h"

/*
 * model_rest.h -- a model that has failed is left alone for a while, so that one that is away does not hold all
 * searches up.
 *
 *     if (!model_rest_may_ask(&rest, clock_mono_ns()))
 *         return ...;
 *     rc = ...;
 *     model_rest_note(&rest, rc, pause_ns, clock_mono_ns());
 *
 * When the rest is over, one caller is let through. The others wait for what it finds: a model that hangs costs one
 * search its time, not all of them.
 *
 * Pure but for atomics: any thread. Zeros are a model that has not failed. Times are of clock_mono_ns().
 */

#define MODEL_REST_NS       (5 * NS_PER_SECOND)
#define MODEL_REST_LIMIT_NS (60 * NS_PER_SECOND) /* even if the model asks for more */

struct model_rest {
    _Atomic uint64_t until_ns; /* 0: it answers */
};

/* True: ask it now, and note how that went. False: do without. */
bool model_rest_may_ask(struct model_rest *rest, uint64_t now_ns);

/* How asking ended. After ERR_UPSTREAM, ERR_TIMEOUT and ERR_LIMIT the model rests for `pause_ns`, at least
 * MODEL_REST_NS. ERR_OK and ERR_INVALID end its rest: it has answered, be it that it refuses this text. Others change
 * nothing. */
void model_rest_note(struct model_rest *rest, enum err_code rc, uint64_t pause_ns,
                     uint64_t now_ns);

#endif
