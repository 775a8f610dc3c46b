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

struct relay {
    struct loop *loop;
    struct relay_side sides[2];
    uint64_t client_left; /* bytes that the client may still send; the rest stays unread */
    uint64_t idle_ns;     /* without a byte, until it ends */
    uint64_t moved_ns;
    struct loop_timer timer;
    /* So many bytes were read. False ends the relay */
    bool (*spend)(struct relay *relay, size_t size);
    /* Called last, once: all was carried, or a side has failed. The caller then clears the relay */
    void (*done)(struct relay *relay);
};

/* Begins. Zero it, and fill in `loop`, both descriptors (not blocking; the relay's from now on), what waits for either
 * side, `client_left`, `idle_ns` and both functions. done() may be called before this returns. */
void relay_start(struct relay *relay);

/* Closes both sides. Also of one that was not started, if its descriptors are filled in; -1 is none. */
void relay_clear(struct relay *relay);

#endif
