#ifndef RUNNEL_CORE_RUN_CONTEXT_CONTEXT_ITEMS_H
#define RUNNEL_CORE_RUN_CONTEXT_CONTEXT_ITEMS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/domain/rows.h"

/* context_items.h -- which items are sent, in which order, and where finished turns end. Pure functions, for any
 * thread. */

/* Puts items into the order in which they are sent. Outputs that a client sent after a message in one
 * request come before that message. Items of a turn come before the answer of a later turn that was shown
 * first. A caller that counts items or leaves some out orders them first. */
void context_order(const struct item_row **items, size_t count);

/* For compact form, of ordered items. The first: how many items belong to finished turns. These end with
 * the user's last message, or before calls whose outputs the client has sent together with it. The
 * second: the end of the stretch that begins at `first` and is sent as one message; `first`, if no
 * stretch begins there. */
size_t context_past(const struct item_row *const *items, size_t count);
size_t context_stretch(const struct item_row *const *items, size_t first, size_t past);

/* The index of the first item to send, when only the newest `last_messages` messages are, and what the run
 * itself has made. With last_messages 0 it is 0. */
size_t context_start(const struct item_row *const *items, size_t count, int last_messages,
                     const char *run_id);

/* True for an item that is the output of a call. */
bool context_is_output(const struct item_row *item);
/* True for a message of the user. */
bool context_is_users(const struct item_row *item);
/* True for an item that ends the stretch before it, and is sent as it is: a message that is not the assistant's, or a
 * compaction. */
bool context_is_divide(const struct item_row *item);

#endif
