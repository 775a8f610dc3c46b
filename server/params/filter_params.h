#ifndef RUNNEL_SERVER_PARAMS_FILTER_PARAMS_H
#define RUNNEL_SERVER_PARAMS_FILTER_PARAMS_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/domain/filter.h"

/*
 * filter_params.h -- the `filters` of a search, and the other options that the endpoint and the tool share. Pure.
 *
 *   {"type": "and", "filters": [{"type": "gte", "key": "year", "value": 2025}, ...]}
 */

/* object[key] as a filter. Absent or null: *ret_filter stays NULL. The caller frees with filter_free(). */
enum err_code filter_params_read(const json_t *object, const char *path, const char *key,
                                 struct filter **ret_filter, struct err *err) MUST_CHECK;

/* Clears and frees; NULL is fine. */
void filter_free(struct filter *filter);

#endif
