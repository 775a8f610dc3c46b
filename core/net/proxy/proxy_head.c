/*
 * proxy_head.c -- a strict reader of one head.
 *
 * Headers are passed on as they are, but for those that belong to one connection, and Host, which is written from the
 * target. The names that `Connection` lists are not removed: a list of the client's choice could remove what the server
 * behind needs in order to read the request as this reader has.
 *
 * One request is served on a connection. So its second request cannot be another host's.
 */

#include "core/net/proxy/proxy_head.h"

#include <string.h>
#include <strings.h>

#include "core/base/compiler.h"

#define METHOD_LIMIT 20
#define LINES_LIMIT  100

/* A piece of the head, which is not NUL-terminated. */
struct piece {
    const char *at;
    size_t length;
};

static enum proxy_head_state bad(struct proxy_head *head, int status, const char *why)
{
    head->status = status;
    head->why = why;
    return PROXY_HEAD_BAD;
}

static bool equals(struct piece piece, const char *text)
{
    return piece.length == strlen(text) && strncasecmp(piece.at, text, piece.length) == 0;
}

static bool is_token(struct piece piece)
{
    static const char marks[] = "!#$%&'*+-.^_`|~";

    for (size_t i = 0; i < piece.length; i++) {
        char byte = piece.at[i];

        if ((byte < '0' || byte > '9') && (byte < 'A' || byte > 'Z') &&
            (byte < 'a' || byte > 'z') && (!byte || !strchr(marks, byte)))
            return false;
    }
    return piece.length > 0;
}

/* Takes the bytes before `end` off the front, and `end` with them. False if it is missing. */
static bool split(struct piece *rest, char end, struct piece *ret_front)
{
    const char *found = memchr(rest->at, end, rest->length);

    if (!found)
        return false;
    *ret_front = (struct piece){rest->at, (size_t)(found - rest->at)};
    rest->length -= ret_front->length + 1;
    rest->at = found + 1;
    return true;
}

/* ---- Where it wants to go ---- */

/* 1 to 65535, without zeros in front. */
static bool read_port(struct piece text, unsigned *ret_port)
{
    unsigned port = 0;

    if (!text.length || text.length > 5 || text.at[0] == '0')
        return false;
    for (size_t i = 0; i < text.length; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
        port = port * 10 + (unsigned)(text.at[i] - '0');
    }
    *ret_port = port;
    return port <= 65535;
}

/* What a name or an address may consist of; an address of IPv6 stands in brackets. */
static bool is_host(struct piece text)
{
    static const char plain[] =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._";
    static const char six[] = "0123456789abcdefABCDEF:.";
    const char *allowed = plain;

    if (text.length > 2 && text.at[0] == '[' && text.at[text.length - 1] == ']') {
        text = (struct piece){text.at + 1, text.length - 2};
        allowed = six;
    }
    for (size_t i = 0; i < text.length; i++) {
        if (!text.at[i] || !strchr(allowed, text.at[i]))
            return false;
    }
    return text.length > 0;
}

/* "host:port", or "host" if there is a port that goes without saying. */
static bool read_authority(struct piece text, unsigned usual_port, struct proxy_head *head)
{
    struct piece host = text;
    size_t colon = text.length;

    while (colon > 0 && text.at[colon - 1] != ':' && text.at[colon - 1] != ']')
        colon--;
    head->port = usual_port;
    if (colon > 0 && text.at[colon - 1] == ':') {
        host.length = colon - 1;
        if (!read_port((struct piece){text.at + colon, text.length - colon}, &head->port))
            return false;
    }
    if (!head->port || host.length > DOMAIN_LIMIT || !is_host(host))
        return false;
    memcpy(head->host, host.at, host.length);
    head->host[host.length] = '\0';
    return true;
}

/* Writes the first line for the server, and its Host. */
static bool read_url(struct piece url, struct piece method, struct proxy_head *head)
{
    static const char scheme[] = "http://";
    size_t length = 0, start = strlen(scheme);
    struct buf *forward = &head->forward;

    if (url.length <= start || strncasecmp(url.at, scheme, start) != 0 ||
        memchr(url.at, '#', url.length))
        return false;
    url = (struct piece){url.at + start, url.length - start};
    while (length < url.length && url.at[length] != '/' && url.at[length] != '?')
        length++;
    if (!read_authority((struct piece){url.at, length}, 80, head))
        return false;
    buf_add(forward, method.at, method.length);
    buf_add_text(forward, length < url.length && url.at[length] == '/' ? " " : " /");
    buf_add(forward, url.at + length, url.length - length);
    buf_add_text(forward, " HTTP/1.1\r\nHost: ");
    buf_add(forward, url.at, length);
    buf_add_text(forward, "\r\n");
    return true;
}

static bool is_method(struct piece method)
{
    for (size_t i = 0; i < method.length; i++) {
        if (method.at[i] < 'A' || method.at[i] > 'Z')
            return false;
    }
    return method.length > 0 && method.length <= METHOD_LIMIT;
}

static bool is_printable(struct piece text)
{
    for (size_t i = 0; i < text.length; i++) {
        if (text.at[i] <= ' ' || text.at[i] > '~')
            return false;
    }
    return text.length > 0;
}

static enum proxy_head_state read_first_line(struct piece line, struct proxy_head *head)
{
    struct piece method, target;

