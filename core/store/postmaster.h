#ifndef RUNNEL_CORE_STORE_POSTMASTER_H
#define RUNNEL_CORE_STORE_POSTMASTER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/err.h"
#include "core/store/child.h"

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
    int pidfd;
    bool ours; /* our child, to be reaped */
    char socket_dir[PATH_MAX];
};

/* True, with the postmaster filled in, if one is alive for the cluster. Waits until it accepts
 * connections, at most until the deadline. */
bool postmaster_find(const char *cluster, uint64_t deadline_ns,
                     struct postmaster *ret_postmaster);

/* Waits for what a dead postmaster left behind (its children go when they notice), and removes
 * its stale postmaster.pid. False if there was none. */
bool postmaster_clear_remains(const char *cluster, uint64_t deadline_ns);

/* Starts one and waits until it accepts connections. ERR_STORE when it ended instead;
 * *ret_status is then its exit status. */
enum err_code postmaster_start(const char *cluster, const struct child_plan *plan,
                               uint64_t deadline_ns, struct postmaster *ret_postmaster,
                               int *ret_status, struct err *err) MUST_CHECK;

/* True if it is no longer there. */
bool postmaster_has_ended(const struct postmaster *postmaster);

/* Stops it in fast mode and waits for its end; harder when it does not end. */
void postmaster_stop(struct postmaster *postmaster);

/* Lets go of it, running as it is; one of ours that has ended is reaped. */
void postmaster_leave(struct postmaster *postmaster);

#endif
