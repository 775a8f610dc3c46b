/*
 * POST /v1/responses/input_tokens: how many tokens a response with these parameters would send to its
 * model.
 *
 * The request to the model is built as for a response, by the same functions, and then counted instead
 * of sent. A count of the parameters by themselves would miss what the server adds: skills, rules of
 * tool groups, definitions of tools, a shortened history. Nothing is stored, no run is made, and no
 * upstream is contacted.
 *
 * The count is exact if the upstream has a tokenizer configured. Otherwise it is estimated from bytes.
 * It runs on an HTTP worker, where it may take its time.
 */

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/model/tokens/tokenizer.h"
#include "core/run/catalog/tool_set.h"
#include "core/run/catalog/unavailable.h"
#include "core/run/context/context.h"
#include "core/run/context/context_fit.h"
#include "core/run/context/context_request.h"
#include "core/run/context/past/past_text.h"
#include "server/api/api.h"
#include "server/api/input_files.h"
#include "server/api/responses/response_create.h"
#include "server/complaint.h"
#include "server/params/responses/response_params.h"
#include "server/params/skill_params.h"
#include "server/params/tool_settings_params.h"
#include "server/server.h"

/* The upstream of the model. A request without a model is counted for the upstream that takes any model;
 * *ret_upstream is NULL if there is no such upstream. */
static enum err_code find_upstream(const struct config *config, const json_t *body,
                                   const struct model_upstream **ret_upstream, struct err *err)
{
    const char *model = json_get_string(body, "model", "");

    *ret_upstream = model_upstream_find(config->upstreams, config->upstream_count, model);
    if (*ret_upstream || !*model)
        return ERR_OK;
    return err_invalid(err, "model_not_found", "model",
                       "The requested model '%s' does not exist.", model);
}

static int64_t count(const struct model_upstream *upstream, const struct tool_set *tools,
                     enum run_history history, struct run_load *load)
{
    const struct run_settings *settings = tools->settings;
    json_auto_t *asked = NULL;
    AUTO_FREE const struct item_row **items =
        mem_new_array(const struct item_row *, load->item_count + 1);
    const struct context context = {.upstream = upstream,
                                    .run_id = load->run.id,
                                    .settings = settings,
                                    .tools = tools,
                                    .compact = context_is_compact(settings, history)};
    size_t shown = load->item_count;

    long_messages_mark(load->items, load->item_count);
    for (size_t i = 0; i < shown; i++)
        items[i] = &load->items[i];
    context_fit(&context, items, &shown);
    asked =
        context_request(load->run.id, settings, tools, items, shown,
                        context_reasoning(upstream) | (context.compact ? CONTEXT_COMPACT : 0),
                        upstream ? upstream->name : NULL);
    return tokenizer_count_request(upstream ? upstream->tokenizer : NULL, asked);
}

/* The settings of the body, with its skills looked up, and with the tool settings of project and user. */
static enum err_code read_settings(struct request *request, struct run_settings *ret_settings,
                                   struct err *err)
{
    struct store *store = request_server(request)->store;
    const json_t *body = request_json(request);
    json_auto_t *skilled = NULL;
    enum err_code rc =
        skill_params_resolve(store, request_tenant(request), body, &skilled, err);

    if (rc)
        return rc;
    response_settings(skilled ? skilled : body, ret_settings);
    return tool_settings_apply(store, request_tenant(request), ret_settings, err);
}

enum err_code api_response_input_tokens(struct request *request, struct err *err)
{
    const json_t *body = request_json(request);
    json_t *list = json_object_get(body, "tools");
    CLEANUP(run_settings_clear) struct run_settings settings = {0};
    const struct model_upstream *upstream = NULL;
    struct tool_set tools = {0};
    struct run_load load = {0};
    struct past_text *past = NULL;
    int64_t position = 0;
    enum run_history history = (enum run_history)request_server(request)->config->history;
    enum err_code rc;

    if (input_files_wait(request, "input", api_response_input_tokens))
        return ERR_OK;
    rc = response_count_params_check(body, err);
    if (!rc)
        rc = find_upstream(request_server(request)->config, body, &upstream, err);
    if (!rc)
        rc = read_settings(request, &settings, err);
    if (!rc)
        rc = unavailable_tools_check(&settings, list, err);
    if (!rc)
        rc = tool_set_init(&tools, json_is_array(list) ? list : NULL, &settings, err);
    if (rc)
        return rc;
    rc = response_create_load(&(struct response_create){.server = request_server(request),
                                                        .tenant = request_tenant(request),
                                                        .body = body},
                              &settings, &load, &past, &position, err);
    past_text_release(past);
    tool_set_load_items(&tools, load.items, load.item_count);
    if (!rc)
        request_answer(request, 200,
                       json_build("{s:s, s:I}", "object", "response.input_tokens",
                                  "input_tokens",
                                  (json_int_t)count(upstream, &tools, history, &load)));
    run_load_clear(&load);
    tool_set_clear(&tools);
    return rc;
}
