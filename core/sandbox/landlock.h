#ifndef RUNNEL_CORE_SANDBOX_LANDLOCK_H
#define RUNNEL_CORE_SANDBOX_LANDLOCK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * landlock.h -- which files a process can still open, through the kernel's three system calls.
 *
 * Debian 12 has no library for it. The first process of a box has this file, too, so nothing here uses core/base.
 */

/* The version of the kernel's Landlock; 0: it has none. */
int landlock_version(void);

/* A set of rules that forbids all that this version knows. A descriptor, or -1. */
int landlock_rules(void);

enum landlock_access {
    LANDLOCK_LIST,  /* the names in a folder */
    LANDLOCK_READ,  /* read and execute, and list */
    LANDLOCK_WRITE, /* everything */
};

/* Allows it for a folder and all below. A folder that does not exist needs no rule. */
bool landlock_allow(int rules, const char *path, enum landlock_access access);

/* The calling process, which must have no_new_privs, has these rules from now on. */
bool landlock_apply(int rules);

#endif
