/*
 * Skills: instructions for one kind of task. A client uploads a skill once and attaches it to runs; the
 * model reads it when it needs it. A request names skills as `runnel.skills` (skill_params.h).
 *
 * The objects and paths are those of OpenAI's API. A version never changes, so that what a run has read stays true. The
 * first one comes with the skill; skill_versions.c has the others.
 *
 * A skill comes as a form with files, which is what OpenAI's SDKs send, or as JSON with the text of a
 * SKILL.md alone, which is easier to send by hand.
 */

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/store/tables/skills.h"
#include "server/api/api.h"
#include "server/api/responses/skill_body.h"
#include "server/encode/encode.h"
#include "server/encode/encode_field.h"
#include "server/params/params.h"
#include "server/server.h"

static json_t *encode_skill(const struct skill_row *row)
{
    json_t *object = encode_new(row->id, "skill", row->created_at);

    json_set_string(object, "name", row->name);
    json_set_string(object, "description", row->description);
    skill_set_number(object, "default_version", row->default_version);
    skill_set_number(object, "latest_version", row->latest_version);
    return object;
}

/* ---- Endpoints ---- */

static enum err_code create(struct skill_job *job, struct err *err)
{
    CLEANUP(skill_row_clear)
    struct skill_row row = {
        .created_at = clock_wall_us(), .default_version = 1, .latest_version = 1};
    char version_id[ID_SIZE];
    enum err_code rc = skill_body_read(job, &row, NULL, err);

    if (rc)
        return rc;
    id_make(row.id, "skill_");
    id_make(version_id, "skillver_");
    rc = store_skill_create(job->server->store, &job->tenant, &row, version_id, err);
    if (!rc)
        job->answer = encode_skill(&row);
    return rc;
}

enum err_code api_skill_create(struct request *request, struct err *err)
{
    (void)err;
    skill_job_begin(request, "", 0, create);
    return ERR_OK;
}

enum err_code api_skill_list(struct request *request, struct err *err)
{
    struct skill_row *rows = NULL;
    struct page page;
    size_t count = 0;
    bool more = false;
    enum err_code rc = param_page(request, &page, err);

    if (!rc)
        rc = store_skill_list(request_server(request)->store, request_tenant(request), &page,
                              &rows, &count, &more, err);
    if (rc)
        return rc;
    answer_rows(request, rows, count, more, encode_skill);
    skill_rows_free(rows, count);
    return ERR_OK;
}

static enum err_code load(struct request *request, struct skill_row *ret_row, struct err *err)
{
    const char *id;
    enum err_code rc = skill_id_read(request, &id, err);

    return rc ? rc
              : store_skill_get(request_server(request)->store, request_tenant(request), id,
                                ret_row, err);
}

enum err_code api_skill_get(struct request *request, struct err *err)
{
    CLEANUP(skill_row_clear) struct skill_row row = {0};
    enum err_code rc = load(request, &row, err);

    if (!rc)
        request_answer(request, 200, encode_skill(&row));
    return rc;
}

enum err_code api_skill_update(struct request *request, struct err *err)
{
    static const char *const known[] = {"default_version", NULL};
    CLEANUP(skill_row_clear) struct skill_row row = {0};
    const json_t *body = request_json(request);
    int64_t version = 0;
    const char *id;
    enum err_code rc = skill_id_read(request, &id, err);

    rc = rc ? rc : param_unknown(body, "", known, err);
    rc = rc ? rc
            : skill_number_read(json_object_get(body, "default_version"), "default_version",
                                &version, err);
    rc = rc ? rc
            : store_skill_set_default(request_server(request)->store, request_tenant(request),
                                      id, version, err);
    rc = rc ? rc : load(request, &row, err);
    if (!rc)
        request_answer(request, 200, encode_skill(&row));
    return rc;
}

enum err_code api_skill_delete(struct request *request, struct err *err)
{
    const char *id;
    enum err_code rc = skill_id_read(request, &id, err);

    if (!rc)
        rc = store_skill_delete(request_server(request)->store, request_tenant(request), id,
                                err);
    if (!rc)
        request_answer(request, 200, encode_deleted(id, "skill.deleted"));
    return rc;
}
