/*
 * A stream of server-sent events, written by the run's loop.
 *
 *   sink_events() ─▶ send_direct() ─▶ one sendmsg(): size line, frames, line end
 *                         └─▶ the socket is full: waiting ─▶ EPOLLOUT ─▶ direct_ready() ─▶ flush()
 *
 * Most of the server's time goes into streams, token by token, so this path has no allocation, no
 * lock and no printf(). A batch of frames is one HTTP chunk and one system call. The frames are
 * rendered already and shared by all who receive them (frames.h).
 *
 * Direct mode writes past the library, to a connection that it has suspended. That is not documented,
 * so sse_self_test() tries it at start. Portable mode, for HTTP/1.0 and after a failed test, uses the
 * library's content reader: correct everywhere, at the price that sse.h names.
 *
 * A slow client must not slow its run down or fill the memory. What the socket does not take waits in
 * `waiting`, within a limit. Beyond it, or when nothing was taken for stream_stall_timeout, the client
 * is cut off. The run continues, and the client may join it again from the log. The limit does not
 * count the largest batch: a client that has just caught up can always receive one. All slow clients
 * together have a limit too (backlog.h).
 *
 * The end. The engine closes the sink; when `waiting` is empty, VERDICT_END is set and the connection
 * goes back to the library, which writes the last chunk and reads the next request. VERDICT_CUT makes
 * it close the socket instead. The verdict is atomic, because the library's worker reads it; all else
 * is the loop's.
 */

#include "server/http/stream/sse.h"

#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/base/lock.h"
#include "core/base/mem.h"
#include "server/http/http_internal.h"
#include "server/http/stream/suspended.h"

/* The library's buffer in each response; only HTTP/1.0 fills it. */
#define BLOCK_SIZE ((size_t)1024)

#define PING ": ping\n\n"

/* The library's next step with the response when it asks for more. */
enum verdict {
    VERDICT_OPEN,
    VERDICT_END, /* complete: sends the last chunk and continues with the next request */
    VERDICT_CUT, /* close the connection */
};

struct stream {
    struct suspended suspended;
    bool direct;
    bool headers_only;
    char *type;          /* of plain bytes; NULL: events */
    size_t limit;        /* bytes that may wait for the client */
    _Atomic int verdict; /* enum verdict; written by the loop */

    /* The loop's. */
    struct loop_timer timer;
    uint64_t written_ns; /* when something was last written to the client */
    size_t counted;      /* bytes of `waiting` in the backlog; in direct mode */
    size_t largest;     /* the largest batch so far: the limit is for what piles up behind it */
    bool ending;        /* close() was called */
    bool ticking;       /* the timer was started */
    bool watching_room; /* waits for room in the socket */

    /* What the socket did not take yet, as chunks. In portable mode what the library's reader
     * did not take yet, as events. Only then the lock guards it. */
    struct buf waiting;
    struct lock lock;
};

static struct stream *stream_of(struct suspended *suspended)
{
    return CONTAINER_OF(suspended, struct stream, suspended);
}

static struct stream *stream_of_sink(struct sink *sink)
{
    return stream_of(CONTAINER_OF(sink, struct suspended, sink));
}

static void set_verdict(struct stream *stream, enum verdict verdict)
{
    atomic_store_explicit(&stream->verdict, (int)verdict, memory_order_release);
}

static enum verdict verdict_of(struct stream *stream)
{
    return (enum verdict)atomic_load_explicit(&stream->verdict, memory_order_acquire);
}

static size_t waiting_length(struct stream *stream)
{
    size_t length;

    if (stream->direct)
        return stream->waiting.length;
    lock_acquire(&stream->lock);
    length = stream->waiting.length;
    lock_release(&stream->lock);
    return length;
}

/* Counts what waits in direct mode, after it has changed. */
static void count_waiting(struct stream *stream)
{
    backlog_change(stream->suspended.http, &stream->suspended.backlog, stream->counted,
                   stream->waiting.length);
    stream->counted = stream->waiting.length;
}

/* True if `more` bytes would be more than may wait for the client. */
static bool too_slow(struct stream *stream, size_t more)
{
    size_t length = waiting_length(stream);

    if (more > stream->largest)
        stream->largest = more;
    return length && length + more > stream->limit + stream->largest;
}

