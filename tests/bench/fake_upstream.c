/*
 * fake_upstream -- a Chat Completions server that costs nearly nothing, for the bench.
 *
 *   fake_upstream PORT TOKENS RATE
 *
 * Every POST is answered with a stream of TOKENS chunks, the first at once, then RATE a second (0: all
 * at once; below 0: until the client leaves, as fast as it reads). The text of each token is the time at
 * which it was sent: "@<nanoseconds> ". A client behind any number of servers so knows how long a token was
 * on its way, without a clock in common with anything but this machine. One thread, one epoll.
 *
 * Requests are not parsed beyond their length, with one exception when everything is sent at once: a
 * request with "use 4 tools" is first answered with four calls of `text`, for the lengths of 1, 2, 3
 * and 4 letters.
 *
 * A stream as fast as its client reads is sent in blocks that were rendered before. Only the times in them
 * are written anew, one for each block: else the model would need more CPU than nginx does.
 *
 * It is not the scripted upstream, because that has a thread for each connection and parses JSON. Here
 * a token costs as little as a system call, so that the bench measures the server and not its model.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define CONNECTION_LIMIT 20000
#define REQUEST_LIMIT    65536
#define CALLS_LIMIT      64
#define TICK_NS          1000000 /* chunks that are due are sent this often */
#define BLOCK_TOKENS     64

struct connection {
    int fd;
    size_t received; /* of the request */
    size_t wanted;   /* its whole length, once the head was read */
    char *request;
    int sent;        /* tokens of the answer; -1 while none runs */
    uint64_t due_ns; /* of the next one */
    char *block;     /* of a stream without a rate: what is being sent */
    size_t block_sent;
};

static struct connection *connections[CONNECTION_LIMIT];
static int highest = -1;
static int tokens = 100;
static uint64_t interval_ns = 50000000;
static int epoll;
static bool flooding;
static char flood[BLOCK_TOKENS * 512]; /* the block, with room for a time in each token */
static size_t flood_length;
static size_t flood_times[BLOCK_TOKENS]; /* where they are */

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void drop(int fd)
{
    free(connections[fd]->request);
    free(connections[fd]->block);
    free(connections[fd]);
    connections[fd] = NULL;
    close(fd);
}

static bool send_all(int fd, const char *bytes, size_t length)
{
    return send(fd, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)length;
}

/* One HTTP chunk around `text`, appended to `out`. */
static size_t add_chunk(char *out, size_t room, const char *text)
{
    int length = snprintf(out, room, "%zx\r\n%s\r\n", strlen(text), text);

    return (size_t)length;
}

static size_t add_delta(char *out, size_t room, const char *delta, const char *finish)
{
    char event[768];

    (void)snprintf(
        event, sizeof(event),
        "data: {\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion.chunk\","
        "\"created\":1700000000,\"model\":\"bench\",\"system_fingerprint\":\"fp_bench\","
        "\"choices\":[{\"index\":0,\"delta\":%s,\"logprobs\":null,"
        "\"finish_reason\":%s}]}\n\n",
        delta, finish);
    return add_chunk(out, room, event);
}

static size_t add_token(char *out, size_t room)
{
    char delta[96];

    (void)snprintf(delta, sizeof(delta), "{\"content\":\"@%llu \"}",
                   (unsigned long long)now_ns());
    return add_delta(out, room, delta, "null");
}

static size_t add_end(char *out, size_t room, const char *reason)
{
    size_t used = add_delta(out, room, "{}", reason);

    used +=
        add_chunk(out + used, room - used,
                  "data: {\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion.chunk\","
                  "\"created\":1700000000,\"model\":\"bench\",\"choices\":[],\"usage\":"
                  "{\"prompt_tokens\":10,\"completion_tokens\":10,\"total_tokens\":20}}\n\n");
    used += add_chunk(out + used, room - used, "data: [DONE]\n\n");
    memcpy(out + used, "0\r\n\r\n", 5);
    return used + 5;
}

/* The number of calls that the request wants, or 0 if it already has their outputs. */
static int wanted_calls(const struct connection *connection)
{
    const char *word = connection->request;

    if (strstr(word, "\"role\":\"tool\""))
        return 0;
    while ((word = strstr(word, "\"use "))) {
        char *end;
        long count = strtol(word + 5, &end, 10);

        if (strncmp(end, " tools", 6) == 0 && count > 0 && count <= CALLS_LIMIT)
            return (int)count;
        word++;
    }
    return 0;
}

