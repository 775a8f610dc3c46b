/*
 * Approvals of calls: policy, question, answer.
 *
 * The policy of a call is computed when it is needed, from the configuration and the settings
 * of the run. No decision depends on a stored policy: a stricter one counts for every call that
 * has not begun. Once a question was asked, the policy does not matter any more, and the answer
 * decides.
 *
 * A question is about one call and has one id, and the id is the only link between its forms:
 * an item, a call of runnel_approval, a row in the store, an event of a webhook. Other calls of
 * the turn run first; the questions are shown at the end of the turn. They stand behind a
 * barrier: a client may answer as soon as it can read the id, so the row must be committed by
 * then (run_write.c).
 *
 * An answer reaches the run in one of three ways, and each has its functions below: the
 * settings of the next response, the outputs of a thread's run, or the store, read by a
 * response that holds. The two APIs prescribe the first two. The third is for answers that
 * come past the client, while its request stays open.
 *
 * What must hold: no call is executed without the approval that its policy wants. The stage
 * asks early, for all calls together. run_may_execute() checks each call again right before its
 * tool gets it, and trusts none of the stages: whatever path a call took after a crash or a
 * pause, without an answer it does not run.
 *
 * After a crash the calls are restored from their rows, with the answers that were stored, and
 * walk the stages again. A question that was asked is asked again under its old id. A call that
 * had begun is not asked again, because it was allowed when it began; see was_cleared() for the
 * exceptions.
 */

#include "core/run/approval/run_approvals.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/notes.h"
#include "core/domain/permission.h"
#include "core/domain/withheld.h"
#include "core/mcp/mcp_named.h"
#include "core/run/approval/approval_answer.h"
#include "core/run/approval/grant.h"
#include "core/run/approval/run_grants.h"
#include "core/run/approval/run_results.h"
#include "core/run/approval/run_taint.h"
#include "core/run/calls/run_calls.h"
#include "core/run/calls/run_plan.h"
#include "core/run/calls/run_programs.h"
#include "core/run/calls/run_variables.h"
#include "core/tool/registry.h"

/* ---- Policy ---- */

/* The operator's `require_approval` of a server that the operator has named; or NULL. A request
 * can only tighten it. */
static const json_t *operator_rule(const struct tool_use *use)
{
    return use->named ? use->named->require_approval : NULL;
}

/* The policy of an entry without `require_approval`. Tools of a group, and hosted ones, have policies of their
 * own. Calls of a remote server need an approval unless the request says "never": so does
 * OpenAI. */
static enum execution_policy default_policy(const struct tool_use *use)
{
    const struct tool_handler *handler = use->handler;
    bool ours =
        handler->flags & TOOL_HOSTED ||
        (handler->group && tool_registry_find(handler->group, handler->name) == handler);
    bool operators =
        operator_rule(use) && json_absent(json_object_get(use->entry, "require_approval"));

    return ours || operators ? EXECUTION_AUTO : EXECUTION_ASK_ALWAYS;
}

/* The policy without the `require_approval` of the entry. The operator may loosen what the tool
 * declares; every level after that only tightens, and so does what the model has read.
 * *ret_wanted is what `runnel.permissions` of the request says. */
static struct permission declared(const struct run *run, const struct tool_use *use,
                                  const char *name, struct permission *ret_wanted)
{
    const struct tool_handler *handler = use->handler;
    const char *group = handler->group ? handler->group : use->type;
    const struct run_settings *settings = &run->settings;
    struct permission lax = {EXECUTION_AUTO, RESULT_NEVER};
    struct permission permission = permission_override(
        tool_use_permission(use),
        permission_set_find(engine_options(run->engine)->permissions, group, name));

    *ret_wanted =
        permission_override(lax, permission_set_find(&settings->permissions,
                                                     use->label ? use->label : group, name));
    permission = permission_stricter(permission, *ret_wanted);
    permission = permission_stricter(
        permission, permission_override(
                        lax, permission_set_find(&settings->project_permissions, group, name)));
    if (operator_rule(use))
        lax.execution =
            permission_required(operator_rule(use), name, use->read_only, EXECUTION_ASK_ALWAYS);
    permission = permission_stricter(permission, lax);
    if (permission.execution == EXECUTION_AUTO && run_tainted_since(run, use))
        permission.execution = EXECUTION_ASK_ONCE;
    return permission;
}

