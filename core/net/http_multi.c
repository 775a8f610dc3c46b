/*
 * http_multi.c -- between libcurl and the loop.
 *
 * libcurl offers curl_multi_poll(), which is simple, but looks at every transfer each time. Here
 * libcurl is driven by events instead: it says which sockets and which timer it waits for
 * (want_socket(), want_timer()), the loop watches them, and act() lets libcurl work on the one
 * that is ready. The cost of a piece of data does not depend on the number of open streams. The
 * price is that three traps of libcurl have to be known.
 *
 * The next address. When the first address of a host does not answer, libcurl 7.88 tries the next
 * one only when it is called again, and it asks for that call neither by a socket nor by its timer.
 * So when a transfer has lost a socket before it was connected, http_multi_push() makes libcurl
 * work on all transfers of the multi handle once.
 *
 * The closed socket. libcurl 7.88 closes a socket that is still connecting before it reports it,
 * and without calling close_socket(). The number that is then removed from epoll may already be
 * another thread's socket. That does no harm, because only this loop adds to this epoll.
 *
 * The receive buffer. In 7.88 it belongs to the easy handle and is made when a transfer begins. A
 * transfer that fails before it has a connection leaves the buffer behind. curl_easy_reset() forgets
 * its size but keeps the buffer, and CURLOPT_BUFFERSIZE is then refused. The next transfer would
 * read 16 KiB into a buffer of 1 KiB. (8.14 has one buffer for each multi handle.) So an easy
 * handle is used again only if its transfer ended well, and no refused option is ignored.
 *
 * A connection lives through these calls:
 *
 *   open_socket()     a transfer connects
 *   want_socket()     libcurl waits for it, or no longer does
 *   go_idle()         its transfer has ended, and libcurl keeps the connection
 *   close_socket()    libcurl closes it
 *
 * libcurl closes idle connections only when a transfer begins. So a sweep is a transfer that begins
 * and is then refused a socket. The loop could close idle sockets itself, but libcurl would continue
 * to use their numbers. It could also sweep every second, but an idle server should sleep: a sweep
 * is planned when a connection becomes idle, too old, or readable.
 */

#include "core/net/http_multi.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/net/egress.h"
#include "core/net/http_client.h"

#define LAST_BYTES_LIMIT 16 /* pieces of 4 KiB that are read from a closed connection */

/* One socket. That of a connection lives from open_socket() to close_socket(). One that libcurl has
 * for itself (a resolver's) lives from the first want_socket() to "remove". */
struct http_socket {
    struct loop_watch watch;
    struct http_multi *multi;
    struct http_transfer *transfer; /* the last one that used it; alive while is_counted */
    uint32_t events;                /* those that libcurl waits for; 0: none */
    bool is_counted;                /* among the sockets of its transfer */
    bool is_connection;
    bool is_fresh;   /* opened for its present transfer */
    bool is_idle;    /* in the list of its multi */
    bool is_closing; /* counted by its multi */
    uint64_t idle_since_ns;
    struct http_socket *prev_idle;
    struct http_socket *next_idle;
};

/* Lets libcurl work on all transfers, not only on those with an event. libcurl has deprecated this
 * call for its cost alone. */
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

/* The place of the socket with this number in the table. */
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

static struct http_transfer *transfer_of(CURL *easy)
{
    struct http_transfer *transfer = NULL;

    if (curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&transfer))
        return NULL;
    return transfer;
}

/* --- idle connections --- */

static void sweep_within(struct http_multi *multi, uint64_t wait_ns)
{
    uint64_t due = clock_mono_ns() + wait_ns;

    if (!multi->sweep.slot || due < multi->sweep.due_ns)
        loop_timer_start(multi->owner->loop, &multi->sweep, due);
}

static bool is_crowded(const struct http_multis *multis)
{
    return multis->idle_count > multis->idle_limit;
}

/* libcurl counts whole seconds: a connection is too old one second later. */
static uint64_t age_ns(const struct http_multis *multis)
{
    return (uint64_t)(multis->idle_age + 1) * NS_PER_SECOND;
}

static void plan_sweep(struct http_multi *multi)
{
    if (is_crowded(multi->owner))
        sweep_within(multi, HTTP_SWEEP_DELAY_MS * NS_PER_MS);
    else
        sweep_within(multi, age_ns(multi->owner));
}

static void leave_idle(struct http_socket *sock)
{
    struct http_multi *multi = sock->multi;

    if (!sock->is_idle)
        return;
    *(sock->prev_idle ? &sock->prev_idle->next_idle : &multi->idle_first) = sock->next_idle;
    *(sock->next_idle ? &sock->next_idle->prev_idle : &multi->idle_last) = sock->prev_idle;
    sock->prev_idle = sock->next_idle = NULL;
    sock->is_idle = false;
    multi->owner->idle_count--;
}

