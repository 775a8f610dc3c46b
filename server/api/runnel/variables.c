/*
 * Variables of threads, conversations and responses. An extension; core/domain/variable.h says what a
 * variable is.
 *
 * The same seven functions serve three families of paths, because the store knows one kind of owner:
 * a scope, which is a thread or a response. locate() finds the scope of a path:
 *
 *   threads/T, conversations/C   the thread
 *   responses/R                  its conversation, if it has one; otherwise the response itself, which
 *                                also sees the variables of its ancestors
 *
 * Model, tools and clients share the variables of a scope, while runs are active too. Each change is
 * one transaction in the store, and the last one wins. The store does not check whether a scope
 * exists, so locate() does, with the error of the API that the path belongs to.
 *
 * To look at a variable does not count as reading it (VARIABLE_LOOK). Otherwise a page that shows all
 * variables would keep every one of them from being evicted.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/store/tables/runs/runs.h"
#include "core/store/tables/threads/threads.h"
#include "core/store/tables/threads/variables.h"
#include "server/api/api.h"
#include "server/complaint.h"
#include "server/encode/encode.h"
#include "server/params/params.h"
#include "server/params/variable_params.h"
#include "server/server.h"

/* ---- The scope of a path ---- */

struct place {
    struct store *store;
    const struct tenant *tenant;
    char scope[ID_LIMIT + 1];
    const char *name; /* of the variable; "" if the path has none */
};

static enum err_code thread_scope(struct place *place, struct err *err)
{
    struct thread_row row;
    enum err_code rc = store_thread_get(place->store, place->tenant, place->scope, &row, err);

    if (!rc)
        thread_row_clear(&row);
    return rc;
}

/* A foreground response cannot be read before it has ended. A response in a conversation has the
 * variables of the conversation. */
static enum err_code response_scope(struct place *place, const char *id, struct err *err)
{
    struct run_row run;
    enum err_code rc = store_run_get(place->store, place->tenant, NULL, id, &run, err);

    if (rc)
        return rc;
    if (!(run.flags & RUN_BACKGROUND) && !run_status_is_final(run.status))
        rc = err_set(err, ERR_NOT_FOUND, "Response with id '%s' not found.", id);
    else
        (void)snprintf(place->scope, sizeof(place->scope), "%s",
                       *run.thread_id ? run.thread_id : run.id);
    run_row_clear(&run);
    return rc;
}

static enum err_code locate(const struct request *request, struct place *ret_place,
                            struct err *err)
{
    const char *thread = request_param(request, "thread");
    const char *conversation = request_param(request, "conversation");
    enum err_code rc;

    *ret_place = (struct place){.store = request_server(request)->store,
                                .tenant = request_tenant(request),
                                .name = request_param(request, "variable")};
    if (!*thread && !*conversation)
        return response_scope(ret_place, request_param(request, "response"), err);
    rc = *thread
             ? param_thread_id(thread, "thread_id", ret_place->scope, err)
             : param_conversation_id(conversation, "conversation_id", ret_place->scope, err);
    return rc ? rc : thread_scope(ret_place, err);
}

/* The place, and a check of the query: `query` names the parameters that are allowed. */
static enum err_code find_place(const struct request *request, const char *const *query,
                                struct place *ret_place, struct err *err)
{
    enum err_code rc = locate(request, ret_place, err);

    return rc ? rc : param_query_unknown(request, query, err);
}

static const char *const no_query[] = {NULL};

/* ---- Requests ---- */

/* A query parameter that is a whole number from 0 on. */
static enum err_code query_count(const struct request *request, const char *name,
                                 size_t *ret_number, struct err *err)
{
    const char *text = request_query(request, name);

    if (!text)
        return ERR_OK;
    if (!*text || strspn(text, "0123456789") != strlen(text) || strlen(text) > 15)
        return err_invalid(err, "invalid_value", name,
                           "Invalid '%s': '%.64s'. Expected a whole number from 0 on.", name,
                           text);
    *ret_number = (size_t)strtoull(text, NULL, 10);
    return ERR_OK;
}

static enum err_code query_type(const struct request *request, const char **ret_type,
                                struct err *err)
{
    const char *type = request_query(request, "type");
    enum variable_type parsed;

    if (type && !variable_type_parse(type, &parsed))
        return param_wrong_word(err, "type", type, variable_type_names);
    *ret_type = type;
    return ERR_OK;
}

