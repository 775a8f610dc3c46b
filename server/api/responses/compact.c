/*
 * POST /v1/responses/compact: a long context as a short one, which the client passes on as input.
 *
 * It is a response that is not stored and wants nothing but a compaction; its face shows it as the
 * object of this endpoint.
 */

#include "core/base/json.h"
#include "core/run/context/compaction.h"
#include "core/run/engine/engine.h"
#include "server/api/api.h"
#include "server/api/responses/response_create.h"
#include "server/params/responses/response_params.h"
#include "server/server.h"

/* The body as that of a response. New reference. */
static json_t *response_body(const json_t *body)
{
    json_t *all = json_object();

    for (const char *const *key = response_compact_param_keys; *key; key++) {
        json_t *value = json_object_get(body, *key);

        if (value)
            json_object_set(all, *key, value);
    }
    json_set_bool(all, "store", false);
    return all;
}

enum err_code api_response_compact(struct request *request, struct err *err)
{
    struct engine *engine = request_server(request)->engine;
    json_auto_t *body = response_body(request_json(request));
    struct response_create create = {
        .server = request_server(request),
        .tenant = request_tenant(request),
        .body = body,
        .compact = RUN_COMPACT_WINDOW,
        .idle = true,
    };
    struct run_start start = {0};
    enum err_code rc = response_compact_params_check(request_json(request), err);

    if (!rc)
        rc = response_create_prepare(&create, &start, err);
    if (rc)
        return rc;
    start.sink = request_wait(request, engine_loop(engine, start.load.run.id));
    engine_run(engine, &start);
    return ERR_OK;
}
