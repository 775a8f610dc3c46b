#ifndef RUNNEL_SERVER_PARAMS_ASSISTANTS_STEP_INCLUDE_H
#define RUNNEL_SERVER_PARAMS_ASSISTANTS_STEP_INCLUDE_H

#include <jansson.h>

#include "core/domain/run_settings.h"

/*
 * step_include.h -- what a run step shows only to clients that ask for it.
 *
 * They ask with include[] in the query. When a run is created, it is for the steps of its
 * stream, and so it is kept in the snapshot of the run.
 *
 * Pure functions.
 */

/* The values of include[]; ends with NULL. */
extern const char *const step_include_values[];

/* The flag of one value, of enum run_include; 0 for one that is unknown. */
unsigned step_include_flag(const char *value);

/* Into the snapshot of a run. */
void step_include_keep(json_t *snapshot, unsigned include);

#endif
