/*
 * Variables and the calls of a turn: references before execution, results after it.
 *
 * Before: the model may write $VAR_REF{{name}} in the arguments instead of a long text
 * (var_ref.h). A stage sends all calls with references to workers at once, because variables
 * are in the store and a loop does not wait for it. The resolved arguments are what every later
 * stage reads, what a person approves, and what is executed. They are stored in the row of the
 * call: after a crash the variable may have changed, and the call must be the one that was
 * shown.
 *
 * Variables that this turn needs may be unwritten: an answer or a result of the turn before. So
 * the stage begins after the next write (run_after_write()), also if a call has no reference
 * but its tool reads variables.
 *
 * After: the whole result of a call becomes a variable, and so do its arguments. The model sees
 * a cut text and a hint with the variable's name (run_keep_result()). They go into the write
 * that has the call's end, so a name that the model has read always exists.
 *
 * Where variables are: in the store, under the thread or the response; for a response that is
 * not stored, in the memory of the run, within a budget for all such responses. Handlers see no
 * difference: they get a struct variable_access with one of two tables of functions.
 */

#include "core/run/calls/run_variables.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/tenant.h"
#include "core/memory/var_ref.h"
#include "core/memory/variable_memory.h"
#include "core/run/approval/run_results.h"
#include "core/run/calls/offload.h"
#include "core/run/calls/run_calls.h"
#include "core/run/context/long_messages.h"
#include "core/store/tables/skills.h"
#include "core/store/tables/threads/variables.h"
#include "core/tool/cut.h"
#include "core/tool/rules.h"

/* Names of variables in the error about a reference to a missing one, and their bytes. */
#define AVAILABLE_LIMIT 40
#define AVAILABLE_BYTES 700

#define ARGS_INDENT 2 /* of the arguments in their variable: the model reads them by lines */

/* ---- Where variables are ---- */

static enum err_code stored_get(const struct variable_access *access,
                                const struct tenant *tenant, const char *name,
                                enum variable_reading reading, struct variable *ret_variable,
                                struct err *err)
{
    return store_variable_get(access->store, tenant, access->scope, name, reading, ret_variable,
                              err);
}

static enum err_code stored_list(const struct variable_access *access,
                                 const struct tenant *tenant,
                                 const struct variable_query *query,
                                 struct variable **ret_variables, size_t *ret_count,
                                 int64_t *ret_total, struct err *err)
{
    return store_variable_list(access->store, tenant, access->scope, query, ret_variables,
                               ret_count, ret_total, err);
}

static enum err_code stored_put(const struct variable_access *access,
                                const struct tenant *tenant,
                                const struct variable_change *change, enum variable_put how,
                                bool *ret_created, struct err *err)
{
    return store_variable_put(access->store, tenant, access->scope, change, how, ret_created,
                              err);
}

static enum err_code stored_remove(const struct variable_access *access,
                                   const struct tenant *tenant, const char *const *names,
                                   size_t count, json_t **ret_removed, struct err *err)
{
    return store_variables_remove(access->store, tenant, access->scope, names, count, NULL,
                                  ret_removed, err);
}

static enum err_code read_skill(const struct variable_access *access,
                                const struct tenant *tenant, const char *id, char **ret_prompt,
                                json_t **ret_files, struct err *err)
{
    return store_skill_prompt(access->store, tenant, id, ret_prompt, ret_files, err);
}

static const struct variable_ops stored_ops = {
    .get = stored_get,
    .list = stored_list,
    .put = stored_put,
    .remove = stored_remove,
    .skill = read_skill,
};
static const struct variable_ops memory_ops = {
    .get = variable_memory_get,
    .list = variable_memory_list,
    .put = variable_memory_put,
    .remove = variable_memory_remove,
    .skill = read_skill,
};

/* The long messages that the model sees as variables. Made again when the past of the
 * history has grown, for example by a message that steered the run. */
