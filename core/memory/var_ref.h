#ifndef RUNNEL_CORE_MEMORY_VAR_REF_H
#define RUNNEL_CORE_MEMORY_VAR_REF_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/variable.h"

/*
 * var_ref.h -- references to variables in the arguments of a call.
 *
 *   $VAR_REF{{name}}   $VAR_REF{{name:start}}   $VAR_REF{{name:start:length}}
 *
 * A reference is replaced by the variable's value, so that the model need not write a long text again. It
 * may stand in any string of the arguments, at any depth, but not in keys. start and length count
 * characters; a part beyond the end of the value is empty. Text of any other form is left as it is.
 *
 * References inside values are followed if the model or a client wrote the value, and never if it is the
 * output of a tool. Otherwise a fetched page could pull other variables into a shell command.
 *
 * A reference to a missing variable or to itself is an error, and so is one beyond the limits. The text of
 * the error is for the model, and the call is not executed.
 *
 * The functions keep no state: any thread may call them, if it owns `args`.
 */

#define VAR_REF_DEPTH_LIMIT 8  /* a reference in a value in a value ... */
#define VAR_REF_COUNT_LIMIT 64 /* references of one call, those in values included */
#define VAR_REF_BYTES_LIMIT ((size_t)8 << 20) /* bytes of the arguments, values included */

/* Finds a variable by its name. ERR_NOT_FOUND, with a text that lists the variables that exist. The
 * resolver clears what it gets. */
typedef enum err_code var_ref_find_fn(void *arg, const char *name,
                                      struct variable *ret_variable, struct err *err);

/* True if the arguments have a reference. */
bool var_ref_is_in(json_t *args);

/* The same for arguments that are not parsed yet. False is certain; true means that they must be parsed. */
bool var_ref_may_be_in(const char *arguments);

/* A copy of the arguments in which values replace the references; the caller owns it. Unless ret_names is
 * NULL, it gets the names that were used, an array of strings in the order of their first use. On failure
 * both are unchanged. */
enum err_code var_ref_resolve(json_t *args, var_ref_find_fn *find, void *arg, json_t **ret_args,
                              json_t **ret_names, struct err *err) MUST_CHECK;

#endif
