#ifndef RUNNEL_CORE_MEMORY_VAR_REF_H
#define RUNNEL_CORE_MEMORY_VAR_REF_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/variable.h"

/*
 * var_ref.h -- $VAR_REF{{name}} in the arguments of a call: the value of a variable, without the
 * model having to write it.
 *
 *   $VAR_REF{{name}}   $VAR_REF{{name:start}}   $VAR_REF{{name:start:length}}
 *
 * in any string of the arguments, at any depth, but not in keys; start and length are characters,
 * cut down to what there is. What is not written exactly so stays as it is. References are followed
 * through what the model or a client wrote, and never through what a tool gave: otherwise a page
 * that was fetched could pull other variables into a shell command.
 *
 * A reference that leads nowhere, or back to itself, or further than the limits, is an error, whose
 * text is for the model: then the call is not made.
 */

#define VAR_REF_DEPTH_LIMIT 8                 /* references inside of values */
#define VAR_REF_COUNT_LIMIT 64                /* of a call, those included */
#define VAR_REF_BYTES_LIMIT ((size_t)8 << 20) /* that they insert together */

/* The variable of that name, for reading: ERR_NOT_FOUND says which ones there are. */
typedef enum err_code var_ref_find_fn(void *arg, const char *name,
                                      struct variable *ret_variable, struct err *err);

/* True if there is anything to resolve. */
bool var_ref_is_in(json_t *args);

/* The same of the text of a call that nobody has parsed yet: false is certain. */
bool var_ref_may_be_in(const char *arguments);

/* The arguments with values in place of references; the caller owns them. The names that were used
 * become *ret_names, an array of strings, unless ret_names is NULL. */
enum err_code var_ref_resolve(json_t *args, var_ref_find_fn *find, void *arg, json_t **ret_args,
                              json_t **ret_names, struct err *err) MUST_CHECK;

#endif
