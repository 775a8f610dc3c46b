/*
 * Skills: instructions for one kind of task. A client uploads a skill once and attaches it to runs; the
 * model reads it when it needs it. A request names skills as `runnel.skills` (skill_params.h).
 *
 * The objects and paths are those of OpenAI's API, where a skill has versions. Here a skill never
 * changes, so that what a run has read stays true, and its version is always "1". A change is a new
 * skill.
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
#include "server/encode/encode.h"
#include "server/encode/encode_field.h"
#include "server/params/params.h"
#include "server/params/skill_file.h"
#include "server/params/skill_upload.h"
#include "server/server.h"

static json_t *encode_skill(const struct skill_row *row)
{
    json_t *object = encode_new(row->id, "skill", row->created_at);

    json_set_string(object, "name", row->name);
    json_set_string(object, "description", row->description);
    json_set_string(object, "default_version", "1");
    json_set_string(object, "latest_version", "1");
    return object;
}

static enum err_code skill_id(const struct request *request, const char **ret_id,
                              struct err *err)
{
    *ret_id = request_param(request, "skill");
    return param_id(*ret_id, "skill_", "skill_id", err);
}

/* ---- Endpoints ---- */

static enum err_code read_content(const json_t *body, struct skill_row *row, struct err *err)
{
    static const char *const known[] = {"content", NULL};
    const char *content = NULL;
    enum err_code rc = param_unknown(body, "", known, err);

    if (!rc)
        rc = param_string(body, "", "content", PARAM_REQUIRED, SKILL_FILE_LIMIT, &content, err);
    return rc ? rc : skill_file_parse(content, "content", row, err);
}

enum err_code api_skill_create(struct request *request, struct err *err)
{
    CLEANUP(skill_row_clear) struct skill_row row = {.created_at = clock_wall_us()};
    const struct form *form = request_form(request);
    enum err_code rc = form ? skill_upload_read(form, &row, err)
                            : read_content(request_json(request), &row, err);

    if (rc)
        return rc;
    id_make(row.id, "skill_");
    rc = store_skill_create(request_server(request)->store, request_tenant(request), &row, err);
    if (!rc)
        request_answer(request, 200, encode_skill(&row));
    return rc;
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
    enum err_code rc = skill_id(request, &id, err);

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

enum err_code api_skill_content(struct request *request, struct err *err)
{
    CLEANUP(skill_row_clear) struct skill_row row = {0};
    enum err_code rc = load(request, &row, err);
    size_t length;

    if (rc)
        return rc;
    length = strlen(row.content);
    request_answer_bytes(request, 200, "text/markdown; charset=utf-8", TAKE(row.content),
                         length);
    return ERR_OK;
}

enum err_code api_skill_delete(struct request *request, struct err *err)
{
    const char *id;
    enum err_code rc = skill_id(request, &id, err);

    if (!rc)
        rc = store_skill_delete(request_server(request)->store, request_tenant(request), id,
                                err);
    if (!rc)
        request_answer(request, 200, encode_deleted(id, "skill.deleted"));
    return rc;
}
