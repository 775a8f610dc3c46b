/*
 * Containers that are in use on this node, and the steps of their lives.
 *
 * A container that is taken has a `use` in a list, shared by all who took it. It is entered before the row is read, and
 * looked for after the row has ended. So either the taker sees that the row has ended, or the end finds the use, and
 * the one who releases it last removes the folder once more: the taker may have made it anew.
 */

#include "core/container/containers.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/lock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/container/containers_internal.h"
#include "core/sandbox/workspace/workspace.h"
#include "core/sandbox/workspace/workspace_trash.h"
#include "core/store/tables/containers/container_moves.h"
#include "core/store/tables/containers/containers.h"

#define TEND_LIMIT ((size_t)100)  /* containers of one statement */
#define TRASH_STEP ((size_t)1000) /* files and folders of one step, some 20 ms */

/* ---- Uses ---- */

/* Any project may name any id: a use is the project's that has begun it. */
static struct use *find_locked(struct containers *containers, const struct tenant *tenant,
                               const char *id) REQUIRES(containers->lock)
{
    for (struct use *use = containers->uses; use; use = use->next)
        if (strcmp(use->id, id) == 0 && strcmp(use->tenant.project, tenant->project) == 0)
            return use;
    return NULL;
}

static struct use *use_begin(struct containers *containers, const struct tenant *tenant,
                             const char *id)
{
    struct use *use;

    lock_acquire(&containers->lock);
    use = find_locked(containers, tenant, id);
    if (!use) {
        use = mem_new(struct use);
        use->tenant = tenant_of_project(tenant->project);
        memcpy(use->id, id, strlen(id) + 1);
        use->next = containers->uses;
        containers->uses = use;
    }
    use->takers++;
    lock_release(&containers->lock);
    return use;
}

/* The last one takes it out of the list. True: it is gone, and its folder may have come back. */
static bool use_end(struct containers *containers, struct use *use, struct use *ret_copy)
{
    bool last, asked;

    lock_acquire(&containers->lock);
    last = --use->takers == 0;
    if (last)
        for (struct use **at = &containers->uses; *at; at = &(*at)->next)
            if (*at == use) {
                *at = use->next;
                break;
            }
    lock_release(&containers->lock);
    if (!last)
        return false;
    memcpy(ret_copy->id, use->id, sizeof(use->id));
    ret_copy->tenant = use->tenant;
    asked = use->asked;
    last = atomic_load(&use->gone);
    free(use);
    if (asked && containers->options.is_free)
        containers->options.is_free(containers->options.argument);
    return last;
}

static void mark_gone(struct containers *containers, const struct tenant *tenant,
                      const char *id)
{
    struct use *use;

    lock_acquire(&containers->lock);
    use = find_locked(containers, tenant, id);
    if (use)
        atomic_store(&use->gone, true);
    lock_release(&containers->lock);
}

/* ---- Ends ---- */

/* After the row has ended: its processes, then its folder. */
static enum err_code remove_folder(struct containers *containers, const struct tenant *tenant,
                                   const char *id, struct err *err)
{
    const struct containers_options *options = &containers->options;

    mark_gone(containers, tenant, id);
    if (options->end)
        options->end(options->argument, id);
    return container_folder_discard(containers, tenant, id, err);
}

static enum err_code clear(struct containers *containers, const struct tenant *tenant,
                           const char *id, struct err *err)
{
    enum err_code rc = remove_folder(containers, tenant, id, err);

    return rc ? rc : store_container_cleared(containers->options.store, tenant, id, err);
}

enum err_code containers_delete(struct containers *containers, const struct tenant *tenant,
                                const char *id, struct err *err)
{
    CLEANUP(container_row_clear) struct container_row row = {0};
    struct store *store = containers->options.store;
    struct err left;
    enum err_code rc = store_container_get(store, tenant, id, &row, err);

    if (!rc)
        rc = store_container_delete(store, tenant, id, err);
    if (rc || strcmp(row.node_id, containers->options.node_id) != 0)
        return rc;
    if (clear(containers, tenant, id, &left))
        log_warn("the folder of %s is removed later: %s", id, left.text);
    return ERR_OK;
}

