#ifndef RUNNEL_CORE_RUN_CONTEXT_LONG_MESSAGES_H
#define RUNNEL_CORE_RUN_CONTEXT_LONG_MESSAGES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/domain/rows.h"
#include "core/domain/run_settings.h"
#include "core/memory/message_cache.h"
#include "core/run/catalog/tool_set.h"
#include "core/tool/cut.h"

/*
 * long_messages.h -- long messages of the history, of which the model is shown only the ends.
 *
 * A request may want it with runnel.message_cache: {"max_chars": N}. A text of the user or the assistant
 * with more characters is shown as results are that are too long, head and tail, and a note names the
 * variable that has all of it (message_cache.h). That is for what the model has answered: what it has not
 * it is shown word for word, and so is what rules say, and what a compaction has kept.
 *
 * Which those are is decided once, over a history from which nothing has been left out, and marked in its
 * rows: who counts, tells or keeps a message looks at the mark alone.
 *
 * A text that would become no shorter by it, note and all, is shown whole.
 *
 * What is shown depends on the text and the request alone, so that it stays the same from turn to turn:
 * only the last answer of a run that may call nothing any more is asked for without hints to call.
 * Nobody but us writes the marks of such a note: chain_log_neutral() takes their meaning away in all that
 * was said.
 */

/* What N may be. No request is longer than the latter. */
#define LONG_MESSAGE_LEAST 256
#define LONG_MESSAGE_MOST  ((json_int_t)10 << 20)

/* Bytes of messages that a run keeps for reading, of longer histories the newest. */
#define LONG_MESSAGES_KEPT ((size_t)64 << 20)

/* How the request wants it; limit 0: not at all. */
struct long_message_rule {
    size_t limit; /* N */
    struct cut_rule cut;
    bool idle; /* nothing can be called any more: the notes do not tell how to read on */
};

/* Nothing is cut for a model that is not offered ReadVar: it could not read the rest. */
struct long_message_rule long_message_rule(const struct run_settings *settings,
                                           const struct tool_set *tools);

/* How many of the items, from the first on, come before the user's messages that wait for an answer, or
 * have got it by the items at the end. */
size_t long_message_past(const struct item_row *const *items, size_t count);
/* Marks those among the rows, the first of which are all that there is of a history. The mark of a message
 * stays: what was answered never waits again. */
void long_messages_mark(struct item_row *rows, size_t count);

/* It was answered, and is a message whose text may be longer than the rule allows. False is certain. */
bool long_message_may_be(const struct long_message_rule *rule, const struct item_row *item);

/* What the model is shown of a text that was answered; NULL: all of it. The caller frees. */
char *long_message_shown(const struct long_message_rule *rule, const char *text);

/* The texts of the items that are shown in part, at most LONG_MESSAGES_KEPT. The caller releases. */
struct message_cache *long_messages_gather(const struct long_message_rule *rule,
                                           const struct item_row *const *items, size_t count);

#endif