static void cut_off(struct stream *stream)
{
    atomic_fetch_add(&stream->suspended.http->cut, 1);
    suspended_lose(&stream->suspended);
}

/* ---- The timer: silence is filled, a stall is ended ---- */

static uint64_t interval_ns(struct stream *stream)
{
    const struct http *http = stream->suspended.http;

    return clock_ns_from_seconds(waiting_length(stream) ? http->stall_timeout
                                                        : http->ping_interval);
}

static void start_timer(struct stream *stream, uint64_t due_ns)
{
    stream->ticking = true;
    loop_timer_start(stream->suspended.loop, &stream->timer, due_ns);
}

static void send_direct(struct stream *stream, const char *bytes, size_t length);
static void send_portable(struct stream *stream, const char *bytes, size_t length);

/* The timer is not moved with every event. When it fires, something was usually written since,
 * and it sleeps again. */
static void tick(struct loop_timer *timer)
{
    struct stream *stream = CONTAINER_OF(timer, struct stream, timer);
    uint64_t now = loop_now(stream->suspended.loop);
    uint64_t due = stream->written_ns + interval_ns(stream);

    if (now < due) {
        start_timer(stream, due);
    } else if (waiting_length(stream)) {
        cut_off(stream);
    } else {
        stream->written_ns = now;
        start_timer(stream, now + interval_ns(stream));
        if (stream->type)
            return;
        if (stream->direct)
            send_direct(stream, PING, strlen(PING));
        else
            send_portable(stream, PING, strlen(PING));
    }
}

/* ---- Direct mode ---- */

/* Last: the holder of the sink may send, or close it. */
static void notify_taken(struct stream *stream)
{
    struct sink *sink = &stream->suspended.sink;

    if (sink->taken)
        sink->taken(sink, sink->taken_arg);
}

static void finish(struct stream *stream)
{
    loop_timer_stop(stream->suspended.loop, &stream->timer);
    set_verdict(stream, VERDICT_END);
    suspended_give_back(&stream->suspended);
}

static void keep_chunk(struct stream *stream, const char *bytes, size_t length)
{
    buf_addf(&stream->waiting, "%zx\r\n", length);
    buf_add(&stream->waiting, bytes, length);
    buf_add(&stream->waiting, "\r\n", 2);
}

