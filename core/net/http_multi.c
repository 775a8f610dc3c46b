/*
 * http_multi.c -- between libcurl and the loop.
 *
 * libcurl 7.88 has a trap for those who, as we do, work it by events. When the first address of
 * a host does not answer, it does not go on to the next one at once but when it is called again,
 * and asks for that neither by a socket nor by its timer. So when a transfer has lost a socket
 * before it was connected, all those of its multi handle are given a push.
 *
 * It also closes a socket that is still connecting before it says that it needs it no longer.
 * What is then removed from epoll is only a number, which may be somebody else's already; that
 * does no harm, because nobody but this loop can have given it to this epoll.
 *
 * Another trap is the receive buffer of 7.88. It belongs to the easy handle and is made when a
 * transfer begins. A transfer that fails before it has a connection leaves it there: its name does
 * not resolve, or its first socket is refused. curl_easy_reset() forgets the size of that buffer
 * but keeps the buffer, and CURLOPT_BUFFERSIZE is then refused. The next transfer would read
 * 16 KiB into a buffer of 1 KiB. (8.14 has one buffer for each multi handle.) So an easy handle
 * serves again only if its transfer ended well, and no refused option is ignored.
 */

#include "core/net/http_multi.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/net/egress.h"
#include "core/net/http_client.h"

/* One socket that libcurl wants to be told of; lives from its first interest to "remove". */
struct http_socket {
    struct loop_watch watch;
    struct http_multi *multi;
    struct http_transfer *transfer;
    bool is_own; /* opened for this transfer: not that of a resolver, nor one used again */
};

/* Works all transfers, not only those that something has happened to. libcurl would have us do
 * without, and advises against it for its cost alone. */
static CURLMcode push_all(struct http_multi *multi)
{
    int running;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    return curl_multi_socket_all(multi->curl, &running);
#pragma GCC diagnostic pop
}

static void begin_work(struct http_multi *multi)
{
    assert(!multi->owner->inside);
    multi->owner->inside = true;
}

static void end_work(struct http_multi *multi, CURLMcode rc)
{
    multi->owner->inside = false;
    if (rc)
        log_error("libcurl: %s", curl_multi_strerror(rc));
    multi->owner->settle(multi);
}

/* Lets libcurl work. `fd` may be closed and forgotten, its http_socket freed, when it returns. */
static void act(struct http_multi *multi, curl_socket_t fd, int events)
{
    int running;

    begin_work(multi);
    end_work(multi, curl_multi_socket_action(multi->curl, fd, events, &running));
}

static void push_due(struct loop_timer *timer)
{
    struct http_multi *multi = CONTAINER_OF(timer, struct http_multi, push);

    begin_work(multi);
    end_work(multi, push_all(multi));
}

void http_multi_push(struct http_multi *multi)
{
    loop_timer_start(multi->owner->loop, &multi->push, 0);
}

static void socket_ready(struct loop_watch *watch, uint32_t events)
{
    struct http_multi *multi = CONTAINER_OF(watch, struct http_socket, watch)->multi;
    int what = 0;

    /* A hang-up is read like data: what came before it is still there. */
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        what |= CURL_CSELECT_IN;
    if (events & EPOLLOUT)
        what |= CURL_CSELECT_OUT;
    if (events & EPOLLERR)
        what |= CURL_CSELECT_ERR;
    act(multi, watch->fd, what);
}

static void timer_due(struct loop_timer *timer)
{
    act(CONTAINER_OF(timer, struct http_multi, timer), CURL_SOCKET_TIMEOUT, 0);
}

static int want_timer(CURLM *curl, long wait_ms, void *arg)
{
    struct http_multi *multi = arg;
    struct loop *loop = multi->owner->loop;

    (void)curl;
    if (wait_ms < 0)
        loop_timer_stop(loop, &multi->timer);
    else
        loop_timer_start(loop, &multi->timer, clock_mono_ns() + (uint64_t)wait_ms * NS_PER_MS);
    return 0;
}

/* Where the socket with this number stands in the table. */
static struct http_socket **socket_slot(struct http_multis *multis, curl_socket_t fd)
{
    size_t capacity = multis->socket_capacity ? multis->socket_capacity : 64;

    while (capacity <= (size_t)fd)
        capacity *= 2;
    if (capacity != multis->socket_capacity) {
        multis->sockets = mem_resize(multis->sockets, capacity, sizeof(*multis->sockets));
        for (size_t i = multis->socket_capacity; i < capacity; i++)
            multis->sockets[i] = NULL;
        multis->socket_capacity = capacity;
    }
    return &multis->sockets[fd];
}

/* Whatever epoll knew of the number before is forgotten first. When it will not have the socket,
 * the transfer runs into its deadline: an error returned to libcurl would end the multi handle
 * with all its transfers, for good. */
static void watch_socket(struct http_socket *sock, uint32_t events)
{
    struct loop *loop = sock->multi->owner->loop;
    struct err err;

    loop_watch_remove(loop, &sock->watch);
    if (loop_watch_add(loop, &sock->watch, events, &err))
        log_error("%s", err.text);
}

static struct http_transfer *transfer_of(CURL *easy)
{
    struct http_transfer *transfer = NULL;

    curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&transfer);
    return transfer;
}

static struct http_socket *new_socket(struct http_multi *multi, curl_socket_t fd, CURL *easy)
{
    struct http_socket *sock = mem_new(struct http_socket);
    struct http_transfer *transfer = transfer_of(easy);

    *sock = (struct http_socket){
        .watch = {.fd = fd, .ready = socket_ready},
        .multi = multi,
        .transfer = transfer,
        .is_own = fd == transfer->opened,
    };
    transfer->sockets++;
    return sock;
}

