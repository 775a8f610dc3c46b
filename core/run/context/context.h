#ifndef RUNNEL_CORE_RUN_CONTEXT_CONTEXT_H
#define RUNNEL_CORE_RUN_CONTEXT_CONTEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/domain/rows.h"
#include "core/run/context/long_messages.h"

/*
 * context.h -- what a model is sent: items in, messages of Chat Completions out.
 *
 * Its time is proportional to what is sent. A tool call is never sent without an output: a call without
 * one (its run was cancelled while it waited) gets a placeholder. Items that a crash cut off are left
 * out. Calls are sent in the order in which the model made them, whatever order their outputs came in.
 *
 * In compact form, finished turns are sent as text. Everything between two messages of the user becomes
 * one message of the assistant, if there are calls among it: the hint and the flow of chain_log.h. What
 * follows the user's last message is sent as it is. So are calls whose outputs the client has sent
 * together with that message, because the model has not read these outputs. In compact form only the
 * server's own text has the marks of a log.
 *
 * Pure functions, which borrow everything: any thread.
 */

enum context_flags {
    CONTEXT_LAST_ANSWER = 1 << 0, /* tools are offered, and none may be called */
    CONTEXT_CHOICE_SPENT =
        1 << 1,                 /* a forced tool_choice was obeyed already: auto from now on */
    CONTEXT_REASONING = 1 << 2, /* messages have `reasoning_items`, for context_responses.h */
    CONTEXT_COMPACT = 1 << 3,   /* finished turns in compact form */
    /* Reasoning goes back to the upstream that made it (past_reasoning.h): with all answers between two
     * messages of the user among which the model made calls, as DeepSeek demands. Elsewhere it goes back
     * only as `reasoning_details`, which OpenRouter wants to have with every answer. Makers of older
     * models refuse it there, and nobody needs it. */
    CONTEXT_GIVE_BACK = 1 << 4,
    CONTEXT_GIVE_BACK_ALL = 1 << 5, /* with every answer */
    /* Calls without reasoning get an empty one. It is so without this flag, too, as soon as the upstream
     * has sent `reasoning_content`. */
    CONTEXT_FILL_REASONING = 1 << 6,
    /* `reasoning_items` also have the calls that the upstream has executed itself. */
    CONTEXT_PASSED = 1 << 7,
};

/* The `messages` of a request, whose `flags`, `upstream` and rule for long messages these are. `instructions` may be
 * NULL. New reference. */
json_t *context_make_messages(const char *instructions, const struct item_row *const *items,
                              size_t count, unsigned flags, const char *upstream,
                              struct long_message_rule rule);
/* The same, in full form. `instructions` may be NULL. New reference. */
json_t *context_messages(const char *instructions, const struct item_row *const *items,
                         size_t count);

/* The messages that a stretch (context_items.h), or an answered message, is sent as. `flags` say which reasoning goes
 * back to `upstream`: a stretch without calls has it. New reference. */
json_t *context_past_messages(const struct item_row *const *items, size_t count,
                              const struct long_message_rule *rule, unsigned flags,
                              const char *upstream);

/* The role of a message for the Chat API. */
const char *context_role(const char *role);

#endif
