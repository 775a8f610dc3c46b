#ifndef RUNNEL_CORE_MODEL_CHAT_CHAT_DETAILS_H
#define RUNNEL_CORE_MODEL_CHAT_CHAT_DETAILS_H

#include <jansson.h>

#include "core/base/buf.h"

/*
 * chat_details.h -- fragments of `reasoning_details` in, whole entries out.
 *
 * OpenRouter and MiniMax send reasoning as a list of entries, which they want back as they made them. In a
 * stream an entry of text comes in fragments with the same type and index: its text piece by piece, and its
 * signature with the last one. Sent back as fragments, the signature fits none of them, and the upstream
 * refuses the request. Entries of other types, such as encrypted ones, are whole.
 *
 * One thread. The time of a fragment is proportional to its own size.
 */

struct chat_details {   /* zeroed: no entry is open */
    json_t *open;       /* without its text, or NULL */
    const char *member; /* of the text: "text" or "summary" */
    struct buf text;
};

/* Takes an element of a stream's list; what is no object with a type is ignored. Returns the entry that
 * ended with it, or NULL. New reference. */
json_t *chat_details_take(struct chat_details *details, const json_t *element);

/* Something else follows: returns the open entry, or NULL. New reference. */
json_t *chat_details_end(struct chat_details *details);

void chat_details_clear(struct chat_details *details);

#endif
