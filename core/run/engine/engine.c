/*
 * The run loops, the table of runs on each, and the messages that reach a run from outside.
 *
 * A run waits nearly all the time: for a model, a tool, the database, a timer. So it has no
 * thread. It is a state machine on one of a few loops, and stays there for as long as it is in
 * memory. The loop follows from the run's id, so every thread finds it without a table and
 * without a lock.
 *
 * Only the loop's thread touches a run. Every function of engine.h makes a message with the id
 * and posts it. The loop looks the run up when the message arrives: a run that has ended
 * meanwhile is not found, and the message does nothing. A pointer in a message would have to
 * keep the run alive. The order in which messages arrive is the order in which things happen to
 * the run, and after each of them run_pump() writes and publishes what is due.
 *
 * A sink may find its client gone while the run is emitting to it. It must not change the run's
 * list of sinks from within, so that news is a message as well (engine_sink_gone()).
 *
 * What other threads must know at once is not a message: how many runs there are, which are
 * held here, whether there is a slot. Each has a lock of its own (below, held_leases.c,
 * slots.c).
 *
 * After a crash nothing of this is left, and nothing needs to be: rows, log and lease say what
 * another node needs to continue the run (recover.c).
 *
 * Decided against: a lock for each run and a pool of threads. libcurl, sockets and timers
 * belong to a thread, and their callbacks would have to take that lock for every piece of text.
 * And against moving runs between loops to balance them: ids spread well enough, and a run that
 * may move needs a forwarding address.
 */

#include "core/run/engine/engine.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/run/approval/run_hold.h"
#include "core/run/engine/engine_internal.h"

/* ---- Where a run is ---- */

/* Loop and bucket come from different bits of one hash. With the same bits, each of four loops would
 * use every fourth bucket only. */

struct engine_loop *engine_home(struct engine *engine, const char *run_id)
{
    return &engine->loops[hash_text(run_id) % engine->loop_count];
}

struct run **engine_slot(struct engine_loop *home, const char *run_id)
{
    return &home->table[(hash_text(run_id) >> 8) % TABLE_SIZE];
}

struct run *engine_find_here(struct engine_loop *home, const char *run_id)
{
    struct run *run = *engine_slot(home, run_id);

    while (run && strcmp(run->row.id, run_id) != 0)
        run = run->next;
    return run;
}

/* ---- Making and unmaking ---- */

struct engine *engine_new(const struct engine_options *options)
{
    struct engine *engine = mem_new(struct engine);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    engine->options = *options;
    if (!engine->options.round_limit)
        engine->options.round_limit = 10;
    if (engine->options.notice_seconds <= 0)
        engine->options.notice_seconds = 15;
    if (!engine->options.context_limit)
        engine->options.context_limit = 20000;
    engine->loop_count = options->loops ? options->loops : (unsigned)(cores > 0 ? cores : 1);
    engine->loops = mem_new_array(struct engine_loop, engine->loop_count);
    for (unsigned i = 0; i < engine->loop_count; i++) {
        AUTO_FREE char *name = mem_printf("run-loop-%u", i);

        engine->loops[i].engine = engine;
        engine->loops[i].loop = loop_new(name);
        webhook_posts_init(&engine->loops[i].posts, engine->loops[i].loop, options->webhooks,
                           options->webhook_count);
    }
    engine->slots = slots_new(&options->slots);
    engine->leases = held_leases_new();
    engine->file_waits = file_waits_new();
    lock_init(&engine->lock, LOCK_ENGINE);
    lock_cond_init(&engine->idle);
    return engine;
}

enum err_code engine_start(struct engine *engine, struct err *err)
{
    for (unsigned i = 0; i < engine->loop_count; i++) {
        enum err_code rc = loop_start(engine->loops[i].loop, err);

        if (rc)
            return rc;
    }
    return ERR_OK;
}

void engine_stop(struct engine *engine)
{
    for (unsigned i = 0; i < engine->loop_count; i++)
        loop_stop(engine->loops[i].loop);
}