static bool requires_approval(const struct tool_use *use, const char *name)
{
    return permission_required(json_object_get(use->entry, "require_approval"), name,
                               use->read_only, default_policy(use)) != EXECUTION_AUTO;
}

static struct permission permission_as(const struct run *run, const struct tool_use *use,
                                       const char *name)
{
    struct permission wanted;
    struct permission permission = declared(run, use, name, &wanted);

    if (requires_approval(use, name) && permission.execution == EXECUTION_AUTO)
        permission.execution = EXECUTION_ASK_ALWAYS;
    return permission;
}

/* A policy may mean a tool by either of two names: one of a remote server that was renamed, and one that comes along
 * with another. NULL: it has one. */
static const char *other_name(const struct tool_use *use)
{
    return use->handler->flags & TOOL_ALONG ? use->handler->type : use->original;
}

struct permission run_permission_of(const struct run *run, const struct tool_use *use)
{
    const char *other = other_name(use);
    struct permission permission = permission_as(run, use, use->own);

    return other ? permission_stricter(permission, permission_as(run, use, other)) : permission;
}

/* `require_approval` means every call, so answers are remembered only on request. An exception
 * is a request that also says "ask-once" itself: then `require_approval` is there for other
 * servers, which do not know that value. */
static enum memory_policy memory_as(const struct run *run, const struct tool_use *use,
                                    const char *name)
{
    struct permission wanted;
    struct permission permission = declared(run, use, name, &wanted);

    if (permission.execution == EXECUTION_ASK_ALWAYS)
        return MEMORY_NONE;
    if (requires_approval(use, name) && wanted.execution != EXECUTION_ASK_ONCE)
        return MEMORY_ON_REQUEST;
    return permission.execution == EXECUTION_ASK_ONCE ? MEMORY_ALWAYS : MEMORY_NONE;
}

enum memory_policy run_memory_policy(const struct run *run, const struct tool_use *use)
{
    enum memory_policy memory = memory_as(run, use, use->own);
    const char *name = other_name(use);
    enum memory_policy other = name ? memory_as(run, use, name) : memory;

    return other < memory ? other : memory;
}

const char *run_no_approver(const struct run *run, enum approval_kind kind)
{
    if (run->settings.approval.channel == APPROVAL_DENY)
        return kind == APPROVAL_OF_RESULT ? "No result approval callback set"
                                          : "No execution approval callback set";
    if (!(run->row.flags & RUN_STORED))
        return "No person can approve the calls of a response that is not stored";
    return NULL;
}

/* ---- Which calls wait ---- */

/* A call that had begun in an earlier residency was allowed then, and gets no second question.
 * That is unsure if a grant had allowed it, which may be revoked by now, if its plan asks for a
 * permission, or if the tool has changed. It matters only for a call that would be executed
 * again: any other one that had begun just ends with an error. */
static bool was_cleared(const struct run *run, const struct call *call)
{
    bool unsure = call->recall || call->approval.anew || call_permission(call);

    return call->begun && !run_no_approver(run, APPROVAL_OF_EXECUTION) &&
           !(unsure && call_may_repeat(call));
}

/* Because the tool has changed, its plan asks for a permission, or its policy says so. */
static bool needs_approval(const struct run *run, const struct call *call)
{
    return call->approval.anew || call_permission(call) ||
           run_permission_of(run, call->use).execution != EXECUTION_AUTO;
}

/* The plan is known, or the tool makes none. */
static bool is_planned(const struct call *call)
{
    return !call->use->handler->plan || (call->plan && !call->plan->waiting);
}

