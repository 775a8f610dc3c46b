/*
 * Calls of an earlier residency: after a crash, or when a client has answered.
 *
 * The store knows four states of a call (enum call_state), memory knows many more
 * (call_status.h). A restored call begins as proposed, or open if it is the client's, and the
 * events that led to its row are replayed through call_move(). So the table in core/domain
 * stays the only place that knows which status may follow another, and the chain counts the
 * calls of this turn again.
 *
 *   row            the call becomes
 *   waiting        proposed: it passes all stages
 *   running        proposed, and `begun`: execute.c decides whether it may run again
 *   done           its end: succeeded, failed, refused or skipped, as its output says
 *   client, done   answered
 *
 * Then the stages are walked from the beginning. Each skips the calls that have passed it.
 *
 * The history is read for one thing only: whether the item of a call, or of its answer, was
 * stored. A crash can come between two writes, and what is missing is then made again.
 *
 * After a pause the run comes back with the client's answers (run_take_answers()). They become
 * items at once. Calls that waited for an approval wait a little longer, until the run knows
 * its tools again: their rows are kept, and run_continue() resumes them when all tools are
 * listed.
 */

#include "core/run/calls/run_calls.h"
#include "core/run/calls/run_programs.h"

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/approval/run_approvals.h"
#include "core/run/approval/run_results.h"
#include "core/run/calls/run_variables.h"

/* ---- Items of the history ---- */

/* The turn counts, too: some models use the same call ids again in every turn. */
static bool is_of_call(const struct run *run, const struct item_row *item,
                       const struct call_row *row)
{
    return run_has_made(run, item) && item->turn == row->turn &&
           strcmp(item->call_id, row->call_id) == 0;
}

/* The first of the two items of a call that was executed here (answered_call.h): it has no output. */
static bool lacks_output(const struct item_row *item, const struct call_row *row)
{
    return !row->client && item_type_is_client_call(item->type);
}

/* An item that a crash has cut does not count: the call gets another one. */
static const struct item_row *find_item(const struct run *run, const struct call_row *row)
{
    for (size_t i = run->history_count; i-- > 0;) {
        const struct item_row *item = &run->history[i];

        if (is_of_call(run, item, row) && !lacks_output(item, row) && !item_row_is_cut(item))
            return item;
    }
    return NULL;
}

/* The client's output was stored as an item before a crash. */
static bool was_answered(const struct run *run, const struct call_row *row)
{
    for (size_t i = run->history_count; i-- > 0;) {
        if (is_of_call(run, &run->history[i], row) &&
            run->history[i].type == ITEM_FUNCTION_CALL_OUTPUT)
            return true;
    }
    return false;
}

/* ---- Calls ---- */

/* Replays how a call ended, from its stored output (put_result() in run_output.c). It names
 * a limit that stopped the call, or says that it was refused; otherwise the tool was
 * executed. */
static void take_end(struct run *run, struct call *call, const json_t *stored)
{
    enum chain_stop stop = chain_reason_parse(json_get_string(stored, "reason", NULL));
    bool refused = json_get_bool(stored, "refused", false);
    bool failed = refused || json_object_get(stored, "error");

    call->refused = refused;
    if (stop != CHAIN_CONTINUES) {
        run->chain.stop = stop;
        call_move(call, CALL_EV_LIMIT);
        call_move(call, CALL_EV_FAIL);
        return;
    }
    if (json_get_string(json_object_get(stored, "end"), "rejected", NULL))
        call_move(call, CALL_EV_REFUSE);
    if (!refused) {
        chain_count_call(&run->chain);
        call_move(call, CALL_EV_ADMIT);
        call_move(call, CALL_EV_EXECUTE);
    }
    call_move(call, failed ? CALL_EV_FAIL : CALL_EV_SUCCEED);
}

static struct call *restore_call(struct run *run, const struct call_row *row)
{
    struct call *call = run_add_call(run, row->call_id, row->tool ? row->tool : "");
    json_auto_t *stored = NULL;

