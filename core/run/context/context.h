#ifndef RUNNEL_CORE_RUN_CONTEXT_CONTEXT_H
#define RUNNEL_CORE_RUN_CONTEXT_CONTEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/domain/rows.h"
#include "core/run/catalog/tool_set.h"
#include "core/run/context/long_messages.h"

/*
 * context.h -- what the model is told: items in, a Chat Completions request out.
 *
 * The cost is proportional to what is sent. A tool call is never sent without an output: one
 * that has none (a run that was cancelled while it waited) gets a placeholder. Items that a
 * crash cut in the middle are left out. Calls are sent in the model's own order, whatever order
 * their outputs came in.
 *
 * In compact form all that lies between two messages of the user is one message of the assistant, if
 * calls are among it: the hint and the flow of chain_log.h. What comes after the last one is sent as
 * it is, and so are calls whose outputs the client has sent along with it; and nobody's text but ours
 * has the marks of a log.
 */

enum context_flags {
    CONTEXT_LAST_ANSWER = 1 << 0, /* no more tools: the limit of rounds was reached */
    CONTEXT_CHOICE_SPENT =
        1 << 1,                 /* a forced tool_choice was obeyed already: auto from now on */
    CONTEXT_REASONING = 1 << 2, /* messages have `reasoning_items`, for context_responses.h */
    CONTEXT_COMPACT = 1 << 3,   /* turns that are over: calls as text, see chain_log.h */
};

/* The request body: model, messages, tools and the sampling parameters of the settings. `upstream` is the name of whom it is for, who gets back what he has attached to calls; NULL:
 * nobody. New reference. */
json_t *context_request(const char *run_id, const struct run_settings *settings,
                        const struct tool_set *tools, const struct item_row *const *items,
                        size_t count, unsigned flags, const char *upstream);

/* The `messages` alone; exposed for tests and token counts. New reference. */
json_t *context_messages(const char *instructions, const struct item_row *const *items,
                         size_t count);

/* The order in which the model is told: outputs that a client has sent behind words of the same request
 * come before them, and what belongs to a turn comes before the answer of a later one that was shown first.
 * Whoever counts or leaves out items puts them in order first. */
void context_order(const struct item_row **items, size_t count);

/* In compact form: how many items come before the end of the user's last message, where turns are over,
 * or before the calls whose outputs the client has sent with it, which nobody has read;
 * and where a stretch of them ends that is told as one message (`first`, where none begins). */
size_t context_past(const struct item_row *const *items, size_t count);
size_t context_stretch(const struct item_row *const *items, size_t first, size_t past);
/* What such a stretch, or a message that was answered, is told as. New reference. */
json_t *context_past_messages(const struct item_row *const *items, size_t count,
                              const struct long_message_rule *rule);

/* The content of an item as that of a message: text, or parts. New reference. */
json_t *context_content(const json_t *content);
/* The texts in it that the model is told, each by itself. New reference. */
json_t *context_texts(const json_t *content);
/* The output of a call, as an item of its own. */
bool context_is_output(const struct item_row *item);

/* Only the newest `last_messages` messages, besides what the run itself has made: index of the first
 * item to send. 0: all. */
size_t context_start(const struct item_row *const *items, size_t count, int last_messages,
                     const char *run_id);

/* Whether a request wants compact form: `fallback` is the server's, where it says nothing. */
bool context_is_compact(const struct run_settings *settings, enum run_history fallback);

#endif
