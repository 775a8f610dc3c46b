/*
 * Our calls: resolved, executed by the executor, whose output comes back through the channel in
 * floor order, and what the run does when all have ended.
 */

#include "core/run/approval/run_approvals.h"
#include "core/run/calls/run_calls.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/memory/skill.h"
#include "core/run/approval/run_grants.h"
#include "core/run/approval/run_hold.h"
#include "core/run/approval/run_results.h"
#include "core/run/calls/run_plan.h"
#include "core/run/calls/run_servers.h"
#include "core/run/calls/run_variables.h"
#include "core/run/catalog/tool_settings.h"
#include "core/tool/arguments.h"
#include "core/tool/files_view.h"
#include "core/tool/registry.h"

/* Outputs that one call may be ahead of its loop. */
#define CHANNEL_CAPACITY 64

/* ---- To their workers ---- */

static void after_tools(struct run *run);

/* Why the client could not be asked. */
static void explain_announcement(const struct call *call, struct err *err)
{
    const char *arguments = call->arguments.data ? call->arguments.data : "";
    struct tool_announcement shown = {0};

    err_set(err, ERR_INVALID, "The arguments cannot be used.");
    (void)!call->use->handler->announce(call->use->own, arguments, &shown, err);
    json_decref(shown.fields);
    json_decref(shown.opening);
}

/* Why a call cannot even start: told to the model, which may do better. */
enum err_code run_prepare_call(struct run *run, const struct call *call, json_t **ret_args,
                               struct err *err)
{
    const char *text = call->arguments.length ? call->arguments.data : "{}";
    struct schema_budget *budget = call->use && call->use->remote ? &run->checks : NULL;
    json_auto_t *parameters = NULL;
    enum err_code rc;

    if (!call->use)
        return err_set(err, ERR_NOT_FOUND, "Tool %s not found", call->name);
    if (tool_use_is_clients(call->use)) {
        explain_announcement(call, err);
        return err->code;
    }
    parameters = tool_use_parameters(call->use);
    if (call->resolved && call->resolved->error) {
        *err = *call->resolved->error;
        return err->code;
    }
    if (call->resolved) {
        *ret_args = json_deep_copy(call->resolved->args);
        rc = tool_arguments_complete(call->name, parameters, *ret_args, budget, err);
    } else {
        rc = tool_arguments_read(call->name, parameters, text, budget, ret_args, err);
    }
    if (rc && call->use->handler->explain)
        call->use->handler->explain(err);
    return rc;
}

static void refuse_call(struct run *run, const struct call *call, const struct err *err)
{
    struct tool_output output = {.kind = TOOL_OUTPUT_END, .rc = err->code, .error = *err};
    enum err_code rc = tool_channel_put(run->channel, call->channel_position, &output);

    (void)rc; /* closed: then nobody wants to hear it */
}

/* A limit was reached: it is not executed, and its output says so. */
static void leave_call(struct run *run, struct call *call)
{
    struct err err;

    call->unexecuted = true;
    err_set(&err, ERR_LIMIT, "%s", chain_reason(run->chain.stop));
    refuse_call(run, call, &err);
}

/* Which files which tool type may see, of the request and of the attachments of messages. Made
 * once, when the first tool runs. */
static const json_t *files_view(struct run *run)
{
    if (run->files)
        return run->files;
    run->files = files_view_from_resources(json_object_get(run->config, "tool_resources"));
    for (size_t i = 0; i < run->history_count; i++) {
        const struct item_row *item = &run->history[i];

        if (item->type == ITEM_MESSAGE && item->body && strstr(item->body, "\"attachments\"")) {
            json_auto_t *body = json_parse_own(item->body);

            files_view_add_attachments(run->files, json_object_get(body, "attachments"));
        }
    }
    return run->files;
}

/* Tools of a group stand under its label. */
static const json_t *visible_files(struct run *run, const struct tool_use *use)
{
    return files_view_of(files_view(run), use->label ? use->label : use->type);
}

static const char interrupted[] =
    "The server restarted while this tool ran; it may or may not have taken effect.";

