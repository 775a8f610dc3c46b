/*
 * Assistants: named settings for runs.
 *
 * An assistant is stored as one JSON body, in OpenAI's form. Its members are checked when they come
 * in (assistant_body.h) and are not interpreted again until a run takes its snapshot. So a new
 * parameter needs no column, and what a client reads is what it wrote.
 *
 * To modify an assistant is to replace members of that body, in one transaction of the store: two
 * clients that change different members do not undo each other's changes. Runs are not affected,
 * because a run has its own snapshot of the settings.
 */

#include "core/store/tables/assistants.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "server/api/api.h"
#include "server/api/file_refs.h"
#include "server/api/new_store.h"
#include "server/encode/encode.h"
#include "server/params/assistants/assistant_body.h"
#include "server/params/assistants/run_params.h"
#include "server/params/params.h"
#include "server/params/skill_params.h"
#include "server/server.h"

static enum err_code assistant_id(const struct request *request, const char **ret_id,
                                  struct err *err)
{
    *ret_id = request_param(request, "assistant");
    return param_id(*ret_id, "asst_", "assistant_id", err);
}

static enum err_code answer(struct request *request, struct assistant_row *row)
{
    request_answer(request, 200, encode_assistant(row));
    assistant_row_clear(row);
    return ERR_OK;
}

/* The form of the body, then the files and skills that it names: a wrong id is an error of this request and
 * not of each run. A skill may still be deleted later, and a run looks it up again. */
static enum err_code check(const struct request *request, struct err *err)
{
    const json_t *body = request_json(request);
    enum err_code rc = assistant_check(body, err);

    if (!rc)
        rc = file_refs_check_resources(request, body, "", err);
    return rc ? rc
              : skill_params_check_exist(request_server(request)->store,
                                         request_tenant(request), body, err);
}

enum err_code api_assistant_create(struct request *request, struct err *err)
{
    const json_t *body = request_json(request);
    struct assistant_row row = {.created_at = clock_wall_us()};
    CLEANUP(new_store_clear) struct new_store made = {0};
    json_auto_t *picked = NULL;
    const char *model;
    enum err_code rc;

    rc = param_string(body, "", "model", PARAM_REQUIRED, MODEL_NAME_LIMIT, &model, err);
    if (!rc)
        rc = check(request, err);
    if (!rc)
        rc = new_store_read(body, "", 0, &made, err);
    if (rc)
        return rc;

    picked = assistant_members(body);
    if (new_store_filling(&made))
        json_set(picked, "tool_resources",
                 new_store_resources(&made, json_object_get(picked, "tool_resources")));
    id_make(row.id, "asst_");
    row.body = json_text(picked);
    rc = store_assistant_create(request_server(request)->store, request_tenant(request), &row,
                                new_store_filling(&made), err);
    if (rc) {
        assistant_row_clear(&row);
        return rc;
    }
    return answer(request, &row);
}

enum err_code api_assistant_get(struct request *request, struct err *err)
{
    struct assistant_row row;
    const char *id;
    enum err_code rc = assistant_id(request, &id, err);

    if (!rc)
        rc = store_assistant_get(request_server(request)->store, request_tenant(request), id,
                                 &row, err);
    return rc ? rc : answer(request, &row);
}

enum err_code api_assistant_modify(struct request *request, struct err *err)
{
    const json_t *body = request_json(request);
    struct assistant_row row;
    json_auto_t *picked = NULL;
    AUTO_FREE char *changes = NULL;
    const char *id;
    enum err_code rc = assistant_id(request, &id, err);

    if (!rc)
        rc = check(request, err);
    if (!rc)
        rc = new_store_refuse(body, "", err);
    if (rc)
        return rc;

    picked = assistant_members(body);
    changes = json_text(picked);
    rc = store_assistant_modify(request_server(request)->store, request_tenant(request), id,
                                changes, &row, err);
    return rc ? rc : answer(request, &row);
}

enum err_code api_assistant_delete(struct request *request, struct err *err)
{
    const char *id;
    enum err_code rc = assistant_id(request, &id, err);

    if (!rc)
        rc = store_assistant_delete(request_server(request)->store, request_tenant(request), id,
                                    err);
    if (rc)
        return rc;
    request_answer(request, 200, encode_deleted(id, "assistant.deleted"));
    return ERR_OK;
}

enum err_code api_assistant_list(struct request *request, struct err *err)
{
    struct assistant_row *rows = NULL;
    struct page page;
    size_t count = 0;
    bool more;
    enum err_code rc = param_page(request, &page, err);

    if (!rc)
        rc = store_assistant_list(request_server(request)->store, request_tenant(request),
                                  &page, &rows, &count, &more, err);
    if (rc)
        return rc;

    answer_rows(request, rows, count, more, encode_assistant);
    assistant_rows_free(rows, count);
    return ERR_OK;
}
