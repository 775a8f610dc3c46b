/*
 * container_check.c -- the containers that the tools of a request name, before it is accepted.
 */

#include "server/sandbox/container_check.h"

#include "core/base/json.h"
#include "core/container/containers.h"
#include "core/run/catalog/run_files.h"
#include "core/run/catalog/unavailable.h"
#include "core/store/tables/files/files.h"
#include "server/complaint.h"
#include "server/config/config.h"
#include "server/params/container_params.h"
#include "server/params/params.h"
#include "server/sandbox/sandboxes.h"
#include "server/server.h"

static enum err_code check_named(const struct server *server, const struct tenant *tenant,
                                 const char *id, struct err *err)
{
    struct err why = {0};
    enum err_code rc = containers_check(server->containers, tenant, id, &why);

    if (rc == ERR_NOT_FOUND)
        return err_set_api(err, rc, NULL, "tools", "%s", why.text);
    if (rc == ERR_CONFLICT)
        return err_set_api(err, ERR_INVALID, NULL, "tools", "%s", why.text);
    if (rc)
        *err = why;
    return rc;
}

static enum err_code check_files(const struct server *server, const struct tenant *tenant,
                                 const json_t *files, const char *path, struct err *err)
{
    const char *ids[CONTAINER_FILES_LIMIT];
    size_t count = 0;
    size_t bad = 0;
    bool missing = false;
    size_t i;
    json_t *id;
    enum err_code rc;

    json_array_foreach (files, i, id) {
        if (count < CONTAINER_FILES_LIMIT)
            ids[count++] = json_string_value(id);
    }
    if (!count)
        return ERR_OK;
    rc = store_files_missing(server->store, tenant, ids, count, &missing, &bad, err);
    if (rc || !missing)
        return rc;
    return err_set_api(err, ERR_NOT_FOUND, NULL, param_index(path, bad).text,
                       "No such File object: %.64s", ids[bad]);
}

static enum err_code check_container(const struct server *server, const struct tenant *tenant,
                                     const json_t *container, const char *path, struct err *err)
{
    enum err_code rc;

    if (json_is_string(container))
        return check_named(server, tenant, json_string_value(container), err);
    rc = container_memory_check(container, path, sandboxes_largest(server->config), err);
    rc = rc ? rc
            : container_network_check(container, path, server->config->sandbox_domains, err);
    return rc ? rc
              : check_files(server, tenant, json_object_get(container, "file_ids"),
                            param_key(path, "file_ids").text, err);
}

enum err_code container_check_tools(const struct server *server, const struct tenant *tenant,
                                    const json_t *tools, struct err *err)
{
    size_t i;
    json_t *entry;

    json_array_foreach (tools, i, entry) {
        const char *member;
        const json_t *container = run_wanted_container(entry, &member);
        struct param_path at = param_index("tools", i);
        enum err_code rc;

        if (!container || unavailable_reason(NULL, entry))
            continue;
        rc = check_container(server, tenant, container, param_key(at.text, member).text, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}