/* Why a call that was asked about does not run. */
static bool is_stopped(const struct call *call, struct err *err)
{
    if (call->rejected)
        err_set(err, ERR_FORBIDDEN, "Execution not approved");
    else if (call->plan && call->plan->error)
        *err = *call->plan->error;
    else if (call->lost && !call_may_repeat(call))
        err_set(err, ERR_INTERNAL, "%s", interrupted);
    else
        return false;
    return true;
}

/* Whatever way it came, without the answer that it needs it ends here. */
static void refuse_unasked(struct run *run, const struct call *call)
{
    struct err err;

    log_error("run %s: call %s of %s has come to be executed without the answer that it needs",
              run->row.id, call->id, call->use->name);
    err_set(&err, ERR_INTERNAL,
            "An error of the server: nobody was asked about this call. It was not executed.");
    refuse_call(run, call, &err);
}

/* To whoever does it. */
static void execute(struct run *run, struct call *call, json_t *args)
{
    call->executed = true;
    if (call->use->remote) {
        run_call_server(run, call, args);
        return;
    }
    tool_executor_submit(
        engine_options(run->engine)->executor,
        &(struct tool_call_spec){
            .handler = call->use->handler,
            .channel = run->channel,
            .position = call->channel_position,
            .call_id = call->id,
            .project = run->row.project,
            .run = run->row.id,
            .thread = run->row.thread_id,
            .user = tool_settings_user(run->config),
            .args = args,
            .config = call->use->entry,
            .files = visible_files(run, call->use),
            .context = run->context,
            .skills = json_object_get(json_object_get(run->config, "runnel"), SKILLS_KEY),
            .variables = run_variable_access_of(run, call->use->handler),
            /* What was approved is what references had become. */
            .resolved = call->resolved || *call->approval_id,
        });
}

static void start_call(struct run *run, struct call *call)
{
    json_auto_t *args = NULL;
    struct err err;

    call->started_at = clock_wall_us();
    if (is_stopped(call, &err)) {
        refuse_call(run, call, &err);
        return;
    }
    if (!(call->begun ? chain_admit_begun(&run->chain) : chain_admit(&run->chain))) {
        leave_call(run, call);
        return;
    }
    call->counted = true;
    if (run_prepare_call(run, call, &args, &err)) {
        call->misread = call->use;
        refuse_call(run, call, &err);
        return;
    }
    if (run_may_execute(run, call))
        execute(run, call, args);
    else
        refuse_unasked(run, call);
}

static bool is_parallel(const struct run *run)
{
    return json_get_bool(run->config, "parallel_tool_calls", true);
}

/* All at once, or one after another when the request says so. */
static void start_calls(struct run *run)
{
    for (unsigned i = 0; i < run->call_count; i++) {
        struct call *call = &run->calls[i];

        if (!call_is_ours(call) || call->channel_position != run->started_calls)
            continue;
        run->started_calls++;
        start_call(run, call);
        if (!is_parallel(run))
            return;
    }
}

static void start_committed_calls(struct run *run)
{
    if (run->life != RUN_ALIVE || !run->channel)
        return;
    start_calls(run);
    run_collect_output(run);
}

/* What may have an effect is in the store before it has one. */
static void start_next_calls(struct run *run)
{
    unsigned next = run->started_calls;
    unsigned end = is_parallel(run) ? run->server_calls : next + 1;

    for (unsigned i = 0; i < run->call_count; i++) {
        const struct call *call = &run->calls[i];

        if (call_is_ours(call) && call->channel_position >= next &&
            call->channel_position < end)
            run_note_call(run, call, CALL_RUNNING, NULL);
    }
    run_after_commit(run, start_committed_calls);
}

static void open_channel(struct run *run)
{
    AUTO_FREE bool *hidden = mem_new_array(bool, run->call_count);

    for (unsigned i = 0; i < run->call_count; i++) {
        struct call *call = &run->calls[i];

        if (!call_is_ours(call))
            continue;
        hidden[run->server_calls] = call->hidden;
        call->channel_position = run->server_calls++;
    }
    if (!run->server_calls)
        return;
    run->channel = engine_channel(run, run->server_calls, hidden, CHANNEL_CAPACITY);
}

