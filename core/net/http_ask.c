/*
 * http_ask.c -- an ask has two holders: the thread that waits, and the loop that sends. Either may be the last.
 *
 * Who gives an ask up posts a task behind the one that began it, so the loop always knows the call that it is to
 * cancel.
 */

#include "core/net/http_ask.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/compiler.h"
#include "core/base/lock.h"
#include "core/base/mem.h"
#include "core/net/http_client.h"

struct http_asks {
    struct loop *(*any_loop)(void *arg);
    void *arg;
    struct lock lock;
    pthread_cond_t ended;
    bool closed;         /* guarded by lock */
    int closed_fd;       /* can be read then; -1: there was no descriptor left */
    atomic_uint holders; /* the maker, and each ask */
};

struct http_ask {
    struct http_asks *asks;
    struct loop *loop; /* NULL: not sent, because the asks were closed */
    struct loop_task begin, end;
    atomic_uint holders;
    char *url;
    char **headers; /* ends with NULL */
    struct http_ask_request request;
    /* Can be read when it is done, or a piece has come; -1: not watched, or there was no descriptor left */
    int done_fd;
    /* The loop's: */
    struct http_call *call; /* NULL: not begun, or ended */
    size_t total;           /* bytes that have come */
    /* Of an answer in pieces, what was not read yet: guarded by the lock of the asks */
    struct buf bytes;
    struct http_answer answer; /* without its bytes */
    /* Guarded by the lock of the asks: */
    bool done;
    enum err_code rc;
    struct err err;
};

void http_answer_clear(struct http_answer *answer)
{
    free(answer->type);
    free(answer->location);
    free(answer->bytes);
    *answer = (struct http_answer){0};
}

/* ---- Descriptors ---- */

