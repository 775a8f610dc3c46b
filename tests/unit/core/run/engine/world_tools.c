/*
 * The handlers of the world, and the executor that runs them a step at a time.
 *
 * A handler here has one effect: its counter (struct execution). The effect happens in the step in which it
 * begins, and its result comes steps later. In between lies what makes tools hard: a crash after the effect
 * and before its row, a cancel while it speaks, a lease that is lost. Counters outlive nodes, as the world
 * outside a server does.
 *
 * The handlers differ only in what the engine treats differently: idempotent or not, hidden, final, failing,
 * asking before or after, planning, kept as a variable. Each is a group of its own, so a scenario lists the
 * ones that it needs.
 *
 * A call that was ended meanwhile, by a cancel or a timeout, does not begin: the executor of the server
 * drops such a call when a thread would take it. One that has begun runs on. It notices at its next output
 * that its channel is closed, as a real handler does.
 *
 * The effect happens before rules_check_begin() looks at the database, and both in one step. So the rule sees
 * the very rows that a crash at this moment would leave behind.
 */

#include "tests/unit/core/run/engine/world_tools.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/tool/call_internal.h"
#include "core/tool/channel_internal.h"
#include "core/tool/registry.h"
#include "handlers/handlers.h"
#include "tests/unit/core/run/engine/scenario.h"

/* ---- Effects ---- */

static struct execution *find_execution(const char *run_id, const char *key)
{
    struct execution *execution = world->executions;

    while (execution &&
           (strcmp(execution->key, key) != 0 || strcmp(execution->run_id, run_id) != 0))
        execution = execution->next;
    return execution;
}

const struct execution *execution_of(const char *run_id, const char *key)
{
    return find_execution(run_id, key);
}

static struct execution *note_execution(const char *run_id, const char *key)
{
    struct execution *execution = find_execution(run_id, key);

    if (!execution) {
        execution = mem_new(struct execution);
        (void)snprintf(execution->run_id, sizeof(execution->run_id), "%s", run_id);
        (void)snprintf(execution->key, sizeof(execution->key), "%s", key);
        execution->next = world->executions;
        world->executions = execution;
    }
    execution->begun++;
    return execution;
}

void executions_free(void)
{
    while (world->executions) {
        struct execution *execution = world->executions;

        world->executions = execution->next;
        free(execution);
    }
}

/* ---- Handlers ---- */

static const char *argument(const struct tool_call *call, const char *name)
{
    return json_get_string(tool_call_args(call), name, "");
}

/* The result. The steps before it are in take_step(). */
static enum err_code succeed(struct tool_call *call, struct tool_result *ret_result,
                             struct err *err)
{
    (void)err;
    tool_result_add_text(ret_result, "done ");
    tool_result_add_text(ret_result, argument(call, "key"));
    return ERR_OK;
}

static enum err_code break_down(struct tool_call *call, struct tool_result *ret_result,
                                struct err *err)
{
    (void)ret_result;
    return err_set(err, ERR_UPSTREAM, "%s went wrong", argument(call, "key"));
}

/* Before it is executed it says what it would do, which needs an approval. */
static enum err_code plan(struct tool_call *call, struct err *err)
{
    const char *const patterns[] = {"anything", NULL};

    return tool_call_ask(
        call,
        &(struct tool_permission){.type = "effect", .patterns = patterns, .title = "May I?"},
        err);
}

/* clang-format off */

#define PARAMETERS                                                             \
    "{\"type\":\"object\",\"properties\":{\"key\":{\"type\":\"string\"}," \
    "\"say\":{\"type\":\"string\"}}}"

/* Each is a group of its own, so that a scenario lists what it needs. */
#define HANDLER(own_name) .name = own_name, .group = own_name, .description = "", .parameters = PARAMETERS

static const struct tool_handler once_handler      = {HANDLER("once"), .run = succeed, .flags = TOOL_NOT_KEPT};
static const struct tool_handler kept_handler      = {HANDLER("kept"), .run = succeed};
static const struct tool_handler repeat_handler    = {HANDLER("repeat"), .run = succeed,
                                                      .flags = TOOL_NOT_KEPT | TOOL_IDEMPOTENT};
static const struct tool_handler hidden_handler    = {HANDLER("hidden"), .run = succeed,
                                                      .flags = TOOL_NOT_KEPT | TOOL_HIDDEN};
static const struct tool_handler final_handler     = {HANDLER("final"), .run = succeed,
                                                      .flags = TOOL_NOT_KEPT | TOOL_FINAL};
static const struct tool_handler failing_handler   = {HANDLER("failing"), .run = break_down, .flags = TOOL_NOT_KEPT};
static const struct tool_handler asking_handler    = {HANDLER("asking"), .run = succeed, .flags = TOOL_NOT_KEPT,
                                                      .permission = {.execution = EXECUTION_ASK_ALWAYS}};
static const struct tool_handler recalled_handler  = {HANDLER("recalled"), .run = succeed, .flags = TOOL_NOT_KEPT,
                                                      .permission = {.execution = EXECUTION_ASK_ONCE}};
static const struct tool_handler planned_handler   = {HANDLER("planned"), .run = succeed, .flags = TOOL_NOT_KEPT,
                                                      .plan = plan};
static const struct tool_handler withheld_handler  = {HANDLER("withheld"), .run = succeed, .flags = TOOL_NOT_KEPT,
                                                      .permission = {.result = RESULT_ALWAYS}};

static const struct tool_handler *const handlers[] = {
    &function_handler, &once_handler, &kept_handler, &repeat_handler, &hidden_handler, &final_handler,
    &failing_handler, &asking_handler, &recalled_handler, &planned_handler, &withheld_handler, NULL,
};

