#ifndef RUNNEL_CORE_RUN_CONTEXT_CALL_OUTPUTS_H
#define RUNNEL_CORE_RUN_CONTEXT_CALL_OUTPUTS_H

#include <stddef.h>

#include "core/domain/rows.h"

/*
 * call_outputs.h -- which item answers which call.
 *
 * Some models use an id again in a later turn. So the answer to a call is the next output with its id, and
 * no other. All outputs are found in one pass: searching the history for each call would take time
 * that grows with its square.
 */

/* The id by which a call is answered: its call_id or, for a call without one, the id of its item.
 * Borrowed. */
const char *call_output_id(const struct item_row *call);

/* For each of items[first..end) the index of the output that answers it, or `end`. The element for
 * items[i] is [i - first]. Pure: any thread. The caller frees. */
size_t *call_outputs_find(const struct item_row *const *items, size_t first, size_t end);

#endif
