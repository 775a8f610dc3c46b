/*
 * Plans of calls: a tool reads its arguments, and says what it needs permission for.
 *
 * The plan is a stage of its own, before any question. The alternative, a tool that asks while
 * it runs, would hold a worker until a person answers, perhaps for days, and would lose the
 * half-done call in a crash. So plan() has no effects, and run() is called when everything is
 * allowed.
 *
 * It runs after references are resolved, because a permission can be about a path or a command
 * that a variable has. It runs on a worker, because it may look at files.
 *
 * A call that was approved is not planned again: the person has seen what its plan said, and a
 * second plan could want more. A plan that fails ends its call with the error. The other calls
 * go on.
 *
 * Plans are not stored. After a crash they are made again, but for calls that had begun and
 * will not be repeated.
 */

#include "core/run/calls/run_plan.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/memory/skill.h"
#include "core/run/calls/offload.h"
#include "core/run/calls/run_calls.h"
#include "core/run/calls/run_variables.h"
#include "core/run/catalog/run_files.h"

void call_plan_free(struct call_plan *plan)
{
    if (!plan)
        return;
    json_decref(plan->permission);
    json_decref(plan->preview);
    json_decref(plan->args);
    free(plan->error);
    free(plan);
}

const json_t *call_permission(const struct call *call)
{
    return call->plan ? call->plan->permission : NULL;
}

const json_t *call_preview(const struct call *call)
{
    return call->plan ? call->plan->preview : NULL;
}

/* ---- To the workers, and back ---- */

/* The arguments of a call that needs a plan, a new reference; else NULL. A call whose
 * arguments do not fit needs none: execute.c reports that. */
static json_t *args_to_plan(struct run *run, const struct call *call)
{
    json_t *args = NULL;
    struct err err;

    if (!call_is_due(call) || call->plan || call->status == CALL_REFUSED ||
        *call->approval.id || !call->use || call->use->remote || !call->use->handler->plan)
        return NULL;
    if (call->begun && !call_may_repeat(call))
        return NULL;
    return run_prepare_call(run, call, &args, &err) ? NULL : args;
}

static void take_plan(struct run *run, unsigned job, const struct offload_result *result)
{
    struct call_plan *plan = NULL;

    for (unsigned i = 0; i < run->calls.count && !plan; i++) {
        plan = run->calls.list[i].plan;
        if (plan && (!plan->waiting || plan->job != job))
            plan = NULL;
    }
    assert(plan);
    plan->waiting = false;
    plan->permission = json_incref(json_object_get(result->fields, "permission"));
    plan->preview = json_incref(json_object_get(result->fields, "preview"));
    if (!result->error)
        return;
    plan->error = mem_new(struct err);
    *plan->error = *result->error;
}

static void submit(struct run *run, const struct call *call)
{
    json_auto_t *args = TAKE(call->plan->args);
    char past_container[ID_SIZE] = "";

    if (call->use->handler->flags & TOOL_NEEDS_SANDBOX)
        run_past_container(run, past_container);
    run_offload_job(
        run, call->plan->job,
        (struct tool_call_spec){
            .handler = call->use->handler,
            .planning = true,
            .call_id = call->id,
            .args = args,
            .config = call->use->entry,
            .context = run->context,
            .skills = run->settings.skills,
            .variables = run_variable_access_of(run, call->use->handler),
            .resolved = call->resolved,
            .desk = engine_options(run->engine)->desk,
            .containers = engine_options(run->engine)->containers,
            .past_container = past_container,
            .wanted_container = run_shared_container(&run->settings, call->use->entry),
            .keeps_files = run_is_assistants(run),
        });
}

enum stage_step run_plan_calls(struct run *run)
{
    unsigned count = 0;

    for (unsigned i = 0; i < run->calls.count; i++) {
        struct call *call = &run->calls.list[i];
        json_t *args = args_to_plan(run, call);

        if (!args)
            continue;
        call->plan = mem_new(struct call_plan);
        call->plan->args = args;
        call->plan->waiting = true;
        call->plan->job = count++;
    }
    if (!count)
        return STAGE_PASSED;
    run_offload(run, count, take_plan, run_pass_stage);
    for (unsigned i = 0; i < run->calls.count; i++) {
        if (run->calls.list[i].plan && run->calls.list[i].plan->waiting)
            submit(run, &run->calls.list[i]);
    }
    return STAGE_WAITS;
}
