/*
 * An upgraded connection on a loop: reading, writing, pinging, and all the ways in which it can end.
 *
 *   EPOLLIN ─▶ read_some() ─▶ codec ─▶ ops->message()
 *   websocket_text() ─▶ codec ─▶ websocket_flush() ─▶ push() ─▶ the socket, or EPOLLOUT
 *
 * One timer serves six clocks: the age of the connection, silence until a ping, a ping's answer, output
 * that the client does not take, a message that does not end, a close that is not answered. next_due()
 * computes the earliest. The timer is set only to an earlier time; when it fires too early, it is set
 * again. So a busy connection does not touch the timer wheel with every message.
 *
 * While the owner has paused reading, a client can neither answer a ping nor finish a message, so those
 * two clocks stop: the client must not be blamed for the server's work.
 *
 * Reentrance. Callbacks of the owner may send, close, or release the last hold. So a function that may
 * call one holds the socket meanwhile and checks is_gone() afterwards, and `feeding` puts off a flush
 * while the codec is on the stack.
 *
 * The end is one function, end(): it stops the timer and the watch, gives the socket back to the library
 * to be closed, and reports `gone` once. The struct stays until the last holder has released it, because
 * an owner may have work with a thread. http_stop() waits for that (remove_open).
 *
 * Limits against a slow or hostile client are those of streams and bodies: stream_buffer, stream_buffers,
 * stream_stall_timeout, body_timeout, max_body, max_bodies.
 */

#include "server/http/websocket/websocket.h"

#include <assert.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "server/http/http_internal.h"

#define READ_SIZE ((size_t)16 << 10)
/* Reads in a row, before other connections have their turn. */
#define READ_ROUNDS 16
/* How long a client may take to close the socket after the close frame. */
#define CLOSE_PATIENCE_NS (2 * NS_PER_SECOND)

enum state {
    OPENING, /* the loop does not know it yet */
    OPEN,
    CLOSING, /* one side has sent a close frame */
    GONE,    /* the library has the socket back */
};

struct websocket {
    struct http *http;
    struct loop *loop;
    const struct websocket_ops *ops;
    void *owner;
    struct MHD_UpgradeResponseHandle *handle;
    int fd;
    enum state state;
    unsigned holders;
    struct ws_codec *codec;
    struct buf early;

    struct loop_watch watch;
    uint32_t watched;
    bool paused;
    bool feeding; /* inside ws_codec_feed(): output waits until it returns */
    bool reported_gone, reported_aged;
    bool shut;      /* this side has sent everything and shut its half of the socket */
    size_t largest; /* the largest batch so far: the limit is for what piles up behind it */
    size_t unsent;  /* the length of `out` when the current batch began */
    size_t counted; /* bytes of an unfinished message, in http->body_bytes */

    struct loop_timer timer;
    uint64_t age_due_ns;
    uint64_t quiet_since_ns; /* since when nothing was received or sent */
    uint64_t pinged_ns;      /* when a ping was sent that has no answer yet; or 0 */
    uint64_t
        waiting_since_ns; /* since when output waits of which the socket took nothing; or 0 */
    uint64_t partial_since_ns; /* since when a message is incomplete; or 0 */
    uint64_t closing_since_ns;

    struct loop_task attach, drain, cut;
    bool drain_posted, cut_posted; /* guarded by http's lock, as all below */
    unsigned posted;               /* how many of these two are posted and have not run */
    struct backlog backlog;
    struct websocket *prev, *next; /* in http->websockets */
};

/* ---- Holding ---- */

static void add_open_locked(struct http *http, struct websocket *ws) REQUIRES(http->lock)
{
    ws->next = http->websockets;
    if (http->websockets)
        http->websockets->prev = ws;
    http->websockets = ws;
    http->websocket_count++;
}

