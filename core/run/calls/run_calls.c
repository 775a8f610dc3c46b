/*
 * Calls as the model makes them.
 *
 * The pieces of a model's answer build the calls: run_begin_call(), run_add_arguments(),
 * run_end_call(). Who executes a call is known from its name, so from its first piece:
 *
 *   the client's function      shown while the model writes: its arguments are emitted as they
 *                              come
 *   another tool of the client shown when it is complete, because its item is made from all
 *                              arguments; a custom tool's input is read out of the JSON and
 *                              emitted as it comes
 *   a server-side tool         not shown yet: its item opens when its tool starts and has the
 *                              floor (run_output.c)
 *
 * The client's calls are shown early because clients expect OpenAI's stream, in which a
 * function's arguments arrive token by token. Server-side calls wait, because they can still
 * need an approval, and their items must appear in the order of the floor.
 *
 * A name that the model was not offered makes a call without a tool. It passes the stages like
 * the others and ends with "not found", so the model can correct itself. The run does not fail
 * for it.
 *
 * The row of a call is written by each stage that changes what recovery must know
 * (run_note_call()).
 */

#include "core/run/calls/run_calls.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/notes.h"
#include "core/run/approval/run_grants.h"
#include "core/run/approval/run_results.h"
#include "core/run/calls/call_end.h"
#include "core/run/calls/run_plan.h"
#include "core/run/calls/run_programs.h"
#include "core/run/calls/run_variables.h"
#include "core/run/catalog/tool_choice.h"
#include "core/run/context/past_programs.h"
#include "core/tool/registry.h"
#include "core/tool/tool_item.h"

static void clear_call(struct call *call)
{
    free(call->name);
    json_decref(call->fault);
    json_decref(call->extra);
    free(call->kept);
    resolved_call_free(call->resolved);
    free(call->reason);
    free(call->why);
    free(call->text);
    call_end_clear(call);
    recall_free(call->recall);
    withheld_result_free(call->withheld);
    call_plan_free(call->plan);
    program_free(call->program);
    buf_clear(&call->arguments);
    buf_clear(&call->said);
}

void run_clear_calls(struct run *run)
{
    for (unsigned i = 0; i < run->calls.count; i++)
        clear_call(&run->calls.list[i]);
    free(TAKE(run->calls.list));
    free(TAKE(run->calls.final_order));
    free(TAKE(run->calls.positions));
    run->calls.count = run->calls.final_count = 0;
    run->calls.due = run->calls.started = run->calls.ended = 0;
}

/* NULL if the model was not offered the tool in this turn: tool_choice may hide tools that the
 * run has. One that the upstream executes is none that it may call here. */
static const struct tool_use *find_offered(const struct run *run, const char *name)
{
    const struct tool_use *use = tool_set_find(&run->tools, name);
    const json_t *choice = run->settings.tool_choice;

    if (run->turn.choice_spent)
        choice = tool_choice_standing(choice);
    return use && !use->passed && tool_choice_offers(&run->tools, choice, use) ? use : NULL;
}

struct call *run_add_call(struct run *run, const char *id, const char *name)
{
    const struct tool_use *use = find_offered(run, name);
    struct call *call;

    if (!run->calls.count)
        run->calls.checks.left_ns = REMOTE_CHECK_MS * NS_PER_MS;
    run->calls.list =
        mem_resize(run->calls.list, run->calls.count + 1, sizeof(*run->calls.list));
    call = &run->calls.list[run->calls.count++];
    memset(call, 0, sizeof(*call));
    (void)snprintf(call->id, sizeof(call->id), "%s", id);
    call->name = mem_strdup(name);
    call->use = use;
    call->phase = CHAIN_TOOL_EXECUTION;
    call->status = use && tool_use_is_clients(use) ? CALL_OPEN : CALL_PROPOSED;
    call->hidden = use && use->handler->flags & TOOL_HIDDEN;
    call->final = run_is_final(run, use);
    return call;
}

/* A plain function of the client. Other tools of the client have an announce(), which makes
 * their item from the complete arguments. */
static bool streams_arguments(const struct call *call)
{
    return call_is_clients(call) && !call->use->handler->announce;
}

/* The item shows the tool's own name, and not the model's: that one begins with a namespace
 * or the label of a remote server. */
static bool shows_own_name(const struct call *call)
{
    return call_is_clients(call) || (call->use && call->use->remote);
}

