#ifndef RUNNEL_CORE_RUN_APPROVAL_RUN_APPROVALS_H
#define RUNNEL_CORE_RUN_APPROVAL_RUN_APPROVALS_H

#include <jansson.h>

#include "core/domain/permission.h"
#include "core/run/turn/run.h"

/*
 * run_approvals.h -- calls that need an approval of a person before they are executed.
 *
 * Before any call of a turn starts, each is compared with the policies. A call that needs no
 * approval runs. Every other one gets a question (an approval request) and waits:
 *
 *   a response      shows an mcp_approval_request for each, and ends "completed" with the calls
 *                   open. The next response brings the answers in its settings (struct
 *                   run_decision).
 *   a held one      keeps its request open and reads the answers itself (run_hold.h).
 *   a thread's run  pauses with "requires_action" and one call of the function runnel_approval
 *                   for each. The outputs of these calls are the answers.
 *
 * The arguments are frozen: what is executed later is what the person saw. An approved call is
 * executed before the next turn of the model. For a refused call the model receives the reason.
 * An approval counts for the tool as it was shown: if its definition has changed since, a new
 * question is asked. A call that a remembered answer decides (run_grants.h) gets no question.
 *
 * All functions are called on the run's loop.
 */

/* The reasons that the model and the client read when a refusal gives none. */
#define RUN_APPROVAL_REFUSED "Execution rejected by user"
#define RUN_PERMISSION_REFUSED                            \
    "The user rejected permission to use this tool. You " \
    "may try again with different parameters."
#define RUN_APPROVAL_REMEMBERED "Previously rejected by user"

/* ---- Policy ---- */

/* The effective policy of a tool in this run: the strictest of all levels that permission.h
 * lists. */
struct permission run_permission_of(const struct run *run, const struct tool_use *use);

/* Which answers about a tool become grants (grant.h). */
enum memory_policy {
    MEMORY_NONE,       /* none: every call needs a new approval */
    MEMORY_ON_REQUEST, /* those with `remember` */
    MEMORY_ALWAYS,     /* all */
};
enum memory_policy run_memory_policy(const struct run *run, const struct tool_use *use);

/* Why no person can approve in this run, as a reason for the refusal; NULL if one can. */
const char *run_no_approver(const struct run *run, enum approval_kind kind);

/* The last check, right before a server-side call is executed. False: the call needs an
 * approval and has none. An earlier stage should have caught that, so false means a bug in
 * the server. */
bool run_may_execute(const struct run *run, const struct call *call);

/* ---- Questions ---- */

/* The stage before execution: calls that need an approval are set aside, and calls that cannot
 * get one are refused. */
void run_ask_approvals(struct run *run);

/* The id of the question about a call. It is new, unless the question was asked before a crash:
 * clients may have seen that id. */
void run_question_id(const struct run *run, const struct call *call, char id[ID_LIMIT + 1]);

/* In a thread's run, adds a call of runnel_approval for each question about the first `count`
 * calls that has none yet. Other runs: does nothing. Pointers to calls become invalid. */
void run_add_questions(struct run *run, unsigned count);

/* True if a call waits for an approval, or the result of one is withheld. */
bool run_has_questions(const struct run *run);

/* At the end of the turn: the questions become rows, in a response items too, and are sent to
 * the webhook if that is the channel. Clients see them after they are committed. */
void run_show_approvals(struct run *run);

/* The rows and the webhook alone. `owner` is the response that takes the answers up, for one
 * that holds; "" for none. */
void run_store_questions(struct run *run, const char *owner);

/* The open questions: whole, in the form of their items, or {"id"} only. An array, new
 * reference. */
enum question_part { QUESTION_WHOLE, QUESTION_ID };
json_t *run_open_questions(const struct run *run, enum question_part part);

/* ---- Answers ---- */

/* To a response that holds: {question id: {"approve", "reason"}}, with an answer to each open
 * question. */
void run_take_held_answers(struct run *run, const json_t *answers);

/* To the previous response: adds the calls that this one was created to continue. False if the request brought no
 * answers. */
bool run_take_decisions(struct run *run);

/* After a pause or a crash: applies the answer to a call that was just restored, if it has one.
 * `rows` are all calls of its turn. */
void run_restore_decision(struct run *run, struct call *call, const struct call_row *rows,
                          size_t count);

/* True if a row is a call of runnel_approval, which the server made, and not the model. */
bool run_is_question(const struct call_row *row);

/* The output of a refused call, for the model. The caller frees. */
char *run_refusal_text(const struct call *call);

#endif
