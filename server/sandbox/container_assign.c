/*
 * container_assign.c -- the same rules as when a call takes its container (container_desk.c), on rows alone.
 *
 * The entry stays what it was: file_ids, memory and network are read when the first call comes. Only `container_id` is
 * new in it. What the API shows of that is for encode/.
 */

#include "server/sandbox/container_assign.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/container/containers.h"
#include "core/run/catalog/run_files.h"
#include "core/run/catalog/unavailable.h"
#include "core/store/tables/containers/container_skills.h"
#include "server/complaint.h"
#include "server/params/container_params.h"
#include "server/params/container_skill_params.h"
#include "server/params/params.h"
#include "server/server.h"

static json_t *environment_of(const json_t *entry)
{
    json_t *environment = json_object_get(entry, "environment");

    return strcmp(json_get_string(environment, "type", ""), "container_auto") == 0 ? environment
                                                                                   : NULL;
}

static bool is_wanted(const json_t *tools)
{
    size_t i;
    json_t *entry;

    json_array_foreach (tools, i, entry) {
        if (environment_of(entry))
            return true;
    }
    return false;
}

/* One that is missing, and one too many, are the request's to mend. */
static enum err_code add_skills(struct server *server, const struct tenant *tenant,
                                const char *id, const json_t *skills, const char *path,
                                struct err *err)
{
    struct container_skill wanted[CONTAINER_SKILLS_LIMIT] = {0};
    size_t count = 0;
    struct err why = {0};
    enum err_code rc =
        container_skills_resolve(server->store, tenant, skills, path, wanted, &count, err);

    if (!rc) {
        rc = containers_add_skills(server->containers, tenant, id, wanted, count, &why);
        if (rc == ERR_LIMIT)
            rc = err_invalid(err, "invalid_value", path, "Invalid '%s': %s", path, why.text);
        else if (rc)
            *err = why;
    }
    container_skills_clear(wanted, CONTAINER_SKILLS_LIMIT);
    return rc;
}

static enum err_code assign(struct server *server, const struct container_assign *wanted,
                            json_t *environment, const char *path, char ret_made[ID_SIZE],
                            struct err *err)
{
    const struct run_row *run = wanted->run;
    const json_t *skills = json_object_get(environment, "skills");
    struct param_path of_skills = param_key(path, "skills");
    AUTO_FREE char *domains = container_domains(environment);
    CLEANUP(container_row_clear) struct container_row row = {0};
    char past[ID_SIZE];
    const struct container_choice choice = {
        .in_context = past,
        .owner_id = *run->thread_id ? run->thread_id : run->id,
        .memory_gib = container_memory_gib(environment),
        .domains = domains,
    };
    bool made = false;
    enum err_code rc;

    run_files_past_container(wanted->items, wanted->item_count, past);
    rc = containers_assign(server->containers, wanted->tenant, &choice, &row, &made, err);
    if (rc)
        return rc;
    if (made)
        memcpy(ret_made, row.id, ID_SIZE);
    rc = add_skills(server, wanted->tenant, row.id, skills, of_skills.text, err);
    if (rc)
        return rc;
    json_set_string(environment, "container_id", row.id);
    json_object_del(environment, "skills");
    return ERR_OK;
}

/* The entries are shared with the request, so those that change are copied. */
static enum err_code assign_all(struct server *server, const struct container_assign *wanted,
                                json_t *tools, char ret_made[ID_SIZE], struct err *err)
{
    enum err_code rc = ERR_OK;

    for (size_t i = 0; !rc && i < json_array_size(tools); i++) {
        const json_t *entry = json_array_get(tools, i);
        struct param_path at = param_index("tools", i);
        struct param_path path = param_key(at.text, "environment");
        json_t *copy, *skills;
        bool unavailable;

        if (!environment_of(entry))
            continue;
        copy = json_deep_copy(entry);
        json_array_set_new(tools, i, copy);
        skills = json_object_get(environment_of(copy), "skills");
        unavailable = unavailable_reason(NULL, copy);
        if (unavailable || !wanted->unpacked)
            container_skills_drop_notes(skills);
        if (unavailable)
            continue;
        rc = container_skills_unpack(skills, param_key(path.text, "skills").text, err);
        rc = rc ? rc : assign(server, wanted, environment_of(copy), path.text, ret_made, err);
    }
    return rc;
}

enum err_code container_assign(struct server *server, const struct container_assign *wanted,
                               struct run_settings *settings, char ret_made[ID_SIZE],
                               struct err *err)
{
    json_auto_t *tools = NULL;
    enum err_code rc;

    *ret_made = '\0';
    if (!server->containers || !is_wanted(settings->tools))
        return ERR_OK;
    tools = json_copy(settings->tools);
    rc = assign_all(server, wanted, tools, ret_made, err);
    if (!rc)
        run_settings_set_tool_list(settings, tools);
    else if (*ret_made)
        containers_undo(server->containers, wanted->tenant, ret_made);
    return rc;
}
