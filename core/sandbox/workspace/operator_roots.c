#include "core/sandbox/workspace/operator_roots.h"

#include <string.h>

#include "core/base/buf.h"

static const struct operator_root *all;
static size_t all_count;

void operator_roots_set(const struct operator_root *roots, size_t count)
{
    all = roots;
    all_count = count;
}

const struct operator_root *operator_root_find(const char *name)
{
    for (size_t i = 0; i < all_count; i++) {
        if (strcmp(all[i].name, name) == 0)
            return &all[i];
    }
    return NULL;
}

char *operator_roots_note(void)
{
    AUTO_BUF note = {0};

    for (size_t i = 0; i < all_count; i++)
        buf_addf(&note, "%s /mnt/roots/%s%s",
                 i ? "," : "Folders beside the workspace, which a person must allow:",
                 all[i].name, all[i].writable ? "" : " (read only)");
    return note.length ? buf_take(&note) : NULL;
}
