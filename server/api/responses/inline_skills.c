/*
 * inline_skills.c -- a zip takes a child up to some seconds, so a reader does it, and no HTTP worker.
 */

#include "server/api/responses/inline_skills.h"

#include <stdlib.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "server/api/aside.h"
#include "server/params/container_skill_params.h"
#include "server/params/params.h"
#include "server/server.h"
#include "server/workers.h"

static json_t *skills_of(const json_t *tool)
{
    return json_object_get(json_object_get(tool, "environment"), "skills");
}

void inline_skills_drop_notes(json_t *body)
{
    size_t i;
    json_t *tool;

    json_array_foreach (json_object_get(body, "tools"), i, tool)
        container_skills_drop_notes(skills_of(tool));
}

bool inline_skills_packed(const json_t *body)
{
    size_t i;
    json_t *tool;

    json_array_foreach (json_object_get(body, "tools"), i, tool) {
        if (container_skills_packed(skills_of(tool)))
            return true;
    }
    return false;
}

struct unpacking {
    struct aside aside;
    endpoint_fn *endpoint;
    json_t *body;
};

static void unpacking_free(struct aside *aside)
{
    struct unpacking *unpacking = CONTAINER_OF(aside, struct unpacking, aside);

    json_decref(unpacking->body);
    free(unpacking);
}

static enum err_code resume(struct request *request, struct aside *aside, struct err *err)
{
    struct unpacking *unpacking = CONTAINER_OF(aside, struct unpacking, aside);

    request_put_json(request, TAKE(unpacking->body));
    return unpacking->endpoint(request, err);
}

static const struct aside_ops ops = {.resume = resume, .free = unpacking_free};

static enum err_code unpack_all(json_t *body, struct err *err)
{
    size_t i;
    json_t *tool;

    json_array_foreach (json_object_get(body, "tools"), i, tool) {
        struct param_path at = param_index("tools", i);
        struct param_path environment = param_key(at.text, "environment");
        struct param_path skills = param_key(environment.text, "skills");
        enum err_code rc = container_skills_unpack(skills_of(tool), skills.text, err);

        if (rc)
            return rc;
    }
    return ERR_OK;
}

static void run(struct work *work)
{
    struct unpacking *unpacking = CONTAINER_OF(work, struct unpacking, aside.work);

    aside_done(&unpacking->aside, unpack_all(unpacking->body, &unpacking->aside.err));
}

bool inline_skills_wait(struct request *request, endpoint_fn *endpoint)
{
    struct unpacking *unpacking;

    if (!inline_skills_packed(request_json(request)))
        return false;
    unpacking = mem_new(struct unpacking);
    *unpacking = (struct unpacking){
        .aside.work.run = run, .endpoint = endpoint, .body = request_take_json(request)};
    aside_begin(request, &unpacking->aside, &ops);
    workers_put(request_server(request)->readers, &unpacking->aside.work);
    return true;
}
