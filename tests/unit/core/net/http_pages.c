#include "tests/unit/core/net/http_pages.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "core/base/buf.h"

#define CHUNKED                                              \
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" \
    "Transfer-Encoding: chunked\r\n\r\n"

static bool page_hello(struct tiny_request *request)
{
    tiny_write(request, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
                        "Content-Length: 5\r\n\r\nhello");
    return true;
}

static bool page_hello_and_close(struct tiny_request *request)
{
    page_hello(request);
    return false;
}

static bool page_chunked(struct tiny_request *request)
{
    tiny_write(request, CHUNKED "3\r\none\r\n");
    tiny_write(request, "3;x=y\r\ntwo\r");
    tiny_write(request, "\n5\r\nthree\r\n0\r\nTrailer: 1\r\n\r\n");
    return true;
}

static bool page_cut_in_chunk(struct tiny_request *request)
{
    tiny_write(request, CHUNKED "5\r\nab");
    return false;
}

static bool page_cut_between_chunks(struct tiny_request *request)
{
    tiny_write(request, CHUNKED "2\r\nab\r\n");
    return false;
}

static bool page_cut_before_length(struct tiny_request *request)
{
    tiny_write(request, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nab");
    return false;
}

static bool page_until_close(struct tiny_request *request)
{
    tiny_write(request, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nab");
    return false;
}

static bool page_compressed(struct tiny_request *request)
{
    tiny_write(request, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
                        "Content-Length: 2\r\n\r\n\x1f\x8b");
    return true;
}

static bool write_bytes(struct tiny_request *request, const char *bytes, size_t length)
{
    return send(request->fd, bytes, length, MSG_NOSIGNAL) == (ssize_t)length;
}

static bool page_packed(struct tiny_request *request)
{
    static const char packed[] = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x2b\x48\x4c"
                                 "\xce\x4e\x4d\x01\x00\x10\xb4\xf6\x21\x06\x00\x00\x00";

    tiny_write(request, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
                        "Content-Type: text/html; charset=x\r\nContent-Length: 26\r\n\r\n");
    return write_bytes(request, packed, sizeof(packed) - 1);
}

/* What is stacked is not even begun. */
static bool page_stacked(struct tiny_request *request)
{
    tiny_write(request, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip, gzip\r\n"
                        "Content-Length: 2\r\n\r\nab");
    return true;
}

static bool page_stacked_twice(struct tiny_request *request)
{
    tiny_write(request,
               "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Encoding: gzip\r\n"
               "Content-Length: 2\r\n\r\nab");
    return true;
}

static bool page_brotli(struct tiny_request *request)
{
    tiny_write(request, "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n"
                        "Content-Length: 2\r\n\r\nab");
    return true;
}

static bool page_packed_transfer(struct tiny_request *request)
{
    tiny_write(request, "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"
                        "2\r\nab\r\n0\r\n\r\n");
    return true;
}

/* 300,000 times the same letter: what stands for most of them are zeros. */
static bool page_bomb(struct tiny_request *request)
{
    static const char first[] = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xed\xc1\x01\x0d\x00"
                                "\x00\x00\xc2\xa0\xac\xef\x5f\xc2\x1e\x0e\x28";
    static const char last[] = "\xf8\x31\x5f\xf2\x4e\xf4\xe0\x93\x04\x00";
    char bomb[sizeof(first) - 1 + 290 + sizeof(last) - 1] = {0};

    memcpy(bomb, first, sizeof(first) - 1);
    memcpy(bomb + sizeof(bomb) - sizeof(last) + 1, last, sizeof(last) - 1);
    tiny_write(request, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
                        "Content-Length: 326\r\n\r\n");
    return write_bytes(request, bomb, sizeof(bomb));
}

static bool page_encoded_as_it_is(struct tiny_request *request)
{
    tiny_write(request, "HTTP/1.1 200 OK\r\nContent-Encoding: Identity\r\n"
                        "Content-Length: 2\r\n\r\nab");
    return true;
}

static bool page_cut_in_head(struct tiny_request *request)
{
    tiny_write(request, "HTTP/1.1 200 OK\r\nContent-");
    return false;
}

static bool page_bad_chunk(struct tiny_request *request)
{
    tiny_write(request, CHUNKED "2\r\nab\r\nzz\r\n");
    return false;
}

static bool page_http09(struct tiny_request *request)
{
    tiny_write(request, "hello, world\n");
    return false;
}

static bool page_silent(struct tiny_request *request)
{
    tiny_wait_for_leave(request);
    return false;
}

static bool page_head_only(struct tiny_request *request)
{
    tiny_write(request, CHUNKED);
    tiny_wait_for_leave(request);
    return false;
}

static bool page_stalls(struct tiny_request *request)
{
    tiny_write(request, CHUNKED "2\r\nab\r\n");
    tiny_wait_for_leave(request);
    return false;
}

/* Never silent for long, never done. */
static bool page_drips(struct tiny_request *request)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    char byte;

    tiny_write(request, CHUNKED);
    while (recv(request->fd, &byte, 1, MSG_DONTWAIT) < 0) {
        tiny_write(request, "1\r\nx\r\n");
        nanosleep(&pause, NULL); /* the pace of the drip, not a wait for anything */
    }
    sem_post(&request->server->peer_left);
    return false;
}

static bool page_redirect(struct tiny_request *request)
{
    tiny_write(request, "HTTP/1.1 307 Temporary Redirect\r\nLocation: /hello\r\n"
                        "Content-Length: 4\r\n\r\ngone");
    return true;
}

static bool page_redirect_loop(struct tiny_request *request)
{
    tiny_write(request, "HTTP/1.1 302 Found\r\nLocation: /redirect-loop\r\n"
                        "Content-Length: 0\r\n\r\n");
    return true;
}

static bool page_redirect_inside(struct tiny_request *request)
{
    tiny_write(request, "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/meta\r\n"
                        "Content-Length: 0\r\n\r\n");
    return true;
}

static bool page_picture(struct tiny_request *request)
{
    tiny_write(request, "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n"
                        "Content-Length: 1000000000\r\n\r\n\x89PNG");
    tiny_wait_for_leave(request);
    return false;
}

static bool page_retry_seconds(struct tiny_request *request)
{
    tiny_write(request, "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\n"
                        "Content-Length: 0\r\n\r\n");
    return true;
}

static bool page_retry_for_ever(struct tiny_request *request)
{
    tiny_write(request, "HTTP/1.1 503 Busy\r\nRetry-After: 99999999999\r\n"
                        "Content-Length: 0\r\n\r\n");
    return true;
}

static bool write_retry_date(struct tiny_request *request, time_t when)
{
    char text[256];
    struct tm utc;

    gmtime_r(&when, &utc);
    (void)strftime(text, sizeof(text),
                   "HTTP/1.1 503 Busy\r\nRetry-After: %a, %d %b %Y %H:%M:%S GMT\r\n"
                   "Content-Length: 0\r\n\r\n",
                   &utc);
    tiny_write(request, text);
    return true;
}

static bool page_retry_date(struct tiny_request *request)
{
    return write_retry_date(request, time(NULL) + 100);
}

static bool page_retry_past(struct tiny_request *request)
{
    return write_retry_date(request, time(NULL) - 100);
}

static bool page_continue(struct tiny_request *request)
{
    tiny_write(request, "HTTP/1.1 100 Continue\r\n\r\n"
                        "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n");
    return page_hello(request);
}

/* Answers with the request. */
static bool page_echo(struct tiny_request *request)
{
    char head[128];

    (void)snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n",
                   request->head.length + request->body.length);
    tiny_write(request, head);
    tiny_write(request, request->head.data);
    tiny_write(request, request->body.data ? request->body.data : "");
    return true;
}

