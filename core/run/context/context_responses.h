#ifndef RUNNEL_CORE_RUN_CONTEXT_CONTEXT_RESPONSES_H
#define RUNNEL_CORE_RUN_CONTEXT_CONTEXT_RESPONSES_H

#include <jansson.h>

#include "core/domain/run_settings.h"
#include "core/run/catalog/tool_set.h"

/*
 * context_responses.h -- what the model is told, for upstreams that speak the Responses API.
 *
 * It is the request for Chat Completions in other words, so that what goes into a context is
 * decided in one place. Three things go up that the other API has no words for: reasoning as its
 * upstream sealed it, custom tools as such, and the wish for a summary of the reasoning.
 */

/* `chat` is what context_request() made with CONTEXT_REASONING; `upstream` the name of whom it is
 * for: reasoning that another has sealed is left out. New reference. */
json_t *context_responses(const json_t *chat, const struct run_settings *settings,
                          const struct tool_set *tools, const char *upstream);

#endif