struct item *run_new_call_item(struct run *run, struct call *call, enum item_type type)
{
    struct item *item = run_new_item(run, type);

    item->row.turn = run->calls.turn;
    /* Behind the text of the turn, in the order of the model. The model's own items count from
     * 0. */
    item->row.model_index = (int)(call - run->calls.list) + 1000;
    (void)snprintf(item->row.call_id, sizeof(item->row.call_id), "%s", call->id);
    item->name = mem_strdup(shows_own_name(call) ? call->use->own : call->name);
    if (call->use && call->use->remote)
        item_note(item, "function", call->name);
    if (call->use && call->use->label)
        item->label = mem_strdup(call->use->label);
    if (call_is_clients(call) && call->use->space)
        item->fields = json_build("{s:s}", "namespace", call->use->space);
    if (call_is_clients(call) && call->use && json_get_bool(call->use->entry, "async", false))
        item_set_field(item, "async", json_true());
    if (!call_is_clients(call) && *call->approval.id)
        item_set_field(item, "approval_request_id", json_string_nocheck(call->approval.id));
    if (call->recall && *call->recall->grant_id) {
        if (!item->metadata)
            item->metadata = json_object();
        json_set(item->metadata, "approval", recall_note(call->recall));
    }
    item->extra = json_incref(call->extra);
    run_name_caller(call, item);
    call->item = item;
    return item;
}

void run_name_caller(const struct call *call, struct item *item)
{
    if (!*call->caller)
        return;
    item_set_field(item, "caller", past_program_caller(call->caller));
    if (item_type_is_call(item->row.type) && !item_type_is_client_call(item->row.type))
        item_note(item, NOTE_CALL_ID, call->id);
}

/* Adds the fields of an announcement to those that the item has. */
static void set_fields(struct item *item, json_t *fields)
{
    if (!item->fields)
        item->fields = json_object();
    json_object_update(item->fields, fields);
}

static void open_announced(struct run *run, struct call *call, json_t *fields)
{
    const struct tool_item *look = call->use->handler->item;
    struct item *item = run_new_call_item(run, call, item_type_parse(look->type));

    item->look = look;
    set_fields(item, fields);
    json_set_string(item->fields, "call_id", call->id);
    run_open_item(run, item);
}

/* Opens the item of a custom tool before its arguments are known. announce() says from empty
 * arguments whether the item begins with an "input", which can then be streamed. */
static void open_with_input(struct run *run, struct call *call)
{
    struct tool_announcement shown = {0};

    if (call->use->handler->announce(call->use->own, "", &shown, NULL) == ERR_OK &&
        json_get_string(shown.opening, "input", NULL))
        open_announced(run, call, shown.opening);
    json_decref(shown.fields);
    json_decref(shown.opening);
}

void run_begin_call(struct run *run, const char *id, const char *name)
{
    struct call *call = run_add_call(run, id, name);

    run->calls.turn = run->row.turn;
    run_close_item(run, ITEM_COMPLETED);
    if (streams_arguments(call))
        run_open_item(run, run_new_call_item(run, call, ITEM_FUNCTION_CALL));
    else if (call_is_clients(call))
        open_with_input(run, call);
}

void run_emit_arguments(struct run *run, struct item *item, const char *text, size_t length)
{
    buf_add(&item->arguments, text, length);
    run_emit(run,
             &(struct run_event){
                 .kind = RUN_EVENT_ARGUMENTS, .item = item, .text = text, .length = length});
}

static void emit_input(struct run *run, struct call *call, const char *text, size_t length)
{
    AUTO_BUF input = {0};

    input_text_feed(&call->input, text, length, &input);
    if (input.length)
        run_emit_arguments(run, call->item, input.data, input.length);
}

void run_add_arguments(struct run *run, unsigned position, const char *text, size_t length)
{
    struct call *call = &run->calls.list[position];

    buf_add(&call->arguments, text, length);
    if (!call->item || call->item != run->items.open)
        return;
    if (streams_arguments(call))
        run_emit_arguments(run, call->item, text, length);
    else
        emit_input(run, call, text, length);
}

void run_emit_arguments_done(struct run *run, struct item *item)
{
    run_emit(run, &(struct run_event){.kind = RUN_EVENT_ARGUMENTS_DONE, .item = item});
}

/* Emits what is left of the input. announce() reads the complete arguments, input_text the
 * pieces; the two can disagree, for example about a repeated key. Then the emitted text
 * stands, because the client has it. */
