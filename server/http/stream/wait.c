/*
 * A request that waits for one answer.
 *
 * It is the small brother of a stream: the same loan of the connection (suspended.h), with nothing to
 * write in between. The answer is a tree of JSON. The loop stores it and gives the connection back,
 * and the worker that resumes makes the text and sends it: to render a long response takes time that a
 * loop does not have.
 *
 * `answer` has no lock. The loop writes it before it gives the connection back, and the
 * worker reads it after the library has resumed it, which orders the two.
 */

#include "server/http/stream/wait.h"

#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "server/http/http_internal.h"
#include "server/http/stream/suspended.h"

struct wait {
    struct suspended suspended;
    /* The loop's until the connection is given back, then the worker's */
    struct sink_answer answer;
    enum deadline_kind debt;
    uint64_t begun_ns, paused_ns;
};

static struct wait *wait_of(struct suspended *suspended)
{
    return CONTAINER_OF(suspended, struct wait, suspended);
}

static struct wait *wait_of_sink(struct sink *sink)
{
    return wait_of(CONTAINER_OF(sink, struct suspended, sink));
}

/* The deadline is set before the library can close the connection. */
static void give_back(struct wait *wait)
{
    struct suspended *suspended = &wait->suspended;

    if (suspended->state != SUSPENDED_HERE)
        return;
    wait->paused_ns = clock_mono_ns() - wait->begun_ns;
    if (wait->debt != DEADLINE_NONE)
        connection_set_deadline(suspended->http, connection_of(suspended->connection),
                                wait->debt);
    suspended_give_back(suspended);
}

static void attached(struct suspended *suspended)
{
    if (suspended->closed)
        give_back(wait_of(suspended));
}

static void writable(struct suspended *suspended)
{
    (void)suspended;
}

static void lost(struct suspended *suspended)
{
    (void)suspended;
}

static void destroy(struct suspended *suspended)
{
    struct wait *wait = wait_of(suspended);

    json_decref(wait->answer.object);
    free(wait);
}

static const struct suspended_ops suspended_ops = {attached, writable, lost, destroy};

static void sink_events(struct sink *sink, const char *frames, size_t length)
{
    (void)sink;
    (void)frames;
    (void)length;
}

/* Of a lost client the connection is back already, and the worker may be reading: nothing is written
 * then. A second answer is dropped. */
static void take_answer(struct sink *sink, const struct sink_answer *answer)
{
    struct wait *wait = wait_of_sink(sink);

    if (wait->suspended.lost || wait->answer.status) {
        json_decref(answer->object);
        return;
    }
    wait->answer = *answer;
}

static void sink_close(struct sink *sink)
{
    struct wait *wait = wait_of_sink(sink);

    give_back(wait);
    suspended_closed(&wait->suspended);
}

static const struct sink_ops sink_ops = {
    .events = sink_events,
    .answer = take_answer,
    .close = sink_close,
};

struct wait *wait_new(struct request *request, struct loop *loop)
{
    struct wait *wait = mem_new(struct wait);

    suspended_init(&wait->suspended, &suspended_ops, &sink_ops, request->http,
                   request->connection, loop);
    wait->debt = DEADLINE_NONE;
    return wait;
}

void wait_set_debt(struct wait *wait, enum deadline_kind debt)
{
    wait->debt = debt;
}

uint64_t wait_paused_ns(const struct wait *wait)
{
    return wait->paused_ns;
}

struct sink *wait_sink(struct wait *wait)
{
    return &wait->suspended.sink;
}

bool wait_begin(struct wait *wait)
{
    wait->begun_ns = clock_mono_ns();
    return suspended_begin(&wait->suspended);
}

void wait_take(struct wait *wait, struct sink_answer *ret_answer)
{
    *ret_answer = wait->answer;
    wait->answer.object = NULL;
}

void wait_forgotten(struct wait *wait)
{
    suspended_forgotten(&wait->suspended);
}
