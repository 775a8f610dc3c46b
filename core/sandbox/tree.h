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
 *
 * A process can forbid to look at that (PR_SET_DUMPABLE). Then its own and its shared pages count, each time: who hides
 * is counted too high and not too low. The sandbox's own processes hide, too, and share the pages of one program, so
 * hidden ones of the first levels count as nothing.
 */

struct tree {
    size_t processes;
    uint64_t bytes;
};

/* Goes through /proc. A process that ends meanwhile is left out. `trusted`: how many levels are the sandbox's own, from
 * the root on. */
void tree_measure(pid_t root, size_t trusted, struct tree *ret_tree);

#endif
