#include "handlers/support/root_call.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "handlers/support/workspace_call.h"

static enum err_code no_root(const char *name, struct err *err)
{
    return err_set(err, ERR_FORBIDDEN, "There is no folder " WORKSPACE_ROOTS_MOUNT "/%s.",
                   name);
}

enum err_code call_workspace_at(struct tool_call *call, const char *path,
                                const struct workspace **ret_workspace, struct err *err)
{
    AUTO_FREE char *name = workspace_path_root(path, NULL);
    const struct operator_root *root = name ? operator_root_find(name) : NULL;

    if (!name)
        return call_workspace(call, ret_workspace, err);
    if (!root)
        return no_root(name, err);
    *ret_workspace = root->workspace;
    return ERR_OK;
}

/* ---- Questions ---- */

/* "shared:/reports/" and a star. The caller frees. */
static char *pattern_of(const char *name, const char *path, enum root_use use)
{
    const char *slash = strrchr(path, '/');

    if (use == ROOT_READS_FOLDER && strcmp(path, ".") != 0)
        return mem_printf("%s:/%s/*", name, path);
    if (!slash || use == ROOT_READS_FOLDER)
        return mem_printf("%s:/*", name);
    return mem_printf("%s:/%.*s/*", name, (int)(slash - path), path);
}

static bool is_folder(const struct operator_root *root, const char *path)
{
    struct workspace_stat stat;

    return workspace_stat(root->workspace, path, &stat, NULL) == ERR_OK &&
           stat.kind == WORKSPACE_FOLDER;
}

enum err_code root_call_ask(struct tool_call *call, const char *operation, const char *path,
                            enum root_use use, struct err *err)
{
    AUTO_FREE char *inner = NULL;
    AUTO_FREE char *name = workspace_path_root(path, &inner);
    const struct operator_root *root = name ? operator_root_find(name) : NULL;
    AUTO_FREE char *pattern = NULL, *title = NULL;
    const char *patterns[2] = {NULL};

    if (!name)
        return ERR_OK;
    if (!root)
        return no_root(name, err);
    if (use == ROOT_WRITES && !root->writable)
        return err_set(err, ERR_FORBIDDEN, WORKSPACE_ROOTS_MOUNT "/%s can only be read.", name);
    if (use == ROOT_READS_FOLDER && !is_folder(root, path))
        use = ROOT_READS;
    patterns[0] = pattern = pattern_of(name, inner, use);
    title = mem_printf("%s: %.200s", operation, path);
    return tool_call_ask(call,
                         &(struct tool_permission){
                             .type = ROOT_PERMISSION,
                             .patterns = patterns,
                             .title = title,
                             .metadata = json_build("{s:s, s:s, s:s}", "file_path", path,
                                                    "root", name, "operation", operation),
                         },
                         err);
}

json_t *root_call_note(const struct tool_context *context)
{
    AUTO_FREE char *note = operator_roots_note();

    (void)context;
    return json_build("{s:s*}", "note", note);
}

/* ---- Command lines ---- */

static void add(struct root_names *names, const char *name)
{
    const struct operator_root *root = operator_root_find(name);

    for (size_t i = 0; root && i < names->count; i++) {
        if (names->names[i] == root->name)
            return;
    }
    if (root && names->count < OPERATOR_ROOTS_LIMIT)
        names->names[names->count++] = root->name;
}

void root_names_find(const char *line, struct root_names *names)
{
    static const char mount[] = WORKSPACE_ROOTS_MOUNT "/";

    for (const char *at = line; (at = strstr(at, mount));) {
        size_t length;

        at += strlen(mount);
        length = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789-");
        if (length && length <= WORKSPACE_ROOT_NAME_LIMIT) {
            AUTO_FREE char *name = mem_strndup(at, length);

            add(names, name);
        }
    }
}
