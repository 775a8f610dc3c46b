#ifndef RUNNEL_CORE_SANDBOX_SANDBOX_H
#define RUNNEL_CORE_SANDBOX_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * sandbox.h -- what this machine lets a sandbox do.
 *
 * Machines differ: a container may forbid namespaces, a distribution may forbid them to programs that it does not
 * know, a service may have no cgroup of its own. What cannot be confined is not executed. So the server tries each
 * layer once, as a box would use it, and keeps what it has seen, with what an operator can do about it.
 */

enum sandbox_check {
    SANDBOX_SECCOMP,    /* filters of system calls */
    SANDBOX_LANDLOCK,   /* a second wall around files */
    SANDBOX_BUBBLEWRAP, /* the program that makes namespaces */
    SANDBOX_USER,       /* a user for boxes who is not root */
    SANDBOX_NAMESPACES, /* processes, network and mounts of its own */
    SANDBOX_PROC,       /* a /proc that shows its own processes */
    SANDBOX_BOX,        /* all of it together, with a process inside */
    SANDBOX_CGROUP,     /* exact limits of a whole box */
    SANDBOX_CHECKS
};

struct sandbox_finding {
    bool passed;
    char seen[256];     /* a version, or why not; may be "" */
    const char *advice; /* what to do; NULL if it passed or nothing helps. A constant */
};

struct sandbox_report {
    struct sandbox_finding findings[SANDBOX_CHECKS];
};

/* One word, such as "namespaces". */
const char *sandbox_check_name(enum sandbox_check check);

/* Commands can be executed without it, less well confined or limited. */
bool sandbox_check_is_optional(enum sandbox_check check);

/* Tries everything. compute_start() was called before. If the server is root, boxes run as `user`,
 * else as the server does. Takes up to three times
 * SANDBOX_CHECK_MS, if each part hangs; waits for children, so not on a run loop. */
#define SANDBOX_CHECK_MS 10000
void sandbox_check(uint32_t user, struct sandbox_report *ret_report);

/* The first check that failed and is not optional; SANDBOX_CHECKS if commands can be executed. */
enum sandbox_check sandbox_obstacle(const struct sandbox_report *report);

#endif
