/*
 * The stages of a turn's calls, and what follows the last one.
 *
 * Calls of a turn go through the stages together: whoever is asked for an approval sees what would
 * be executed, and a client hears of all calls at once. The alternative, each call on its own way,
 * would start the quick ones earlier, but a question about the third call would come while the
 * first one already runs, and the order in the stream would depend on the store.
 *
 * A stage that waits keeps nothing on a stack: its place is run->calls.stage, its progress is in the calls,
 * and what matters after a crash is in the rows of the calls. Recovery therefore restores the calls
 * (restore.c) and walks the same list again.
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
#include "core/run/calls/run_servers.h"
#include "core/run/calls/run_variables.h"

/* ---- What stands at the end of the list ---- */

static bool waits_for_client(const struct run *run)
{
    for (unsigned i = 0; i < run->calls.count; i++) {
        if (run->calls.list[i].status == CALL_OPEN)
            return true;
    }
    return false;
}

/* Every call of the turn was a final tool's, and none failed: the answer has been given. */
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

/* The turn is over, or the run pauses for its client. */
static enum stage_step end_calls(struct run *run)
{
    bool client;

    run_show_final_calls(run);
    run_show_approvals(run);
    client = waits_for_client(run);
    if (client && run_is_assistants(run)) {
        /* With approvals among them the same round goes on when they are answered: its calls are
         * restored then, and counted. */
        if (!run_has_questions(run))
            chain_end_round(&run->chain);
        run_require_action(run);
        return STAGE_PASSED;
    }
    chain_end_round(&run->chain);
    run_close_step(run, STEP_COMPLETED);
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
    run_resolve_calls, /* references in arguments become values */
    run_plan_calls,    /* tools say what they are about to do */
    run_recall_grants, /* earlier answers are looked up */
    ask_approvals,     /* what a person must approve is set aside */
    run_execute_calls, /* what is due is executed, or told why not */
    ask_results,       /* results that a person must see first are withheld */
    run_hold_calls,    /* a response that may hold waits for the answers, then walks again */
    end_calls,
};

void run_walk_stages(struct run *run)
{
    run->calls.stage = 0;
    run_pass_stage(run);
}

void run_pass_stage(struct run *run)
{
    /* A stage may pass at once, or from inside its own beginning: its number is taken before. */
    while (run->calls.stage < COUNT_OF(stages)) {
        if (stages[run->calls.stage++](run) == STAGE_WAITS)
            return;
    }
}

/* ---- Its beginning and its end ---- */

void run_start_calls(struct run *run)
{
    run->turn.choice_spent = true;
    for (unsigned i = 0; i < run->calls.count; i++)
        run_note_call(run, &run->calls.list[i], CALL_WAITING, NULL);
    run_walk_stages(run);
}

/* A model that was asked for an answer without tools, and calls some all the same, gets none of them
 * executed. What it said besides is the answer; without that the response is incomplete. */
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
