#ifndef RUNNEL_SERVER_API_QUERY_PARAMS_H
#define RUNNEL_SERVER_API_QUERY_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "server/http/request.h"

/*
 * query_params.h -- parameters in the query of a request, with the complaints of params.h.
 *
 * A parameter that is missing leaves the output untouched.
 */

/* ERR_INVALID for any other parameter, whatever the setting unknown_parameters says: a misspelt
 * filter must not make a request do more than was meant. `known` ends with NULL. */
enum err_code param_query_unknown(const struct request *request, const char *const *known,
                                  struct err *err) MUST_CHECK;

/* limit, order, after, before; the page that they name. */
enum err_code param_page(const struct request *request, struct page *ret_page,
                         struct err *err) MUST_CHECK;

/* Where a stream is joined again: the number of the first event wanted. It is the one after
 * starting_after, or after the header Last-Event-ID; 0 without either. */
enum err_code param_starting_after(const struct request *request, int64_t *ret_first,
                                   struct err *err) MUST_CHECK;

/* true or false. */
enum err_code param_query_bool(const struct request *request, const char *name, bool *ret_value,
                               struct err *err) MUST_CHECK;

/* include[] of operations that show run steps, as flags of enum run_include. */
enum err_code param_step_include(const struct request *request, unsigned *ret_include,
                                 struct err *err) MUST_CHECK;

/* include[] of operations that show items: every value is known. */
enum err_code param_item_include(const struct request *request, struct err *err) MUST_CHECK;

#endif
