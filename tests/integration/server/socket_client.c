/*
 * A client without a library. HTTP libraries send only what is valid and hide what they receive:
 * here every byte is the test's own, both ways, so that half a request, two at once or a reset
 * can be sent.
 */

#include "tests/integration/server/socket_client.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "tests/integration/server/served_http.h"
#include "tests/support/test.h"

struct client dial(void)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(under.port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    struct client client = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};

    assert_true(client.fd >= 0);
    assert_int_equal(connect(client.fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return client;
}

void hang_up(struct client *client)
{
    close(client->fd);
    buf_clear(&client->in);
}

void put_bytes(struct client *client, const char *bytes, size_t length)
{
    while (length) {
        ssize_t sent = send(client->fd, bytes, length, MSG_NOSIGNAL);

        if (sent < 0)
            return; /* the server has hung up, which the test will see */
        bytes += sent;
        length -= (size_t)sent;
    }
}

void put(struct client *client, const char *text)
{
    put_bytes(client, text, strlen(text));
}

bool more(struct client *client)
{
    struct pollfd ready = {.fd = client->fd, .events = POLLIN};
    ssize_t got;

    assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
    got = recv(client->fd, buf_reserve(&client->in, 65536), 65536, 0);
    if (got <= 0)
        return false;
    buf_added(&client->in, (size_t)got);
    return true;
}

static char *find(struct client *client, const char *text)
{
    return client->in.data ? strstr(client->in.data, text) : NULL;
}

const char *get_until(struct client *client, const char *text)
{
    static struct buf taken;
    char *found;

    while (!(found = find(client, text)))
        if (!more(client))
            fail_msg("'%s' did not come, but: %s", text, client->in.data);
    buf_reset(&taken);
    buf_add(&taken, client->in.data, (size_t)(found - client->in.data) + strlen(text));
    buf_consume(&client->in, taken.length);
    return taken.data;
}

void expect_end(struct client *client)
{
    while (more(client))
        continue;
    if (client->in.length)
        fail_msg("more came: %s", client->in.data);
}

void expect_part(const char *text, const char *part)
{
    if (!strcasestr(text, part))
        fail_msg("'%s' is not in: %s", part, text);
}

void expect_no_part(const char *text, const char *part)
{
    if (strcasestr(text, part))
        fail_msg("'%s' is in: %s", part, text);
}

const char *get_answer(struct client *client)
{
    static struct buf answer;
    const char *head = get_until(client, "\r\n\r\n");
    const char *length = strcasestr(head, "content-length: ");
    size_t size = length ? strtoul(length + 16, NULL, 10) : 0;

    buf_reset(&answer);
    buf_add_text(&answer, head);
    while (client->in.length < size)
        assert_true(more(client));
    buf_add(&answer, client->in.data, size);
    buf_consume(&client->in, size);
    return answer.data;
}

void expect_answer(struct client *client, const char *status, const char *part)
{
    const char *answer = get_answer(client);

    expect_part(answer, status);
    expect_part(answer, part);
}

void ask(const char *request, const char *status, const char *part)
{
    struct client client = dial();

    put(&client, request);
    expect_answer(&client, status, part);
    hang_up(&client);
}

void open_stream(struct client *client, const char *more_headers)
{
    AUTO_FREE char *request =
        mem_printf("GET /stream HTTP/1.1\r\n" HOST KEY "%s\r\n", more_headers);
    unsigned made = under.made;

    put(client, request);
    await_made(made + 1);
}

char *json_of(size_t length)
{
    char *text = mem_zeroed(length + 1, 1);

    memset(text, 'a', length);
    memcpy(text, "{\"x\":\"", 6);
    memcpy(text + length - 2, "\"}", 2);
    return text;
}
