/*
 * container_desk.c -- a call between its handler, its container and its box.
 *
 *   open()    containers_take() ── files of the request ──▶ container_put_file()
 *   python()  boxes_take() ──▶ python_run() ──▶ text, figures ──▶ container_note() ──▶ ids
 *   close()   container_release()
 *
 * A figure has a path when it is drawn, and an id when the folder was looked at. So outputs are collected first, and
 * get their ids afterwards.
 */

#include "server/sandbox/container_desk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base64.h"
#include "core/base/clock.h"
#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/container/boxes.h"
#include "core/container/containers.h"
#include "core/container/kept_output.h"
#include "core/container/python.h"
#include "core/memory/skill.h"
#include "core/sandbox/box.h"
#include "core/sandbox/workspace/operator_roots.h"
#include "core/sandbox/workspace/workspace.h"
#include "core/store/tables/containers/container_skills.h"
#include "core/store/tables/files/files.h"
#include "server/complaint.h"
#include "server/config/config.h"
#include "server/params/container_params.h"
#include "server/params/params.h"
#include "server/params/skill_params.h"
#include "server/sandbox/unkept_files.h"
#include "server/server.h"

#define FOLDER "/mnt/data/"

/* A call's container. */
struct lent {
    struct tool_container base;
    struct server *server;
    struct container *container;
    struct boxes_hold *hold; /* of tool_call_box(), or tool_call_own_box(); or NULL */
    json_t *domains;         /* what its box may reach */
    json_t *places;          /* where it has gone, in boxes that were given back; or NULL */
    char *call_id;
    char *lost; /* base.lost, if it was made for this call; or NULL */
    bool noted; /* what the call has done to files was noted */
};

static struct lent *lent_of(struct tool_container *container)
{
    return CONTAINER_OF(container, struct lent, base);
}

/* ---- The container ---- */

static const char lost[] = "The earlier container has expired: this is a new one. Files and "
                           "variables are gone, but for the user's files.";

/* What its last move has cost. The caller frees; NULL: nothing. */
static char *lost_files(const struct container_row *row)
{
    json_auto_t *all = row->lost ? json_parse_own(row->lost) : NULL;
    const json_t *paths = json_is_object(all) ? json_object_get(all, "paths") : all;
    json_int_t count = json_integer_value(json_object_get(all, "count"));
    AUTO_BUF list = {0};
    size_t i;
    json_t *path;

    if (!json_array_size(paths))
        return NULL;
    json_array_foreach (paths, i, path)
        buf_addf(&list, "%s" FOLDER "%s", i ? ", " : "", json_string_value(path));
    if (count > (json_int_t)json_array_size(paths))
        buf_addf(&list, ", and %lld more",
                 (long long)count - (long long)json_array_size(paths));
    if (paths != all)
        return mem_printf("This container has moved to another server. Variables are gone, and "
                          "these files could not be moved: %s",
                          list.data);
    return mem_printf("The server of this container has failed. Variables are gone, and so are "
                      "these files: %s",
                      list.data);
}

/* *ret_domains is the caller's to free. */
static struct container_choice choice_of(const struct tool_call *call, char **ret_domains)
{
    const json_t *entry = tool_call_wanted_container(call);
    const char *thread = tool_call_thread(call);
    const char *assigned = json_get_string(entry, "container_id", NULL);

    *ret_domains = container_domains(entry);
    return (struct container_choice){.named = json_string_value(entry),
                                     .in_context =
                                         assigned ? assigned : tool_call_past_container(call),
                                     .owner_id = *thread ? thread : tool_call_run(call),
                                     .not_stored = !tool_call_is_stored(call),
                                     .moves = true,
                                     .memory_gib = container_memory_gib(entry),
                                     .domains = *ret_domains};
}

/* Code of this context has run in another container, and this one is new. */
static bool is_another(const struct tool_call *call, const struct container_choice *choice,
                       const struct container *container)
{
    const char *past = tool_call_past_container(call);
    const struct container_row *row = container_row(container);

    if (container_is_new(container))
        return *choice->in_context != '\0';
    return *past && strcmp(past, row->id) != 0 &&
           strcmp(row->owner_id, tool_call_run(call)) == 0;
}

