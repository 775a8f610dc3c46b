/*
 * listen.c -- from "host:port" to a listening socket and the URL of the API.
 *
 * The socket is opened here and given to libmicrohttpd, because only then is the port known before the
 * server starts: tests listen on port 0 and read the URL. A dual-stack socket serves "::", so IPv4 clients
 * reach it too.
 *
 * An address that means "all" is no address to connect to, so the URL that the log shows has loopback
 * instead.
 */

#include "core/net/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG \
    4096 /* connections not yet accepted; the kernel lowers it to net.core.somaxconn */

enum err_code listen_split(const char *listen, char *ret_host, size_t host_size, char *ret_port,
                           size_t port_size, struct err *err)
{
    const char *colon = strrchr(listen, ':');
    const char *host = listen;
    size_t length = colon ? (size_t)(colon - listen) : 0;

    if (!colon || !length)
        return err_set(err, ERR_INVALID, "listen: expected address:port, not '%.64s'", listen);
    if (host[0] == '[' && host[length - 1] == ']') {
        host++;
        length -= 2;
    } else if (memchr(host, ':', length)) {
        return err_set(err, ERR_INVALID, "listen: write an IPv6 address as [address]:port");
    }
    if (length >= host_size || strlen(colon + 1) >= port_size || !colon[1] ||
        strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
        strtol(colon + 1, NULL, 10) > 65535)
        return err_set(err, ERR_INVALID, "listen: expected address:port, not '%.64s'", listen);
    memcpy(ret_host, host, length);
    ret_host[length] = '\0';
    memcpy(ret_port, colon + 1, strlen(colon + 1) + 1);
    return ERR_OK;
}

static int open_one(const struct addrinfo *address)
{
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int yes = 1;
    int no = 0;

    if (fd < 0)
        return -1;
    /* A restart must not wait for connections of the last process in TIME_WAIT. */
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (address->ai_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
    if (bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int why = errno;

    close(fd);
    errno = why;
    return -1;
}

static void write_url(int fd, const char *host, char ret_url[LISTEN_URL_SIZE])
{
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof(address);
    char port[8] = "";

    (void)getsockname(fd, (struct sockaddr *)&address, &size);
    (void)getnameinfo((struct sockaddr *)&address, size, NULL, 0, port, sizeof(port),
                      NI_NUMERICSERV);
    if (strcmp(host, "0.0.0.0") == 0)
        host = "127.0.0.1";
    else if (strcmp(host, "::") == 0)
        host = "::1";
    (void)snprintf(ret_url, LISTEN_URL_SIZE, "http://%s%s%s:%s/v1",
                   strchr(host, ':') ? "[" : "", host, strchr(host, ':') ? "]" : "", port);
}

enum err_code listen_open(const char *listen, int *ret_fd, char ret_url[LISTEN_URL_SIZE],
                          struct err *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found;
    char host[256];
    char port[8];
    int fd = -1;
    int rc = (int)listen_split(listen, host, sizeof(host), port, sizeof(port), err);

    if (rc)
        return (enum err_code)rc;
    rc = getaddrinfo(host, port, &hints, &found);
    if (rc)
        return err_set(err, ERR_INTERNAL, "cannot listen on %s: %s", listen, gai_strerror(rc));
    for (const struct addrinfo *one = found; one && fd < 0; one = one->ai_next)
        fd = open_one(one);
    freeaddrinfo(found);
    if (fd < 0)
        return err_set(err, ERR_INTERNAL, "cannot listen on %s: %s", listen, strerror(errno));
    write_url(fd, host, ret_url);
    *ret_fd = fd;
    return ERR_OK;
}
