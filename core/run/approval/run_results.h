#ifndef RUNNEL_CORE_RUN_APPROVAL_RUN_RESULTS_H
#define RUNNEL_CORE_RUN_APPROVAL_RUN_RESULTS_H

#include <jansson.h>

#include "core/run/turn/run.h"

/*
 * run_results.h -- results that need an approval before the model sees them.
 *
 * The tool has run, and its call is never executed again. The client sees the result at once,
 * in the item of the call, with `runnel.model_visible` false (withheld.h). When all calls of
 * the turn have ended, each withheld result gets a question, like a call that needs an approval
 * (run_approvals.h). An approval delivers the result to the model. A refusal replaces it by the
 * reason. The variable that keeps the whole result is created with the approval: before, the
 * model could read it there.
 *
 * All functions are called on the run's loop.
 */

/* A result that waits. Owned by its call; NULL there once it is decided. */
struct withheld_result {
    char approval_id[ID_LIMIT + 1]; /* of the question; "": not asked yet */
    char item_id[ID_LIMIT +
                 1]; /* of the call's item, after a restart; otherwise call->item has it */
    char *text;      /* what the model receives when it is approved */
    json_t
        *variable; /* {"name", "value", "description"}, created with the approval; NULL: none */
};
void withheld_result_free(struct withheld_result *withheld);

/* The tool is a final tool in this run: its output becomes the answer. False if its results
 * may need an approval: an answer that was streamed cannot be withheld. `use` may be NULL. */
bool run_is_final(const struct run *run, const struct tool_use *use);

/* The tool has executed the call. Withholds the result if the policy wants an approval, or
 * refuses it at once if no person can approve in this run. */
void run_check_result(const struct run *run, struct call *call);

/* Keeps the variable of a withheld result back. Copies it. */
void run_withhold_variable(struct call *call, const struct variable *variable);

/* Keeps the text that the model receives after an approval. Copies it. */
void run_freeze_result(struct call *call, const char *text);

/* Adds a withheld result to the output in the call's row, and restores it from there. The
 * first does nothing for a call without one. */
void run_note_withheld(const struct call *call, json_t *output);
void run_restore_withheld(struct call *call, const json_t *output);

/* The stage after execution: withheld results without a question get one. */
void run_ask_results(struct run *run);

/* Adds to the question what is special about a result: its status, text and length. */
void run_describe_result(const struct call *call, json_t *details);

/* What an approval changes in the store, for the question's row (approval_results.h): JSON,
 * the caller frees. */
char *run_held_text(const struct call *call);

/* Applies the answer in a thread's run: to its item, its variable and the call's row. For a
 * refusal, call->reason has the reason. */
void run_decide_result(struct run *run, struct call *call, bool approve);

/* Applies the answer in a response that holds. The store changed its rows with the answer
 * already, so only what is in memory changes. `reason` may be NULL. */
void run_take_result_answer(struct call *call, bool approve, const char *reason);

#endif