bool run_may_execute(const struct run *run, const struct call *call)
{
    const struct recall *recall = call->recall;

    if (call->status == CALL_APPROVED)
        return true;
    if (call->status != CALL_PROPOSED)
        return false;
    if (!is_planned(call))
        return false;
    if (recall && recall->decided)
        return recall->approve;
    return was_cleared(run, call) || !needs_approval(run, call);
}

/* A call that cannot run anyway gets no question: the model receives the error at once, and may
 * correct the call. */
static bool must_ask(struct run *run, const struct call *call)
{
    json_auto_t *args = NULL;
    struct err err;

    if (call->status != CALL_PROPOSED || *call->approval.id || !call->use ||
        tool_use_is_clients(call->use))
        return false;
    if (was_cleared(run, call))
        return false;
    if (call->plan && call->plan->error)
        return false;
    return needs_approval(run, call) && run_prepare_call(run, call, &args, &err) == ERR_OK;
}

/* ---- Asking ---- */

/* A call has at most one question at a time: about its execution, or later about its result. */
static enum approval_kind kind_of(const struct call *call)
{
    if (call->withheld)
        return APPROVAL_OF_RESULT;
    return call_permission(call) ? APPROVAL_OF_PERMISSION : APPROVAL_OF_EXECUTION;
}

static const char *question_id(const struct call *call)
{
    return call->withheld ? call->withheld->approval_id : call->approval.id;
}

/* The details of a question name this call, and the same side of its execution. */
static bool concerns(const json_t *details, const struct call *call)
{
    const char *result = approval_kind_name(APPROVAL_OF_RESULT);
    bool after = strcmp(json_get_string(details, "kind", ""), result) == 0;

    return strcmp(json_get_string(details, "call_id", ""), call->id) == 0 &&
           after == (call->withheld != NULL);
}

/* The item of the question, from before a crash; or NULL. */
static const struct item_row *find_question(const struct run *run, const struct call *call)
{
    for (size_t i = run->history_count; i-- > 0;) {
        const struct item_row *item = &run->history[i];
        json_auto_t *body = NULL;

        if (item->type != ITEM_MCP_APPROVAL_REQUEST || strcmp(item->run_id, run->row.id) != 0 ||
            strcmp(item->call_id, call->id) != 0)
            continue;
        body = json_parse_own(item->body);
        if (concerns(notes_of(body), call))
            return item;
    }
    return NULL;
}

static bool question_concerns(const char *question, const struct call *call)
{
    json_auto_t *details = json_parse_own(question);

    return concerns(details, call);
}

/* The id of the question if it was asked before a crash; or NULL. */
static const char *find_question_id(const struct run *run, const struct call *call)
{
    const struct item_row *item = find_question(run, call);

    for (unsigned i = 0; i < run->calls.count; i++) {
        const struct call *other = &run->calls.list[i];

        if (call_is_clients(other) && strcmp(other->name, RUN_APPROVAL_FUNCTION) == 0 &&
            question_concerns(other->arguments.data, call))
            return other->id;
    }
    return item ? item->id : NULL;
}

static void refuse(struct call *call, const char *reason)
{
    call_move(call, CALL_EV_REFUSE);
    free(call->reason);
    call->reason = mem_strdup(reason && *reason ? reason : RUN_APPROVAL_REFUSED);
}

void run_question_id(const struct run *run, const struct call *call, char id[ID_LIMIT + 1])
{
    const char *asked = call->approval.anew ? NULL : find_question_id(run, call);

    if (asked)
        (void)snprintf(id, ID_LIMIT + 1, "%s", asked);
    else
        id_make(id, item_type_prefix(ITEM_MCP_APPROVAL_REQUEST));
}

/* False if no grant decides about the call. A remembered refusal refuses it. A remembered
 * approval leaves it proposed: run_may_execute() reads the grant itself. */
static bool apply_grant(struct call *call)
{
    const struct recall *recall = call->recall;
    AUTO_FREE char *reason = NULL;

    if (!recall || !recall->decided)
        return false;
    if (recall->approve)
        return true;
    reason = recall->reason && *recall->reason
                 ? mem_printf(RUN_APPROVAL_REMEMBERED ": %s", recall->reason)
                 : mem_strdup(RUN_APPROVAL_REMEMBERED);
    refuse(call, reason);
    return true;
}

