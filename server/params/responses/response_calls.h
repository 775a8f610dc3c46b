#ifndef RUNNEL_SERVER_PARAMS_RESPONSES_RESPONSE_CALLS_H
#define RUNNEL_SERVER_PARAMS_RESPONSES_RESPONSE_CALLS_H

#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/rows.h"

/*
 * response_calls.h -- whether the calls of a context and the outputs in new input match.
 *
 * Pure functions: any thread.
 */

/* An output of the local shell may name its call by the id of the item instead of the call id. Replaces
 * these by call ids, in place. `chain` is the past, also below. */
void response_calls_name(const struct item_row *chain, size_t chain_count,
                         struct item_row *input, size_t input_count);

/* Every client call must have one output of the matching type, and every new output a call:
 *   No tool output found for function call call_X.
 *   No tool call found for custom tool call output with call_id call_X.
 *   The function call call_X was already answered with another output.
 * A call that a run of a thread left open when it ended needs no output, and neither does one of an `async`
 * tool. An output that only repeats the one
 * before it is released: *input_count becomes smaller, and the rows behind it move up. After an error
 * the rows are in no order; the caller frees as many as before. */
enum err_code response_calls_match(const struct item_row *chain, size_t chain_count,
                                   struct item_row *input, size_t *input_count,
                                   struct err *err) MUST_CHECK;

#endif
