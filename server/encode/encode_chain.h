#ifndef RUNNEL_SERVER_ENCODE_ENCODE_CHAIN_H
#define RUNNEL_SERVER_ENCODE_ENCODE_CHAIN_H

#include <jansson.h>
#include <stddef.h>

#include "core/domain/rows.h"

/*
 * encode_chain.h -- the chain of tool calls of a run or a response, as our extension shows it.
 *
 * Times are milliseconds since 1970. Pure functions.
 */

/* Adds runnel.stats to the object of a run that has called tools here and has ended. */
void encode_chain_stats(json_t *object, const struct run_row *row);

/* The complete result: what was said and called, in text, as messages and call by call. `items` are
 * all that the run has made, oldest first. New reference. */
json_t *encode_chain(const struct run_row *row, const struct item_row *items, size_t count);

#endif
