#ifndef RUNNEL_TESTS_SUPPORT_REMOVE_TREE_H
#define RUNNEL_TESTS_SUPPORT_REMOVE_TREE_H

#include <ftw.h>
#include <stdio.h>

/*
 * remove_tree.h -- removes the folder of a test with all that is in it.
 */

static inline int remove_tree_entry(const char *path, const struct stat *stat, int type,
                                    struct FTW *at)
{
    (void)stat;
    (void)type;
    (void)at;
    return remove(path);
}

/* 0, if nothing is left. Links are removed, not followed. */
static inline int remove_tree(const char *path)
{
    return nftw(path, remove_tree_entry, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
