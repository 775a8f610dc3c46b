/*
 * relay.c -- who is read, and who is written to.
 *
 * A side that is neither is not watched at all: epoll reports a side that has hung up whatever it is asked for, and a
 * side that must wait would be reported again and again.
 *
 * Bytes are read into one buffer on the stack and sent at once. Only what the other side does not take is kept.
 */

#include "core/net/proxy/relay.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/compiler.h"

/* Pieces that are read from a side before others get their turn. */
#define PIECES 8

static struct relay_side *other_of(struct relay *relay, struct relay_side *side)
{
    return &relay->sides[side == relay->sides ? RELAY_SERVER : RELAY_CLIENT];
}