static const char *label_of(const struct call *call)
{
    return tool_use_label(call->use);
}

static const char *arguments_of(const struct call *call)
{
    if (call->resolved && call->resolved->text)
        return call->resolved->text; /* what would be executed */
    return call->arguments.length ? call->arguments.data : "{}";
}

static const char *policy_of(const struct run *run, const struct call *call)
{
    return call->withheld ? result_policy_name(run_permission_of(run, call->use).result)
                          : execution_policy_name(run_permission_of(run, call->use).execution);
}

/* Adds which `match` and `scope` the answer's `remember` may have. */
static void add_choices(json_t *details, const struct run *run, const struct call *call)
{
    json_t *matches = recall_matches(call->recall);
    json_t *scopes;

    if (!matches)
        return;
    scopes = json_build("[s, s]", "run", "thread");
    if (*run->row.assistant_id)
        json_array_append_new(scopes, json_string("assistant"));
    if (*run->tenant.user)
        json_array_append_new(scopes, json_string("user"));
    json_set(details, "remember", matches);
    json_set(details, "scopes", scopes);
}

static json_t *details_of(const struct run *run, const struct call *call)
{
    char definition[PERMISSION_KEY_SIZE];
    json_t *details = json_build(
        "{s:s, s:s, s:s, s:s}", "kind", approval_kind_name(kind_of(call)), "call_id", call->id,
        "policy", policy_of(run, call), "description", tool_use_description(call->use));

    if (call->withheld) {
        run_describe_result(call, details);
        return details;
    }
    if (call_permission(call))
        json_object_update(details, (json_t *)(uintptr_t)call_permission(call));
    if (call_preview(call))
        json_object_set(details, "preview", (json_t *)(uintptr_t)call_preview(call));
    tool_use_definition(call->use, definition);
    json_set_string(details, "definition", definition);
    if (call->approval.anew)
        json_set_bool(details, "changed", true);
    add_choices(details, run, call);
    return details;
}

/* Adds the question as a call of runnel_approval. The array of calls may move, so the id is
 * copied first. */
static void add_question(struct run *run, unsigned position)
{
    const struct call *asked = &run->calls.list[position];
    json_auto_t *arguments = details_of(run, asked);
    char id[ID_LIMIT + 1];
    struct call *question;

    json_set_string(arguments, "server_label", label_of(asked));
    json_set_string(arguments, "name", asked->use->own);
    json_set_string(arguments, "arguments", arguments_of(asked));
    memcpy(id, question_id(asked), sizeof(id));
    question = run_add_call(run, id, RUN_APPROVAL_FUNCTION);
    call_move(question, CALL_EV_HAND_OVER);
    json_add_text(&question->arguments, arguments);
    run_note_call(run, question, CALL_WAITING, NULL);
}

static bool has_call(const struct run *run, const char *id)
{
    for (unsigned i = 0; i < run->calls.count; i++) {
        if (strcmp(run->calls.list[i].id, id) == 0)
            return true;
    }
    return false;
}

static bool has_question(const struct call *call)
{
    return call->status == CALL_ASKED || (call->withheld && *call->withheld->approval_id);
}

void run_add_questions(struct run *run, unsigned count)
{
    for (unsigned i = 0; run_is_assistants(run) && i < count; i++) {
        if (has_question(&run->calls.list[i]) &&
            !has_call(run, question_id(&run->calls.list[i])))
            add_question(run, i);
    }
}

