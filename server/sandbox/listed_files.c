/*
 * listed_files.c -- finds the names under which container_put_file() puts files, without putting them.
 *
 * A file that is there has a row with its path. Another one gets the first of its names that no row has, and no file
 * before it in the list.
 */

#include "server/sandbox/listed_files.h"

#include <stdlib.h>

#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/container/containers.h"
#include "core/run/catalog/run_files.h"
#include "core/store/tables/containers/container_files.h"
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

void listed_files_add(struct server *server, struct run_start *start)
{
    const struct run_load *load = &start->load;
    const struct tenant tenant = tenant_of_project(load->run.project);
    CLEANUP(names_clear) struct names names = {json_object(), json_object()};
    json_auto_t *list = json_array();
    json_auto_t *ids = NULL;
    char past[ID_SIZE];
    const char *named;
    struct err err = {0};

    if (!start->settings.snapshot)
        run_settings_load(&start->settings, load->run.config);
    ids = run_files_of_container(&start->settings, load->run.face, load->items,
                                 load->item_count, &named);
    if (!json_array_size(ids))
        return;
    run_files_past_container(load->items, load->item_count, past);
    if (find_names(server, &tenant, named ? named : past, load->run.thread_id, &names, &err) ||
        list_files(server, &tenant, ids, &names, list, &err)) {
        log_warn("files of a container are not listed: %s", err.text);
        return;
    }
    start->settings.container_files = TAKE(list);
}