/* ---- Taking ---- */

enum err_code container_expired(struct err *err)
{
    return err_set(err, ERR_CONFLICT, "Container is expired.");
}

static bool is_here(const struct containers *containers, const struct container_row *row)
{
    return strcmp(row->node_id, containers->options.node_id) == 0;
}

static enum err_code elsewhere(const struct container_row *row, struct err *err)
{
    return err_refuse(err, ERR_STORE, REASON_CONTAINER_ELSEWHERE, NULL,
                      row->giving ? "The container is in use on another server. Try again."
                                  : "The container's server does not answer.");
}

enum err_code containers_check(struct containers *containers, const struct tenant *tenant,
                               const char *id, struct err *err)
{
    CLEANUP(container_row_clear) struct container_row row = {0};
    enum err_code rc = store_container_use(containers->options.store, tenant, id, &row, err);

    if (rc)
        return rc;
    return row.status == CONTAINER_RUNNING ? ERR_OK : container_expired(err);
}

/* Its row, if it runs and its folder is on this node. */
static enum err_code use_here(struct containers *containers, const struct tenant *tenant,
                              const char *id, struct container_row *ret_row, struct err *err)
{
    enum err_code rc;

    if (strlen(id) >= ID_SIZE) /* this server makes shorter ones */
        return container_not_found(id, err);
    rc = store_container_use(containers->options.store, tenant, id, ret_row, err);
    if (!rc && ret_row->status != CONTAINER_RUNNING)
        rc = container_expired(err);
    else if (!rc && !is_here(containers, ret_row))
        rc = elsewhere(ret_row, err);
    return rc;
}

static void container_end(struct container *container)
{
    struct containers *containers = container->all;
    struct use last;
    struct err err;

    workspace_close(container->workspace);
    if (container->use && use_end(containers, container->use, &last) &&
        remove_folder(containers, &last.tenant, last.id, &err))
        log_warn("the folder of %s is removed later: %s", last.id, err.text);
    container_row_clear(&container->row);
    free(container);
}

void container_release(struct container *container)
{
    if (container)
        container_end(container);
}

/* Opens its folder. Takes the row. */
static enum err_code open_folder(struct containers *containers, const struct tenant *tenant,
                                 struct container *container, struct err *err)
{
    const char *id = container->row.id;
    enum err_code rc =
        container_folder_open(containers, tenant, id, &container->workspace, err);

    if (!rc && atomic_load(&container->use->gone))
        rc = container_not_found(id, err);
    return rc;
}

struct container *container_new(struct containers *containers, const struct tenant *tenant,
                                const char *id)
{
    struct container *container = mem_new(struct container);

    container->all = containers;
    container->tenant = tenant_of_project(tenant->project);
    container->use = use_begin(containers, tenant, id);
    return container;
}

/* Its row, once it belongs to this node. */
static enum err_code bring_here(struct container *container, const char *id,
                                enum container_fetching fetching, struct err *err)
{
    struct containers *containers = container->all;
    struct err away = {0};
    enum err_code rc = use_here(containers, &container->tenant, id, &container->row, &away);

    if (away.reason != REASON_CONTAINER_ELSEWHERE) {
        if (rc && err)
            *err = away;
        return rc;
    }
    rc = container_fetch(container, fetching, err);
    container_row_clear(&container->row);
    return rc ? rc : use_here(containers, &container->tenant, id, &container->row, err);
}

/* One that has a row. ERR_CONFLICT: it has expired. */
static enum err_code take(struct containers *containers, const struct tenant *tenant,
                          const char *id, enum container_fetching fetching,
                          struct container **ret_container, struct err *err)
{
    struct container *container;
    enum err_code rc;

