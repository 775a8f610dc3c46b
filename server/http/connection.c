/*
 * connection.c -- a client's connection, from accept to close: how many its address has, and
 * until when it may be silent.
 *
 * At its connection limit libmicrohttpd leaves clients hanging instead of answering. Its
 * timeout is one of inactivity, so a client that sends a byte now and then is never late. So
 * connections are counted here, and a clock thread hangs up on clients that are late with a
 * head or a body.
 */

#include <errno.h>
#include <linux/tcp.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "server/http/http_internal.h"
#include "server/http/mhd_overrides.h"

/* ---- How many ---- */

/* IPv4 inside IPv6 is IPv4. False for loopback, which is not counted. */
static bool peer_address(const struct sockaddr *from, struct in6_addr *ret_address)
{
    struct in6_addr address = {0};

    if (from->sa_family == AF_INET6) {
        memcpy(&address, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr,
               sizeof(address));
    } else if (from->sa_family == AF_INET) {
        address.s6_addr[10] = address.s6_addr[11] = 0xFF;
        memcpy(&address.s6_addr[12],
               &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
    } else {
        return false;
    }
    *ret_address = address;
    return !IN6_IS_ADDR_LOOPBACK(&address) &&
           !(IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[12] == 127);
}

static struct http_peer **peer_bucket(struct http *http, const struct in6_addr *address)
{
    uint32_t hash = HASH_OF_NOTHING;

    for (size_t i = 0; i < sizeof(address->s6_addr); i++)
        hash = hash_byte(hash, address->s6_addr[i]);
    return &http->peers[hash % HTTP_PEER_BUCKETS];
}

static struct http_peer *count_peer_locked(struct http *http, const struct in6_addr *address)
    REQUIRES(http->lock)
{
    struct http_peer **bucket = peer_bucket(http, address);
    struct http_peer *peer = *bucket;

    while (peer && memcmp(&peer->address, address, sizeof(*address)) != 0)
        peer = peer->next;
    if (!peer) {
        peer = mem_new(struct http_peer);
        peer->address = *address;
        peer->next = *bucket;
        *bucket = peer;
    }
    peer->connections++;
    return peer;
}

static void uncount_peer_locked(struct http *http, struct http_peer *peer) REQUIRES(http->lock)
{
    struct http_peer **at;

    if (!peer || --peer->connections)
        return;
    at = peer_bucket(http, &peer->address);
    while (*at != peer)
        at = &(*at)->next;
    *at = peer->next;
    free(peer);
}

/* ---- Until when ---- */

void connection_set_deadline_locked(struct http *http, struct http_connection *connection,
                                    enum deadline_kind kind) REQUIRES(http->lock)
{
    bool was_empty = deadlines_next(&http->deadlines) == UINT64_MAX;

    deadlines_set(&http->deadlines, &connection->deadline, kind, clock_mono_ns());
    if (was_empty && kind != DEADLINE_NONE)
        pthread_cond_broadcast(&http->changed);
}

void connection_set_deadline(struct http *http, struct http_connection *connection,
                             enum deadline_kind kind)
{
    lock_acquire(&http->lock);
    connection_set_deadline_locked(http, connection, kind);
    lock_release(&http->lock);
}

/* ---- From accept to close ---- */

static struct http_connection *connection_opened(struct http *http, struct MHD_Connection *from)
{
    const struct config *config = http->options.config;
    struct http_connection *connection = mem_new(struct http_connection);
    const struct sockaddr *address =
        MHD_get_connection_info(from, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
    struct in6_addr peer;

    connection->fd =
        MHD_get_connection_info(from, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    connection->http = http;
    mhd_read_along(connection->fd, &connection->framing);
    deadline_init(&connection->deadline);
    lock_acquire(&http->lock);
    if (++http->connections > config->max_connections)
        connection->refusal = 503;
    if (peer_address(address, &peer)) {
        connection->peer = count_peer_locked(http, &peer);
        if (config->max_connections_per_ip &&
            connection->peer->connections > config->max_connections_per_ip)
            connection->refusal = 429;
    }
    connection_set_deadline_locked(http, connection, DEADLINE_HEADER);
    lock_release(&http->lock);
    return connection;
}

/* It was waiting for the next request, and had time for one. due_ns is 0 if this server has
 * hung up. */
static bool awaits_request_locked(const struct http *http,
                                  const struct http_connection *connection) REQUIRES(http->lock)
{
    return !http->stopping && !connection->over &&
           connection->deadline.due_ns > clock_mono_ns();
}

static bool has_sent_anything(int fd)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof(info);

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
           info.tcpi_data_segs_in > 0;
}

static bool has_left(int fd)
{
    char byte;
    ssize_t size = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    return size == 0 || (size < 0 && errno != EAGAIN);
}

/* The peer has gone. After a reset the kernel no longer knows whose socket it was. */
static bool was_reset(int fd)
{
    struct sockaddr_storage peer;
    socklen_t size = sizeof(peer);

    return getpeername(fd, (struct sockaddr *)&peer, &size) != 0;
}

/*
 * libmicrohttpd ends a connection without an answer if the input is no request to it: in
 * 0.9.75, a first line without a blank. It gives no reason when it ends a connection, so this
 * checks everything else that can have ended it: a deadline of this server, one of the
 * library's, an answer that was the last, or the client. A client that was never answered may
 * also have left. On later requests, a client that has left most likely just did so, and
 * nothing distinguishes its last bytes from a request.
 */
static bool was_unreadable(const struct http_connection *connection)
{
    if (connection->requests)
        return !has_left(connection->fd);
    return has_sent_anything(connection->fd) && !was_reset(connection->fd);
}

/* If a socket is closed with unread input, the kernel resets the connection. That may cost a
 * client the answer to an earlier request. */
static void discard_unread(int fd)
{
    char bytes[16384];
    size_t discarded = 0;
    ssize_t size;

    do {
        size = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        discarded += size > 0 ? (size_t)size : 0;
    } while (size > 0 && discarded < REQUEST_DISCARD_LIMIT);
}

/* The socket is closed after this, so it must leave the clock's queues first. */
static void connection_closed(struct http *http, struct http_connection *connection)
{
    bool awaited_request;

    mhd_read_along(connection->fd, NULL);
    lock_acquire(&http->lock);
    http->connections--;
    uncount_peer_locked(http, connection->peer);
    awaited_request = awaits_request_locked(http, connection);
    connection_set_deadline_locked(http, connection, DEADLINE_NONE);
    lock_release(&http->lock);
    if (awaited_request && was_unreadable(connection))
        http_answer_no_request(connection);
    discard_unread(connection->fd);
    free(connection);
}

void connection_notice(void *arg, struct MHD_Connection *from, void **state,
                       enum MHD_ConnectionNotificationCode what)
{
    struct http *http = arg;

    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        *state = connection_opened(http, from);
    else
        connection_closed(http, *state);
}

struct http_connection *connection_of(struct MHD_Connection *from)
{
    return MHD_get_connection_info(from, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

/* ---- The clock ---- */

/* The clock looks at intervals and not at the exact time, so that requests need not wake it. */
static uint64_t clock_step_ns(const struct http *http)
{
    uint64_t step = NS_PER_SECOND;

    for (int kind = 0; kind < DEADLINE_KIND_COUNT; kind++)
        if (http->deadlines.patience_ns[kind] / 8 < step)
            step = http->deadlines.patience_ns[kind] / 8;
    return step < NS_PER_MS ? NS_PER_MS : step;
}

static void hang_up_locked(struct http *http) REQUIRES(http->lock)
{
    struct deadline *over;
    enum deadline_kind kind;

    while ((over = deadlines_take_over(&http->deadlines, clock_mono_ns(), &kind))) {
        if (kind != DEADLINE_LINGER) /* a connection that was answered is not late */
            atomic_fetch_add(&http->late, 1);
        (void)shutdown(CONTAINER_OF(over, struct http_connection, deadline)->fd, SHUT_RDWR);
    }
}

void *connection_run_clock(void *arg)
{
    struct http *http = arg;

    lock_acquire(&http->lock);
    while (!http->stopping) {
        hang_up_locked(http);
        if (deadlines_next(&http->deadlines) == UINT64_MAX) {
            lock_wait(&http->lock, &http->changed);
        } else {
            uint64_t next = clock_mono_ns() + clock_step_ns(http);

            while (!http->stopping && lock_wait_until(&http->lock, &http->changed, next))
                continue;
        }
    }
    lock_release(&http->lock);
    return NULL;
}