/* Reads the change in a body. change->keep points to *keep if the body has that member, so *keep must
 * live as long as the change. */
static enum err_code read_change(const json_t *body, struct variable_change *change, bool *keep,
                                 struct err *err)
{
    enum err_code rc = variable_param_value(body, "", PARAM_OPTIONAL, &change->value, err);

    if (!rc)
        rc = param_string(body, "", "description", PARAM_OPTIONAL, VARIABLE_TEXT_LIMIT,
                          &change->description, err);
    if (!rc)
        rc = variable_param_tags(body, "", &change->tags, err);
    if (!rc)
        rc = param_bool(body, "", "keep", keep, err);
    if (!rc && !json_absent(json_object_get(body, "keep")))
        change->keep = keep;
    change->type = VARIABLE_USER_ADD;
    return rc;
}

/* ---- Objects ---- */

static json_t *encode_variable(const struct variable *variable)
{
    json_t *object = json_build("{s:s, s:s, s:s}", "id", variable->name, "object", "variable",
                                "name", variable->name);

    json_set_string(object, "type", variable_type_name(variable->type));
    json_set_string(object, "description", variable->description);
    json_set(object, "tags", variable->tags ? json_deep_copy(variable->tags) : json_array());
    json_set_bool(object, "keep", variable->keep);
    json_set_int(object, "length", variable->length);
    json_set_int(object, "bytes", variable->bytes);
    json_set_int(object, "reads", variable->reads);
    json_set(object, "created_at", encode_time(variable->created_at));
    json_set(object, "updated_at", encode_time(variable->updated_at));
    json_set(object, "visited_at", encode_time(variable->visited_at));
    return object;
}

static enum err_code answer_one(struct request *request, const struct place *place,
                                const char *name, size_t start, size_t length, struct err *err)
{
    AUTO_VARIABLE variable = {0};
    AUTO_FREE char *part = NULL;
    json_t *object;
    enum err_code rc = store_variable_get(place->store, place->tenant, place->scope, name,
                                          VARIABLE_LOOK, &variable, err);

    if (rc)
        return rc;
    part = variable_slice(variable.value, start, length);
    object = encode_variable(&variable);
    json_set_string(object, "value", part);
    request_answer(request, 200, object);
    return ERR_OK;
}

/* ---- Endpoints ---- */

static enum err_code read_query(const struct request *request, struct variable_query *query,
                                struct err *err)
{
    struct page page = {0};
    enum err_code rc =
        param_page_parse(request_query(request, "limit"), request_query(request, "order"), NULL,
                         NULL, &page, err);

    if (!rc)
        rc = query_type(request, &query->type, err);
    query->search = request_query(request, "search");
    query->tag = request_query(request, "tag");
    query->after = request_query(request, "after");
    query->limit = page.limit + 1;
    query->descending = !page.ascending;
    return rc;
}

enum err_code api_variable_list(struct request *request, struct err *err)
{
    static const char *const known[] = {"limit",  "order", "after", "type",
                                        "search", "tag",   NULL};
    struct variable_query query = {0};
    struct variable *variables = NULL;
    json_t *data;
    struct place place;
    size_t count = 0;
    int64_t total = 0;
    bool more;
    enum err_code rc = find_place(request, known, &place, err);

    if (!rc)
        rc = read_query(request, &query, err);
    if (!rc)
        rc = store_variable_list(place.store, place.tenant, place.scope, &query, &variables,
                                 &count, &total, err);
    if (rc)
        return rc;
    more = (int64_t)count == query.limit;
    data = json_array();
    for (size_t i = 0; i + more < count; i++)
        json_array_append_new(data, encode_variable(&variables[i]));
    variables_free(variables, count);
    request_answer(request, 200, encode_list(data, more));
    return ERR_OK;
}

enum err_code api_variable_create(struct request *request, struct err *err)
{
    static const char *const known[] = {"name", "value", "description", "tags", "keep", NULL};
    const json_t *body = request_json(request);
    struct variable_change change = {0};
    struct place place;
    bool keep = false, created;
    enum err_code rc = find_place(request, no_query, &place, err);

