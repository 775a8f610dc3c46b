#ifndef RUNNEL_CORE_RUN_CONTEXT_CALL_OUTPUTS_H
#define RUNNEL_CORE_RUN_CONTEXT_CALL_OUTPUTS_H

#include <stddef.h>

#include "core/domain/rows.h"

/*
 * call_outputs.h -- which item answers which call.
 *
 * Models use an id again in a later turn: the answer to a call is the next output with its id, and no
 * other. All of them are found in one pass, so that a long history is not searched for each of its calls.
 */

/* The id by which a call is answered: its own, where the model gave it none. Borrowed. */
const char *call_output_id(const struct item_row *call);

/* For each of items[first..end) the place of the output that answers it, or `end`: for the item at i, at
 * [i - first]. Pure; the caller frees. */
size_t *call_outputs_find(const struct item_row *const *items, size_t first, size_t end);

#endif
