#ifndef RUNNEL_CORE_NET_PROXY_RELAY_H
#define RUNNEL_CORE_NET_PROXY_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/net/loop.h"

/*
 * relay.h -- carries bytes between two sockets, both ways.
 *
 * A side is read when the other side has taken all that was read before. So a relay holds at most RELAY_PIECE bytes
 * for each side, and a side that is not read slows the other one down by the kernel's means.
 *
 * On the loop's thread only.
 */

#define RELAY_PIECE ((size_t)64 << 10)

enum relay_end { RELAY_CLIENT, RELAY_SERVER };

struct relay_side {
    struct loop_watch watch;
    uint32_t watched;   /* events; 0: not watched */
    struct buf waiting; /* bytes for this side */
    bool ended;         /* it sends no more */
    bool shut;          /* it gets no more, and knows */
};
