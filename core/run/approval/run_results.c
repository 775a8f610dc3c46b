/*
 * Withheld results: a person decides whether the model sees what a tool returned.
 *
 *   execute --> run_check_result() --> withheld: text and variable are frozen
 *                                          |
 *           item shown to the client, row of the call stored with {"withheld": ...}
 *                                          |
 *           all calls ended --> question --> answer --> delivered or refused
 *
 * The effect of the tool has happened, so the result is stored first, like any other. Only the
 * way to the model is closed: the item is marked, and the context for the model reads the mark
 * (withheld.h). The mark is in the item itself and not in the run, because the item is copied
 * into other conversations, and the model must not see the result there either.
 *
 * The text is frozen when the tool ends. Cutting it again at the time of the answer could show
 * the model another part than the person has read.
 *
 * Three ways lead from an answer to the item. In a thread's run the run applies it
 * (run_decide_result). For a response that has ended, the store does, in the transaction of the
 * answer (approval_results.h). A response that holds finds its rows changed by the store, and
 * changes its copies in memory.
 *
 * After a crash the row of the call has everything: a restored call is withheld again, and its
 * question is found again by its id.
 */

#include "core/run/approval/run_results.h"

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/permission.h"
#include "core/domain/variable.h"
#include "core/domain/withheld.h"
#include "core/run/approval/run_approvals.h"
#include "core/run/calls/run_calls.h"

void withheld_result_free(struct withheld_result *withheld)
{
    if (!withheld)
        return;
    free(withheld->text);
    json_decref(withheld->variable);
    free(withheld);
}

/* ---- When the tool has ended ---- */

bool run_is_final(const struct run *run, const struct tool_use *use)
{
    return use && use->handler->flags & TOOL_FINAL &&
           run_permission_of(run, use).result == RESULT_NEVER;
}

/* Called for executed calls only. What the server itself says of other calls (no such tool,
 * wrong arguments, a limit) comes from no tool, and needs no approval. */
void run_check_result(const struct run *run, struct call *call)
{
    enum result_policy policy = run_permission_of(run, call->use).result;
    const char *nobody;

    if (policy == RESULT_NEVER || (policy == RESULT_ON_ERROR && call->status != CALL_FAILED))
        return;
    nobody = run_no_approver(run, APPROVAL_OF_RESULT);
    if (!nobody) {
        call->withheld = mem_new(struct withheld_result);
        return;
    }
    free(call->reason);
    call->reason = mem_strdup(nobody);
}

void run_withhold_variable(struct call *call, const struct variable *variable)
{
    json_decref(call->withheld->variable);
    call->withheld->variable = withheld_hold(variable);
}

void run_freeze_result(struct call *call, const char *text)
{
    free(call->withheld->text);
    call->withheld->text = mem_strdup(text);
}

/* ---- In the store ---- */

/* A call has its item in memory in the residency that executed it. After a restart only the id
 * is known. */
static const char *item_id(const struct call *call)
{
    return call->item ? call->item->row.id : call->withheld->item_id;
}

static json_t *held(const struct call *call)
{
    json_t *object = json_build("{s:s}", "item", item_id(call));

    if (call->withheld->variable)
        json_object_set(object, "variable", call->withheld->variable);
    return object;
}

char *run_held_text(const struct call *call)
{
    json_auto_t *object = held(call);

    return json_text(object);
}

void run_note_withheld(const struct call *call, json_t *output)
{
    json_t *object;

    if (!call->withheld)
        return;
    object = held(call);
    json_set_bool(object, "truncated", call->truncated);
    if (call->outcome)
        json_set_string(object, "status", tool_status_name(call->outcome));
    json_set(output, "withheld", object);
}

void run_restore_withheld(struct call *call, const json_t *output)
{
    const json_t *object = json_object_get(output, "withheld");
    struct withheld_result *withheld;

    if (!json_is_object(object))
        return;
    withheld = call->withheld = mem_new(struct withheld_result);
    (void)snprintf(withheld->item_id, sizeof(withheld->item_id), "%s",
                   json_get_string(object, "item", ""));
    withheld->text =
        mem_strdup(json_get_string(output, "output", json_get_string(output, "error", "")));
    withheld->variable = json_deep_copy(json_object_get(object, "variable"));
    call->truncated = json_get_bool(object, "truncated", false);
    call->outcome = tool_status_parse(json_get_string(object, "status", ""));
    call->final = false; /* the policy withheld it, so it is not the answer: run_is_final() */
}

/* ---- The question ---- */

void run_ask_results(struct run *run)
{
    unsigned count = run->calls.count;

    for (unsigned i = 0; i < count; i++) {
        struct call *call = &run->calls.list[i];

        if (call->withheld && call->use && !*call->withheld->approval_id)
            run_question_id(run, call, call->withheld->approval_id);
    }
    run_add_questions(run, count);
}

void run_describe_result(const struct call *call, json_t *details)
{
    bool failed = call->status == CALL_FAILED && !call->outcome;

    json_set_string(details, "status", tool_status_name(failed ? TOOL_ERROR : call->outcome));
    json_set_string(details, "output", call->withheld->text);
    json_set_int(details, "length", (json_int_t)variable_length(call->withheld->text));
    json_set_bool(details, "truncated", call->truncated);
}

/* ---- The answer ---- */

/* The cost of the item in tokens is forgotten: it was counted for what the model was sent
 * before. */
static void change_row(struct item_row *row, const struct call *call, bool approve)
{
    json_auto_t *body = json_parse_own(row->body);

    if (approve) {
        withheld_deliver(body);
    } else {
        withheld_refuse(body, call->reason);
        row->status = ITEM_INCOMPLETE;
    }
    free(row->body);
    row->body = json_text(body);
    row->cost = (struct item_cost){0};
}

void run_decide_result(struct run *run, struct call *call, bool approve)
{
    const char *key = call->status == CALL_FAILED ? "error" : "output";
    AUTO_FREE char *refusal = approve ? NULL : withheld_refusal(call->reason);
    json_auto_t *output = NULL;
    AUTO_FREE char *text = NULL;

    for (size_t i = run->history_count; i-- > 0;) {
        struct item_row *row = &run->history[i];

        if (strcmp(row->id, call->withheld->item_id) != 0)
            continue;
        change_row(row, call, approve);
        run_put_item(run, row);
        break;
    }
    if (approve && call->withheld->variable) {
        struct variable variable;

        withheld_variable(call->withheld->variable, &variable);
        (void)run_put_variable(run, &variable);
    }
    /* The row loses its "withheld": from here on it is a call like any other, also after a
     * crash. */
    output = json_build("{s:s}", key, approve ? call->withheld->text : refusal);
    text = json_text(output);
    run_note_call(run, call, CALL_DONE, text);
    withheld_result_free(TAKE(call->withheld));
}

void run_take_result_answer(struct call *call, bool approve, const char *reason)
{
    free(call->reason);
    call->reason = approve ? NULL : mem_strdup(reason && *reason ? reason : WITHHELD_REFUSED);
    if (call->item)
        change_row(&call->item->row, call, approve);
    withheld_result_free(TAKE(call->withheld));
}
