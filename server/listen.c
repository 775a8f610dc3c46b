#include "server/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/config.h"

#define BACKLOG 4096

static int open_one(const struct addrinfo *address)
{
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int yes = 1;
    int no = 0;

    if (fd < 0)
        return -1;
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
    int rc = (int)config_split_listen(listen, host, sizeof(host), port, sizeof(port), err);

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
