#ifndef RUNNEL_SERVER_PARAMS_ASSISTANTS_RUN_REQUEST_H
#define RUNNEL_SERVER_PARAMS_ASSISTANTS_RUN_REQUEST_H

#include <jansson.h>

#include "core/domain/rows.h"

/*
 * run_request.h -- what a run of a thread is asked to do: its request over its thread over its
 * assistant.
 *
 * Pure.
 */

/* The snapshot of the run (core/domain/run_settings.h), made of a checked body. `settings` are those of
 * the thread, or NULL. Skills are still ids. New reference. */
json_t *run_request_snapshot(const struct assistant_row *assistant, const char *settings,
                             const json_t *body);

#endif
