/*
 * POST /v1/responses/compact: makes a long context short. The client sends the result as the input of
 * its next response.
 *
 * The endpoint is a response that is not stored and makes nothing but a compaction. So its context is
 * loaded, checked and counted like that of any response, and a model summarises it in a run, with the
 * limits, time-outs and masks of a run. Its face shows the run as the object of this endpoint. The
 * request is suspended until then.
 *
 * `idle` has the effect that the run executes no calls. Answers to approval requests in the input are
 * kept for the response that really continues.
 */

#include "core/base/json.h"
#include "core/run/context/compaction.h"
#include "core/run/engine/engine.h"
#include "server/api/api.h"
#include "server/api/input_files.h"
#include "server/api/responses/response_create.h"
#include "server/params/responses/response_params.h"
#include "server/server.h"

/* The members that a response shares with this endpoint, as the body of a response that is not stored.
 * New reference. */
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
    enum err_code rc;

    input_files_drop_notes(request_json(request), "input");
    rc = response_compact_params_check(request_json(request), err);
    if (!rc)
        rc = response_create_prepare(&create, &start, err);
    if (rc)
        return rc;
    start.sink = request_wait(request, engine_loop(engine, start.load.run.id));
    engine_run(engine, &start);
    return ERR_OK;
}