    if (!rc)
        rc = param_unknown_strict(body, "", known, err);
    if (!rc)
        rc = variable_param_name(body, "", &change.name, err);
    if (!rc)
        rc = read_change(body, &change, &keep, err);
    if (!rc && (!change.value || !*change.value))
        rc = param_missing(err, "value");
    if (!rc)
        rc = store_variable_put(place.store, place.tenant, place.scope, &change,
                                VARIABLE_CREATE, &created, err);
    return rc ? rc : answer_one(request, &place, change.name, 0, SIZE_MAX, err);
}

enum err_code api_variable_modify(struct request *request, struct err *err)
{
    static const char *const known[] = {"value", "description", "tags", "keep", NULL};
    const json_t *body = request_json(request);
    struct variable_change change = {0};
    struct place place;
    bool keep = false, created;
    enum err_code rc = find_place(request, no_query, &place, err);

    if (!rc)
        rc = param_unknown_strict(body, "", known, err);
    if (!rc)
        rc = read_change(body, &change, &keep, err);
    change.name = place.name;
    if (!rc)
        rc = store_variable_put(place.store, place.tenant, place.scope, &change,
                                VARIABLE_UPDATE, &created, err);
    return rc ? rc : answer_one(request, &place, place.name, 0, SIZE_MAX, err);
}

enum err_code api_variable_get(struct request *request, struct err *err)
{
    static const char *const known[] = {"start", "length", NULL};
    struct place place;
    size_t start = 0, length = SIZE_MAX;
    enum err_code rc = find_place(request, known, &place, err);

    if (!rc)
        rc = query_count(request, "start", &start, err);
    if (!rc)
        rc = query_count(request, "length", &length, err);
    return rc ? rc : answer_one(request, &place, place.name, start, length, err);
}

/* Why a variable was not removed: it does not exist (ERR_NOT_FOUND), or it is marked as kept. */
static enum err_code explain_kept(const struct place *place, struct err *err)
{
    AUTO_VARIABLE variable = {0};
    enum err_code rc = store_variable_get(place->store, place->tenant, place->scope,
                                          place->name, VARIABLE_LOOK, &variable, err);

    return rc ? rc
              : err_set(err, ERR_CONFLICT,
                        "Variable '%.128s' is kept: set 'keep' to false first.", place->name);
}

enum err_code api_variable_delete(struct request *request, struct err *err)
{
    json_auto_t *removed = NULL;
    struct place place;
    enum err_code rc = find_place(request, no_query, &place, err);

    if (!rc)
        rc = store_variables_remove(place.store, place.tenant, place.scope, &place.name, 1,
                                    NULL, &removed, err);
    if (!rc && json_array_size(removed) == 0)
        rc = explain_kept(&place, err);
    if (rc)
        return rc;
    request_answer(request, 200, encode_deleted(place.name, "variable.deleted"));
    return ERR_OK;
}

enum err_code api_variable_clear(struct request *request, struct err *err)
{
    static const char *const known[] = {"type", NULL};
    json_auto_t *removed = NULL;
    const char *type = NULL;
    struct place place;
    enum err_code rc = find_place(request, known, &place, err);

    if (!rc)
        rc = query_type(request, &type, err);
    if (!rc)
        rc = store_variables_remove(place.store, place.tenant, place.scope, NULL, 0, type,
                                    &removed, err);
    if (rc)
        return rc;
    request_answer(request, 200,
                   json_build("{s:s, s:i}", "object", "variables.deleted", "deleted",
                              (int)json_array_size(removed)));
    return ERR_OK;
}

enum err_code api_variable_stats(struct request *request, struct err *err)
{
    struct variable_stats stats;
    json_t *by_type;
    struct place place;
    int64_t total = 0;
    enum err_code rc = find_place(request, no_query, &place, err);

    if (!rc)
        rc = store_variable_stats(place.store, place.tenant, place.scope, &stats, err);
    if (rc)
        return rc;
    by_type = json_object();
    for (int i = VARIABLE_TOOL_CALL_RESULT; i < VARIABLE_TYPE_COUNT; i++) {
        json_set_int(by_type, variable_type_names[i], stats.count[i]);
        total += stats.count[i];
    }
    request_answer(request, 200,
                   json_build("{s:s, s:I, s:o, s:I, s:I}", "object", "variables.stats", "total",
                              (json_int_t)total, "by_type", by_type, "bytes",
                              (json_int_t)stats.bytes, "kept", (json_int_t)stats.kept));
    return ERR_OK;
}
