#ifndef RUNNEL_CORE_SANDBOX_TREE_H
#define RUNNEL_CORE_SANDBOX_TREE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * tree.h -- how much memory a process and its descendants have, together.
 *
 * The kernel limits each process, and not their sum. So the spawner looks. What
 * processes share is counted once (PSS).
 */

struct tree {
    size_t processes;
    uint64_t bytes;
};

/* Goes through /proc. A process that ends meanwhile is left out. */
void tree_measure(pid_t root, struct tree *ret_tree);

#endif