    if (!split(&line, ' ', &method) || !split(&line, ' ', &target) || !is_method(method) ||
        !is_printable(target) || (!equals(line, "HTTP/1.1") && !equals(line, "HTTP/1.0")))
        return bad(head, 400, "This is no request of HTTP/1.1.");
    head->tunnel = equals(method, "CONNECT");
    if (head->tunnel ? !read_authority(target, 0, head) : !read_url(target, method, head))
        return bad(head, 400,
                   "The proxy takes CONNECT host:port, and URLs that begin with http://.");
    return PROXY_HEAD_READY;
}

/* ---- Headers ---- */

/* Which lines were there: once is the limit. */
struct lines {
    bool has_host, has_length;
};

/* Of the connection to this proxy, so not for the server. */
static bool is_own(struct piece name)
{
    static const char *const own[] = {
        "connection",         "keep-alive", "proxy-connection", "proxy-authorization",
        "proxy-authenticate", "te",         "trailer",          "upgrade"};

    for (size_t i = 0; i < COUNT_OF(own); i++) {
        if (equals(name, own[i]))
            return true;
    }
    return false;
}

static bool is_text(struct piece value)
{
    for (size_t i = 0; i < value.length; i++) {
        unsigned char byte = (unsigned char)value.at[i];

        if ((byte < ' ' && byte != '\t') || byte == 0x7f)
            return false;
    }
    return true;
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

static struct piece trimmed(struct piece value)
{
    while (value.length && is_blank(value.at[0]))
        value = (struct piece){value.at + 1, value.length - 1};
    while (value.length && is_blank(value.at[value.length - 1]))
        value.length--;
    return value;
}

/* Host may leave out the port that goes without saying, or name it where the target does not. */
static bool is_host_of(struct piece value, const struct proxy_head *head)
{
    struct proxy_head named = {0};

    return read_authority(value, head->tunnel ? 443 : 80, &named) &&
           strcasecmp(named.host, head->host) == 0 &&
           (named.port == head->port || (head->tunnel && equals(value, head->host)));
}

static bool read_length(struct piece value, uint64_t *ret_length)
{
    uint64_t length = 0;

    if (!value.length || value.length > 18)
        return false;
    for (size_t i = 0; i < value.length; i++) {
        if (value.at[i] < '0' || value.at[i] > '9')
            return false;
        length = length * 10 + (uint64_t)(value.at[i] - '0');
    }
    *ret_length = length;
    return true;
}

static enum proxy_head_state read_line(struct piece line, struct lines *lines,
                                       struct proxy_head *head)
{
    struct piece value = line, name;

    if (!split(&value, ':', &name) || !is_token(name) || !is_text(value))
        return bad(head, 400, "A header of the request is malformed.");
    value = trimmed(value);
    if (equals(name, "transfer-encoding"))
        return bad(head, 411, "The proxy takes no chunked bodies. Send Content-Length.");
    if (equals(name, "host")) {
        if (lines->has_host || !is_host_of(value, head))
            return bad(head, 400, "The header Host is not that of the request's target.");
        lines->has_host = true;
        return PROXY_HEAD_READY;
    }
    if (equals(name, "content-length")) {
        if (lines->has_length || head->tunnel || !read_length(value, &head->body))
            return bad(head, 400, "The header Content-Length makes no sense.");
        lines->has_length = true;
    }
    if (!head->tunnel && !is_own(name)) {
        buf_add(&head->forward, line.at, line.length);
        buf_add_text(&head->forward, "\r\n");
    }
    return PROXY_HEAD_READY;
}

/* ---- The head ---- */

/* The next line without its CRLF. The head ends in one, and every LF was seen to follow a CR. */
static struct piece next_line(struct piece *rest)
{
    struct piece line = {rest->at, 0};

    (void)split(rest, '\n', &line);
    if (line.length)
        line.length--;
    return line;
}

static enum proxy_head_state read_lines(struct proxy_head *head, const char *bytes)
{
    struct piece rest = {bytes, head->size};
    struct lines lines = {0};
    unsigned count = 0;
    enum proxy_head_state state = read_first_line(next_line(&rest), head);

    while (state == PROXY_HEAD_READY) {
        struct piece line = next_line(&rest);

        if (!line.length)
            break;
        if (count++ == LINES_LIMIT)
            return bad(head, 431, "The request has too many headers.");
        state = read_line(line, &lines, head);
    }
    if (state == PROXY_HEAD_READY && !head->tunnel)
        buf_add_text(&head->forward, "Connection: close\r\n\r\n");
    return state;
}

enum proxy_head_state proxy_head_read(struct proxy_head *head, const char *bytes, size_t size)
{
    size_t end = size < PROXY_HEAD_LIMIT ? size : PROXY_HEAD_LIMIT;

    for (size_t i = head->scanned; i < end; i++) {
        if (!bytes[i] || (bytes[i] == '\n' && (i == 0 || bytes[i - 1] != '\r')))
            return bad(head, 400, "Lines of a request end in CRLF.");
        if (bytes[i] != '\n' || i < 3 || bytes[i - 2] != '\n')
            continue;
        head->size = i + 1;
        return read_lines(head, bytes);
    }
    head->scanned = end;
    if (end == PROXY_HEAD_LIMIT)
        return bad(head, 431, "The head of the request is too long.");
    return PROXY_HEAD_PARTIAL;
}

void proxy_head_clear(struct proxy_head *head)
{
    buf_clear(&head->forward);
    *head = (struct proxy_head){0};
}
