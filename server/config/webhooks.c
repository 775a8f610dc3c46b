#include "server/config/webhooks.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/store/tables/keys.h"

#define NAME_LIMIT ((size_t)63) /* of a project */

/*
 * A webhook receives the approval requests of one project. Its URL and its secret are the operator's
 * and are never part of a request: a client could otherwise have approval requests, with the arguments
 * of calls, sent to an address of its choice.
 *
 * The operator writes the name of a project, the engine knows its id. The configuration is read before
 * the database is open, so this happens in two steps: read and check everything that the file can
 * answer, then find the projects. A name without a project stops the start. A project that is made
 * later is not picked up, as no setting is.
 *
 * A URL obeys the egress rules like any other, so a webhook in the own network needs an entry in
 * network.allow_internal_hosts.
 */

/* The secret, or the value of the variable that secret_env names. */
static enum err_code find_secret(const json_t *entry, const char *path, const char **ret_secret,
                                 struct err *err)
{
    const char *variable = json_get_string(entry, "secret_env", NULL);
    const char *secret = json_get_string(entry, "secret", NULL);

    if (!variable == !secret) /* exactly one of them */
        return err_set(err, ERR_INVALID, "%s: expected either 'secret' or 'secret_env'", path);
    *ret_secret = variable ? getenv(variable) : secret;
    if (!*ret_secret)
        return err_set(err, ERR_INVALID,
                       "%s.secret_env: the environment variable %.64s is not set", path,
                       variable);
    return ERR_OK;
}

static enum err_code check_name(const struct config_webhooks *webhooks, size_t i,
                                const char *path, struct err *err)
{
    size_t length = strlen(webhooks->names[i]);

    if (!length || length > NAME_LIMIT)
        return err_set(err, ERR_INVALID, "%s.project: a name has 1 to %zu bytes", path,
                       NAME_LIMIT);
    for (size_t n = 0; n < i; n++) {
        if (strcmp(webhooks->names[n], webhooks->names[i]) == 0)
            return err_set(err, ERR_INVALID,
                           "%s: there are two webhooks of the project '%.64s'", path,
                           webhooks->names[i]);
    }
    return ERR_OK;
}

static enum err_code read_one(struct config_webhooks *webhooks, size_t i, const json_t *entry,
                              const struct egress_rules *egress, struct err *err)
{
    struct approval_webhook *webhook = &webhooks->webhooks[i];
    const char *secret = NULL;
    struct err why;
    char path[64];
    enum err_code rc;

    (void)snprintf(path, sizeof(path), "approval_webhooks[%zu]", i);
    webhooks->names[i] = json_get_string(entry, "project", DEFAULT_PROJECT);
    webhook->url = json_get_string(entry, "url", "");
    webhook->egress = egress;
    rc = check_name(webhooks, i, path, err);
    if (!rc && egress_url_check(webhook->url, &why))
        rc = err_set(err, ERR_INVALID, "%s.url: %s", path, why.text);
    if (!rc)
        rc = find_secret(entry, path, &secret, err);
    if (!rc && !webhook_key_parse(secret, &webhook->key))
        rc = err_set(err, ERR_INVALID,
                     "%s: the secret must be 'whsec_' and 24 to 64 bytes in base64", path);
    return rc;
}

enum err_code config_webhooks_read(const json_t *list, const struct egress_rules *egress,
                                   struct config_webhooks *ret_webhooks, struct err *err)
{
    size_t count = json_array_size(list);
    enum err_code rc = ERR_OK;

    *ret_webhooks = (struct config_webhooks){
        .webhooks = mem_new_array(struct approval_webhook, count + 1),
        .names = mem_new_array(const char *, count + 1),
        .count = count,
    };
    for (size_t i = 0; !rc && i < count; i++)
        rc = read_one(ret_webhooks, i, json_array_get(list, i), egress, err);
    return rc;
}

void config_webhooks_clear(struct config_webhooks *webhooks)
{
    free(webhooks->webhooks);
    free(webhooks->names);
    *webhooks = (struct config_webhooks){0};
}

enum err_code config_webhooks_find(const struct config_webhooks *webhooks, struct store *store,
                                   struct err *err)
{
    enum err_code rc = ERR_OK;

    for (size_t i = 0; !rc && i < webhooks->count; i++) {
        const char *name = webhooks->names[i];

        rc = store_project_find(store, name, webhooks->webhooks[i].project, err);
        if (rc == ERR_NOT_FOUND)
            rc = err_set(err, ERR_INVALID,
                         "approval_webhooks[%zu].project: there is no project '%.64s'; "
                         "`runnel keys create --project NAME` makes one",
                         i, name);
    }
    return rc;
}