static struct message_cache *messages_of(struct run *run)
{
    const struct long_message_rule rule = long_message_rule(&run->settings, &run->tools);
    AUTO_FREE const struct item_row **items = NULL;
    size_t count, past;

    if (!rule.limit)
        return run->messages;
    items = run_gather_items(run, &count);
    past = long_message_past(items, count);
    if (run->messages && run->messages_past == past)
        return run->messages;
    message_cache_release(run->messages);
    run->messages_past = past;
    run->messages = long_messages_gather(&rule, items, count);
    return run->messages;
}

struct variable_access run_variable_access(struct run *run)
{
    return (struct variable_access){.ops = run->variables ? &memory_ops : &stored_ops,
                                    .store = engine_options(run->engine)->store,
                                    .memory = run->variables,
                                    .scope = run_variable_scope(run),
                                    .language = run->settings.language};
}

struct variable_access run_variable_access_of(struct run *run,
                                              const struct tool_handler *handler)
{
    struct variable_access access = run_variable_access(run);

    if (handler->flags & TOOL_VARIABLES)
        access.messages = messages_of(run);
    return access;
}

/* ---- Resolved arguments ---- */

void resolved_call_free(struct resolved_call *resolved)
{
    if (!resolved)
        return;
    json_decref(resolved->args);
    json_decref(resolved->names);
    free(resolved->text);
    free(resolved->error);
    free(resolved);
}

struct resolved_call *resolved_call_restore(const char *text)
{
    struct resolved_call *resolved;

    if (!text)
        return NULL;
    resolved = mem_new(struct resolved_call);
    resolved->text = mem_strdup(text);
    resolved->args = json_parse_own(text);
    return resolved;
}

/* ---- On a worker ---- */

/* Appends names of long messages behind `count` other names, up to AVAILABLE_LIMIT. */
static void add_messages(const struct variable_access *access, size_t count, struct buf *names)
{
    for (size_t n = 0; count + n < AVAILABLE_LIMIT; n++) {
        AUTO_VARIABLE message = {0};

        if (!message_cache_at(access->messages, n, &message))
            return;
        buf_addf(names, "%s%s", names->length ? ", " : "", message.name);
    }
}

/* Appends the names of existing variables to the error: a model often misspells a name, and
 * can correct it without another call. */
static void add_available(const struct tool_call *call, const struct variable_access *access,
                          struct err *err)
{
    const struct variable_query query = {.limit = AVAILABLE_LIMIT};
    struct variable *variables = NULL;
    AUTO_BUF names = {0};
    int64_t total = 0;
    size_t count = 0;

    if (access->ops->list(access, tool_call_tenant(call), &query, &variables, &count, &total,
                          NULL))
        return;
    for (size_t i = 0; i < count; i++)
        buf_addf(&names, "%s%s", i ? ", " : "", variables[i].name);
    variables_free(variables, count);
    add_messages(access, count, &names);
    total += (int64_t)message_cache_count(access->messages);
    if (!names.length)
        buf_add_text(&names, "none");
    if (names.length > AVAILABLE_BYTES)
        names.data[AVAILABLE_BYTES] = '\0';
    (void)snprintf(err->text + strlen(err->text), sizeof(err->text) - strlen(err->text),
                   " Available variables: %s%s", names.data,
                   total > AVAILABLE_LIMIT || names.length > AVAILABLE_BYTES ? ", ..." : "");
}

static enum err_code find_variable(void *arg, const char *name, struct variable *ret_variable,
                                   struct err *err)
{
    struct tool_call *call = arg;
    struct variable_access access;
    enum err_code rc = tool_call_variables(call, &access, err);

    if (rc)
        return rc;
    if (tool_call_cancelled(call))
        return err_set(err, ERR_CANCELLED, "cancelled");
    rc = tool_call_read_variable(call, &access, name, ret_variable, err);
    if (rc == ERR_NOT_FOUND)
        add_available(call, &access, err);
    return rc;
}

