/*
 * request_early.c -- an answer that does not wait for the end of the body.
 *
 * libmicrohttpd takes an answer before the body or behind it, never within:
 * MHD_queue_response() refuses it there. If it takes one before the body, it then closes the
 * socket, so a client that is still sending may see a reset instead of the answer. So this file
 * writes the answer into the socket, to which nothing else writes while a body is arriving. It
 * closes the sending direction only, and lets the library go on reading input that is
 * discarded, for as long as a client may need to notice: REQUEST_LINGER_LIMIT bytes,
 * REQUEST_LINGER_NS. Meanwhile this costs a connection, and neither memory nor a thread.
 *
 * If the library has ended the connection without an answer, the answer is written here, too.
 */

#include <microhttpd.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "server/http/http_internal.h"

static enum MHD_Result add_line(void *arg, enum MHD_ValueKind kind, const char *name,
                                const char *value)
{
    (void)kind;
    buf_addf(arg, "%s: %s\r\n", name, value);
    return MHD_YES;
}

/* Written by hand, because strftime() would use the language of the environment. */
static void add_date(struct buf *text)
{
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    time_t now = time(NULL);
    struct tm tm;

    if (!gmtime_r(&now, &tm))
        return;
    buf_addf(text, "Date: %s, %02d %s %04d %02d:%02d:%02d GMT\r\n", days[tm.tm_wday],
             tm.tm_mday, months[tm.tm_mon], tm.tm_year + 1900, tm.tm_hour, tm.tm_min,
             tm.tm_sec);
}

static void write_answer(const struct request *request, struct MHD_Response *response,
                         const char *body, size_t length, struct buf *text)
{
    unsigned status = (unsigned)request->status;

    buf_addf(text, "HTTP/1.1 %u %s\r\n", status, MHD_get_reason_phrase_for(status));
    add_date(text);
    (void)MHD_get_response_headers(response, add_line, text);
    if (status != MHD_HTTP_NO_CONTENT)
        buf_addf(text, "Content-Length: %zu\r\n", length);
    buf_add_text(text, "\r\n");
    if (!request->method || strcmp(request->method, "HEAD") != 0)
        buf_add(text, body, length);
}

/* Writes the whole answer to the socket and closes the sending direction. False if it could not be sent: the
 * socket is full of answers that the client does not read. */
static bool send_by_hand(struct request *request)
{
    AUTO_BUF text = {0};
    const char *body = request->answer;
    size_t length = request->answer_length;
    int fd = request->peer->fd;
    struct MHD_Response *response;
    ssize_t sent;

    request->close = true;
    response = request_make_response(request);
    if (!response)
        return false;
    write_answer(request, response, body, length, &text); /* the response has the body now */
    MHD_destroy_response(response);
    request_drop_body(request);
    http_count_answer(request->http, request);
    sent = send(fd, text.data, text.length, MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent == (ssize_t)text.length && shutdown(fd, SHUT_WR) == 0;
}

enum MHD_Result request_answer_early(struct request *request)
{
    bool sent = send_by_hand(request);

    request->phase = REQUEST_LINGERING;
    request->discarded = 0;
    connection_set_deadline(request->http, request->peer, DEADLINE_LINGER);
    return sent ? MHD_YES : MHD_NO;
}

void request_answer_last(struct request *request)
{
    (void)send_by_hand(request);
}

enum MHD_Result request_linger(struct request *request, size_t size)
{
    request->discarded += size;
    return size && request->discarded <= REQUEST_LINGER_LIMIT ? MHD_YES : MHD_NO;
}
