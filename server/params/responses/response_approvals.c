#include "server/params/responses/response_approvals.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/withheld.h"
#include "core/run/approval/grant.h"
#include "core/run/approval/run_approvals.h"
#include "core/run/catalog/tool_set.h"
#include "core/store/tables/approvals/approvals.h"
#include "server/complaint.h"
#include "server/params/responses/item_references.h"

/*
 * A response whose calls need approval ends with its calls open. The next request brings the answers,
 * and the calls are executed at the start of its run. This file connects the two: it finds the open
 * requests and the answers, pairs them, and hands decisions to the new run.
 *
 * The path of a request, in response_create.c:
 *
 *   load     read_given()     answers in the input, {approval request id: body}
 *            load_open()      requests that the parent, or the conversation, left open
 *            load_asked()     requests that the client has put into its own input
 *            read_earlier()   answers that earlier responses only stored
 *   settle   answer_all()     each request gets its answer, or the client an error
 *            check_offered()  the tools of approved calls are still offered
 *   apply    decisions go into the settings of the run, withheld results into its items
 *
 * "Load" reads the store and changes nothing. The answers are stored later, when the run is made
 * (store_run_create()) or begins (store_approvals_take()), in one transaction that also marks each
 * request as used by the new response. That mark is the guard: of two requests that race to take up
 * one approval, one fails with 409, and an approved tool runs once. Everything here works on a
 * snapshot of the rows and may be wrong by then. With `seen_used` the store distinguishes a lost race
 * from a response that takes over what a failed one had.
 *
 * What runs is what was shown. Name, arguments and definition come from the stored request, never from
 * the client's copy of it, or a client could have one call approved and another executed.
 *
 * Two sources differ in what they require. The parent's requests must all be answered, since the
 * conversation continues from there. Requests in the client's own input need no answer: with `store` off,
 * or when it manages its context itself, a client may leave a request behind.
 */

void response_approvals_clear(struct response_approvals *approvals)
{
    approval_rows_free(approvals->rows, approvals->count);
    json_decref(approvals->given);
    json_decref(approvals->earlier);
    free(approvals->answers);
    grant_rows_free(approvals->grants.rows, approvals->grants.count);
    *approvals = (struct response_approvals){0};
}

/* ---- Answers in the input ---- */

static bool is_input(const struct run_load *load, const struct item_row *item)
{
    return item->input && strcmp(item->run_id, load->run.id) == 0;
}

static bool is_answer(const struct item_row *item)
{
    return item->type == ITEM_MCP_APPROVAL_RESPONSE;
}

/* The ids of requests whose calls are in the context already. They were answered before: a client that
 * replays its conversation also replays the answers, which then answer nothing. */
static json_t *ids_of_calls(const struct run_load *load)
{
    json_t *ids = json_object();

    for (size_t i = 0; i < load->item_count; i++) {
        json_auto_t *body = NULL;
        const char *id;

        /* Parsing every call of a long context would be slow; few have the key with a text. */
        if (load->items[i].type != ITEM_MCP_CALL ||
            !strstr(load->items[i].body, "\"approval_request_id\":\""))
            continue;
        body = json_parse_own(load->items[i].body);
        id = json_get_string(body, "approval_request_id", NULL);
        if (id)
            json_set(ids, id, json_true());
    }
    return ids;
}

/* Adds the path of the answer to its body, for complaints about how it asks to be remembered. The input
 * items are the last of the load. */
static void note_place(const struct run_load *load, size_t i, json_t *body)
{
    size_t first = load->item_count - (size_t)load->next_position;
    AUTO_FREE char *place = mem_printf("input[%zu].runnel", i - first);

    json_set_string(body, "place", place);
}

static enum err_code read_given(const struct run_load *load, json_t *given, struct err *err)
{
    json_auto_t *old = NULL;