/* The handler of the offload. The text of the arguments is made here, too, because that
 * takes time for large values and would block the loop. */
static enum err_code resolve(struct tool_call *call, struct tool_result *ret_result,
                             struct err *err)
{
    json_t *args = NULL, *names = NULL, *fields;
    AUTO_FREE char *text = NULL;
    enum err_code rc;

    (void)ret_result;
    rc = var_ref_resolve(tool_call_args(call), find_variable, call, &args, &names, err);
    if (rc)
        return rc;
    text = json_text(args);
    fields = json_build("{s:o, s:o}", "args", args, "names", names);
    json_set_string(fields, "text", text);
    return tool_call_emit_stage(call, "resolved", fields);
}

static const struct tool_handler resolver = {
    .name = "resolve",
    .description = "",
    .parameters = "{}",
    .flags = TOOL_VARIABLES,
    .run = resolve,
};

/* ---- To the workers, and back ---- */

/* The arguments of a call with references to resolve, a new reference; else NULL. */
static json_t *references_in(const struct call *call)
{
    json_t *args = NULL;

    if (*call->approval.id)
        return NULL; /* what was approved is executed as it was shown */
    /* A search of the text comes first: most arguments have no reference and need not be
     * parsed. */
    if (!call_is_due(call) || call->resolved || !call->use || tool_use_is_clients(call->use) ||
        !call->arguments.length || !var_ref_may_be_in(call->arguments.data))
        return NULL;
    if (json_parse_exact(call->arguments.data, call->arguments.length, &args, NULL))
        return NULL; /* run_prepare_call() reports it */
    if (json_is_object(args) && var_ref_is_in(args))
        return args;
    json_decref(args);
    return NULL;
}

/* The tool reads variables itself, so what was written before must be committed. */
static bool reads_variables(const struct call *call)
{
    return call_is_due(call) && call->use && call->use->handler->flags & TOOL_VARIABLES;
}

static void take_resolved(struct run *run, unsigned job, const struct offload_result *result)
{
    struct resolved_call *resolved = NULL;

    for (unsigned i = 0; i < run->calls.count && !resolved; i++) {
        resolved = run->calls.list[i].resolved;
        if (resolved && (!resolved->waiting || resolved->job != job))
            resolved = NULL;
    }
    assert(resolved);
    resolved->waiting = false;
    json_decref(TAKE(resolved->args));
    if (result->error) {
        resolved->error = mem_new(struct err);
        *resolved->error = *result->error;
        return;
    }
    resolved->args = json_incref(json_object_get(result->fields, "args"));
    resolved->names = json_incref(json_object_get(result->fields, "names"));
    resolved->text = mem_strdup(json_get_string(result->fields, "text", NULL));
}

/* Everything so far is committed. Without references there was nothing else to wait for. */
static void start_resolving(struct run *run)
{
    unsigned count = 0;

    if (run->life != RUN_ALIVE)
        return;
    for (unsigned i = 0; i < run->calls.count; i++) {
        struct resolved_call *resolved = run->calls.list[i].resolved;

        if (resolved && resolved->waiting)
            resolved->job = count++;
    }
    if (!count) {
        run_pass_stage(run);
        return;
    }
    run_offload(run, count, take_resolved, run_pass_stage);
    for (unsigned i = 0; i < run->calls.count; i++) {
        const struct call *call = &run->calls.list[i];

        if (call->resolved && call->resolved->waiting)
            run_offload_job(run, call->resolved->job,
                            (struct tool_call_spec){
                                .handler = &resolver,
                                .call_id = call->id,
                                .args = call->resolved->args,
                                .variables = run_variable_access_of(run, &resolver),
                            });
    }
}

enum stage_step run_resolve_calls(struct run *run)
{
    bool wanted = false;

