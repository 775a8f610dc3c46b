#ifndef RUNNEL_CORE_STORE_CLUSTER_WAKEUPS_H
#define RUNNEL_CORE_STORE_CLUSTER_WAKEUPS_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/base/ids.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * wakeups.h -- what nodes tell each other, so that nobody waits for the next look.
 *
 * A wake-up is a hint: it says where to look, and everything that it speaks of is in the database
 * already. Each may get lost, come late or come twice; whoever is to hear of something looks for
 * it from time to time all the same.
 *
 * A thread with a connection of its own (database_direct_url) listens to the channel of this node
 * and to one that all nodes hear, and tells what it is given to tell: after the commit that it is
 * about, as a statement of its own, all that came together meanwhile at once. What streams tell
 * each other goes behind all else, and a queue that is full of it drops nothing else. In a transaction that
 * writes, NOTIFY would make all commits of the database wait for each other. When the connection is
 * lost it comes back, with back-off, and says that something may have been missed.
 *
 * A node that is alone tells nobody: whether there are others, the renewal of leases finds out.
 */

enum wakeup_kind {
    WAKEUP_HELLO,  /* a node has come; nobody but this file need know */
    WAKEUP_MISSED, /* of our own making: for a while nobody could reach us */
    WAKEUP_CLAIM,  /* there are runs that anybody may take up */
    WAKEUP_CANCEL, /* a run of yours is to stop: its row says so */
    WAKEUP_FOLLOW, /* on `node` somebody follows the log of a run of yours */
    WAKEUP_EVENTS, /* there is more in the log of a run that somebody follows here */
    WAKEUP_MOVED,  /* a run has a new owner */
    WAKEUP_LOOK,   /* a run waits for an answer, wherever it is: there is one */
};

struct wakeup {
    enum wakeup_kind kind;
    char run_id[ID_LIMIT + 1]; /* "" if it is about none */
    char node[ID_SIZE];
};

/* Called on the thread that listens, or on that of store_wake_all(); it must not wait for anything. */
typedef void wakeup_heard(void *arg, const struct wakeup *wakeup);

enum err_code store_wakeups_start(struct store *store, wakeup_heard *heard, void *arg,
                                  struct err *err) MUST_CHECK;

/* Tells what is still to be told if the database is there, then joins. When it was not started
 * nothing happens. */
void store_wakeups_stop(struct store *store);

/* Any thread, after the commit, nothing held. Never blocks. `owner` is a node, with or without its
 * boot. `run_id` may be NULL. */
void store_wake_node(struct store *store, const char *owner, enum wakeup_kind kind,
                     const char *run_id);

/* The owner of a run, if it is another node, hears WAKEUP_FOLLOW. The owner need not be known: the
 * database is asked. */
void store_wake_followed(struct store *store, const struct tenant *tenant, const char *run_id);

/* All other nodes, if there are any. */
void store_wake_others(struct store *store, enum wakeup_kind kind, const char *run_id);

/* This node as well, on the calling thread: of those that end before store_wakeups_stop(). */
void store_wake_all(struct store *store, enum wakeup_kind kind, const char *run_id);

/* Whether there are others, as far as we know. */
bool store_has_peers(const struct store *store);

/* For core/store only. */
struct wakeups;
struct wakeups *wakeups_new(struct store *store);
void wakeups_free(struct wakeups *wakeups);

enum wakeup_peers {
    PEERS_NONE,
    PEERS_THERE,
};

/* What the renewal of leases saw. */
void store_note_peers(struct store *store, enum wakeup_peers peers);

#endif