static size_t add_ids(const json_t *list, const char **ids)
{
    size_t i;
    json_t *id;

    json_array_foreach (list, i, id)
        ids[i] = json_string_value(id);
    return json_array_size(list);
}

/* Those of the request, and those of the run. */
static enum err_code put_files(const struct tool_call *call, struct container *container,
                               struct err *err)
{
    const json_t *asked = json_object_get(tool_call_wanted_container(call), "file_ids");
    const json_t *files = tool_call_files(call);
    AUTO_FREE const char **ids =
        mem_new_array(const char *, json_array_size(asked) + json_array_size(files) + 1);
    size_t count = add_ids(asked, ids);

    count += add_ids(files, ids + count);
    return container_put_files(container, ids, count, err);
}

/* With those that the run may read without a question. The others are for the tool that asks. */
static enum err_code put_skills(const struct tool_call *call, struct container *container,
                                struct err *err)
{
    struct container_skill more[SKILLS_LIMIT];
    size_t count = 0, i;
    json_t *skill;
    struct err why = {0};
    enum err_code rc;

    json_array_foreach (tool_call_skills(call), i, skill) {
        if (count == SKILLS_LIMIT || json_get_bool(skill, "ask", true))
            continue;
        more[count] = (struct container_skill){0};
        (void)snprintf(more[count].name, sizeof(more[count].name), "%s",
                       json_get_string(skill, "name", ""));
        (void)snprintf(more[count].origin, sizeof(more[count].origin), "%s",
                       skill_version_of(skill));
        (void)snprintf(more[count].skill_id, ID_SIZE, "%s", json_get_string(skill, "id", ""));
        count++;
    }
    rc = container_put_skills(container, more, count, &why);
    if (rc == ERR_LIMIT || rc == ERR_NOT_FOUND) {
        *err = why;
        return rc;
    }
    if (!rc)
        return ERR_OK;
    log_error("container %s: its skills: %s", container_row(container)->id, why.text);
    return err_set(err, rc, "The server could not put the skills into the container.");
}

/* Any tool may have changed files, and clients list them in the next second. */
static void note_files(const struct lent *lent)
{
    struct err err = {0};

    if (lent->noted || container_is_gone(lent->container))
        return;
    if (container_note(lent->container, CONTAINER_FILE_ASSISTANT, lent->call_id, NULL, NULL,
                       &err))
        log_warn("container %s: its files are not noted: %s", lent->base.id, err.text);
}

/* A call may have several boxes one after the other. */
static void give_back(struct lent *lent, struct boxes_hold *hold)
{
    json_auto_t *places = hold ? boxes_places(hold) : NULL;

    if (places && !lent->places)
        lent->places = json_array();
    if (places)
        json_array_extend(lent->places, places);
    boxes_give(hold);
}

static json_t *places_of(void *arg, struct tool_container *base)
{
    struct lent *lent = lent_of(base);

    (void)arg;
    give_back(lent, TAKE(lent->hold));
    return TAKE(lent->places);
}

/* What others write while a call waits for its seat is not the call's. */
static void close_container(void *arg, struct tool_container *base, bool ran)
{
    struct lent *lent = lent_of(base);

    (void)arg;
    boxes_give(lent->hold);
    if (lent->base.lost_shown)
        container_lost_shown(lent->container);
    if (ran)
        note_files(lent);
    container_release(lent->container);
    json_decref(lent->domains);
    json_decref(lent->places);
    free(lent->call_id);
    free(lent->lost);
    free(lent);
}

static enum err_code open_container(void *arg, const struct tool_call *call,
                                    struct tool_container **ret_container, struct err *err)
{
    struct server *server = arg;
    AUTO_FREE char *domains = NULL;
    const struct container_choice choice = choice_of(call, &domains);
    struct container *container = NULL;
    struct lent *lent;
    enum err_code rc;

