#include "tests/unit/core/model/scripted_server.h"

#include <arpa/inet.h>
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/mem.h"

#define FIRST_PORT 20000
#define PORT_COUNT 12000 /* below the range that outgoing connections take theirs from */
#define HELD_LIMIT 16

struct scripted_server {
    const struct server_answer *answers;
    int listener;
    int stop; /* eventfd: readable once the server is being freed */
    pthread_t thread;
    char url[64];
    int held[HELD_LIMIT];
    unsigned held_count;
    atomic_uint count;
    struct buf requests[SERVER_ANSWER_LIMIT];
};

static int bind_somewhere(uint16_t *ret_port)
{
    unsigned start = (unsigned)getpid();

    for (unsigned i = 0; i < PORT_COUNT; i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        uint16_t port = (uint16_t)(FIRST_PORT + (start + i * 7) % PORT_COUNT);
        struct sockaddr_in address = {.sin_family = AF_INET,
                                      .sin_port = htons(port),
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

        assert(fd >= 0);
        if (bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
            listen(fd, 16) == 0) {
            *ret_port = port;
            return fd;
        }
        close(fd);
    }
    abort();
}

/* True when `fd` has something to read, false when the server is being freed. */
static bool wait_for(const struct scripted_server *server, int fd)
{
    struct pollfd fds[2] = {{.fd = server->stop, .events = POLLIN},
                            {.fd = fd, .events = POLLIN}};

    while (poll(fds, 2, -1) < 0)
        ;
    return !fds[0].revents;
}

/* The size of the whole request, 0 while its head is not complete. */
static size_t request_size(const struct buf *request)
{
    const char *end = request->data ? strstr(request->data, "\r\n\r\n") : NULL;
    const char *length = end ? strcasestr(request->data, "\r\nContent-Length:") : NULL;

    if (!end)
        return 0;
    return (size_t)(end + 4 - request->data) +
           (length ? strtoul(strchr(length, ':') + 1, NULL, 10) : 0);
}

static bool read_request(struct scripted_server *server, int fd, struct buf *request)
{
    size_t size;

    while ((size = request_size(request)) == 0 || request->length < size) {
        ssize_t got;

        if (!wait_for(server, fd))
            return false;
        got = recv(fd, buf_reserve(request, 4096), 4096, 0);
        if (got <= 0)
            return false;
        buf_added(request, (size_t)got);
    }
    return true;
}

static void send_all(int fd, const char *bytes, size_t length)
{
    while (length) {
        ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);

        if (sent <= 0)
            return;
        bytes += sent;
        length -= (size_t)sent;
    }
}

static void end_connection(struct scripted_server *server, int fd, enum server_after after)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};

    if (after == SERVER_HOLDS && server->held_count < HELD_LIMIT) {
        server->held[server->held_count++] = fd;
        return;
    }
    if (after == SERVER_RESETS)
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close(fd);
}

static void serve_connection(struct scripted_server *server, int fd)
{
    struct buf request = {0};
    unsigned number = atomic_load(&server->count);
    const struct server_answer *answer = server->answers;

    if (!read_request(server, fd, &request)) {
        buf_clear(&request);
        close(fd);
        return;
    }
    for (unsigned i = 0; i < number && answer[1].bytes; i++)
        answer++;
    if (number < SERVER_ANSWER_LIMIT)
        server->requests[number] = request;
    else
        buf_clear(&request);
    atomic_store(&server->count, number + 1);
    send_all(fd, answer->bytes, strlen(answer->bytes));
    end_connection(server, fd, answer->after);
}

static void *serve(void *arg)
{
    struct scripted_server *server = arg;

    while (wait_for(server, server->listener)) {
        int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);

        if (fd >= 0)
            serve_connection(server, fd);
    }
    return NULL;
}

struct scripted_server *scripted_server_new(const struct server_answer *answers)
{
    struct scripted_server *server = mem_new(struct scripted_server);
    uint16_t port = 0;

    server->answers = answers;
    server->listener = bind_somewhere(&port);
    server->stop = eventfd(0, EFD_CLOEXEC);
    (void)snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%u/v1", port);
    if (pthread_create(&server->thread, NULL, serve, server))
        abort();
    return server;
}

void scripted_server_free(struct scripted_server *server)
{
    const uint64_t one = 1;

    if (!server)
        return;
    if (write(server->stop, &one, sizeof(one)) != sizeof(one))
        abort();
    pthread_join(server->thread, NULL);
    for (unsigned i = 0; i < server->held_count; i++)
        close(server->held[i]);
    for (unsigned i = 0; i < SERVER_ANSWER_LIMIT; i++)
        buf_clear(&server->requests[i]);
    close(server->listener);
    close(server->stop);
    free(server);
}

const char *scripted_server_url(const struct scripted_server *server)
{
    return server->url;
}

unsigned scripted_server_count(struct scripted_server *server)
{
    return atomic_load(&server->count);
}

const char *scripted_server_request(struct scripted_server *server, unsigned number)
{
    assert(number < scripted_server_count(server) && number < SERVER_ANSWER_LIMIT);
    return server->requests[number].data;
}
