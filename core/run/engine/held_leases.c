/*
 * The leases of the runs in this node's memory, kept apart from the runs.
 *
 * A run is touched by its loop only. But the keeper must renew all leases of the node in one
 * statement, from its own thread, and endpoints ask whether a run is here. So the little that
 * they need is copied into a table behind a lock: the id, the fence, and whether the run waits
 * for approvals. A loop enters a run when it arrives, and removes it when it forgets it.
 *
 * The copy may be a moment late, and that is harmless. Renewing the lease of a run that has
 * just ended changes nothing: its row is gone, or has another fence. A run that was entered
 * just after the keeper looked is renewed the next time, well before its lease expires. And
 * when the keeper reports a lease as lost, its message carries the fence, so the loop drops the
 * run only if it still has that very lease.
 *
 * Runs that wait for approvals are counted. The keeper asks for them at each renewal, nearly always
 * there are zero, and then the table is not read.
 *
 * After a crash the table is gone with the runs. The rows in the database still name this boot as the
 * owner, and other nodes claim them when the leases expire.
 *
 * Decided against: asking every loop by message and collecting the answers. One busy loop would
 * delay the renewal of all leases, until other nodes take over runs that are well.
 */

#include "core/run/engine/held_leases.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/lock.h"
#include "core/base/mem.h"

#define TABLE_SIZE ((size_t)1024)

struct lease {
    struct engine_lease key;
    char project[ID_SIZE];
    bool waits;
    struct lease *next;
};

struct held_leases {
    struct lock lock; /* guards all below */
    struct lease *table[TABLE_SIZE];
    size_t count;
    size_t waiting;
};

struct held_leases *held_leases_new(void)
{
    struct held_leases *held = mem_new(struct held_leases);

    lock_init(&held->lock, LOCK_ENGINE);
    return held;
}

void held_leases_free(struct held_leases *held)
{
    if (!held)
        return;
    for (size_t i = 0; i < TABLE_SIZE; i++) {
        while (held->table[i]) {
            struct lease *lease = held->table[i];

            held->table[i] = lease->next;
            free(lease);
        }
    }
    lock_destroy(&held->lock);
    free(held);
}

/* The pointer to the lease in the table; it points to NULL if the run has none. */
static struct lease **slot_locked(struct held_leases *held, const char *run_id)
    REQUIRES(held->lock)
{
    struct lease **at = &held->table[hash_text(run_id) % TABLE_SIZE];

    while (*at && strcmp((*at)->key.run_id, run_id) != 0)
        at = &(*at)->next;
    return at;
}

void held_leases_add(struct held_leases *held, const struct tenant *tenant,
                     const struct engine_lease *lease, bool waits)
{
    struct lease *made = mem_new(struct lease);
    struct lease **at;

    made->key = *lease;
    memcpy(made->project, tenant->project, ID_SIZE);
    made->waits = waits;
    lock_acquire(&held->lock);
    at = slot_locked(held, lease->run_id);
    assert(!*at);
    *at = made;
    held->count++;
    held->waiting += waits;
    lock_release(&held->lock);
}

void held_leases_drop(struct held_leases *held, const char *run_id)
{
    struct lease **at;
    struct lease *lease;

    lock_acquire(&held->lock);
    at = slot_locked(held, run_id);
    lease = *at;
    if (lease) {
        *at = lease->next;
        held->count--;
        held->waiting -= lease->waits;
    }
    lock_release(&held->lock);
    free(lease);
}

void held_leases_set_waiting(struct held_leases *held, const char *run_id, bool waits)
{
    struct lease *lease;

    lock_acquire(&held->lock);
    lease = *slot_locked(held, run_id);
    if (lease && lease->waits != waits) {
        lease->waits = waits;
        held->waiting = waits ? held->waiting + 1 : held->waiting - 1;
    }
    lock_release(&held->lock);
}

bool held_leases_has(struct held_leases *held, const char *run_id)
{
    bool has;

    lock_acquire(&held->lock);
    has = *slot_locked(held, run_id);
    lock_release(&held->lock);
    return has;
}

size_t held_leases_list(struct held_leases *held, struct engine_lease **ret_leases)
{
    struct engine_lease *leases;
    size_t count = 0;

    lock_acquire(&held->lock);
    leases = mem_new_array(struct engine_lease, held->count);
    for (size_t i = 0; i < TABLE_SIZE; i++) {
        for (struct lease *lease = held->table[i]; lease; lease = lease->next)
            leases[count++] = lease->key;
    }
    lock_release(&held->lock);
    *ret_leases = leases;
    return count;
}

size_t held_leases_waiting(struct held_leases *held, struct engine_holder **ret_holders)
{
    struct engine_holder *holders;
    size_t count = 0;

    lock_acquire(&held->lock);
    holders = mem_new_array(struct engine_holder, held->waiting + 1);
    for (size_t i = 0; held->waiting && i < TABLE_SIZE; i++) {
        for (struct lease *lease = held->table[i]; lease; lease = lease->next) {
            if (!lease->waits)
                continue;
            memcpy(holders[count].project, lease->project, ID_SIZE);
            memcpy(holders[count++].run_id, lease->key.run_id, ID_SIZE);
        }
    }
    lock_release(&held->lock);
    *ret_holders = holders;
    return count;
}
