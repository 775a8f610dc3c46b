/*
 * cgroup.c -- files below /sys/fs/cgroup.
 */

#include "core/sandbox/cgroup.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/mem.h"

/* The first line of a file, without its end. False if it cannot be read. */
static bool read_line(const char *folder, const char *name, char *ret_line, size_t size)
{
    AUTO_FREE char *path = mem_printf("%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    bool done = file && fgets(ret_line, (int)size, file);

    if (file)
        (void)fclose(file);
    if (done)
        ret_line[strcspn(ret_line, "\n")] = '\0';
    return done;
}

static bool has_word(const char *line, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = line; (at = strstr(at, word)); at += length) {
        if ((at == line || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    }
    return false;
}

/* The line "0::PATH" is the one of version 2. */
static bool read_membership(const char *path, char *ret_group, size_t size)
{
    FILE *file = fopen(path, "re");
    bool found = false;

    while (file && !found && fgets(ret_group, (int)size, file))
        found = strncmp(ret_group, "0::/", 4) == 0;
    if (file)
        (void)fclose(file);
    if (found) {
        ret_group[strcspn(ret_group, "\n")] = '\0';
        memmove(ret_group, ret_group + 3, strlen(ret_group + 3) + 1);
    }
    return found;
}

enum err_code cgroup_find(const char *mount, const char *membership, char **ret_folder,
                          struct err *err)
{
    static const char *const needed[] = {"memory", "pids"};
    char group[PATH_MAX], line[512];
    AUTO_FREE char *folder = NULL, *members = NULL;

    if (!read_line(mount, "cgroup.controllers", line, sizeof(line)) ||
        !read_membership(membership, group, sizeof(group)))
        return err_set(err, ERR_NOT_FOUND, "cgroups of version 2 are not in %s", mount);
    folder = mem_printf("%s%s", mount, strcmp(group, "/") == 0 ? "" : group);
    members = mem_printf("%s/cgroup.procs", folder);
    if (access(folder, W_OK) != 0 || access(members, W_OK) != 0 ||
        !read_line(folder, "cgroup.controllers", line, sizeof(line)))
        return err_set(err, ERR_NOT_FOUND, "the server's cgroup is not delegated to it");
    for (size_t i = 0; i < COUNT_OF(needed); i++) {
        if (!has_word(line, needed[i]))
            return err_set(err, ERR_NOT_FOUND, "the server's cgroup has no controller \"%s\"",
                           needed[i]);
    }
    *ret_folder = TAKE(folder);
    return ERR_OK;
}
