/*
 * Versions of skills, and their contents.
 *
 * A path names a version by its number, or as "latest". Contents are a zip with one folder, made anew of the files each
 * time: its bytes are the same each time, and a client's zip, which may have any oddity, is never handed to another.
 *
 * A zip is read and written in a child, on a file worker (skill_job.c).
 */

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/base64.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/document/bundle/bundle.h"
#include "core/store/tables/skills.h"
#include "server/api/api.h"
#include "server/api/responses/skill_body.h"
#include "server/complaint.h"
#include "server/encode/encode.h"
#include "server/encode/encode_field.h"
#include "server/params/params.h"
#include "server/params/skill_file.h"
#include "server/params/skill_params.h"
#include "server/params/skill_upload.h"
#include "server/server.h"

/* ---- In requests ---- */

enum err_code skill_id_read(const struct request *request, const char **ret_id, struct err *err)
{
    *ret_id = request_param(request, "skill");
    return param_id(*ret_id, "skill_", "skill_id", err);
}

static enum err_code read_content(const json_t *body, struct skill_row *row, bool *ret_default,
                                  struct err *err)
{
    static const char *const known[] = {"content", NULL};
    static const char *const known_of_version[] = {"content", "default", NULL};
    const char *content = NULL;
    enum err_code rc = param_unknown(body, "", ret_default ? known_of_version : known, err);

    if (!rc)
        rc = param_string(body, "", "content", PARAM_REQUIRED, SKILL_FILE_LIMIT, &content, err);
    if (!rc && ret_default)
        rc = param_bool(body, "", "default", ret_default, err);
    return rc ? rc : skill_file_parse(content, "content", row, err);
}

enum err_code skill_body_read(const struct skill_job *job, struct skill_row *ret_row,
                              bool *ret_default, struct err *err)
{
    return job->form ? skill_upload_read(job->form, ret_row, ret_default, err)
                     : read_content(job->body, ret_row, ret_default, err);
}

enum err_code skill_number_read(const json_t *value, const char *param, int64_t *ret_number,
                                struct err *err)
{
    if (json_absent(value))
        return param_missing(err, param);
    *ret_number = skill_version_number(value);
    if (*ret_number)
        return ERR_OK;
    return err_invalid(err, "invalid_value", param,
                       "Invalid '%s': expected the number of a version.", param);
}

void skill_set_number(json_t *object, const char *key, int64_t number)
{
    AUTO_FREE char *text = mem_printf("%lld", (long long)number);

    json_set_string(object, key, text);
}

/* The version that the path names. */
static enum err_code read_path(const struct request *request, const char **ret_id,
                               int64_t *ret_version, struct err *err)
{
    const char *text = request_param(request, "version");
    json_auto_t *value = json_string(text ? text : "");
    enum err_code rc = skill_id_read(request, ret_id, err);

    if (rc)
        return rc;
    if (strcmp(json_string_value(value), "latest") == 0) {
        *ret_version = SKILL_LATEST;
        return ERR_OK;
    }
    return skill_number_read(value, "version", ret_version, err);
}

/* ---- In answers ---- */

static json_t *encode_version(const struct skill_row *row)
{
    json_t *object = encode_new(row->id, "skill.version", row->created_at);

    json_set_string(object, "skill_id", row->skill_id);
    skill_set_number(object, "version", row->version);
    json_set_string(object, "name", row->name);
    json_set_string(object, "description", row->description);
    return object;
}

static void add_value(struct bundle *bundle, const char *path, const json_t *value)
{
    const char *encoded = json_get_string(value, "base64", "");
    size_t length = 0;
    AUTO_FREE char *bytes = NULL;

    if (json_is_string(value)) {
        bundle_add(bundle, path, json_string_value(value), json_string_length(value));
        return;
    }
    bytes = base64_decode(encoded, strlen(encoded), &length);
    bundle_add(bundle, path, bytes ? bytes : "", bytes ? length : 0);
}

static enum err_code make_zip(struct skill_job *job, const struct skill_row *row,
                              struct err *err)
{
    CLEANUP(bundle_clear) struct bundle bundle = {.count = 0};
    AUTO_BUF zip = {0};
    const char *path;
    json_t *value;
    enum err_code rc;

    bundle_add(&bundle, "SKILL.md", row->content, strlen(row->content));
    json_object_foreach (row->files, path, value)
        add_value(&bundle, path, value);
    rc = bundle_pack(&bundle, row->name, &zip, err);
    if (rc)
        return rc;
    job->type = "application/zip";
    job->length = zip.length;
    job->bytes = buf_take(&zip);
    return ERR_OK;
}

static enum err_code find_zip(struct skill_job *job, struct err *err)
{
    CLEANUP(skill_row_clear) struct skill_row row = {0};
    enum err_code rc = store_skill_version_get(job->server->store, &job->tenant, job->id,
                                               job->version, &row, err);

