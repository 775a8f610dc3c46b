#ifndef RUNNEL_CORE_RUN_CONTEXT_CONTEXT_REQUEST_H
#define RUNNEL_CORE_RUN_CONTEXT_CONTEXT_REQUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/run/catalog/tool_set.h"
#include "core/run/context/context.h"

/* context_request.h -- a whole request of the Chat Completions API. Pure functions, for any thread. */

/* The request body: model, messages, tools, and the sampling parameters of the settings. `flags` are of enum
 * context_flags. `upstream` is the name of the upstream that will get the request: it gets back what
 * it attached to calls; NULL: nothing is given back. New reference. */
json_t *context_request(const char *run_id, const struct run_settings *settings,
                        const struct tool_set *tools, const struct item_row *const *items,
                        size_t count, unsigned flags, const char *upstream);

/* How many messages of such a request stand before those of its items, without those of a template. */
size_t context_instructions(const struct run_settings *settings, const struct tool_set *tools);

/* True if the request wants compact form; `fallback` is the server's setting, for requests that say
 * nothing about it. */
bool context_is_compact(const struct run_settings *settings, enum run_history fallback);

#endif