static void remove_open(struct websocket *ws)
{
    struct http *http = ws->http;

    lock_acquire(&http->lock);
    backlog_end(http, &ws->backlog);
    if (ws->prev)
        ws->prev->next = ws->next;
    else
        http->websockets = ws->next;
    if (ws->next)
        ws->next->prev = ws->prev;
    http->websocket_count--;
    pthread_cond_broadcast(&http->changed);
    lock_release(&http->lock);
}

static void destroy(struct websocket *ws)
{
    ws_codec_free(ws->codec);
    buf_clear(&ws->early);
    free(ws);
}

/* No task can be posted after this. False if one is still to run. */
static bool close_mailbox(struct websocket *ws)
{
    bool empty;

    lock_acquire(&ws->http->lock);
    ws->drain_posted = ws->cut_posted = true;
    empty = !ws->posted;
    lock_release(&ws->http->lock);
    return empty;
}

static void destroy_unheld(struct websocket *ws)
{
    if (ws->holders || !close_mailbox(ws))
        return;
    assert(ws->state == GONE);
    ws->ops->destroy(ws->owner);
    remove_open(ws); /* last, because http_stop() waits for it */
    destroy(ws);
}

void websocket_hold(struct websocket *ws)
{
    ws->holders++;
}

void websocket_release(struct websocket *ws)
{
    ws->holders--;
    destroy_unheld(ws);
}

/* ---- The end of it ---- */

static void report_gone(struct websocket *ws)
{
    if (ws->reported_gone)
        return;
    ws->reported_gone = true;
    ws->ops->gone(ws->owner);
}

static void uncount(struct websocket *ws)
{
    atomic_fetch_sub(&ws->http->body_bytes, ws->counted);
    ws->counted = 0;
}

/* Gives the socket back to be closed. */
static void end(struct websocket *ws)
{
    if (ws->state == GONE)
        return;
    ws->state = GONE;
    loop_timer_stop(ws->loop, &ws->timer);
    if (ws->watch.fd >= 0)
        loop_watch_remove(ws->loop, &ws->watch);
    uncount(ws);
    (void)MHD_upgrade_action(ws->handle, MHD_UPGRADE_ACTION_CLOSE);
    report_gone(ws);
    websocket_release(ws);
}

static void give_up(struct websocket *ws)
{
    atomic_fetch_add(&ws->http->cut, 1);
    end(ws);
}

static bool is_gone(const struct websocket *ws)
{
    return ws->state == GONE;
}

/* ---- What is watched, and until when ---- */

static void follow_interest(struct websocket *ws)
{
    uint32_t wanted = EPOLLRDHUP;

    if (is_gone(ws))
        return;
    if (!ws->paused || ws->state == CLOSING)
        wanted |= EPOLLIN;
    if (ws_codec_out(ws->codec)->length)
        wanted |= EPOLLOUT;
    if (wanted == ws->watched)
        return;
    ws->watched = wanted;
    loop_watch_change(ws->loop, &ws->watch, wanted);
}

static uint64_t stall_ns(const struct websocket *ws)
{
    return clock_ns_from_seconds(ws->http->stall_timeout);
}

static uint64_t earlier(uint64_t a, uint64_t since, uint64_t patience)
{
    return since && since + patience < a ? since + patience : a;
}

static uint64_t body_patience(const struct websocket *ws)
{
    return clock_ns_from_seconds(ws->http->options.config->body_timeout);
}

static uint64_t next_due(const struct websocket *ws)
{
    uint64_t ping = clock_ns_from_seconds(ws->http->ping_interval);
    uint64_t due = earlier(UINT64_MAX, ws->closing_since_ns, CLOSE_PATIENCE_NS);

    if (ws->state == CLOSING)
        return due;
    if (!ws->reported_aged && ws->age_due_ns < due)
        due = ws->age_due_ns;
    due = earlier(due, ws->waiting_since_ns, stall_ns(ws));
    if (ws->paused)
        return due;
    due = earlier(due, ws->partial_since_ns, body_patience(ws));
    if (ws->pinged_ns)
        return earlier(due, ws->pinged_ns, stall_ns(ws));
    return earlier(due, ws->quiet_since_ns, ping);
}

