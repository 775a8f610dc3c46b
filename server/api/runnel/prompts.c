/*
 * Prompt templates. An extension: OpenAI has them too, but makes them on a web page only.
 *
 * A template has versions, numbered from 1. A version never changes, so that a request which names
 * one gets the same prompt for ever; a change adds a version. A request names a template as `prompt`,
 * with or without a version, and server/params/responses/prompt_template.h says what becomes of it.
 *
 * A template may hold definitions of MCP tools, with their authorization. Secrets are stored but never
 * returned (field_show_tools).
 */

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/store/tables/prompts.h"
#include "server/api/api.h"
#include "server/complaint.h"
#include "server/encode/encode.h"
#include "server/encode/encode_field.h"
#include "server/params/params.h"
#include "server/params/responses/prompt_template.h"
#include "server/server.h"

/* ---- Objects ---- */

static void set_template(json_t *object, const struct prompt_row *row)
{
    json_auto_t *template = json_parse_own(row->body);
    AUTO_FREE char *version = mem_printf("%d", row->version);

    json_set_string(object, "version", version);
    json_set(object, "variables", prompt_template_variables(template));
    json_object_update(object, template);
    field_show_tools(object);
}

static json_t *encode_prompt(const struct prompt_row *row)
{
    json_t *object = encode_new(row->id, "prompt", row->created_at);

    json_set_string(object, "name", row->name);
    set_template(object, row);
    return object;
}

/* In lists of versions, the number is the id, so that cursors are numbers. */
static json_t *encode_version(const struct prompt_row *row)
{
    AUTO_FREE char *number = mem_printf("%d", row->version);
    json_t *object = encode_new(number, "prompt.version", row->version_created_at);

    json_set_string(object, "prompt_id", row->id);
    set_template(object, row);
    return object;
}

static enum err_code answer(struct request *request, struct prompt_row *row,
                            json_t *(*encode)(const struct prompt_row *row))
{
    request_answer(request, 200, encode(row));
    prompt_row_clear(row);
    return ERR_OK;
}

static enum err_code answer_list(struct request *request, struct prompt_row *rows, size_t count,
                                 bool more, json_t *(*encode)(const struct prompt_row *row))
{
    answer_rows(request, rows, count, more, encode);
    prompt_rows_free(rows, count);
    return ERR_OK;
}

/* ---- Requests ---- */

static enum err_code prompt_id(const struct request *request, const char **ret_id,
                               struct err *err)
{
    *ret_id = request_param(request, "prompt");
    return param_id(*ret_id, "pmpt_", "prompt_id", err);
}

static enum err_code check_size(const char *body, struct err *err)
{
    size_t size = strlen(body);

    if (size <= PROMPT_SIZE_LIMIT)
        return ERR_OK;
    return err_invalid(
        err, "string_above_max_length", NULL,
        "Invalid prompt: too large. Expected a template of at most %zu bytes, but "
        "got %zu bytes instead.",
        PROMPT_SIZE_LIMIT, size);
}

/* The template in the body of a request, as JSON text. `more` are the members that are allowed beside
 * those of a template. The caller frees *ret_body, also after an error. */
static enum err_code read_template(struct request *request, const char *const *more,
                                   char **ret_body, struct err *err)
{
    const char *known[24];
    size_t count = 0;
    json_auto_t *template = NULL;
    enum err_code rc;

    for (; *more; more++)
        known[count++] = *more;
    for (const char *const *key = prompt_template_keys; *key; key++)
        known[count++] = *key;
    known[count] = NULL;
    rc = param_unknown(request_json(request), "", known, err);
    if (!rc)
        rc = prompt_template_parse(request_json(request), &template, err);
    if (!rc)
        *ret_body = json_text(template);
    return rc ? rc : check_size(*ret_body, err);
}

/* ---- Endpoints ---- */

enum err_code api_prompt_create(struct request *request, struct err *err)
{
    static const char *const more[] = {"name", NULL};
    struct prompt_row row = {.version = 1, .created_at = clock_wall_us()};
    const char *name = NULL;
    enum err_code rc = read_template(request, more, &row.body, err);

    if (!rc)
        rc = param_string(request_json(request), "", "name", PARAM_OPTIONAL, PROMPT_NAME_LIMIT,
                          &name, err);
    row.name = mem_strdup(name);
    id_make(row.id, "pmpt_");
    if (!rc)
        rc = store_prompt_create(request_server(request)->store, request_tenant(request), &row,
                                 err);
    if (rc) {
        prompt_row_clear(&row);
        return rc;
    }
    return answer(request, &row, encode_prompt);
}

enum err_code api_prompt_list(struct request *request, struct err *err)
{
    struct prompt_row *rows = NULL;
    struct page page;
    size_t count = 0;
    bool more = false;
    enum err_code rc = param_page(request, &page, err);

    if (!rc)
        rc = store_prompt_list(request_server(request)->store, request_tenant(request), &page,
                               &rows, &count, &more, err);
    return rc ? rc : answer_list(request, rows, count, more, encode_prompt);
}

enum err_code api_prompt_get(struct request *request, struct err *err)
{
    struct prompt_row row;
    const char *id;
    enum err_code rc = prompt_id(request, &id, err);

    if (!rc)
        rc = store_prompt_get(request_server(request)->store, request_tenant(request), id,
                              PROMPT_NEWEST, &row, err);
    return rc ? rc : answer(request, &row, encode_prompt);
}

enum err_code api_prompt_delete(struct request *request, struct err *err)
{
    const char *id;
    enum err_code rc = prompt_id(request, &id, err);

    if (!rc)
        rc = store_prompt_delete(request_server(request)->store, request_tenant(request), id,
                                 err);
    if (rc)
        return rc;
    request_answer(request, 200, encode_deleted(id, "prompt.deleted"));
    return ERR_OK;
}

enum err_code api_prompt_version_create(struct request *request, struct err *err)
{
    static const char *const more[] = {NULL};
    AUTO_FREE char *body = NULL;
    struct prompt_row row;
    const char *id;
    enum err_code rc = prompt_id(request, &id, err);

    if (!rc)
        rc = read_template(request, more, &body, err);
    if (!rc)
        rc = store_prompt_add(request_server(request)->store, request_tenant(request), id, body,
                              &row, err);
    return rc ? rc : answer(request, &row, encode_version);
}

enum err_code api_prompt_version_list(struct request *request, struct err *err)
{
    struct prompt_row *rows = NULL;
    struct page page;
    const char *id;
    size_t count = 0;
    bool more = false;
    enum err_code rc = prompt_id(request, &id, err);

    if (!rc)
        rc = param_page(request, &page, err);
    if (!rc)
        rc = store_prompt_versions(request_server(request)->store, request_tenant(request), id,
                                   &page, &rows, &count, &more, err);
    return rc ? rc : answer_list(request, rows, count, more, encode_version);
}

enum err_code api_prompt_version_get(struct request *request, struct err *err)
{
    struct prompt_row row;
    const char *id;
    int version = 0;
    enum err_code rc = prompt_id(request, &id, err);

    if (!rc)
        rc = prompt_version_parse(id, request_param(request, "version"), &version, err);
    if (!rc)
        rc = store_prompt_get(request_server(request)->store, request_tenant(request), id,
                              version, &row, err);
    return rc ? rc : answer(request, &row, encode_version);
}
