#include "server/params/responses/response_calls.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/ids.h"
#include "core/base/json.h"
#include "server/complaint.h"
#include "server/params/responses/input_items.h"

/*
 * As OpenAI does, the server refuses a request in which a call has no output, or an output has no call.
 *
 * Open calls are kept in an object that maps the call id to the type of the call. A negative type marks an
 * orphan: a run of a thread left the call open when it ended, or the answer broke off within it. An orphan
 * may have an output and needs none, because its client may never have seen it.
 */

static void open_call(json_t *calls, const struct item_row *row)
{
    bool orphan = id_has_prefix(row->run_id, "run_") || row->status == ITEM_INCOMPLETE;

    json_set_int(calls, row->call_id, orphan ? -(int)row->type : (int)row->type);
}

static bool is_open(const json_t *calls, const struct item_row *row, enum item_type type)
{
    return llabs(json_get_int(calls, row->call_id, 0)) == (int)type;
}

/* The past was checked when it was new. It is not checked again: the context may begin after a call, and
 * deleted items leave gaps. */
static void follow_past(json_t *calls, const struct item_row *row)
{
    if (!*row->call_id)
        return;
    if (item_type_is_client_call(row->type))
        open_call(calls, row);
    else if (item_type_is_output(row->type))
        json_object_del(calls, row->call_id);
}

static enum err_code follow_input(json_t *calls, const struct item_row *row, struct err *err)
{
    if (!*row->call_id)
        return ERR_OK;
    if (item_type_is_output(row->type) && !is_open(calls, row, item_type_answers(row->type)))
        return err_set_api(err, ERR_INVALID, NULL, "input",
                           "No tool call found for %s output with call_id %s.",
                           input_type_find(row->type)->words, row->call_id);
    follow_past(calls, row);
    return ERR_OK;
}

static enum err_code none_is_open(json_t *calls, struct err *err)
{
    const char *id;
    json_t *value;

    json_object_foreach (calls, id, value) {
        json_int_t open = json_integer_value(value);

        if (open > 0)
            return err_set_api(err, ERR_INVALID, NULL, "input",
                               "No tool output found for %s %s.",
                               input_type_find((enum item_type)open)->words, id);
    }
    return ERR_OK;
}

enum err_code response_calls_check(const struct item_row *chain, size_t chain_count,
                                   const struct item_row *input, size_t input_count,
                                   struct err *err)
{
    json_auto_t *calls = json_object();

    for (size_t i = 0; i < chain_count; i++)
        follow_past(calls, &chain[i]);
    for (size_t i = 0; i < input_count; i++) {
        enum err_code rc = follow_input(calls, &input[i], err);

        if (rc)
            return rc;
    }
    return none_is_open(calls, err);
}

/* {id of the item: call id} of the local shell's calls. */
static json_t *shell_calls(const struct item_row *chain, size_t count)
{
    json_t *calls = json_object();

    for (size_t i = 0; i < count; i++) {
        if (chain[i].type == ITEM_LOCAL_SHELL_CALL)
            json_set_string(calls, chain[i].id, chain[i].call_id);
    }
    return calls;
}

void response_calls_name(const struct item_row *chain, size_t chain_count,
                         struct item_row *input, size_t input_count)
{
    json_auto_t *calls = shell_calls(chain, chain_count);

    for (size_t i = 0; json_object_size(calls) && i < input_count; i++) {
        struct item_row *row = &input[i];
        const char *call_id = json_get_string(calls, row->call_id, "");

        if (*call_id && row->type == ITEM_LOCAL_SHELL_CALL_OUTPUT)
            (void)snprintf(row->call_id, sizeof(row->call_id), "%s", call_id);
    }
}