static void forget_socket(struct http_socket **slot)
{
    struct http_socket *sock = TAKE(*slot);

    if (!sock)
        return;
    loop_watch_remove(sock->multi->owner->loop, &sock->watch);
    sock->transfer->sockets--;
    sock->transfer->lost |= sock->is_own;
    if (sock->multi->owner->inside)
        sock->multi->owner->socket_lost(sock->transfer);
    free(sock);
}

static int want_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *unused)
{
    struct http_multi *multi = arg;
    struct http_socket **slot = socket_slot(multi->owner, fd);

    (void)unused;
    if (what == CURL_POLL_REMOVE) {
        forget_socket(slot);
        return 0;
    }
    if (!*slot)
        *slot = new_socket(multi, fd, easy);
    watch_socket(*slot, (what & CURL_POLL_IN ? (uint32_t)EPOLLIN : 0) |
                            (what & CURL_POLL_OUT ? (uint32_t)EPOLLOUT : 0));
    return 0;
}

static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct http_transfer *transfer = arg;
    int fd;

    (void)purpose;
    if (transfer->guarded && !egress_address_is_public(&address->addr)) {
        transfer->refused = true;
        return CURL_SOCKET_BAD;
    }
    fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    transfer->opened = fd;
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static struct http_multi *add_multi(struct http_multis *multis)
{
    struct http_multi *multi = mem_new(struct http_multi);

    multi->curl = curl_multi_init();
    assert(multi->curl);
    multi->owner = multis;
    multi->timer.fire = timer_due;
    multi->push.fire = push_due;
    curl_multi_setopt(multi->curl, CURLMOPT_SOCKETFUNCTION, want_socket);
    curl_multi_setopt(multi->curl, CURLMOPT_SOCKETDATA, multi);
    curl_multi_setopt(multi->curl, CURLMOPT_TIMERFUNCTION, want_timer);
    curl_multi_setopt(multi->curl, CURLMOPT_TIMERDATA, multi);
    /* Else libcurl closes idle connections beyond four times the present transfers. */
    curl_multi_setopt(multi->curl, CURLMOPT_MAXCONNECTS, (long)HTTP_CALLS_PER_MULTI);
    curl_multi_setopt(multi->curl, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);

    multis->all = mem_resize(multis->all, multis->count + 1, sizeof(struct http_multi *));
    multis->all[multis->count++] = multi;
    return multi;
}

static struct http_multi *multi_with_room(struct http_multis *multis)
{
    for (size_t i = 0; i < multis->count; i++)
        if (multis->all[i]->live < HTTP_CALLS_PER_MULTI)
            return multis->all[i];
    return add_multi(multis);
}

void http_multi_add(struct http_transfer *transfer)
{
    struct http_multi *multi = multi_with_room(transfer->multis);
    CURLMcode rc = curl_multi_add_handle(multi->curl, transfer->easy);

    assert(rc == CURLM_OK);
    (void)rc;
    transfer->multi = multi;
    multi->live++;
}

/* Should libcurl forget to take its leave of a socket, nobody may find the transfer by it. */
static void forget_sockets_of(const struct http_transfer *transfer)
{
    struct http_multis *multis = transfer->multis;

    for (size_t i = 0; transfer->sockets && i < multis->socket_capacity; i++)
        if (multis->sockets[i] && multis->sockets[i]->transfer == transfer)
            forget_socket(&multis->sockets[i]);
}

void http_multi_remove(struct http_transfer *transfer)
{
    if (!transfer->multi)
        return;
    curl_multi_remove_handle(transfer->multi->curl, transfer->easy);
    transfer->multi->live--;
    transfer->multi = NULL;
    forget_sockets_of(transfer);
}

struct http_multis *http_multis_new(struct loop *loop)
{
    struct http_multis *multis = mem_new(struct http_multis);

    multis->loop = loop;
    /* All of it is used on one thread, so it needs no locks. */
    multis->share = curl_share_init();
    assert(multis->share);
    curl_share_setopt(multis->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS);
    curl_share_setopt(multis->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    return multis;
}

void http_multis_free(struct http_multis *multis)
{
    if (!multis)
        return;
    for (size_t i = 0; i < multis->count; i++) {
        struct http_multi *multi = multis->all[i];

        assert(multi->live == 0);
        curl_multi_cleanup(multi->curl);
        loop_timer_stop(multis->loop, &multi->timer);
        loop_timer_stop(multis->loop, &multi->push);
        free(multi);
    }
    while (multis->spare_count)
        curl_easy_cleanup(multis->spare[--multis->spare_count]);
    curl_share_cleanup(multis->share);
    free(multis->sockets);
    free(multis->all);
    free(multis);
}

CURLcode http_easy_take(struct http_transfer *transfer)
{
    struct http_multis *multis = transfer->multis;
    CURL *easy = multis->spare_count ? multis->spare[--multis->spare_count] : curl_easy_init();

    assert(easy);
    transfer->easy = easy;
    transfer->opened = -1;
    TRY_SETOPT(easy, CURLOPT_PRIVATE, transfer);
    TRY_SETOPT(easy, CURLOPT_SHARE, multis->share);
    TRY_SETOPT(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    TRY_SETOPT(easy, CURLOPT_OPENSOCKETDATA, transfer);
    return CURLE_OK;
}

void http_easy_put(struct http_transfer *transfer)
{
    struct http_multis *multis = transfer->multis;
    CURL *easy = TAKE(transfer->easy);

    if (!easy)
        return;
    if (!transfer->ended_well || multis->spare_count == HTTP_SPARE_LIMIT) {
        curl_easy_cleanup(easy);
        return;
    }
    curl_easy_reset(easy);
    multis->spare[multis->spare_count++] = easy;
}
