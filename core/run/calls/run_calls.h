#ifndef RUNNEL_CORE_RUN_CALLS_RUN_CALLS_H
#define RUNNEL_CORE_RUN_CALLS_RUN_CALLS_H

#include "core/run/calls/stages.h"
#include "core/run/turn/run.h"

/*
 * run_calls.h -- what the files about a turn's calls share. Everything on the run's loop.
 *
 *   run_calls.c      calls as the model makes them, and what the client sees of its own
 *   stages.c         the list of stages that calls pass through
 *   execute.c        calls that are due, to their tools
 *   run_output.c     what they say, as items and text
 *   restore.c        calls of an earlier residency
 *   run_list.c       the tools of a group, listed
 */

/* ---- run_calls.c ---- */

/* A call of the turn that is being made. Valid until the next one is added. */
struct call *run_add_call(struct run *run, const char *id, const char *name);

/* The item that shows a call; not told yet. */
struct item *run_new_call_item(struct run *run, struct call *call, enum item_type type);
void run_emit_arguments(struct run *run, struct item *item, const char *text, size_t length);
void run_emit_arguments_done(struct run *run, struct item *item);

/* Its row goes with the next write; `output` is JSON, or NULL. */
void run_note_call(struct run *run, const struct call *call, enum call_state state,
                   const char *output);

/* ---- execute.c ---- */

/* Whether a call of ours could run, and its arguments (a new reference). What is wrong with it is
 * told to the model. Schemas of remote servers are checked here, on the loop, where everybody waits
 * for them: those of a turn have REMOTE_CHECK_MS together. A call that it does not suffice for is
 * not made, now or later in the turn. */
#define REMOTE_CHECK_MS 50
enum err_code run_prepare_call(struct run *run, const struct call *call, json_t **ret_args,
                               struct err *err) MUST_CHECK;

/* The stage of that name: what is due is executed. */
enum stage_step run_execute_calls(struct run *run);
/* Nobody waits for what is executed. */
void run_stop_execution(struct run *run);

/* ---- stages.c ---- */

/* The turn's calls are known: they are stored, and pass the stages. */
void run_start_calls(struct run *run);

/* ---- run_output.c ---- */

/* One output of the channel. The caller clears it. */
void run_take_output(struct run *run, const struct tool_output *output);

/* The calls whose output became the message are recorded behind it. */
void run_show_final_calls(struct run *run);

/* It had ended before the crash; only its record is missing. `stored` is what its row says. */
void run_restore_final_call(struct run *run, struct call *call, const json_t *stored);

/* "in_progress", "completed" ... of a hosted item. `fields` are borrowed; NULL for none. */
void run_emit_stage(struct run *run, struct item *item, const char *stage, json_t *fields);

#endif
