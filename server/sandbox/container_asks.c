#include "server/sandbox/container_asks.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/container/containers.h"
#include "core/store/wakeup.h"
#include "server/server.h"
#include "server/workers.h"

struct container_asks {
    struct server *server;
    struct workers *worker;
    struct work look;
    atomic_bool waiting; /* the look is in the queue */
};

/* What comes from here on is for the next round. */
static void look(struct work *work)
{
    struct container_asks *asks = CONTAINER_OF(work, struct container_asks, look);
    const struct server *server = asks->server;
    size_t copied = 0;
    struct err err;

    atomic_store(&asks->waiting, false);
    if (containers_answer(server->containers, &copied, &err))
        log_warn("what other nodes ask of containers was not read: %s", err.text);
    if (copied)
        store_wake_others(server->store, WAKEUP_CONTAINER, NULL);
}

struct container_asks *container_asks_start(struct server *server)
{
    struct container_asks *asks;

    if (!server->containers)
        return NULL;
    asks = mem_new(struct container_asks);
    asks->server = server;
    asks->look.run = look;
    asks->worker = workers_new(server->crew, 1);
    return asks;
}

void container_asks_stop(struct container_asks *asks)
{
    if (!asks)
        return;
    workers_stop(asks->worker);
    /* Calls had it until now, and a node that waits for it would soon take this one for dead. */
    if (store_has_peers(asks->server->store))
        look(&asks->look);
    free(asks);
}

void container_asks_look(struct container_asks *asks)
{
    if (asks && !atomic_exchange(&asks->waiting, true))
        workers_put(asks->worker, &asks->look);
}