/* Edge-triggered, because not every event makes libcurl close the connection: a TLS session ticket
 * does not, for example. */
static void go_idle(struct http_socket *sock)
{
    struct http_multi *multi = sock->multi;
    struct err err;

    sock->is_fresh = false;
    sock->is_idle = true;
    sock->idle_since_ns = clock_mono_ns();
    sock->prev_idle = multi->idle_last;
    *(sock->prev_idle ? &sock->prev_idle->next_idle : &multi->idle_first) = sock;
    multi->idle_last = sock;
    multi->owner->idle_count++;
    if (loop_watch_add(multi->owner->loop, &sock->watch, EPOLLIN | EPOLLRDHUP | EPOLLET, &err))
        log_error("%s", err.text);
    plan_sweep(multi);
}

/* --- libcurl's sockets --- */

/* libcurl 7.88 takes a connection for alive while it has unread bytes. Servers send some before they
 * close: TLS a close_notify, others a 408. */
static void discard_last_bytes(int fd)
{
    char bytes[4096];

    for (int i = 0; i < LAST_BYTES_LIMIT; i++)
        if (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0)
            return;
}

static void idle_socket_ready(struct http_socket *sock, uint32_t events)
{
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        discard_last_bytes(sock->watch.fd);
    sock->multi->idle_event_ns = clock_mono_ns();
    sweep_within(sock->multi, HTTP_SWEEP_DELAY_MS * NS_PER_MS);
}

static void socket_ready(struct loop_watch *watch, uint32_t events)
{
    struct http_socket *sock = CONTAINER_OF(watch, struct http_socket, watch);
    int what = 0;

    if (sock->is_idle) {
        idle_socket_ready(sock, events);
        return;
    }
    /* A hang-up is read like data: bytes that came before it are still to be read. */
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        what |= CURL_CSELECT_IN;
    if (events & EPOLLOUT)
        what |= CURL_CSELECT_OUT;
    if (events & EPOLLERR)
        what |= CURL_CSELECT_ERR;
    act(sock->multi, watch->fd, what);
}

static struct http_socket *new_socket(struct http_multi *multi, curl_socket_t fd)
{
    struct http_socket *sock = mem_new(struct http_socket);

    *sock = (struct http_socket){
        .watch = {.fd = fd, .ready = socket_ready},
        .multi = multi,
    };
    return sock;
}

/* Removes what epoll has for the number first. When epoll refuses the socket, the transfer runs into
 * its deadline: an error returned to libcurl would end the multi handle with all its transfers.
 * `transfer` is NULL when libcurl works for itself: 8.14 shuts TLS down that way. It gives the other
 * side two seconds, but checks the clock only when it is called, which the next sweeps do. */
static void watch_socket(struct http_socket *sock, struct http_transfer *transfer,
                         uint32_t events)
{
    struct loop *loop = sock->multi->owner->loop;
    struct err err;

    leave_idle(sock);
    if (transfer && !sock->is_counted) {
        sock->is_counted = true;
        sock->transfer = transfer;
        transfer->sockets++;
    }
    if (transfer && sock->is_connection)
        transfer->latest = sock->watch.fd;
    if (!transfer && sock->is_connection && !sock->is_closing) {
        sock->is_closing = true;
        sock->multi->closing++;
        sweep_within(sock->multi, HTTP_SWEEP_DELAY_MS * NS_PER_MS);
    }
    sock->events = events;
    loop_watch_remove(loop, &sock->watch);
    if (loop_watch_add(loop, &sock->watch, events, &err))
        log_error("%s", err.text);
}

static void unwatch_socket(struct http_socket *sock)
{
    struct http_multis *multis = sock->multi->owner;

    sock->events = 0;
    loop_watch_remove(multis->loop, &sock->watch);
    if (!sock->is_counted)
        return;
    sock->is_counted = false;
    sock->transfer->sockets--;
    sock->transfer->lost |= sock->is_fresh;
    if (multis->inside)
        multis->socket_lost(sock->transfer);
}

static void forget_socket(struct http_socket **slot)
{
    struct http_socket *sock = TAKE(*slot);

    if (!sock)
        return;
    leave_idle(sock);
    unwatch_socket(sock);
    if (sock->is_closing)
        sock->multi->closing--;
    free(sock);
}

