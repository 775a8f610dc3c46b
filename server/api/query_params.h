#ifndef RUNNEL_SERVER_API_QUERY_PARAMS_H
#define RUNNEL_SERVER_API_QUERY_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "server/http/request.h"

/*
 * query_params.h -- parameters in the query of a request, with the error messages of params.h.
 *
 * Pure functions of the request: any thread that may use it. All of them return ERR_INVALID (400)
 * with the name of the parameter. A parameter that is missing leaves the output untouched, so the
 * caller sets its default first.
 */

/* ERR_INVALID if the query has a parameter that is not in `known`, which ends with NULL. This holds
 * whatever the setting unknown_parameters says: without its filter, a misspelt request would
 * delete or list more than was meant. */
enum err_code param_query_unknown(const struct request *request, const char *const *known,
                                  struct err *err) MUST_CHECK;

/* The page that limit, order, after and before describe. Fills in OpenAI's defaults for those that
 * are missing: 20 rows, newest first. */
enum err_code param_page(const struct request *request, struct page *ret_page,
                         struct err *err) MUST_CHECK;

/* The same for a list whose pages have up to `most` rows, and that many by default. */
enum err_code param_page_of(const struct request *request, int most, struct page *ret_page,
                            struct err *err) MUST_CHECK;

/* The number of the first event that a client wants when it joins a stream again: one more than
 * starting_after or, if that is missing, than the header Last-Event-ID. The latter is what browsers
 * send by themselves when a connection breaks. */
enum err_code param_starting_after(const struct request *request, int64_t *ret_first,
                                   struct err *err) MUST_CHECK;

/* "true" or "false"; an empty value counts as missing. */
enum err_code param_query_bool(const struct request *request, const char *name, bool *ret_value,
                               struct err *err) MUST_CHECK;

/* include[] of operations that return run steps, as flags of enum run_include. */
enum err_code param_step_include(const struct request *request, unsigned *ret_include,
                                 struct err *err) MUST_CHECK;

/* include[] of operations that return items, as flags of enum run_include. ERR_INVALID for an unknown value. */
enum err_code param_item_include(const struct request *request, unsigned *ret_include,
                                 struct err *err) MUST_CHECK;

#endif
