/*
 * Execution of the calls that are due.
 *
 *   open_channel() --> rows "running" --> committed --> start_call() --> tool
 *                                                                        |
 *   next stage <-- all ended <-- run_take_output() <-- channel <---------+
 *
 * Every call that is due gets a position in the output channel, also one that will not run. Its
 * reason comes out as an END like a result, in its place among the others. So one path leads to
 * the model and the client, and run_output.c need not know why a call has ended.
 *
 * A tool has effects that no database can take back. So the row of a call says "running" before
 * its tool starts: run_after_commit() starts the calls when the write is committed. After a
 * crash such a call may or may not have had its effect. It is executed again only if its tool
 * is idempotent (TOOL_IDEMPOTENT), and otherwise ends with an error that says so. The
 * alternative, running it again and hoping, sends the message or deletes the file twice. A row
 * that still says "waiting" is executed normally.
 *
 * For foreground runs run_after_commit() continues at once: they are never resumed, so nothing
 * would read the rows.
 *
 * Calls run in parallel, but for those of a tool with TOOL_IN_ORDER. A request with parallel_tool_calls false has one
 * call a turn (turn/run_model.c).
 *
 * The loop takes output whenever a worker wakes it: run_collect_output(). The end of a call is stored when
 * its tool has ended, also while another call has the floor; its item follows when it gets it. A run that
 * ends first closes the channel, and late output goes nowhere.
 */

#include "core/run/calls/run_calls.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/json/json_number.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/regex.h"
#include "core/memory/skill.h"
#include "core/run/approval/run_approvals.h"
#include "core/run/approval/run_hold.h"
#include "core/run/calls/offload.h"
#include "core/run/calls/run_plan.h"
#include "core/run/calls/run_servers.h"
#include "core/run/calls/run_variables.h"
#include "core/run/catalog/run_files.h"
#include "core/tool/arguments.h"
#include "core/tool/registry.h"

/* Outputs of one call that may wait for the loop. Then its worker waits. */
#define CHANNEL_CAPACITY 64

static const char interrupted[] =
    "The server restarted while this tool ran; it may or may not have taken effect.";

/* ---- Preparing ---- */

/* The error of a client's call that the server took back, because announce() could not read its
 * arguments. */
static void explain_announcement(const struct call *call, struct err *err)
{
    const char *arguments = call->arguments.data ? call->arguments.data : "";
    struct tool_announcement shown = {0};

    err_set(err, ERR_INVALID, "The arguments cannot be used.");
    (void)!call->use->handler->announce(call->use->own, arguments, &shown, err);
    json_decref(shown.fields);
    json_decref(shown.opening);
}

/* The order of the checks is the order in which they can be corrected: the tool, the
 * references, the schema. The model sees one error and can send a better call. */
enum err_code run_prepare_call(struct run *run, const struct call *call, json_t **ret_args,
                               struct err *err)
{
    const char *text = call->arguments.length ? call->arguments.data : "{}";
    struct schema_budget *budget = call->use && call->use->remote ? &run->calls.checks : NULL;
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
    /* A handler reads numbers, a remote server gets what was written. */
    if (!rc && !call->use->remote)
        *ret_args = json_round(*ret_args);
    if (rc && call->use->handler->explain)
        call->use->handler->explain(err);
    return rc;
}

/* ---- Calls that are not executed ---- */

static void refuse_call(struct run *run, const struct call *call, const struct err *err)
{
    struct tool_output output = {.kind = TOOL_OUTPUT_END, .rc = err->code, .error = *err};
    enum err_code rc = tool_channel_put(run->calls.channel, call->channel_position, &output);

    (void)rc; /* the channel is closed: nothing reads the output */
}

/* A limit of the chain was reached: the output of the call says which. */
static void leave_call(struct run *run, struct call *call)
{
    struct err err;

    call_move(call, CALL_EV_LIMIT);
    err_set(&err, ERR_LIMIT, "%s", chain_reason(run->chain.stop));
    refuse_call(run, call, &err);
}

/* The call must not run: a person has refused it, its plan failed, or it was approved in an
 * earlier run that may have executed it. */
static bool is_stopped(const struct call *call, struct err *err)
{
    if (call->status == CALL_REFUSED)
        err_set(err, ERR_FORBIDDEN, "Execution not approved");
    else if (call->plan && call->plan->error)
        *err = *call->plan->error;
    else if (call->lost && !call_may_repeat(call))
        err_set(err, ERR_INTERNAL, "%s", interrupted);
    else
        return false;
    return true;
}

/* run_may_execute() has found a bug of the server: the call needs an approval and has none.
 * It ends here, whatever path has led here. */
