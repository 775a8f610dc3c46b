#ifndef RUNNEL_SERVER_PARAMS_VARIABLE_PARAMS_H
#define RUNNEL_SERVER_PARAMS_VARIABLE_PARAMS_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/variable.h"
#include "server/params/params.h"

/*
 * variable_params.h -- variables in requests: what a name, a value and tags may be, and those that come
 * along with a request as `runnel.variables_in`.
 *
 * Pure functions.
 */

/* A path of its own where the name of a variable stands, so no name. */
#define VARIABLE_STATS_NAME "stats"

/* object["name"], which must be there. */
enum err_code variable_param_name(const json_t *object, const char *path, const char **ret_name,
                                  struct err *err) MUST_CHECK;
/* object["value"], which may have to. */
enum err_code variable_param_value(const json_t *object, const char *path, enum param_need need,
                                   const char **ret_value, struct err *err) MUST_CHECK;
/* object["tags"]; *ret_tags is borrowed, NULL when there are none. */
enum err_code variable_param_tags(const json_t *object, const char *path,
                                  const json_t **ret_tags, struct err *err) MUST_CHECK;

/* runnel.variables_in: [{"name", "value", "desc", "tags"}], each name once. */
#define VARIABLES_IN_KEY   "variables_in"
#define VARIABLES_IN_LIMIT ((size_t)32)

enum err_code variables_in_check(const json_t *runnel, const char *path,
                                 struct err *err) MUST_CHECK;
/* What a checked request gives; the caller frees. */
void variables_in_read(const json_t *body, struct variable **ret_variables, size_t *ret_count);

#endif