    for (size_t i = 0; i < load->item_count; i++) {
        const struct item_row *item = &load->items[i];
        json_auto_t *body = NULL;
        const char *id;

        if (!is_input(load, item) || !is_answer(item))
            continue;
        if (!old) /* most requests have no answers at all */
            old = ids_of_calls(load);
        body = json_parse_own(item->body);
        id = json_get_string(body, "approval_request_id", "");
        note_place(load, i, body);
        if (json_object_get(old, id))
            continue;
        if (json_object_get(given, id))
            return err_set_api(err, ERR_INVALID, NULL, "input",
                               "Approval request '%.64s' is answered twice.", id);
        json_object_set(given, id, body);
    }
    return ERR_OK;
}

/* The last item of the context that a response produced; NULL without one. */
static const struct item_row *last_made(const struct run_load *load)
{
    for (size_t i = load->item_count; i-- > 0;) {
        if (!load->items[i].input && *load->items[i].run_id)
            return &load->items[i];
    }
    return NULL;
}

/* A response that only stored its input, or only made a compaction, may come between the request and this
 * one. An answer in its input counts now. */
static void read_earlier(const struct run_load *load, json_t *earlier)
{
    const struct item_row *last = last_made(load);
    const struct item_row *end = load->items + load->item_count;

    for (const struct item_row *item = last ? last + 1 : end; item < end; item++) {
        json_auto_t *body = NULL;

        if (is_input(load, item) || !*item->run_id || !is_answer(item))
            continue;
        body = json_parse_own(item->body);
        json_object_set(earlier, json_get_string(body, "approval_request_id", ""), body);
    }
}

/* ---- Open requests ---- */

/* Without an approval request in the context there is nothing to look up. */
static bool may_be_open(const struct run_load *load)
{
    for (size_t i = 0; i < load->item_count; i++) {
        if (!load->items[i].input && load->items[i].type == ITEM_MCP_APPROVAL_REQUEST)
            return true;
    }
    return false;
}

/* Drops requests that a response has taken up. It is not called for the parent's own requests: there the
 * client needs to know that another response was first, or takes over what a failed one had. */
static void drop_used(struct response_approvals *approvals)
{
    size_t kept = 0;

    for (size_t i = 0; i < approvals->count; i++) {
        if (*approvals->rows[i].used_by)
            approval_row_clear(&approvals->rows[i]);
        else
            approvals->rows[kept++] = approvals->rows[i];
    }
    approvals->count = kept;
}

/* The parent may have produced nothing. Then the requests are those of the last response that did. */
static enum err_code load_of_chain(struct store *store, const struct tenant *tenant,
                                   const struct run_load *load,
                                   struct response_approvals *approvals, struct err *err)
{
    const struct run_row *run = &load->run;
    const struct item_row *last = last_made(load);
    bool parents = !last || strcmp(last->run_id, run->parent_id) == 0;
    enum err_code rc =
        store_approvals_of_run(store, tenant, parents ? run->parent_id : last->run_id,
                               &approvals->rows, &approvals->count, err);

    if (!rc && !parents)
        drop_used(approvals);
    return rc;
}

static enum err_code load_open(struct store *store, const struct tenant *tenant,
                               const struct run_load *load,
                               struct response_approvals *approvals, struct err *err)
{
    const struct run_row *run = &load->run;
    const struct item_row *last = last_made(load);

    if (!may_be_open(load))
        return ERR_OK;
    if (*run->thread_id)
        return store_approvals_of_thread(store, tenant, run->thread_id,
                                         last ? last->run_id : "", &approvals->rows,
                                         &approvals->count, err);
    return *run->parent_id ? load_of_chain(store, tenant, load, approvals, err) : ERR_OK;
}

/* ---- Requests in the client's input ---- */

/* The ids of requests that are in the input, as items or as references. */
static json_t *ids_asked(const json_t *input)
{
    json_t *ids = json_object();
    size_t i;
    json_t *item;

    json_array_foreach (input, i, item) {
        const char *type = json_get_string(item, "type", "");

        if (strcmp(type, "mcp_approval_request") == 0 || item_is_reference(item))
            json_set(ids, json_get_string(item, "id", ""), json_true());
    }
    return ids;
}

