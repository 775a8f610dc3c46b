#ifndef RUNNEL_CORE_RUN_ENGINE_HELD_LEASES_H
#define RUNNEL_CORE_RUN_ENGINE_HELD_LEASES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/run/engine/engine.h"

/*
 * held_leases.h -- which leases this node holds, and which of their runs wait for approvals.
 *
 * The loops enter and remove runs one by one. The keeper lists all at once, to renew them. Finding one
 * takes constant time. Any thread may call; nothing blocks.
 */

struct held_leases;

struct held_leases *held_leases_new(void);
void held_leases_free(struct held_leases *held); /* NULL is fine */

/* The run must not have a lease here. Copies what it needs. `waits`: it is held already, which means
 * that it waits for approvals in memory. */
void held_leases_add(struct held_leases *held, const struct tenant *tenant,
                     const struct engine_lease *lease, bool waits);
/* These do nothing for a run that has no lease here. */
void held_leases_drop(struct held_leases *held, const char *run_id);
void held_leases_set_waiting(struct held_leases *held, const char *run_id, bool waits);

bool held_leases_has(struct held_leases *held, const char *run_id);

/* All leases, and the runs that wait for approvals. They return the number; the caller frees the array. */
size_t held_leases_list(struct held_leases *held, struct engine_lease **ret_leases);
size_t held_leases_waiting(struct held_leases *held, struct engine_holder **ret_holders);

#endif
