/*
 * The meaning of a head, checked as strictly as a careful proxy would.
 *
 * Request smuggling needs two readers that disagree. The server cannot know which proxy stands in
 * front of it, so it accepts only what RFC 9112 allows and every reader understands alike: one
 * Host, one length, either a length or chunks, no coding other than chunked, names that are tokens.
 * Where the RFC lets a server choose between repairing and refusing, this file refuses.
 *
 * Headers that decide something here must not come twice (once_names): the key, the origin, the
 * idempotency key. A proxy might check the first one while the endpoint reads the second.
 *
 * A pure function of the head. Its messages say what is wrong in one sentence, because the person who
 * reads them is writing a client or debugging a proxy.
 */

#include "server/http/parse/hygiene.h"

#include <string.h>
#include <strings.h>

#include "core/base/compiler.h"

#define LENGTH_DIGITS \
    18 /* digits of a Content-Length: they fit 64 bits, and no client sends
                          * more */

/* Headers that must not come twice: two readers could each believe a different one. */
enum once {
    ONCE_HOST,
    ONCE_LENGTH,
    ONCE_ENCODING,
    ONCE_AUTHORIZATION,
    ONCE_TYPE,
    ONCE_EXPECT,
    ONCE_ORIGIN,
    ONCE_SITE,
    ONCE_METHOD,
    ONCE_KEY,
    ONCE_EVENT,
    ONCE_SOCKET_KEY,
    ONCE_SOCKET_VERSION,
    ONCE_COUNT
};

static const char *const once_names[ONCE_COUNT] = {
    [ONCE_HOST] = "host",
    [ONCE_LENGTH] = "content-length",
    [ONCE_ENCODING] = "transfer-encoding",
    [ONCE_AUTHORIZATION] = "authorization",
    [ONCE_TYPE] = "content-type",
    [ONCE_EXPECT] = "expect",
    [ONCE_ORIGIN] = "origin",
    [ONCE_SITE] = "sec-fetch-site",
    [ONCE_METHOD] = "access-control-request-method",
    [ONCE_KEY] = "idempotency-key",
    [ONCE_EVENT] = "last-event-id",
    [ONCE_SOCKET_KEY] = "sec-websocket-key",
    [ONCE_SOCKET_VERSION] = "sec-websocket-version",
};

struct check {
    const struct hygiene_head *head;
    const struct hygiene_header *once[ONCE_COUNT];
    struct hygiene_report report;
};

static bool refuse(struct check *check, int status, const char *text)
{
    check->report.status = status;
    check->report.text = text;
    return false;
}

static bool method_is_known(const char *method)
{
    static const char *const known[] = {"GET",    "HEAD",  "POST",   "PUT",
                                        "DELETE", "PATCH", "OPTIONS"};

    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (strcmp(known[i], method) == 0)
            return true;
    return false;
}

static bool check_line(struct check *check)
{
    const struct hygiene_head *head = check->head;

    if (!method_is_known(head->method))
        return refuse(check, 501, "This method is not supported.");
    if (strcmp(head->version, "HTTP/1.1") != 0 && strcmp(head->version, "HTTP/1.0") != 0)
        return refuse(check, 505, "This version of HTTP is not supported.");
    if (head->target[0] != '/')
        return refuse(check, 400, "Invalid URL: it does not begin with a slash.");
    for (const char *c = head->target; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7F || *c == '#' || *c == '\\')
            return refuse(check, 400, "Invalid URL: it has a character that must be encoded.");
    return true;
}

static bool is_text(const char *given, size_t length, const char *text)
{
    return length == strlen(text) && strncasecmp(given, text, length) == 0;
}

bool hygiene_is_token_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_token(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!hygiene_is_token_char(text[i]))
            return false;
    return length > 0;
}

static bool is_field_value(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];

        if ((c < ' ' && c != '\t') || c == 0x7F)
            return false;
    }
    return true;
}

/* Notes headers that must not come twice. */
static bool note(struct check *check, const struct hygiene_header *header)
{
    for (size_t i = 0; i < ONCE_COUNT; i++) {
        if (!is_text(header->name, header->name_length, once_names[i]))
            continue;
        if (check->once[i])
            return refuse(check, 400, "A header that must be given once was given twice.");
        check->once[i] = header;
    }
    return true;
}

