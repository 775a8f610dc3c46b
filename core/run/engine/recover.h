#ifndef RUNNEL_CORE_RUN_ENGINE_RECOVER_H
#define RUNNEL_CORE_RUN_ENGINE_RECOVER_H

#include "core/base/err.h"
#include "core/run/turn/face.h"
#include "core/store/tables/runs/runs.h"

/*
 * recover.h -- makes a run ready whose owner died, before its new loop gets it.
 *
 * The second half happens on the loop: run_recover() in core/run/turn/home.h.
 */

/* Completes the items of `load` that were open when the owner died: each gets what the log
 * has of it, which is what clients can have received. Any thread that may block on the store: the
 * keeper, or the HTTP worker whose cancel claimed the run. On a failure the items that were not
 * reached keep their rows; the caller drops the load, and the run is claimed again later. */
enum err_code recover_load(struct store *store, const struct face *face, struct run_load *load,
                           struct err *err) MUST_CHECK;

#endif