void engine_free(struct engine *engine)
{
    if (!engine)
        return;
    /* Tasks that were posted after the loops had ended, such as writes that came back: they run
     * here, so that their runs are freed. Other nodes claim those runs. */
    for (unsigned i = 0; i < engine->loop_count; i++)
        loop_finish(engine->loops[i].loop);
    for (unsigned i = 0; i < engine->loop_count; i++) {
        loop_free(engine->loops[i].loop);
        run_wakeups_clear(&engine->loops[i].wakeups);
        webhook_posts_clear(&engine->loops[i].posts);
    }
    held_leases_free(engine->leases);
    file_waits_free(engine->file_waits);
    slots_free(engine->slots);
    free(engine->loops);
    pthread_cond_destroy(&engine->idle);
    lock_destroy(&engine->lock);
    free(engine);
}

const struct engine_options *engine_options(const struct engine *engine)
{
    return &engine->options;
}

struct loop *engine_loop(struct engine *engine, const char *run_id)
{
    return engine_home(engine, run_id)->loop;
}

struct loop *engine_any_loop(struct engine *engine)
{
    return engine->loops[atomic_fetch_add(&engine->turn, 1) % engine->loop_count].loop;
}

size_t engine_context_limit(const struct engine *engine)
{
    return engine->options.context_limit;
}

const struct approval_webhook *engine_webhook(const struct engine *engine,
                                              const struct tenant *tenant)
{
    for (size_t i = 0; i < engine->options.webhook_count; i++) {
        if (strcmp(engine->options.webhooks[i].project, tenant->project) == 0)
            return &engine->options.webhooks[i];
    }
    return NULL;
}

void engine_post_question(struct run *run, const json_t *question)
{
    const struct approval_webhook *webhook = engine_webhook(run->engine, &run->tenant);

    if (webhook)
        (void)approval_webhook_send(&run->home->posts, webhook, question);
}

void engine_flow_add(struct engine *engine)
{
    atomic_fetch_add(&engine->flows, 1);
}

void engine_flow_drop(struct engine *engine)
{
    atomic_fetch_sub(&engine->flows, 1);
}

size_t engine_flows(const struct engine *engine)
{
    return atomic_load(&engine->flows);
}

bool engine_is_draining(const struct engine *engine)
{
    return atomic_load(&engine->draining);
}

/* ---- Wake-ups, and waiting for a run to come ---- */

struct tool_channel *engine_channel(struct run *run, unsigned calls, const bool *hidden,
                                    size_t capacity)
{
    run->wakeup = run_wakeups_take(&run->home->wakeups, run);
    return tool_channel_new(calls, hidden, capacity, run_wakeup_send, run->wakeup);
}

void engine_stop_wakeups(struct run *run)
{
    if (run->wakeup)
        run_wakeups_put(&run->home->wakeups, TAKE(run->wakeup));
}

void engine_wait_for_run(struct engine *engine, struct engine_waiter *waiter)
{
    waiters_add(&engine_home(engine, waiter->run_id)->waiters, waiter);
}

bool engine_steer(struct engine *engine, const char *run_id, const char *steer_id)
{
    struct engine_loop *home = engine_home(engine, run_id);
    struct run *run;

    assert(loop_is_here(home->loop));
    run = engine_find_here(home, run_id);
    if (!run || !run_steer(run, steer_id))
        return false;
    run_pump(run);
    return true;
}

struct run *engine_find(struct engine *engine, const char *run_id)
{
    return engine_find_here(engine_home(engine, run_id), run_id);
}

/* ---- Leases ---- */

void engine_lease_add(struct engine *engine, const struct run *run)
{
    struct engine_lease lease = {.fence = run->writing.fence};

    memcpy(lease.run_id, run->row.id, ID_SIZE);
    /* A response gets its lease with its first write, which may be the one that stores its approval
     * requests. Then it is held already. */
    held_leases_add(engine->leases, &run->tenant, &lease, run->calls.hold != NULL);
}

void engine_lease_drop(struct engine *engine, const struct run *run)
{
    held_leases_drop(engine->leases, run->row.id);
}

/* The keeper polls the store for decisions about the runs in this list: a notification of the node
 * that stored one may get lost. */
bool engine_hold_add(struct engine *engine, const struct run *run)
{
    if (!slots_hold(engine->slots, &run->tenant))
        return false;
    held_leases_set_waiting(engine->leases, run->row.id, true);
    return true;
}

void engine_hold_drop(struct engine *engine, const struct run *run)
{
    held_leases_set_waiting(engine->leases, run->row.id, false);
    slots_unhold(engine->slots, &run->tenant);
}

size_t engine_holding(struct engine *engine, struct engine_holder **ret_holders)
{
    return held_leases_waiting(engine->leases, ret_holders);
}

