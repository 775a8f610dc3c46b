#ifndef RUNNEL_CORE_RUN_CATALOG_PASSED_TOOLS_H
#define RUNNEL_CORE_RUN_CATALOG_PASSED_TOOLS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/domain/permission.h"
#include "core/domain/run_settings.h"
#include "core/model/model.h"

/*
 * passed_tools.h -- tools that the upstream of a model executes itself.
 *
 * Some upstreams search the web and draw pictures. Their operator says so in `passes` of the upstream. Then an entry
 * of such a type goes to the upstream with what the client wrote, and not as a function. Without that word nothing
 * goes: an upstream may bill it, and what it searches for leaves the operator's network.
 *
 * Three things keep an entry here. The upstream calls such a tool without a question, so a policy that asks for
 * approvals keeps it. So does an entry that names a file of this server (struct item_passed). And a tool without a
 * form for what comes back is never passed.
 *
 * The table is set at start, before other threads exist. All other functions may be called on any thread.
 */

/* Borrowed, and constant from now on. `permissions` are the operator's; NULL: none. */
void passed_tools_set(const struct model_upstream *upstreams, size_t count,
                      const struct permission_set *permissions);

/* True if the upstream of the settings' model gets the entry as it is. `settings` may be NULL: then no model is
 * known. */
bool passed_tools_take(const struct run_settings *settings, const json_t *entry);

#endif
