/*
 * Approval requests: whether a tool call may run, or whether the model may see its result. An
 * extension.
 *
 * The client that made a run can answer in the run's own API: with an mcp_approval_response item, or
 * by submit_tool_outputs. These endpoints are for a person who is not that client, for example an
 * administrator with a list of pending requests. The paths differ behind the endpoint:
 *
 *   run of a thread     It is in requires_action, and its row waits. The decision is stored as a
 *                       submission with one output (store_run_decide). If no other call is open, the
 *                       same transaction leases the run to this node, and the run continues here.
 *   suspended response  It has ended. The decision is stored (store_approval_decide) and the next
 *                       response of the chain takes it up.
 *   held response       It is in memory, on some node, with its client's request open. The decision
 *                       is stored in the same way. The node is then notified, or finds it by its
 *                       poll if the notification is lost.
 *
 * In each case decision and grants are one transaction. The first decision counts. The same one
 * again changes nothing, and a different one is refused (409).
 */

#include <stdlib.h>
#include <string.h>

#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/sha256.h"
#include "core/domain/tenant.h"
#include "core/run/approval/approval_answer.h"
#include "core/run/approval/grant.h"
#include "core/run/engine/engine.h"
#include "core/store/tables/approvals/approvals.h"
#include "core/store/tables/runs/runs.h"
#include "core/store/wakeup.h"
#include "server/api/api.h"
#include "server/encode/encode.h"
#include "server/encode/encode_field.h"
#include "server/files/awaited_files.h"
#include "server/params/params.h"
#include "server/server.h"

/* The member that only approval requests of this kind have; null for the others. */
static void set_details(json_t *object, const struct approval_row *row, const char *key,
                        enum approval_kind kind)
{
    bool shown = row->kind == kind && row->details;

    json_set(object, key, shown ? json_parse_own(row->details) : json_null());
}

static json_t *encode_approval(const struct approval_row *row)
{
    json_t *object = encode_new(row->id, "approval", row->created_at);

    json_set_string(object, "status", approval_status_name(row->status));
    json_set_string(object, "run_id", row->run_id);
    json_set_string(object, "thread_id", *row->thread_id ? row->thread_id : NULL);
    json_set_string(object, "call_id", row->call_id);
    json_set_string(object, "server_label", row->server_label);
    json_set_string(object, "name", row->tool);
    json_set_string(object, "arguments", row->arguments);
    json_set_string(object, "policy", row->policy);
    json_set_string(object, "kind", approval_kind_name(row->kind));
    set_details(object, row, "result", APPROVAL_OF_RESULT);
    set_details(object, row, "permission", APPROVAL_OF_PERMISSION);
    set_details(object, row, "preview", APPROVAL_OF_EXECUTION);
    json_set_string(object, "definition", row->definition);
    json_set_string(object, "reason", row->reason);
    json_set_string(object, "used_by", *row->used_by ? row->used_by : NULL);
    field_set_time(object, "decided_at", row->decided_at);
    return object;
}

static enum err_code approval_id(const struct request *request, const char **ret_id,
                                 struct err *err)
{
    *ret_id = request_param(request, "approval");
    return param_id(*ret_id, "mcpr_", "approval_id", err);
}

static enum err_code answer(struct request *request, struct approval_row *row)
{
    request_answer(request, 200, encode_approval(row));
    approval_row_clear(row);
    return ERR_OK;
}

/* The filter of a list. Without one it has all statuses. */
static enum err_code read_status(const struct request *request,
                                 enum approval_status *ret_status, struct err *err)
{
    static const char *const words[] = {"pending", "approved", "rejected", "expired", NULL};
    const char *word = request_query(request, "status");

    *ret_status = word ? approval_status_parse(word) : APPROVAL_STATUS_NONE;
    return word && !*ret_status ? param_wrong_word(err, "status", word, words) : ERR_OK;
}

enum err_code api_approval_list(struct request *request, struct err *err)
{
    struct approval_row *rows = NULL;
    enum approval_status status = APPROVAL_STATUS_NONE;
    struct page page;
    size_t count = 0;
    bool more = false;
    enum err_code rc = param_page(request, &page, err);

    if (!rc)
        rc = read_status(request, &status, err);
    if (!rc)
        rc = store_approval_list(request_server(request)->store, request_tenant(request),
                                 status, &page, &rows, &count, &more, err);
    if (rc)
        return rc;
    answer_rows(request, rows, count, more, encode_approval);
    approval_rows_free(rows, count);
    return ERR_OK;
}

enum err_code api_approval_get(struct request *request, struct err *err)
{
    struct approval_row row;
    const char *id;
    enum err_code rc = approval_id(request, &id, err);

    if (!rc)
        rc = store_approval_get(request_server(request)->store, request_tenant(request), id,
                                &row, err);
    return rc ? rc : answer(request, &row);
}

static bool is_of_run(const struct approval_row *row)
{
    return id_has_prefix(row->run_id, "run_");
}

static enum err_code read_answer(const json_t *body, struct approval_answer *ret_answer,
                                 struct err *err)
{
    static const char *const known[] = {"approve", "reason", "remember", "persistDecision",
                                        NULL};
    enum err_code rc = param_unknown_strict(body, "", known, err);

