#ifndef RUNNEL_CORE_RUN_CALLS_RUN_CALLS_H
#define RUNNEL_CORE_RUN_CALLS_RUN_CALLS_H

#include "core/run/calls/stages.h"
#include "core/run/turn/run.h"

/*
 * run_calls.h -- what the files about a turn's calls share.
 *
 *   run_calls.c      calls as the model makes them, and how the client's are shown
 *   stages.c         the list of stages that calls pass
 *   execute.c        hands calls that are due to their tools
 *   call_files.c     which files a call may see, and which container it continues in
 *   call_pictures.c  which pictures a drawing may begin with
 *   run_programs.c   programs, and the calls that they make
 *   run_output.c     turns the output of tools into items and text
 *   call_end.c       how a call ended, in its row
 *   restore.c        calls of an earlier residency
 *
 * What the rest of a run needs of calls is declared in core/run/turn/call.h. All functions are
 * called on the run's loop.
 */

/* ---- run_calls.c ---- */

/* Adds a call to the turn. The id and name are copied. The pointer is valid until the next
 * call is added: the array may move. */
struct call *run_add_call(struct run *run, const char *id, const char *name);

/* Makes the item that shows a call. Nothing is emitted yet. The call refers to it from now
 * on. */
struct item *run_new_call_item(struct run *run, struct call *call, enum item_type type);

/* Shows who has made the call, if that was a program. For items whose fields were replaced. */
void run_name_caller(const struct call *call, struct item *item);

/* Shows a whole call of the client, which a program has made. If its arguments cannot be shown, the server takes it
 * back. */
void run_show_clients_call(struct run *run, unsigned position);

/* Emits a piece of the call's arguments, and their end. */
void run_emit_arguments(struct run *run, struct item *item, const char *text, size_t length);
void run_emit_arguments_done(struct run *run, struct item *item);

/* Puts the call's row into the next write. `output` is JSON, or NULL. Rows are stored for
 * resumable runs only: no other run is restored. */
void run_note_call(struct run *run, const struct call *call, enum call_state state,
                   const char *output);

/* ---- execute.c ---- */

/* Milliseconds for checking arguments of remote tools, for all calls of a turn together.
 * Their schemas come from strangers and are checked on the loop, where every run of it
 * waits. A call for which the time does not suffice is not executed. */
#define REMOTE_CHECK_MS 50

/* Checks that a server-side call can be executed, and returns its arguments, a new
 * reference, with references resolved and defaults filled in. The error is for the model: no
 * such tool, arguments that do not fit. May be called by every stage. */
enum err_code run_prepare_call(struct run *run, const struct call *call, json_t **ret_args,
                               struct err *err) MUST_CHECK;

/* The workers that execute calls of this tool. */
struct tool_executor *run_executor_of(const struct run *run,
                                      const struct tool_handler *handler);

/* The stage in which calls that are due are executed. */
enum stage_step run_execute_calls(struct run *run);

/* Closes the channel and cancels remote calls. Tools that still run can notice that, and
 * their output is dropped. */
void run_stop_execution(struct run *run);

/* ---- call_files.c ---- */

/* The ids of the files that the request, its thread and its messages give to the tool; NULL: none. Borrowed from the
 * run. */
const json_t *run_files_of(struct run *run, const struct tool_use *use);

/* The container that the newest call of the history used; "" without one. */
void run_past_container(const struct run *run, char ret_id[ID_SIZE]);
/* What a drawing of this run may begin with: tool_call_pictures(). New reference; NULL: this call edits nothing. */
json_t *run_pictures(const struct run *run, const struct tool_use *use, const json_t *args);

/* Counts one more drawing of the run, and returns how many there are, those of earlier residencies included. */
unsigned run_count_drawing(struct run *run);

/* ---- stages.c ---- */

/* All calls of the turn are known: notes their rows, and walks the stages or leaves that to another node. */
void run_start_calls(struct run *run);

/* ---- run_output.c ---- */

/* Takes one output of the channel. The caller clears it. */
void run_take_output(struct run *run, const struct tool_output *output);

/* Takes the END of a call that has no channel. No item may be open but the call's. The caller clears it. */
void run_take_end(struct run *run, struct call *call, const struct tool_output *end);

/* Takes the outputs of a call that has ended and waits for the floor: its end is stored, and shown when
 * the floor brings its END. Takes the array with all that it owns. */
void run_keep_outputs(struct run *run, struct tool_output *outputs, unsigned count);

/* Shows the calls of final tools, behind the message that their output became. */
void run_show_final_calls(struct run *run);

/* Restores a call that had ended before a crash and has no item yet. `stored` is the output of its
 * row. run_show_waiting() then shows those that waited for the floor. */
void run_restore_end(struct run *run, struct call *call, const json_t *stored);
void run_show_waiting(struct run *run);

/* Emits a stage of a call's item: "in_progress", "searching", "completed" ... `fields` are
 * borrowed; or NULL. */
void run_emit_stage(struct run *run, struct item *item, const char *stage, json_t *fields);

#endif