void run_ask_approvals(struct run *run)
{
    unsigned count = run->calls.count;

    for (unsigned i = 0; i < count; i++) {
        struct call *call = &run->calls.list[i];
        const char *nobody = run_no_approver(run, APPROVAL_OF_EXECUTION);

        if (FAULT("run.unasked")) /* plays a bug here: run_may_execute() must catch it */
            continue;
        if (call->status == CALL_PROPOSED && apply_grant(call))
            continue;
        if (!must_ask(run, call))
            continue;
        if (nobody) {
            refuse(call, nobody);
        } else {
            call_move(call, CALL_EV_ASK);
            run_question_id(run, call, call->approval.id);
        }
        /* Freezes the arguments: the row has them with their references resolved. */
        run_note_call(run, call, CALL_WAITING, NULL);
    }
    run_add_questions(run, count);
}

bool run_has_questions(const struct run *run)
{
    for (unsigned i = 0; i < run->calls.count; i++) {
        if (has_question(&run->calls.list[i]))
            return true;
    }
    return false;
}

/* ---- Showing ---- */

/* The details that the row of a question has beside the call: JSON, or NULL. The caller
 * frees. */
static char *shown_details(const struct call *call)
{
    const json_t *planned = call_permission(call) ? call_permission(call) : call_preview(call);
    json_auto_t *details = json_object();

    if (!call->withheld)
        return planned ? json_text(planned) : NULL;
    run_describe_result(call, details);
    return json_text(details);
}

/* Stores the question for /v1/runnel/approvals. `owner`: see run_store_questions(). */
static void put_row(struct run *run, const struct call *call, const char *owner)
{
    char definition[PERMISSION_KEY_SIZE];
    struct approval_row row = {
        .server_label = mem_strdup(label_of(call)),
        .tool = mem_strdup(call->use->own),
        .arguments = mem_strdup(arguments_of(call)),
        .policy = mem_strdup(policy_of(run, call)),
        .kind = kind_of(call),
        .details = shown_details(call),
        .held = call->withheld ? run_held_text(call) : NULL,
        .extra = call->extra ? json_text(call->extra) : NULL,
        .status = APPROVAL_PENDING,
        .created_at = clock_wall_us(),
    };

    memcpy(row.id, question_id(call), sizeof(row.id));
    memcpy(row.run_id, run->row.id, sizeof(row.run_id));
    memcpy(row.thread_id, run->row.thread_id, sizeof(row.thread_id));
    memcpy(row.call_id, call->id, sizeof(row.call_id));
    if (!call->withheld) {
        tool_use_definition(call->use, definition);
        row.definition = mem_strdup(definition);
        row.memory = run_grant_memory(run, call);
    }
    (void)snprintf(row.used_by, sizeof(row.used_by), "%s", owner);
    run_put_approval(run, &row);
    approval_row_clear(&row);
}

static json_t *question_fields(const struct run *run, const struct call *call)
{
    return json_build("{s:s, s:s, s:s, s:o}", "arguments", arguments_of(call), "name",
                      call->use->own, "server_label", label_of(call), "runnel",
                      details_of(run, call));
}

static void show_question(struct run *run, const struct call *call)
{
    struct item *item;

    if (find_question(run, call))
        return;
    item = run_new_item(run, ITEM_MCP_APPROVAL_REQUEST);
    memcpy(item->row.id, question_id(call), sizeof(item->row.id));
    memcpy(item->row.call_id, call->id, sizeof(item->row.call_id));
    item->fields = question_fields(run, call);
    run_open_item(run, item);
    run_close_item(run, ITEM_COMPLETED);
}

/* Queues the question for the webhook, if that is the channel: once for each question, also
 * when a hold gives its questions back and they are stored again. It leaves after the write
 * (run_write.c). */
static void post_question(struct run *run, struct call *call)
{
    json_t *question;

    if (call->approval.posted || run->settings.approval.channel != APPROVAL_WEBHOOK)
        return;
    call->approval.posted = true;
    question = details_of(run, call);
    json_set_string(question, "id", question_id(call));
    json_set_string(question, "object", "approval");
    json_set_string(question, "run_id", run->row.id);
    json_set_string(question, "thread_id", *run->row.thread_id ? run->row.thread_id : NULL);
    json_set_string(question, "server_label", label_of(call));
    json_set_string(question, "name", call->use->own);
    json_set_string(question, "arguments", arguments_of(call));
    if (!run->writing.posts)
        run->writing.posts = json_array();
    json_array_append_new(run->writing.posts, question);
}