static int want_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *unused)
{
    struct http_multi *multi = arg;
    struct http_socket **slot = socket_slot(multi->owner, fd);

    (void)unused;
    if (what == CURL_POLL_REMOVE && *slot && (*slot)->is_connection)
        unwatch_socket(*slot);
    else if (what == CURL_POLL_REMOVE)
        forget_socket(slot);
    if (what == CURL_POLL_REMOVE)
        return 0;
    if (*slot && (*slot)->multi != multi)
        forget_socket(slot); /* closed without notice, and its number used again */
    if (!*slot)
        *slot = new_socket(multi, fd);
    watch_socket(*slot, transfer_of(easy),
                 (what & CURL_POLL_IN ? (uint32_t)EPOLLIN : 0) |
                     (what & CURL_POLL_OUT ? (uint32_t)EPOLLOUT : 0));
    return 0;
}

/* The number may be that of a socket that libcurl has closed without notice. If libcurl waited for
 * that socket, it takes this one for the same, and will not ask for it to be watched. */
static void add_connection(struct http_transfer *transfer, int fd)
{
    struct http_socket **slot = socket_slot(transfer->multis, fd);
    uint32_t events =
        *slot && (*slot)->is_counted && (*slot)->transfer == transfer ? (*slot)->events : 0;

    forget_socket(slot);
    *slot = new_socket(transfer->multi, fd);
    (*slot)->is_connection = (*slot)->is_fresh = true;
    /* The connection before is lost: libcurl tries again. */
    transfer->latest = -1;
    transfer->local_port = 0;
    if (events)
        watch_socket(*slot, transfer, events);
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
    if (fd < 0)
        return CURL_SOCKET_BAD;
    add_connection(transfer, fd);
    return fd;
}

static int close_socket(void *arg, curl_socket_t fd)
{
    forget_socket(socket_slot(arg, fd));
    return close(fd);
}

/* --- sweeping --- */

static curl_socket_t open_no_socket(void *arg, curlsocktype purpose,
                                    struct curl_sockaddr *address)
{
    (void)arg, (void)purpose, (void)address;
    return CURL_SOCKET_BAD;
}

/* The address is a number, so that no thread is started to look it up. */
static CURLcode set_up_sweeper(CURL *easy, long age)
{
    TRY_SETOPT(easy, CURLOPT_NOSIGNAL, 1L);
    TRY_SETOPT(easy, CURLOPT_PROXY, "");
    TRY_SETOPT(easy, CURLOPT_URL, "http://127.0.0.1/");
    TRY_SETOPT(easy, CURLOPT_FRESH_CONNECT, 1L);
    TRY_SETOPT(easy, CURLOPT_OPENSOCKETFUNCTION, open_no_socket);
    TRY_SETOPT(easy, CURLOPT_MAXAGE_CONN, age);
    return CURLE_OK;
}

static CURLMcode sweep_with(struct http_multi *multi, CURL *easy)
{
    CURLMcode rc = curl_multi_add_handle(multi->curl, easy);
    int running;

    if (rc)
        return rc;
    begin_work(multi);
    rc = curl_multi_socket_action(multi->curl, CURL_SOCKET_TIMEOUT, 0, &running);
    multi->owner->inside = false;
    curl_multi_remove_handle(multi->curl, easy);
    return rc;
}

/* libcurl may have skipped this sweep, because a transfer began within the second before. */
static bool had_event_lately(const struct http_multi *multi)
{
    return multi->idle_event_ns &&
           clock_mono_ns() - multi->idle_event_ns < 2 * HTTP_SWEEP_DELAY_MS * NS_PER_MS;
}

static void plan_next_sweep(struct http_multi *multi)
{
    const struct http_multis *multis = multi->owner;
    uint64_t wait = HTTP_SWEEP_DELAY_MS * NS_PER_MS;
    uint64_t due;

    if (!multi->idle_first && !multi->closing)
        return;
    if (multi->idle_first && !multi->closing && !is_crowded(multis) &&
        !had_event_lately(multi)) {
        due = multi->idle_first->idle_since_ns + age_ns(multis);
        if (due > clock_mono_ns() + wait)
            wait = due - clock_mono_ns();
    }
    sweep_within(multi, wait);
}

static void sweep_due(struct loop_timer *timer)
{
    struct http_multi *multi = CONTAINER_OF(timer, struct http_multi, sweep);
    struct http_multis *multis = multi->owner;
    CURL *easy;
    CURLMcode rc;

    if (!multi->idle_first && !multi->closing)
        return;
    easy = curl_easy_init();
    assert(easy);
    if (set_up_sweeper(easy, is_crowded(multis) ? HTTP_CROWDED_AGE : multis->idle_age))
        log_error("libcurl refuses an option of the sweep of idle connections");
    else if ((rc = sweep_with(multi, easy)))
        log_error("libcurl: %s", curl_multi_strerror(rc));
    curl_easy_cleanup(easy);
    multis->settle(multi);
    plan_next_sweep(multi);
}