/* Begins its answer before it has read the request. */
static bool page_early(struct tiny_request *request)
{
    char size[32];

    tiny_write(request, CHUNKED "5\r\nearly\r\n");
    if (!tiny_read_body(request))
        return false;
    (void)snprintf(size, sizeof(size), "%zx\r\n", request->body.length);
    tiny_write(request, size);
    tiny_write(request, request->body.data);
    tiny_write(request, "\r\n0\r\n\r\n");
    return true;
}

static bool page_bodyless(struct tiny_request *request)
{
    tiny_write(request, "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 10\r\n\r\n");
    return true;
}

static bool page_gate(struct tiny_request *request)
{
    tiny_wait_at_gate(request);
    return page_chunked(request);
}

static bool page_gate_silent(struct tiny_request *request)
{
    tiny_wait_at_gate(request);
    tiny_wait_for_leave(request);
    return false;
}

/* Pieces as fast as they are taken. */
static bool page_flood(struct tiny_request *request)
{
    static const char piece[] = "8\r\n12345678\r\n";

    tiny_write(request, CHUNKED);
    while (send(request->fd, piece, sizeof(piece) - 1, MSG_NOSIGNAL) > 0)
        ;
    sem_post(&request->server->peer_left);
    return false;
}

/* More than any buffer of the client holds. */
static bool page_big(struct tiny_request *request)
{
    AUTO_BUF text = {0};

    buf_addf(&text, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", HTTP_BIG_PAGE);
    for (size_t i = 0; i < HTTP_BIG_PAGE; i++)
        buf_add(&text, "x", 1);
    tiny_write(request, text.data);
    return true;
}

static bool page_reset(struct tiny_request *request)
{
    const struct linger linger = {.l_onoff = 1};

    tiny_write(request, CHUNKED "2\r\nab\r\n");
    (void)setsockopt(request->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
    return false;
}

/* The request is a TLS greeting, and this is no answer to it. */
static bool page_no_tls(struct tiny_request *request)
{
    tiny_write(request, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    return false;
}

/* Closes its side after the answer, and waits until the client has closed its own. */
static bool page_leaves(struct tiny_request *request)
{
    page_hello(request);
    (void)shutdown(request->fd, SHUT_WR);
    tiny_wait_for_leave(request);
    return false;
}

static bool page_gate_then_leaves(struct tiny_request *request)
{
    tiny_wait_at_gate(request);
    return page_leaves(request);
}

/* Sends some bytes before it closes its side, as HTTP and TLS do. */
static bool page_last_word_and_leaves(struct tiny_request *request)
{
    page_hello(request);
    tiny_wait_at_gate(request);
    tiny_write(request, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n");
    (void)shutdown(request->fd, SHUT_WR);
    tiny_wait_for_leave(request);
    return false;
}

/* Closes its side a little more than a second after the answer. */
static bool page_gate_then_leaves_late(struct tiny_request *request)
{
    const struct timespec pause = {.tv_sec = 1, .tv_nsec = 50000000};

    tiny_wait_at_gate(request);
    page_hello(request);
    nanosleep(&pause, NULL); /* the server's own pace, not a wait for anything */
    (void)shutdown(request->fd, SHUT_WR);
    tiny_wait_for_leave(request);
    return false;
}

/* Keeps the connection after the answer until the client closes it. */
static bool page_stays(struct tiny_request *request)
{
    tiny_wait_at_gate(request);
    page_hello(request);
    tiny_wait_for_leave(request);
    return false;
}

/* clang-format off */
const struct tiny_page http_pages[] = {
    {"/hello",              page_hello},
    {"/hello-and-close",    page_hello_and_close},
    {"/chunked",            page_chunked},
    {"/cut-in-chunk",       page_cut_in_chunk},
    {"/cut-between-chunks", page_cut_between_chunks},
    {"/cut-before-length",  page_cut_before_length},
    {"/until-close",        page_until_close},
    {"/compressed",         page_compressed},
    {"/packed",             page_packed},
    {"/stacked",            page_stacked},
    {"/stacked-twice",      page_stacked_twice},
    {"/brotli",             page_brotli},
    {"/packed-transfer",    page_packed_transfer},
    {"/bomb",               page_bomb},
    {"/encoded-as-it-is",   page_encoded_as_it_is},
    {"/cut-in-head",        page_cut_in_head},
    {"/bad-chunk",          page_bad_chunk},
    {"/http09",             page_http09},
    {"/silent",             page_silent},
    {"/head-only",          page_head_only},
    {"/stalls",             page_stalls},
    {"/drips",              page_drips},
    {"/redirect",           page_redirect},
    {"/redirect-loop",      page_redirect_loop},
    {"/redirect-inside",    page_redirect_inside},
    {"/picture",            page_picture},
    {"/retry-seconds",      page_retry_seconds},
    {"/retry-for-ever",     page_retry_for_ever},
    {"/retry-date",         page_retry_date},
    {"/retry-past",         page_retry_past},
    {"/continue",           page_continue},
    {"/echo",               page_echo},
    {"/early",              page_early},
    {"/bodyless",           page_bodyless},
    {"/gate",               page_gate},
    {"/gate-silent",        page_gate_silent},
    {"/flood",              page_flood},
    {"/big",                page_big},
    {"/reset",              page_reset},
    {TINY_TLS_PATH,         page_no_tls},
    {"/leaves",             page_leaves},
    {"/gate-then-leaves",   page_gate_then_leaves},
    {"/gate-leaves-late",   page_gate_then_leaves_late},
    {"/last-word",          page_last_word_and_leaves},
    {"/stays",              page_stays},
    {NULL, NULL},
};
/* clang-format on */
