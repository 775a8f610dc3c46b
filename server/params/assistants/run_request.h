#ifndef RUNNEL_SERVER_PARAMS_ASSISTANTS_RUN_REQUEST_H
#define RUNNEL_SERVER_PARAMS_ASSISTANTS_RUN_REQUEST_H

#include <jansson.h>

#include "core/domain/rows.h"

/*
 * run_request.h -- the snapshot of a run of a thread: its request over its thread over its assistant.
 *
 * A pure function: any thread.
 */

/* `body` was checked. `settings` and `resources` are the JSON texts of the thread's `runnel` and
 * `tool_resources`, or NULL. The result
 * (core/domain/run_settings.h) still has the ids of skills; skill_params_resolve() looks them up. New
 * reference. */
json_t *run_request_snapshot(const struct assistant_row *assistant, const char *settings,
                             const char *resources, const json_t *body);

#endif
