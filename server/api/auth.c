/*
 * Authentication: from an Authorization header to the tenant for which a request acts.
 *
 * There is one query for each request, and no cache. A cache would save about as much as the query
 * costs, and would need a way to drop a revoked key on every node. So revoking a key works at once,
 * everywhere, without a message between nodes.
 *
 * What must hold: a tenant leaves this file only with a project in it. A store that is down is an
 * outage (503) and never a verdict about the key. The text of an error never has the whole key,
 * because clients write such texts to their logs.
 *
 * It runs on an HTTP worker, or for a WebSocket on a worker of server/workers.h, which checks the
 * key again before each response.
 */

#include "server/api/auth.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/store/tables/keys.h"
#include "server/complaint.h"
#include "server/server.h"

#define KEY_LENGTH_LIMIT 256 /* a longer key is refused without a query */

const char *auth_bearer(const char *authorization)
{
    const char *key;

    if (!authorization || strncasecmp(authorization, "Bearer ", 7) != 0)
        return NULL;
    key = authorization + 7;
    key += strspn(key, " ");
    return *key ? key : NULL;
}

/* A short key is hidden completely, because it might be a password that was sent by mistake. */
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

/* The texts and the code of these two errors are OpenAI's. */
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
        /* The look-up of a key learns whether the project has tool settings. Without one they may
         * exist, so requests must query them. */
        ret_tenant->features = TENANT_TOOL_SETTINGS;
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
