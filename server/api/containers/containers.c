/*
 * Containers: made, listed, looked at, deleted.
 *
 * They are files and rows, so all of this works also where the sandbox cannot confine commands.
 */

#include "core/container/containers.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/store/tables/containers/container_skills.h"
#include "core/store/tables/containers/containers.h"
#include "core/store/tables/files/files.h"
#include "server/api/api.h"
#include "server/api/containers/container_job.h"
#include "server/api/request_key.h"
#include "server/complaint.h"
#include "server/encode/encode.h"
#include "server/params/container_params.h"
#include "server/params/container_skill_params.h"
#include "server/params/params.h"
#include "server/sandbox/sandboxes.h"
#include "server/server.h"

#define NAME_LIMIT   512 /* characters */
#define IDLE_SECONDS 1200

/* ---- Making ---- */

static enum err_code read_idle(const json_t *body, const struct config *config,
                               int64_t *ret_seconds, struct err *err)
{
    static const char *const keys[] = {"anchor", "minutes", NULL};
    static const char *const anchors[] = {"last_active_at", NULL};
    int64_t most = (int64_t)config->sandbox_idle;
    json_t *expiry = NULL;
    const char *anchor;
    json_int_t minutes = 0;
    enum err_code rc = param_object(body, "", "expires_after", PARAM_OPTIONAL, &expiry, err);

    *ret_seconds = most < IDLE_SECONDS ? most : IDLE_SECONDS;
    if (rc || !expiry)
        return rc;
    rc = param_unknown(expiry, "expires_after", keys, err);
    if (!rc)
        rc = param_enum(expiry, "expires_after", "anchor", PARAM_REQUIRED, anchors, &anchor,
                        err);
    if (!rc)
        rc = param_int(expiry, "expires_after", "minutes", 1, (most + 59) / 60, &minutes, err);
    if (!rc && !minutes)
        rc = param_missing(err, "expires_after.minutes");
    if (!rc)
        *ret_seconds = minutes * 60 < most ? minutes * 60 : most;
    return rc;
}

static enum err_code read_body(const json_t *body, const struct config *config,
                               struct container_row *row, struct err *err)
{
    static const char *const keys[] = {
        "name", "expires_after", "file_ids", "memory_limit", "network_policy", "skills", NULL};
    const char *name;
    int gib = CONTAINER_GIB;
    enum err_code rc = param_unknown(body, "", keys, err);

    if (!rc)
        rc = param_string(body, "", "name", PARAM_REQUIRED, NAME_LIMIT, &name, err);
    if (!rc)
        rc = read_idle(body, config, &row->idle_seconds, err);
    if (!rc)
        rc = container_params_check(body, "", &gib, err);
    if (!rc)
        rc = container_memory_check(body, "", sandboxes_largest(config), err);
    if (!rc)
        rc = container_network_check(body, "", config->sandbox_domains, err);
    if (!rc)
        rc = container_skills_check(body, "", err);
    if (rc)
        return rc;
    id_make(row->id, "cntr_");
    row->name = mem_strdup(name);
    row->memory_gib = gib;
    row->domains = container_domains(body);
    return ERR_OK;
}

/* All of them, or the container goes again. */
static enum err_code put_files(struct container_job *job, struct err *err)
{
    struct container *container;
    size_t i;
    json_t *id;
    enum err_code rc = container_take(job->server, &job->tenant, job->row.id, &container, err);

    if (rc)
        return rc;
    json_array_foreach (job->file_ids, i, id) {
        CLEANUP(container_file_row_clear) struct container_file_row row = {0};

        rc = container_put_file(container, json_string_value(id), &row, err);
        if (rc)
            break;
    }
    container_release(container);
    return rc;
}

/* The rows; the first call makes the folders. */
static enum err_code add_skills(struct container_job *job, const struct container_skill *skills,
                                size_t count, struct err *err)
{
    struct err why = {0};
    enum err_code rc = containers_add_skills(job->server->containers, &job->tenant, job->row.id,
                                             skills, count, &why);

    if (rc == ERR_LIMIT)
        return err_invalid(err, "invalid_value", "skills", "Invalid 'skills': %s", why.text);
    if (rc)
        *err = why;
    return rc;
}

