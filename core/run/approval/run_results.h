#ifndef RUNNEL_CORE_RUN_APPROVAL_RUN_RESULTS_H
#define RUNNEL_CORE_RUN_APPROVAL_RUN_RESULTS_H

#include <jansson.h>

#include "core/run/turn/run.h"

/*
 * run_results.h -- results that a person is asked about before the model sees them.
 *
 * The tool has run. What it gave is shown to the client with the item of the call, which says
 * that the model does not see it (withheld.h), and stored with the call: it is never made
 * again. When all calls of the turn have ended, the questions are asked, as those before a call
 * are (run_approvals.h). What the answer changes is stored with it: the item is delivered or
 * refused, and the variable that keeps the whole result is made only then.
 *
 * On the run's loop.
 */

struct withheld_result {
    char approval_id[ID_LIMIT + 1];
    char item_id[ID_LIMIT + 1];
    char *text;       /* frozen: what the model is told when it is approved */
    json_t *variable; /* {"name", "value", "description"}: made then; NULL for none */
};
void withheld_result_free(struct withheld_result *withheld);

/* Its output is the answer itself. Not when a person may have to see it first. */
bool run_is_final(const struct run *run, const struct tool_use *use);

/* The tool has executed the call: its result is withheld, or refused at once when nobody can be
 * asked. */
void run_check_result(const struct run *run, struct call *call);

/* The variable of the result waits, too. */
void run_withhold_variable(struct call *call, const struct variable *variable);

/* Freezes the text of a result that is withheld. */
void run_freeze_result(struct call *call, const char *text);

/* With the output of the call in the store, and back. */
void run_note_withheld(const struct call *call, json_t *output);
void run_restore_withheld(struct call *call, const json_t *output);

/* All calls of the turn have ended: those whose results are withheld get their questions. */
void run_ask_results(struct run *run);

/* What the question says beside what all questions do. */
void run_describe_result(const struct call *call, json_t *details);

/* What an approval changes, for the store: JSON. The caller frees. */
char *run_held_text(const struct call *call);

/* A run of a thread has its answer; of a refusal, call->reason says why. */
void run_decide_result(struct run *run, struct call *call, bool approve);

/* So has a response that waited for it: the store did what is to do there
 * (approval_results.h). */
void run_take_result_answer(struct call *call, bool approve, const char *reason);

#endif