    run->calls.turn = row->turn;
    if (row->arguments)
        buf_add_text(&call->arguments, row->arguments);
    call->resolved = resolved_call_restore(row->resolved);
    call->extra = row->extra ? json_parse_own(row->extra) : NULL;
    call->begun = row->state != CALL_WAITING;
    run_restore_program(run, call);
    /* The row says who executes the call, not the tools that the run has now: the client may
     * have the call already, or it never got it because of its arguments. */
    if (row->client != call_is_clients(call))
        call_move(call, row->client ? CALL_EV_HAND_OVER : CALL_EV_TAKE_BACK);
    if (row->client && row->state == CALL_DONE)
        call_move(call, CALL_EV_ANSWER);
    if (row->client || row->state != CALL_DONE)
        return call;

    stored = json_parse_own(row->output ? row->output : "{}");
    take_end(run, call, stored);
    run_restore_withheld(call, stored);
    /* Its item may be missing: it waited for the floor, or for the end of all calls. */
    if (json_object_get(stored, "end") && !find_item(run, row))
        run_restore_end(run, call, stored);
    return call;
}

/* Continues a turn whose model has answered in an earlier residency: the model is not requested
 * again. */
void run_resume_calls(struct run *run, const struct call_row *rows, size_t count)
{
    run_clear_calls(run);
    chain_reopen_round(&run->chain);
    run->turn.choice_spent = true;
    for (size_t i = 0; i < count; i++)
        run_restore_decision(run, restore_call(run, &rows[i]), rows, count);
    run_show_waiting(run);
    run_walk_stages(run);
}

/* ---- Answers of the client ---- */

void run_take_answers(struct run *run, const struct call_row *rows, size_t count)
{
    bool has_question = false;

    for (size_t i = 0; i < count; i++) {
        const struct item_row *asked = find_item(run, &rows[i]);
        struct item *item;

        has_question |= run_is_question(&rows[i]);
        if (!rows[i].client || rows[i].state != CALL_DONE || run_is_question(&rows[i]) ||
            was_answered(run, &rows[i]))
            continue;
        item = run_new_item(run, ITEM_FUNCTION_CALL_OUTPUT);
        (void)snprintf(item->row.call_id, sizeof(item->row.call_id), "%s", rows[i].call_id);
        item->row.turn = rows[i].turn;
        item->fields = json_build("{s:s, s:s}", "call_id", rows[i].call_id, "output",
                                  rows[i].output ? rows[i].output : "");
        if (asked)
            memcpy(item->row.step_id, asked->step_id, ID_SIZE);
        run_store_silently(run, item, ITEM_COMPLETED);
    }
    run->turn.choice_spent = true;
    if (has_question) {
        /* The calls that were approved need their tools, which are not listed yet:
         * run_continue(). */
        run->calls.answered = mem_new_array(struct call_row, count);
        run->calls.answered_count = count;
        for (size_t i = 0; i < count; i++)
            call_row_copy(&run->calls.answered[i], &rows[i]);
        return;
    }
    run_close_step(run, STEP_COMPLETED);
    run_end_turn(run);
}

/* What an earlier response has left: programs, and calls that were approved. Programs first, for some of these calls
 * may be theirs. False: nothing. */
static bool take_over(struct run *run)
{
    bool programs = !run_is_assistants(run) && run_take_programs(run);

    return run_take_decisions(run) || programs;
}

/* The tools are listed. The answered calls continue, or the calls that a response took over
 * from the one before, or the model gets its next turn. */
void run_continue(struct run *run)
{
    struct call_row *rows = TAKE(run->calls.answered);
    size_t count = run->calls.answered_count;

    run->calls.answered_count = 0;
    if (rows)
        run_resume_calls(run, rows, count);
    else if (!run->row.turn && take_over(run))
        run_start_calls(run);
    else
        run_begin_turn(run);
    call_rows_free(rows, count);
}
