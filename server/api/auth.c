#include "server/api/auth.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/store/tables/keys.h"
#include "server/complaint.h"
#include "server/server.h"

#define KEY_LENGTH_LIMIT 256 /* longer ones are not even looked up */

const char *auth_bearer(const char *authorization)
{
    const char *key;

    if (!authorization || strncasecmp(authorization, "Bearer ", 7) != 0)
        return NULL;
    key = authorization + 7;
    key += strspn(key, " ");
    return *key ? key : NULL;
}

/* Of a short key nothing is shown: it might be a password. */
void auth_hint(const char *key, char ret_hint[AUTH_HINT_SIZE])
{
    size_t length = strlen(key);

    if (length < 16)
        (void)snprintf(ret_hint, AUTH_HINT_SIZE, "***");
    else
        (void)snprintf(ret_hint, AUTH_HINT_SIZE, "%.6s***%s", key, key + length - 4);
    for (char *c = ret_hint; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
}

static enum err_code no_key(struct err *err)
{
    return err_set(
        err, ERR_UNAUTHORIZED,
        "You didn't provide an API key. You need to provide your API key in an "
        "Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).");
}

static enum err_code wrong_key(const char *key, struct err *err)
{
    char hint[AUTH_HINT_SIZE];

    auth_hint(key, hint);
    return err_set_api(err, ERR_UNAUTHORIZED, "invalid_api_key", NULL,
                       "Incorrect API key provided: %s.", hint);
}

enum err_code auth_check(struct server *server, const char *authorization,
                         struct tenant *ret_tenant, struct err *err)
{
    const char *key = auth_bearer(authorization);
    enum err_code rc;

    if (server->config->no_auth) {
        *ret_tenant = tenant_of_project(server->default_project);
        ret_tenant->limits = config_tenant_limits(server->config);
        ret_tenant->features = TENANT_TOOL_SETTINGS; /* nobody has looked */
        return ERR_OK;
    }
    if (!key)
        return no_key(err);
    if (strlen(key) > KEY_LENGTH_LIMIT)
        return wrong_key(key, err);
    rc = store_key_find(server->store, key, ret_tenant, err);
    if (rc)
        return rc == ERR_UNAUTHORIZED ? wrong_key(key, err) : rc;
    ret_tenant->limits = config_tenant_limits(server->config);
    return ERR_OK;
}