    if (!server->containers || !server->boxes)
        return err_set(err, ERR_INVALID, "This server executes no code.");
    rc = containers_take(server->containers, tool_call_tenant(call), &choice, &container, err);
    if (rc)
        return rc;
    rc = put_files(call, container, err);
    rc = rc ? rc : put_skills(call, container, err);
    if (rc) {
        container_release(container);
        return rc;
    }
    lent = mem_new(struct lent);
    lent->server = server;
    lent->container = container;
    lent->call_id = mem_strdup(tool_call_id(call));
    lent->base.workspace = container_workspace(container);
    lent->domains = container_domains_within(container_row(container)->domains,
                                             server->config->sandbox_domains);
    lent->base.environment = json_array_size(lent->domains)
                                 ? boxes_network_environment(server->boxes)
                                 : boxes_environment(server->boxes);
    lent->base.timeout_ms = (uint32_t)(server->config->sandbox_exec_timeout * 1000);
    lent->base.timeout_max_ms = (uint32_t)(server->config->sandbox_exec_max * 1000);
    lent->base.output_limit = server->config->sandbox_output;
    memcpy(lent->base.id, container_row(container)->id, ID_SIZE);
    lent->lost = lost_files(container_row(container));
    lent->base.lost = lent->lost;
    if (is_another(call, &choice, container))
        lent->base.lost = lost;
    *ret_container = &lent->base;
    return ERR_OK;
}

/* ---- Its box ---- */

/* What the model reads of a box that it does not get. Why a machine makes none is the operator's to read. */
static enum err_code explain_box(const struct tool_call *call, enum err_code rc,
                                 struct err *err)
{
    const struct err why = *err;

    if (rc == ERR_LIMIT)
        return err_set(err, rc, "The server is out of sandbox memory; try again.");
    if (rc == ERR_CANCELLED)
        return rc;
    log_error("run %s: no box: %s", tool_call_run(call), why.text);
    return err_set(err, rc, "The server could not start the container.");
}

static enum err_code explain(const struct lent *lent, const struct tool_call *call,
                             enum err_code rc, struct err *err)
{
    if (container_is_gone(lent->container)) /* and its folder */
        return err_set(err, ERR_CONFLICT, "The container was deleted.");
    return explain_box(call, rc, err);
}

static size_t list_domains(const json_t *list, const char *ret_domains[CONTAINER_DOMAINS_LIMIT])
{
    size_t count = json_array_size(list);

    if (count > CONTAINER_DOMAINS_LIMIT)
        count = CONTAINER_DOMAINS_LIMIT;
    for (size_t i = 0; i < count; i++)
        ret_domains[i] = json_string_value(json_array_get(list, i));
    return count;
}

/* The roots that a person has allowed for the call. */
static size_t list_roots(const struct tool_own_box *how,
                         struct box_folder ret_folders[OPERATOR_ROOTS_LIMIT],
                         char *ret_targets[OPERATOR_ROOTS_LIMIT])
{
    size_t count = 0;

    for (size_t i = 0; how && how->roots && how->roots[i] && count < OPERATOR_ROOTS_LIMIT;
         i++) {
        const struct operator_root *root = operator_root_find(how->roots[i]);

        if (!root)
            continue;
        ret_targets[count] = mem_printf(WORKSPACE_ROOTS_MOUNT "/%s", root->name);
        ret_folders[count] = (struct box_folder){.source = root->folder,
                                                 .target = ret_targets[count],
                                                 .writable = root->writable && !how->read_only};
        count++;
    }
    return count;
}

static enum err_code take_box(const struct lent *lent, const struct tool_call *call,
                              enum boxes_use use, const struct tool_own_box *how,
                              struct boxes_hold **ret_hold, struct err *err)
{
    const struct container_row *row = container_row(lent->container);
    const char *domains[CONTAINER_DOMAINS_LIMIT];
    struct box_folder folders[OPERATOR_ROOTS_LIMIT];
    char *targets[OPERATOR_ROOTS_LIMIT] = {NULL};
    /* What runs there unasked must not send files away either. */
    bool cut_off = how && how->read_only;
    const struct boxes_request request = {
        .container = lent->base.id,
        .workspace = lent->base.workspace,
        .memory = (uint64_t)row->memory_gib << 30,
        .use = use,
        .read_only = cut_off,
        .folders = folders,
        .folder_count = list_roots(how, folders, targets),
        .had_python = row->had_python,
        .domains = domains,
        .domain_count = cut_off ? 0 : list_domains(lent->domains, domains),
        .cancel = tool_call_cancel_fd(call),
    };
    enum err_code rc = boxes_take(lent->server->boxes, &request, ret_hold, err);

