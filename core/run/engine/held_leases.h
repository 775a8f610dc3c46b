#ifndef RUNNEL_CORE_RUN_ENGINE_HELD_LEASES_H
#define RUNNEL_CORE_RUN_ENGINE_HELD_LEASES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/run/engine/engine.h"

/*
 * held_leases.h -- which leases this node holds, and which of their runs wait for answers.
 *
 * The loops say it, run by run; the keeper asks for all of them at once, to renew them. Finding one
 * does not depend on how many there are. Any thread may call.
 */

struct held_leases;

struct held_leases *held_leases_new(void);
void held_leases_free(struct held_leases *held); /* NULL is fine */

/* A run has one lease here at most. `waits`: it waits for answers already. */
void held_leases_add(struct held_leases *held, const struct tenant *tenant,
                     const struct engine_lease *lease, bool waits);
/* Nothing happens when it is not there; so with the next. */
void held_leases_drop(struct held_leases *held, const char *run_id);
void held_leases_set_waiting(struct held_leases *held, const char *run_id, bool waits);

bool held_leases_has(struct held_leases *held, const char *run_id);

/* All of them, and those whose runs wait. The caller frees; the return is their number. */
size_t held_leases_list(struct held_leases *held, struct engine_lease **ret_leases);
size_t held_leases_waiting(struct held_leases *held, struct engine_holder **ret_holders);

#endif