    return rc ? rc : make_zip(job, &row, err);
}

static enum err_code answer_text(struct request *request, const char *id, int64_t version,
                                 struct err *err)
{
    CLEANUP(skill_row_clear) struct skill_row row = {0};
    size_t length;
    enum err_code rc = store_skill_version_get(request_server(request)->store,
                                               request_tenant(request), id, version, &row, err);

    if (rc)
        return rc;
    length = strlen(row.content);
    request_answer_bytes(request, 200, "text/markdown; charset=utf-8", TAKE(row.content),
                         length);
    return ERR_OK;
}

/* Who asks for text gets SKILL.md alone. */
static enum err_code answer_content(struct request *request, const char *id, int64_t version,
                                    struct err *err)
{
    const char *accept = request_header(request, "Accept");

    if (accept && strncasecmp(accept, "text/", 5) == 0)
        return answer_text(request, id, version, err);
    skill_job_begin(request, id, version, find_zip);
    return ERR_OK;
}

/* ---- Endpoints ---- */

enum err_code api_skill_content(struct request *request, struct err *err)
{
    const char *id;
    enum err_code rc = skill_id_read(request, &id, err);

    return rc ? rc : answer_content(request, id, SKILL_DEFAULT, err);
}

enum err_code api_skill_version_content(struct request *request, struct err *err)
{
    const char *id;
    int64_t version = 0;
    enum err_code rc = read_path(request, &id, &version, err);

    return rc ? rc : answer_content(request, id, version, err);
}

static enum err_code create_version(struct skill_job *job, struct err *err)
{
    CLEANUP(skill_row_clear) struct skill_row row = {.created_at = clock_wall_us()};
    CLEANUP(skill_row_clear) struct skill_row skill = {0};
    struct store *store = job->server->store;
    bool make_default = false;
    enum err_code rc = store_skill_get(store, &job->tenant, job->id, &skill, err);

    rc = rc ? rc : skill_body_read(job, &row, &make_default, err);
    if (rc)
        return rc;
    if (strcmp(row.name, skill.name) != 0)
        return err_invalid(err, "invalid_value", "files",
                           "Invalid 'files': the name of this version is '%s', and that of the "
                           "skill is '%s'.",
                           row.name, skill.name);
    id_make(row.id, "skillver_");
    memcpy(row.skill_id, skill.id, ID_SIZE);
    rc = store_skill_version_create(store, &job->tenant, &row, make_default, err);
    if (rc == ERR_LIMIT) {
        const struct err why = *err;

        return err_invalid(err, "invalid_value", NULL, "%s", why.text);
    }
    if (!rc)
        job->answer = encode_version(&row);
    return rc;
}

enum err_code api_skill_version_create(struct request *request, struct err *err)
{
    const char *id;
    enum err_code rc = skill_id_read(request, &id, err);

    if (!rc)
        skill_job_begin(request, id, 0, create_version);
    return rc;
}

enum err_code api_skill_version_list(struct request *request, struct err *err)
{
    struct skill_row *rows = NULL;
    struct page page;
    size_t count = 0;
    bool more = false;
    const char *id;
    enum err_code rc = skill_id_read(request, &id, err);

    rc = rc ? rc : param_page(request, &page, err);
    rc = rc ? rc
            : store_skill_version_list(request_server(request)->store, request_tenant(request),
                                       id, &page, &rows, &count, &more, err);
    if (rc)
        return rc;
    answer_rows(request, rows, count, more, encode_version);
    skill_rows_free(rows, count);
    return ERR_OK;
}

static enum err_code load_version(struct request *request, struct skill_row *ret_row,
                                  struct err *err)
{
    const char *id;
    int64_t version = 0;
    enum err_code rc = read_path(request, &id, &version, err);

    return rc ? rc
              : store_skill_version_get(request_server(request)->store, request_tenant(request),
                                        id, version, ret_row, err);
}

enum err_code api_skill_version_get(struct request *request, struct err *err)
{
    CLEANUP(skill_row_clear) struct skill_row row = {0};
    enum err_code rc = load_version(request, &row, err);

    if (!rc)
        request_answer(request, 200, encode_version(&row));
    return rc;
}

enum err_code api_skill_version_delete(struct request *request, struct err *err)
{
    CLEANUP(skill_row_clear) struct skill_row row = {0};
    struct store *store = request_server(request)->store;
    json_t *answer;
    enum err_code rc = load_version(request, &row, err);

    rc = rc ? rc
            : store_skill_version_delete(store, request_tenant(request), row.skill_id,
                                         row.version, err);
    if (rc == ERR_CONFLICT) {
        const struct err why = *err;

        return err_invalid(err, "invalid_value", "version", "%s", why.text);
    }
    if (rc)
        return rc;
    answer = encode_deleted(row.skill_id, "skill.version.deleted");
    skill_set_number(answer, "version", row.version);
    request_answer(request, 200, answer);
    return ERR_OK;
}
