/*
 * Who follows the run on other nodes. Their nodes have said so, and say so again as long as it is
 * true; nobody else knows, and after a while without a word it is forgotten.
 */

#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/run/engine/follow.h"
#include "core/run/turn/run.h"
#include "core/store/wakeup.h"

/* Beyond, they look for themselves. */
#define PEERS_LIMIT ((size_t)64)

/* Three times as long as they wait before they say it again. */
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

static void tell(const struct run *run, const struct run_peer *peer)
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
    peer->until_ns = loop_now(run->loop) + PEER_LASTS_NS;
    tell(run, peer);
}

void run_notify_peers(struct run *run)
{
    size_t kept = 0;

    for (size_t i = 0; i < run->publishing.peer_count; i++) {
        if (loop_now(run->loop) >= run->publishing.peers[i].until_ns)
            continue;
        run->publishing.peers[kept] = run->publishing.peers[i];
        tell(run, &run->publishing.peers[kept++]);
    }
    run->publishing.peer_count = kept;
}