size_t engine_leases(struct engine *engine, struct engine_lease **ret_leases)
{
    return held_leases_list(engine->leases, ret_leases);
}

size_t engine_file_waits(struct engine *engine, struct engine_file_wait **ret_waits)
{
    return file_waits_list(engine->file_waits, ret_waits);
}

bool engine_has_file_waits(struct engine *engine)
{
    return file_waits_count(engine->file_waits) > 0;
}

/* ---- Messages to a run ---- */

enum message_kind {
    MESSAGE_CANCEL,
    MESSAGE_DELETED,
    MESSAGE_LEASE_LOST,
    MESSAGE_DECIDED,  /* an approval request of the run has a decision */
    MESSAGE_FILES,    /* that it waits for are searchable */
    MESSAGE_FOLLOWED, /* at another node */
    MESSAGE_WAKE,     /* for the waiters of the run */
};

struct message {
    struct loop_task task;
    struct engine_loop *home;
    enum message_kind kind;
    char run_id[ID_LIMIT + 1];
    char node[ID_SIZE]; /* MESSAGE_FOLLOWED: the node that follows the run */
    int64_t fence;      /* MESSAGE_LEASE_LOST: of the lease */
    enum engine_woken why;
};

/* The keeper saw the table of leases some time ago. The run may have returned under another fence
 * since. Or its write is under way, which may be the very one that gives the lease back. Only a write
 * knows, because it carries the fence. */
static void lose_lease(struct run *run, int64_t fence)
{
    if (run->writing.fence == fence)
        run_check_lease(run);
}

static void deliver(struct run *run, const struct message *message)
{
    if (message->kind == MESSAGE_CANCEL)
        run_cancel(run);
    else if (message->kind == MESSAGE_DELETED)
        run_check_lease(run);
    else if (message->kind == MESSAGE_LEASE_LOST)
        lose_lease(run, message->fence);
    else if (message->kind == MESSAGE_DECIDED)
        run_hold_check(run);
    else if (message->kind == MESSAGE_FILES)
        engine_end_file_wait(run);
    else
        run_add_peer(run, message->node);
    run_pump(run);
}

static void receive_message(struct loop_task *task)
{
    struct message *message = CONTAINER_OF(task, struct message, task);
    struct run *run = engine_find_here(message->home, message->run_id);

    if (message->kind == MESSAGE_WAKE)
        waiters_wake(&message->home->waiters, message->run_id, message->why);
    else if (run)
        deliver(run, message);
    free(message);
}

static struct message *message_new(struct engine *engine, const char *run_id,
                                   enum message_kind kind)
{
    struct message *message = mem_new(struct message);

    message->task.run = receive_message;
    message->home = engine_home(engine, run_id);
    message->kind = kind;
    (void)snprintf(message->run_id, sizeof(message->run_id), "%s", run_id);
    return message;
}

static void send_message(struct message *message)
{
    loop_post(message->home->loop, &message->task);
}

void engine_cancel(struct engine *engine, const char *run_id)
{
    send_message(message_new(engine, run_id, MESSAGE_CANCEL));
}

void engine_deleted(struct engine *engine, const char *run_id)
{
    send_message(message_new(engine, run_id, MESSAGE_DELETED));
    engine_wake(engine, run_id, WOKEN_MOVED);
}

bool engine_check_approvals(struct engine *engine, const char *run_id)
{
    bool here = held_leases_has(engine->leases, run_id);

    if (here)
        send_message(message_new(engine, run_id, MESSAGE_DECIDED));
    return here;
}

void engine_files_settled(struct engine *engine, const char *run_id)
{
    send_message(message_new(engine, run_id, MESSAGE_FILES));
}

void engine_lease_lost(struct engine *engine, const struct engine_lease *lease)
{
    struct message *message = message_new(engine, lease->run_id, MESSAGE_LEASE_LOST);

    message->fence = lease->fence;
    send_message(message);
}

void engine_followed_at(struct engine *engine, const char *run_id, const char *node)
{
    struct message *message = message_new(engine, run_id, MESSAGE_FOLLOWED);

    (void)snprintf(message->node, sizeof(message->node), "%s", node);
    send_message(message);
}

void engine_wake(struct engine *engine, const char *run_id, enum engine_woken why)
{
    struct message *message = message_new(engine, run_id, MESSAGE_WAKE);

    message->why = why;
    send_message(message);
}

