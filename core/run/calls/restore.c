/*
 * Calls of an earlier residency: after a crash, or when a client has answered. Their rows say how far
 * each had come. The events that led there are replayed, and the calls walk the stages again.
 */

#include "core/run/calls/run_calls.h"

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/approval/run_approvals.h"
#include "core/run/approval/run_results.h"
#include "core/run/calls/run_variables.h"

/* ---- What the history has of them ---- */

/* Models use an id again: it is the call of this turn. */
static bool is_of_call(const struct run *run, const struct item_row *item,
                       const struct call_row *row)
{
    return run_has_made(run, item) && item->turn == row->turn &&
           strcmp(item->call_id, row->call_id) == 0;
}

static const struct item_row *find_item(const struct run *run, const struct call_row *row)
{
    for (size_t i = run->history_count; i-- > 0;) {
        if (is_of_call(run, &run->history[i], row))
            return &run->history[i];
    }
    return NULL;
}

/* Its output has become an item before a crash. */
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

/* One that a limit has stopped says so, and so does one that was refused; any other was executed. */
static void take_end(struct run *run, struct call *call, const json_t *stored)
{
    enum chain_stop stop = chain_reason_parse(json_get_string(stored, "reason", NULL));
    bool refused = json_get_bool(stored, "refused", false);
    bool failed = refused || json_object_get(stored, "error");

    if (stop != CHAIN_CONTINUES) {
        run->chain.stop = stop;
        call_move(call, CALL_EV_LIMIT);
        call_move(call, CALL_EV_FAIL);
        return;
    }
    if (json_get_string(json_object_get(stored, "final"), "rejected", NULL))
        call_move(call, CALL_EV_REFUSE);
    if (!refused) {
        chain_count_call(&run->chain);
        call_move(call, CALL_EV_ADMIT);
        call_move(call, CALL_EV_EXECUTE);
    }
    call_move(call, failed ? CALL_EV_FAIL : CALL_EV_SUCCEED);
}

/* A call of the client's that was answered is done with. */
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
    if (row->client != call_is_clients(call))
        call_move(call, row->client ? CALL_EV_HAND_OVER : CALL_EV_TAKE_BACK);
    if (row->client && row->state == CALL_DONE)
        call_move(call, CALL_EV_ANSWER);
    if (row->client || row->state != CALL_DONE)
        return call;

    stored = json_parse_own(row->output ? row->output : "{}");
    take_end(run, call, stored);
    run_restore_withheld(call, stored);
    if (call->final && call->status != CALL_SKIPPED && !find_item(run, row))
        run_end_final_call_again(run, call, stored);
    return call;
}

/* Goes on with a turn whose calls were asked for before this server had the run. */
void run_resume_calls(struct run *run, const struct call_row *rows, size_t count)
{
    run_clear_calls(run);
    chain_reopen_round(&run->chain);
    run->turn.choice_spent = true;
    for (size_t i = 0; i < count; i++)
        run_restore_decision(run, restore_call(run, &rows[i]), rows, count);
    run_walk_stages(run);
}

/* ---- What the client has answered ---- */

static bool has_question(const struct call_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (run_is_question(&rows[i]))
            return true;
    }
    return false;
}

/* What the answers were about goes on once the tools are known. */
static void keep_rows(struct run *run, const struct call_row *rows, size_t count)
{
    run->calls.answered = mem_new_array(struct call_row, count);
    run->calls.answered_count = count;
    for (size_t i = 0; i < count; i++)
        call_row_copy(&run->calls.answered[i], &rows[i]);
}

void run_take_answers(struct run *run, const struct call_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct item_row *asked = find_item(run, &rows[i]);
        struct item *item;

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
    if (has_question(rows, count)) {
        keep_rows(run, rows, count);
        return;
    }
    run_close_step(run, STEP_COMPLETED);
    run_end_turn(run);
}

void run_go_on(struct run *run)
{
    struct call_row *rows = TAKE(run->calls.answered);
    size_t count = run->calls.answered_count;

    run->calls.answered_count = 0;
    if (rows)
        run_resume_calls(run, rows, count);
    else if (run->row.turn || !run_take_decisions(run))
        run_ask_model(run);
    call_rows_free(rows, count);
}
