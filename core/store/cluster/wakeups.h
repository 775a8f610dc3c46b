#ifndef RUNNEL_CORE_STORE_CLUSTER_WAKEUPS_H
#define RUNNEL_CORE_STORE_CLUSTER_WAKEUPS_H

#include "core/base/err.h"
#include "core/store/store.h"
#include "core/store/wakeup.h"

/*
 * wakeups.h -- the thread that sends this node's wake-ups and listens for those of others
 * (wakeup.h).
 *
 * It has a connection of its own (database_direct_url). It listens to the channel of this node
 * and to one channel of all nodes. It sends every wake-up after the commit that it is about, as
 * a statement of its own, with all that came together meanwhile: inside a transaction that
 * writes, NOTIFY would make all commits of the database wait for each other. What streams tell
 * each other is sent behind everything else, and a queue that is full of it drops nothing else.
 * When the connection is lost, the thread connects again, with back-off, and reports
 * WAKEUP_MISSED.
 *
 * A node that is alone sends nothing. The renewal of leases finds out whether there are others.
 */

/* Called on the thread that listens, or on that of store_wake_all(). It must not wait for
 * anything. */
typedef void wakeup_heard(void *arg, const struct wakeup *wakeup);

enum err_code store_wakeups_start(struct store *store, wakeup_heard *heard, void *arg,
                                  struct err *err) MUST_CHECK;

/* Sends what is still queued if the database is there, then joins. Does nothing if it was not
 * started. */
void store_wakeups_stop(struct store *store);

/* For core/store only. */
struct wakeups;
struct wakeups *wakeups_new(struct store *store);
void wakeups_free(struct wakeups *wakeups);

enum wakeup_peers {
    PEERS_NONE,
    PEERS_THERE,
};

/* Which of the two the renewal of leases saw. */
void store_note_peers(struct store *store, enum wakeup_peers peers);

#endif
