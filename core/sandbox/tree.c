/*
 * tree.c -- a walk through /proc, from a process to its children.
 */

#include "core/sandbox/tree.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

#define PROCESSES_MAX ((size_t)65536) /* no box has so many */

struct found {
    pid_t pid;
    size_t level; /* 0: the root */
};

struct walk {
    struct found *found; /* those from `next` on are still to be looked at */
    size_t count, next, room;
};

static void add(struct walk *walk, pid_t pid, size_t level)
{
    if (walk->count == PROCESSES_MAX)
        return;
    if (walk->count == walk->room) {
        walk->room = walk->room ? 2 * walk->room : 64;
        walk->found = mem_resize(walk->found, walk->room, sizeof(*walk->found));
    }
    walk->found[walk->count++] = (struct found){pid, level};
}

/* Each thread has children of its own. */
static void add_children(struct walk *walk, struct found parent, const char *thread)
{
    AUTO_FREE char *path = mem_printf("/proc/%d/task/%s/children", parent.pid, thread);
    FILE *file = fopen(path, "re");
    int child;

    while (file && fscanf(file, "%d", &child) == 1)
        add(walk, child, parent.level + 1);
    if (file)
        (void)fclose(file);
}

static void add_descendants(struct walk *walk, struct found parent)
{
    AUTO_FREE char *path = mem_printf("/proc/%d/task", parent.pid);
    DIR *threads = opendir(path);
    const struct dirent *entry;

    while (threads && (entry = readdir(threads))) {
        if (*entry->d_name != '.')
            add_children(walk, parent, entry->d_name);
    }
    if (threads)
        (void)closedir(threads);
}

/* Adds up the lines that begin with one of the names. False: there is no such line. */
static bool sum_lines(pid_t pid, const char *name, const char *const *lines,
                      uint64_t *ret_bytes)
{
    AUTO_FREE char *path = mem_printf("/proc/%d/%s", pid, name);
    FILE *file = fopen(path, "re");
    uint64_t bytes = 0;
    bool any = false;
    char line[256];

    while (file && fgets(line, sizeof(line), file)) {
        for (size_t i = 0; lines[i]; i++) {
            size_t length = strlen(lines[i]);

            if (strncmp(line, lines[i], length) != 0)
                continue;
            bytes += strtoull(line + length, NULL, 10) * 1024;
            any = true;
        }
    }
    if (file)
        (void)fclose(file);
    *ret_bytes = bytes;
    return any;
}

static uint64_t memory_of(struct found process, size_t trusted)
{
    static const char *const proportional[] = {"Pss:", NULL};
    static const char *const hidden[] = {"RssAnon:", "RssShmem:", NULL};
    uint64_t bytes;

    if (!sum_lines(process.pid, "smaps_rollup", proportional, &bytes) &&
        process.level >= trusted)
        (void)sum_lines(process.pid, "status", hidden, &bytes);
    return bytes;
}

void tree_measure(pid_t root, size_t trusted, struct tree *ret_tree)
{
    struct walk walk = {0};

    *ret_tree = (struct tree){0};
    add(&walk, root, 0);
    while (walk.next < walk.count) {
        struct found process = walk.found[walk.next++];

        ret_tree->bytes += memory_of(process, trusted);
        add_descendants(&walk, process);
    }
    ret_tree->processes = walk.count;
    free(walk.found);
}
