/*
 * Tool settings of a project, and of its users: which groups are on, which policies hold. An
 * extension.
 *
 * There is one row for the project and one for each user that has settings. The query parameter
 * `user` selects the row; without it, the project's own row is meant. A user is a name that the
 * client uses in its requests, and not an account: the server does not know users. Settings apply
 * to requests that begin afterwards. Running ones keep their snapshot.
 */

#include <stdlib.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/store/tables/tool_settings.h"
#include "server/api/api.h"
#include "server/complaint.h"
#include "server/encode/encode.h"
#include "server/encode/encode_field.h"
#include "server/params/params.h"
#include "server/params/tool_settings_params.h"
#include "server/server.h"

static json_t *encode_settings(const struct tool_settings_row *row)
{
    json_t *object = encode_new(row->id, "runnel.tool_settings", row->created_at);

    field_set_time(object, "updated_at", row->updated_at);
    json_set_string(object, "user", *row->user ? row->user : NULL);
    json_set_own(object, "tool_groups", row->tool_groups);
    json_set_own(object, "permissions", row->permissions);
    return object;
}

/* The user in the query, or "" for the project's own settings. A misspelt parameter must not turn one
 * user's request into one about the whole project, so unknown parameters are refused. */
static enum err_code read_user(const struct request *request, const char **ret_user,
                               struct err *err)
{
    static const char *const known[] = {"user", NULL};
    const char *user = request_query(request, "user");
    enum err_code rc = param_query_unknown(request, known, err);

    *ret_user = user ? user : "";
    if (rc)
        return rc;
    if (user && !*user)
        return err_invalid(err, "invalid_value", "user",
                           "Invalid 'user': empty string. Expected the name of a user, or no "
                           "such parameter for the project's own.");
    return param_length(*ret_user, "user", USER_LIMIT, err);
}

enum err_code api_tool_settings_get(struct request *request, struct err *err)
{
    CLEANUP(tool_settings_row_clear) struct tool_settings_row row = {0};
    const char *user;
    enum err_code rc = read_user(request, &user, err);

    if (!rc)
        rc = store_tool_settings_get(request_server(request)->store, request_tenant(request),
                                     user, &row, err);
    if (!rc)
        request_answer(request, 200, encode_settings(&row));
    return rc;
}

/* The new value of a member, which the caller frees. NULL if the request does not change it; null in the
 * request clears it. */
static char *given(const json_t *body, const char *key)
{
    const json_t *value = json_object_get(body, key);

    if (!value)
        return NULL;
    return json_is_null(value) ? mem_strdup("{}") : json_text(value);
}

enum err_code api_tool_settings_modify(struct request *request, struct err *err)
{
    CLEANUP(tool_settings_row_clear) struct tool_settings_row row = {0};
    const json_t *body = request_json(request);
    AUTO_FREE char *groups = given(body, "tool_groups");
    AUTO_FREE char *permissions = given(body, "permissions");
    const char *user;
    enum err_code rc = read_user(request, &user, err);

    if (!rc)
        rc = tool_settings_check(body, err);
    if (!rc)
        rc = store_tool_settings_put(request_server(request)->store, request_tenant(request),
                                     &(struct tool_settings_change){.user = user,
                                                                    .tool_groups = groups,
                                                                    .permissions = permissions},
                                     &row, err);
    if (!rc)
        request_answer(request, 200, encode_settings(&row));
    return rc;
}

enum err_code api_tool_settings_delete(struct request *request, struct err *err)
{
    char id[ID_SIZE];
    const char *user;
    enum err_code rc = read_user(request, &user, err);

    if (!rc)
        rc = store_tool_settings_delete(request_server(request)->store, request_tenant(request),
                                        user, id, err);
    if (!rc)
        request_answer(request, 200, encode_deleted(id, "runnel.tool_settings.deleted"));
    return rc;
}

enum err_code api_tool_settings_list(struct request *request, struct err *err)
{
    struct tool_settings_row *rows = NULL;
    struct page page;
    size_t count = 0;
    bool more = false;
    enum err_code rc = param_page(request, &page, err);

    if (!rc)
        rc = store_tool_settings_list(request_server(request)->store, request_tenant(request),
                                      &page, &rows, &count, &more, err);
    if (rc)
        return rc;
    answer_rows(request, rows, count, more, encode_settings);
    tool_settings_rows_free(rows, count);
    return ERR_OK;
}
