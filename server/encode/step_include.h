#ifndef RUNNEL_SERVER_ENCODE_STEP_INCLUDE_H
#define RUNNEL_SERVER_ENCODE_STEP_INCLUDE_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/domain/run_settings.h"
#include "server/http/request.h"

/*
 * step_include.h -- what a run step shows only to those who ask for it.
 *
 * The query parameter include[] of operations that show steps; of a run that is created, it is for
 * the steps of its stream, and kept with the run's configuration.
 */

/* Flags (enum run_include) from the query. ERR_INVALID for a word that nothing is known by. */
enum err_code step_include_read(const struct request *request, unsigned *ret_include,
                                struct err *err) MUST_CHECK;

/* Into the snapshot of a run. */
void step_include_keep(json_t *snapshot, unsigned include);

#endif
