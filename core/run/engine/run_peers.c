/*
 * The nodes on which a run is followed. Their followers read the log (follow.c), and learn from here
 * that it has grown.
 *
 * A node enters itself by a wake-up, and enters itself again every FOLLOW_AGAIN_NS while it has a
 * follower. There is no message for leaving: an entry that is not renewed three times in a row is
 * dropped. So a node that has died costs nothing, and neither does a message that gets lost.
 *
 * A notification says that there is more, not what. It is sent after the commit of the frames, so the
 * other node finds them in the log. It may get lost: the follower polls the log all the same, less
 * often. After a crash of this node nothing is lost either. The next owner knows of no followers until
 * they ask it, and they do so as soon as a node has announced that it has claimed the run.
 *
 * Rejected: a table of followers in the database. It would be written for each stream that joins, to
 * save what one hint every ten seconds does. And sending the frames themselves: then nodes would have
 * to trust each other's connections, and the bytes would have two ways to a client.
 */

#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/run/engine/follow.h"
#include "core/run/turn/run.h"
#include "core/store/wakeup.h"

/* Nodes beyond this number are not notified: their followers poll. */
#define PEERS_LIMIT ((size_t)64)

/* Until an entry that is not renewed is dropped. */
#define PEER_LASTS_NS (3 * FOLLOW_AGAIN_NS)

struct run_peer {
    char node[ID_SIZE];
    uint64_t until_ns;
};

static struct run_peer *find_peer(struct run *run, const char *node)
{
    for (size_t i = 0; i < run->publishing.peer_count; i++)
        if (strcmp(run->publishing.peers[i].node, node) == 0)
            return &run->publishing.peers[i];
    return NULL;
}

static struct run_peer *new_peer(struct run *run, const char *node)
{
    struct run_peer *peer;

    if (run->publishing.peer_count == PEERS_LIMIT)
        return NULL;
    run->publishing.peers = mem_resize(run->publishing.peers, run->publishing.peer_count + 1,
                                       sizeof(*run->publishing.peers));
    peer = &run->publishing.peers[run->publishing.peer_count++];
    (void)snprintf(peer->node, sizeof(peer->node), "%s", node);
    return peer;
}

static void notify(const struct run *run, const struct run_peer *peer)
{
    store_wake_node(engine_options(run->engine)->store, peer->node, WAKEUP_EVENTS, run->row.id);
}

void run_add_peer(struct run *run, const char *node)
{
    struct run_peer *peer = find_peer(run, node);

    if (!peer)
        peer = new_peer(run, node);
    if (!peer)
        return;
    /* Also at once: the log may have grown since that node last read it. */
    peer->until_ns = loop_now(run->loop) + PEER_LASTS_NS;
    notify(run, peer);
}

void run_notify_peers(struct run *run)
{
    size_t kept = 0;

    for (size_t i = 0; i < run->publishing.peer_count; i++) {
        if (loop_now(run->loop) >= run->publishing.peers[i].until_ns)
            continue;
        run->publishing.peers[kept] = run->publishing.peers[i];
        notify(run, &run->publishing.peers[kept++]);
    }
    run->publishing.peer_count = kept;
}

bool run_has_peers(const struct run *run)
{
    for (size_t i = 0; i < run->publishing.peer_count; i++)
        if (loop_now(run->loop) < run->publishing.peers[i].until_ns)
            return true;
    return false;
}