    if (strlen(id) >= ID_SIZE) /* this server makes shorter ones */
        return container_not_found(id, err);
    container = container_new(containers, tenant, id);
    container_await_gift(container);
    rc = bring_here(container, id, fetching, err);
    if (!rc && container->row.arriving)
        rc = container_arrive(container, err);
    if (!rc)
        rc = open_folder(containers, tenant, container, err);
    if (rc) {
        container_end(container);
        return rc;
    }
    *ret_container = container;
    return ERR_OK;
}

enum err_code containers_check_here(struct containers *containers, const struct tenant *tenant,
                                    const char *id, struct err *err)
{
    struct container *container;
    enum err_code rc;

    if (strlen(id) >= ID_SIZE)
        return container_not_found(id, err);
    container = container_new(containers, tenant, id);
    rc = bring_here(container, id, FETCH_FROM_DEAD, err);
    container_end(container);
    return rc;
}

static enum container_fetching fetching_of(const struct container_choice *choice)
{
    return choice->moves ? FETCH_FROM_ALL : FETCH_FROM_DEAD;
}

/* The row of the one in the context; false: it cannot serve. */
static enum err_code find_context(struct containers *containers, const struct tenant *tenant,
                                  const struct container_choice *choice,
                                  struct container_row *row, bool *ret_serves, struct err *err)
{
    enum err_code rc;

    *ret_serves = false;
    if (!choice->in_context || !*choice->in_context)
        return ERR_OK;
    rc = store_container_get(containers->options.store, tenant, choice->in_context, row, err);
    if (rc)
        return rc == ERR_NOT_FOUND ? ERR_OK : rc;
    *ret_serves = row->status == CONTAINER_RUNNING &&
                  (!choice->memory_gib || choice->memory_gib == row->memory_gib) &&
                  (!choice->domains || strcmp(choice->domains, row->domains) == 0);
    return ERR_OK;
}

/* The one in the context, if it can serve. *ret_container stays NULL otherwise. */
static enum err_code take_context(struct containers *containers, const struct tenant *tenant,
                                  const struct container_choice *choice,
                                  struct container **ret_container, struct err *err)
{
    CLEANUP(container_row_clear) struct container_row row = {0};
    bool serves;
    enum err_code rc = find_context(containers, tenant, choice, &row, &serves, err);

    if (rc || !serves)
        return rc;
    rc = take(containers, tenant, row.id, fetching_of(choice), ret_container, err);
    /* It may end between the two looks. */
    return rc == ERR_NOT_FOUND || rc == ERR_CONFLICT ? ERR_OK : rc;
}

void containers_undo(struct containers *containers, const struct tenant *tenant, const char *id)
{
    struct err err;

    if (containers_delete(containers, tenant, id, &err))
        log_info("%s, which was not made, stays until it expires: %s", id, err.text);
}

/* The row of the owner's container, which is made if it is missing. */
static enum err_code find_owned(struct containers *containers, const struct tenant *tenant,
                                const struct container_choice *choice,
                                struct container_row *row, bool *ret_made, struct err *err)
{
    const struct containers_options *options = &containers->options;

    *row = (struct container_row){
        .name = mem_strdup("auto"),
        .node_id = mem_strdup(options->node_id),
        .memory_gib = choice->memory_gib,
        .domains = mem_strdup(choice->domains),
        .idle_seconds = options->idle_seconds,
    };
    id_make(row->id, "cntr_");
    memcpy(row->owner_id, choice->owner_id, strlen(choice->owner_id) + 1);
    return store_container_of_owner(options->store, tenant, options->per_project, CONTAINER_GIB,
                                    row, ret_made, err);
}