static enum err_code make(struct container_job *job, const struct container_skill *skills,
                          size_t count, struct err *err)
{
    char id[ID_SIZE];
    enum err_code rc;

    memcpy(id, job->row.id, sizeof(id));
    rc = containers_create(job->server->containers, &job->tenant, &job->idempotency, &job->row,
                           err);
    if (rc)
        return rc;
    if (strcmp(id, job->row.id) == 0) {
        rc = add_skills(job, skills, count, err);
        rc = rc ? rc : put_files(job, err);
    }
    if (rc) {
        containers_undo(job->server->containers, &job->tenant, id);
        return rc;
    }
    job->answer = encode_container(&job->row);
    return ERR_OK;
}

static enum err_code create(struct container_job *job, struct err *err)
{
    struct container_skill skills[CONTAINER_SKILLS_LIMIT] = {0};
    size_t count = 0;
    enum err_code rc = container_skills_unpack(job->skills, "skills", err);

    rc = rc ? rc
            : container_skills_resolve(job->server->store, &job->tenant, job->skills, "skills",
                                       skills, &count, err);
    rc = rc ? rc : make(job, skills, count, err);
    container_skills_clear(skills, CONTAINER_SKILLS_LIMIT);
    return rc;
}

/* Before anything is made. */
static enum err_code check_files(struct container_job *job, struct err *err)
{
    size_t count = json_array_size(job->file_ids), missing;
    AUTO_FREE const char **ids = mem_new_array(const char *, count + 1);
    bool any = false;
    enum err_code rc;

    for (size_t i = 0; i < count; i++)
        ids[i] = json_string_value(json_array_get(job->file_ids, i));
    rc = store_files_missing(job->server->store, &job->tenant, ids, count, &any, &missing, err);
    if (rc || !any)
        return rc;
    return err_refuse(err, ERR_NOT_FOUND, REASON_UNSET, param_index("file_ids", missing).text,
                      "No such File object: %.64s", ids[missing]);
}

static enum err_code find_key(struct request *request, struct container_job *job,
                              struct err *err)
{
    enum err_code rc = request_key(request, &job->idempotency, err);

    if (rc)
        return rc;
    /* The request may go before the key is used. */
    memcpy(job->key, job->idempotency.key, strlen(job->idempotency.key) + 1);
    job->idempotency.key = job->key;
    return ERR_OK;
}

enum err_code api_container_create(struct request *request, struct err *err)
{
    const json_t *body = request_json(request);
    struct container_job *job;
    enum err_code rc = containers_present(request, err);

    if (rc)
        return rc;
    job = container_job_new(request, create);
    rc = read_body(body, job->server->config, &job->row, err);
    if (!rc)
        rc = find_key(request, job, err);
    if (!rc)
        job->file_ids = json_deep_copy(json_object_get(body, "file_ids"));
    if (!rc)
        job->skills = json_deep_copy(json_object_get(body, "skills"));
    container_skills_drop_notes(job->skills);
    if (!rc && json_array_size(job->file_ids))
        rc = check_files(job, err);
    if (rc) {
        container_job_free(job);
        return rc;
    }
    container_job_begin(request, job);
    return ERR_OK;
}

/* ---- Looking ---- */

enum err_code api_container_list(struct request *request, struct err *err)
{
    struct container_row *rows = NULL;
    struct page page;
    size_t count = 0;
    bool more = false;
    enum err_code rc = containers_present(request, err);

    if (!rc)
        rc = param_page(request, &page, err);
    if (!rc)
        rc = store_container_list(request_server(request)->store, request_tenant(request),
                                  request_query(request, "name"), &page, &rows, &count, &more,
                                  err);
    if (rc)
        return rc;
    answer_rows(request, rows, count, more, encode_container);
    container_rows_free(rows, count);
    return ERR_OK;
}

enum err_code api_container_get(struct request *request, struct err *err)
{
    CLEANUP(container_row_clear) struct container_row row = {0};
    enum err_code rc = containers_present(request, err);

    if (!rc)
        rc = store_container_use(request_server(request)->store, request_tenant(request),
                                 request_param(request, "container"), &row, err);
    if (!rc)
        request_answer(request, 200, encode_container(&row));
    return rc;
}

/* ---- Deleting ---- */

static enum err_code delete (struct container_job *job, struct err *err) {
    enum err_code rc = containers_delete(job->server->containers, &job->tenant, job->container,
                                         err);

    if (!rc) job->answer = encode_deleted(job->container, "container.deleted");
    return rc;
}

enum err_code api_container_delete(struct request *request, struct err *err)
{
    enum err_code rc = containers_present(request, err);

    if (!rc)
        container_job_begin(request, container_job_new(request, delete));
    return rc;
}
