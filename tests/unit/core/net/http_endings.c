#include "tests/unit/core/net/http_endings.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/compiler.h"
#include "tests/support/test.h"
#include "tests/unit/core/net/errand.h"
#include "tests/unit/core/net/http_pages.h"
#include "tests/unit/core/net/name_server.h"

#define FILLERS  4
#define PATIENCE (20 * NS_PER_MS) /* for calls that must exceed a deadline */

static struct {
    int full_fd;
    int full_port; /* does not accept */
    int fillers[FILLERS];
    int mute_fd;
    int mute_port; /* accepts, sends nothing */
} listeners;

void http_endings_begin(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    listeners.full_port = tiny_listen(&listeners.full_fd, 0);
    listeners.mute_port = tiny_listen(&listeners.mute_fd, 2048);
    address.sin_port = htons((uint16_t)listeners.full_port);
    for (size_t i = 0; i < FILLERS; i++) {
        listeners.fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(listeners.fillers[i], (struct sockaddr *)&address, sizeof(address));
    }
}

void http_endings_end(void)
{
    for (size_t i = 0; i < FILLERS; i++)
        close(listeners.fillers[i]);
    close(listeners.full_fd);
    close(listeners.mute_fd);
}

/* --- how calls end --- */

enum port {
    PORT_SERVER,
    PORT_FULL,
    PORT_MUTE,
};

enum give_up {
    NEVER,       /* the call ends by itself */
    AT_ONCE,     /* in the task that has started it */
    WHEN_ASKED,  /* the name server has the question */
    AT_THE_GATE, /* the test's server has the request */
    IN_HEAD,
    IN_DATA,
};

static const struct egress_rules public_only = {0};

struct ending {
    const char *name;
    const char *place; /* scheme and host */
    enum port port;
    const char *path;
    enum give_up give_up;
    struct http_timeouts timeouts;
    const struct egress_rules *egress;
};

/* clang-format off */
static const struct ending endings[] = {
    {"the name does not exist",       "http://none.test",   PORT_SERVER, "/big", NEVER, {0}, NULL},
    {"the name is not known now",     "http://later.test",  PORT_SERVER, "/big", NEVER, {0}, NULL},
    {"the same with TLS",             "https://none.test",  PORT_SERVER, "/big", NEVER, {0}, NULL},
    {"nothing listens",               "http://127.0.0.2",   PORT_SERVER, "/big", NEVER, {0}, NULL},
    {"nothing listens at the name",   "http://nobody.test", PORT_SERVER, "/big", NEVER, {0}, NULL},
    {"the address makes no sense",    "http://255.255.255.255", PORT_SERVER, "/big", NEVER, {0}, NULL},
    {"the scheme is unknown",         "gopher://127.0.0.1", PORT_SERVER, "/big", NEVER, {0}, NULL},
    {"the URL makes no sense",        "http://a b",         PORT_SERVER, "/big", NEVER, {0}, NULL},
    {"the address is not public",     "http://127.0.0.1",   PORT_SERVER, "/big", NEVER, {0}, &public_only},
    {"the name's is not public",      "http://here.test",   PORT_SERVER, "/big", NEVER, {0}, &public_only},
    {"the server speaks no TLS",      "https://127.0.0.1",  PORT_SERVER, "/",    NEVER, {0}, NULL},
    {"the same by name",              "https://here.test",  PORT_SERVER, "/",    NEVER, {0}, NULL},
    {"no time to look up the name",   "http://slow.test",   PORT_SERVER, "/big", NEVER, {.connect = PATIENCE}, NULL},
    {"no time to connect",            "http://127.0.0.1",   PORT_FULL,   "/",    NEVER, {.connect = PATIENCE}, NULL},
    {"no time to greet with TLS",     "https://127.0.0.1",  PORT_MUTE,   "/",    NEVER, {.connect = PATIENCE}, NULL},
    {"no answer begins",              "http://127.0.0.1",   PORT_MUTE,   "/",    NEVER, {.first_byte = PATIENCE}, NULL},
    {"no body begins",                "http://127.0.0.1",   PORT_SERVER, "/head-only", NEVER, {.first_byte = PATIENCE}, NULL},
    {"the body stalls",               "http://127.0.0.1",   PORT_SERVER, "/stalls", NEVER, {.idle = PATIENCE}, NULL},
    {"the body never ends",           "http://127.0.0.1",   PORT_SERVER, "/drips", NEVER, {.total = PATIENCE}, NULL},
    {"the head breaks off",           "http://127.0.0.1",   PORT_SERVER, "/cut-in-head", NEVER, {0}, NULL},
    {"there is no head",              "http://127.0.0.1",   PORT_SERVER, "/http09", NEVER, {0}, NULL},
    {"the body breaks off",           "http://127.0.0.1",   PORT_SERVER, "/cut-in-chunk", NEVER, {0}, NULL},
    {"the body is too short",         "http://127.0.0.1",   PORT_SERVER, "/cut-before-length", NEVER, {0}, NULL},
    {"a chunk makes no sense",        "http://127.0.0.1",   PORT_SERVER, "/bad-chunk", NEVER, {0}, NULL},
    {"the answer is compressed",      "http://127.0.0.1",   PORT_SERVER, "/compressed", NEVER, {0}, NULL},
    {"the server closes",             "http://127.0.0.1",   PORT_SERVER, "/hello-and-close", NEVER, {0}, NULL},
    {"the server resets",             "http://127.0.0.1",   PORT_SERVER, "/reset", NEVER, {0}, NULL},
    {"cancelled at once",             "http://127.0.0.1",   PORT_SERVER, "/big", AT_ONCE, {0}, NULL},
    {"cancelled at once, by name",    "http://here.test",   PORT_SERVER, "/big", AT_ONCE, {0}, NULL},
    {"cancelled in the look-up",      "http://slow.test",   PORT_SERVER, "/big", WHEN_ASKED, {0}, NULL},
    {"cancelled while it connects",   "http://127.0.0.1",   PORT_FULL,   "/",    AT_ONCE, {0}, NULL},
    {"cancelled while it greets",     "https://127.0.0.1",  PORT_MUTE,   "/",    AT_ONCE, {0}, NULL},
    {"cancelled before an answer",    "http://127.0.0.1",   PORT_SERVER, "/gate-silent", AT_THE_GATE, {0}, NULL},
    {"cancelled in the head",         "http://127.0.0.1",   PORT_SERVER, "/flood", IN_HEAD, {0}, NULL},
    {"cancelled in the body",         "http://127.0.0.1",   PORT_SERVER, "/flood", IN_DATA, {0}, NULL},
    {"it goes well",                  "http://127.0.0.1",   PORT_SERVER, "/big", NEVER, {0}, NULL},
    {"it goes well, by name",         "http://here.test",   PORT_SERVER, "/big", NEVER, {0}, NULL},
};
/* clang-format on */

