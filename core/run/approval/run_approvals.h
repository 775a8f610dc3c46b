#ifndef RUNNEL_CORE_RUN_APPROVAL_RUN_APPROVALS_H
#define RUNNEL_CORE_RUN_APPROVAL_RUN_APPROVALS_H

#include <jansson.h>

#include "core/domain/permission.h"
#include "core/run/turn/run.h"

/*
 * run_approvals.h -- calls that a person is asked about before they run.
 *
 * A turn's calls are looked through before any starts. Those that need no question run. The others
 * are asked about: a response shows an mcp_approval_request for each and ends completed, its calls
 * open; a run of a thread requires action, with a call of the reserved function for each. Arguments
 * are frozen: what is executed later is what was shown.
 *
 * The answers come to a response in the settings of the next one (struct run_decision), and to a
 * run as outputs of the reserved function. An approved call is executed before the model is asked
 * again; of a refused one the model is told why. An approval counts for the tool as it was shown: of
 * one that has changed since, it is asked anew. What was answered and is remembered (run_grants.h) is
 * not asked at all.
 *
 * On the run's loop.
 */

#define RUN_APPROVAL_REFUSED "Execution rejected by user"
#define RUN_PERMISSION_REFUSED                            \
    "The user rejected permission to use this tool. You " \
    "may try again with different parameters."
#define RUN_APPROVAL_REMEMBERED "Previously rejected by user"

/* Which answers about it are remembered. */
enum memory_policy {
    MEMORY_NONE,       /* it is always asked */
    MEMORY_ON_REQUEST, /* those that ask for it */
    MEMORY_ALWAYS,     /* all */
};
enum memory_policy run_memory_policy(const struct run *run, const struct tool_use *use);

/* What is asked about a tool, whoever says it. */
struct permission run_permission_of(const struct run *run, const struct tool_use *use);

/* Why nobody can be asked; NULL when somebody can. */
const char *run_no_approver(const struct run *run, enum approval_kind kind);

/* Sets those of the turn's calls aside that need an answer first, or can get none. */
void run_ask_approvals(struct run *run);

/* The last door, which every call of ours goes through right before it is executed; of one that could
 * be. False: it needs an answer and has none, and only a mistake of ours can have brought it here. */
bool run_may_execute(const struct run *run, const struct call *call);

/* The id of the question about a call: a new one, unless it was asked before a crash. */
void run_question_id(const struct run *run, const struct call *call, char id[ID_LIMIT + 1]);

/* In a run of a thread, questions about the first `count` calls become calls of the reserved function. */
void run_add_questions(struct run *run, unsigned count);

/* True when calls were set aside, or their results are withheld. */
bool run_has_questions(const struct run *run);

/* The questions of a response become items; those of all runs, rows. */
void run_show_approvals(struct run *run);

/* The same for a response that waits for the answers itself: rows, which `owner` has taken up. */
void run_store_questions(struct run *run, const char *owner);

/* What it waits for: the questions as items, or their ids alone. A list of objects, new reference. */
enum question_part { QUESTION_WHOLE, QUESTION_ID };
json_t *run_open_questions(const struct run *run, enum question_part part);

/* All of them were answered: {question id: {"approve", "reason"}}. */
void run_take_answers_held(struct run *run, const json_t *answers);

/* The calls that the response was made to go on with; true when there are any. */
bool run_take_decisions(struct run *run);

/* What was decided about a call of before this stay. */
void run_restore_decision(struct run *run, struct call *call, const struct call_row *rows,
                          size_t count);

/* True when a row is a question of a run of a thread, and no call of the model's. */
bool run_is_question(const struct call_row *row);

/* What the model is told of a refused call. The caller frees. */
char *run_refusal_text(const struct call *call);

#endif