static bool waits_for_client(const struct run *run)
{
    for (unsigned i = 0; i < run->call_count; i++) {
        if (run->calls[i].client && !run->calls[i].settled)
            return true;
    }
    return false;
}

/* It was asked for an answer without tools, and called some all the same: they are not run. What
 * it said besides is the answer; if that is nothing, the response is incomplete. */
static void end_without_calls(struct run *run)
{
    if (run_has_answered(run))
        run_finish(run);
    else
        run_truncate(run, "max_output_tokens");
}

static void dispatch_recalled(struct run *run)
{
    run_ask_approvals(run);
    open_channel(run);
    if (run->channel)
        start_next_calls(run);
    else
        after_tools(run);
}

static void dispatch_resolved(struct run *run)
{
    run_recall_grants(run, dispatch_recalled);
}

static void plan_resolved(struct run *run)
{
    run_plan_calls(run, dispatch_resolved);
}

void run_start_calls(struct run *run)
{
    run->choice_spent = true;
    for (unsigned i = 0; i < run->call_count; i++)
        run_note_call(run, &run->calls[i], CALL_WAITING, NULL);
    run_resolve_calls(run, plan_resolved);
}

void run_dispatch_tools(struct run *run)
{
    if (run->last_answer && !waits_for_client(run)) {
        end_without_calls(run);
        return;
    }
    run_start_calls(run);
}

void run_stop_tools(struct run *run)
{
    run->then = NULL;
    engine_hang_up(run);
    run_stop_server_calls(run);
    run_stop_resolving(run);
    run_stop_planning(run);
    run_stop_recalling(run);
    run_stop_hold(run);
    if (!run->channel)
        return;
    tool_channel_close(run->channel);
    tool_channel_release(TAKE(run->channel));
}

/* ---- When all calls of ours have ended ---- */

/* Every call of the turn was a final tool's, and none failed: the answer has been given. */
static bool answered_by_tools(const struct run *run)
{
    for (unsigned i = 0; i < run->call_count; i++) {
        if (!run->calls[i].final || run->calls[i].failed || run->calls[i].unexecuted)
            return false;
    }
    return run->call_count > 0;
}

/* A turn that goes on with the answers to its questions is the same round: its calls are restored
 * then, and counted. */
static void pause(struct run *run)
{
    if (!run_has_questions(run))
        chain_end_round(&run->chain);
    run_require_action(run);
}

static void end_calls(struct run *run)
{
    bool client;

    run_show_final_calls(run);
    run_show_approvals(run);
    client = waits_for_client(run);
    if (client && run_is_assistants(run)) {
        pause(run);
        return;
    }
    chain_end_round(&run->chain);
    run_close_step(run, STEP_COMPLETED);
    if (client || run_has_questions(run) || answered_by_tools(run)) {
        run_finish(run);
        return;
    }
    run_end_turn(run);
    run_ask_model(run);
}

/* What was asked about runs now, or is refused, beside what has ended before. */
static void start_answered(struct run *run)
{
    run->server_calls = run->started_calls = run->ended_calls = 0;
    open_channel(run);
    if (run->channel)
        start_next_calls(run);
    else
        after_tools(run);
}

static void after_tools(struct run *run)
{
    run_close_item(run, ITEM_COMPLETED);
    run_ask_results(run);
    if (!run_hold(run, start_answered, end_calls))
        end_calls(run);
}

/* ---- What comes back ---- */

/* Without parallel calls the next one waits for this one's end. */
static void start_what_waited(struct run *run)
{
    if (run->started_calls < run->server_calls && run->started_calls == run->ended_calls)
        start_next_calls(run);
}

void run_collect_output(struct run *run)
{
    struct tool_output output;

    run_collect_resolved(run);
    run_collect_plans(run);
    run_collect_recalled(run);
    run_collect_hold(run);
    while (run->channel && tool_channel_take(run->channel, &output)) {
        run_take_output(run, &output);
        if (output.kind == TOOL_OUTPUT_END)
            start_what_waited(run);
        tool_output_clear(&output);
    }
    if (run->channel && tool_channel_finished(run->channel)) {
        run_stop_tools(run);
        after_tools(run);
    }
}