/* The timer is not moved with every byte. When it fires, it is usually due later by then. */
static void start_timer(struct websocket *ws)
{
    uint64_t due = next_due(ws);

    if (!is_gone(ws) && due != UINT64_MAX && (!ws->timer.slot || due < ws->timer.due_ns))
        loop_timer_start(ws->loop, &ws->timer, due);
}

/* ---- Out ---- */

static void begin_closing(struct websocket *ws)
{
    if (ws->state != OPEN)
        return;
    ws->state = CLOSING;
    ws->closing_since_ns = loop_now(ws->loop);
    uncount(ws);
    websocket_hold(ws);
    report_gone(ws);
    websocket_release(ws);
}

/* Shuts this half of the socket, so that the client sees the end and closes its own. */
static void shut_after_close(struct websocket *ws)
{
    if (ws->state != CLOSING || ws->shut || ws_codec_out(ws->codec)->length)
        return;
    ws->shut = true;
    (void)shutdown(ws->fd, SHUT_WR);
}

/* Sends what waits. False when it is gone. */
static bool push(struct websocket *ws)
{
    struct buf *out = ws_codec_out(ws->codec);
    ssize_t sent;

    if (!out->length)
        return true;
    sent = send(ws->fd, out->data, out->length, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        end(ws);
        return false;
    }
    if (sent > 0) {
        buf_consume(out, (size_t)sent);
        ws->quiet_since_ns = loop_now(ws->loop);
        ws->waiting_since_ns = 0;
    }
    if (!out->length)
        buf_clear(out);
    else if (!ws->waiting_since_ns)
        ws->waiting_since_ns = loop_now(ws->loop);
    return true;
}

/* Limits the output that the client has not taken, but never so that one batch alone is too
 * much. */
static bool is_too_slow(struct websocket *ws)
{
    size_t length = ws_codec_out(ws->codec)->length;
    size_t batch = length - ws->unsent;

    if (batch > ws->largest)
        ws->largest = batch;
    return ws->unsent && length > ws->http->stream_buffer + ws->largest;
}

void websocket_flush(struct websocket *ws)
{
    if (is_gone(ws) || ws->feeding)
        return;
    if (is_too_slow(ws)) {
        give_up(ws);
        return;
    }
    if (!push(ws))
        return;
    backlog_change(ws->http, &ws->backlog, ws->unsent, ws_codec_out(ws->codec)->length);
    ws->unsent = ws_codec_out(ws->codec)->length;
    shut_after_close(ws);
    follow_interest(ws);
    start_timer(ws);
}

void websocket_text(struct websocket *ws, const char *text, size_t length)
{
    if (ws->state == OPEN)
        ws_codec_text(ws->codec, text, length);
}

void websocket_close(struct websocket *ws, enum ws_close code, const char *reason)
{
    if (ws->state != OPEN)
        return;
    websocket_hold(ws);
    ws_codec_close(ws->codec, code, reason);
    begin_closing(ws);
    websocket_flush(ws);
    websocket_release(ws);
}

/* ---- In ---- */

/* Incomplete messages count like bodies that are being read. */
static void count_partial(struct websocket *ws)
{
    size_t partial = ws_codec_partial(ws->codec);
    struct http *http = ws->http;
    size_t before = atomic_fetch_add(&http->body_bytes, partial - ws->counted);

    if (partial > ws->counted &&
        before + (partial - ws->counted) > http->options.config->max_bodies)
        ws_codec_close(ws->codec, WS_CLOSE_TRY_LATER,
                       "The server is reading too much at once.");
    ws->counted = partial;
    if (!partial)
        ws->partial_since_ns = 0;
    else if (!ws->partial_since_ns)
        ws->partial_since_ns = loop_now(ws->loop);
}

