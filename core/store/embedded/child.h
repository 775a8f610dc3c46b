#ifndef RUNNEL_CORE_STORE_EMBEDDED_CHILD_H
#define RUNNEL_CORE_STORE_EMBEDDED_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/base/err.h"
#include "core/store/embedded/patience.h"

/*
 * child.h -- runs PostgreSQL's programs, as another user if necessary, with limited patience.
 *
 * A child gets its own session, so that Ctrl-C in the terminal reaches only the server. It
 * inherits no descriptors but those named here. Its end is waited for on a pidfd, never by
 * polling.
 */

/* Exit statuses of a child that could not run its program. */
enum {
    CHILD_NO_DIRECTORY = 125, /* the user cannot enter the directory */
    CHILD_NO_USER = 126,      /* this process may not become that user */
    CHILD_NO_PROGRAM = 127,
};

struct child_plan {
    const char *const *argv; /* argv[0] is a path; NULL at the end */
    const char *directory;   /* the working directory, entered as that user */
    bool switch_user;
    uid_t uid;
    gid_t gid;
    int input;  /* its standard input, or -1 for /dev/null */
    int output; /* its standard output and error, or -1 for /dev/null */
};

struct child {
    pid_t pid;
    int pidfd;
};

enum err_code child_start(const struct child_plan *plan, struct child *ret_child,
                          struct err *err) MUST_CHECK;

/* Runs a plan to its end, with `input` (or NULL) as its standard input. Its output goes to
 * ret_output, cut to size - 1 bytes and ended by NUL. *ret_status is its exit status, or 128 +
 * n after signal n. When patience ends first the child is killed, with everything that it
 * started: ERR_TIMEOUT, or ERR_CANCELLED. */
enum err_code child_run(const struct child_plan *plan, const char *input,
                        const struct patience *patience, char *ret_output, size_t size,
                        int *ret_status, struct err *err) MUST_CHECK;

/* Reaps a child that has ended, and returns its exit status as above. */
int child_reap(pid_t pid);

#endif