    for (size_t i = 0; i < OPERATOR_ROOTS_LIMIT; i++)
        free(targets[i]);
    return rc ? explain(lent, call, rc, err) : ERR_OK;
}

static enum err_code lend_box(struct lent *lent, const struct tool_call *call,
                              enum boxes_use use, const struct tool_own_box *how,
                              struct box **ret_box, struct err *err)
{
    enum err_code rc = ERR_OK;

    /* A command may have ended it, by its memory: the next one of the call gets another. */
    if (lent->hold && !box_is_alive(boxes_box(lent->hold)))
        give_back(lent, TAKE(lent->hold));
    if (!lent->hold)
        rc = take_box(lent, call, use, how, &lent->hold, err);
    if (!rc)
        *ret_box = boxes_box(lent->hold);
    return rc;
}

static enum err_code box_of(void *arg, const struct tool_call *call,
                            struct tool_container *base, struct box **ret_box, struct err *err)
{
    (void)arg;
    return lend_box(lent_of(base), call, BOXES_COMMAND, NULL, ret_box, err);
}

static enum err_code own_box_of(void *arg, const struct tool_call *call,
                                struct tool_container *base, const struct tool_own_box *how,
                                struct box **ret_box, struct err *err)
{
    (void)arg;
    return lend_box(lent_of(base), call, BOXES_ALONE, how, ret_box, err);
}

/* No command may have more than the operator gives one. */
static uint32_t time_for(const struct server *server, uint32_t wanted_ms)
{
    double most = server->config->sandbox_exec_max * 1000;

    return most < wanted_ms ? (uint32_t)most : wanted_ms;
}

/* Without a container. */
static enum err_code run_bare(void *arg, const struct tool_call *call, uint64_t memory,
                              struct box_run *run, struct box_result *ret_result,
                              struct err *err)
{
    const struct server *server = arg;
    const struct boxes_request request = {.container = "",
                                          .memory = memory,
                                          .use = BOXES_ALONE,
                                          .cancel = tool_call_cancel_fd(call)};
    struct boxes_hold *hold = NULL;
    enum err_code rc = boxes_take(server->boxes, &request, &hold, err);

    if (rc)
        return explain_box(call, rc, err);
    run->command.environment = boxes_environment(server->boxes);
    run->cancel = request.cancel;
    run->timeout_ms = time_for(server, run->timeout_ms);
    rc = box_run(boxes_box(hold), run, ret_result, err);
    boxes_give(hold);
    return rc;
}

/* ---- A cell ---- */

/* A figure, and where in the text it stands. */
struct figure {
    uint64_t at; /* bytes of output before it */
    char *path;  /* ".figures/1.png" */
    struct buf data;
};

struct cell {
    struct kept_output text;
    struct figure *figures;
    size_t figure_count;
    bool with_data;   /* figures travel with the item */
    size_t data_size; /* bytes of those that do */
    size_t kept;      /* files that are now the project's, without figures */
    struct unkept_files unkept;
};

static void cell_clear(struct cell *cell)
{
    kept_output_clear(&cell->text);
    for (size_t i = 0; i < cell->figure_count; i++) {
        free(cell->figures[i].path);
        buf_clear(&cell->figures[i].data);
    }
    free(cell->figures);
    unkept_files_clear(&cell->unkept);
}

static bool take_output(void *argument, const char *bytes, size_t size)
{
    struct cell *cell = argument;

    kept_output_add(&cell->text, bytes, size);
    return true;
}

