/*
 * egress.c -- which addresses a URL of a stranger may reach.
 *
 *   URL read    egress_url_check(): http or https, a host, no password
 *   resolved    (libcurl)
 *   socket      egress_address_is_public(), from open_socket() in http_multi.c
 *   connected   egress_text_is_public(), when an open connection is used again
 *
 * A check of the URL alone is useless: the owner of a name decides what it resolves to, and may decide
 * differently a second later. So the check is of the address to which the socket is about to connect.
 *
 * IPv4 is a list of what is closed, because almost all of it is public. IPv6 is closed but for 2000::/3,
 * so blocks that are assigned later stay closed until they are added here.
 *
 * URLs are parsed by libcurl, and not here. Two parsers can disagree about where the host of a URL ends,
 * and then the one that checks is not the one that connects.
 */

#include "core/net/egress.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "core/base/compiler.h"
#include "core/base/mem.h"

/* ---- Addresses ---- */

struct block4 {
    uint32_t first;
    unsigned bits;
};

struct block6 {
    uint8_t first[6]; /* no block is longer */
    unsigned bits;
};

/* clang-format off */

/* IANA's special-purpose addresses, multicast, and reserved ones. */
static const struct block4 closed4[] = {
    {0x00000000, 8},  /* this network */
    {0x0A000000, 8},  /* private */
    {0x64400000, 10}, /* shared by customers of a carrier */
    {0x7F000000, 8},  /* loopback */
    {0xA9FE0000, 16}, /* link-local, with the metadata services of clouds */
    {0xAC100000, 12}, /* private */
    {0xC0000000, 24}, /* protocol assignments */
    {0xC0000200, 24}, /* documentation */
    {0xC0586300, 24}, /* 6to4 relays */
    {0xC0A80000, 16}, /* private */
    {0xC6120000, 15}, /* benchmarks */
    {0xC6336400, 24}, /* documentation */
    {0xCB007100, 24}, /* documentation */
    {0xE0000000, 4},  /* multicast */
    {0xF0000000, 4},  /* reserved, broadcast */
};

/* Of IPv6 only 2000::/3 is open, so loopback, mapped and translated IPv4, local and multicast
 * addresses need no line. closed6 lists what is closed within 2000::/3. */
static const struct block6 global6 = {{0x20}, 3};
static const struct block6 closed6[] = {
    {{0x20, 0x01, 0x00}, 23},       /* protocol assignments: Teredo, ORCHID, benchmarks */
    {{0x20, 0x01, 0x0D, 0xB8}, 32}, /* documentation */
    {{0x20, 0x02}, 16},             /* 6to4: an IPv4 address in disguise */
    {{0x3F, 0xFF, 0x00}, 20},       /* documentation */
};
/* clang-format on */

static bool is_public4(uint32_t address)
{
    for (size_t i = 0; i < COUNT_OF(closed4); i++) {
        if ((address ^ closed4[i].first) >> (32 - closed4[i].bits) == 0)
            return false;
    }
    return true;
}

static bool is_in6(const uint8_t *address, const struct block6 *block)
{
    unsigned whole = block->bits / 8;
    unsigned rest = block->bits % 8;

    if (memcmp(address, block->first, whole) != 0)
        return false;
    return !rest || (address[whole] ^ block->first[whole]) >> (8 - rest) == 0;
}

static bool is_public6(const uint8_t *address)
{
    if (!is_in6(address, &global6))
        return false;
    for (size_t i = 0; i < COUNT_OF(closed6); i++) {
        if (is_in6(address, &closed6[i]))
            return false;
    }
    return true;
}

bool egress_address_is_public(const struct sockaddr *address)
{
    struct sockaddr_in four;
    struct sockaddr_in6 six;

    if (address->sa_family == AF_INET) {
        memcpy(&four, address, sizeof(four));
        return is_public4(ntohl(four.sin_addr.s_addr));
    }
    if (address->sa_family != AF_INET6)
        return false;
    memcpy(&six, address, sizeof(six));
    return is_public6(six.sin6_addr.s6_addr);
}

bool egress_text_is_public(const char *address)
{
    struct in_addr four;
    struct in6_addr six;

    if (inet_pton(AF_INET, address, &four) == 1)
        return is_public4(ntohl(four.s_addr));
    return inet_pton(AF_INET6, address, &six) == 1 && is_public6(six.s6_addr);
}

/* ---- URLs ---- */