/* A row, and then its folder. A row whose folder cannot be made goes again. */
static enum err_code try_owned(struct containers *containers, const struct tenant *tenant,
                               const struct container_choice *choice,
                               struct container **ret_container, struct err *err)
{
    CLEANUP(container_row_clear) struct container_row row = {0};
    bool made = false;
    enum err_code rc = find_owned(containers, tenant, choice, &row, &made, err);

    if (!rc)
        rc = take(containers, tenant, row.id, fetching_of(choice), ret_container, err);
    if (rc && made)
        containers_undo(containers, tenant, row.id);
    if (!rc)
        (*ret_container)->is_new = made;
    return rc;
}

enum err_code containers_assign(struct containers *containers, const struct tenant *tenant,
                                const struct container_choice *choice,
                                struct container_row *ret_row, bool *ret_made, struct err *err)
{
    bool serves;
    enum err_code rc = find_context(containers, tenant, choice, ret_row, &serves, err);

    *ret_made = false;
    if (rc || serves)
        return rc;
    container_row_clear(ret_row);
    return find_owned(containers, tenant, choice, ret_row, ret_made, err);
}

/* One of which a dead node has left nothing expires when it is taken. The second time there is a new one. */
static enum err_code take_owned(struct containers *containers, const struct tenant *tenant,
                                const struct container_choice *choice,
                                struct container **ret_container, struct err *err)
{
    enum err_code rc = try_owned(containers, tenant, choice, ret_container, err);

    return rc == ERR_CONFLICT ? try_owned(containers, tenant, choice, ret_container, err) : rc;
}

enum err_code containers_take(struct containers *containers, const struct tenant *tenant,
                              const struct container_choice *choice,
                              struct container **ret_container, struct err *err)
{
    struct container *container = NULL;
    enum err_code rc =
        choice->named
            ? take(containers, tenant, choice->named, fetching_of(choice), &container, err)
            : take_context(containers, tenant, choice, &container, err);

    if (!rc && !container)
        rc = take_owned(containers, tenant, choice, &container, err);
    if (rc)
        return rc;
    container->copies_nothing = choice->not_stored;
    *ret_container = container;
    return ERR_OK;
}

enum err_code containers_create(struct containers *containers, const struct tenant *tenant,
                                const struct idempotency *idempotency,
                                struct container_row *row, struct err *err)
{
    const struct containers_options *options = &containers->options;

    row->node_id = mem_strdup(options->node_id);
    return store_container_create(options->store, tenant, idempotency, options->per_project,
                                  row, err);
}

/* ---- What a container is ---- */

const struct container_row *container_row(const struct container *container)
{
    return &container->row;
}

bool container_is_new(const struct container *container)
{
    return container->is_new;
}

bool container_is_gone(const struct container *container)
{
    return atomic_load(&container->use->gone);
}

struct workspace *container_workspace(const struct container *container)
{
    return container->workspace;
}

void container_lost_shown(struct container *container)
{
    struct err err;

    if (container->row.lost &&
        store_container_lost_shown(container->all->options.store, &container->tenant,
                                   container->row.id, &err))
        log_info("container %s: what it has lost is shown again: %s", container->row.id,
                 err.text);
}

enum err_code container_has_python(struct container *container, struct err *err)
{
    if (container->row.had_python)
        return ERR_OK;
    return store_container_has_python(container->all->options.store, &container->tenant,
                                      container->row.id, err);
}

/* ---- The keeper's ---- */

/* The ids of what is in use now; the caller frees. */
static size_t list_uses(struct containers *containers, struct left_container **ret_uses)
{
    size_t count = 0;

    lock_acquire(&containers->lock);
    for (const struct use *use = containers->uses; use; use = use->next)
        count++;
    *ret_uses = mem_new_array(struct left_container, count + 1);
    count = 0;
    for (const struct use *use = containers->uses; use; use = use->next) {
        (*ret_uses)[count].tenant = use->tenant;
        memcpy((*ret_uses)[count++].id, use->id, sizeof(use->id));
    }
    lock_release(&containers->lock);
    return count;
}