static bool take_figure(void *argument, const char *path, const char *png, size_t size)
{
    struct cell *cell = argument;
    struct figure *figure;

    cell->figures = mem_resize(cell->figures, cell->figure_count + 1, sizeof(*cell->figures));
    figure = &cell->figures[cell->figure_count++];
    *figure = (struct figure){.at = cell->text.total, .path = mem_strdup(path)};
    if (cell->with_data && size <= TOOL_PICTURES_LIMIT - cell->data_size) {
        base64_add(&figure->data, png, size);
        cell->data_size += size;
    }
    return true;
}

/* ---- What it has made ---- */

static const char *change_name(enum container_change change)
{
    static const char *const names[] = {[CONTAINER_FILE_CREATED] = "created",
                                        [CONTAINER_FILE_CHANGED] = "changed",
                                        [CONTAINER_FILE_DELETED] = "deleted"};

    return names[change];
}

static bool is_figure(const struct cell *cell, const char *path)
{
    for (size_t i = 0; i < cell->figure_count; i++) {
        if (strcmp(cell->figures[i].path, path) == 0)
            return true;
    }
    return false;
}

/* Why a file is not kept, for the model. */
static const char *refusal(enum err_code rc, const struct err *err)
{
    if (err->reason == REASON_STORAGE_QUOTA)
        return "the files of the project have as many bytes as they may";
    return rc == ERR_CONFLICT ? "it was changed while it was copied"
                              : "the server could not copy it";
}

/* Copies a file of the container into the files of the project. What cannot be copied has no id: the call has had its
 * effect. The log says why, and the result says it for the model. NULL: it is kept. */
static const char *keep_file(const struct lent *lent, const struct tenant *tenant,
                             const struct changed_file *changed, char ret_id[ID_SIZE])
{
    struct store *store = lent->server->store;
    struct container_file_row from;
    const char *slash = strrchr(changed->path, '/');
    struct file_row row = {.purpose = (char *)(uintptr_t) "assistants_output",
                           .filename = (char *)(uintptr_t)(slash ? slash + 1 : changed->path),
                           .created_at = clock_wall_us()};
    struct err err = {0};
    enum err_code rc =
        store_container_file_get(store, tenant, lent->base.id, changed->id, &from, &err);

    if (rc)
        return refusal(rc, &err);
    rc = container_copy_out(lent->container, &from, &err);
    if (!rc) {
        id_make(row.id, "file-");
        memcpy(row.blob_id, from.blob_id, sizeof(from.blob_id));
        row.bytes = from.bytes;
        rc = store_file_create(store, tenant, NULL, lent->server->config->max_project_bytes,
                               &row, &err);
    }
    container_file_row_clear(&from);
    if (rc) {
        log_warn("container %s: a file that code has made is not kept: %s", lent->base.id,
                 err.text);
        return refusal(rc, &err);
    }
    memcpy(ret_id, row.id, ID_SIZE);
    return NULL;
}

/* In a thread's run. */
static const char *keep_change(const struct lent *lent, const struct tool_call *call,
                               struct cell *cell, const struct changed_file *changed,
                               bool figure, char ret_id[ID_SIZE])
{
    const char *why;

    if (changed->change == CONTAINER_FILE_DELETED)
        return NULL;
    if (!figure && changed->bytes > DESK_FILE_BYTES_LIMIT)
        return "it has more than 32 MiB";
    if (!figure && cell->kept == DESK_FILES_LIMIT)
        return "this call has made more than 20 files";
    why = keep_file(lent, tool_call_tenant(call), changed, ret_id);
    cell->kept += !figure && !why;
    return why;
}

/* The id by which clients ask for the file; "": they cannot. */
static void find_id(const struct lent *lent, const struct tool_call *call, struct cell *cell,
                    const struct changed_file *changed, bool figure, char ret_id[ID_SIZE])
{
    AUTO_FREE char *path = mem_printf(FOLDER "%s", changed->path);
    const char *why;

    *ret_id = '\0';
    if (!tool_call_keeps_files(call)) {
        memcpy(ret_id, changed->id, ID_SIZE);
        return;
    }
    why = keep_change(lent, call, cell, changed, figure, ret_id);
    if (why)
        unkept_files_add(&cell->unkept, path, why);
}

