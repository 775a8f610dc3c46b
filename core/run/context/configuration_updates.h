#ifndef RUNNEL_CORE_RUN_CONTEXT_CONFIGURATION_UPDATES_H
#define RUNNEL_CORE_RUN_CONTEXT_CONFIGURATION_UPDATES_H

#include <jansson.h>
#include <stddef.h>

#include "core/domain/rows.h"
#include "core/domain/run_settings.h"

/*
 * configuration_updates.h -- settings that the input of a conversation has changed.
 *
 * A client that wants more reasoning, or another format, from here on sends an item for it. Its requests stay
 * as they were, so their beginning stays in the caches of models. The last update of a setting counts, and
 * replaces what the request says.
 *
 * Pure function: any thread.
 */

/* Changes `settings`, a copy that may be changed. `items` are all of the context, oldest first: also those
 * that are left out for length. The members that change point into *ret_bodies, which the caller releases. */
void configuration_updates_apply(const struct item_row *const *items, size_t count,
                                 struct run_settings *settings, json_t **ret_bodies);

#endif