/* A group whose tools run without an approval, but for those whose own policy needs one. */
#define BY_ITSELF(own_name) &(const struct tool_group){.name = own_name, .auto_execute = true}

static const struct tool_group *const groups[] = {
    BY_ITSELF("once"), BY_ITSELF("kept"), BY_ITSELF("repeat"), BY_ITSELF("hidden"), BY_ITSELF("final"),
    BY_ITSELF("failing"), BY_ITSELF("planned"), BY_ITSELF("withheld"), NULL,
};

/* clang-format on */

bool tool_asks(const char *name)
{
    const struct tool_handler *handler = tool_registry_find(name, name);

    return handler->plan || tool_registry_permission(handler).execution != EXECUTION_AUTO;
}

bool tool_repeats(const char *name)
{
    return tool_registry_find(name, name)->flags & TOOL_IDEMPOTENT;
}

void tools_register(void)
{
    tool_registry_set(handlers);
    tool_registry_set_groups(groups);
}

static bool is_of_world(const struct tool_handler *handler)
{
    return handler->run == succeed || handler->run == break_down;
}

/* ---- Calls ---- */

struct working {
    struct actor actor;
    struct tool_call *call;
    struct execution *execution; /* NULL: it has not begun */
    size_t said;
    uint64_t silent_until_ns;
};

/* Longer than all else takes that does not wait for this call. */
#define SILENCE_NS (200 * NS_PER_MS)

static void stop_working(struct working *working)
{
    actor_leave(&working->actor);
    tool_call_free(working->call);
    free(working);
}

/* A failure says that the call was ended meanwhile. Handlers may ignore it: what they emit is dropped. */
static void say(struct tool_call *call, char letter)
{
    if (letter == 't')
        (void)!tool_call_emit_text(call, "word ", 5);
    else if (letter == 's')
        (void)!tool_call_emit_stage(call, "working", NULL);
    else if (letter == 'm')
        tool_call_metadata(call, "at work", json_build("{s:i}", "at", 1));
}

static bool may_begin(struct tool_call *call)
{
    return !tool_channel_call_over(call->channel, call->position);
}

static void begin_work(struct working *working)
{
    const char *key = argument(working->call, "key");
    const char *run_id = tool_call_run(working->call);

    if (!may_begin(working->call)) {
        stop_working(working);
        return;
    }
    working->execution = note_execution(run_id, key);
    world_note("    %s begins", key);
    rules_check_begin(working->call->handler, run_id, key);
}

static void finish_work(struct working *working)
{
    if (working->execution) {
        working->execution->ended++;
        working->execution->node = may_begin(working->call) ? working->actor.node : NULL;
    }
    tool_call_execute(working->call);
    stop_working(working);
}

static void take_step(struct actor *actor)
{
    struct working *working = CONTAINER_OF(actor, struct working, actor);
    const char *script = argument(working->call, "say");

    if (!is_of_world(working->call->handler) || working->call->planning)
        finish_work(working);
    else if (!working->execution)
        begin_work(working);
    else if (script[working->said] == 'w' && !working->silent_until_ns)
        working->silent_until_ns = world->now_ns + SILENCE_NS;
    else if (script[working->said])
        say(working->call, script[working->said++]);
    else
        finish_work(working);
}

static uint64_t silence_is_due(struct actor *actor)
{
    return CONTAINER_OF(actor, struct working, actor)->silent_until_ns;
}

static bool may_speak(struct actor *actor)
{
    return silence_is_due(actor) <= world->now_ns;
}

static const struct actor_ops working_ops = {
    .thing = THING_TOOL,
    .is_ready = may_speak,
    .act = take_step,
    .due = silence_is_due,
};

void tool_executor_submit(struct tool_executor *executor, const struct tool_call_spec *spec)
{
    struct working *working = mem_new(struct working);

    working->call = tool_call_new(spec);
    actor_join(&working->actor, &working_ops, executor->node);
}

/* The first call under way from place *at in the list of actors; *at becomes its place. NULL: no more. */
static struct working *working_at(size_t *at)
{
    while (*at < world->actors.count) {
        struct actor *actor = world->actors.list[*at];

        if (actor->ops == &working_ops)
            return CONTAINER_OF(actor, struct working, actor);
        ++*at;
    }
    return NULL;
}

void tools_forget(struct node *node)
{
    struct working *working;
    size_t at = 0;

    while ((working = working_at(&at))) {
        if (working->actor.node == node)
            stop_working(working);
        else
            at++;
    }
}

bool tools_time_out(void)
{
    struct working *working;
    struct err error;
    size_t at = 0;

    while ((working = working_at(&at))) {
        at++;
        if (!working->execution || !actor_is_ready(&working->actor))
            continue;
        tool_call_timeout_error(working->call->handler, &error);
        tool_call_end_with(working->call->channel, working->call->position, &error);
        return true;
    }
    return false;
}

bool tools_are_seen(const char *run_id, const struct node *node)
{
    const unsigned unseen = TOOL_HIDDEN | TOOL_FINAL;
    struct working *working;

    for (size_t at = 0; (working = working_at(&at)); at++) {
        if (working->execution && working->actor.node == node &&
            strcmp(tool_call_run(working->call), run_id) == 0 && may_begin(working->call) &&
            !(working->call->handler->flags & unseen))
            return true;
    }
    return false;
}

bool tools_are_idle(void)
{
    struct working *working;
    size_t at = 0;

    while ((working = working_at(&at))) {
        if (!working->actor.node->dead)
            return false;
        at++;
    }
    return true;
}
