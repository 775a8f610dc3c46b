#ifndef RUNNEL_CORE_RUN_CONTEXT_CONTEXT_RESPONSES_H
#define RUNNEL_CORE_RUN_CONTEXT_CONTEXT_RESPONSES_H

#include <jansson.h>
#include <stdbool.h>

#include "core/domain/rows.h"
#include "core/domain/run_settings.h"
#include "core/run/catalog/tool_set.h"

/*
 * context_responses.h -- the request for upstreams that speak the Responses API.
 *
 * It is made from the finished Chat Completions request, so that one place decides what goes into a
 * context. Three things are added that Chat Completions cannot say: reasoning as its upstream sealed
 * it, custom tools as custom tools, and whether the reasoning is to be summarised.
 *
 * A pure function: any thread.
 */

/* True if the upstream with this name gets the item of reasoning with this body: it has sealed it or made its text, or
 * a client sent it without a note, and there is something to send. */
bool context_reasoning_is_sent(const json_t *body, const char *upstream);
/* What its upstream sealed in it, borrowed; or NULL. */
const char *context_sealed_reasoning(const json_t *body);

/* True if the upstream with this name gets the item with this body back as its own: it has executed the call, or a
 * client sends it without a note of who did. */
bool context_is_passed(const struct item_row *item, const json_t *body, const char *upstream);

/* `chat` is a request that context_request() made with CONTEXT_REASONING. `upstream` is the name of the
 * upstream that will get it: reasoning that another upstream sealed is left out. Both are borrowed.
 * New reference. */
json_t *context_responses(const json_t *chat, const struct run_settings *settings,
                          const struct tool_set *tools, const char *upstream);

#endif