static bool is_known(const struct response_approvals *approvals, const char *id)
{
    for (size_t i = 0; i < approvals->count; i++) {
        if (strcmp(approvals->rows[i].id, id) == 0)
            return true;
    }
    return false;
}

/* Takes `rows` with what they own. */
static void add_rows(struct response_approvals *approvals, struct approval_row *rows,
                     size_t count)
{
    if (count) {
        approvals->rows =
            mem_resize(approvals->rows, approvals->count + count, sizeof(*approvals->rows));
        memcpy(approvals->rows + approvals->count, rows, count * sizeof(*rows));
        approvals->count += count;
    }
    free(rows);
}

/* An approved result is delivered in its own item, which belongs to the response that asked. A client that
 * has copied the item keeps a version that is still withheld, so it must continue that response. */
static enum err_code check_no_results(const struct approval_row *rows, size_t count,
                                      struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        if (rows[i].kind == APPROVAL_OF_RESULT)
            return err_set_api(
                err, ERR_INVALID, NULL, "input",
                "Approval request '%.64s' is about a result. Answer it in a response that goes "
                "on from '%.64s' by 'previous_response_id' or 'conversation'.",
                rows[i].id, rows[i].run_id);
    }
    return ERR_OK;
}

static enum err_code load_asked(struct store *store, const struct tenant *tenant,
                                const json_t *input, struct response_approvals *approvals,
                                struct err *err)
{
    json_auto_t *asked = ids_asked(input);
    AUTO_FREE const char **ids =
        mem_new_array(const char *, json_object_size(approvals->given) + 1);
    struct approval_row *rows = NULL;
    size_t id_count = 0, count = 0;
    const char *id;
    json_t *answer;
    enum err_code rc;

    json_object_foreach (approvals->given, id, answer) {
        if (json_object_get(asked, id) && !is_known(approvals, id))
            ids[id_count++] = id;
    }
    if (!id_count)
        return ERR_OK;
    rc = store_approvals_left(store, tenant, ids, id_count, &rows, &count, err);
    if (!rc)
        rc = check_no_results(rows, count, err);
    if (rc)
        approval_rows_free(rows, count);
    else
        add_rows(approvals, rows, count);
    return rc;
}

/* ---- Pairing ---- */

/* An answer in this request wins over one that was only stored. */
static const json_t *answer_to(const struct response_approvals *approvals, size_t i)
{
    const json_t *given = json_object_get(approvals->given, approvals->rows[i].id);

    return given ? given : json_object_get(approvals->earlier, approvals->rows[i].id);
}

/* Whether the grants of the other answers cover a pending request. A call whose policy requires an approval
 * anyway is not covered: such a grant is about the permission alone. */
static bool is_covered(const struct response_approvals *approvals, size_t i)
{
    const struct approval_row *row = &approvals->rows[i];

    return row->status == APPROVAL_PENDING && row->kind == APPROVAL_OF_PERMISSION &&
           !*row->used_by && strcmp(row->policy, execution_policy_name(EXECUTION_AUTO)) == 0 &&
           grants_cover(approvals->grants.rows, approvals->grants.count, row->memory,
                        row->definition);
}

static enum err_code answer_one(const struct run_settings *settings,
                                struct response_approvals *approvals, size_t i, struct err *err)
{
    const struct approval_row *row = &approvals->rows[i];
    const json_t *given = answer_to(approvals, i);
    struct approval_answer *answer = &approvals->answers[i];

