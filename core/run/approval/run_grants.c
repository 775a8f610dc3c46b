/*
 * Remembered answers for the calls of a turn.
 *
 * One lookup serves the whole turn. For each call it asks the store about the call itself, if
 * its policy remembers answers, and about each pattern of the permission that its plan wants.
 * The store returns one grant or nothing for each question, in the same order (grants.h).
 * Together they decide:
 *
 *   the call or a pattern is refused         the call is refused
 *   the call is approved, no permission      it runs
 *   all patterns and the call are approved   it runs
 *   all patterns are approved                the permission is dropped; the policy may still
 *                                            ask
 *   anything else                            a person is asked
 *
 * A grant for a tool does not cover a permission. The person who said "always run this tool"
 * has not seen that this call writes outside its directory.
 *
 * What must hold: an error never allows anything. Without a result of the lookup no call is
 * decided, and a permission without type or patterns is never looked up, because there is
 * nothing that a grant could cover. Nothing is cached between turns, so a revoked grant does
 * not count in the next turn.
 *
 * After a crash or a pause the stage runs again. It skips calls that a person has answered
 * since: that answer is newer than any grant.
 */

#include "core/run/approval/run_grants.h"

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/mcp/mcp_named.h"
#include "core/run/approval/run_approvals.h"
#include "core/run/approval/run_taint.h"
#include "core/run/calls/offload.h"
#include "core/run/calls/run_calls.h"
#include "core/run/calls/run_plan.h"
#include "core/run/calls/run_variables.h"
#include "core/store/tables/approvals/grants.h"

void recall_free(struct recall *recall)
{
    if (!recall)
        return;
    json_decref(recall->permission);
    free(recall->reason);
    free(recall);
}

/* ---- What is looked up for a call ---- */

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
    json_t *revision = json_object_get(use->made, "revision");
    char name[2 * ID_LIMIT + 160];

    if (use->remote && url)
        json_set_string(definition, "server_url", url);
    if (revision)
        json_object_set(definition, "revision", revision);
    tool_name(use, name, sizeof(name));
    permission_key(name, definition, ret_hash);
}

/* NULL if the call cannot be executed: it gets no question either. */
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
    recall->said = run_memory_policy(run, call->use) == MEMORY_ON_REQUEST;
    recall->since = run_tainted_since(run, call->use);
    return recall;
}

/* A response that is not stored neither uses grants nor makes any. */
static bool can_remember(const struct run *run, const struct call *call)
{
    return run->row.flags & RUN_STORED && call_is_due(call) && call->use &&
           !tool_use_is_clients(call->use);
}

/* A grant can cover the permission: it has a type, and patterns that are not empty. */
static bool has_patterns(const json_t *permission)
{
    const json_t *patterns = json_object_get(permission, "patterns");
    size_t i;
    json_t *pattern;

    json_array_foreach (patterns, i, pattern) {
        if (!json_string_length(pattern))
            return false;
    }
    return json_array_size(patterns) && *json_get_string(permission, "type", "");
}

/* `permission` is what the call's plan wants, {"type", "patterns", ...}; or NULL. */
static void prepare_recall(struct run *run, struct call *call, const json_t *permission)
{
    bool itself;

    if (call->recall || !can_remember(run, call))
        return;
    itself = run_memory_policy(run, call->use) != MEMORY_NONE;
    if (permission ? !has_patterns(permission) : !itself)
        return;
    call->recall = new_recall(run, call);
    if (!call->recall)
        return;
    call->recall->itself = itself;
    if (permission)
        call->recall->permission =
            json_build("{s:s, s:O}", "type", json_get_string(permission, "type", ""),
                       "patterns", json_object_get(permission, "patterns"));
}

static void add_scope(json_t *scopes, const char *scope, const char *id)
{
    if (*id)
        json_set_string(scopes, scope, id);
}

/* The scope of an answer that names none: `remember_default` of the request, or the thread
 * if the run does not have that scope. */
static const char *default_scope(const struct run *run, const json_t *scopes)
{
    const char *scope = run->settings.approval.remember;

    return json_object_get(scopes, scope) || strcmp(scope, "run") == 0 ? scope : "thread";
}

json_t *recall_matches(const struct recall *recall)
{
    if (recall && recall->permission)
        return json_build("[s]", "pattern");
    return recall && recall->itself ? json_build("[s, s]", "exact", "tool") : NULL;
}

char *run_grant_memory(const struct run *run, const struct call *call)
{
    const struct recall *recall = call->recall;
    json_auto_t *memory = NULL;
    json_t *scopes;

    if (!recall || (!recall->permission && !recall->itself))
        return NULL;
    scopes = json_object();
    add_scope(scopes, "thread", *run->row.thread_id ? run->row.thread_id : run->row.id);
    add_scope(scopes, "assistant", run->row.assistant_id);
    add_scope(scopes, "user", run->tenant.user);
    memory = json_build("{s:s, s:o}", "tool", recall->tool, "scopes", scopes);
    if (recall->permission) {
        json_object_update(memory, recall->permission);
        return json_text(memory);
    }
    json_set_string(memory, "key", recall->key);
    if (!recall->said)
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
        questions[i].type = json_get_string(one, "type", NULL);
        questions[i].text = json_get_string(one, "text", NULL);
    }
    return questions;
}

/* Who approved before the model has read a stranger's text did not know of it. */
static json_t *grant_answer(const struct grant_row *grant, int64_t since)
{
    json_t *answer;

    if (!*grant->id || (grant->approve && grant->created_at < since))
        return json_null();
    answer = json_build("{s:s, s:b}", "id", grant->id, "approve", grant->approve);
    json_set_string(answer, "reason", grant->reason);
    return answer;
}

