#include "server/params/responses/response_calls.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/context/context_content.h"
#include "core/run/context/past_calls.h"
#include "server/complaint.h"
#include "server/params/responses/input_items.h"

/*
 * As OpenAI does, the server refuses a request in which a call has no output, or an output has no call.
 *
 * Open calls are kept in an object that maps the call id to the type of the call. A negative type marks an
 * orphan: a run of a thread left the call open when it ended, or the answer broke off within it. An orphan
 * may have an output and needs none, because its client may never have seen it. A program needs none either: the server
 * continues it.
 *
 * Unlike OpenAI, the server takes an output that says again what the call was answered with, and drops it:
 * some clients send the outputs of all rounds again in each round of a chain. The repeat is measured by what
 * the model would read.
 *
 * An id may come again with a new call, because some models count their calls anew in each turn. So an open
 * call is answered first. If the input has several outputs for it, the last one is the answer, and those
 * before it may repeat the answers of older calls with that id.
 */

/* What the items so far say about calls. */
struct matching {
    const struct item_row *chain;
    size_t chain_count;
    struct item_row *input;
    const bool *
        followed; /* by input item: another output with its id comes, before the next call with it */
    size_t kept;   /* the input items so far that are no repeats, at the beginning of `input` */
    json_t *calls; /* the open ones */
    json_t *answers; /* {call id: place of its last output, in the chain and the kept input} */
};

/* Its output may come in a later request. Most bodies do not have the word, and are not parsed. */
static bool is_async(const struct item_row *row)
{
    json_auto_t *body = strstr(row->body, "\"async\"") ? json_parse_own(row->body) : NULL;

    return json_get_bool(body, "async", false);
}

static void open_call(json_t *calls, const struct item_row *row)
{
    bool may_stay_open = id_has_prefix(row->run_id, "run_") || row->status == ITEM_INCOMPLETE ||
                         item_type_makes_calls(row->type) || is_async(row);

    json_set_int(calls, row->call_id, may_stay_open ? -(int)row->type : (int)row->type);
}

static bool is_open(const json_t *calls, const struct item_row *row, enum item_type type)
{
    return llabs(json_get_int(calls, row->call_id, 0)) == (int)type;
}

/* The past was checked when it was new. It is not checked again: the context may begin after a call, and
 * deleted items leave gaps. */
static void follow(struct matching *matching, const struct item_row *row, size_t place)
{
    if (!*row->call_id)
        return;
    if (item_type_is_client_call(row->type))
        open_call(matching->calls, row);
    if (!item_type_is_output(row->type))
        return;
    json_object_del(matching->calls, row->call_id);
    json_set_int(matching->answers, row->call_id, (json_int_t)place);
}

/* The output that answered the call of `output`, if it is of the same type; or NULL. */
static const struct item_row *answer_before(const struct matching *matching,
                                            const struct item_row *output)
{
    json_int_t place = json_get_int(matching->answers, output->call_id, -1);
    const struct item_row *answer;

    if (place < 0)
        return NULL;
    answer = (size_t)place < matching->chain_count
                 ? &matching->chain[place]
                 : &matching->input[(size_t)place - matching->chain_count];
    return answer->type == output->type ? answer : NULL;
}

/* An output as the model reads it. New reference. */
static json_t *read_output(const struct item_row *row)
{
    json_auto_t *body = json_parse_own(row->body);
    json_auto_t *output = past_output(row->type, item_status_name(row->status), body);

    return context_content(output);
}

static bool says_the_same(const struct item_row *a, const struct item_row *b)
{
    json_auto_t *left = read_output(a);
    json_auto_t *right = read_output(b);

    return json_equal(left, right);
}

/* ERR_OK if `row`, an output without an open call, only repeats the output of its call. */
static enum err_code check_repeat(const struct matching *matching, const struct item_row *row,
                                  struct err *err)
{
    const struct item_row *answer = answer_before(matching, row);
    const char *words = input_type_find(row->type)->words;

    if (!answer)
        return err_set_api(err, ERR_INVALID, NULL, "input",
                           "No tool call found for %s output with call_id %s.", words,
                           row->call_id);
    if (!says_the_same(answer, row))
        return err_set_api(err, ERR_INVALID, NULL, "input",
                           "The %s %s was already answered with another output.", words,
                           row->call_id);
    return ERR_OK;
}

/* The call of input[at] is open, and what comes later in the input answers it. */
static bool repeats_an_older_call(const struct matching *matching, size_t at)
{
    const struct item_row *row = &matching->input[at];
    const struct item_row *answer = answer_before(matching, row);

    return matching->followed[at] && answer && says_the_same(answer, row);
}

static void keep(struct matching *matching, struct item_row *row)
{
    struct item_row *kept = &matching->input[matching->kept];

    if (kept != row) {
        *kept = *row;
        *row = (struct item_row){0};
    }
    kept->position = (int64_t)matching->kept;
    kept->model_index = (int)matching->kept;
    follow(matching, kept, matching->chain_count + matching->kept);
    matching->kept++;
}

/* Keeps input[at], or releases it if it is a repeat. */
static enum err_code match_input(struct matching *matching, size_t at, struct err *err)
{
    struct item_row *row = &matching->input[at];
    enum err_code rc;

    if (!*row->call_id || !item_type_is_output(row->type) ||
        (is_open(matching->calls, row, item_type_answers(row->type)) &&
         !repeats_an_older_call(matching, at))) {
        keep(matching, row);
        return ERR_OK;
    }
    rc = check_repeat(matching, row, err);
    if (!rc)
        item_row_clear(row);
    return rc;
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

/* The caller frees. */
static bool *find_followed(const struct item_row *input, size_t count)
{
    bool *followed = mem_new_array(bool, count + 1);
    json_auto_t *seen = json_object(); /* {call id: true}, of the outputs behind */

    for (size_t i = count; i-- > 0;) {
        if (!*input[i].call_id)
            continue;
        if (item_type_is_client_call(input[i].type))
            json_object_del(seen, input[i].call_id);
        if (!item_type_is_output(input[i].type))
            continue;
        followed[i] = json_object_get(seen, input[i].call_id);
        json_set_bool(seen, input[i].call_id, true);
    }
    return followed;
}

enum err_code response_calls_match(const struct item_row *chain, size_t chain_count,
                                   struct item_row *input, size_t *input_count, struct err *err)
{
    json_auto_t *calls = json_object();
    json_auto_t *answers = json_object();
    AUTO_FREE bool *followed = find_followed(input, *input_count);
    struct matching matching = {.chain = chain,
                                .chain_count = chain_count,
                                .input = input,
                                .followed = followed,
                                .calls = calls,
                                .answers = answers};
    enum err_code rc;

    for (size_t i = 0; i < chain_count; i++)
        follow(&matching, &chain[i], i);
    for (size_t i = 0; i < *input_count; i++) {
        rc = match_input(&matching, i, err);
        if (rc)
            return rc;
    }
    rc = none_is_open(calls, err);
    if (!rc)
        *input_count = matching.kept;
    return rc;
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
