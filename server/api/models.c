/*
 * api/models.c -- GET /v1/models: the models of all upstreams, as one list.
 *
 * The server has no list of its own. Each request queries GET /models of every upstream at the same
 * time, on a loop, while the client's request is suspended. When the last upstream has answered,
 * failed or run out of time, the lists are merged:
 *
 *   an upstream that answered     the models of its list
 *   one that did not, or has no   the names in its configuration, except patterns
 *   such endpoint
 *
 * A model is listed only if a run with that name would use this very upstream. Two upstreams may
 * both list "gpt-4o", and the configuration routes that name to one of them.
 *
 * The result is not cached. Clients ask seldom, upstreams answer fast, and a cache would show a
 * model that was just removed. A slow upstream delays the answer by LIST_PATIENCE_NS at most.
 *
 * GET /v1/models/NAME makes the same queries and picks one model, so the two endpoints agree.
 */

#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/model/model.h"
#include "core/net/http_client.h"
#include "core/run/engine/engine.h"
#include "server/api/api.h"
#include "server/api/upstream_call.h"
#include "server/server.h"

#define LIST_LIMIT       ((size_t)4 << 20) /* bytes of one upstream's list */
#define LIST_PATIENCE_NS (5 * NS_PER_SECOND)

struct models_query;

struct model_list { /* of one upstream */
    struct models_query *query;
    const struct model_upstream *upstream;
    struct http_call *call;
    int status; /* of its answer; 0: there is no list to be used */
    struct buf body;
};

/* One request of a client. The worker makes it; from its first task on it is the loop's. */
struct models_query {
    struct loop_task task;
    struct loop *loop;
    struct sink *sink;
    const struct config *config;
    char *wanted; /* NULL: all of them */
    struct model_list *lists;
    size_t waiting; /* upstreams that have not answered yet */
};

static json_t *model_object(const char *id, json_int_t created, const char *owner)
{
    json_t *object = json_object();

    json_set_string(object, "id", id);
    json_set_string(object, "object", "model");
    json_set_int(object, "created", created);
    json_set_string(object, "owned_by", owner);
    return object;
}

/* Adds a model once, and only if requests for it go to this upstream. */
static void add_model(const struct model_list *list, json_t *models, const char *id,
                      json_int_t created, const char *owner)
{
    const struct config *config = list->query->config;
    size_t i;
    json_t *other;

    if (!id ||
        model_upstream_find(config->upstreams, config->upstream_count, id) != list->upstream)
        return;
    json_array_foreach (models, i, other)
        if (strcmp(json_get_string(other, "id", ""), id) == 0)
            return;
    json_array_append_new(models, model_object(id, created, owner));
}

static bool add_answered(const struct model_list *list, json_t *models)
{
    json_auto_t *answer = NULL;
    json_t *data;
    json_t *model;
    size_t i;

    if (list->status != 200 ||
        json_parse(list->body.data ? list->body.data : "", list->body.length, &answer, NULL))
        return false;
    data = json_object_get(answer, "data");
    if (!json_is_array(data))
        return false;
    json_array_foreach (data, i, model)
        add_model(list, models, json_get_string(model, "id", NULL),
                  json_get_int(model, "created", 0),
                  json_get_string(model, "owned_by", list->upstream->name));
    return true;
}

static void add_configured(const struct model_list *list, json_t *models)
{
    for (const char *const *pattern = list->upstream->models; *pattern; pattern++)
        if (!strchr(*pattern, '*'))
            add_model(list, models, *pattern, 0, list->upstream->name);
}

static json_t *all_models(struct models_query *query)
{
    json_t *models = json_array();

    for (size_t i = 0; i < query->config->upstream_count; i++)
        if (!add_answered(&query->lists[i], models))
            add_configured(&query->lists[i], models);
    return models;
}

/* ---- The answer ---- */

static json_t *not_found(const char *id)
{
    AUTO_FREE char *text = mem_printf("The model '%s' does not exist.", id);

    return json_build("{s:{s:s, s:s, s:s, s:s}}", "error", "message", text, "type",
                      "invalid_request_error", "param", "model", "code", "model_not_found");
}

