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
 * how far it has got. PostgreSQL writes it; we watch it with inotify. A process that has the
 * directory as its working directory belongs to the cluster: a number in a stale postmaster.pid
 * may meanwhile be anybody's.
 */

struct postmaster {
    pid_t pid;
    int pidfd;                 /* -1: there is none */
    bool ours;                 /* our child, to be reaped */
    bool ready;                /* it has been seen to accept connections */
    char socket_dir[PATH_MAX]; /* once it is ready */
};

/* True, with the postmaster filled in, if one is alive for the cluster, ready or not. Does not wait. */
bool postmaster_find(const char *cluster, struct postmaster *ret_postmaster);

/* Waits for what a dead postmaster left behind (its children go when they notice), and removes
 * its stale postmaster.pid. */
enum err_code postmaster_clear_remains(const char *cluster, const struct patience *patience,
                                       struct err *err) MUST_CHECK;

/* Starts one; it is not ready yet. */
enum err_code postmaster_start(const struct child_plan *plan, struct postmaster *ret_postmaster,
                               struct err *err) MUST_CHECK;

/* Waits until it accepts connections. ERR_STORE when it has ended instead; ERR_TIMEOUT and
 * ERR_CANCELLED leave it as it is, it may be waited for again. */
enum err_code postmaster_await(struct postmaster *postmaster, const char *cluster,
                               const struct patience *patience, struct err *err) MUST_CHECK;

/* True if it is no longer there. */
bool postmaster_has_ended(const struct postmaster *postmaster);

/* Asks it to end in fast mode, and waits for that, with patience. */
enum err_code postmaster_ask_to_end(struct postmaster *postmaster,
                                    const struct patience *patience,
                                    struct err *err) MUST_CHECK;

/* Stops it in fast mode and waits for its end; harder when it does not end, and at once while it
 * is not ready: what it replays then, it replays again. */
void postmaster_stop(struct postmaster *postmaster);

/* Lets go of it, running as it is; one of ours that has ended is reaped, and its exit status
 * returned. */
int postmaster_leave(struct postmaster *postmaster);

#endif