    if (!rc && json_absent(json_object_get(body, "approve")))
        return param_missing(err, "approve");
    if (!rc)
        rc = param_bool(body, "", "approve", &ret_answer->approve, err);
    if (!rc)
        rc = param_string(body, "", "reason", PARAM_OPTIONAL, APPROVAL_REASON_LIMIT,
                          &ret_answer->reason, err);
    return rc;
}

/* A response that holds for its approval requests has taken them up itself. */
static bool is_held(const struct approval_row *row)
{
    return strcmp(row->used_by, row->run_id) == 0;
}

/* Notifies the run, here or on another node. For a repeated answer, other nodes are not notified again:
 * one that missed the first notification polls. */
static void notify_run(struct server *server, const struct approval_row *row, bool is_new)
{
    if (!engine_check_approvals(server->engine, row->run_id) && is_new)
        store_wake_others(server->store, WAKEUP_ANSWERED, row->run_id);
}

/* The grants that the answer asks for. An approval that was decided before has its grant already, so a
 * repeated answer makes one only if it asks for it. */
static enum err_code read_grants(const struct request *request, const struct approval_row *row,
                                 const struct approval_answer *given,
                                 struct approval_grants *ret_grants, struct err *err)
{
    const json_t *body = request_json(request);

    if (!grant_is_requested(body) && row->status != APPROVAL_PENDING)
        return ERR_OK;
    return grants_make(
        body, "",
        &(struct grant_answer){.approval_id = row->id,
                               .memory = row->memory,
                               .definition = row->definition,
                               .approve = given->approve,
                               .reason = given->reason,
                               .run = is_of_run(row) || is_held(row) ? row->run_id : NULL},
        &ret_grants->rows, &ret_grants->count, err);
}

/* ---- Approval requests of a thread's run ---- */

/* The decision as an output, in the form in which submit_tool_outputs would send it. The caller frees. */
static char *output_of(const json_t *body)
{
    static const char *const said[] = {"approve", "reason", "remember", "persistDecision"};
    json_auto_t *output = json_object();

    for (size_t i = 0; i < COUNT_OF(said); i++) {
        if (!json_absent(json_object_get(body, said[i])))
            json_object_set(output, said[i], json_object_get(body, said[i]));
    }
    return json_text(output);
}

static enum err_code decide_of_run(struct server *server, const struct tenant *tenant,
                                   const struct approval_row *row, const json_t *body,
                                   const struct approval_answer *given,
                                   const struct approval_grants *grants, struct err *err)
{
    struct run_start start = {.arrival = ARRIVAL_SUBMITTED};
    AUTO_FREE char *output = output_of(body);
    const struct tool_answer answer = {.call_id = row->id,
                                       .output = output,
                                       .approve = given->approve,
                                       .reason = given->reason};
    unsigned char hash[32];
    bool continues = false;
    enum err_code rc = engine_admit(server->engine, err);

    sha256_text(output, hash);
    if (!rc)
        rc = store_run_decide(server->store,
                              &(struct submission){
                                  .tenant = tenant,
                                  .thread_id = row->thread_id,
                                  .run_id = row->run_id,
                                  .answers = &answer,
                                  .count = 1,
                                  .grants = grants,
                                  .hash = hash,
                                  .context_limit = engine_context_limit(server->engine),
                              },
                              &start.load, &continues, err);
    if (rc)
        return rc;
    if (!continues) {
        run_load_clear(&start.load);
        return ERR_OK;
    }
    /* The run starts without a sink. Clients that follow its log receive the events. */
    start.load.run.flags &= ~(unsigned)RUN_STREAMED;
    awaited_files_run(server, &start);
    return ERR_OK;
}

/* ---- Deciding ---- */

static enum err_code decide(struct request *request, const struct approval_row *asked,
                            const struct approval_answer *given, struct approval_row *ret_row,
                            struct err *err)
{
    struct server *server = request_server(request);
    const struct tenant *tenant = request_tenant(request);
    struct approval_grants grants = {0};
    enum err_code rc = read_grants(request, asked, given, &grants, err);

    if (!rc && is_of_run(asked)) {
        rc = decide_of_run(server, tenant, asked, request_json(request), given, &grants, err);
        if (!rc)
            rc = store_approval_get(server->store, tenant, given->id, ret_row, err);
    } else if (!rc) {
        rc = store_approval_decide(server->store, tenant, given, &grants, ret_row, err);
        if (!rc && is_held(ret_row))
            notify_run(server, ret_row, asked->status == APPROVAL_PENDING);
    }
    grant_rows_free(grants.rows, grants.count);
    return rc;
}

enum err_code api_approval_decide(struct request *request, struct err *err)
{
    struct approval_answer given = {0};
    struct approval_row asked, row;
    enum err_code rc = approval_id(request, &given.id, err);

    if (!rc)
        rc = read_answer(request_json(request), &given, err);
    if (!rc)
        rc = store_approval_get(request_server(request)->store, request_tenant(request),
                                given.id, &asked, err);
    if (rc)
        return rc;
    rc = decide(request, &asked, &given, &row, err);
    approval_row_clear(&asked);
    return rc ? rc : answer(request, &row);
}