static void refuse_unapproved(struct run *run, const struct call *call)
{
    struct err err;

    log_error(
        "run %s: call %s of %s was about to be executed without the approval that it needs",
        run->row.id, call->id, call->use->name);
    err_set(&err, ERR_INTERNAL,
            "An error of the server: this call has no approval. It was not executed.");
    refuse_call(run, call, &err);
}

/* ---- To its tool ---- */

/* All searches of a run together: one call after another could take the workers for itself. */
static struct regex_budget *searches_of(struct run *run)
{
    double limit = engine_options(run->engine)->regex_seconds;

    if (!run->calls.searches && limit > 0)
        run->calls.searches = regex_budget_new(clock_ns_from_seconds(limit));
    return run->calls.searches;
}

/* A call is announced before its tool has output, unless the tool does that itself. Calls start in the model's order,
 * so the first of a turn has the floor. A final call takes it, too: its answer streams then without waiting for a
 * silent one behind it. */
static void put_start(struct run *run, const struct call *call)
{
    struct tool_output output = {.kind = TOOL_OUTPUT_START};

    if (!call->hidden && !(call->use->handler->flags & TOOL_OPENS))
        (void)!tool_channel_put(run->calls.channel, call->channel_position, &output);
}

struct tool_executor *run_executor_of(const struct run *run, const struct tool_handler *handler)
{
    const struct engine_options *options = engine_options(run->engine);
    if (handler->flags & TOOL_NEEDS_SANDBOX && options->code_executor)
        return options->code_executor;
    if (handler->flags & TOOL_DRAWS && options->picture_executor)
        return options->picture_executor;
    if (handler->flags & TOOL_WAITS_FOR_WEB && options->web_executor)
        return options->web_executor;
    return options->executor;
}

/* Hands the call to its remote server, or to a worker. */
static void execute(struct run *run, struct call *call, json_t *args)
{
    bool draws = call->use->handler->flags & TOOL_DRAWS;
    json_auto_t *pictures = run_pictures(run, call->use, args);
    char past_container[ID_SIZE] = "";

    call_move(call, CALL_EV_EXECUTE);
    if (call->use->handler->flags & TOOL_CITED)
        call->search = run_next_search(run);
    put_start(run, call);
    if (call->use->remote) {
        run_call_server(run, call, args);
        return;
    }
    if (call->use->handler->flags & TOOL_NEEDS_SANDBOX)
        run_past_container(run, past_container);
    tool_executor_submit(
        run_executor_of(run, call->use->handler),
        &(struct tool_call_spec){
            .handler = call->use->handler,
            .channel = run->calls.channel,
            .position = call->channel_position,
            .call_id = call->id,
            .tenant = &run->tenant,
            .run = run->row.id,
            .thread = run->row.thread_id,
            .args = args,
            .config = call->use->entry,
            .files = run_files_of(run, call->use),
            .context = run->context,
            .skills = run->settings.skills,
            .variables = run_variable_access_of(run, call->use->handler),
            .searches = searches_of(run),
            .search = call->search,
            .finder = engine_options(run->engine)->finder,
            .desk = engine_options(run->engine)->desk,
            .web = engine_options(run->engine)->web,
            .passage_tokens = run_passage_tokens(run),
            .containers = engine_options(run->engine)->containers,
            .past_container = past_container,
            .wanted_container = run_shared_container(&run->settings, call->use->entry),
            .keeps_files = run_is_assistants(run),
            .stored = run->row.flags & RUN_STORED,
            .painter = engine_options(run->engine)->painter,
            .pictures = pictures,
            .drawn = draws ? run_count_drawing(run) : 0,
            /* The arguments that were approved had their references resolved. */
            .resolved = call->resolved || *call->approval.id,
        });
}

static void start_call(struct run *run, struct call *call)
{
    bool known = call->use && !tool_use_is_clients(call->use);
    bool allowed = known && run_may_execute(run, call);
    json_auto_t *args = NULL;
    struct err err;

    call->started_at = clock_wall_us();
    if (is_stopped(call, &err)) {
        refuse_call(run, call, &err);
        return;
    }
    /* Counted before its arguments are checked: a model that repeats a wrong call must reach
     * the limit. */
    if (!(call->begun ? chain_admit_begun(&run->chain) : chain_admit(&run->chain))) {
        leave_call(run, call);
        return;
    }
    call_move(call, CALL_EV_ADMIT);
    if (run_prepare_call(run, call, &args, &err)) {
        call->phase = CHAIN_PARSE_ARGUMENTS;
        refuse_call(run, call, &err);
        return;
    }
    if (allowed)
        execute(run, call, args);
    else
        refuse_unapproved(run, call);
}

/* A call that an earlier residency had begun. It may have had its effect, so only a call
 * that is refused, or whose tool may repeat it, starts as usual. */
