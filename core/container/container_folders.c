/*
 * The folders of containers on this node's disk, and the users that they belong to.
 *
 * Where the server is root, each folder has a user of its own, so that a program that has left its box still cannot
 * read the files of another. Users are numbers without accounts. A free one is searched from a place that the
 * container's id chooses. Should all be taken, the last one found is shared.
 */

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fault.h"
#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/container/containers_internal.h"
#include "core/sandbox/workspace/workspace.h"
#include "core/sandbox/workspace/workspace_trash.h"
#include "core/store/tables/containers/containers.h"

/* ---- Users ---- */

static bool is_taken_locked(const struct containers *containers, uint32_t n)
    REQUIRES(containers->lock)
{
    return containers->users[n / 8] & (1u << n % 8);
}

static uint32_t take_user(struct containers *containers, const char *id)
{
    uint32_t n = hash_text(id) % CONTAINER_USERS;

    if (!containers->options.first_user)
        return 0;
    lock_acquire(&containers->lock);
    for (size_t i = 0; i < CONTAINER_USERS && is_taken_locked(containers, n); i++)
        n = (n + 1) % CONTAINER_USERS;
    containers->users[n / 8] |= (uint8_t)(1u << n % 8);
    lock_release(&containers->lock);
    return containers->options.first_user + n;
}

enum user_use { USER_FREE, USER_TAKEN };

static void note_user(struct containers *containers, uint32_t user, enum user_use use)
{
    uint32_t n = user - containers->options.first_user;

    if (!containers->options.first_user || n >= CONTAINER_USERS)
        return;
    lock_acquire(&containers->lock);
    containers->users[n / 8] &= (uint8_t) ~(1u << n % 8);
    if (use == USER_TAKEN)
        containers->users[n / 8] |= (uint8_t)(1u << n % 8);
    lock_release(&containers->lock);
}

/* ---- Folders ---- */

enum err_code container_folder_open(struct containers *containers, const struct tenant *tenant,
                                    const char *id, struct workspace **ret_workspace,
                                    struct err *err)
{
    struct workspaces *workspaces = containers->options.workspaces;
    enum err_code rc;

    if (FAULT("container.folder"))
        return err_set(err, ERR_INTERNAL, "injected failure");
    rc = workspace_open(workspaces, tenant->project, id, ret_workspace, err);
    if (rc != ERR_NOT_FOUND)
        return rc;
    return workspace_make(workspaces, tenant->project, id, take_user(containers, id),
                          ret_workspace, err);
}

enum err_code container_folder_discard(struct containers *containers,
                                       const struct tenant *tenant, const char *id,
                                       struct err *err)
{
    struct workspaces *workspaces = containers->options.workspaces;
    struct workspace *workspace;
    enum err_code rc = workspace_open(workspaces, tenant->project, id, &workspace, err);
    uint32_t user = 0;

    if (!rc) {
        user = workspace_user(workspace);
        workspace_close(workspace);
    }
    if (FAULT("container.trash"))
        return err_set(err, ERR_INTERNAL, "injected failure");
    rc = workspace_discard(workspaces, tenant->project, id, err);
    if (!rc)
        note_user(containers, user, USER_FREE);
    return rc;
}

/* ---- What a crash has left ---- */

static enum err_code keep_or_discard(struct containers *containers, const struct tenant *tenant,
                                     const char *id, struct err *err)
{
    CLEANUP(container_row_clear) struct container_row row = {0};
    struct workspace *workspace;
    enum err_code rc = store_container_get(containers->options.store, tenant, id, &row, err);

    if (rc && rc != ERR_NOT_FOUND)
        return rc;
    if (rc || row.status != CONTAINER_RUNNING ||
        strcmp(row.node_id, containers->options.node_id) != 0) {
        log_info("the folder of %s, which has ended, goes to the trash", id);
        return workspace_discard(containers->options.workspaces, tenant->project, id, err);
    }
    rc = workspace_open(containers->options.workspaces, tenant->project, id, &workspace, err);
    if (rc == ERR_NOT_FOUND)
        return ERR_OK; /* half made when the server was killed; the next call makes the rest */
    if (rc)
        return rc;
    note_user(containers, workspace_user(workspace), USER_TAKEN);
    workspace_close(workspace);
    return ERR_OK;
}

/* Calls back for each name in a folder that can be that of a project or a container. */
static enum err_code each_name(const char *folder, const struct tenant *tenant,
                               struct containers *containers,
                               enum err_code (*visit)(struct containers *containers,
                                                      const struct tenant *tenant,
                                                      const char *name, struct err *err),
                               struct err *err)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    enum err_code rc = ERR_OK;

    if (!dir)
        return errno == ENOENT
                   ? ERR_OK
                   : err_set(err, ERR_INTERNAL, "cannot read %s: %s", folder, strerror(errno));
    while (!rc && (entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.')
            rc = visit(containers, tenant, entry->d_name, err);
    closedir(dir);
    return rc;
}

static char *root_of(const struct containers *containers)
{
    return mem_printf("%s/workspaces",
                      workspaces_options(containers->options.workspaces)->data_dir);
}

static enum err_code visit_project(struct containers *containers, const struct tenant *none,
                                   const char *name, struct err *err)
{
    AUTO_FREE char *root = root_of(containers);
    AUTO_FREE char *folder = mem_printf("%s/%s", root, name);
    struct tenant tenant;

    (void)none;
    if (strlen(name) >= sizeof(tenant.project)) /* not made here */
        return ERR_OK;
    tenant = tenant_of_project(name);
    return each_name(folder, &tenant, containers, keep_or_discard, err);
}

enum err_code container_folders_sweep(struct containers *containers, struct err *err)
{
    AUTO_FREE char *root = root_of(containers);

    return each_name(root, NULL, containers, visit_project, err);
}