/* --- transfers --- */

static CURLMcode set_up_multi(struct http_multi *multi)
{
    CURLMcode refused[] = {
        curl_multi_setopt(multi->curl, CURLMOPT_SOCKETFUNCTION, want_socket),
        curl_multi_setopt(multi->curl, CURLMOPT_SOCKETDATA, multi),
        curl_multi_setopt(multi->curl, CURLMOPT_TIMERFUNCTION, want_timer),
        curl_multi_setopt(multi->curl, CURLMOPT_TIMERDATA, multi),
        /* By default libcurl closes idle connections beyond four times the present transfers. */
        curl_multi_setopt(multi->curl, CURLMOPT_MAXCONNECTS, (long)HTTP_CALLS_PER_MULTI),
        curl_multi_setopt(multi->curl, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING),
    };

    for (size_t i = 0; i < COUNT_OF(refused); i++)
        if (refused[i])
            return refused[i];
    return CURLM_OK;
}

static struct http_multi *add_multi(struct http_multis *multis)
{
    struct http_multi *multi = mem_new(struct http_multi);
    CURLMcode rc;

    multi->curl = curl_multi_init();
    assert(multi->curl);
    multi->owner = multis;
    multi->timer.fire = timer_due;
    multi->push.fire = push_due;
    multi->sweep.fire = sweep_due;
    rc = set_up_multi(multi);
    assert(rc == CURLM_OK);
    (void)rc;

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

/* Should libcurl not remove a socket, no later event may lead to the transfer. */
static void forget_sockets_of(const struct http_transfer *transfer)
{
    struct http_multis *multis = transfer->multis;

    for (size_t i = 0; transfer->sockets && i < multis->socket_capacity; i++)
        if (multis->sockets[i] && multis->sockets[i]->is_counted &&
            multis->sockets[i]->transfer == transfer)
            forget_socket(&multis->sockets[i]);
}

static int local_port_of(int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof(address);

    if (getsockname(fd, (struct sockaddr *)&address, &size))
        return 0;
    if (address.ss_family == AF_INET)
        return ntohs(((const struct sockaddr_in *)&address)->sin_port);
    return address.ss_family == AF_INET6
               ? ntohs(((const struct sockaddr_in6 *)&address)->sin6_port)
               : 0;
}

/* Makes the connection of the transfer's request idle, if libcurl keeps it. libcurl 7.88 does not
 * report that it closes a socket that was never connected. So the socket must have the port from
 * which the request was sent. */
static void keep_connection(const struct http_transfer *transfer)
{
    struct http_socket *sock;

    if (!transfer->local_port || transfer->latest < 0)
        return;
    sock = *socket_slot(transfer->multis, transfer->latest);
    if (sock && sock->transfer == transfer && !sock->is_idle &&
        local_port_of(transfer->latest) == transfer->local_port)
        go_idle(sock);
}

void http_multi_remove(struct http_transfer *transfer)
{
    CURLMcode rc;

    if (!transfer->multi)
        return;
    rc = curl_multi_remove_handle(transfer->multi->curl, transfer->easy);
    assert(rc == CURLM_OK);
    (void)rc;
    transfer->multi->live--;
    transfer->multi = NULL;
    forget_sockets_of(transfer);
    keep_connection(transfer);
}

struct http_multis *http_multis_new(struct loop *loop)
{
    struct http_multis *multis = mem_new(struct http_multis);
    CURLSHcode rc;

    multis->loop = loop;
    multis->idle_limit = HTTP_IDLE_LIMIT;
    multis->idle_age = HTTP_IDLE_AGE;
    /* Only this loop's thread uses the share, so it needs no locks. */
    multis->share = curl_share_init();
    assert(multis->share);
    rc = curl_share_setopt(multis->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS);
    assert(rc == CURLSHE_OK);
    rc = curl_share_setopt(multis->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    assert(rc == CURLSHE_OK);
    (void)rc;
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
        loop_timer_stop(multis->loop, &multi->sweep);
        free(multi);
    }
    for (size_t i = 0; i < multis->socket_capacity; i++)
        free(multis->sockets[i]);
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
    transfer->latest = -1;
    TRY_SETOPT(easy, CURLOPT_PRIVATE, transfer);
    TRY_SETOPT(easy, CURLOPT_SHARE, multis->share);
    TRY_SETOPT(easy, CURLOPT_MAXAGE_CONN, multis->idle_age);
    TRY_SETOPT(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    TRY_SETOPT(easy, CURLOPT_OPENSOCKETDATA, transfer);
    TRY_SETOPT(easy, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    TRY_SETOPT(easy, CURLOPT_CLOSESOCKETDATA, multis);
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