const size_t http_ending_count = COUNT_OF(endings);

const char *http_ending_name(size_t ending)
{
    return endings[ending].name;
}

static int port_of(const struct fixture *fixture, enum port port)
{
    switch (port) {
    case PORT_FULL: return listeners.full_port;
    case PORT_MUTE: return listeners.mute_port;
    case PORT_SERVER: break;
    }
    return fixture->server->port;
}

/* Its server reports when the client has closed the connection. */
static bool page_reports_close(const char *path)
{
    static const char *const reporting[] = {"/head-only", "/stalls", "/drips", "/gate-silent",
                                            "/flood"};

    for (size_t i = 0; i < COUNT_OF(reporting); i++)
        if (strcmp(path, reporting[i]) == 0)
            return true;
    return false;
}

static void start_and_cancel(void *arg)
{
    start_exchange(arg);
    cancel_exchange(arg);
}

void http_end_a_call(const struct fixture *fixture, size_t which)
{
    const struct ending *ending = &endings[which];
    bool is_slow = strstr(ending->place, "slow.test");
    struct exchange exchange;

    exchange_init(&exchange, fixture, "/");
    (void)snprintf(exchange.url, sizeof(exchange.url), "%s:%d%s", ending->place,
                   port_of(fixture, ending->port), ending->path);
    exchange.request.timeouts = ending->timeouts;
    exchange.request.egress = ending->egress;
    switch (ending->give_up) {
    case NEVER: run_exchange(&exchange); break;
    case AT_ONCE: on_loop(fixture->loop, start_and_cancel, &exchange); break;
    case WHEN_ASKED:
        on_loop(fixture->loop, start_exchange, &exchange);
        wait_for(&name_asked);
        on_loop(fixture->loop, cancel_exchange, &exchange);
        break;
    case AT_THE_GATE:
        tiny_close_gate(fixture->server, 1);
        on_loop(fixture->loop, start_exchange, &exchange);
        tiny_wait_until_gate_opens(fixture->server);
        on_loop(fixture->loop, cancel_exchange, &exchange);
        break;
    case IN_HEAD:
    case IN_DATA:
        exchange.end = ending->give_up == IN_HEAD ? CANCEL_IN_HEAD : CANCEL_IN_DATA;
        on_loop(fixture->loop, start_exchange, &exchange);
        break;
    }
    if (page_reports_close(ending->path))
        wait_for(&fixture->server->peer_left);
    if (is_slow) {
        if (ending->give_up == NEVER)
            wait_for(&name_asked);
        sem_post(&name_known);
        wait_for(&name_answered);
    }
    let_pass(fixture->loop);
    exchange_clear(&exchange);
}

/* --- calls that must go well --- */

struct follower {
    const char *method;
    const char *host;
    const char *path;
    const char *body;
    bool once;
    size_t length; /* of the answer; 0: not known */
};

/* clang-format off */
static const struct follower followers[] = {
    {"GET",  "127.0.0.1", "/big",     NULL, false, HTTP_BIG_PAGE},
    {"GET",  "127.0.0.1", "/big",     NULL, true,  HTTP_BIG_PAGE},
    {"GET",  "here.test", "/big",     NULL, false, HTTP_BIG_PAGE},
    {"POST", "127.0.0.1", "/echo",    "what was sent comes back", false, 0},
    {"POST", "here.test", "/echo",    "what was sent comes back", true,  0},
    {"HEAD", "127.0.0.1", "/bodyless", NULL, false, 0},
    {"GET",  "127.0.0.1", "/chunked", NULL, false, 11},
};
/* clang-format on */

const size_t http_follower_count = COUNT_OF(followers);

void http_follow_with(const struct fixture *fixture, size_t which)
{
    const struct follower *follower = &followers[which];
    struct exchange exchange;

    exchange_init(&exchange, fixture, "/");
    (void)snprintf(exchange.url, sizeof(exchange.url), "http://%s:%d%s", follower->host,
                   fixture->server->port, follower->path);
    set_body(&exchange, follower->method, follower->body);
    exchange.request.once = follower->once;
    run_exchange(&exchange);
    assert_string_equal(exchange.error, "");
    assert_int_equal(exchange.rc, ERR_OK);
    assert_int_equal(exchange.status, 200);
    if (follower->length)
        assert_int_equal(exchange.body.length, follower->length);
    if (follower->body)
        assert_non_null(strstr(exchange.body.data, follower->body));
    exchange_clear(&exchange);
}
