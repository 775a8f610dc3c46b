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
 * long_messages.h -- long messages of the history, of which the model reads only the beginning and the
 * end.
 *
 * A request turns it on with runnel.message_cache: {"max_chars": N}. A text of the user or the assistant
 * with more than N characters is cut like the long result of a tool (core/tool/cut.h). A note names the
 * variable with the whole text (core/memory/message_cache.h). Only messages that were answered are cut. A
 * new message is sent whole, and so are rules, and what a compaction has kept. A text that would not
 * become shorter, counting the note, is sent whole as well.
 *
 * Which messages were answered is decided once, over the whole history, and marked in the rows
 * (item_row.answered). Code that counts, sends or keeps messages reads only the mark.
 *
 * What is sent depends on the text and the request alone, so it stays the same from turn to turn. The one
 * exception is the last turn of a run, which may call no tool: its notes do not suggest a call. The
 * marks of a note are the server's; chain_log_neutral() makes them harmless in all other text.
 *
 * Functions that take `const struct item_row` only read the rows: any thread. long_messages_mark() is
 * called by the thread that owns the rows.
 */

/* The limits of N, in characters. No request has a longer message than the second. */
#define LONG_MESSAGE_LEAST 256
#define LONG_MESSAGE_MOST  ((json_int_t)10 << 20)

/* Bytes of messages that a run keeps in memory for ReadVar. Of a longer history the newest are kept. */
#define LONG_MESSAGES_KEPT ((size_t)64 << 20)

/* How messages are cut. */
struct long_message_rule {
    size_t limit;        /* N; 0: no message is cut */
    struct cut_rule cut; /* its limit is N as well */
    bool idle;           /* no tool may be called: notes do not say how to read on */
};

/* The rule of a request. Nothing is cut for a model that is not offered a tool that reads variables,
 * because it could not read the rest. */
struct long_message_rule long_message_rule(const struct run_settings *settings,
                                           const struct tool_set *tools);

/* The number of items before the user's last messages. These are new: they have no answer yet, or the items
 * after them are that answer. */
size_t long_message_past(const struct item_row *const *items, size_t count);
/* Marks the items before the new messages as answered. `rows` must begin with the first item of the
 * history. A mark is never taken back. */
void long_messages_mark(struct item_row *rows, size_t count);

/* False: the item is certainly not cut. True: it is an answered message that is perhaps cut. Quick. */
bool long_message_may_be(const struct long_message_rule *rule, const struct item_row *item);

/* An answered text as it is sent, with its note; NULL: the whole text is sent. The caller frees. */
char *long_message_shown(const struct long_message_rule *rule, const char *text);

/* The whole texts of the messages that are cut, at most LONG_MESSAGES_KEPT bytes of items. The caller
 * releases. */
struct message_cache *long_messages_gather(const struct long_message_rule *rule,
                                           const struct item_row *const *items, size_t count);

#endif
