/*
 * proxy.c -- one connection of a box, from its first byte to its relay.
 *
 *   accept ─▶ head (proxy_head.h) ─▶ list, port, bytes ─▶ names.h ─▶ egress.h ─▶ connect ─▶ relay.h
 *                 └─────────────── a refusal, with its sentence ◀─┘
 *
 * The sentence of a refusal is its reason phrase, because that is what programs show of the answer to CONNECT.
 *
 * libcurl could have made the connections, as it does for all other requests. But a tunnel is a socket, which libcurl
 * does not give away, and its resolver makes a thread for each name.
 *
 * Each proxy belongs to the loop; a box only has a pointer for proxy_begin(), proxy_end() and proxy_close(). One that
 * was closed is freed when its last look-up has come back.
 */

#include "core/net/proxy/proxy.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/net/proxy/places.h"
#include "core/net/proxy/proxy_head.h"
#include "core/net/proxy/relay.h"

/* After the process has no descriptors for a connection. */
#define REST_NS (NS_PER_SECOND / 4)

/* Bytes of a refusal's sentence: it may name the domains. */
#define SENTENCE_SIZE 512

struct proxies {
    struct loop *loop;
    struct names *names;
    const struct egress_rules *egress;
    _Atomic uint64_t counts[PROXY_VERDICTS];
};

struct proxy {
    struct proxies *all;
    char *name;
    char **domains; /* NULL ends them */
    struct places places;
    struct loop_task opening, closing;
    /* The loop's from here on */
    struct loop_watch listener;
    bool listens; /* the listener is watched */
    struct loop_timer rest;
    struct connection *connections;
    size_t count, lookups;
    bool closed;
};

struct connection {
    struct proxy *proxy;
    struct connection *next, *before;
    struct relay relay; /* has the sockets, also before it starts */
    struct buf input;
    struct proxy_head head;
    struct loop_timer timer;        /* for the head, and for an address */
    struct name_question *question; /* that is under way */
    struct name_address addresses[NAMES_RESULTS];
    size_t address_count, address_at;
    struct place_mark mark;
};

const char *proxy_verdict_name(enum proxy_verdict verdict)
{
    static const char *const names[] = {
        [PROXY_ALLOWED] = "allowed",
        [PROXY_DOMAIN] = "domain",
        [PROXY_ON_PORT] = "port",
        [PROXY_ADDRESS] = "address",
        [PROXY_BYTES] = "bytes",
        [PROXY_BUSY] = "busy",
        [PROXY_MALFORMED] = "malformed",
        [PROXY_UNKNOWN] = "unknown",
        [PROXY_UNREACHABLE] = "unreachable",
    };

    return names[verdict];
}

static struct loop *loop_of(const struct connection *connection)
{
    return connection->proxy->all->loop;
}

/* ---- The end of a connection ---- */

static void listen_again(struct proxy *proxy);
static void free_closed(struct proxy *proxy);

static void end_connection(struct connection *connection)
{
    struct proxy *proxy = connection->proxy;

    loop_timer_stop(loop_of(connection), &connection->timer);
    relay_clear(&connection->relay);
    if (connection->before)
        connection->before->next = connection->next;
    else
        proxy->connections = connection->next;
    if (connection->next)
        connection->next->before = connection->before;
    proxy_head_clear(&connection->head);
    buf_clear(&connection->input);
    free(connection);
    proxy->count--;
    listen_again(proxy);
}

/* The watch of a side changes its purpose: the head, an address, the relay. */
static void unwatch(struct connection *connection, enum relay_end end)
{
    struct relay_side *side = &connection->relay.sides[end];

    if (side->watched)
        loop_watch_remove(loop_of(connection), &side->watch);
    side->watched = 0;
}

/* ---- Verdicts ---- */

static void note(struct connection *connection, enum proxy_verdict verdict)
{
    struct proxy *proxy = connection->proxy;
    const struct proxy_head *head = &connection->head;
    bool is_new =
        places_note(&proxy->places, head->host, head->port, verdict, &connection->mark);

    atomic_fetch_add(&proxy->all->counts[verdict], 1);
    if (is_new && verdict != PROXY_ALLOWED)
        log_info("%s: the proxy refused %s:%u (%s)", proxy->name, head->host, head->port,
                 proxy_verdict_name(verdict));
}