/* A client that has read the id of a question may answer it at once, so the barrier comes
 * before the first item: the questions are published after the write that has their rows. */
void run_show_approvals(struct run *run)
{
    if (run_has_questions(run))
        run_raise_barrier(run);
    for (unsigned i = 0; !run_is_assistants(run) && i < run->calls.count; i++) {
        if (has_question(&run->calls.list[i]))
            show_question(run, &run->calls.list[i]);
    }
    run_store_questions(run, "");
}

void run_store_questions(struct run *run, const char *owner)
{
    for (unsigned i = 0; i < run->calls.count; i++) {
        struct call *call = &run->calls.list[i];

        if (!has_question(call))
            continue;
        put_row(run, call, owner);
        post_question(run, call);
    }
}

json_t *run_open_questions(const struct run *run, enum question_part part)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < run->calls.count; i++) {
        const struct call *call = &run->calls.list[i];
        json_t *question;

        if (!has_question(call))
            continue;
        question = json_build("{s:s}", "id", question_id(call));
        if (part == QUESTION_WHOLE) {
            json_auto_t *fields = question_fields(run, call);

            json_set_string(question, "type", "mcp_approval_request");
            json_object_update(question, fields);
        }
        json_array_append_new(list, question);
    }
    return list;
}

/* ---- Answers in the settings of the next response ---- */

/* The reason of a refusal, or the default for the kind of the question. */
static const char *reason_of(const char *kind, const char *reason)
{
    bool permission = strcmp(kind, approval_kind_name(APPROVAL_OF_PERMISSION)) == 0;

    if (reason && *reason)
        return reason;
    return permission ? RUN_PERMISSION_REFUSED : RUN_APPROVAL_REFUSED;
}

/* The tool has another definition than the one that was shown: a tool of the same name, but not
 * what the person has approved. */
static bool has_changed(const struct call *call, const char *definition)
{
    char now[PERMISSION_KEY_SIZE];

    if (!call->use || !definition)
        return false;
    tool_use_definition(call->use, now);
    return strcmp(now, definition) != 0;
}

static void decide(struct call *call, const struct run_decision *decision)
{
    /* Ended before a crash: nothing is left to decide, but its item shows the id. */
    bool over = call_status_is_final(call->status);

    if (!over && decision->approve && has_changed(call, decision->definition)) {
        call->approval.anew = true;
        return;
    }
    (void)snprintf(call->approval.id, sizeof(call->approval.id), "%s", decision->id);
    if (over)
        return;
    call->lost = decision->lost;
    if (decision->approve)
        call_move(call, CALL_EV_APPROVE);
    else
        refuse(call, reason_of(decision->kind, decision->reason));
}

/* Gives a call of an earlier response its tool. tool_choice does not count: it is about what
 * the model may call now, and this call was made before. If the client has a function of
 * that name now, the approved tool is gone, and the call ends with "not found". */
static void use_tool(const struct run *run, struct call *call, const struct tool_use *use)
{
    call->use = use && tool_use_is_clients(use) ? NULL : use;
    if (call_is_clients(call))
        call_move(call, CALL_EV_TAKE_BACK);
    call->hidden = call->use && call->use->handler->flags & TOOL_HIDDEN;
    call->final = !*call->caller && run_is_final(run, call->use);
}

bool run_take_decisions(struct run *run)
{
    const struct run_settings *settings = &run->settings;

    if (!settings->decision_count)
        return false;
    run->calls.turn = run->row.turn;
    for (size_t i = 0; i < settings->decision_count; i++) {
        const struct run_decision *decision = &settings->decisions[i];
        const struct tool_use *use =
            tool_set_find_labelled(&run->tools, decision->label, decision->name);
        struct call *call =
            run_add_call(run, decision->call_id, use ? use->name : decision->name);

        use_tool(run, call, use);
        buf_add_text(&call->arguments, decision->arguments);
        call->extra = json_deep_copy(decision->extra);
        run_restore_program(run, call);
        decide(call, decision);
    }
    return true;
}