/* Takes the object. */
static void answer_with(const struct models_query *query, int status, json_t *object)
{
    query->sink->ops->answer(query->sink,
                             &(struct sink_answer){.status = status, .object = object});
}

static void answer(struct models_query *query)
{
    json_auto_t *models = all_models(query);
    size_t i;
    json_t *model;

    if (!query->wanted) {
        answer_with(query, 200, json_build("{s:s, s:O}", "object", "list", "data", models));
        return;
    }
    json_array_foreach (models, i, model) {
        if (strcmp(json_get_string(model, "id", ""), query->wanted) == 0) {
            answer_with(query, 200, json_incref(model));
            return;
        }
    }
    answer_with(query, 404, not_found(query->wanted));
}

static void free_query(struct models_query *query)
{
    for (size_t i = 0; i < query->config->upstream_count; i++)
        buf_clear(&query->lists[i].body);
    free(query->lists);
    free(query->wanted);
    free(query);
}

static void end_query(struct models_query *query)
{
    query->sink->ops->close(query->sink);
    free_query(query);
}

static void list_is_done(struct models_query *query)
{
    if (--query->waiting)
        return;
    answer(query);
    end_query(query);
}

/* ---- The upstreams ---- */

static void on_head(void *arg, const struct http_head *head)
{
    struct model_list *list = arg;

    list->status = head->status;
}

static void on_data(void *arg, const char *bytes, size_t size)
{
    struct model_list *list = arg;

    if (list->body.length + size <= LIST_LIMIT)
        buf_add(&list->body, bytes, size);
    else
        list->status = 0; /* half a list is not JSON */
}

static void on_done(void *arg, enum err_code rc, const struct err *error)
{
    struct model_list *list = arg;

    (void)error;
    list->call = NULL;
    if (rc)
        list->status = 0;
    list_is_done(list->query);
}

static void client_gone(struct sink *sink, void *arg)
{
    struct models_query *query = arg;

    (void)sink;
    for (size_t i = 0; i < query->config->upstream_count; i++)
        if (query->lists[i].call)
            http_call_cancel(query->lists[i].call);
    end_query(query);
}

static void start_list(struct model_list *list)
{
    struct upstream_call call = {
        .upstream = list->upstream,
        .method = "GET",
        .path = "/models",
        .timeouts = list->upstream->timeouts,
        .on_head = on_head,
        .on_data = on_data,
        .on_done = on_done,
        .arg = list,
    };

    if (call.timeouts.total > LIST_PATIENCE_NS)
        call.timeouts.total = LIST_PATIENCE_NS;
    list->call = upstream_call_start(list->query->loop, &call);
}

static void start_query(struct loop_task *task)
{
    struct models_query *query = CONTAINER_OF(task, struct models_query, task);

    query->sink->gone = client_gone;
    query->sink->gone_arg = query;
    query->waiting = query->config->upstream_count + 1;
    for (size_t i = 0; i < query->config->upstream_count; i++) {
        query->lists[i].query = query;
        query->lists[i].upstream = &query->config->upstreams[i];
        start_list(&query->lists[i]);
    }
    list_is_done(query);
}

static enum err_code query_models(struct request *request, const char *wanted)
{
    struct server *server = request_server(request);
    struct models_query *query = mem_new(struct models_query);

    query->task.run = start_query;
    query->loop = engine_any_loop(server->engine);
    query->config = server->config;
    query->wanted = mem_strdup(wanted);
    query->lists = mem_new_array(struct model_list, server->config->upstream_count + 1);
    query->sink = request_wait(request, query->loop);
    loop_post(query->loop, &query->task);
    return ERR_OK;
}

enum err_code api_model_list(struct request *request, struct err *err)
{
    (void)err;
    return query_models(request, NULL);
}

enum err_code api_model_get(struct request *request, struct err *err)
{
    (void)err;
    return query_models(request, request_param(request, "model"));
}