static void refuse(struct connection *connection, enum proxy_verdict verdict, int status,
                   const char *format, ...) PRINTF_LIKE(4, 5);

/* It fits into the socket's empty buffer. Then the connection is closed. */
static void refuse(struct connection *connection, enum proxy_verdict verdict, int status,
                   const char *format, ...)
{
    char sentence[SENTENCE_SIZE];
    AUTO_FREE char *answer = NULL;
    va_list values;

    va_start(values, format);
    (void)vsnprintf(sentence, sizeof(sentence), format, values);
    va_end(values);
    note(connection, verdict);
    answer = mem_printf("HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n"
                        "Connection: close\r\n\r\n%s\n",
                        status, sentence, strlen(sentence) + 1, sentence);
    (void)send(connection->relay.sides[RELAY_CLIENT].watch.fd, answer, strlen(answer),
               MSG_NOSIGNAL);
    end_connection(connection);
}

/* "a.example.org, *.example.com": as many as fit. */
static void list_domains(const struct proxy *proxy, char ret_text[SENTENCE_SIZE / 2])
{
    size_t used = 0, room = SENTENCE_SIZE / 2 - sizeof(", ...");

    ret_text[0] = '\0';
    for (char **at = proxy->domains; *at; at++) {
        size_t size = strlen(*at) + 2;

        if (used + size > room) {
            memcpy(ret_text + used, ", ...", sizeof(", ..."));
            return;
        }
        used += (size_t)snprintf(ret_text + used, size + 1, "%s%s", used ? ", " : "", *at);
    }
}

/* ---- The relay ---- */

static struct connection *of_relay(struct relay *relay)
{
    return CONTAINER_OF(relay, struct connection, relay);
}

static bool spend(struct relay *relay, size_t size)
{
    struct connection *connection = of_relay(relay);

    if (places_spend(&connection->proxy->places, &connection->mark, size))
        return true;
    note(connection, PROXY_BYTES);
    return false;
}

static void relay_done(struct relay *relay)
{
    end_connection(of_relay(relay));
}

/* What came behind the head is the server's: of a tunnel all, of a request no more than its body. */
static void start_relay(struct connection *connection)
{
    static const char established[] = "HTTP/1.1 200 Connection established\r\n\r\n";
    struct relay *relay = &connection->relay;
    const struct proxy_head *head = &connection->head;
    struct buf *to_server = &relay->sides[RELAY_SERVER].waiting;
    size_t behind = connection->input.length - head->size;

    unwatch(connection, RELAY_SERVER);
    loop_timer_stop(loop_of(connection), &connection->timer);
    note(connection, PROXY_ALLOWED);
    relay->client_left = head->tunnel ? UINT64_MAX : head->body;
    if (behind > relay->client_left)
        behind = (size_t)relay->client_left;
    if (!head->tunnel)
        relay->client_left -= behind;
    buf_add(to_server, head->forward.data, head->forward.length);
    buf_add(to_server, connection->input.data + head->size, behind);
    if (head->tunnel)
        buf_add_text(&relay->sides[RELAY_CLIENT].waiting, established);
    buf_clear(&connection->input);
    relay->idle_ns = PROXY_IDLE_NS;
    relay->spend = spend;
    relay->done = relay_done;
    relay_start(relay);
}

/* ---- Connecting ---- */

static void try_next(struct connection *connection);

static void drop_server(struct connection *connection)
{
    struct relay_side *side = &connection->relay.sides[RELAY_SERVER];

    unwatch(connection, RELAY_SERVER);
    if (side->watch.fd >= 0)
        close(side->watch.fd);
    side->watch.fd = -1;
}