    /* A response had it before, so the tool may have run. store_approvals_take() checks both members again,
     * under a lock. */
    *answer = (struct approval_answer){
        .id = row->id, .seen_used = *row->used_by, .lost = *row->used_by};
    if (given) {
        answer->approve = json_get_bool(given, "approve", false);
        answer->reason = json_get_string(given, "reason", NULL);
    } else if (row->status != APPROVAL_PENDING) { /* decided by way of /v1/runnel/approvals */
        answer->approve = row->status == APPROVAL_APPROVED;
        answer->reason = row->reason;
    } else if (is_covered(approvals, i)) {
        answer->approve = true;
    } else if (settings->approval.rejects_pending) {
        answer->reason = "The approval request was not answered.";
    } else {
        return err_set_api(err, ERR_INVALID, NULL, "input",
                           "No approval response found for approval request %.64s.", row->id);
    }
    return ERR_OK;
}

/* An answer to nothing is an error: its author believes that it had an effect. */
static enum err_code check_all_known(const struct response_approvals *approvals,
                                     struct err *err)
{
    const char *id;
    json_t *body;

    json_object_foreach (approvals->given, id, body) {
        if (!is_known(approvals, id))
            return err_set_api(err, ERR_INVALID, NULL, "input",
                               "No approval request found for approval response with "
                               "approval_request_id %.64s.",
                               id);
    }
    return ERR_OK;
}

/* Makes the grant of an answer. A request that was decided before has its grant, unless this answer asks for
 * another. */
static enum err_code remember(const struct run_load *load, struct response_approvals *approvals,
                              size_t i, struct err *err)
{
    const struct approval_row *row = &approvals->rows[i];
    const struct approval_answer *answer = &approvals->answers[i];
    const json_t *given = answer_to(approvals, i);
    const json_t *said = json_object_get(given, "runnel");

    if (row->status != APPROVAL_PENDING && json_absent(said))
        return ERR_OK;
    return grants_make(said, json_get_string(given, "place", "input"),
                       &(struct grant_answer){.approval_id = row->id,
                                              .memory = row->memory,
                                              .definition = row->definition,
                                              .approve = answer->approve,
                                              .reason = answer->reason,
                                              .run = load->run.id,
                                              .forgets = !(load->run.flags & RUN_STORED)},
                       &approvals->grants.rows, &approvals->grants.count, err);
}

/* Requests with an answer come first, because their grants may cover the others. */
static enum err_code answer_all(const struct run_load *load,
                                const struct run_settings *settings,
                                struct response_approvals *approvals, struct err *err)
{
    enum err_code rc = ERR_OK;

    approvals->answers = mem_new_array(struct approval_answer, approvals->count + 1);
    for (size_t i = 0; !rc && i < approvals->count; i++) {
        if (!answer_to(approvals, i))
            continue;
        rc = answer_one(settings, approvals, i, err);
        if (!rc)
            rc = remember(load, approvals, i, err);
    }
    for (size_t i = 0; !rc && i < approvals->count; i++) {
        if (!answer_to(approvals, i))
            rc = answer_one(settings, approvals, i, err);
    }
    return rc;
}

/* ---- The tools of approved calls ---- */

/* An approved call needs its tool in the new request. A remote server's tools are not listed yet, so its
 * label is enough. A result needs no tool: it is there. */
static enum err_code check_offered(const struct run_settings *settings,
                                   const struct response_approvals *approvals, struct err *err)
{
    struct tool_set tools = {0};
    enum err_code rc = tool_set_init(&tools, settings->tools, settings, err);

    for (size_t i = 0; !rc && i < approvals->count; i++) {
        const struct approval_row *row = &approvals->rows[i];

        if (row->kind != APPROVAL_OF_RESULT && approvals->answers[i].approve &&
            !tool_set_has_server(&tools, row->server_label) &&
            !tool_set_find_labelled(&tools, row->server_label, row->tool))
            rc = err_invalid(
                err, "invalid_value", "tools",
                "The tool '%.64s' of '%.64s', whose call was approved, is not offered "
                "by this request.",
                row->tool, row->server_label);
    }
    tool_set_clear(&tools);
    return rc;
}

