#ifndef RUNNEL_CORE_RUN_CALLS_RUN_VARIABLES_H
#define RUNNEL_CORE_RUN_CALLS_RUN_VARIABLES_H

#include "core/run/calls/stages.h"
#include "core/run/turn/run.h"

/*
 * run_variables.h -- variables and the calls of a turn, on the run's loop.
 *
 * A loop does not wait for the store, so it never reads a variable: calls whose arguments contain
 * references are given to tool workers first, which come back with the resolved arguments. That
 * happens to all calls of the turn before anything is decided about any of them, so whoever is asked
 * for approval sees what would be executed. What tools gave is written with the run's other rows.
 */

/* The arguments of a call with references, or why there are none. */
struct resolved_call {
    json_t *args;      /* NULL when it failed; as they were while it waits */
    char *text;        /* the same as JSON */
    json_t *names;     /* of the variables that were used; or NULL */
    bool waiting;      /* for its worker */
    unsigned job;      /* of the offload, meanwhile */
    struct err *error; /* why the call is not made: told to the model; or NULL */
};
void resolved_call_free(struct resolved_call *resolved);

/* As they were stored. */
struct resolved_call *resolved_call_restore(const char *text);

/* Of a run that is not stored they are in its memory, and nowhere else. Takes what came with the
 * request. */
struct run_start;
void run_open_variables(struct run *run, struct run_start *start);

/* Where the run's variables are: its thread, or itself. "" when they are in its memory. */
const char *run_variable_scope(const struct run *run);

/* What its handlers get; and with the long messages of the history, what those get that look at variables. */
struct variable_access run_variable_access(struct run *run);
struct variable_access run_variable_access_of(struct run *run,
                                              const struct tool_handler *handler);

/* The stage that resolves the references in calls that are due, as far as that was not done. Calls that
 * read variables find what was written before. */
enum stage_step run_resolve_calls(struct run *run);

/* The result of a call goes to the model: it is kept in a variable, and its arguments are. `whole` is
 * what the tool gave, `text` what the model would be shown, `shown` how much that is. Returns what it
 * is shown instead, or NULL when nothing is to be added; the caller frees. The variable of a result that is withheld from the model is made with its approval. */
struct cut_shown;
char *run_keep_result(struct run *run, struct call *call, const char *whole, const char *text,
                      const struct cut_shown *shown);

#endif