/* The client of a sink is gone. The sink may notice while the run is emitting to it, so the run learns
 * of it in the next round of the loop. The run may have ended by then, hence the id. The sink
 * may have been closed: its pointer is only compared with those in the run's list. */
struct goodbye {
    struct loop_task task;
    struct engine_loop *home;
    char run_id[ID_SIZE];
    struct sink *sink;
};

static void receive_goodbye(struct loop_task *task)
{
    struct goodbye *goodbye = CONTAINER_OF(task, struct goodbye, task);
    struct run *run = engine_find_here(goodbye->home, goodbye->run_id);

    if (run) {
        run_listener_gone(run, goodbye->sink);
        run_pump(run);
    }
    free(goodbye);
}

void engine_sink_gone(struct sink *sink, void *arg)
{
    struct run *run = arg;
    struct goodbye *goodbye = mem_new(struct goodbye);

    goodbye->task.run = receive_goodbye;
    goodbye->home = run->home;
    memcpy(goodbye->run_id, run->row.id, ID_SIZE);
    goodbye->sink = sink;
    loop_post(run->loop, &goodbye->task);
}

/* ---- Messages to all runs ---- */

struct broadcast {
    struct loop_task task;
    struct engine_loop *home;
    void (*take)(struct run *run);
    enum engine_woken why; /* for the waiters */
};

static void receive_broadcast(struct loop_task *task)
{
    struct broadcast *broadcast = CONTAINER_OF(task, struct broadcast, task);

    for (size_t i = 0; i < TABLE_SIZE; i++) {
        for (struct run *run = broadcast->home->table[i], *next; run; run = next) {
            next = run->next; /* run_pump() may take the run out of the table */
            broadcast->take(run);
            run_pump(run);
        }
    }
    waiters_wake_all(&broadcast->home->waiters, broadcast->why);
    free(broadcast);
}

static void broadcast(struct engine *engine, void (*take)(struct run *run),
                      enum engine_woken why)
{
    for (unsigned i = 0; i < engine->loop_count; i++) {
        struct broadcast *message = mem_new(struct broadcast);

        message->task.run = receive_broadcast;
        message->home = &engine->loops[i];
        message->take = take;
        message->why = why;
        loop_post(engine->loops[i].loop, &message->task);
    }
}

static void do_nothing(struct run *run)
{
    (void)run;
}

void engine_wake_all(struct engine *engine, enum engine_woken why)
{
    broadcast(engine, do_nothing, why);
}

/* ---- The end of the server. Waiters are woken: nothing more will come to this node ---- */

/* Only noted here, but for a run that waits for files: it may wait long, and another node may do so. Any other
 * resumable run is released when nothing of it is open: before its next turn (run_model.c), or before the calls of this
 * one are executed (calls/stages.c). Its next owner repeats nothing. */
static void request_drain(struct run *run)
{
    run->drain_wanted = true;
    run_hold_leave(run);
    if (run->awaits_files && run->life == RUN_ALIVE)
        run_release(run);
}

void engine_drain(struct engine *engine)
{
    /* First the flag, then the message: a run that arrives in between reads the flag. */
    atomic_store(&engine->draining, true);
    broadcast(engine, request_drain, WOKEN_ARRIVED);
}

static void end_now(struct run *run)
{
    if (run->life != RUN_ALIVE)
        return;
    if (run_is_resumable(run) && run->writing.exists) {
        run_release(run);
        return;
    }
    /* No other node can continue it. A run that waits for a slot begins, so that its client is sent a
     * response that failed, and no empty stream. */
    run_prepare_end(run);
    if (run->life == RUN_ALIVE)
        run_fail(run, "server_error", "The server is shutting down.");
}

void engine_abandon(struct engine *engine)
{
    broadcast(engine, end_now, WOKEN_ARRIVED);
}

void engine_stats(struct engine *engine, struct engine_stats *ret_stats)
{
    lock_acquire(&engine->lock);
    *ret_stats = engine->stats;
    lock_release(&engine->lock);
}

bool engine_wait_idle(struct engine *engine, uint64_t deadline_ns)
{
    bool in_time = true;

    lock_acquire(&engine->lock);
    while (engine->stats.live && in_time)
        in_time = lock_wait_until(&engine->lock, &engine->idle, deadline_ns);
    in_time = !engine->stats.live;
    lock_release(&engine->lock);
    return in_time;
}
