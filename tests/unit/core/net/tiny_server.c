#include "tests/unit/core/net/tiny_server.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/mem.h"

void tiny_write(struct tiny_request *request, const char *text)
{
    size_t length = strlen(text);

    while (length) {
        ssize_t done = send(request->fd, text, length, MSG_NOSIGNAL);

        if (done < 0)
            return;
        text += done;
        length -= (size_t)done;
    }
}

void tiny_wait_for_leave(struct tiny_request *request)
{
    char bytes[256];

    while (recv(request->fd, bytes, sizeof(bytes), 0) > 0)
        ;
    sem_post(&request->server->peer_left);
}

void tiny_wait_at_gate(struct tiny_request *request)
{
    struct tiny_server *server = request->server;

    pthread_mutex_lock(&server->mutex);
    server->waiting++;
    pthread_cond_broadcast(&server->opened);
    while (server->waiting < server->gate_opens_for)
        pthread_cond_wait(&server->opened, &server->mutex);
    pthread_mutex_unlock(&server->mutex);
}

void tiny_close_gate(struct tiny_server *server, int opens_for)
{
    pthread_mutex_lock(&server->mutex);
    server->waiting = 0;
    server->gate_opens_for = opens_for;
    pthread_mutex_unlock(&server->mutex);
}

void tiny_wait_until_gate_opens(struct tiny_server *server)
{
    pthread_mutex_lock(&server->mutex);
    while (server->waiting < server->gate_opens_for)
        pthread_cond_wait(&server->opened, &server->mutex);
    pthread_mutex_unlock(&server->mutex);
}

static bool read_more(struct tiny_request *request, struct buf *buf)
{
    ssize_t got = recv(request->fd, buf_reserve(buf, 65536), 65536, 0);

    if (got <= 0)
        return false;
    buf_added(buf, (size_t)got);
    return true;
}

static size_t body_length(const struct tiny_request *request)
{
    const char *header = strcasestr(request->head.data, "\r\nContent-Length:");

    return header ? strtoul(header + strlen("\r\nContent-Length:"), NULL, 10) : 0;
}

bool tiny_read_body(struct tiny_request *request)
{
    while (request->body.length < body_length(request))
        if (!read_more(request, &request->body))
            return false;
    return true;
}

static bool is_tls(const struct buf *bytes)
{
    return bytes->data[0] == 0x16;
}

/* A page below /early reads the body itself, when it likes. */
static bool read_request(struct tiny_request *request)
{
    char *end;

    buf_reset(&request->head);
    buf_reset(&request->body);
    do {
        if (!read_more(request, &request->head))
            return false;
        if (is_tls(&request->head)) {
            buf_reset(&request->head);
            buf_add_text(&request->head, "GET " TINY_TLS_PATH " HTTP/1.1\r\n\r\n");
        }
        end = strstr(request->head.data, "\r\n\r\n");
    } while (!end);
    end += 4;
    buf_add_text(&request->body, end);
    request->head.length = (size_t)(end - request->head.data);
    *end = '\0';
    return strstr(request->head.data, " /early") || tiny_read_body(request);
}

static bool answer(struct tiny_request *request)
{
    const char *path = strchr(request->head.data, ' ') + 1;
    size_t length = strcspn(path, " ");

    for (const struct tiny_page *page = request->server->pages; page->path; page++)
        if (strlen(page->path) == length && strncmp(page->path, path, length) == 0)
            return page->write(request);
    tiny_write(request, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    return true;
}

static void *serve(void *arg)
{
    struct tiny_request *request = arg;

    while (read_request(request) && answer(request))
        ;
    close(request->fd);
    buf_clear(&request->head);
    buf_clear(&request->body);
    free(request);
    return NULL;
}

static void *accept_all(void *arg)
{
    struct tiny_server *server = arg;
    pthread_attr_t attributes;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 * 1024);
    for (;;) {
        struct tiny_request *request;
        int fd = accept(server->fd, NULL, NULL);

        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (fd < 0)
            break; /* the test has shut it down */
        request = mem_new(struct tiny_request);
        request->server = server;
        request->fd = fd;
        assert(server->accepted < TINY_CONNECTION_LIMIT);
        /* Counted before it can answer. */
        pthread_create(&server->threads[server->accepted++], &attributes, serve, request);
    }
    pthread_attr_destroy(&attributes);
    return NULL;
}

int tiny_listen(int *ret_fd, int backlog)
{
    for (int port = 20000 + (int)(getpid() % 10000); port < 32768; port++) {
        struct sockaddr_in address = {.sin_family = AF_INET,
                                      .sin_port = htons((uint16_t)port),
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
            listen(fd, backlog) == 0) {
            *ret_fd = fd;
            return port;
        }
        close(fd);
    }
    abort(); /* ten thousand ports, and all in use */
}

struct tiny_server *tiny_server_new(const struct tiny_page *pages)
{
    struct tiny_server *server = mem_new(struct tiny_server);

    server->pages = pages;
    server->port = tiny_listen(&server->fd, 2048);
    pthread_mutex_init(&server->mutex, NULL);
    pthread_cond_init(&server->opened, NULL);
    sem_init(&server->peer_left, 0, 0);
    pthread_create(&server->acceptor, NULL, accept_all, server);
    return server;
}

void tiny_server_free(struct tiny_server *server)
{
    shutdown(server->fd, SHUT_RDWR);
    pthread_join(server->acceptor, NULL);
    for (int i = 0; i < server->accepted; i++)
        pthread_join(server->threads[i], NULL);
    close(server->fd);
    pthread_mutex_destroy(&server->mutex);
    pthread_cond_destroy(&server->opened);
    sem_destroy(&server->peer_left);
    free(server);
}
