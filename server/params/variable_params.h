#ifndef RUNNEL_SERVER_PARAMS_VARIABLE_PARAMS_H
#define RUNNEL_SERVER_PARAMS_VARIABLE_PARAMS_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/variable.h"
#include "server/params/params.h"

/*
 * variable_params.h -- variables in requests: checks of name, value and tags, and `runnel.variables_in`.
 *
 * The functions that check are pure. variables_in_read() also reads the clock. Any thread.
 */

/* Not a name: /variables/stats is an endpoint. */
#define VARIABLE_STATS_NAME "stats"

/* object["name"], which is required. */
enum err_code variable_param_name(const json_t *object, const char *path, const char **ret_name,
                                  struct err *err) MUST_CHECK;
/* object["value"], required or not; in bytes at most VARIABLE_VALUE_LIMIT. NULL when absent. */
enum err_code variable_param_value(const json_t *object, const char *path, enum param_need need,
                                   const char **ret_value, struct err *err) MUST_CHECK;
/* object["tags"]; *ret_tags is borrowed, NULL when absent. */
enum err_code variable_param_tags(const json_t *object, const char *path,
                                  const json_t **ret_tags, struct err *err) MUST_CHECK;

/* runnel.variables_in: [{"name", "value", "desc", "tags"}], each name once. The run has these variables from
 * its start. */
#define VARIABLES_IN_KEY   "variables_in"
#define VARIABLES_IN_LIMIT ((size_t)32)

enum err_code variables_in_check(const json_t *runnel, const char *path,
                                 struct err *err) MUST_CHECK;
/* The variables of a checked request: an array that the caller frees with variables_free(), NULL if the
 * request has none. */
void variables_in_read(const json_t *body, struct variable **ret_variables, size_t *ret_count);

#endif
