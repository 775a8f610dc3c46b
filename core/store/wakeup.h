#ifndef RUNNEL_CORE_STORE_WAKEUP_H
#define RUNNEL_CORE_STORE_WAKEUP_H

#include <stdbool.h>

#include "core/base/ids.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * wakeup.h -- hints that one node sends to another, so that no node waits for its next poll.
 *
 * A wake-up says where to look. Everything that it speaks of is in the database already. It may
 * get lost, come late or come twice: the node that it is for polls all the same. So it is sent
 * after the commit that it is about, never fails, and never blocks.
 *
 * Any thread may call, with no lock held. core/store/cluster/wakeups.h is the thread that sends
 * and listens.
 */

enum wakeup_kind {
    WAKEUP_HELLO,    /* a node has started; only wakeups.c needs to know */
    WAKEUP_MISSED,   /* made by the listening node: it could not be reached for a while */
    WAKEUP_CLAIM,    /* there are runs that any node may claim */
    WAKEUP_CANCEL,   /* a run of the receiving node is to be cancelled: its row says so */
    WAKEUP_FOLLOW,   /* on `node` there is a follower of a run of the receiving node */
    WAKEUP_EVENTS,   /* the log of a run has grown that the receiving node follows */
    WAKEUP_MOVED,    /* a run has a new owner */
    WAKEUP_ANSWERED, /* an answer was stored that a run waits for, on whatever node */
    WAKEUP_DELETED,  /* a run was deleted that had not ended: its owner and its followers end */
    WAKEUP_INGEST,   /* there are documents that any node may make searchable */
    WAKEUP_CONTAINER, /* a node was asked for a container or a file of it, or has answered */
    WAKEUP_FILES,     /* files of vector stores have ended, or have left them */
};

struct wakeup {
    enum wakeup_kind kind;
    char run_id[ID_LIMIT + 1]; /* "" if it is about no run */
    char node[ID_SIZE];
};

/* To one node. `owner` is a node, with or without its boot. `run_id` may be NULL. */
void store_wake_node(struct store *store, const char *owner, enum wakeup_kind kind,
                     const char *run_id);

/* WAKEUP_FOLLOW to the owner of a run, if that is another node. The caller need not know the
 * owner: the database is asked for it. */
void store_wake_followed(struct store *store, const struct tenant *tenant, const char *run_id);

/* To all other nodes, if there are any. */
void store_wake_others(struct store *store, enum wakeup_kind kind, const char *run_id);

/* To all nodes, this one included: here on the calling thread, which must end before
 * store_wakeups_stop(). */
void store_wake_all(struct store *store, enum wakeup_kind kind, const char *run_id);

/* Whether there are other nodes, as far as this one knows. */
bool store_has_peers(const struct store *store);

#endif
