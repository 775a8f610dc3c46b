#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/net/proxy/proxy.h"
#include "tests/support/patience.h"
#include "tests/support/test.h"

/*
 * The test is the program in the box and the server outside; the proxy is between them. Names are the test's: what is
 * in `addresses` is what they resolve to.
 */

static atomic_uint lookups;

/* clang-format off */
static const struct {
    const char *name;
    const char *address;
} addresses[] = {
    {"files.example.org",    "127.0.0.1"},
    {"inside.example.org",   "127.0.0.1"},
    {"mapped.example.org",   "::ffff:127.0.0.1"},
    {"six.example.org",      "::1"},
    {"metadata.example.org", "169.254.169.254"},
    {"network.example.org",  "10.1.2.3"},
    {"files.example.org",    "127.0.0.1"},
};
/* clang-format on */

static void look_up(struct name_question *question)
{
    lookups++;
    for (size_t i = 0; i < COUNT_OF(addresses); i++) {
        struct name_address *found = &question->found[question->count];
        struct sockaddr_in *four = (struct sockaddr_in *)&found->address;
        struct sockaddr_in6 *six = (struct sockaddr_in6 *)&found->address;

        if (strcmp(addresses[i].name, question->host) != 0)
            continue;
        if (inet_pton(AF_INET, addresses[i].address, &four->sin_addr) == 1) {
            four->sin_family = AF_INET;
            four->sin_port = htons((uint16_t)question->port);
            found->size = sizeof(*four);
        } else {
            assert(inet_pton(AF_INET6, addresses[i].address, &six->sin6_addr) == 1);
            six->sin6_family = AF_INET6;
            six->sin6_port = htons((uint16_t)question->port);
            found->size = sizeof(*six);
        }
        question->count++;
    }
}

struct fixture {
    struct proxies *proxies;
    struct proxy *proxy;
    unsigned proxy_port, port; /* the proxy's, and the server's */
    int server;
    char pair[64];
    const char *open[1];
    struct egress_rules egress;
};

static int listen_here(unsigned *ret_port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 128), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    *ret_port = ntohs(at.sin_port);
    return fd;
}

static void limit_waiting(int fd)
{
    struct timeval limit = {.tv_sec = patience_ms(20) / 1000};

    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
}

static int set_up(void **state)
{
    static const char *const domains[] = {"files.example.org",    "inside.example.org",
                                          "mapped.example.org",   "six.example.org",
                                          "metadata.example.org", "network.example.org",
                                          "nobody.example.org",   "*.deep.example.org"};
    struct fixture *fixture = mem_new(struct fixture);
    int listener = listen_here(&fixture->proxy_port);
    struct err err;

    lookups = 0;
    fixture->server = listen_here(&fixture->port);
    (void)snprintf(fixture->pair, sizeof(fixture->pair), "files.example.org:%u", fixture->port);
    fixture->open[0] = fixture->pair;
    fixture->egress = (struct egress_rules){.open = fixture->open, .open_count = 1};
    assert_int_equal(proxies_new(&fixture->egress, look_up, &fixture->proxies, &err), ERR_OK);
    assert_int_equal(proxy_open(fixture->proxies, "test", domains, COUNT_OF(domains), listener,
                                &fixture->proxy, &err),
                     ERR_OK);
    proxy_begin(fixture->proxy);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    proxy_close(fixture->proxy);
    proxies_free(fixture->proxies);
    close(fixture->server);
    free(fixture);
    return 0;
}