static bool check_headers(struct check *check)
{
    const struct hygiene_head *head = check->head;
    size_t size = strlen(head->method) + strlen(head->target) + strlen(head->version) + 4;

    if (head->header_count > HYGIENE_HEADER_LIMIT)
        return refuse(check, 431, "Too many headers.");
    for (size_t i = 0; i < head->header_count; i++) {
        const struct hygiene_header *header = &head->headers[i];

        if (!is_token(header->name, header->name_length))
            return refuse(check, 400, "A header name has an invalid character.");
        if (!is_field_value(header->value, header->value_length))
            return refuse(check, 400, "A header holds a control character.");
        if (!note(check, header))
            return false;
        size += header->name_length + header->value_length + 4;
    }
    if (size > head->size_limit)
        return refuse(check, 431, "Request line and headers are too large.");
    return true;
}

static bool check_host(struct check *check)
{
    const struct hygiene_header *host = check->once[ONCE_HOST];

    if (!host) {
        if (strcmp(check->head->version, "HTTP/1.1") == 0)
            return refuse(check, 400, "The Host header is missing.");
        return true;
    }
    for (size_t i = 0; i < host->value_length; i++)
        if (host->value[i] <= ' ' || strchr("/?#@\\,", host->value[i]))
            return refuse(check, 400, "The Host header is not a valid host.");
    return true;
}

static bool is_number(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] < '0' || text[i] > '9')
            return false;
    return length > 0;
}

bool hygiene_is_length(const char *value, size_t length)
{
    return length <= LENGTH_DIGITS && is_number(value, length);
}

static bool check_length(struct check *check)
{
    const struct hygiene_header *length = check->once[ONCE_LENGTH];

    if (!length)
        return true;
    if (!is_number(length->value, length->value_length))
        return refuse(check, 400, "Content-Length is not a number.");
    if (length->value_length > LENGTH_DIGITS)
        return refuse(check, 413, "Content-Length is larger than any body may be.");
    for (size_t i = 0; i < length->value_length; i++)
        check->report.length = check->report.length * 10 + (uint64_t)(length->value[i] - '0');
    check->report.has_body = check->report.length > 0;
    return true;
}

static bool check_encoding(struct check *check)
{
    const struct hygiene_header *encoding = check->once[ONCE_ENCODING];

    if (!encoding)
        return true;
    if (check->once[ONCE_LENGTH])
        return refuse(check, 400, "Content-Length and Transfer-Encoding exclude each other.");
    if (strcmp(check->head->version, "HTTP/1.1") != 0)
        return refuse(check, 400, "Transfer-Encoding needs HTTP/1.1.");
    if (!is_text(encoding->value, encoding->value_length, "chunked"))
        return refuse(check, 501, "Only the transfer encoding 'chunked' is supported.");
    check->report.has_body = check->report.chunked = true;
    return true;
}

/* An unknown expectation cannot be met; HTTP/1.0 has none. */
static bool check_expectation(struct check *check)
{
    const struct hygiene_header *expect = check->once[ONCE_EXPECT];

    if (!expect || strcmp(check->head->version, "HTTP/1.1") != 0)
        return true;
    if (is_text(expect->value, expect->value_length, "100-continue"))
        return true;
    return refuse(check, 417, "Only the expectation '100-continue' is supported.");
}

/* HTTP/1.0 has its own way to ask for that, which no client that matters uses. */
static bool wants_keep_alive(const struct hygiene_head *head)
{
    for (size_t i = 0; i < head->header_count; i++) {
        const struct hygiene_header *header = &head->headers[i];

        if (is_text(header->name, header->name_length, "connection") &&
            !is_text(header->value, header->value_length, "keep-alive"))
            return false;
    }
    return strcmp(head->version, "HTTP/1.1") == 0;
}

struct hygiene_report hygiene_check(const struct hygiene_head *head)
{
    struct check check = {.head = head};

    if (check_line(&check) && check_headers(&check) && check_host(&check) &&
        check_length(&check) && check_encoding(&check) && check_expectation(&check))
        check.report.keep_alive = wants_keep_alive(head);
    return check.report;
}