/* Sends what waits. False when the client has gone. */
static bool flush(struct stream *stream)
{
    ssize_t sent;

    if (!stream->waiting.length)
        return true;
    sent = send(stream->suspended.fd, stream->waiting.data, stream->waiting.length,
                MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    stream->written_ns = loop_now(stream->suspended.loop);
    buf_consume(&stream->waiting, (size_t)sent);
    /* Most streams wait once, for their headers, and never again. */
    if (!stream->waiting.length)
        buf_clear(&stream->waiting);
    return true;
}

/* Adapts to whether something waits: which events to watch for, and when to tick. */
static void follow_waiting(struct stream *stream)
{
    bool waits = stream->waiting.length > 0;

    if (waits == stream->watching_room)
        return;
    stream->watching_room = waits;
    suspended_watch(&stream->suspended,
                    waits ? SUSPENDED_LEAVING_OR_WRITABLE : SUSPENDED_LEAVING);
    start_timer(stream, loop_now(stream->suspended.loop) + interval_ns(stream));
}

#define SIZE_ROOM (2 * sizeof(size_t) + 2)

/* The line before a chunk: its size in hexadecimal digits. Written to the end of `room`,
 * without printf(), which would cost as much as the rest of a token's way. */
static struct iovec size_line(char room[SIZE_ROOM], size_t length)
{
    char *first = room + SIZE_ROOM;

    *--first = '\n';
    *--first = '\r';
    do
        *--first = "0123456789abcdef"[length % 16];
    while (length /= 16);
    return (struct iovec){first, (size_t)(room + SIZE_ROOM - first)};
}

/* One chunk is one system call, with the size before it and the line end behind it. */
static ssize_t send_chunk(struct stream *stream, const char *bytes, size_t length)
{
    char room[SIZE_ROOM];
    struct iovec size = size_line(room, length);
    union { /* sendmsg() never writes there, but its parameter allows it */
        const char *from;
        void *base;
    } text = {.from = bytes};
    char end[] = "\r\n";
    struct iovec parts[] = {size, {text.base, length}, {end, 2}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = COUNT_OF(parts)};
    size_t whole = size.iov_len + length + 2;
    ssize_t sent = sendmsg(stream->suspended.fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);

    if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        return -1;
    if (sent < 0)
        sent = 0;
    if ((size_t)sent < whole) {
        keep_chunk(stream, bytes, length);
        buf_consume(&stream->waiting, (size_t)sent);
    }
    return sent;
}

static void send_direct(struct stream *stream, const char *bytes, size_t length)
{
    if (stream->suspended.state != SUSPENDED_HERE || stream->waiting.length) {
        if (too_slow(stream, length))
            cut_off(stream);
        else
            keep_chunk(stream, bytes, length);
        count_waiting(stream);
        return;
    }
    (void)too_slow(stream, length);
    stream->written_ns = loop_now(stream->suspended.loop);
    if (send_chunk(stream, bytes, length) < 0)
        suspended_lose(&stream->suspended);
    else if (stream->waiting.length)
        follow_waiting(stream);
    count_waiting(stream);
}

static void direct_ready(struct stream *stream)
{
    bool waited = stream->waiting.length;
    bool here = flush(stream);

    count_waiting(stream);
    if (!here)
        suspended_lose(&stream->suspended);
    else if (stream->ending && !stream->waiting.length)
        finish(stream);
    else
        follow_waiting(stream);
    if (here && waited && !stream->waiting.length && !stream->ending)
        notify_taken(stream);
}

/* ---- Portable mode: the library reads, and sleeps when there is nothing ---- */

static void wake_reader(struct stream *stream)
{
    if (waiting_length(stream) || verdict_of(stream) != VERDICT_OPEN)
        suspended_give_back(&stream->suspended);
}

static void send_portable(struct stream *stream, const char *bytes, size_t length)
{
    if (too_slow(stream, length)) {
        cut_off(stream);
        return;
    }
    /* Before the library can take it. */
    backlog_change(stream->suspended.http, &stream->suspended.backlog, 0, length);
    lock_acquire(&stream->lock);
    buf_add(&stream->waiting, bytes, length);
    lock_release(&stream->lock);
    stream->written_ns = loop_now(stream->suspended.loop);
    wake_reader(stream);
}

static size_t take_waiting(struct stream *stream, char *to, size_t room)
{
    size_t count;

    lock_acquire(&stream->lock);
    count = stream->waiting.length < room ? stream->waiting.length : room;
    if (count) {
        memcpy(to, stream->waiting.data, count);
        buf_consume(&stream->waiting, count);
    }
    lock_release(&stream->lock);
    backlog_change(stream->suspended.http, &stream->suspended.backlog, count, 0);
    return count;
}

/* ---- What the library calls ---- */

/* The library's content reader: events in portable mode, the end in both modes. When there is nothing to
 * read it suspends the connection, which gives it to the loop. */
static ssize_t read_stream(void *arg, uint64_t position, char *to, size_t room)
{
    struct stream *stream = arg;
    enum verdict verdict = verdict_of(stream);
    size_t count;

    (void)position;
    if (verdict == VERDICT_CUT)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    count = stream->direct ? 0 : take_waiting(stream, to, room);
    if (count)
        return (ssize_t)count;
    if (verdict == VERDICT_END)
        return MHD_CONTENT_READER_END_OF_STREAM;
    return suspended_begin(&stream->suspended) ? 0 : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void forget_stream(void *arg)
{
    struct stream *stream = arg;

    suspended_forgotten(&stream->suspended);
}

/* ---- What the loop calls, by way of suspended.c ---- */

static void attached(struct suspended *suspended)
{
    struct stream *stream = stream_of(suspended);
    int yes = 1;

    if (!stream->ticking) {
        stream->written_ns = loop_now(suspended->loop);
        start_timer(stream, stream->written_ns + interval_ns(stream));
    }
    if (!stream->direct) {
        wake_reader(stream);
        if (suspended->state == SUSPENDED_HERE) /* the library has taken all */
            notify_taken(stream);
        return;
    }
    /* Sends what the headers have left in the socket, and no event waits for the next one. */
    (void)setsockopt(suspended->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    direct_ready(stream);
}

static void writable(struct suspended *suspended)
{
    direct_ready(stream_of(suspended));
}

static void lost(struct suspended *suspended)
{
    struct stream *stream = stream_of(suspended);

    loop_timer_stop(suspended->loop, &stream->timer);
    set_verdict(stream, VERDICT_CUT);
    /* The library closes the socket only when its worker wakes for another reason, which may take a
     * minute if the worker has idle connections. The client is not to wait for that. */
    if (suspended->state == SUSPENDED_HERE)
        (void)shutdown(suspended->fd, SHUT_RDWR);
    if (!stream->direct)
        return;
    buf_clear(&stream->waiting);
    count_waiting(stream);
}

static void destroy(struct suspended *suspended)
{
    struct stream *stream = stream_of(suspended);

    loop_timer_stop(suspended->loop, &stream->timer);
    buf_clear(&stream->waiting);
    lock_destroy(&stream->lock);
    free(stream->type);
    free(stream);
}

static const struct suspended_ops suspended_ops = {attached, writable, lost, destroy};

/* ---- What the engine calls ---- */

static void sink_events(struct sink *sink, const char *frames, size_t length)
{
    struct stream *stream = stream_of_sink(sink);

    if (stream->suspended.lost || !length)
        return;
    if (stream->direct)
        send_direct(stream, frames, length);
    else
        send_portable(stream, frames, length);
}

static void sink_close(struct sink *sink)
{
    struct stream *stream = stream_of_sink(sink);

    stream->ending = true;
    if (!stream->direct && !stream->suspended.lost) {
        loop_timer_stop(stream->suspended.loop, &stream->timer);
        set_verdict(stream, VERDICT_END);
        wake_reader(stream);
    } else if (stream->suspended.state == SUSPENDED_HERE && !stream->waiting.length) {
        finish(stream);
    }
    suspended_closed(&stream->suspended);
}

static size_t sink_waiting(struct sink *sink)
{
    return waiting_length(stream_of_sink(sink));
}

static const struct sink_ops sink_ops = {
    .events = sink_events,
    .waiting = sink_waiting,
    .close = sink_close,
};

/* ---- Entry points ---- */

struct stream *sse_stream_new(struct request *request, struct loop *loop)
{
    struct stream *stream = mem_new(struct stream);

    stream->headers_only = strcmp(request->method, "HEAD") == 0;
    stream->direct = request->http->options.direct_stream && !stream->headers_only &&
                     strcmp(request->version, "HTTP/1.1") == 0;
    stream->timer.fire = tick;
    stream->limit = request->http->stream_buffer;
    lock_init(&stream->lock, LOCK_STREAM);
    suspended_init(&stream->suspended, &suspended_ops, &sink_ops, request->http,
                   request->connection, loop);
    return stream;
}

void sse_stream_make_plain(struct stream *stream, const char *type, size_t limit)
{
    stream->type = mem_strdup(type);
    stream->limit = limit;
}

void sse_stream_break(struct sink *sink)
{
    suspended_lose(&stream_of_sink(sink)->suspended);
}

struct sink *sse_stream_sink(struct stream *stream)
{
    return &stream->suspended.sink;
}

static struct MHD_Response *new_response(struct stream *stream)
{
    /* The library ends a chunked body even if there is no body (HEAD). The client would take
     * that for the beginning of the next answer. */
    if (stream->headers_only)
        return MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, stream->direct ? 1 : BLOCK_SIZE,
                                             read_stream, stream, forget_stream);
}

struct MHD_Response *sse_stream_response(struct stream *stream, bool last)
{
    struct MHD_Response *response = new_response(stream);

    if (!response) {
        forget_stream(stream);
        return NULL;
    }
    /* The first header of all. Setting it makes the library drop its notes about earlier ones.
     * Later it would announce the chunked body a second time, which clients refuse. */
    if (last)
        (void)MHD_add_response_header(response, "Connection", "close");
    /* Without this the library sends no chunks on a connection that will be closed. */
    if (stream->direct)
        (void)MHD_add_response_header(response, "Transfer-Encoding", "chunked");
    (void)MHD_add_response_header(response, "Content-Type",
                                  stream->type ? stream->type
                                               : "text/event-stream; charset=utf-8");
    (void)MHD_add_response_header(response, "Cache-Control", "no-cache");
    (void)MHD_add_response_header(response, "X-Accel-Buffering", "no");
    if (stream->headers_only)
        forget_stream(stream); /* last: it may be freed after this */
    return response;
}