static int connect_to_proxy(const struct fixture *fixture)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons((uint16_t)fixture->proxy_port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    limit_waiting(fd);
    return fd;
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* What comes until the end, or until `size` bytes are there. */
static size_t receive_text(int fd, char *ret_text, size_t size)
{
    size_t used = 0;
    ssize_t got;

    while (used < size - 1 && (got = recv(fd, ret_text + used, size - 1 - used, 0)) > 0)
        used += (size_t)got;
    ret_text[used] = '\0';
    return used;
}

static void expect(int fd, const char *text)
{
    char received[1024];

    assert_in_range(strlen(text), 1, sizeof(received) - 2);
    receive_text(fd, received, strlen(text) + 1);
    assert_string_equal(received, text);
}

static int accept_at_server(const struct fixture *fixture)
{
    struct pollfd polled = {.fd = fixture->server, .events = POLLIN};
    int fd;

    assert_int_equal(poll(&polled, 1, patience_ms(20)), 1);
    fd = accept(fixture->server, NULL, NULL);
    assert_true(fd >= 0);
    limit_waiting(fd);
    return fd;
}

/* A tunnel to the server, both ends of it. */
static void make_tunnel(const struct fixture *fixture, int *ret_client, int *ret_server)
{
    AUTO_FREE char *head =
        mem_printf("CONNECT files.example.org:%u HTTP/1.1\r\n\r\n", fixture->port);

    *ret_client = connect_to_proxy(fixture);
    say(*ret_client, head);
    *ret_server = accept_at_server(fixture);
    expect(*ret_client, "HTTP/1.1 200 Connection established\r\n\r\n");
}

/* The first line of the answer to one request. */
static void refused_line(const struct fixture *fixture, const char *request,
                         char ret_line[1024])
{
    int fd = connect_to_proxy(fixture);

    say(fd, request);
    receive_text(fd, ret_line, 1024);
    ret_line[strcspn(ret_line, "\r")] = '\0';
    close(fd);
}

/* ---- Carrying ---- */

TEST(a_tunnel_carries_both_ways_and_ends_on_both_sides)
{
    const struct fixture *fixture = *state;
    int client, server;
    char end[8];

    make_tunnel(fixture, &client, &server);
    say(client, "hello");
    expect(server, "hello");
    say(server, "welcome");
    expect(client, "welcome");
    shutdown(client, SHUT_WR);
    assert_int_equal(receive_text(server, end, sizeof(end)), 0);
    say(server, "bye"); /* a half-closed tunnel still carries the other way */
    close(server);
    expect(client, "bye");
    assert_int_equal(receive_text(client, end, sizeof(end)), 0);
    close(client);
}

TEST(a_url_is_asked_for_with_one_request_and_no_second_one)
{
    const struct fixture *fixture = *state;
    AUTO_FREE char *head = mem_printf("POST http://files.example.org:%u/a HTTP/1.1\r\n"
                                      "Content-Length: 4\r\n\r\nbody"
                                      "GET http://evil/ HTTP/1.1\r\n\r\n",
                                      fixture->port);
    AUTO_FREE char *wanted = mem_printf("POST /a HTTP/1.1\r\nHost: files.example.org:%u\r\n"
                                        "Content-Length: 4\r\nConnection: close\r\n\r\nbody",
                                        fixture->port);
    int client = connect_to_proxy(fixture), server;
    char rest[64];

    say(client, head);
    server = accept_at_server(fixture);
    expect(server, wanted);
    say(server, "HTTP/1.1 200 OK\r\n\r\nanswer");
    shutdown(server, SHUT_WR);
    receive_text(client, rest, sizeof(rest));
    assert_string_equal(rest, "HTTP/1.1 200 OK\r\n\r\nanswer");
    close(client);
    assert_int_equal(receive_text(server, rest, sizeof(rest)), 0); /* nothing but its request */
    close(server);
    assert_int_equal(poll(&(struct pollfd){.fd = fixture->server, .events = POLLIN}, 1, 0), 0);
}

/* Bytes into a tunnel whose other side reads nothing: the sender is held up, and then all of them arrive. */
TEST(a_side_that_does_not_read_slows_the_other_down)
{
    const struct fixture *fixture = *state;
    size_t total = (size_t)64 << 20, sent = 0, received = 0;
    AUTO_FREE char *piece = mem_zeroed(1 << 20, 1);
    int client, server;
    bool held_up = false;
    ssize_t got;

    make_tunnel(fixture, &client, &server);
    while (sent < total && !held_up) {
        struct pollfd polled = {.fd = client, .events = POLLOUT};

        held_up = poll(&polled, 1, 300) == 0;
        got = held_up ? 0 : send(client, piece, 1 << 20, MSG_DONTWAIT | MSG_NOSIGNAL);
        sent += got > 0 ? (size_t)got : 0;
    }
    assert_true(held_up);
    shutdown(client, SHUT_WR);
    while ((got = recv(server, piece, 1 << 20, 0)) > 0)
        received += (size_t)got;
    assert_int_equal(received, sent);
    close(client);
    close(server);
}

/* ---- Refusing ---- */

TEST(what_is_not_in_the_list_is_refused_before_its_name_is_looked_up)
{
    static const char *const hosts[] = {
        "evilfiles.example.org",
        "files.example.org.evil.org",
        "example.org",
        "deep.example.org",
        "127.0.0.1",
        "[::1]",
        "[::ffff:7f00:1]",
        "2130706433",
        "0x7f000001",
        "169.254.169.254",
        "localhost",
        "files.example.org.",
    };
    const struct fixture *fixture = *state;
    char line[1024];

    for (size_t i = 0; i < COUNT_OF(hosts); i++) {
        AUTO_FREE char *request = mem_printf("CONNECT %s:443 HTTP/1.1\r\n\r\n", hosts[i]);
        AUTO_FREE char *wanted =
            mem_printf("HTTP/1.1 403 %s is not in the container's allowed domains: "
                       "files.example.org, inside.example.org, ",
                       hosts[i]);

        refused_line(fixture, request, line);
        line[strlen(wanted)] = '\0';
        assert_string_equal(line, wanted);
    }
    assert_int_equal(lookups, 0);
}

TEST(only_the_ports_of_the_web_are_reached)
{
    static const unsigned ports[] = {22, 25, 5432, 8080, 3128};
    const struct fixture *fixture = *state;
    char line[1024];

    for (size_t i = 0; i < COUNT_OF(ports); i++) {
        AUTO_FREE char *request =
            mem_printf("CONNECT inside.example.org:%u HTTP/1.1\r\n\r\n", ports[i]);
        AUTO_FREE char *wanted =
            mem_printf("HTTP/1.1 403 Port %u of inside.example.org cannot be reached: "
                       "only 80 and 443 can.",
                       ports[i]);

        refused_line(fixture, request, line);
        assert_string_equal(line, wanted);
    }
}

/* The name is in the list, and its owner lets it lead inside. */
TEST(a_name_that_leads_inside_is_refused_and_asked_for_once)
{
    static const char *const hosts[] = {"inside.example.org", "mapped.example.org",
                                        "six.example.org", "metadata.example.org",
                                        "network.example.org"};
    const struct fixture *fixture = *state;
    char line[1024];

    for (size_t i = 0; i < COUNT_OF(hosts); i++) {
        AUTO_FREE char *request = mem_printf("GET http://%s/ HTTP/1.1\r\n\r\n", hosts[i]);
        AUTO_FREE char *wanted =
            mem_printf("HTTP/1.1 403 %s is not on the public internet.", hosts[i]);

        refused_line(fixture, request, line);
        assert_string_equal(line, wanted);
        assert_int_equal(lookups, i + 1);
    }
}

TEST(names_without_an_address_and_servers_that_are_away_have_other_answers)
{
    struct fixture *fixture = *state;
    AUTO_FREE char *request =
        mem_printf("CONNECT files.example.org:%u HTTP/1.1\r\n\r\n", fixture->port);
    AUTO_FREE char *wanted =
        mem_printf("HTTP/1.1 502 files.example.org:%u cannot be reached.", fixture->port);
    char line[1024];

    refused_line(fixture, "CONNECT nobody.example.org:80 HTTP/1.1\r\n\r\n", line);
    assert_string_equal(line, "HTTP/1.1 502 nobody.example.org has no address.");
    close(fixture->server);
    refused_line(fixture, request, line);
    assert_string_equal(line, wanted);
    fixture->server = listen_here(&fixture->port);
}

TEST(a_malformed_head_is_refused)
{
    const struct fixture *fixture = *state;
    char line[1024];

    refused_line(fixture, "GET http://files.example.org/ HTTP/1.1\nHost: x\n\n", line);
    assert_string_equal(line, "HTTP/1.1 400 Lines of a request end in CRLF.");
}

/* ---- Limits ---- */

TEST(more_connections_wait_until_one_ends)
{
    const struct fixture *fixture = *state;
    int fds[PROXY_CONNECTIONS + 1];
    char line[1024];

    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        fds[i] = connect_to_proxy(fixture);
        say(fds[i], "CONNECT a:80 HTTP/1.1\r\n"); /* no end yet */
    }
    say(fds[PROXY_CONNECTIONS], "\r\n");
    assert_int_equal(
        poll(&(struct pollfd){.fd = fds[PROXY_CONNECTIONS], .events = POLLIN}, 1, 200), 0);
    close(fds[0]);
    assert_true(receive_text(fds[PROXY_CONNECTIONS], line, sizeof(line)) > 0);
    for (size_t i = 1; i < COUNT_OF(fds); i++)
        close(fds[i]);
}

