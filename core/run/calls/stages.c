/*
 * The stages of a turn's calls, and what follows the last one.
 *
 * All calls of a turn pass a stage together. So a person who approves a call sees what would be
 * executed, with every reference resolved, and a client gets the questions about all calls at
 * once. The alternative, each call at its own pace, would start the quick ones earlier. But
 * then a question about the third call could come while the first one already runs, and the
 * order of the stream would depend on how fast the store answers.
 *
 * A stage that waits has nothing on a stack. Its position is run->calls.stage, its progress is
 * in the calls, and what matters after a crash is in the rows of the calls. So recovery only
 * restores the calls (restore.c) and walks the list again. The same walk continues a run after
 * a pause or a hold.
 *
 * What must hold: a stage may run again for a call that has passed it, and must then change
 * nothing. Each stage tests for what it leaves behind: call->resolved, call->plan,
 * call->recall, the status.
 *
 * At most one stage waits at any time, because the list is one position. run_stop_tools() ends
 * whatever it waits for, so no callback comes for a run that was cancelled or has expired.
 */

#include "core/run/calls/stages.h"

#include "core/base/compiler.h"
#include "core/run/approval/run_approvals.h"
#include "core/run/approval/run_grants.h"
#include "core/run/approval/run_hold.h"
#include "core/run/approval/run_results.h"
#include "core/run/calls/offload.h"
#include "core/run/calls/run_calls.h"
#include "core/run/calls/run_plan.h"
#include "core/run/calls/run_programs.h"
#include "core/run/calls/run_servers.h"
#include "core/run/calls/run_variables.h"

/* ---- The short stages ---- */

static bool waits_for_client(const struct run *run)
{
    for (unsigned i = 0; i < run->calls.count; i++) {
        if (run->calls.list[i].status == CALL_OPEN)
            return true;
    }
    return false;
}

/* All calls of the turn were final and succeeded, so their output is the answer. */
static bool answered_by_tools(const struct run *run)
{
    for (unsigned i = 0; i < run->calls.count; i++) {
        if (!run->calls.list[i].final || run->calls.list[i].status != CALL_SUCCEEDED)
            return false;
    }
    return run->calls.count > 0;
}

static enum stage_step ask_approvals(struct run *run)
{
    run_ask_approvals(run);
    return STAGE_PASSED;
}

static enum stage_step ask_results(struct run *run)
{
    run_close_item(run, ITEM_COMPLETED);
    run_ask_results(run);
    return STAGE_PASSED;
}

/* The last stage. The run pauses for its client, ends, or begins the next turn. */
static enum stage_step end_calls(struct run *run)
{
    bool client;

    run_show_final_calls(run);
    run_show_approvals(run);
    client = waits_for_client(run);
    if (client && run_is_assistants(run)) {
        /* With open questions the round is not over. It continues when they are answered,
         * and restore.c counts its calls then. */
        if (!run_has_questions(run))
            chain_end_round(&run->chain);
        run_require_action(run);
        return STAGE_PASSED;
    }
    chain_end_round(&run->chain);
    run_close_step(run, STEP_COMPLETED);
    /* A response does not pause: it ends with its calls open, and the next request continues
     * it. */
    if (client || run_has_questions(run) || answered_by_tools(run)) {
        run_finish(run);
        return STAGE_PASSED;
    }
    run_end_turn(run);
    run_begin_turn(run);
    return STAGE_PASSED;
}

/* ---- The list ---- */

static enum stage_step (*const stages[])(struct run *run) = {
    run_step_programs, /* programs run until they wait for calls, which join the others */
    run_resolve_calls, /* references in arguments become values */
    run_plan_calls,    /* tools say what they are about to do */
    run_recall_grants, /* remembered answers are looked up */
    ask_approvals,     /* calls that need an approval are set aside */
    run_execute_calls, /* the others are executed, or end with the reason why not */
    ask_results,       /* withheld results get their questions */
    run_hold_calls,    /* a response that may hold waits for the answers, then walks again */
    run_continue_programs, /* programs whose calls have ended: the walk begins again */
    end_calls,
};

void run_walk_stages(struct run *run)
{
    run->calls.stage = 0;
    run_pass_stage(run);
}

void run_pass_stage(struct run *run)
{
    /* What a stage waits for may happen before it returns: everything is committed already,
     * or all calls are refused. Then the stage calls this function from inside the loop
     * below, the rest of the list is walked there, and it returns STAGE_WAITS. So the
     * position moves before the call. */
    while (run->calls.stage < COUNT_OF(stages)) {
        if (stages[run->calls.stage++](run) == STAGE_WAITS)
            return;
    }
}

/* ---- The beginning and the end of a walk ---- */

/* The server drains, and something is left to do here: the next owner does it from the rows of the
 * calls. A tool that began here might be cut when the drain is over. */
static bool hands_over(const struct run *run)
{
    if (!run->drain_wanted || !run_is_resumable(run))
        return false;
    for (unsigned i = 0; i < run->calls.count; i++) {
        if (run->calls.list[i].status != CALL_OPEN)
            return true;
    }
    return false;
}

void run_start_calls(struct run *run)
{
    run->turn.choice_spent = true;
    for (unsigned i = 0; i < run->calls.count; i++)
        run_note_call(run, &run->calls.list[i], CALL_WAITING, NULL);
    if (hands_over(run))
        run_release(run);
    else
        run_walk_stages(run);
}

/* The last turn of a chain offers no tools (chain.h). If the model calls some anyway, none
 * is executed here. Its text is the answer, and without text the response is incomplete. A
 * client's call was shown as the model made it, so the client may execute it as usual. */
void run_dispatch_tools(struct run *run)
{
    if (!run->turn.last_answer || waits_for_client(run))
        run_start_calls(run);
    else if (run_has_answered(run))
        run_finish(run);
    else
        run_truncate(run, "max_output_tokens");
}

void run_stop_tools(struct run *run)
{
    run->writing.then = NULL;
    run->calls.stage = COUNT_OF(stages);
    run_stop_hold(run);
    run_stop_offload(run);
    run_stop_server_calls(run);
    run_stop_execution(run);
}
