/*
 * own_address.c -- compares the addresses of a URL with those that this server listens on.
 *
 * Texts cannot be compared: "localhost", "127.0.0.1", "[::1]" and the name of the machine may all be this
 * server. So both sides are resolved, and every address of one is compared with every address of the other.
 * A server that listens on all addresses is reached through each address of each interface.
 *
 * It is a check against a mistake, at start, and no protection: a proxy between the two goes unnoticed.
 */

#include "core/net/own_address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

struct target {
    char host[256];
    char port[8];
};

bool own_address_is_loopback(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;

    if (inet_pton(AF_INET, host, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    if (inet_pton(AF_INET6, host, &v6) == 1)
        return IN6_IS_ADDR_LOOPBACK(&v6);
    return strcasecmp(host, "localhost") == 0;
}

bool own_address_is_local_name(const char *host)
{
    const char *end = host + strcspn(host, ":");
    char name[64];

    if (*host == '[') {
        host++;
        end = host + strcspn(host, "]");
        if (*end != ']' || (end[1] && end[1] != ':'))
            return false;
    }
    if ((size_t)(end - host) >= sizeof(name))
        return false;
    (void)snprintf(name, sizeof(name), "%.*s", (int)(end - host), host);
    return own_address_is_loopback(name);
}

/* Takes host and port out of scheme://user@host:port/path. */
static bool take_apart(const char *url, struct target *ret_target)
{
    bool secure = strncasecmp(url, "https://", 8) == 0;
    const char *from = strstr(url, "://");
    const char *end;
    const char *at;
    const char *colon;

    if (!from)
        return false;
    from += 3;
    end = from + strcspn(from, "/?#");
    at = memrchr(from, '@', (size_t)(end - from));
    if (at)
        from = at + 1;
    colon = memrchr(from, ':', (size_t)(end - from));
    if (colon && memchr(colon, ']', (size_t)(end - colon)))
        colon = NULL; /* a colon inside [v6] */
    (void)snprintf(ret_target->port, sizeof(ret_target->port), "%.*s",
                   colon ? (int)(end - colon - 1) : 3,
                   colon    ? colon + 1
                   : secure ? "443"
                            : "80");
    if (colon)
        end = colon;
    if (*from == '[' && end > from && end[-1] == ']') {
        from++;
        end--;
    }
    (void)snprintf(ret_target->host, sizeof(ret_target->host), "%.*s", (int)(end - from), from);
    return true;
}

/* IPv4 inside IPv6 is the IPv4 address, so that the two forms compare. */
static struct in6_addr address_of(const struct sockaddr *from)
{
    struct in6_addr address = {0};

    if (from->sa_family == AF_INET6) {
        memcpy(&address, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr,
               sizeof(address));
        return address;
    }
    address.s6_addr[10] = address.s6_addr[11] = 0xFF;
    memcpy(&address.s6_addr[12], &((const struct sockaddr_in *)(const void *)from)->sin_addr,
           4);
    return address;
}

static bool is_any(const struct in6_addr *address)
{
    static const struct in6_addr v4_any = {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF}}};

    return IN6_IS_ADDR_UNSPECIFIED(address) || memcmp(address, &v4_any, sizeof(v4_any)) == 0;
}

/* All of 127.0.0.0/8 is this machine, though the interface lists only one address of it. */
static bool is_loopback(const struct in6_addr *address)
{
    return IN6_IS_ADDR_LOOPBACK(address) ||
           (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == 127);
}

static bool is_local(const struct in6_addr *address)
{
    struct ifaddrs *all;
    bool found = false;

    if (is_any(address) || is_loopback(address))
        return true; /* connecting to it reaches this machine */
    if (getifaddrs(&all))
        return false;
    for (const struct ifaddrs *one = all; one && !found; one = one->ifa_next) {
        if (!one->ifa_addr ||
            (one->ifa_addr->sa_family != AF_INET && one->ifa_addr->sa_family != AF_INET6))
            continue;
        struct in6_addr mine = address_of(one->ifa_addr);

        found = memcmp(&mine, address, sizeof(mine)) == 0;
    }
    freeifaddrs(all);
    return found;
}

static struct addrinfo *look_up(const char *host, const char *port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found;

    return getaddrinfo(host, port, &hints, &found) == 0 ? found : NULL;
}

/* Connecting to `theirs` reaches a socket that listens on `ours`. */
static bool reaches(const struct in6_addr *theirs, const struct in6_addr *ours)
{
    if (is_any(ours))
        return is_local(theirs);
    return memcmp(theirs, ours, sizeof(*ours)) == 0 || (is_any(theirs) && is_local(ours));
}

/* By number: curl takes 08080 for 8080. */
static bool same_port(const char *one, const char *other)
{
    return strtol(one, NULL, 10) == strtol(other, NULL, 10);
}

bool own_address(const char *listen_host, const char *listen_port, const char *url)
{
    struct target target;
    struct addrinfo *theirs;
    struct addrinfo *ours;
    bool same = false;

    if (!take_apart(url, &target) || !same_port(target.port, listen_port))
        return false;
    theirs = look_up(target.host, target.port);
    ours = look_up(listen_host, listen_port);
    for (const struct addrinfo *a = theirs; a && !same; a = a->ai_next) {
        for (const struct addrinfo *b = ours; b && !same; b = b->ai_next) {
            struct in6_addr one = address_of(a->ai_addr);
            struct in6_addr other = address_of(b->ai_addr);

            same = reaches(&one, &other);
        }
    }
    if (theirs)
        freeaddrinfo(theirs);
    if (ours)
        freeaddrinfo(ours);
    return same;
}