/* The test's own tunnel would take seconds for so many bytes: the limit is met with one call less. */
TEST(a_call_carries_no_more_than_it_may)
{
    const struct fixture *fixture = *state;
    AUTO_FREE char *piece = mem_zeroed(1 << 20, 1);
    uint64_t carried = 0;
    int client, server;
    char line[1024];
    ssize_t got = 0;

    make_tunnel(fixture, &client, &server);
    while (carried <= PROXY_CALL_BYTES) {
        ssize_t sent = send(client, piece, 1 << 20, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent < 0 && errno != EAGAIN)
            break;
        got = recv(server, piece, 1 << 20, sent < 0 ? 0 : MSG_DONTWAIT);
        if (got == 0)
            break;
        carried += got > 0 ? (uint64_t)got : 0;
    }
    /* What is in buffers when the tunnel is cut may be lost. */
    assert_in_range(carried, PROXY_CALL_BYTES - (32 << 20), PROXY_CALL_BYTES);
    refused_line(fixture, "CONNECT inside.example.org:80 HTTP/1.1\r\n\r\n", line);
    assert_string_equal(line, "HTTP/1.1 403 This call has used its 256 MiB of network.");
    proxy_begin(fixture->proxy); /* the next call */
    refused_line(fixture, "CONNECT inside.example.org:80 HTTP/1.1\r\n\r\n", line);
    assert_string_equal(line, "HTTP/1.1 403 inside.example.org is not on the public internet.");
    close(client);
    close(server);
    json_decref(proxy_end(fixture->proxy));
}

