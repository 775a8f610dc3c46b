#include "core/run/calls/run_plan.h"

#include <stdlib.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/memory/skill.h"
#include "core/run/calls/run_calls.h"
#include "core/run/calls/run_variables.h"

#define CHANNEL_CAPACITY 2 /* outputs of one planner */

void call_plan_free(struct call_plan *plan)
{
    if (!plan)
        return;
    json_decref(plan->permission);
    json_decref(plan->args);
    free(plan->error);
    free(plan);
}

const json_t *call_permission(const struct call *call)
{
    return call->plan ? call->plan->permission : NULL;
}

/* ---- To the workers, and back ---- */

/* The arguments, when there is something to plan. What was approved was planned, and what began is past
 * planning, unless it is done again. New reference. */
static json_t *args_to_plan(struct run *run, const struct call *call)
{
    json_t *args = NULL;
    struct err err;

    if (!call_is_ours(call) || call->plan || call->rejected || *call->approval_id ||
        !call->use || call->use->remote || !call->use->handler->plan)
        return NULL;
    if (call->begun && !call_may_repeat(call))
        return NULL;
    return run_prepare_call(run, call, &args, &err) ? NULL : args;
}

static void submit(struct run *run, const struct call *call)
{
    json_auto_t *args = TAKE(call->plan->args);

    tool_executor_submit(
        engine_options(run->engine)->executor,
        &(struct tool_call_spec){
            .handler = call->use->handler,
            .planning = true,
            .channel = run->planning,
            .position = call->plan->position,
            .call_id = call->id,
            .tenant = &run->tenant,
            .run = run->row.id,
            .thread = run->row.thread_id,
            .args = args,
            .config = call->use->entry,
            .context = run->context,
            .skills = json_object_get(json_object_get(run->config, "runnel"), SKILLS_KEY),
            .variables = run_variable_access_of(run, call->use->handler),
            .resolved = call->resolved,
        });
}

static void start_planning(struct run *run, unsigned count)
{
    AUTO_FREE bool *hidden = mem_new_array(bool, count);

    run->planning = engine_channel(run, count, hidden, CHANNEL_CAPACITY);
    for (unsigned i = 0; i < run->call_count; i++) {
        if (run->calls[i].plan && run->calls[i].plan->waiting)
            submit(run, &run->calls[i]);
    }
}

void run_plan_calls(struct run *run, void (*then)(struct run *run))
{
    unsigned count = 0;

    for (unsigned i = 0; i < run->call_count; i++) {
        struct call *call = &run->calls[i];
        json_t *args = args_to_plan(run, call);

        if (!args)
            continue;
        call->plan = mem_new(struct call_plan);
        call->plan->args = args;
        call->plan->waiting = true;
        call->plan->position = count++;
    }
    if (!count) {
        then(run);
        return;
    }
    run->planned = then;
    start_planning(run, count);
}

static struct call_plan *plan_at(const struct run *run, unsigned position)
{
    for (unsigned i = 0; i < run->call_count; i++) {
        struct call_plan *plan = run->calls[i].plan;

        if (plan && plan->waiting && plan->position == position)
            return plan;
    }
    return NULL;
}

static void take_end(struct call_plan *plan, const struct tool_output *output)
{
    plan->waiting = false;
    if (!output->rc)
        return;
    plan->error = mem_new(struct err);
    *plan->error = output->error;
    plan->error->code = output->rc;
}

void run_collect_plans(struct run *run)
{
    struct tool_output output;

    while (run->planning && tool_channel_take(run->planning, &output)) {
        struct call_plan *plan = plan_at(run, output.call);

        if (plan && output.kind == TOOL_OUTPUT_STAGE) {
            json_decref(plan->permission);
            plan->permission = json_incref(output.fields);
        } else if (plan && output.kind == TOOL_OUTPUT_END) {
            take_end(plan, &output);
        }
        tool_output_clear(&output);
    }
    if (run->planning && tool_channel_finished(run->planning)) {
        void (*then)(struct run *) = run->planned;

        engine_hang_up(run);
        run_stop_planning(run);
        then(run);
    }
}

void run_stop_planning(struct run *run)
{
    run->planned = NULL;
    if (!run->planning)
        return;
    tool_channel_close(run->planning);
    tool_channel_release(TAKE(run->planning));
}