static void emit_rest_of_input(struct run *run, struct call *call)
{
    const char *arguments = call->arguments.data ? call->arguments.data : "";
    const struct buf *so_far = &call->item->arguments;
    struct tool_announcement shown = {0};
    const char *input;

    (void)!call->use->handler->announce(call->use->own, arguments, &shown, NULL);
    input = json_get_string(shown.fields, "input", "");
    if (!so_far->length)
        run_emit_arguments(run, call->item, input, strlen(input));
    else if (strlen(input) > so_far->length && memcmp(input, so_far->data, so_far->length) == 0)
        run_emit_arguments(run, call->item, input + so_far->length,
                           strlen(input) - so_far->length);
    json_decref(shown.fields);
    json_decref(shown.opening);
}

/* Shows a complete call of the client that is no plain function. If announce() cannot read
 * the arguments, the client never sees the call: the server takes it back, and the model
 * receives the error. */
static void announce(struct run *run, struct call *call)
{
    const char *arguments = call->arguments.data ? call->arguments.data : "";
    struct tool_announcement shown = {0};

    run_close_item(run, ITEM_COMPLETED);
    if (call->use->handler->announce(call->use->own, arguments, &shown, NULL)) {
        call_move(call, CALL_EV_TAKE_BACK);
    } else {
        open_announced(run, call, shown.opening ? shown.opening : shown.fields);
        if (shown.opening) {
            set_fields(call->item, shown.fields);
            run_emit_arguments_done(run, call->item);
        }
        run_close_item(run, ITEM_COMPLETED);
    }
    json_decref(shown.fields);
    json_decref(shown.opening);
}

void run_add_extra(struct run *run, unsigned position, const json_t *extra)
{
    struct call *call = &run->calls.list[position];

    json_decref(call->extra);
    call->extra = json_build("{s:s, s:o}", "upstream", run->turn.upstream->name, "value",
                             json_deep_copy(extra));
    if (!call->item)
        return;
    json_decref(call->item->extra);
    call->item->extra = json_incref(call->extra);
}

bool run_call_is_open(const struct run *run)
{
    const struct call *last = run->calls.count ? &run->calls.list[run->calls.count - 1] : NULL;

    return last && last->item && last->item == run->items.open;
}

void run_end_call(struct run *run, unsigned position)
{
    struct call *call = &run->calls.list[position];

    if (call->item && call->item == run->items.open) {
        if (!streams_arguments(call))
            emit_rest_of_input(run, call);
        else if (!call->arguments.length)
            run_add_arguments(run, position, "{}", 2); /* clients parse them as JSON */
        run_emit_arguments_done(run, call->item);
        run_close_item(run, ITEM_COMPLETED);
    } else if (call_is_clients(call) && !call->item) {
        announce(run, call);
    }
}

void run_show_clients_call(struct run *run, unsigned position)
{
    struct call *call = &run->calls.list[position];

    run_close_item(run, ITEM_COMPLETED);
    if (streams_arguments(call)) {
        run_open_item(run, run_new_call_item(run, call, ITEM_FUNCTION_CALL));
        if (call->arguments.length)
            run_emit_arguments(run, call->item, call->arguments.data, call->arguments.length);
    }
    run_end_call(run, position);
}

/* ---- Calls in the store ---- */

void run_note_call(struct run *run, const struct call *call, enum call_state state,
                   const char *output)
{
    struct call_row row = {
        .turn = run->calls.turn,
        .position = (int)(call - run->calls.list),
        .client = call_is_clients(call),
        .state = state,
        .arguments = call->arguments.data ? call->arguments.data : mem_strdup(""),
        .resolved = call->resolved ? call->resolved->text : NULL,
        .output = mem_strdup(output),
        .extra = call->extra ? json_text(call->extra) : NULL,
    };
    AUTO_FREE char *spare = call->arguments.data ? NULL : row.arguments;
    AUTO_FREE char *given = row.output;
    AUTO_FREE char *extra = row.extra;

    memcpy(row.run_id, run->row.id, ID_SIZE);
    memcpy(row.call_id, call->id, sizeof(row.call_id));
    if (call->item)
        memcpy(row.item_id, call->item->row.id, sizeof(row.item_id));
    if (run->items.step)
        memcpy(row.step_id, run->items.step->row.id, ID_SIZE);
    row.tool = call->name;
    run_put_call(run, &row);
}
