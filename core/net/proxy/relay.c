/*
 * relay.c -- who is read, and who is written to.
 *
 * A side that is neither is not watched at all: epoll reports a side that has hung up even if not asked, and a
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

static bool is_client(const struct relay *relay, const struct relay_side *side)
{
    return side == &relay->sides[RELAY_CLIENT];
}

/* Nothing more is read from it. */
static bool is_silent(const struct relay *relay, const struct relay_side *side)
{
    return side->ended || (is_client(relay, side) && !relay->client_left);
}

static void watch(struct relay *relay, struct relay_side *side)
{
    uint32_t events = side->waiting.length ? EPOLLOUT : 0;
    struct err err;

    if (!is_silent(relay, side) && !other_of(relay, side)->waiting.length)
        events |= EPOLLIN;
    if (events == side->watched)
        return;
    if (!events)
        loop_watch_remove(relay->loop, &side->watch);
    else if (side->watched)
        loop_watch_change(relay->loop, &side->watch, events);
    else if (loop_watch_add(relay->loop, &side->watch, events, &err))
        events = 0; /* no memory in the kernel: its time will be over */
    side->watched = events;
}

/* False if the side has failed. */
static bool send_waiting(struct relay_side *side)
{
    while (side->waiting.length) {
        ssize_t sent =
            send(side->watch.fd, side->waiting.data, side->waiting.length, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return errno == EAGAIN;
        buf_consume(&side->waiting, (size_t)sent);
    }
    buf_clear(&side->waiting);
    return true;
}

static bool pass_on(struct relay_side *to, const char *bytes, size_t size)
{
    ssize_t sent = send(to->watch.fd, bytes, size, MSG_NOSIGNAL);

    if (sent < 0 && errno != EAGAIN && errno != EINTR)
        return false;
    if (sent < 0)
        sent = 0;
    if ((size_t)sent < size)
        buf_add(&to->waiting, bytes + sent, size - (size_t)sent);
    return true;
}

/* Reads as long as the other side takes it. False if either has failed, or no more may be carried. */
static bool carry(struct relay *relay, struct relay_side *from)
{
    struct relay_side *to = other_of(relay, from);
    char bytes[RELAY_PIECE];

    for (int i = 0; i < PIECES && !to->waiting.length && !is_silent(relay, from); i++) {
        size_t room = sizeof(bytes);
        ssize_t got;

        if (is_client(relay, from) && relay->client_left < room)
            room = (size_t)relay->client_left;
        got = recv(from->watch.fd, bytes, room, 0);
        if (got < 0)
            return errno == EAGAIN || errno == EINTR;
        from->ended = got == 0;
        if (got == 0)
            return true;
        if (is_client(relay, from) && relay->client_left != UINT64_MAX)
            relay->client_left -= (uint64_t)got;
        if (!relay->spend(relay, (size_t)got) || !pass_on(to, bytes, (size_t)got))
            return false;
    }
    return true;
}

/* A side that sends no more is the end of what the other gets. */
static void shut(struct relay *relay, struct relay_side *side)
{
    if (!other_of(relay, side)->ended || side->waiting.length || side->shut)
        return;
    side->shut = true;
    (void)shutdown(side->watch.fd, SHUT_WR);
}

/* The server's end is the end, also if the client would have more to say. */
static bool is_over(const struct relay *relay)
{
    const struct relay_side *client = &relay->sides[RELAY_CLIENT];
    const struct relay_side *server = &relay->sides[RELAY_SERVER];

    return client->shut && (server->shut || relay->client_left != UINT64_MAX);
}

static void go_on(struct relay *relay)
{
    relay->moved_ns = loop_now(relay->loop);
    for (int i = RELAY_CLIENT; i <= RELAY_SERVER; i++)
        shut(relay, &relay->sides[i]);
    if (is_over(relay)) {
        relay->done(relay);
        return;
    }
    for (int i = RELAY_CLIENT; i <= RELAY_SERVER; i++)
        watch(relay, &relay->sides[i]);
}

static void take_ready(struct relay *relay, struct relay_side *side, uint32_t events)
{
    if (((events & EPOLLOUT) && !send_waiting(side)) ||
        ((side->watched & EPOLLIN) && (events & ~(uint32_t)EPOLLOUT) && !carry(relay, side)) ||
        ((events & EPOLLERR) && !(side->watched & EPOLLIN)))
        relay->done(relay);
    else
        go_on(relay);
}

static void client_ready(struct loop_watch *watched, uint32_t events)
{
    struct relay *relay = CONTAINER_OF(watched, struct relay, sides[RELAY_CLIENT].watch);

    take_ready(relay, &relay->sides[RELAY_CLIENT], events);
}

static void server_ready(struct loop_watch *watched, uint32_t events)
{
    struct relay *relay = CONTAINER_OF(watched, struct relay, sides[RELAY_SERVER].watch);

    take_ready(relay, &relay->sides[RELAY_SERVER], events);
}

static void look_at_time(struct loop_timer *timer)
{
    struct relay *relay = CONTAINER_OF(timer, struct relay, timer);
    uint64_t due = relay->moved_ns + relay->idle_ns;

    if (due <= loop_now(relay->loop))
        relay->done(relay);
    else
        loop_timer_start(relay->loop, timer, due);
}

void relay_start(struct relay *relay)
{
    relay->sides[RELAY_CLIENT].watch.ready = client_ready;
    relay->sides[RELAY_SERVER].watch.ready = server_ready;
    relay->timer.fire = look_at_time;
    loop_timer_start(relay->loop, &relay->timer, clock_mono_ns() + relay->idle_ns);
    if (send_waiting(&relay->sides[RELAY_CLIENT]) && send_waiting(&relay->sides[RELAY_SERVER]))
        go_on(relay);
    else
        relay->done(relay);
}

void relay_clear(struct relay *relay)
{
    loop_timer_stop(relay->loop, &relay->timer);
    for (int i = RELAY_CLIENT; i <= RELAY_SERVER; i++) {
        struct relay_side *side = &relay->sides[i];

        if (side->watched)
            loop_watch_remove(relay->loop, &side->watch);
        if (side->watch.fd >= 0)
            close(side->watch.fd);
        buf_clear(&side->waiting);
    }
}