static void resume_call(struct run *run, struct call *call)
{
    struct err err;

    run->calls.started++;
    if (call->status == CALL_REFUSED || call_may_repeat(call)) {
        start_call(run, call);
        return;
    }
    if (!chain_admit_begun(&run->chain)) {
        leave_call(run, call); /* its row was written before the limit was checked */
        return;
    }
    call_move(call, CALL_EV_ADMIT);
    err_set(&err, ERR_INTERNAL, "%s", interrupted);
    refuse_call(run, call, &err);
}

/* ---- All of them ---- */

static bool keeps_order(const struct call *call)
{
    return call->use && call->use->handler->flags & TOOL_IN_ORDER;
}

/* A call before it must have ended: what it does depends on that. */
static bool waits_for_earlier(const struct run *run, const struct call *call)
{
    for (unsigned i = 0; keeps_order(call) && i < run->calls.started; i++) {
        const struct call *earlier = &run->calls.list[run->calls.positions[i]];

        if (keeps_order(earlier) && !call_status_is_final(earlier->status))
            return true;
    }
    return false;
}

/* Starts all calls that have not started, up to one that waits for earlier ones: it starts when all that were started
 * have ended (run_collect_output()). */
static void start_calls(struct run *run)
{
    for (unsigned i = 0; i < run->calls.count; i++) {
        struct call *call = &run->calls.list[i];

        if (!call_is_due(call) || call->channel_position != run->calls.started)
            continue;
        if (waits_for_earlier(run, call))
            return;
        run->calls.started++;
        start_call(run, call);
    }
}

static void start_committed_calls(struct run *run)
{
    if (run->life != RUN_ALIVE || !run->calls.channel)
        return;
    start_calls(run);
    run_collect_output(run);
}

/* Notes the calls that have not started as running, and starts them when that is committed. */
static void start_next_calls(struct run *run)
{
    unsigned next = run->calls.started;

    for (unsigned i = 0; i < run->calls.count; i++) {
        const struct call *call = &run->calls.list[i];

        if (call_is_due(call) && call->channel_position >= next)
            run_note_call(run, call, CALL_RUNNING, NULL);
    }
    run_after_commit(run, start_committed_calls);
}

/* Numbers the calls that are due, in the model's order. Without any, there is no channel. */
static void open_channel(struct run *run)
{
    AUTO_FREE bool *hidden = mem_new_array(bool, run->calls.count);

    run->calls.due = run->calls.started = run->calls.ended = 0;
    free(run->calls.positions);
    run->calls.positions = mem_new_array(unsigned, run->calls.count);
    for (unsigned i = 0; i < run->calls.count; i++) {
        struct call *call = &run->calls.list[i];

        if (!call_is_due(call))
            continue;
        hidden[run->calls.due] = call->hidden;
        run->calls.positions[run->calls.due] = i;
        call->channel_position = run->calls.due++;
    }
    if (!run->calls.due)
        return;
    run->calls.channel = engine_channel(run, run->calls.due, hidden, CHANNEL_CAPACITY);
}

enum stage_step run_execute_calls(struct run *run)
{
    open_channel(run);
    if (!run->calls.channel)
        return STAGE_PASSED;
    for (unsigned i = 0; i < run->calls.count; i++) {
        if (call_is_due(&run->calls.list[i]) && run->calls.list[i].begun)
            resume_call(run, &run->calls.list[i]);
    }
    if (!run->calls.started)
        start_next_calls(run);
    run_collect_output(run);
    return STAGE_WAITS;
}

void run_stop_execution(struct run *run)
{
    if (!run->calls.channel)
        return;
    engine_stop_wakeups(run);
    run_stop_server_calls(run);
    tool_channel_close(run->calls.channel);
    tool_channel_release(TAKE(run->calls.channel));
}

/* ---- Output ---- */

/* False: the channel has nothing now. */
static bool take_next(struct run *run)
{
    struct tool_output output, *outputs;
    unsigned count;

    if (tool_channel_take(run->calls.channel, &output)) {
        run_take_output(run, &output);
        tool_output_clear(&output);
        return true;
    }
    if (!tool_channel_take_waiting(run->calls.channel, &outputs, &count))
        return false;
    run_keep_outputs(run, outputs, count);
    return true;
}

void run_collect_output(struct run *run)
{
    run_collect_offload(run);
    for (unsigned ended = run->calls.ended; run->calls.channel && take_next(run);
         ended = run->calls.ended) {
        /* The others start when all that had begun have ended: after a crash, or because they keep an order. */
        if (ended != run->calls.ended && run->calls.started < run->calls.due &&
            run->calls.started == run->calls.ended)
            start_next_calls(run);
    }
    if (run->calls.channel && tool_channel_finished(run->calls.channel)) {
        run_stop_execution(run);
        run_pass_stage(run);
    }
}