static void take_connected(struct loop_watch *watch, uint32_t events)
{
    struct connection *connection =
        CONTAINER_OF(watch, struct connection, relay.sides[RELAY_SERVER].watch);
    int error = 0;
    socklen_t size = sizeof(error);

    (void)events;
    if (getsockopt(watch->fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && !error)
        start_relay(connection);
    else
        try_next(connection);
}

static void connect_late(struct loop_timer *timer)
{
    try_next(CONTAINER_OF(timer, struct connection, timer));
}

/* False: this address is not it. */
static bool begin_connect(struct connection *connection, const struct name_address *to)
{
    struct relay_side *side = &connection->relay.sides[RELAY_SERVER];
    struct err err;

    side->watch.fd =
        socket(to->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (side->watch.fd < 0 ||
        (connect(side->watch.fd, (const struct sockaddr *)&to->address, to->size) != 0 &&
         errno != EINPROGRESS))
        return false;
    side->watch.ready = take_connected;
    if (loop_watch_add(loop_of(connection), &side->watch, EPOLLOUT, &err))
        return false;
    side->watched = EPOLLOUT;
    connection->timer.fire = connect_late;
    loop_timer_start(loop_of(connection), &connection->timer,
                     loop_now(loop_of(connection)) + PROXY_CONNECT_NS);
    return true;
}

/* The addresses one after the other. */
static void try_next(struct connection *connection)
{
    drop_server(connection);
    while (connection->address_at < connection->address_count) {
        if (begin_connect(connection, &connection->addresses[connection->address_at++]))
            return;
        drop_server(connection);
    }
    refuse(connection, PROXY_UNREACHABLE, 502, "%s:%u cannot be reached.",
           connection->head.host, connection->head.port);
}

/* ---- Addresses ---- */

/* The operator has opened this place. */
static bool is_open(const struct connection *connection)
{
    AUTO_FREE char *url =
        mem_printf("http://%s:%u/", connection->head.host, connection->head.port);

    return egress_is_open(connection->proxy->all->egress, url);
}

static void choose_addresses(struct connection *connection,
                             const struct name_question *question)
{
    bool any = is_open(connection);

    for (size_t i = 0; i < question->count; i++) {
        if (any ||
            egress_address_is_public((const struct sockaddr *)&question->found[i].address))
            connection->addresses[connection->address_count++] = question->found[i];
    }
}

/* The connection may have ended meanwhile, with its proxy. */
struct lookup {
    struct name_question question;
    struct proxy *proxy;
    struct connection *connection; /* NULL: it has ended */
};

static void take_addresses(struct name_question *question)
{
    struct lookup *lookup = CONTAINER_OF(question, struct lookup, question);
    struct connection *connection = lookup->connection;
    struct proxy *proxy = lookup->proxy;

    proxy->lookups--;
    if (connection) {
        connection->question = NULL;
        choose_addresses(connection, question);
        if (!question->count)
            refuse(connection, PROXY_UNKNOWN, 502, "%s has no address.", connection->head.host);
        else if (!connection->address_count)
            refuse(connection, PROXY_ADDRESS, 403, "%s is not on the public internet.",
                   connection->head.host);
        else
            try_next(connection);
    }
    free(lookup);
    free_closed(proxy);
}

static void ask_for_addresses(struct connection *connection)
{
    struct proxy *proxy = connection->proxy;
    struct lookup *lookup = mem_new(struct lookup);

    lookup->proxy = proxy;
    lookup->connection = connection;
    memcpy(lookup->question.host, connection->head.host, sizeof(lookup->question.host));
    lookup->question.port = connection->head.port;
    lookup->question.loop = proxy->all->loop;
    lookup->question.done = take_addresses;
    connection->question = &lookup->question;
    proxy->lookups++;
    names_ask(proxy->all->names, &lookup->question);
}

/* ---- The head ---- */

static bool is_listed(const struct proxy *proxy, const char *host)
{
    for (char **at = proxy->domains; *at; at++) {
        if (domain_matches(*at, host))
            return true;
    }
    return false;
}

static void judge(struct connection *connection)
{
    struct proxy *proxy = connection->proxy;
    const struct proxy_head *head = &connection->head;
    char domains[SENTENCE_SIZE / 2];

    if (!is_listed(proxy, head->host)) {
        list_domains(proxy, domains);
        refuse(connection, PROXY_DOMAIN, 403,
               "%s is not in the container's allowed domains: %s", head->host, domains);
    } else if (head->port != 80 && head->port != 443 && !is_open(connection)) {
        refuse(connection, PROXY_ON_PORT, 403,
               "Port %u of %s cannot be reached: only 80 and 443 can.", head->port, head->host);
    } else if (places_are_spent(&proxy->places)) {
        refuse(connection, PROXY_BYTES, 403, "This call has used its %u MiB of network.",
               (unsigned)(PROXY_CALL_BYTES >> 20));
    } else if (proxy->lookups == PROXY_LOOKUPS) {
        refuse(connection, PROXY_BUSY, 503, "Too many names are being looked up; try again.");
    } else {
        ask_for_addresses(connection);
    }
}

static void read_head(struct loop_watch *watch, uint32_t events)
{
    struct connection *connection =
        CONTAINER_OF(watch, struct connection, relay.sides[RELAY_CLIENT].watch);
    struct buf *input = &connection->input;
    enum proxy_head_state state;
    ssize_t got;

    (void)events;
    got = recv(watch->fd, buf_reserve(input, PROXY_HEAD_LIMIT), PROXY_HEAD_LIMIT, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        end_connection(connection);
        return;
    }
    buf_added(input, (size_t)got);
    state = proxy_head_read(&connection->head, input->data, input->length);
    if (state == PROXY_HEAD_PARTIAL)
        return;
    unwatch(connection, RELAY_CLIENT);
    loop_timer_stop(loop_of(connection), &connection->timer);
    if (state == PROXY_HEAD_READY)
        judge(connection);
    else
        refuse(connection, PROXY_MALFORMED, connection->head.status, "%s",
               connection->head.why);
}

static void head_late(struct loop_timer *timer)
{
    struct connection *connection = CONTAINER_OF(timer, struct connection, timer);

    refuse(connection, PROXY_MALFORMED, 408, "The head of the request did not come.");
}

static bool begin_connection(struct proxy *proxy, int fd)
{
    struct connection *connection = mem_new(struct connection);
    struct relay_side *client = &connection->relay.sides[RELAY_CLIENT];
    struct err err;

    connection->proxy = proxy;
    connection->relay.loop = proxy->all->loop;
    connection->relay.sides[RELAY_SERVER].watch.fd = -1;
    client->watch = (struct loop_watch){.fd = fd, .ready = read_head};
    connection->timer.fire = head_late;
    connection->next = proxy->connections;
    if (connection->next)
        connection->next->before = connection;
    proxy->connections = connection;
    proxy->count++;
    if (loop_watch_add(proxy->all->loop, &client->watch, EPOLLIN, &err)) {
        end_connection(connection);
        return false;
    }
    client->watched = EPOLLIN;
    loop_timer_start(proxy->all->loop, &connection->timer, clock_mono_ns() + PROXY_HEAD_NS);
    return true;
}

/* ---- The listener ---- */

static void stop_listening(struct proxy *proxy)
{
    if (proxy->listens)
        loop_watch_remove(proxy->all->loop, &proxy->listener);
    proxy->listens = false;
}

static void listen_again(struct proxy *proxy)
{
    struct err err;

    if (proxy->listens || proxy->closed || proxy->rest.slot ||
        proxy->count == PROXY_CONNECTIONS)
        return;
    if (loop_watch_add(proxy->all->loop, &proxy->listener, EPOLLIN, &err))
        log_warn("%s: its proxy accepts no more: %s", proxy->name, err.text);
    else
        proxy->listens = true;
}

static void end_rest(struct loop_timer *timer)
{
    listen_again(CONTAINER_OF(timer, struct proxy, rest));
}

/* One at a time: a box that connects without end takes turns with the others. */
static void take_connection(struct loop_watch *watch, uint32_t events)
{
    struct proxy *proxy = CONTAINER_OF(watch, struct proxy, listener);
    int fd = FAULT("proxy.accept")
                 ? -1
                 : accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    (void)events;
    if (fd < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED))
        return;
    if (fd < 0 || !begin_connection(proxy, fd)) {
        stop_listening(proxy);
        loop_timer_start(proxy->all->loop, &proxy->rest, loop_now(proxy->all->loop) + REST_NS);
        return;
    }
    if (proxy->count == PROXY_CONNECTIONS)
        stop_listening(proxy);
}

/* ---- A proxy ---- */

static void free_proxy(struct proxy *proxy)
{
    if (proxy->listener.fd >= 0)
        close(proxy->listener.fd);
    for (char **at = proxy->domains; at && *at; at++)
        free(*at);
    free(proxy->domains);
    free(proxy->name);
    places_destroy(&proxy->places);
    free(proxy);
}

static void free_closed(struct proxy *proxy)
{
    if (proxy->closed && !proxy->lookups)
        free_proxy(proxy);
}

static void open_here(struct loop_task *task)
{
    listen_again(CONTAINER_OF(task, struct proxy, opening));
}

static void close_here(struct loop_task *task)
{
    struct proxy *proxy = CONTAINER_OF(task, struct proxy, closing);

    proxy->closed = true;
    stop_listening(proxy);
    loop_timer_stop(proxy->all->loop, &proxy->rest);
    while (proxy->connections) {
        struct connection *connection = proxy->connections;

        if (connection->question)
            CONTAINER_OF(connection->question, struct lookup, question)->connection = NULL;
        end_connection(connection);
    }
    free_closed(proxy);
}

/* The box has handed it out before anything hostile ran in it. Looked at all the same: it comes from a box. */
static bool is_listener(int fd)
{
    struct sockaddr_in at = {0};
    socklen_t at_size = sizeof(at), size = sizeof(int);
    int listens = 0, domain = 0, type = 0;

    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens &&
           getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_INET &&
           getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM &&
           getsockname(fd, (struct sockaddr *)&at, &at_size) == 0 &&
           at.sin_addr.s_addr == htonl(INADDR_LOOPBACK);
}

enum err_code proxy_open(struct proxies *proxies, const char *name, const char *const *domains,
                         size_t count, int listener, struct proxy **ret_proxy, struct err *err)
{
    struct proxy *proxy = mem_new(struct proxy);

    places_init(&proxy->places);
    proxy->all = proxies;
    proxy->name = mem_strdup(name);
    proxy->domains = mem_new_array(char *, count + 1);
    for (size_t i = 0; i < count; i++)
        proxy->domains[i] = mem_strdup(domains[i]);
    proxy->listener = (struct loop_watch){.fd = listener, .ready = take_connection};
    proxy->rest.fire = end_rest;
    if (!is_listener(listener)) {
        free_proxy(proxy);
        return err_set(err, ERR_INTERNAL, "a box has no socket for its proxy");
    }
    proxy->opening.run = open_here;
    loop_post(proxies->loop, &proxy->opening);
    *ret_proxy = proxy;
    return ERR_OK;
}

void proxy_close(struct proxy *proxy)
{
    if (!proxy)
        return;
    proxy->closing.run = close_here;
    loop_post(proxy->all->loop, &proxy->closing);
}

void proxy_begin(struct proxy *proxy)
{
    places_begin(&proxy->places);
}

json_t *proxy_end(struct proxy *proxy)
{
    return places_end(&proxy->places);
}

/* ---- All of them ---- */

void proxies_count(const struct proxies *proxies, uint64_t ret_counts[PROXY_VERDICTS])
{
    for (int i = 0; i < PROXY_VERDICTS; i++)
        ret_counts[i] = atomic_load(&proxies->counts[i]);
}

enum err_code proxies_new(const struct egress_rules *egress, names_look_up *look_up,
                          struct proxies **ret_proxies, struct err *err)
{
    struct proxies *proxies = mem_new(struct proxies);
    enum err_code rc;

    proxies->egress = egress;
    proxies->loop = loop_new("proxy");
    rc = loop_start(proxies->loop, err);
    if (!rc)
        rc = names_new(look_up, &proxies->names, err);
    if (rc) {
        proxies_free(proxies);
        return rc;
    }
    *ret_proxies = proxies;
    return ERR_OK;
}

/* First the names, whose answers go to the loop. What was posted before the loop stops is done. */
void proxies_free(struct proxies *proxies)
{
    if (!proxies)
        return;
    names_free(proxies->names);
    loop_stop(proxies->loop);
    loop_free(proxies->loop);
    free(proxies);
}
