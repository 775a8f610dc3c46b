#ifndef RUNNEL_CORE_NET_PROXY_PLACES_H
#define RUNNEL_CORE_NET_PROXY_PLACES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/lock.h"
#include "core/net/proxy/proxy.h"

/*
 * places.h -- where the calls of a box have gone through its proxy, and how much they may still carry.
 *
 * A connection has no sign of the call that has made it. So calls that are under way together share one list, which
 * begins with the first of them, and what they may carry adds up. Processes that a call leaves behind live on what is
 * left of that.
 *
 * Any thread.
 */

struct place {
    char host[DOMAIN_LIMIT + 1];
    unsigned port;
    enum proxy_verdict verdict;
    uint64_t connections, bytes;
};

/* Guarded by lock. */
struct places {
    struct lock lock;
    unsigned calls;
    uint64_t left;       /* bytes */
    unsigned generation; /* of the list */
    struct place list[PROXY_PLACES];
    size_t count, refused;
};

/* A place of a list that may have begun anew since. Zeros are none. */
struct place_mark {
    unsigned generation;
    size_t index;
};

void places_init(struct places *places);
void places_destroy(struct places *places);

void places_begin(struct places *places);
json_t *places_end(struct places *places); /* as proxy_end() */

/* A connection is counted. True if the list has not had such a one: it is new. A list that is full takes no more. */
bool places_note(struct places *places, const char *host, unsigned port,
                 enum proxy_verdict verdict, struct place_mark *ret_mark);

/* So many bytes are carried. False if they are more than what is left; then nothing is left. */
bool places_spend(struct places *places, const struct place_mark *mark, uint64_t bytes);
bool places_are_spent(struct places *places);

#endif
