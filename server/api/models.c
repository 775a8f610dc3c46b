/*
 * api/models.c -- which models there are: what the upstreams say when asked.
 *
 * All are asked at once, on a loop. One that does not answer in time, or has no such list,
 * stands for the names that the configuration gives it.
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

struct models_ask;

struct model_list { /* of one upstream */
    struct models_ask *ask;
    const struct model_upstream *upstream;
    struct http_call *call;
    int status;
    struct buf body;
};

/* The loop's from its first task on. */
struct models_ask {
    struct loop_task task;
    struct loop *loop;
    struct sink *sink;
    const struct config *config;
    char *wanted; /* NULL: all of them */
    struct model_list *lists;
    size_t waiting; /* upstreams that have not answered */
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

/* Each model once, and only where it would really be served from. */
static void add_model(const struct model_list *list, json_t *models, const char *id,
                      json_int_t created, const char *owner)
{
    const struct config *config = list->ask->config;
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

static json_t *all_models(struct models_ask *ask)
{
    json_t *models = json_array();

    for (size_t i = 0; i < ask->config->upstream_count; i++)
        if (!add_answered(&ask->lists[i], models))
            add_configured(&ask->lists[i], models);
    return models;
}

/* ---- The answer ---- */

static json_t *not_found(const char *id)
{
    AUTO_FREE char *text = mem_printf("The model '%s' does not exist.", id);

    return json_build("{s:{s:s, s:s, s:s, s:s}}", "error", "message", text, "type",
                      "invalid_request_error", "param", "model", "code", "model_not_found");
}

static void answer(struct models_ask *ask)
{
    json_auto_t *models = all_models(ask);
    size_t i;
    json_t *model;

    if (!ask->wanted) {
        ask->sink->ops->answer(ask->sink, 200,
                               json_build("{s:s, s:O}", "object", "list", "data", models));
        return;
    }
    json_array_foreach (models, i, model) {
        if (strcmp(json_get_string(model, "id", ""), ask->wanted) == 0) {
            ask->sink->ops->answer(ask->sink, 200, json_incref(model));
            return;
        }
    }
    ask->sink->ops->answer(ask->sink, 404, not_found(ask->wanted));
}

static void free_ask(struct models_ask *ask)
{
    for (size_t i = 0; i < ask->config->upstream_count; i++)
        buf_clear(&ask->lists[i].body);
    free(ask->lists);
    free(ask->wanted);
    free(ask);
}

static void end_ask(struct models_ask *ask)
{
    ask->sink->ops->close(ask->sink);
    free_ask(ask);
}

static void one_less(struct models_ask *ask)
{
    if (--ask->waiting)
        return;
    answer(ask);
    end_ask(ask);
}

/* ---- Asking ---- */

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
        list->status = 0;
}

static void on_done(void *arg, enum err_code rc, const struct err *error)
{
    struct model_list *list = arg;

    (void)error;
    list->call = NULL;
    if (rc)
        list->status = 0;
    one_less(list->ask);
}

static void client_gone(struct sink *sink, void *arg)
{
    struct models_ask *ask = arg;

    (void)sink;
    for (size_t i = 0; i < ask->config->upstream_count; i++)
        if (ask->lists[i].call)
            http_call_cancel(ask->lists[i].call);
    end_ask(ask);
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
    list->call = upstream_call_start(list->ask->loop, &call);
}

static void start_ask(struct loop_task *task)
{
    struct models_ask *ask = CONTAINER_OF(task, struct models_ask, task);

    ask->sink->gone = client_gone;
    ask->sink->gone_arg = ask;
    ask->waiting = ask->config->upstream_count + 1;
    for (size_t i = 0; i < ask->config->upstream_count; i++) {
        ask->lists[i].ask = ask;
        ask->lists[i].upstream = &ask->config->upstreams[i];
        start_list(&ask->lists[i]);
    }
    one_less(ask);
}

static enum err_code ask_models(struct request *request, const char *wanted)
{
    struct server *server = request_server(request);
    struct models_ask *ask = mem_new(struct models_ask);

    ask->task.run = start_ask;
    ask->loop = engine_any_loop(server->engine);
    ask->config = server->config;
    ask->wanted = mem_strdup(wanted);
    ask->lists = mem_new_array(struct model_list, server->config->upstream_count + 1);
    ask->sink = request_wait(request, ask->loop);
    loop_post(ask->loop, &ask->task);
    return ERR_OK;
}

enum err_code api_model_list(struct request *request, struct err *err)
{
    (void)err;
    return ask_models(request, NULL);
}

enum err_code api_model_get(struct request *request, struct err *err)
{
    (void)err;
    return ask_models(request, request_param(request, "model"));
}
