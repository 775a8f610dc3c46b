/*
 * Wake-ups: hints, which come at some later step, or never to a dead node.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/store/cluster/wakeups.h"
#include "tests/unit/core/run/engine/world_database.h"

struct hint {
    struct actor actor;
    struct node *to;
    enum wakeup_kind kind;
    char run_id[ID_LIMIT + 1];
    char from[ID_SIZE];
};

/* As server/keeper.c receives them. */
static void receive(struct actor *actor)
{
    struct hint *hint = CONTAINER_OF(actor, struct hint, actor);
    struct engine *engine = hint->to->engine;

    switch (hint->kind) {
    case WAKEUP_HELLO:
    case WAKEUP_CONTAINER:
    case WAKEUP_INGEST:
    case WAKEUP_FILES:
    case WAKEUP_MISSED: break;
    case WAKEUP_CLAIM: hint->to->claim_ns = 0; break;
    case WAKEUP_CANCEL: engine_cancel(engine, hint->run_id); break;
    case WAKEUP_FOLLOW: engine_followed_at(engine, hint->run_id, hint->from); break;
    case WAKEUP_EVENTS: engine_wake(engine, hint->run_id, WOKEN_MORE); break;
    case WAKEUP_MOVED: engine_wake(engine, hint->run_id, WOKEN_MOVED); break;
    case WAKEUP_DELETED: engine_deleted(engine, hint->run_id); break;
    case WAKEUP_ANSWERED: (void)engine_check_approvals(engine, hint->run_id); break;
    }
    actor_leave(actor);
    free(hint);
}

static const struct actor_ops hint_ops = {
    .thing = THING_HINT,
    .act = receive,
};

static void send_hint(const struct store *store, struct node *to, enum wakeup_kind kind,
                      const char *run_id)
{
    struct hint *hint;

    if (store->node->dead || to->dead || to == store->node)
        return;
    hint = mem_new(struct hint);
    hint->to = to;
    hint->kind = kind;
    (void)snprintf(hint->run_id, sizeof(hint->run_id), "%s", run_id ? run_id : "");
    (void)snprintf(hint->from, sizeof(hint->from), "%.*s", (int)strcspn(store->node->id, "/"),
                   store->node->id);
    actor_join(&hint->actor, &hint_ops, to);
}

/* The node of an owner, with or without its boot. */
static struct node *find_node(const char *owner)
{
    size_t length = strcspn(owner, "/");

    for (unsigned i = 0; i < world->node_count; i++) {
        const char *id = world->nodes[i].id;

        if (strcspn(id, "/") == length && memcmp(id, owner, length) == 0)
            return &world->nodes[i];
    }
    return NULL;
}

void store_wake_node(struct store *store, const char *owner, enum wakeup_kind kind,
                     const char *run_id)
{
    struct node *to = find_node(owner);

    if (to)
        send_hint(store, to, kind, run_id);
}

void store_wake_followed(struct store *store, const struct tenant *tenant, const char *run_id)
{
    const struct record *record = database_find(run_id);

    (void)tenant;
    if (record && *record->lease.owner)
        store_wake_node(store, record->lease.owner, WAKEUP_FOLLOW, run_id);
}

void store_wake_others(struct store *store, enum wakeup_kind kind, const char *run_id)
{
    for (unsigned i = 0; i < world->node_count; i++)
        send_hint(store, &world->nodes[i], kind, run_id);
}

void hints_forget(struct node *node)
{
    for (size_t i = world->actors.count; i-- > 0;) {
        struct actor *actor = world->actors.list[i];

        if (actor->ops != &hint_ops || actor->node != node)
            continue;
        actor_leave(actor);
        free(CONTAINER_OF(actor, struct hint, actor));
    }
}
