#ifndef RUNNEL_SERVER_PARAMS_ASSISTANTS_STEP_INCLUDE_H
#define RUNNEL_SERVER_PARAMS_ASSISTANTS_STEP_INCLUDE_H

#include <jansson.h>

#include "core/domain/run_settings.h"

/*
 * step_include.h -- include[] in a query: what a run step shows only on request.
 *
 * Where steps are read, the value counts for that answer. Where a run is created, it counts for the
 * steps of its stream, so it is stored in the snapshot of the run.
 *
 * Pure functions: any thread.
 */

/* The values of include[]; ends with NULL. */
extern const char *const step_include_values[];

/* The flag of enum run_include for one value; 0 for an unknown value. */
unsigned step_include_flag(const char *value);

/* Writes the flags `include` into the snapshot of a run. */
void step_include_keep(json_t *snapshot, unsigned include);

#endif