/* Another node may have deleted one: its row is found by clear_left(). */
static enum err_code touch_uses(struct containers *containers, struct err *err)
{
    AUTO_FREE struct left_container *uses = NULL;
    size_t count = list_uses(containers, &uses);
    enum err_code rc = ERR_OK;

    for (size_t i = 0; !rc && i < count; i++) {
        CLEANUP(container_row_clear) struct container_row row = {0};

        rc = store_container_use(containers->options.store, &uses[i].tenant, uses[i].id, &row,
                                 err);
        if (rc == ERR_NOT_FOUND)
            rc = ERR_OK;
    }
    return rc;
}

/* It may come back meanwhile: then the folder is that of now, or none yet. */
static enum err_code clear_moved(struct containers *containers, const struct tenant *tenant,
                                 const char *id, struct err *err)
{
    const struct containers_options *options = &containers->options;
    struct container *container = container_new(containers, tenant, id);
    struct err gone = {0};
    enum err_code rc;

    container_begin_put(container);
    rc = store_container_get(options->store, tenant, id, &container->row, &gone);
    if (rc == ERR_NOT_FOUND || (!rc && !is_here(containers, &container->row))) {
        if (options->end)
            options->end(options->argument, id);
        rc = container_folder_discard(containers, tenant, id, err);
        if (!rc)
            rc =
                store_container_left_cleared(options->store, tenant, id, options->node_id, err);
    } else if (rc && err) {
        *err = gone;
    }
    container_end_put(container);
    container_end(container);
    return rc;
}

/* A folder that cannot be removed now is tried again the next time, and keeps no other waiting. */
static enum err_code clear_left(struct containers *containers, struct err *err)
{
    AUTO_FREE struct left_container *left = NULL;
    size_t count;
    enum err_code rc = store_containers_left(
        containers->options.store, containers->options.node_id, TEND_LIMIT, &left, &count, err);

    for (size_t i = 0; !rc && i < count; i++) {
        struct err why;

        if ((left[i].moved ? clear_moved : clear)(containers, &left[i].tenant, left[i].id,
                                                  &why))
            log_warn("the folder of %s is removed later: %s", left[i].id, why.text);
    }
    return rc;
}

enum err_code containers_tend(struct containers *containers, struct err *err)
{
    struct store *store = containers->options.store;
    size_t count = TEND_LIMIT;
    enum err_code rc = touch_uses(containers, err);

    while (!rc && count == TEND_LIMIT)
        rc = store_containers_expire(store, TEND_LIMIT, &count, err);
    if (!rc)
        rc = clear_left(containers, err);
    count = TEND_LIMIT;
    while (!rc && count == TEND_LIMIT)
        rc = store_containers_forget(store, TEND_LIMIT, &count, err);
    return rc;
}

bool containers_empty_trash(struct containers *containers)
{
    return workspace_trash_empty(containers->options.workspaces, TRASH_STEP);
}

/* ---- The whole ---- */

enum err_code containers_open(const struct containers_options *options,
                              struct containers **ret_containers, struct err *err)
{
    struct containers *containers = mem_new(struct containers);
    enum err_code rc;

    containers->options = *options;
    containers->node_id = mem_strdup(options->node_id);
    containers->options.node_id = containers->node_id;
    lock_init(&containers->lock, LOCK_CONTAINERS);
    lock_cond_init(&containers->put_ended);
    lock_cond_init(&containers->answered);
    rc = container_folders_sweep(containers, err);
    if (rc) {
        containers_free(containers);
        return rc;
    }
    *ret_containers = containers;
    return ERR_OK;
}

void containers_free(struct containers *containers)
{
    if (!containers)
        return;
    pthread_cond_destroy(&containers->put_ended);
    pthread_cond_destroy(&containers->answered);
    lock_destroy(&containers->lock);
    free(containers->node_id);
    free(containers);
}
