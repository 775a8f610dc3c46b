#ifndef RUNNEL_SERVER_API_RESPONSES_CHAIN_CACHE_H
#define RUNNEL_SERVER_API_RESPONSES_CHAIN_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/domain/rows.h"
#include "core/domain/tenant.h"

/*
 * chain_cache.h -- histories of chains that this node has read, so that the next turn does not read them again.
 *
 * A history is known by the response that it ends with. What belongs to a response that has ended does not change,
 * so a history needs no version, and what another node does cannot make it wrong. One thing can happen: the response
 * is deleted. So a user of the cache asks the store for the newest response in any case (response_past.h).
 *
 * A history belongs to its taker until it is put back, under the id of a later response if it has grown. So no two
 * threads ever have the same one, and the texts of a chain are here once. Of two requests that continue one response
 * at the same moment, one finds nothing, and reads the store.
 *
 * The setting `chain_cache` is the most bytes. Beyond it, and after CHAIN_CACHE_SECONDS, the histories unused longest
 * are dropped.
 *
 * Any thread.
 */

#define CHAIN_CACHE_SECONDS 600

struct past_text;
struct chain_cache;

struct chain_history {
    struct item_row *items; /* oldest first */
    size_t count;
    struct past_text *text; /* held: what they are sent as; NULL: they are not plain */
};
void chain_history_clear(struct chain_history *past);

/* NULL for a limit of 0; then nothing is found, and what is put is dropped. */
struct chain_cache *chain_cache_new(size_t limit);
void chain_cache_free(struct chain_cache *cache);

/* The history up to this response; the caller owns it. False: not known. */
bool chain_cache_take(struct chain_cache *cache, const struct tenant *tenant,
                      const char *response_id, struct chain_history *ret_past);
/* Takes the history. */
void chain_cache_put(struct chain_cache *cache, const struct tenant *tenant,
                     const char *response_id, struct chain_history *past);
/* From time to time: drops those that are too old, also when nothing is put any more. */
void chain_cache_evict(struct chain_cache *cache, uint64_t now_ns);
/* The response was deleted. */
void chain_cache_drop(struct chain_cache *cache, const struct tenant *tenant,
                      const char *response_id);

#endif
