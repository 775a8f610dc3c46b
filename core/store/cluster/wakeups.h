#ifndef RUNNEL_CORE_STORE_CLUSTER_WAKEUPS_H
#define RUNNEL_CORE_STORE_CLUSTER_WAKEUPS_H

#include "core/base/err.h"
#include "core/store/store.h"
#include "core/store/wakeup.h"

/*
 * wakeups.h -- the thread that sends this node's hints and receives those of others (wakeup.h).
 *
 * It has a connection of its own (database_direct_url). It listens to the channel of this node
 * and to one channel of all nodes. It sends every hint after the commit that it is about, in
 * statements of its own. When the connection is lost it connects again, with back-off. Each
 * time it begins to listen it reports WAKEUP_MISSED: what was sent before did not arrive.
 *
 * A node that is alone sends nothing. The renewal of leases finds out whether there are others.
 */

/* Called on that thread, or on the caller's of store_wake_all(). It must not wait for anything. */
typedef void wakeup_received(void *arg, const struct wakeup *wakeup);

enum err_code store_wakeups_start(struct store *store, wakeup_received *received, void *arg,
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

/* How many hints of other nodes have come so far. */
unsigned store_hints_received(const struct store *store);

/* Which of the two the renewal of leases saw. `received` is store_hints_received() of before it looked: a node that has
 * greeted since then is there, although the renewal did not see it. */
void store_note_peers(struct store *store, enum wakeup_peers peers, unsigned received);

#endif
