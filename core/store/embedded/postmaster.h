#ifndef RUNNEL_CORE_STORE_EMBEDDED_POSTMASTER_H
#define RUNNEL_CORE_STORE_EMBEDDED_POSTMASTER_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "core/base/err.h"
#include "core/store/embedded/child.h"

/*
 * postmaster.h -- the process that runs a private cluster: found, started, stopped.
 *
 * postmaster.pid in the cluster's directory says which process it is, where its socket lies and
 * how far it has come. PostgreSQL writes that file, and inotify reports its changes. A process
 * whose working directory is the cluster's belongs to the cluster. The number in a stale
 * postmaster.pid may belong to any process.
 */

struct postmaster {
    pid_t pid;
    int pidfd;                 /* -1: no process */
    bool ours;                 /* a child of this process, to be reaped */
    bool ready;                /* it was seen to accept connections */
    char socket_dir[PATH_MAX]; /* once it is ready */
};

/* True, with the postmaster filled in, if one is alive for the cluster, ready or not. Never
 * waits. */
bool postmaster_find(const char *cluster, struct postmaster *ret_postmaster);

/* Waits for the children of a dead postmaster, which end when they notice. */
enum err_code postmaster_await_remains(const char *cluster, const struct patience *patience,
                                       struct err *err) MUST_CHECK;

/* Removes the stale postmaster.pid of a dead one. */
void postmaster_remove_pid_file(const char *cluster);

/* Starts one; it is not ready yet. */
enum err_code postmaster_start(const struct child_plan *plan, struct postmaster *ret_postmaster,
                               struct err *err) MUST_CHECK;

/* Waits until it accepts connections. ERR_STORE when it has ended instead. ERR_TIMEOUT and
 * ERR_CANCELLED leave it running, and it may be waited for again. */
enum err_code postmaster_await(struct postmaster *postmaster, const char *cluster,
                               const struct patience *patience, struct err *err) MUST_CHECK;

/* True if the process has ended. */
bool postmaster_has_ended(const struct postmaster *postmaster);

/* Asks it to end in fast mode, and waits for that with patience. */
enum err_code postmaster_ask_to_end(struct postmaster *postmaster,
                                    const struct patience *patience,
                                    struct err *err) MUST_CHECK;

/* Stops it in fast mode and waits for its end. Uses force if it does not end. While it is not
 * ready it is stopped at once: the next start repeats its replay. */
void postmaster_stop(struct postmaster *postmaster);

/* Releases the struct and leaves the process running. A child that has ended is reaped, and its
 * exit status returned. */
int postmaster_leave(struct postmaster *postmaster);

#endif