static enum err_code find_grants(struct tool_call *call, struct tool_result *ret_result,
                                 struct err *err)
{
    const json_t *args = tool_call_args(call);
    const json_t *list = json_object_get(args, "questions");
    AUTO_FREE struct grant_question *questions = read_questions(list);
    const struct grant_place place = {.tenant = tool_call_tenant(call),
                                      .run = tool_call_run(call),
                                      .thread = tool_call_thread(call),
                                      .parent = json_get_string(args, "parent", ""),
                                      .assistant = json_get_string(args, "assistant", "")};
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
        json_array_append_new(
            answers,
            grant_answer(&grants[i], json_get_int(json_array_get(list, i), "since", 0)));
    grant_rows_free(grants, count);
    return tool_call_emit_stage(call, "recalled", json_build("{s:o}", "grants", answers));
}

static const struct tool_handler finder = {
    .name = "recall",
    .description = "",
    .parameters = "{}",
    .run = find_grants,
};

/* ---- To the worker, and back ---- */

static json_t *question_of(const struct recall *recall)
{
    return json_build("{s:s, s:s, s:s, s:b, s:I}", "tool", recall->tool, "key", recall->key,
                      "definition", recall->definition, "said", recall->said, "since",
                      (json_int_t)recall->since);
}

static const json_t *patterns_of(const struct recall *recall)
{
    return json_object_get(recall->permission, "patterns");
}

/* First the call itself, then each pattern: take_grants_of() relies on this order. */
static void add_questions_of(const struct recall *recall, json_t *questions)
{
    size_t i;
    json_t *pattern;

    if (recall->itself)
        json_array_append_new(questions, question_of(recall));
    json_array_foreach (patterns_of(recall), i, pattern) {
        json_t *question = question_of(recall);

        json_set_string(question, "type", json_get_string(recall->permission, "type", ""));
        json_set_string(question, "text", json_string_value(pattern));
        json_array_append_new(questions, question);
    }
}

/* A call that a person has answered needs no lookup: the answer counts. */
static bool is_open(const struct call *call)
{
    return call->recall && call_is_due(call) && !*call->approval.id;
}

static json_t *questions_of(const struct run *run)
{
    json_t *questions = json_array();

    for (unsigned i = 0; i < run->calls.count; i++) {
        if (is_open(&run->calls.list[i]))
            add_questions_of(run->calls.list[i].recall, questions);
    }
    return questions;
}

static bool allows(const json_t *grant)
{
    return json_get_bool(grant, "approve", false);
}

static bool refuses(const json_t *grant)
{
    return json_is_object(grant) && !allows(grant);
}

static void take_grant(struct recall *recall, const json_t *grant)
{
    (void)snprintf(recall->grant_id, sizeof(recall->grant_id), "%s",
                   json_get_string(grant, "id", ""));
    recall->approve = allows(grant);
    free(recall->reason);
    recall->reason = mem_strdup(json_get_string(grant, "reason", NULL));
}

/* One grant for all patterns: a refusal if there is one, else an approval if no pattern
 * lacks one, else NULL. */
static const json_t *combine(const json_t *grants, size_t first, size_t count)
{
    const json_t *all = json_array_get(grants, first);

    for (size_t i = first; i < first + count; i++) {
        const json_t *grant = json_array_get(grants, i);

        if (refuses(grant))
            return grant;
        if (!allows(grant))
            all = NULL;
    }
    return all;
}

/* Grants allow everything that the plan wants. Whether the call runs is for its policy to
 * say. */
static void drop_permission(struct call *call)
{
    json_decref(TAKE(call->recall->permission));
    if (call->plan)
        json_decref(TAKE(call->plan->permission));
}

static void take_grants_of(struct call *call, const json_t *grants, size_t *next)
{
    struct recall *recall = call->recall;
    const json_t *itself = recall->itself ? json_array_get(grants, (*next)++) : NULL;
    size_t count = json_array_size(patterns_of(recall));
    const json_t *all = combine(grants, *next, count);

    *next += count;
    if (refuses(itself) || !count) {
        take_grant(recall, itself);
    } else if (refuses(all)) {
        take_grant(recall, all);
    } else if (allows(all)) {
        take_grant(recall, allows(itself) ? itself : all);
        drop_permission(call);
    }
    recall->decided = *recall->grant_id && (!recall->approve || allows(itself));
}

/* After an error there are no "grants": no call is decided. */
static void take_grants(struct run *run, unsigned job, const struct offload_result *result)
{
    const json_t *grants = json_object_get(result->fields, "grants");
    size_t next = 0;

    (void)job;
    for (unsigned i = 0; grants && i < run->calls.count; i++) {
        if (is_open(&run->calls.list[i]))
            take_grants_of(&run->calls.list[i], grants, &next);
    }
}

static void start_recalling(struct run *run)
{
    json_auto_t *args = NULL;

    if (run->life != RUN_ALIVE)
        return;
    args = json_build("{s:o, s:s, s:s}", "questions", questions_of(run), "parent",
                      *run->row.thread_id ? "" : run->row.parent_id, "assistant",
                      run->row.assistant_id);
    run_offload(run, 1, take_grants, run_pass_stage);
    run_offload_job(run, 0,
                    (struct tool_call_spec){
                        .handler = &finder,
                        .call_id = "",
                        .args = args,
                        .variables = run_variable_access(run),
                    });
}

enum stage_step run_recall_grants(struct run *run)
{
    bool wanted = false;

    for (unsigned i = 0; i < run->calls.count; i++) {
        struct call *call = &run->calls.list[i];

        if (!*call->approval.id)
            prepare_recall(run, call, call_permission(call));
        wanted = wanted || is_open(call);
    }
    if (!wanted)
        return STAGE_PASSED;
    run_after_write(run, start_recalling);
    return STAGE_WAITS;
}