/* What is listed of a call: its files, and the ids of the figures among them by their paths. */
struct listing {
    json_t *files, *figure_ids;
};

static void list_file(const struct lent *lent, const struct tool_call *call, struct cell *cell,
                      const struct changed_file *changed, bool figure, struct listing *listing)
{
    bool deleted = changed->change == CONTAINER_FILE_DELETED;
    AUTO_FREE char *path = mem_printf(FOLDER "%s", changed->path);
    char id[ID_SIZE];
    json_t *file;

    if (!figure && json_array_size(listing->files) >= DESK_LIST_LIMIT) {
        if (!deleted)
            unkept_files_add(&cell->unkept, path, "this call has changed more than 100 files");
        return;
    }
    find_id(lent, call, cell, changed, figure, id);
    if (figure)
        json_set_string(listing->figure_ids, changed->path, id);
    if (!*id && !deleted)
        return;
    file = json_build("{s:s, s:s, s:I, s:s}", "file_id", id, "path", path, "bytes",
                      (json_int_t)changed->bytes, "change", change_name(changed->change));
    if (figure)
        json_set_bool(file, "figure", true);
    json_array_append_new(listing->files, file);
}

/* Another call of the container may have noted a figure before. */
static void list_missing_figures(const struct lent *lent, const struct tool_call *call,
                                 struct cell *cell, struct listing *listing)
{
    for (size_t i = 0; i < cell->figure_count; i++) {
        CLEANUP(container_file_row_clear) struct container_file_row row = {0};
        struct changed_file found = {.path = cell->figures[i].path,
                                     .change = CONTAINER_FILE_CREATED};
        struct err err;

        if (json_object_get(listing->figure_ids, found.path) ||
            store_container_file_at(lent->server->store, tool_call_tenant(call), lent->base.id,
                                    found.path, &row, &err))
            continue;
        memcpy(found.id, row.id, sizeof(row.id));
        found.bytes = row.bytes;
        list_file(lent, call, cell, &found, true, listing);
    }
}

static void list_files(const struct lent *lent, const struct tool_call *call, struct cell *cell,
                       const struct changed_file *changed, size_t count,
                       struct listing *listing)
{
    for (size_t i = 0; i < count; i++)
        list_file(lent, call, cell, &changed[i], is_figure(cell, changed[i].path), listing);
    list_missing_figures(lent, call, cell, listing);
}

static void add_logs(json_t *outputs, const struct cell *cell, uint64_t from, uint64_t to)
{
    AUTO_FREE char *text = from < to ? kept_output_text(&cell->text, from, to) : NULL;

    if (text && *text)
        json_array_append_new(outputs, json_build("{s:s, s:s}", "type", "logs", "logs", text));
}

/* Text and figures in their order. A figure without an id cannot be fetched, and is left out. */
static json_t *list_outputs(const struct cell *cell, const json_t *figure_ids)
{
    json_t *outputs = json_array();
    uint64_t at = 0;

    for (size_t i = 0; i < cell->figure_count; i++) {
        const struct figure *figure = &cell->figures[i];
        AUTO_FREE char *path = mem_printf(FOLDER "%s", figure->path);
        const char *id = json_get_string(figure_ids, figure->path, "");
        json_t *output;

        if (!*id)
            continue;
        add_logs(outputs, cell, at, figure->at);
        at = figure->at;
        output = json_build("{s:s, s:s, s:s}", "type", "image", "file_id", id, "path", path);
        if (cell->with_data)
            json_set(output, "data",
                     figure->data.length
                         ? json_stringn_nocheck(figure->data.data, figure->data.length)
                         : json_null());
        json_array_append_new(outputs, output);
    }
    add_logs(outputs, cell, at, cell->text.total);
    return outputs;
}

static enum err_code note_made(struct lent *lent, const struct tool_call *call,
                               struct cell *cell, struct tool_run *ret_ran, struct err *err)
{
    struct changed_file *changed = NULL;
    size_t count = 0;
    json_auto_t *figure_ids = json_object();
    struct listing listing = {.figure_ids = figure_ids};
    enum err_code rc = container_note(lent->container, CONTAINER_FILE_ASSISTANT,
                                      tool_call_id(call), &changed, &count, err);