static void raise_fd(int fd)
{
    if (fd >= 0)
        (void)eventfd_write(fd, 1);
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

/* ---- Holders ---- */

static void drop_asks(struct http_asks *asks)
{
    if (atomic_fetch_sub(&asks->holders, 1) > 1)
        return;
    pthread_cond_destroy(&asks->ended);
    lock_destroy(&asks->lock);
    close_fd(asks->closed_fd);
    free(asks);
}

static void drop_ask(struct http_ask *ask)
{
    if (atomic_fetch_sub(&ask->holders, 1) > 1)
        return;
    for (char **header = ask->headers; *header; header++)
        free(*header);
    free(ask->headers);
    free(ask->url);
    free(ask->request.body);
    buf_clear(&ask->bytes);
    http_answer_clear(&ask->answer);
    close_fd(ask->done_fd);
    drop_asks(ask->asks);
    free(ask);
}

struct http_asks *http_asks_new(struct loop *(*any_loop)(void *arg), void *arg)
{
    struct http_asks *asks = mem_new(struct http_asks);

    *asks = (struct http_asks){
        .any_loop = any_loop, .arg = arg, .closed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    atomic_init(&asks->holders, 1);
    lock_init(&asks->lock, LOCK_ASKS);
    lock_cond_init(&asks->ended);
    return asks;
}

void http_asks_close(struct http_asks *asks)
{
    lock_acquire(&asks->lock);
    asks->closed = true;
    pthread_cond_broadcast(&asks->ended);
    lock_release(&asks->lock);
    raise_fd(asks->closed_fd);
}

void http_asks_free(struct http_asks *asks)
{
    if (asks)
        drop_asks(asks);
}

/* ---- On the loop ---- */

static void finish(struct http_ask *ask, enum err_code rc, const struct err *err)
{
    struct http_asks *asks = ask->asks;

    ask->call = NULL;
    lock_acquire(&asks->lock);
    ask->rc = rc;
    if (err)
        ask->err = *err;
    ask->done = true;
    pthread_cond_broadcast(&asks->ended);
    lock_release(&asks->lock);
    raise_fd(ask->done_fd);
    drop_ask(ask);
}

static void give_up(struct http_ask *ask, enum err_code rc, const struct err *err)
{
    http_call_cancel(ask->call);
    finish(ask, rc, err);
}

static void on_head(void *arg, const struct http_head *head)
{
    struct http_ask *ask = arg;
    const char *location = http_call_header(ask->call, "Location");

    ask->answer = (struct http_answer){
        .status = head->status,
        .retry_after_ns = head->retry_after_ns,
        .type = mem_strdup(head->content_type),
        .location = location ? mem_strdup(location) : NULL,
    };
    if (ask->request.wants && !ask->request.wants(head))
        give_up(ask, ERR_OK, NULL);
}

/* The piece that is being decoded may not count as received yet. */
static bool is_bomb(const struct http_ask *ask, size_t length)
{
    return ask->request.decodes &&
           length / HTTP_ASK_RATIO > http_call_received(ask->call) + HTTP_PIECE_SIZE;
}

static void add_piece(struct http_ask *ask, const char *bytes, size_t size)
{
    lock_acquire(&ask->asks->lock);
    buf_add(&ask->bytes, bytes, size);
    lock_release(&ask->asks->lock);
    raise_fd(ask->done_fd);
}

static void on_data(void *arg, const char *bytes, size_t size)
{
    struct http_ask *ask = arg;
    struct err err;

    if (size > ask->request.answer_limit - ask->total) {
        err_set(&err, ERR_UPSTREAM, "the answer has more than %zu bytes",
                ask->request.answer_limit);
        give_up(ask, ERR_UPSTREAM, &err);
    } else if (is_bomb(ask, ask->total + size)) {
        err_set(&err, ERR_UPSTREAM,
                "the answer is compressed to less than a %dth of its length", HTTP_ASK_RATIO);
        give_up(ask, ERR_UPSTREAM, &err);
    } else {
        ask->total += size;
        if (ask->request.in_pieces)
            add_piece(ask, bytes, size);
        else
            buf_add(&ask->bytes, bytes, size);
    }
}

static void on_done(void *arg, enum err_code rc, const struct err *error)
{
    finish(arg, rc, error);
}

static void begin(struct loop_task *task)
{
    struct http_ask *ask = CONTAINER_OF(task, struct http_ask, begin);
    struct http_body *body = NULL;

    if (ask->request.body)
        body = http_body_new(TAKE(ask->request.body), ask->request.length);
    ask->call = http_call_start(ask->loop, &(struct http_request){
                                               .method = body ? "POST" : "GET",
                                               .url = ask->url,
                                               .headers = (const char *const *)ask->headers,
                                               .body = body,
                                               .timeouts = {.connect = ask->request.connect_ns,
                                                            .total = ask->request.total_ns},
                                               .egress = ask->request.egress,
                                               .decodes = ask->request.decodes,
                                               .on_head = on_head,
                                               .on_data = on_data,
                                               .on_done = on_done,
                                               .arg = ask,
                                           });
    http_body_drop(body);
}

static void end(struct loop_task *task)
{
    struct http_ask *ask = CONTAINER_OF(task, struct http_ask, end);

    if (ask->call) {
        http_call_cancel(ask->call);
        finish(ask, ERR_CANCELLED, NULL);
    }
    drop_ask(ask);
}

/* ---- On the thread that waits ---- */

struct http_ask *http_ask_start(struct http_asks *asks, const struct http_ask_request *request)
{
    struct http_ask *ask = mem_new(struct http_ask);
    size_t count = 0;

    while (request->headers && request->headers[count])
        count++;
    *ask = (struct http_ask){
        .asks = asks,
        .begin = {.run = begin},
        .end = {.run = end},
        .url = mem_strdup(request->url),
        .headers = mem_zeroed(count + 1, sizeof(*ask->headers)),
        .request = *request,
        .done_fd = request->watched || request->in_pieces
                       ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)
                       : -1,
    };
    for (size_t i = 0; i < count; i++)
        ask->headers[i] = mem_strdup(request->headers[i]);
    atomic_fetch_add(&asks->holders, 1);
    lock_acquire(&asks->lock);
    ask->done = asks->closed; /* the loops may be gone */
    lock_release(&asks->lock);
    atomic_init(&ask->holders, ask->done ? 1 : 2);
    if (ask->done) {
        ask->rc = err_set(&ask->err, ERR_CANCELLED, "the server goes down");
        return ask;
    }
    ask->loop = asks->any_loop(asks->arg);
    loop_post(ask->loop, &ask->begin);
    return ask;
}

/* The holder of the thread becomes that of the task. */
void http_ask_drop(struct http_ask *ask)
{
    if (ask && ask->loop)
        loop_post(ask->loop, &ask->end);
    else if (ask)
        drop_ask(ask);
}

/* What has come. The holder of the thread ends. */
static enum err_code take(struct http_ask *ask, bool done, struct http_answer *ret_answer,
                          struct err *err)
{
    enum err_code rc;

    if (!done) {
        http_ask_drop(ask);
        return err_set(err, ERR_CANCELLED, "the answer is no longer wanted");
    }
    rc = ask->rc;
    if (rc && err)
        *err = ask->err;
    if (!rc) {
        *ret_answer = ask->answer;
        ask->answer = (struct http_answer){0};
        ret_answer->length = ask->bytes.length;
        ret_answer->bytes = buf_take(&ask->bytes);
    }
    drop_ask(ask);
    return rc;
}

enum err_code http_ask_wait(struct http_ask *ask, struct http_answer *ret_answer,
                            struct err *err)
{
    struct http_asks *asks = ask->asks;
    bool done;

    lock_acquire(&asks->lock);
    while (!ask->done && !asks->closed)
        lock_wait(&asks->lock, &asks->ended);
    done = ask->done;
    lock_release(&asks->lock);
    return take(ask, done, ret_answer, err);
}

enum err_code http_ask_wait_or(struct http_ask *ask, int cancel_fd,
                               struct http_answer *ret_answer, struct err *err)
{
    struct pollfd fds[] = {{.fd = ask->done_fd, .events = POLLIN},
                           {.fd = ask->asks->closed_fd, .events = POLLIN},
                           {.fd = cancel_fd, .events = POLLIN}};
    bool done;

    if (ask->done_fd < 0) /* its time limit ends it */
        return http_ask_wait(ask, ret_answer, err);
    lock_acquire(&ask->asks->lock);
    done = ask->done;
    lock_release(&ask->asks->lock);
    while (!done && poll(fds, COUNT_OF(fds), -1) < 0 && errno == EINTR) {
    }
    lock_acquire(&ask->asks->lock);
    done = ask->done;
    lock_release(&ask->asks->lock);
    return take(ask, done, ret_answer, err);
}

/* True: all that has come is in *into, or the answer has ended. */
static bool take_pieces(struct http_ask *ask, struct buf *into, bool *ret_ended)
{
    bool more;

    lock_acquire(&ask->asks->lock);
    more = ask->bytes.length > 0;
    if (more)
        buf_add(into, ask->bytes.data, ask->bytes.length);
    buf_reset(&ask->bytes);
    *ret_ended = ask->done;
    lock_release(&ask->asks->lock);
    return more || *ret_ended;
}

enum err_code http_ask_read(struct http_ask *ask, int cancel_fd, struct buf *into,
                            bool *ret_ended, struct err *err)
{
    struct pollfd fds[] = {{.fd = ask->done_fd, .events = POLLIN},
                           {.fd = ask->asks->closed_fd, .events = POLLIN},
                           {.fd = cancel_fd, .events = POLLIN}};
    eventfd_t count;

    if (ask->done_fd < 0)
        return err_set(err, ERR_INTERNAL, "the process has no descriptors left");
    while (!take_pieces(ask, into, ret_ended)) {
        if (poll(fds, COUNT_OF(fds), -1) < 0) {
            if (errno == EINTR)
                continue;
            return err_set(err, ERR_INTERNAL, "poll failed: %s", strerror(errno));
        }
        if (fds[1].revents || fds[2].revents)
            return err_set(err, ERR_CANCELLED, "the answer is no longer wanted");
        if (eventfd_read(ask->done_fd, &count))
            continue; /* it was read before: what was noted with it is taken now */
    }
    return ERR_OK;
}