/* ---- The list of places ---- */

TEST(a_call_lists_where_it_has_gone)
{
    const struct fixture *fixture = *state;
    uint64_t counts[PROXY_VERDICTS];
    json_auto_t *places = NULL, *none = NULL, *wanted = NULL;
    int client, server;
    char line[1024];

    make_tunnel(fixture, &client, &server);
    say(client, "12345");
    expect(server, "12345");
    close(client);
    close(server);
    refused_line(fixture, "CONNECT evil.org:443 HTTP/1.1\r\n\r\n", line);
    refused_line(fixture, "CONNECT EVIL.org:443 HTTP/1.1\r\n\r\n", line);
    places = proxy_end(fixture->proxy);
    wanted = json_build("[{s:s, s:i, s:s, s:i, s:i}, {s:s, s:i, s:s, s:i, s:i}]", "host",
                        "files.example.org", "port", (int)fixture->port, "verdict", "allowed",
                        "connections", 1, "bytes", 5, "host", "evil.org", "port", 443,
                        "verdict", "domain", "connections", 2, "bytes", 0);
    assert_true(json_equal(places, wanted));
    proxies_count(fixture->proxies, counts);
    assert_int_equal(counts[PROXY_ALLOWED], 1);
    assert_int_equal(counts[PROXY_DOMAIN], 2);
    proxy_begin(fixture->proxy);
    none = proxy_end(fixture->proxy);
    assert_null(none);
    proxy_begin(fixture->proxy);
}

TEST(an_open_tunnel_ends_with_its_proxy)
{
    struct fixture *fixture = *state;
    int client, server;
    char end[8];

    make_tunnel(fixture, &client, &server);
    proxy_close(TAKE(fixture->proxy));
    assert_int_equal(receive_text(client, end, sizeof(end)), 0);
    assert_int_equal(receive_text(server, end, sizeof(end)), 0);
    close(client);
    close(server);
}

TEST(a_socket_that_does_not_listen_on_loopback_is_no_listener)
{
    const struct fixture *fixture = *state;
    static const char *const domains[] = {"a.example"};
    struct proxy *proxy = NULL;
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(proxy_open(fixture->proxies, "test", domains, 1, pair[0], &proxy, NULL),
                     ERR_INTERNAL);
    assert_int_equal(proxy_open(fixture->proxies, "test", domains, 1,
                                socket(AF_INET, SOCK_STREAM, 0), &proxy, NULL),
                     ERR_INTERNAL);
    close(pair[1]);
}

#define WITH_PROXY(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PROXY(a_tunnel_carries_both_ways_and_ends_on_both_sides),
        WITH_PROXY(a_url_is_asked_for_with_one_request_and_no_second_one),
        WITH_PROXY(a_side_that_does_not_read_slows_the_other_down),
        WITH_PROXY(what_is_not_in_the_list_is_refused_before_its_name_is_looked_up),
        WITH_PROXY(only_the_ports_of_the_web_are_reached),
        WITH_PROXY(a_name_that_leads_inside_is_refused_and_asked_for_once),
        WITH_PROXY(names_without_an_address_and_servers_that_are_away_have_other_answers),
        WITH_PROXY(a_malformed_head_is_refused),
        WITH_PROXY(more_connections_wait_until_one_ends),
        WITH_PROXY(a_call_carries_no_more_than_it_may),
        WITH_PROXY(a_call_lists_where_it_has_gone),
        WITH_PROXY(an_open_tunnel_ends_with_its_proxy),
        WITH_PROXY(a_socket_that_does_not_listen_on_loopback_is_no_listener),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