static void take_bytes(struct websocket *ws, const char *bytes, size_t length)
{
    ws->quiet_since_ns = loop_now(ws->loop);
    ws->pinged_ns = 0;
    if (ws->state != OPEN)
        return; /* too late */
    ws->feeding = true;
    ws_codec_feed(ws->codec, bytes, length);
    ws->feeding = false;
    count_partial(ws);
    if (ws_codec_is_closed(ws->codec))
        begin_closing(ws);
    websocket_flush(ws); /* a pong, or the close */
}

static void read_some(struct websocket *ws)
{
    char bytes[READ_SIZE];

    for (int round = 0; round < READ_ROUNDS && !is_gone(ws); round++) {
        ssize_t got;

        if (ws->paused && ws->state == OPEN)
            return;
        got = recv(ws->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
            return;
        if (got <= 0) {
            end(ws);
            return;
        }
        take_bytes(ws, bytes, (size_t)got);
    }
}

static void ready(struct loop_watch *watch, uint32_t events)
{
    struct websocket *ws = CONTAINER_OF(watch, struct websocket, watch);

    websocket_hold(ws);
    if (events & EPOLLIN && !(events & (EPOLLHUP | EPOLLERR)))
        read_some(ws);
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        end(ws);
    if (!is_gone(ws) && events & EPOLLOUT)
        websocket_flush(ws);
    websocket_release(ws);
}

/* While nothing is read, a client can neither answer a ping nor finish its message, so these
 * clocks stop. */
void websocket_pause(struct websocket *ws)
{
    ws->paused = true;
    ws->pinged_ns = 0;
    follow_interest(ws);
}

void websocket_resume(struct websocket *ws)
{
    ws->paused = false;
    ws->quiet_since_ns = loop_now(ws->loop);
    if (ws->partial_since_ns)
        ws->partial_since_ns = loop_now(ws->loop);
    follow_interest(ws);
    if (ws->state == OPEN)
        start_timer(ws);
}

bool websocket_is_open(const struct websocket *ws)
{
    return ws->state == OPEN;
}

/* ---- Time ---- */

static bool is_over(const struct websocket *ws, uint64_t since, uint64_t patience)
{
    return since && loop_now(ws->loop) >= since + patience;
}

static void grow_old(struct websocket *ws)
{
    if (ws->reported_aged || loop_now(ws->loop) < ws->age_due_ns)
        return;
    ws->reported_aged = true;
    ws->ops->aged(ws->owner);
}

static void ping(struct websocket *ws)
{
    if (ws->state != OPEN || ws->paused || ws->pinged_ns ||
        !is_over(ws, ws->quiet_since_ns, clock_ns_from_seconds(ws->http->ping_interval)))
        return;
    ws_codec_ping(ws->codec);
    ws->pinged_ns = loop_now(ws->loop);
    websocket_flush(ws);
}

static void tick(struct loop_timer *timer)
{
    struct websocket *ws = CONTAINER_OF(timer, struct websocket, timer);

    websocket_hold(ws);
    if (is_over(ws, ws->closing_since_ns, CLOSE_PATIENCE_NS))
        end(ws);
    else if (is_over(ws, ws->waiting_since_ns, stall_ns(ws)) ||
             is_over(ws, ws->pinged_ns, stall_ns(ws)))
        give_up(ws);
    else if (!ws->paused && is_over(ws, ws->partial_since_ns, body_patience(ws)))
        websocket_close(ws, WS_CLOSE_POLICY, "The message took too long.");
    if (ws->state == OPEN)
        grow_old(ws);
    ping(ws);
    start_timer(ws);
    websocket_release(ws);
}

/* ---- Tasks ---- */

static void task_ran(struct websocket *ws)
{
    lock_acquire(&ws->http->lock);
    ws->posted--;
    lock_release(&ws->http->lock);
    destroy_unheld(ws);
}

static void drain(struct loop_task *task)
{
    struct websocket *ws = CONTAINER_OF(task, struct websocket, drain);

    if (ws->state == OPEN)
        ws->ops->draining(ws->owner);
    task_ran(ws);
}

/* There is time for a close frame only. */
static void cut(struct loop_task *task)
{
    struct websocket *ws = CONTAINER_OF(task, struct websocket, cut);

    websocket_close(ws, WS_CLOSE_GOING_AWAY, "The server is shutting down.");
    end(ws);
    task_ran(ws);
}

static void attach(struct loop_task *task)
{
    struct websocket *ws = CONTAINER_OF(task, struct websocket, attach);
    struct err err;
    int yes = 1;

    ws->state = OPEN;
    ws->quiet_since_ns = loop_now(ws->loop);
    ws->age_due_ns =
        ws->quiet_since_ns + clock_ns_from_seconds(ws->http->options.config->websocket_age);
    (void)setsockopt(ws->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    ws->watch = (struct loop_watch){.fd = ws->fd, .ready = ready};
    ws->watched = EPOLLIN | EPOLLRDHUP;
    if (loop_watch_add(ws->loop, &ws->watch, ws->watched, &err)) {
        log_warn("a WebSocket cannot be watched: %s", err.text);
        ws->watch.fd = -1;
        end(ws);
        return;
    }
    websocket_hold(ws);
    if (ws->early.length)
        take_bytes(ws, ws->early.data, ws->early.length);
    buf_clear(&ws->early);
    start_timer(ws);
    websocket_release(ws);
}

/* ---- Entry points ---- */

static void message(void *arg, char *text, size_t length)
{
    struct websocket *ws = arg;

    ws->ops->message(ws->owner, text, length);
}

struct websocket *websocket_new(struct http *http, struct loop *loop,
                                const struct websocket_ops *ops, void *owner)
{
    struct websocket *ws = mem_new(struct websocket);

    ws->http = http;
    ws->loop = loop;
    ws->ops = ops;
    ws->owner = owner;
    ws->fd = ws->watch.fd = -1;
    ws->holders = 1;
    ws->codec = ws_codec_new(http->options.config->max_body, message, ws);
    ws->timer.fire = tick;
    ws->attach.run = attach;
    ws->drain.run = drain;
    ws->cut.run = cut;
    return ws;
}

void websocket_free_unopened(struct websocket *ws)
{
    if (!ws)
        return;
    ws->ops->destroy(ws->owner);
    destroy(ws);
}

/* A server that stops counts open connections and must not find one more. Draining may have
 * begun after the request was accepted: then the loop is notified as well. */
static bool register_open(struct websocket *ws)
{
    struct http *http = ws->http;
    bool may;

    lock_acquire(&http->lock);
    may = !http->stopping;
    if (may) {
        add_open_locked(http, ws);
        loop_post(ws->loop, &ws->attach);
        if (atomic_load(&http->draining))
            websocket_drain(ws);
    }
    lock_release(&http->lock);
    return may;
}

void websocket_open(struct websocket *ws, int fd, struct MHD_UpgradeResponseHandle *handle,
                    const char *early, size_t early_length)
{
    ws->fd = fd;
    ws->handle = handle;
    if (early_length)
        buf_add(&ws->early, early, early_length);
    if (register_open(ws))
        return;
    (void)MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
    websocket_free_unopened(ws);
}

void websocket_drain(struct websocket *ws)
{
    if (ws->drain_posted)
        return;
    ws->drain_posted = true;
    ws->posted++;
    loop_post(ws->loop, &ws->drain);
}

void websocket_cut(struct websocket *ws)
{
    if (ws->cut_posted)
        return;
    ws->cut_posted = true;
    ws->posted++;
    loop_post(ws->loop, &ws->cut);
}

struct backlog *websocket_backlog(struct websocket *ws)
{
    return &ws->backlog;
}

struct websocket *websocket_next(const struct websocket *ws)
{
    return ws->next;
}