/* ---- Into the run ---- */

/* Borrows everything, `extra` too. */
static struct run_decision decision(const struct approval_row *row,
                                    const struct approval_answer *answer, json_t *extra)
{
    return (struct run_decision){
        .id = row->id,
        .call_id = row->call_id,
        .name = row->tool,
        .label = row->server_label,
        .arguments = row->arguments,
        .kind = approval_kind_name(row->kind),
        .definition = row->definition,
        .reason = row->status == APPROVAL_PENDING ? answer->reason : row->reason,
        .extra = extra,
        .approve = answer->approve,
        .lost = answer->lost,
    };
}

static const char *reason_of(const struct approval_row *row,
                             const struct approval_answer *answer)
{
    const char *reason = row->status == APPROVAL_PENDING ? answer->reason : row->reason;

    return reason && *reason ? reason : WITHHELD_REFUSED;
}

/* Changes the item in memory as the store changes its row: the context was read before the decision. Its
 * tokens are counted anew, because the model now sees another text. */
static void deliver_result(struct item_row *item, const struct approval_row *row,
                           const struct approval_answer *answer)
{
    json_auto_t *body = json_parse_own(item->body);

    if (!withheld_is(body))
        return;
    if (answer->approve) {
        withheld_deliver(body);
    } else {
        withheld_refuse(body, reason_of(row, answer));
        item->status = ITEM_INCOMPLETE;
    }
    free(item->body);
    item->body = json_text(body);
    item->cost = (struct item_cost){0};
}

static void deliver_results(struct run_load *load, const struct approval_row *row,
                            const struct approval_answer *answer)
{
    for (size_t i = 0; i < load->item_count; i++) {
        struct item_row *item = &load->items[i];

        if (!item->input && strcmp(item->run_id, row->run_id) == 0 &&
            strcmp(item->call_id, row->call_id) == 0)
            deliver_result(item, row, answer);
    }
}

void response_approvals_apply(const struct response_approvals *approvals,
                              struct run_settings *settings, struct run_load *load)
{
    AUTO_FREE struct run_decision *decisions = NULL;
    json_auto_t *extras = json_array();
    size_t count = 0;

    if (!approvals->count)
        return;
    decisions = mem_new_array(struct run_decision, approvals->count);
    for (size_t i = 0; i < approvals->count; i++) {
        const struct approval_row *row = &approvals->rows[i];
        json_t *extra = row->extra ? json_parse_own(row->extra) : NULL;

        if (extra)
            json_array_append_new(extras, extra);
        if (row->kind == APPROVAL_OF_RESULT)
            deliver_results(load, row, &approvals->answers[i]);
        else
            decisions[count++] = decision(row, &approvals->answers[i], extra);
    }
    run_settings_decide(settings, decisions, count);
    free(load->run.config);
    load->run.config = run_settings_store(settings);
}

enum err_code response_approvals_load(struct store *store, const struct tenant *tenant,
                                      const struct run_load *load, const json_t *input,
                                      struct response_approvals *ret_approvals, struct err *err)
{
    enum err_code rc;

    *ret_approvals =
        (struct response_approvals){.given = json_object(), .earlier = json_object()};
    rc = read_given(load, ret_approvals->given, err);
    if (!rc)
        rc = load_open(store, tenant, load, ret_approvals, err);
    if (!rc)
        rc = load_asked(store, tenant, input, ret_approvals, err);
    if (!rc)
        rc = check_all_known(ret_approvals, err);
    if (!rc)
        read_earlier(load, ret_approvals->earlier);
    return rc;
}

enum err_code response_approvals_settle(const struct run_load *load,
                                        const struct run_settings *settings,
                                        struct response_approvals *approvals, struct err *err)
{
    enum err_code rc = answer_all(load, settings, approvals, err);

    return rc || !approvals->count ? rc : check_offered(settings, approvals, err);
}
