#include "core/run/run_grants.h"

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/mcp/mcp_named.h"
#include "core/run/run_approvals.h"
#include "core/run/run_calls.h"
#include "core/run/run_plan.h"
#include "core/run/run_variables.h"
#include "core/store/grants.h"

#define CHANNEL_CAPACITY 2 /* outputs of the one that looks up */

void recall_free(struct recall *recall)
{
    if (recall)
        free(recall->reason);
    free(recall);
}

/* ---- What a call is remembered by ---- */

static void tool_name(const struct tool_use *use, char *ret_name, size_t size)
{
    const char *group = use->handler->group ? use->handler->group : use->type;

    (void)snprintf(ret_name, size, "%s/%s", use->remote ? use->label : group, use->own);
}

void tool_use_definition(const struct tool_use *use, char ret_hash[PERMISSION_KEY_SIZE])
{
    json_auto_t *definition = json_build("{s:s, s:o}", "description", tool_use_description(use),
                                         "parameters", tool_use_parameters(use));
    const char *url =
        use->named ? use->named->url : json_get_string(use->entry, "server_url", NULL);
    char name[2 * ID_LIMIT + 160];

    if (use->remote && url)
        json_set_string(definition, "server_url", url);
    tool_name(use, name, sizeof(name));
    permission_key(name, definition, ret_hash);
}

/* Of a call that could be made. */
static struct recall *new_recall(struct run *run, const struct call *call)
{
    json_auto_t *args = NULL;
    struct recall *recall;
    struct err err;

    if (run_prepare_call(run, call, &args, &err))
        return NULL;
    recall = mem_new(struct recall);
    tool_name(call->use, recall->tool, sizeof(recall->tool));
    permission_key(recall->tool, args, recall->key);
    tool_use_definition(call->use, recall->definition);
    recall->said = run_memory_policy(run, call->use) == MEMORY_SAID;
    return recall;
}

/* Nothing is remembered for, or by, a response that is not stored; and what a tool finds in its
 * arguments, or says of them, is asked about whatever was said of the tool. */
static bool may_be_remembered(const struct run *run, const struct call *call)
{
    return run->row.flags & RUN_STORED && call_is_ours(call) && call->use &&
           !tool_use_is_clients(call->use) && !call->use->handler->asks &&
           !call_permission(call) && run_memory_policy(run, call->use) != MEMORY_NONE;
}

void run_note_recall(struct run *run, struct call *call)
{
    if (!call->recall && may_be_remembered(run, call))
        call->recall = new_recall(run, call);
}

static const char *user_of(const struct run *run)
{
    return json_get_string(run->config, "user", "");
}

static void set_scope(json_t *scopes, const char *scope, const char *id)
{
    if (*id)
        json_set_string(scopes, scope, id);
}

/* Where an answer is remembered that says nothing about it. */
static const char *default_scope(const struct run *run, const json_t *scopes)
{
    const json_t *approval =
        json_object_get(json_object_get(run->config, "runnel"), "approval");
    const char *scope = json_get_string(approval, "remember_default", "thread");

    return json_object_get(scopes, scope) || strcmp(scope, "run") == 0 ? scope : "thread";
}

char *run_grant_memory(const struct run *run, const struct call *call)
{
    json_auto_t *memory = NULL;
    json_t *scopes;

    if (!call->recall)
        return NULL;
    scopes = json_object();
    set_scope(scopes, "thread", *run->row.thread_id ? run->row.thread_id : run->row.id);
    set_scope(scopes, "assistant", run->row.assistant_id);
    set_scope(scopes, "user", user_of(run));
    memory = json_build("{s:s, s:s, s:o}", "tool", call->recall->tool, "key", call->recall->key,
                        "scopes", scopes);
    if (!call->recall->said)
        json_set_string(memory, "default", default_scope(run, scopes));
    return json_text(memory);
}

json_t *recall_note(const struct recall *recall)
{
    if (!recall || !*recall->grant_id)
        return NULL;
    return json_build("{s:s, s:b}", "grant_id", recall->grant_id, "remembered", true);
}

/* ---- On a worker ---- */

static struct grant_question *read_questions(const json_t *list)
{
    struct grant_question *questions =
        mem_new_array(struct grant_question, json_array_size(list) + 1);
    size_t i;
    json_t *one;

    json_array_foreach (list, i, one) {
        questions[i].tool = json_get_string(one, "tool", "");
        questions[i].key = json_get_string(one, "key", "");
        questions[i].definition = json_get_string(one, "definition", "");
        questions[i].said = json_get_bool(one, "said", false);
    }
    return questions;
}