    for (unsigned i = 0; i < run->calls.count; i++) {
        struct call *call = &run->calls.list[i];
        json_t *args = references_in(call);

        wanted = wanted || args || reads_variables(call);
        if (!args)
            continue;
        call->resolved = mem_new(struct resolved_call);
        call->resolved->args = args;
        call->resolved->waiting = true;
    }
    if (!wanted)
        return STAGE_PASSED;
    run_after_write(run, start_resolving);
    return STAGE_WAITS;
}

/* ---- Results ---- */

/* Results of groups and remote servers are kept. Not those of hidden calls, which stay
 * hidden, and not the answer of a final tool, which is a message. */
static bool is_kept(const struct call *call)
{
    return call->use && call->use->label && call->status == CALL_SUCCEEDED && !call->hidden &&
           !call->final && !(call->use->handler->flags & TOOL_NOT_KEPT);
}

static struct variable new_variable(const char *name, enum variable_type type,
                                    const char *value, const char *description)
{
    struct variable variable = {.type = type,
                                .plain = true,
                                .value = variable_fit(value),
                                .description = mem_strdup(description),
                                .created_at = clock_wall_us()};

    variable.length = (int64_t)variable_length(variable.value);
    (void)snprintf(variable.name, sizeof(variable.name), "%s", name);
    return variable;
}

/* The variable of a withheld result is created with its approval: the model could read it.
 * False if there is no room. */
static bool put_result(struct run *run, struct call *call, const char *whole,
                       const char *description)
{
    AUTO_VARIABLE variable =
        new_variable(call->kept->result, VARIABLE_TOOL_CALL_RESULT, whole, description);

    if (!call->withheld)
        return run_put_variable(run, &variable);
    run_withhold_variable(call, &variable);
    return true;
}

static void put_args(struct run *run, const struct call *call, const json_t *args)
{
    AUTO_FREE char *text = json_text_indented(args, ARGS_INDENT);
    AUTO_FREE char *description = mem_printf("Arguments for tool call: %s", call->name);
    struct variable variable;

    variable = new_variable(call->kept->args, VARIABLE_TOOL_CALL_ARGS, text, description);
    (void)run_put_variable(run, &variable);
}

/* The arguments as they were executed. New reference. */
static json_t *executed_args(const struct call *call)
{
    json_t *args = NULL;

    if (call->resolved && call->resolved->args)
        return json_incref(call->resolved->args);
    if (!call->arguments.length ||
        json_parse_exact(call->arguments.data, call->arguments.length, &args, NULL))
        return json_object();
    return args;
}

/* The text with a hint at its variable, or NULL. If the tool that reads variables was only
 * implied (tool_set.h), a result that is shown whole gets no hint: the request did not
 * choose variables, and its results should be what it expects. */
static char *hinted(const struct run *run, const struct call *call, const char *whole,
                    const char *text, const struct cut_shown *shown)
{
    const struct tool_use *reader = tool_set_find_reader(&run->tools);
    const struct variable_hint hint = {.name = call->kept->result,
                                       .length = variable_length(whole),
                                       .lost = variable_lost(whole),
                                       .truncated = shown->truncated,
                                       .shown = shown->count,
                                       .start = shown->next,
                                       .language = run->settings.language};
    AUTO_FREE char *said = NULL;

    if (!reader || (reader->implied && !shown->truncated))
        return NULL;
    said = variable_hint_text(&hint);
    return mem_printf("%s%s", text, said);
}

char *run_keep_result(struct run *run, struct call *call, const char *whole, const char *text,
                      const struct cut_shown *shown)
{
    json_auto_t *args = NULL;
    AUTO_FREE char *description = NULL;

    if (!is_kept(call))
        return NULL;
    call->kept = mem_new(struct variable_names);
    variable_names_make(call->kept, call->name);
    args = executed_args(call);
    description = variable_describe_call(call->name, args);
    if (!put_result(run, call, whole, description)) {
        free(TAKE(call->kept)); /* no room: no hint, and the item names no variables */
        return NULL;
    }
    put_args(run, call, args);
    return hinted(run, call, whole, text, shown);
}