static size_t add_calls(char *out, size_t room, int count)
{
    size_t used = 0;

    for (int i = 0; i < count; i++) {
        char delta[384];

        (void)snprintf(
            delta, sizeof(delta),
            "{\"tool_calls\":[{\"index\":%d,\"id\":\"call_%d\",\"type\":\"function\","
            "\"function\":{\"name\":\"text\",\"arguments\":\"{\\\"operation\\\":"
            "\\\"length\\\",\\\"input\\\":\\\"%0*d\\\"}\"}}]}",
            i, i + 1, i + 1, 0);
        used += add_delta(out + used, room - used, delta, "null");
    }
    return used;
}

/* ---- As fast as the client reads ---- */

#define TIME_DIGITS 19

static void make_flood(void)
{
    for (int i = 0; i < BLOCK_TOKENS; i++) {
        size_t start = flood_length;

        flood_length += add_delta(flood + start, sizeof(flood) - start,
                                  "{\"content\":\"@0000000000000000000 \"}", "null");
        flood_times[i] =
            (size_t)((char *)memchr(flood + start, '@', flood_length - start) - flood) + 1;
    }
}

static void fill_block(struct connection *connection)
{
    char digits[TIME_DIGITS + 1];

    (void)snprintf(digits, sizeof(digits), "%0*llu", TIME_DIGITS, (unsigned long long)now_ns());
    if (!connection->block) {
        connection->block = malloc(flood_length);
        memcpy(connection->block, flood, flood_length);
    }
    for (int i = 0; i < BLOCK_TOKENS; i++)
        memcpy(connection->block + flood_times[i], digits, TIME_DIGITS);
    connection->block_sent = 0;
}

/* A few blocks, so that the other streams have their turn; the socket is reported as writable again. */
static bool send_blocks(struct connection *connection)
{
    for (int i = 0; i < 4; i++) {
        ssize_t sent;

        if (!connection->block || connection->block_sent == flood_length)
            fill_block(connection);
        sent = send(connection->fd, connection->block + connection->block_sent,
                    flood_length - connection->block_sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0)
            return errno == EAGAIN;
        connection->block_sent += (size_t)sent;
    }
    return true;
}

static bool start_flood(struct connection *connection)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                               "Transfer-Encoding: chunked\r\n\r\n";
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP,
                                .data.fd = connection->fd};

    connection->received = connection->wanted = 0;
    epoll_ctl(epoll, EPOLL_CTL_MOD, connection->fd, &event);
    return send_all(connection->fd, head, sizeof(head) - 1) && send_blocks(connection);
}

static bool start_answer(struct connection *connection)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                               "Cache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n";

    char first[2048];
    size_t used = sizeof(head) - 1;
    int calls = interval_ns ? 0 : wanted_calls(connection);

    connection->received = connection->wanted = 0;
    /* The first token is sent at once. The others of streams that began together are spread over the
     * interval, or all streams would send in the same millisecond. */
    connection->sent = 1;
    connection->due_ns =
        now_ns() + (interval_ns ? (uint64_t)connection->fd * 2654435761u % interval_ns : 0);
    if (interval_ns) {
        memcpy(first, head, used);
        used += add_token(first + used, sizeof(first) - used);
        return send_all(connection->fd, first, used);
    }

    /* All at once: one send. */
    size_t room = 4096 + (size_t)tokens * 512 + (size_t)calls * 768;
    char *out = malloc(room);

    memcpy(out, head, used);
    used += add_calls(out + used, room - used, calls);
    for (int i = 0; i < tokens && !calls; i++)
        used += add_token(out + used, 512);
    used += add_end(out + used, 2048, calls ? "\"tool_calls\"" : "\"stop\"");
    bool sent = send_all(connection->fd, out, used);

    free(out);
    connection->sent = -1;
    return sent;
}

