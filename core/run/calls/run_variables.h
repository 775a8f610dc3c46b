#ifndef RUNNEL_CORE_RUN_CALLS_RUN_VARIABLES_H
#define RUNNEL_CORE_RUN_CALLS_RUN_VARIABLES_H

#include "core/run/calls/stages.h"
#include "core/run/turn/run.h"

/*
 * run_variables.h -- variables and the calls of a turn.
 *
 * References to variables in the arguments of calls are resolved by tool workers, before
 * anything is decided about any call of the turn. So a person who approves a call sees what
 * would be executed. Results of calls become variables, in the same write as the end of the
 * call.
 *
 * All functions are called on the run's loop.
 */

/* The resolved arguments of a call that has references. Owned by its call. */
struct resolved_call {
    json_t *args;      /* unresolved while it waits; NULL: resolving failed */
    char *text;        /* the resolved arguments as JSON; NULL until then */
    json_t *names;     /* of the variables that were used; or NULL */
    bool waiting;      /* for its worker */
    unsigned job;      /* of the offload, while it waits */
    struct err *error; /* why the call is not executed, for the model; or NULL */
};
void resolved_call_free(struct resolved_call *resolved);

/* From the row of a call: resolved before the crash. NULL for NULL. */
struct resolved_call *resolved_call_restore(const char *text);

/* What a handler needs to read and write variables. The second adds the long messages of the
 * history, for handlers that have TOOL_VARIABLES. Borrowed from the run; an executor holds
 * what it needs. */
struct variable_access run_variable_access(struct run *run);
struct variable_access run_variable_access_of(struct run *run,
                                              const struct tool_handler *handler);

/* The stage that resolves the references of calls that are due and not resolved yet. It also
 * waits for the last write if a call reads variables by itself. */
enum stage_step run_resolve_calls(struct run *run);

/* Keeps the result and the arguments of a call as variables. `whole` is the result, `text`
 * what of it the model sees, and `shown` how much that is. Returns `text` with a hint at the
 * variable, or NULL if no hint is added; the caller frees. The variable of a withheld result
 * is created with its approval. */
struct cut_shown;
char *run_keep_result(struct run *run, struct call *call, const char *whole, const char *text,
                      const struct cut_shown *shown);

#endif
