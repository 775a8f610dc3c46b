/*
 * listed_files.c -- finds the names under which container_put_file() puts files, without putting them.
 *
 * A file that is there has a row with its path. Another one gets the first of its names that no row has, and no file
 * before it in the list. Skills are listed with their folders in the same way.
 */

#include "server/sandbox/listed_files.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/container/containers.h"
#include "core/memory/skill.h"
#include "core/run/catalog/run_files.h"
#include "core/sandbox/workspace/workspace_skills.h"
#include "core/store/tables/containers/container_files.h"
#include "core/store/tables/containers/container_skills.h"
#include "core/store/tables/files/files.h"
#include "server/server.h"

struct names {
    json_t *
        taken; /* true by name; by a name that several files want, the last number that one of them got */
    json_t *paths; /* by the id of a file that is there */
};

static void names_clear(struct names *names)
{
    json_decref(names->taken);
    json_decref(names->paths);
}

/* The caller frees. */
static char *free_name(const struct names *names, const char *wanted)
{
    json_int_t n = json_get_int(names->taken, wanted, 0);
    char *name = NULL;

    do {
        free(name);
        name = container_file_name(wanted, (unsigned)++n);
    } while (json_object_get(names->taken, name));
    json_set_bool(names->taken, name, true);
    json_set_int(names->taken, wanted, n);
    return name;
}

static void list_file(const struct names *names, const struct file_row *file, json_t *list)
{
    const char *path = json_get_string(names->paths, file->id, NULL);
    AUTO_FREE char *name = path ? mem_strdup(path) : free_name(names, file->filename);

    json_array_append_new(
        list, json_build("{s:s, s:I}", "name", name, "bytes", (json_int_t)file->bytes));
}

static enum err_code find_names(struct server *server, const struct tenant *tenant,
                                const char *container_id, const char *owner_id,
                                const struct names *names, struct err *err)
{
    struct container_file_row *rows = NULL;
    size_t count = 0;
    enum err_code rc = store_container_files_top(server->store, tenant, container_id, owner_id,
                                                 &rows, &count, err);

    if (rc)
        return rc;
    for (size_t i = 0; i < count; i++) {
        json_set_bool(names->taken, rows[i].path, true);
        if (*rows[i].origin_id)
            json_set_string(names->paths, rows[i].origin_id, rows[i].path);
    }
    container_file_rows_free(rows, count);
    return ERR_OK;
}

static enum err_code list_files(struct server *server, const struct tenant *tenant,
                                const json_t *ids, const struct names *names, json_t *list,
                                struct err *err)
{
    size_t count = json_array_size(ids);
    AUTO_FREE const char **texts = mem_new_array(const char *, count + 1);
    struct file_row *files = NULL;
    enum err_code rc;

    for (size_t i = 0; i < count; i++)
        texts[i] = json_string_value(json_array_get(ids, i));
    rc = store_files_named(server->store, tenant, texts, count, &files, &count, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < count; i++)
        list_file(names, &files[i], list);
    file_rows_free(files, count);
    return ERR_OK;
}

/* ---- Skills ---- */

/* Those that the run itself has are put there by the first call. */
static void list_own_skills(const json_t *skills, const struct container_skill_row *rows,
                            size_t count, json_t *list)
{
    size_t i, n;
    json_t *skill;

    json_array_foreach (skills, i, skill) {
        AUTO_FREE char *name =
            container_skill_name(rows, count, json_get_string(skill, "name", ""));
        AUTO_FREE char *path = mem_printf(WORKSPACE_SKILLS_MOUNT "/%s", name);

        for (n = 0; n < count && strcmp(rows[n].origin, skill_version_of(skill)) != 0; n++)
            ;
        if (n == count && !json_get_bool(skill, "ask", true))
            json_array_append_new(
                list,
                json_build("{s:O, s:O, s:s}", "name", json_object_get(skill, "name"),
                           "description", json_object_get(skill, "description"), "path", path));
    }
}

static enum err_code list_skills(struct server *server, const struct tenant *tenant,
                                 const char *container_id, const char *owner_id,
                                 const json_t *own, json_t *list, struct err *err)
{
    struct container_skill_row *rows = NULL;
    size_t count = 0;
    enum err_code rc = ERR_OK;

    if (*container_id || *owner_id)
        rc = store_container_skills_list(server->store, tenant, container_id, owner_id, &rows,
                                         &count, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < count; i++) {
        AUTO_FREE char *path = mem_printf(WORKSPACE_SKILLS_MOUNT "/%s", rows[i].name);

        json_array_append_new(list,
                              json_build("{s:s, s:s, s:s}", "name", rows[i].name, "description",
                                         rows[i].description, "path", path));
    }
    list_own_skills(own, rows, count, list);
    container_skill_rows_free(rows, count);
    return ERR_OK;
}

/* ---- Both ---- */

void listed_files_add(struct server *server, struct run_start *start)
{
    const struct run_load *load = &start->load;
    const struct tenant tenant = tenant_of_project(load->run.project);
    struct run_settings *settings = &start->settings;
    CLEANUP(names_clear) struct names names = {json_object(), json_object()};
    json_auto_t *list = json_array();
    json_auto_t *skills = json_array();
    json_auto_t *ids = NULL;
    char past[ID_SIZE];
    const char *named;
    struct err err = {0};
    enum err_code rc = ERR_OK;

    if (!settings->snapshot)
        run_settings_load(settings, load->run.config);
    if (!run_files_need_container(settings))
        return;
    ids =
        run_files_of_container(settings, load->run.face, load->items, load->item_count, &named);
    run_files_past_container(load->items, load->item_count, past);
    named = named ? named : past;
    if (json_array_size(ids))
        rc = find_names(server, &tenant, named, load->run.thread_id, &names, &err);
    if (!rc && json_array_size(ids))
        rc = list_files(server, &tenant, ids, &names, list, &err);
    rc = rc ? rc
            : list_skills(server, &tenant, named, load->run.thread_id, settings->skills, skills,
                          &err);
    if (rc) {
        log_warn("what is in a container is not listed: %s", err.text);
        return;
    }
    if (json_array_size(list))
        settings->container_files = TAKE(list);
    if (json_array_size(skills))
        settings->container_skills = TAKE(skills);
}
