/*
 * answered_call.c -- one call, two items.
 *
 *   open ─▶ shell_call: added, its commands, done ─▶ shell_call_output: added ... done
 *
 * The first item is complete when it opens: the model has written all of it. So it closes at once, and one item is open
 * at a time as ever. A crash leaves a call whose output is missing; the next residency shows the output alone, because
 * clients have the call.
 */

#include "core/run/calls/answered_call.h"

#include <stdint.h>
#include <string.h>

#include "core/base/json.h"
#include "core/run/calls/run_calls.h"

const struct item_answer *run_answer_of(const struct run *run, const struct call *call)
{
    bool here = call->use && !tool_use_is_clients(call->use) && !run_is_assistants(run);
    const struct tool_item *look = here ? call->use->handler->item : NULL;

    return look ? look->answer : NULL;
}

const struct item_answer *item_answer_of(const struct item *item)
{
    return item->look && item_type_is_output(item->row.type) ? item->look->answer : NULL;
}

/* NULL: what the model wrote is no JSON. New reference. */
static json_t *read_args(const struct call *call)
{
    const char *text = call->arguments.length ? call->arguments.data : "{}";
    json_t *args = NULL;

    return json_parse(text, strlen(text), &args, NULL) ? NULL : args;
}

static json_t *call_fields(const struct run *run, const struct call *call,
                           const json_t *brought)
{
    json_auto_t *args = read_args(call);
    json_t *fields = call->use->handler->item->answer->call(args);
    char past[ID_SIZE];

    if (brought)
        json_object_update(fields, (json_t *)(uintptr_t)brought);
    json_set_string(fields, "call_id", call->id);
    /* It did not come to its container: its client looks into the last one that is known. */
    if (!json_object_get(brought, "environment") && !*item_container(fields)) {
        json_t *environment = json_object_get(fields, "environment");

        run_past_container(run, past);
        if (environment)
            json_set_string(environment, "container_id", past);
    }
    return fields;
}

/* The strings that have events of their own come one by one. New reference. */
static json_t *opening_of(const struct tool_item *look, const json_t *fields)
{
    json_t *opening = json_deep_copy(fields);

    if (look->parts)
        json_array_clear((json_t *)(uintptr_t)look->parts->list(opening));
    return opening;
}

/* An item of the call, with these fields and no others. Takes them. */
static struct item *new_item(struct run *run, struct call *call, const char *type,
                             json_t *fields)
{
    struct item *item = run_new_call_item(run, call, item_type_parse(type));

    item->look = call->use->handler->item;
    json_decref(item->fields);
    item->fields = fields;
    run_name_caller(call, item);
    return item;
}

static void show_call(struct run *run, struct call *call, const json_t *fields)
{
    const struct tool_item *look = call->use->handler->item;
    struct item *item = new_item(run, call, look->type, opening_of(look, fields));

    if (*call->approval.id)
        item_note(item, "approval_request_id", call->approval.id);
    run_open_item(run, item);
    json_object_update(item->fields, (json_t *)(uintptr_t)fields);
    run_emit_arguments_done(run, item);
    run_close_item(run, ITEM_COMPLETED);
}

/* By an earlier residency: clients have seen the call. */
static bool was_shown(const struct run *run, const struct call *call)
{
    for (size_t i = run->history_count; i-- > 0;) {
        const struct item_row *row = &run->history[i];

        if (run_has_made(run, row) && row->turn == run->calls.turn && !row->hidden &&
            item_type_is_client_call(row->type) && strcmp(row->call_id, call->id) == 0)
            return true;
    }
    return false;
}

void run_show_answered(struct run *run, struct call *call, const json_t *fields)
{
    const struct item_answer *answer = call->use->handler->item->answer;
    json_auto_t *shown = call_fields(run, call, fields);
    json_t *opening = json_parse_own(answer->fields);
    struct item *item;

    run_close_item(run, ITEM_COMPLETED);
    if (!call->shown && !was_shown(run, call))
        show_call(run, call, shown);
    json_set_string(opening, "call_id", call->id);
    item = new_item(run, call, answer->type, opening);
    if (*item_container(shown))
        item_note(item, "container_id", item_container(shown));
    run_open_item(run, item);
}

void run_fill_answer(struct call *call, const struct tool_result *result, const char *why)
{
    json_auto_t *args = read_args(call);

    item_answer_of(call->item)->fill(call->item->fields, args, result, why);
}
