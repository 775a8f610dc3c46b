/*
 * cgroup.c -- files below /sys/fs/cgroup.
 */

#include "core/sandbox/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/base/mem.h"

#define OWN "runnel"
#define BOX "box-"

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

/* The part of a server that was started from where an earlier one has made its own: it is the same place. */
static void leave_own_part(char *group)
{
    size_t length = strlen(group), own = strlen("/" OWN);

    if (length >= own && strcmp(group + length - own, "/" OWN) == 0)
        group[length - own] = '\0';
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
    leave_own_part(group);
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

/* ---- The server's own ---- */

static bool write_text(const char *folder, const char *name, const char *text)
{
    AUTO_FREE char *path = mem_printf("%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0)
        close(fd);
    return done;
}

bool cgroup_is_delegated(const char *folder)
{
    static const char *const names[] = {"user.delegate", "trusted.delegate"};
    char value = '0';

    if (access("/run/systemd/system", F_OK) != 0)
        return true;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (getxattr(folder, names[i], &value, 1) == 1 && value == '1')
            return true;
    }
    return false;
}

/* False: one of them cannot be moved. */
static bool move_all(const char *from, const char *to)
{
    AUTO_FREE char *path = mem_printf("%s/cgroup.procs", from);
    FILE *file = fopen(path, "re");
    char line[32];
    bool done = file != NULL;

    while (done && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = '\0';
        /* One that has ended meanwhile is none. */
        done = write_text(to, "cgroup.procs", line) || errno == ESRCH;
    }
    if (file)
        (void)fclose(file);
    return done;
}

/* The first of all cgroups may have processes of its own; it alone has no type. */
enum err_code cgroup_prepare(const char *folder, struct err *err)
{
    AUTO_FREE char *type = mem_printf("%s/cgroup.type", folder);
    AUTO_FREE char *own = mem_printf("%s/" OWN, folder);
    bool done = true;

    if (access(type, F_OK) == 0)
        done = (mkdir(own, 0755) == 0 || errno == EEXIST) && move_all(folder, own);
    if (!done || !write_text(folder, "cgroup.subtree_control", "+memory +pids"))
        return err_set(err, ERR_NOT_FOUND, "the server's cgroup cannot be divided: %s",
                       strerror(errno));
    (void)write_text(folder, "cgroup.subtree_control", "+cpu");
    (void)write_text(folder, "cgroup.subtree_control", "+io");
    return ERR_OK;
}

/* ---- Of a box ---- */

/* What no kernel needs to have is optional: swap accounting, and the controllers of processors and disks. */
static bool set_limits(const char *cgroup, const struct cgroup_limits *limits)
{
    AUTO_FREE char *memory = mem_printf("%llu", (unsigned long long)limits->memory);
    AUTO_FREE char *processes = mem_printf("%u", limits->processes);
    AUTO_FREE char *cpus = mem_printf("%llu 100000", (unsigned long long)limits->cpus * 100000);

    if (limits->memory && (!write_text(cgroup, "memory.max", memory) ||
                           !write_text(cgroup, "memory.oom.group", "1")))
        return false;
    if (limits->memory)
        (void)write_text(cgroup, "memory.swap.max", "0");
    if (limits->processes && !write_text(cgroup, "pids.max", processes))
        return false;
    if (limits->cpus) {
        (void)write_text(cgroup, "cpu.max", cpus);
        /* Of 100, which the server has. */
        (void)write_text(cgroup, "cpu.weight", "10");
        (void)write_text(cgroup, "io.weight", "10");
    }
    return true;
}

enum err_code cgroup_make(const char *folder, const char *name,
                          const struct cgroup_limits *limits, char **ret_cgroup,
                          struct err *err)
{
    AUTO_FREE char *cgroup = mem_printf("%s/" BOX "%s", folder, name);

    if (mkdir(cgroup, 0755) != 0 || !set_limits(cgroup, limits)) {
        err_set(err, ERR_INTERNAL, "cannot limit a box by a cgroup: %s", strerror(errno));
        (void)rmdir(cgroup);
        return ERR_INTERNAL;
    }
    *ret_cgroup = TAKE(cgroup);
    return ERR_OK;
}

bool cgroup_join(const char *cgroup)
{
    return write_text(cgroup, "cgroup.procs", "0");
}

void cgroup_kill(const char *cgroup)
{
    (void)write_text(cgroup, "cgroup.kill", "1");
}

bool cgroup_is_over_memory(const char *cgroup)
{
    AUTO_FREE char *path = mem_printf("%s/memory.events", cgroup);
    FILE *file = fopen(path, "re");
    unsigned long long count = 0;
    char line[64];

    while (file && fgets(line, sizeof(line), file))
        (void)sscanf(line, "oom_kill %llu", &count);
    if (file)
        (void)fclose(file);
    return count > 0;
}

int cgroup_watch(const char *cgroup)
{
    AUTO_FREE char *path = mem_printf("%s/cgroup.events", cgroup);

    return open(path, O_RDONLY | O_CLOEXEC);
}

bool cgroup_remove(const char *cgroup, int watch)
{
    char text[128];

    /* What was read does not wake poll() again. */
    (void)!pread(watch, text, sizeof(text), 0);
    return rmdir(cgroup) == 0 || errno != EBUSY;
}

void cgroup_sweep(const char *folder, pid_t server)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        AUTO_FREE char *cgroup = mem_printf("%s/%s", folder, entry->d_name);
        long maker;

        if (strncmp(entry->d_name, BOX, strlen(BOX)) != 0)
            continue;
        maker = strtol(entry->d_name + strlen(BOX), NULL, 10);
        if (maker <= 0 || (maker != server && (kill((pid_t)maker, 0) == 0 || errno != ESRCH)))
            continue;
        cgroup_kill(cgroup);
        (void)rmdir(cgroup);
    }
    if (dir)
        (void)closedir(dir);
}
