/*
 * Scripts: modules in Python whose functions are tools. An extension.
 *
 * A script has a name, under which it is put again; its id stays. It is parsed when it comes (script_parse.h), on a
 * file worker, because that starts a box. A run executes the copy that it took when it was accepted.
 */

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/sha256.h"
#include "core/store/tables/scripts.h"
#include "server/api/api.h"
#include "server/api/aside.h"
#include "server/complaint.h"
#include "server/encode/encode.h"
#include "server/encode/encode_field.h"
#include "server/params/params.h"
#include "server/scripts/script_parse.h"
#include "server/server.h"
#include "server/workers.h"

/* ---- Objects ---- */

static json_t *encode_script(const struct script_row *row)
{
    json_t *object = encode_new(row->id, "runnel.script", row->created_at);
    json_auto_t *definition = json_parse_own(row->definition);

    json_set(object, "updated_at", json_integer(row->updated_at / 1000000));
    json_set_string(object, "name", row->name);
    json_set_string(object, "hash", row->hash);
    json_object_update(object, definition);
    if (row->source)
        json_set_string(object, "source", row->source);
    return object;
}

static enum err_code script_id(const struct request *request, const char **ret_id,
                               struct err *err)
{
    *ret_id = request_param(request, "script");
    return param_id(*ret_id, "script_", "script_id", err);
}

/* ---- Making one ---- */

struct script_job {
    struct aside aside;
    struct server *server;
    struct tenant tenant;
    struct script_row row;
    json_t *answer;
};

static enum err_code make(struct script_job *job, struct err *err)
{
    json_auto_t *definition = NULL;
    enum err_code rc = script_source_parse(job->server, job->row.source, &definition, err);

    if (rc)
        return rc;
    job->row.definition = json_text(definition);
    rc = store_script_put(job->server->store, &job->tenant, &job->row, err);
    if (!rc)
        job->answer = encode_script(&job->row);
    return rc;
}

static void run(struct work *work)
{
    struct script_job *job = CONTAINER_OF(work, struct script_job, aside.work);

    aside_done(&job->aside, make(job, &job->aside.err));
}

static enum err_code resume(struct request *request, struct aside *aside, struct err *err)
{
    struct script_job *job = CONTAINER_OF(aside, struct script_job, aside);

    (void)err;
    request_answer(request, 200, TAKE(job->answer));
    return ERR_OK;
}

static void job_free(struct aside *aside)
{
    struct script_job *job = CONTAINER_OF(aside, struct script_job, aside);

    script_row_clear(&job->row);
    json_decref(job->answer);
    free(job);
}

static const struct aside_ops aside_ops = {.resume = resume, .free = job_free};

/* The name may be that of a file: "weather.py". */
static enum err_code read_name(const json_t *body, char **ret_name, struct err *err)
{
    const char *name = NULL;
    AUTO_FREE char *stem = NULL;
    size_t length;
    enum err_code rc =
        param_string(body, "", "name", PARAM_REQUIRED, SCRIPT_NAME_LIMIT, &name, err);

    if (rc)
        return rc;
    length = strlen(name);
    if (length > 4 && strcmp(name + length - 4, ".ps1") == 0)
        return err_invalid(err, "unsupported_value", "name",
                           "Unsupported value: 'name' is that of a PowerShell script, and this "
                           "server executes Python only.");
    stem = mem_strndup(name, length > 3 && strcmp(name + length - 3, ".py") == 0 ? length - 3
                                                                                 : length);
    if (!*stem || *stem == '_' ||
        stem[strspn(stem, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")])
        return err_invalid(
            err, "invalid_value", "name",
            "Invalid 'name': expected letters, digits, '_' and '-', and no '_' at "
            "the beginning.");
    *ret_name = TAKE(stem);
    return ERR_OK;
}

static enum err_code read_script(const json_t *body, struct script_row *row, struct err *err)
{
    static const char *const known[] = {"name", "source", NULL};
    uint8_t digest[SHA256_DIGEST_SIZE];
    AUTO_BUF hash = {0};
    const char *source = NULL;
    enum err_code rc = param_unknown(body, "", known, err);

    rc = rc ? rc : read_name(body, &row->name, err);
    rc = rc ? rc
            : param_string(body, "", "source", PARAM_REQUIRED, SCRIPT_SOURCE_LIMIT, &source,
                           err);
    if (!rc && strlen(source) > SCRIPT_SOURCE_LIMIT)
        rc = err_invalid(err, "string_above_max_length", "source",
                         "Invalid 'source': too large. Expected at most %zu bytes.",
                         SCRIPT_SOURCE_LIMIT);
    if (rc)
        return rc;
    sha256_text(source, digest);
    for (size_t i = 0; i < sizeof(digest); i++)
        buf_addf(&hash, "%02x", digest[i]);
    row->source = mem_strdup(source);
    row->hash = buf_take(&hash);
    row->created_at = clock_wall_us();
    id_make(row->id, "script_");
    return ERR_OK;
}

enum err_code api_script_put(struct request *request, struct err *err)
{
    struct script_row row = {.created_at = 0};
    struct script_job *job;
    enum err_code rc = read_script(request_json(request), &row, err);

    if (rc) {
        script_row_clear(&row);
        return rc;
    }
    job = mem_new(struct script_job);
    job->server = request_server(request);
    job->tenant = tenant_kept(request_tenant(request));
    job->row = row;
    job->aside.work.run = run;
    aside_begin(request, &job->aside, &aside_ops);
    workers_put(job->server->script_workers, &job->aside.work);
    return ERR_OK;
}

/* ---- The others ---- */

enum err_code api_script_list(struct request *request, struct err *err)
{
    struct script_row *rows = NULL;
    struct page page;
    size_t count = 0;
    bool more = false;
    enum err_code rc = param_page(request, &page, err);

    if (!rc)
        rc = store_script_list(request_server(request)->store, request_tenant(request), &page,
                               &rows, &count, &more, err);
    if (rc)
        return rc;
    answer_rows(request, rows, count, more, encode_script);
    script_rows_free(rows, count);
    return ERR_OK;
}

enum err_code api_script_get(struct request *request, struct err *err)
{
    CLEANUP(script_row_clear) struct script_row row = {.created_at = 0};
    const char *id;
    enum err_code rc = script_id(request, &id, err);

    if (!rc)
        rc = store_script_get(request_server(request)->store, request_tenant(request), id, &row,
                              err);
    if (!rc)
        request_answer(request, 200, encode_script(&row));
    return rc;
}

enum err_code api_script_delete(struct request *request, struct err *err)
{
    const char *id;
    enum err_code rc = script_id(request, &id, err);

    if (!rc)
        rc = store_script_delete(request_server(request)->store, request_tenant(request), id,
                                 err);
    if (!rc)
        request_answer(request, 200, encode_deleted(id, "runnel.script.deleted"));
    return rc;
}
