#ifndef RUNNEL_CORE_STORE_CHILD_H
#define RUNNEL_CORE_STORE_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/err.h"

/*
 * child.h -- running PostgreSQL's programs, as another user if need be, under a deadline.
 *
 * A child gets its own session, so that Ctrl-C in the terminal is ours to handle, and none of
 * our descriptors but those named here. Its end is waited for on a pidfd, never by polling.
 */

/* Exit statuses of a child that never became the program. */
enum {
    CHILD_NO_DIRECTORY = 125, /* the user cannot enter the directory */
    CHILD_NO_USER = 126,      /* we may not become that user */
    CHILD_NO_PROGRAM = 127,
};

struct child_plan {
    const char *const *argv; /* argv[0] is a path; NULL at the end */
    const char *directory;   /* entered as that user */
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

/* Waits for its end and reaps it; *ret_status is its exit status, 128 + n after signal n. When the
 * deadline passes it is killed, and the result is ERR_TIMEOUT. */
enum err_code child_wait(struct child *child, uint64_t deadline_ns, int *ret_status,
                         struct err *err) MUST_CHECK;

/* Runs a plan to its end, feeding `input` (or NULL); its output, cut to size - 1 bytes and ended
 * by NUL, goes to ret_output. */
enum err_code child_run(const struct child_plan *plan, const char *input, uint64_t deadline_ns,
                        char *ret_output, size_t size, int *ret_status,
                        struct err *err) MUST_CHECK;

/* True once the process of that pidfd has ended; false when the deadline has passed. */
bool pidfd_wait(int pidfd, uint64_t deadline_ns);

#endif
