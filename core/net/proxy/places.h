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
