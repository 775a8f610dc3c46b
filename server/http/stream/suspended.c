/*
 * A connection on loan from the library to a loop.
 *
 *   library's worker          loop                                  library's worker
 *   suspended_begin() ──────▶ attach() ─▶ ... ─▶ give_back() ─────▶ resumes, and completes the request
 *                                                                   suspended_forgotten() ──▶ forget()
 *
 * The hard part is who may touch what when, with three parties: the library, the engine that holds the
 * sink, and http_stop(). The rules are few. The state changes on the loop only. The socket is touched
 * in SUSPENDED_HERE only. The engine is notified of a lost client once (`reported`), on the loop, and
 * never from inside a call of the engine. And the struct is freed by its last holder (let_go): the
 * engine until it closes the sink, the library until it has released the request, and each task that
 * is posted.
 *
 * The client may leave at any time. While the library has the connection it notices by itself, and
 * forget() reports it. While the loop has it, epoll reports EPOLLRDHUP. Readable bytes are not a sign
 * of leaving: they are the next request, which the library reads when it has the connection back.
 *
 * Stopping the server: http_stop() posts `cut` to every live one, under http's lock. forget() takes the
 * struct off that list under the same lock, so no cut can be posted afterwards. One that was posted
 * before holds the struct.
 */

#include "server/http/stream/suspended.h"

#include <microhttpd.h>
#include <sys/epoll.h>

#include "core/base/compiler.h"
#include "core/base/log.h"
#include "server/http/http_internal.h"

static void add_live(struct suspended *suspended)
{
    struct http *http = suspended->http;

    lock_acquire(&http->lock);
    suspended->next = http->live;
    if (http->live)
        http->live->prev = suspended;
    http->live = suspended;
    lock_release(&http->lock);
}

static void remove_live(struct suspended *suspended)
{
    struct http *http = suspended->http;

    lock_acquire(&http->lock);
    backlog_end(http, &suspended->backlog);
    if (suspended->prev)
        suspended->prev->next = suspended->next;
    else
        http->live = suspended->next;
    if (suspended->next)
        suspended->next->prev = suspended->prev;
    pthread_cond_broadcast(&http->changed);
    lock_release(&http->lock);
}

static void let_go(struct suspended *suspended)
{
    if (--suspended->holders)
        return;
    suspended->ops->destroy(suspended);
}

/* ---- Losing the client ---- */

/* True when the engine is to be notified, for the first time. */
static bool lose(struct suspended *suspended)
{
    suspended->lost = true;
    if (suspended->reported || suspended->state == SUSPENDED_BEFORE)
        return false; /* attach() or forget() does it later */
    suspended->reported = true;
    suspended->ops->lost(suspended);
    suspended_give_back(suspended);
    return !suspended->closed;
}

static void report(struct suspended *suspended)
{
    if (suspended->sink.gone)
        suspended->sink.gone(&suspended->sink, suspended->sink.gone_arg);
}

/* Called from the loop itself, where the engine may be called. */
static void lose_and_report(struct suspended *suspended)
{
    suspended->holders++;
    if (lose(suspended))
        report(suspended);
    let_go(suspended);
}

/* ---- Tasks ---- */

static void ready(struct loop_watch *watch, uint32_t events)
{
    struct suspended *suspended = CONTAINER_OF(watch, struct suspended, watch);

    /* Readable bytes are the next request, pipelined, and wait for the library. */
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        lose_and_report(suspended);
    else if (events & EPOLLOUT)
        suspended->ops->writable(suspended);
}

static void attach(struct loop_task *task)
{
    struct suspended *suspended = CONTAINER_OF(task, struct suspended, attach);
    struct err err;

    suspended->state = SUSPENDED_HERE;
    suspended->watch = (struct loop_watch){.fd = suspended->fd, .ready = ready};
    if (loop_watch_add(suspended->loop, &suspended->watch, EPOLLRDHUP, &err)) {
        log_warn("a connection cannot be watched: %s", err.text);
        suspended->watch.fd = -1;
        lose_and_report(suspended);
    } else if (suspended->reported) { /* lost while the library had the connection */
        suspended_give_back(suspended);
    } else if (suspended->lost) {
        lose_and_report(suspended);
    } else {
        suspended->ops->attached(suspended);
    }
}

static void report_gone(struct loop_task *task)
{
    struct suspended *suspended = CONTAINER_OF(task, struct suspended, report_gone);

    report(suspended);
    let_go(suspended);
}

/* Once it is out of the list, no thread can post a cut any more. A cut under way holds it, too. */
static void forget(struct loop_task *task)
{
    struct suspended *suspended = CONTAINER_OF(task, struct suspended, forget);

    suspended->state = SUSPENDED_AFTER;
    remove_live(suspended);
    if (suspended->cut_posted && !suspended->cut_ran) {
        suspended->cut_holds = true;
        suspended->holders++;
    }
    if (!suspended->closed)
        lose_and_report(suspended);
    let_go(suspended);
}

static void cut(struct loop_task *task)
{
    struct suspended *suspended = CONTAINER_OF(task, struct suspended, cut);

    bool holds = suspended->cut_holds;

    suspended->cut_ran = true;
    lose_and_report(suspended);
    if (holds)
        let_go(suspended);
}

/* ---- Entry points ---- */

void suspended_init(struct suspended *suspended, const struct suspended_ops *ops,
                    const struct sink_ops *sink_ops, struct http *http,
                    struct MHD_Connection *connection, struct loop *loop)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

    *suspended = (struct suspended){
        .sink = {.ops = sink_ops},
        .ops = ops,
        .http = http,
        .loop = loop,
        .connection = connection,
        .fd = info->connect_fd,
        .holders = 2,
        .watch = {.fd = -1},
        .attach = {.run = attach},
        .forget = {.run = forget},
        .report_gone = {.run = report_gone},
        .cut = {.run = cut},
    };
    add_live(suspended);
}

bool suspended_begin(struct suspended *suspended)
{
    if (!http_may_suspend(suspended->http))
        return false;
    MHD_suspend_connection(suspended->connection);
    loop_post(suspended->loop, &suspended->attach);
    return true;
}

void suspended_watch(struct suspended *suspended, enum suspended_interest interest)
{
    loop_watch_change(suspended->loop, &suspended->watch,
                      interest == SUSPENDED_LEAVING ? EPOLLRDHUP : EPOLLRDHUP | EPOLLOUT);
}

void suspended_give_back(struct suspended *suspended)
{
    if (suspended->state != SUSPENDED_HERE)
        return;
    if (suspended->watch.fd >= 0)
        loop_watch_remove(suspended->loop, &suspended->watch);
    suspended->state = SUSPENDED_AFTER;
    MHD_resume_connection(suspended->connection);
    http_resumed(suspended->http);
}

void suspended_lose(struct suspended *suspended)
{
    if (!lose(suspended))
        return;
    /* The caller may be inside a call of the engine that walks its sinks, so the engine is
     * notified by a task. */
    suspended->holders++;
    loop_post(suspended->loop, &suspended->report_gone);
}

void suspended_closed(struct suspended *suspended)
{
    suspended->closed = true;
    suspended->sink.gone = NULL;
    suspended->sink.taken = NULL;
    let_go(suspended);
}

void suspended_forgotten(struct suspended *suspended)
{
    loop_post(suspended->loop, &suspended->forget);
}

void suspended_cut(struct suspended *suspended)
{
    if (suspended->cut_posted)
        return;
    suspended->cut_posted = true;
    loop_post(suspended->loop, &suspended->cut);
}
