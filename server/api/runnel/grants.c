/*
 * Grants: remembered answers to approval requests. An extension.
 *
 * Grants are made together with an answer, never here (approvals.c, run_answers.h). These endpoints
 * list, show and revoke them. Revoking is deleting the row: the next call that would have been
 * covered asks for an approval again. A call that a grant has let through is not stopped.
 *
 * Of the arguments of an exact grant only a hash is stored, and shown here. It is all that the server
 * needs to compare, and the arguments may hold a secret.
 */

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/run/approval/grant.h"
#include "core/store/tables/approvals/grants.h"
#include "server/api/api.h"
#include "server/encode/encode.h"
#include "server/encode/encode_field.h"
#include "server/params/params.h"
#include "server/server.h"

/* A conversation is stored as a thread. A grant that was made there shows the name that its client
 * knows. `memory` is the caller's, for that name. */
static const char *shown_scope_id(const struct grant_row *row, char memory[ID_SIZE])
{
    if (!row->of_response || !id_has_prefix(row->scope_id, "thread_") ||
        strcmp(row->scope, "thread") != 0)
        return row->scope_id;
    encode_conversation_id(row->scope_id, memory);
    return memory;
}

static json_t *encode_grant(const struct grant_row *row)
{
    json_t *object = encode_new(row->id, "approval_grant", row->created_at);
    bool exact = strcmp(row->match, "exact") == 0;
    bool pattern = strcmp(row->match, "pattern") == 0;
    char conversation[ID_SIZE];

    json_set_string(object, "scope", row->scope);
    json_set_string(object, "scope_id", shown_scope_id(row, conversation));
    json_set_string(object, "tool", row->tool);
    json_set_string(object, "match", row->match);
    json_set_string(object, "arguments_hash", exact ? row->match_key : NULL);
    json_set_string(object, "type", pattern ? row->type : NULL);
    json_set_string(object, "pattern", pattern ? row->match_key : NULL);
    json_set_string(object, "definition", row->definition);
    json_set_bool(object, "approve", row->approve);
    json_set_string(object, "reason", row->reason);
    json_set_string(object, "approval_id", row->approval_id);
    field_set_time(object, "expires_at", row->expires_at);
    return object;
}

static enum err_code grant_id(const struct request *request, const char **ret_id,
                              struct err *err)
{
    *ret_id = request_param(request, "grant");
    return param_id(*ret_id, "grant_", "grant_id", err);
}

/* The filter of a list. A grant of a conversation is stored under its thread, so scope_id conv_X becomes
 * thread_X. `thread` is the caller's memory for that id. */
static enum err_code read_filter(const struct request *request, struct grant_filter *ret_filter,
                                 char thread[ID_SIZE], struct err *err)
{
    struct grant_filter filter = {.scope = request_query(request, "scope"),
                                  .scope_id = request_query(request, "scope_id"),
                                  .tool = request_query(request, "tool")};
    bool known = !filter.scope;

    for (size_t i = 0; filter.scope && grant_scopes[i]; i++)
        known |= strcmp(filter.scope, grant_scopes[i]) == 0;
    if (!known)
        return param_wrong_word(err, "scope", filter.scope, grant_scopes);
    if (filter.scope_id && id_has_prefix(filter.scope_id, "conv_")) {
        (void)snprintf(thread, ID_SIZE, "thread_%s", filter.scope_id + strlen("conv_"));
        filter.scope_id = thread;
    }
    *ret_filter = filter;
    return ERR_OK;
}

enum err_code api_grant_list(struct request *request, struct err *err)
{
    struct grant_row *rows = NULL;
    struct grant_filter filter;
    char thread[ID_SIZE];
    struct page page;
    size_t count = 0;
    bool more = false;
    enum err_code rc = param_page(request, &page, err);

    if (!rc)
        rc = read_filter(request, &filter, thread, err);
    if (!rc)
        rc = store_grant_list(request_server(request)->store, request_tenant(request), &filter,
                              &page, &rows, &count, &more, err);
    if (rc)
        return rc;
    answer_rows(request, rows, count, more, encode_grant);
    grant_rows_free(rows, count);
    return ERR_OK;
}

enum err_code api_grant_get(struct request *request, struct err *err)
{
    struct grant_row row;
    const char *id;
    enum err_code rc = grant_id(request, &id, err);

    if (!rc)
        rc = store_grant_get(request_server(request)->store, request_tenant(request), id, &row,
                             err);
    if (rc)
        return rc;
    request_answer(request, 200, encode_grant(&row));
    grant_row_clear(&row);
    return ERR_OK;
}

enum err_code api_grant_delete(struct request *request, struct err *err)
{
    const char *id;
    enum err_code rc = grant_id(request, &id, err);

    if (!rc)
        rc = store_grant_delete(request_server(request)->store, request_tenant(request), id,
                                err);
    if (rc)
        return rc;
    request_answer(request, 200, encode_deleted(id, "approval_grant.deleted"));
    return ERR_OK;
}