/* ---- Answers that a held response has read ---- */

static void take_answer(struct call *call, const json_t *answer)
{
    bool approve = json_get_bool(answer, "approve", false);
    const char *reason = json_get_string(answer, "reason", NULL);
    const char *other = call_permission(call) ? RUN_PERMISSION_REFUSED : RUN_APPROVAL_REFUSED;

    if (call->withheld) {
        run_take_result_answer(call, approve, reason);
        return;
    }
    call->approval.anew = call->approval.posted = false;
    if (approve)
        call_move(call, CALL_EV_APPROVE);
    else
        refuse(call, reason && *reason ? reason : other);
}

void run_take_held_answers(struct run *run, const json_t *answers)
{
    for (unsigned i = 0; i < run->calls.count; i++) {
        struct call *call = &run->calls.list[i];

        if (has_question(call))
            take_answer(call, json_object_get(answers, question_id(call)));
    }
}

/* ---- Answers after a pause or a crash ---- */

bool run_is_question(const struct call_row *row)
{
    return row->client && row->tool && strcmp(row->tool, RUN_APPROVAL_FUNCTION) == 0;
}

/* A response that crashed has its answers in its settings. They are about the calls of turn 0,
 * which it took over from the previous response. */
static void restore_from_settings(struct run *run, struct call *call)
{
    const struct run_settings *settings = &run->settings;

    for (size_t i = 0; run->calls.turn == 0 && i < settings->decision_count; i++) {
        if (strcmp(settings->decisions[i].call_id, call->id) == 0) {
            use_tool(run, call, tool_set_find(&run->tools, call->name));
            decide(call, &settings->decisions[i]);
        }
    }
}

/* A thread's run has its answer in the row of the question, a call of runnel_approval. The
 * grants of the answer were stored together with it, so only the decision is read here. */
static void restore_from_row(struct call *call, const struct call_row *row)
{
    struct approval_reply reply = approval_reply_parse(row->output ? row->output : "");
    json_auto_t *asked = json_parse_own(row->arguments);
    bool over = call_status_is_final(call->status);

    call->approval.anew =
        !over && reply.approve && has_changed(call, json_get_string(asked, "definition", NULL));
    if (!call->approval.anew)
        (void)snprintf(call->approval.id, sizeof(call->approval.id), "%s", row->call_id);
    if (!over && reply.approve && !call->approval.anew)
        call_move(call, CALL_EV_APPROVE);
    if (!over && !reply.approve)
        refuse(call, reason_of(json_get_string(asked, "kind", ""), reply.reason));
    approval_reply_clear(&reply);
}

/* The same for a question about a result: the tool has run, and the model may see the result or
 * not. */
static void decide_result(struct run *run, struct call *call, const struct call_row *row)
{
    struct approval_reply reply = approval_reply_parse(row->output ? row->output : "");

    (void)snprintf(call->withheld->approval_id, sizeof(call->withheld->approval_id), "%s",
                   row->call_id);
    if (!reply.approve) {
        free(call->reason);
        call->reason =
            mem_strdup(reply.reason && *reply.reason ? reply.reason : WITHHELD_REFUSED);
    }
    run_decide_result(run, call, reply.approve);
    approval_reply_clear(&reply);
}

void run_restore_decision(struct run *run, struct call *call, const struct call_row *rows,
                          size_t count)
{
    if (call_is_clients(call))
        return;
    if (!run_is_assistants(run)) {
        restore_from_settings(run, call);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (!run_is_question(&rows[i]) || rows[i].state != CALL_DONE ||
            !question_concerns(rows[i].arguments, call))
            continue;
        if (call->withheld)
            decide_result(run, call, &rows[i]);
        else
            restore_from_row(call, &rows[i]);
    }
}

char *run_refusal_text(const struct call *call)
{
    return withheld_refusal(call->reason);
}