static char *url_part(CURLU *url, CURLUPart part, unsigned flags)
{
    AUTO_FREE char *copy = NULL;
    char *text = NULL;

    if (curl_url_get(url, part, &text, flags) == CURLUE_OK)
        copy = mem_strdup(text);
    curl_free(text);
    return TAKE(copy);
}

static bool is_web(CURLU *url)
{
    AUTO_FREE char *scheme = url_part(url, CURLUPART_SCHEME, 0);

    return scheme && (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0);
}

static bool has_user(CURLU *url)
{
    AUTO_FREE char *user = url_part(url, CURLUPART_USER, 0);
    AUTO_FREE char *password = url_part(url, CURLUPART_PASSWORD, 0);

    return user || password;
}

static enum err_code check_parts(CURLU *url, struct err *err)
{
    AUTO_FREE char *host = url_part(url, CURLUPART_HOST, 0);

    if (!is_web(url))
        return err_set(err, ERR_INVALID, "the URL must begin with http:// or https://");
    if (!host || !*host)
        return err_set(err, ERR_INVALID, "the URL names no host");
    if (has_user(url))
        return err_set(err, ERR_INVALID, "the URL must not carry a user or a password");
    return ERR_OK;
}

enum err_code egress_url_check(const char *url, struct err *err)
{
    CURLU *parts = curl_url();
    enum err_code rc;

    if (curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK)
        rc = check_parts(parts, err);
    else
        rc = err_set(err, ERR_INVALID, "the URL makes no sense");
    curl_url_cleanup(parts);
    return rc;
}

/* "https://host:443", the port always named. The caller frees. */
static char *origin_of(CURLU *url)
{
    AUTO_FREE char *scheme = url_part(url, CURLUPART_SCHEME, 0);
    AUTO_FREE char *host = url_part(url, CURLUPART_HOST, 0);
    AUTO_FREE char *port = url_part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT);

    return mem_printf("%s://%s:%s", scheme ? scheme : "", host ? host : "", port ? port : "");
}

/* `ret_origins` NULL: not wanted. The caller frees all. */
static char *resolve(const char *base, const char *reference, char *ret_origins[2])
{
    CURLU *url = curl_url();
    char *resolved = NULL;

    if (curl_url_set(url, CURLUPART_URL, base, 0) == CURLUE_OK) {
        if (ret_origins)
            ret_origins[0] = origin_of(url);
        if (curl_url_set(url, CURLUPART_URL, reference, 0) == CURLUE_OK)
            resolved = url_part(url, CURLUPART_URL, 0);
        if (ret_origins)
            ret_origins[1] = origin_of(url);
    }
    curl_url_cleanup(url);
    if (resolved && egress_url_check(resolved, NULL))
        free(TAKE(resolved));
    return resolved;
}

char *egress_url_resolve(const char *base, const char *reference)
{
    return resolve(base, reference, NULL);
}

char *egress_url_join(const char *base, const char *reference)
{
    char *origins[2] = {NULL, NULL};
    char *joined = resolve(base, reference, origins);

    if (joined && strcasecmp(origins[0], origins[1]) != 0)
        free(TAKE(joined));
    free(origins[0]);
    free(origins[1]);
    return joined;
}

char *egress_pair_of(const char *url)
{
    CURLU *parts = curl_url();
    AUTO_FREE char *host = NULL;
    AUTO_FREE char *port = NULL;

    if (curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK) {
        host = url_part(parts, CURLUPART_HOST, 0);
        port = url_part(parts, CURLUPART_PORT, CURLU_DEFAULT_PORT);
    }
    curl_url_cleanup(parts);
    return host && port ? mem_printf("%s:%s", host, port) : NULL;
}

bool egress_is_open(const struct egress_rules *rules, const char *url)
{
    AUTO_FREE char *pair = egress_pair_of(url);

    for (size_t i = 0; pair && i < rules->open_count; i++) {
        if (strcasecmp(rules->open[i], pair) == 0)
            return true;
    }
    return false;
}

enum err_code egress_pair_check(const char *pair, struct err *err)
{
    AUTO_FREE char *url = mem_printf("http://%s", pair);
    AUTO_FREE char *read = egress_pair_of(url);

    if (egress_url_check(url, NULL) || !read || strcasecmp(read, pair) != 0)
        return err_set(err, ERR_INVALID, "expected host:port, not '%.128s'", pair);
    return ERR_OK;
}
