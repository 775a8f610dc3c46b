/*
 * tree.c -- a walk through /proc, from a process to its children.
 */

#include "core/sandbox/tree.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/mem.h"

#define PROCESSES_MAX ((size_t)65536) /* no box has so many */

struct walk {
    pid_t *pids; /* found; those from `next` on are still to be looked at */
    size_t count, next, room;
};

static void add(struct walk *walk, pid_t pid)
{
    if (walk->count == PROCESSES_MAX)
        return;
    if (walk->count == walk->room) {
        walk->room = walk->room ? 2 * walk->room : 64;
        walk->pids = mem_resize(walk->pids, walk->room, sizeof(pid_t));
    }
    walk->pids[walk->count++] = pid;
}

/* Each thread has children of its own. */
static void add_children(struct walk *walk, pid_t pid, const char *thread)
{
    AUTO_FREE char *path = mem_printf("/proc/%d/task/%s/children", pid, thread);
    FILE *file = fopen(path, "re");
    int child;

    while (file && fscanf(file, "%d", &child) == 1)
        add(walk, child);
    if (file)
        (void)fclose(file);
}

static void add_descendants(struct walk *walk, pid_t pid)
{
    AUTO_FREE char *path = mem_printf("/proc/%d/task", pid);
    DIR *threads = opendir(path);
    const struct dirent *entry;

    while (threads && (entry = readdir(threads))) {
        if (*entry->d_name != '.')
            add_children(walk, pid, entry->d_name);
    }
    if (threads)
        (void)closedir(threads);
}

static uint64_t memory_of(pid_t pid)
{
    AUTO_FREE char *path = mem_printf("/proc/%d/smaps_rollup", pid);
    FILE *file = fopen(path, "re");
    unsigned long long kilobytes = 0;
    char line[256];

    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "Pss: %llu kB", &kilobytes) == 1)
            break;
    }
    if (file)
        (void)fclose(file);
    return kilobytes * 1024;
}

void tree_measure(pid_t root, struct tree *ret_tree)
{
    struct walk walk = {0};

    *ret_tree = (struct tree){0};
    add(&walk, root);
    while (walk.next < walk.count) {
        pid_t pid = walk.pids[walk.next++];

        ret_tree->bytes += memory_of(pid);
        add_descendants(&walk, pid);
    }
    ret_tree->processes = walk.count;
    free(walk.pids);
}
