#ifndef RUNNEL_CORE_RUN_ENGINE_RECOVER_H
#define RUNNEL_CORE_RUN_ENGINE_RECOVER_H

#include "core/base/err.h"
#include "core/run/turn/face.h"
#include "core/store/tables/runs/runs.h"

/*
 * recover.h -- making ready a run whose owner died, before its new loop gets it.
 */

/* Reads from the log what was said of items that were still open. Blocks on the store; called by
 * whoever claimed the run (the keeper, an HTTP worker). */
enum err_code recover_load(struct store *store, const struct face *face, struct run_load *load,
                           struct err *err) MUST_CHECK;

#endif
