#ifndef RUNNEL_SERVER_ENCODE_ENCODE_CHAIN_H
#define RUNNEL_SERVER_ENCODE_ENCODE_CHAIN_H

#include <jansson.h>
#include <stddef.h>

#include "core/domain/rows.h"

/*
 * encode_chain.h -- the chain of tool calls of a run or a response: an extension of this server.
 *
 * Times are in milliseconds since 1970, durations in milliseconds. Pure functions: any thread.
 */

/* Adds runnel.stats to the object of a run that has ended, if the server executed calls for it. */
void encode_chain_stats(json_t *object, const struct run_row *row);

/* The whole chain: as text, as messages, and call by call. `items` are all items that the run has made, oldest
 * first. New reference. */
json_t *encode_chain(const struct run_row *row, const struct item_row *items, size_t count);

#endif