static bool continue_answer(struct connection *connection, uint64_t now)
{
    char out[4096];
    size_t used = 0;

    while (connection->sent < tokens && connection->due_ns <= now) {
        used += add_token(out + used, sizeof(out) - used);
        connection->sent++;
        connection->due_ns += interval_ns;
        if (used > sizeof(out) - 600)
            break;
    }
    if (connection->sent >= tokens) {
        used += add_end(out + used, sizeof(out) - used, "\"stop\"");
        connection->sent = -1;
    }
    return !used || send_all(connection->fd, out, used);
}

/* The length of a request whose head is complete; 0 while it is not. */
static size_t request_length(const struct connection *connection)
{
    const char *end = memmem(connection->request, connection->received, "\r\n\r\n", 4);
    const char *length;

    if (!end)
        return 0;
    length = strcasestr(connection->request, "content-length:");
    return (size_t)(end - connection->request) + 4 +
           (length && length < end ? strtoul(length + 15, NULL, 10) : 0);
}

static bool read_request(struct connection *connection)
{
    ssize_t got;

    for (;;) {
        if (connection->received + 1 >= REQUEST_LIMIT) {
            /* The body does not matter: forget it, keep counting. */
            connection->wanted -= connection->received < connection->wanted
                                      ? connection->received
                                      : connection->wanted;
            connection->received = 0;
        }
        got = recv(connection->fd, connection->request + connection->received,
                   REQUEST_LIMIT - 1 - connection->received, MSG_DONTWAIT);
        if (got <= 0)
            return got < 0 && errno == EAGAIN;
        connection->received += (size_t)got;
        connection->request[connection->received] = '\0';
        if (!connection->wanted)
            connection->wanted = request_length(connection);
        if (connection->wanted && connection->received >= connection->wanted)
            return flooding ? start_flood(connection) : start_answer(connection);
    }
}

static void accept_all(int listener)
{
    int fd;

    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.fd = fd};
        int on = 1;

        if (fd >= CONNECTION_LIMIT) {
            close(fd);
            continue;
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        connections[fd] = calloc(1, sizeof(struct connection));
        connections[fd]->fd = fd;
        connections[fd]->sent = -1;
        connections[fd]->request = malloc(REQUEST_LIMIT);
        if (fd > highest)
            highest = fd;
        epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
    }
}

static void send_due(void)
{
    uint64_t now = now_ns();

    for (int fd = 0; fd <= highest; fd++) {
        struct connection *connection = connections[fd];

        if (connection && connection->sent >= 0 && connection->due_ns <= now &&
            !continue_answer(connection, now))
            drop(fd);
    }
}

static int listen_on(unsigned short port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int on = 1;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 4096)) {
        perror("fake_upstream");
        exit(1);
    }
    return fd;
}

static int tick_every_ms(void)
{
    struct itimerspec tick = {.it_interval.tv_nsec = TICK_NS, .it_value.tv_nsec = TICK_NS};
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);

    timerfd_settime(fd, 0, &tick, NULL);
    return fd;
}

static void serve(int listener)
{
    int timer = tick_every_ms();
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
    struct epoll_event events[256];

    epoll = epoll_create1(EPOLL_CLOEXEC);
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
    event.data.fd = timer;
    epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event);
    for (;;) {
        int count = epoll_wait(epoll, events, 256, -1);

        for (int i = 0; i < count; i++) {
            int fd = events[i].data.fd;
            uint64_t ticks;

            if (fd == listener) {
                accept_all(listener);
            } else if (fd == timer) {
                if (read(timer, &ticks, sizeof(ticks)) > 0)
                    send_due();
            } else if (connections[fd] &&
                       ((events[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) ||
                        !read_request(connections[fd]) ||
                        (events[i].events & EPOLLOUT && !send_blocks(connections[fd])))) {
                drop(fd);
            }
        }
    }
}

int main(int argc, char **argv)
{
    struct rlimit files;
    double rate;

    if (argc != 4) {
        fprintf(stderr, "usage: fake_upstream PORT TOKENS RATE\n");
        return 2;
    }
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    tokens = (int)strtol(argv[2], NULL, 10);
    rate = strtod(argv[3], NULL);
    interval_ns = rate > 0 ? (uint64_t)(1e9 / rate) : 0;
    flooding = rate < 0;
    make_flood();
    serve(listen_on((unsigned short)strtoul(argv[1], NULL, 10)));
}