static json_t *grant_answer(const struct grant_row *grant)
{
    json_t *answer;

    if (!*grant->id)
        return json_null();
    answer = json_build("{s:s, s:b}", "id", grant->id, "approve", grant->approve);
    json_set_string(answer, "reason", grant->reason);
    return answer;
}

static enum err_code look_up(struct tool_call *call, struct tool_result *ret_result,
                             struct err *err)
{
    const json_t *args = tool_call_args(call);
    const json_t *list = json_object_get(args, "questions");
    AUTO_FREE struct grant_question *questions = read_questions(list);
    const struct grant_place place = {.project = tool_call_project(call),
                                      .run = tool_call_run(call),
                                      .thread = tool_call_thread(call),
                                      .parent = json_get_string(args, "parent", ""),
                                      .assistant = json_get_string(args, "assistant", ""),
                                      .user = tool_call_user(call)};
    size_t count = json_array_size(list);
    struct variable_access access;
    struct grant_row *grants = NULL;
    json_t *answers;
    enum err_code rc = tool_call_variables(call, &access, err);

    (void)ret_result;
    if (!rc)
        rc = store_grants_find(access.store, &place, questions, count, &grants, err);
    if (rc)
        return rc;
    answers = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(answers, grant_answer(&grants[i]));
    grant_rows_free(grants, count);
    return tool_call_emit_stage(call, "recalled", json_build("{s:o}", "grants", answers));
}

static const struct tool_handler recaller = {
    .name = "recall",
    .description = "",
    .parameters = "{}",
    .run = look_up,
};

/* ---- To the worker, and back ---- */

static json_t *questions_of(const struct run *run)
{
    json_t *questions = json_array();

    for (unsigned i = 0; i < run->call_count; i++) {
        const struct recall *recall = run->calls[i].recall;

        if (recall)
            json_array_append_new(questions,
                                  json_build("{s:s, s:s, s:s, s:b}", "tool", recall->tool,
                                             "key", recall->key, "definition",
                                             recall->definition, "said", recall->said));
    }
    return questions;
}

static void start_recalling(struct run *run)
{
    const bool hidden[1] = {false};
    json_auto_t *args = NULL;

    if (run->life != RUN_ALIVE)
        return;
    args = json_build("{s:o, s:s, s:s}", "questions", questions_of(run), "parent",
                      *run->row.thread_id ? "" : run->row.parent_id, "assistant",
                      run->row.assistant_id);
    run->bell = engine_bell(run);
    run->recalling = tool_channel_new(1, hidden, CHANNEL_CAPACITY, bell_ring, run->bell);
    tool_executor_submit(engine_options(run->engine)->executor,
                         &(struct tool_call_spec){
                             .handler = &recaller,
                             .channel = run->recalling,
                             .call_id = "",
                             .project = run->row.project,
                             .run = run->row.id,
                             .thread = run->row.thread_id,
                             .user = user_of(run),
                             .args = args,
                             .variables = run_variable_access(run),
                         });
}

void run_recall_grants(struct run *run, void (*then)(struct run *run))
{
    bool wanted = false;

    for (unsigned i = 0; i < run->call_count; i++) {
        struct call *call = &run->calls[i];

        if (!*call->approval_id)
            run_note_recall(run, call);
        wanted = wanted || call->recall;
    }
    if (!wanted) {
        then(run);
        return;
    }
    run->recalled = then;
    run_after_write(run, start_recalling);
}

static void take_grants(struct run *run, const json_t *grants)
{
    size_t next = 0;

    for (unsigned i = 0; i < run->call_count; i++) {
        struct recall *recall = run->calls[i].recall;
        const json_t *grant;

        if (!recall)
            continue;
        grant = json_array_get(grants, next++);
        (void)snprintf(recall->grant_id, sizeof(recall->grant_id), "%s",
                       json_get_string(grant, "id", ""));
        recall->approve = json_get_bool(grant, "approve", false);
        free(recall->reason);
        recall->reason = mem_strdup(json_get_string(grant, "reason", NULL));
    }
}

void run_collect_recalled(struct run *run)
{
    struct tool_output output;

    while (run->recalling && tool_channel_take(run->recalling, &output)) {
        if (output.kind == TOOL_OUTPUT_STAGE)
            take_grants(run, json_object_get(output.fields, "grants"));
        tool_output_clear(&output);
    }
    if (run->recalling && tool_channel_finished(run->recalling)) {
        void (*then)(struct run *) = run->recalled;

        engine_hang_up(run);
        run_stop_recalling(run);
        then(run);
    }
}

void run_stop_recalling(struct run *run)
{
    run->recalled = NULL;
    if (!run->recalling)
        return;
    tool_channel_close(run->recalling);
    tool_channel_release(TAKE(run->recalling));
}
