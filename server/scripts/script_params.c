#include "server/scripts/script_params.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/domain/run_settings.h"
#include "core/store/tables/scripts.h"
#include "server/complaint.h"

#define SCHEME "script:"

static const char *script_of(const json_t *entry)
{
    const char *url = json_get_string(entry, "server_url", "");

    if (strcmp(json_get_string(entry, "type", ""), "mcp") != 0 ||
        strncmp(url, SCHEME, strlen(SCHEME)) != 0)
        return NULL;
    return url + strlen(SCHEME);
}

static enum err_code add(struct store *store, const struct tenant *tenant, const char *id,
                         size_t index, json_t *scripts, struct err *err)
{
    CLEANUP(script_row_clear) struct script_row row = {.created_at = 0};
    char param[64];
    json_t *script;
    enum err_code rc;

    (void)snprintf(param, sizeof(param), "tools[%zu].server_url", index);
    if (json_object_get(scripts, id))
        return ERR_OK;
    if (json_object_size(scripts) == REQUEST_SCRIPTS_LIMIT)
        return err_invalid(err, "array_above_max_length", param,
                           "Invalid '%s': a request may name at most %d scripts.", param,
                           REQUEST_SCRIPTS_LIMIT);
    rc = store_script_get(store, tenant, id, &row, err);
    if (rc == ERR_NOT_FOUND)
        return err_invalid(err, "invalid_value", param, "Script with id '%.64s' not found.",
                           id);
    if (rc)
        return rc;
    script = json_parse_own(row.definition);
    json_set_string(script, "hash", row.hash);
    json_set_string(script, "source", row.source);
    json_set(scripts, id, script);
    return ERR_OK;
}

enum err_code script_params_resolve(struct store *store, const struct tenant *tenant,
                                    const json_t *body, json_t **ret_body, struct err *err)
{
    json_auto_t *scripts = json_object();
    size_t i;
    json_t *entry;

    json_array_foreach (json_object_get(body, "tools"), i, entry) {
        const char *id = script_of(entry);
        enum err_code rc = id ? add(store, tenant, id, i, scripts, err) : ERR_OK;

        if (rc)
            return rc;
    }
    if (!json_object_size(scripts) && !json_object_get(body, RUN_SCRIPTS_KEY))
        return ERR_OK;
    /* What a client writes there itself is replaced. */
    *ret_body = json_copy((json_t *)(uintptr_t)body);
    json_object_set(*ret_body, RUN_SCRIPTS_KEY, scripts);
    return ERR_OK;
}
