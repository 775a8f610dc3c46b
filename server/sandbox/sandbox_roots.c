#include "server/sandbox/sandbox_roots.h"

#include <stdlib.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/sandbox/workspace/operator_roots.h"
#include "core/sandbox/workspace/workspace.h"
#include "server/config/yaml.h"

struct sandbox_roots {
    struct operator_root list[OPERATOR_ROOTS_LIMIT];
    size_t count;
};

void sandbox_roots_close(struct sandbox_roots *roots)
{
    if (!roots)
        return;
    operator_roots_set(NULL, 0);
    for (size_t i = 0; i < roots->count; i++)
        workspace_close(roots->list[i].workspace);
    free(roots);
}

static enum err_code open_root(const json_t *entry, struct workspaces *workspaces,
                               struct operator_root *ret_root, struct err *err)
{
    const char *name = json_get_string(entry, "name", "");
    bool writable = false;
    struct err why = {0};

    (void)config_switch_parse(json_get_string(entry, "writable", ""), &writable);
    if (workspace_open_root(workspaces, name, json_get_string(entry, "path", ""), writable,
                            &ret_root->workspace, &why))
        return err_set(err, ERR_INVALID, "sandbox.roots: %s: %s", name, why.text);
    ret_root->name = name;
    ret_root->folder = workspace_folder(ret_root->workspace);
    ret_root->writable = writable;
    return ERR_OK;
}

enum err_code sandbox_roots_open(const struct config *config, struct workspaces *workspaces,
                                 struct sandbox_roots **ret_roots, struct err *err)
{
    struct sandbox_roots *roots = mem_new(struct sandbox_roots);
    size_t i;
    json_t *entry;

    json_array_foreach (config->sandbox_roots, i, entry) {
        enum err_code rc = open_root(entry, workspaces, &roots->list[roots->count], err);

        if (rc) {
            sandbox_roots_close(roots);
            return rc;
        }
        roots->count++;
    }
    operator_roots_set(roots->list, roots->count);
    *ret_roots = roots;
    return ERR_OK;
}