    if (rc)
        return rc;
    lent->noted = true;
    listing.files = ret_ran->files = json_array();
    list_files(lent, call, cell, changed, count, &listing);
    changed_files_free(changed, count);
    ret_ran->outputs = list_outputs(cell, figure_ids);
    return ERR_OK;
}

/* How it ended, if it did not come to its last line; and what the next cell lacks. The caller frees. */
static char *ended_text(const struct server *server, const struct python_result *result)
{
    bool late = result->end == PYTHON_TIMED_OUT;
    AUTO_FREE char *time = mem_printf("timed out after %.6g s; it was interrupted",
                                      server->config->sandbox_exec_timeout);

    if (!late && !*result->notice)
        return NULL;
    return mem_printf("%s%s%s", late ? time : "", late && *result->notice ? "\n" : "",
                      result->notice);
}

static enum err_code run_cell(struct lent *lent, const struct tool_call *call, const char *code,
                              struct cell *cell, struct python_result *ret_result,
                              struct err *err)
{
    struct boxes_hold *hold = NULL;
    struct python_cell request = {
        .code = code,
        .code_size = strlen(code),
        .workspace = lent->base.workspace,
        .timeout_ms = (uint32_t)(lent->server->config->sandbox_exec_timeout * 1000),
        .cancel = tool_call_cancel_fd(call),
        .take_output = take_output,
        .take_figure = take_figure,
        .argument = cell,
    };
    enum err_code rc = container_has_python(lent->container, err);

    if (!rc)
        rc = take_box(lent, call, BOXES_PYTHON, NULL, &hold, err);
    if (rc)
        return rc;
    rc = python_run(boxes_python(hold), &request, ret_result, err);
    give_back(lent, hold);
    return rc;
}

static enum err_code run_python(void *arg, const struct tool_call *call,
                                struct tool_container *base, const char *code,
                                struct tool_run *ret_ran, struct err *err)
{
    const struct server *server = arg;
    struct lent *lent = lent_of(base);
    CLEANUP(cell_clear)
    struct cell cell = {
        .text = {.limit = server->config->sandbox_output},
        .with_data = !tool_call_keeps_files(call),
    };
    struct python_result result = {0};
    enum err_code rc = run_cell(lent, call, code, &cell, &result, err);

    if (rc)
        return rc;
    if (container_is_gone(lent->container))
        return err_set(err, ERR_CONFLICT, "The container was deleted.");
    if (result.end == PYTHON_CANCELLED || result.end == PYTHON_UNWANTED)
        return err_set(err, ERR_CANCELLED, "The code was interrupted.");
    rc = note_made(lent, call, &cell, ret_ran, err);
    if (rc)
        return rc;
    if (result.other_figures)
        unkept_files_add(&cell.unkept, FOLDER ".figures",
                         "it has figures that are too many, too large or no PNG");
    ret_ran->unkept = unkept_files_take(&cell.unkept);
    ret_ran->ended = ended_text(server, &result);
    return ERR_OK;
}

/* What commands have done. */
static enum err_code note_call(void *arg, const struct tool_call *call,
                               struct tool_container *base, struct tool_run *ret_ran,
                               struct err *err)
{
    struct lent *lent = lent_of(base);
    CLEANUP(cell_clear) struct cell nothing = {0};
    enum err_code rc;

    (void)arg;
    if (container_is_gone(lent->container))
        return err_set(err, ERR_CONFLICT, "The container was deleted.");
    rc = note_made(lent, call, &nothing, ret_ran, err);
    if (!rc)
        ret_ran->unkept = unkept_files_take(&nothing.unkept);
    return rc;
}

struct tool_containers container_desk(struct server *server)
{
    return (struct tool_containers){.at_once = server->config->sandbox_calls_per_container,
                                    .open = open_container,
                                    .box = box_of,
                                    .own_box = own_box_of,
                                    .bare = run_bare,
                                    .python = run_python,
                                    .note = note_call,
                                    .places = places_of,
                                    .close = close_container,
                                    .arg = server};
}