/* ---- What was there before ---- */

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
    run->answered = mem_new_array(struct call_row, count);
    run->answered_count = count;
    for (size_t i = 0; i < count; i++)
        call_row_copy(&run->answered[i], &rows[i]);
}

void run_go_on(struct run *run)
{
    struct call_row *rows = TAKE(run->answered);
    size_t count = run->answered_count;

    run->answered_count = 0;
    if (rows)
        run_resume_calls(run, rows, count);
    else if (run->row.turn || !run_take_decisions(run))
        run_ask_model(run);
    call_rows_free(rows, count);
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
    run->choice_spent = true;
    if (has_question(rows, count)) {
        keep_rows(run, rows, count);
        return;
    }
    run_close_step(run, STEP_COMPLETED);
    run_end_turn(run);
}

/* One that a limit has stopped says so, and so does one that was refused; any other was executed. */
static void take_reason(struct run *run, struct call *call, const json_t *stored)
{
    enum chain_stop stop = chain_reason_parse(json_get_string(stored, "reason", NULL));

    call->unexecuted = stop != CHAIN_GOES_ON;
    if (call->unexecuted)
        run->chain.stop = stop;
    else if (!json_get_bool(stored, "refused", false))
        chain_count_call(&run->chain);
}

/* A call of the client's that was answered is done with. */
static struct call *restore_call(struct run *run, const struct call_row *row)
{
    struct call *call = run_add_call(run, row->call_id, row->tool ? row->tool : "");
    json_auto_t *stored = NULL;

    run->call_turn = row->turn;
    if (row->arguments)
        buf_add_text(&call->arguments, row->arguments);
    call->resolved = resolved_call_restore(row->resolved);
    call->extra = row->extra ? json_parse_own(row->extra) : NULL;
    call->client = row->client;
    call->begun = row->state != CALL_WAITING;
    if (row->client)
        call->settled = row->state == CALL_DONE;
    if (row->client || row->state != CALL_DONE)
        return call;

    call->ended = call->settled = true;
    stored = json_parse_own(row->output ? row->output : "{}");
    call->failed = json_object_get(stored, "error");
    take_reason(run, call, stored);
    run_restore_withheld(call, stored);
    if (call->final && !call->unexecuted && !find_item(run, row))
        run_end_final_call_again(run, call, stored);
    return call;
}

static void resume_call(struct run *run, struct call *call)
{
    struct err err;

    run->started_calls++;
    if (call->rejected || call_may_repeat(call)) {
        start_call(run, call);
        return;
    }
    if (!chain_admit_begun(&run->chain)) {
        leave_call(run, call); /* it had not begun, because it may not */
        return;
    }
    call->counted = true;
    err_set(&err, ERR_INTERNAL, "%s", interrupted);
    refuse_call(run, call, &err);
}

static void resume_recalled(struct run *run)
{
    run_ask_approvals(run);
    open_channel(run);
    for (unsigned i = 0; i < run->call_count; i++) {
        if (call_is_ours(&run->calls[i]) && run->calls[i].begun)
            resume_call(run, &run->calls[i]);
    }
    if (!run->channel) {
        after_tools(run);
        return;
    }
    if (!run->started_calls)
        start_next_calls(run);
    run_collect_output(run);
}

static void resume_resolved(struct run *run)
{
    run_recall_grants(run, resume_recalled);
}

static void plan_resumed(struct run *run)
{
    run_plan_calls(run, resume_resolved);
}

/* Goes on with a turn whose calls were asked for before this server had the run. */
void run_resume_calls(struct run *run, const struct call_row *rows, size_t count)
{
    run_clear_calls(run);
    chain_reopen_round(&run->chain);
    run->choice_spent = true;
    for (size_t i = 0; i < count; i++)
        run_restore_decision(run, restore_call(run, &rows[i]), rows, count);
    run_resolve_calls(run, plan_resumed);
}
