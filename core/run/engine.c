/*
 * The loops, the runs on each of them, and the messages between them and everybody else.
 */

#include "core/run/engine.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/lock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/run/approval_webhook.h"
#include "core/run/held_leases.h"
#include "core/run/run.h"
#include "core/run/run_hold.h"
#include "core/tool/variable_memory.h"

#define TABLE_SIZE ((size_t)1024)

/* The runs of one loop; the loop's thread only. */
struct engine_loop {
    struct engine *engine;
    struct loop *loop;
    struct run *table[TABLE_SIZE];
    struct bell *bells; /* all there are */
    struct bell *idle_bells;
    struct engine_waiter *waiters[TABLE_SIZE];
    struct webhook_posts posts;
};

struct engine {
    struct engine_options options;
    struct engine_loop *loops;
    unsigned loop_count;
    atomic_uint turn; /* for engine_any_loop() */
    atomic_bool draining;

    struct slots *slots;
    struct held_leases *leases;
    struct lock lock;
    pthread_cond_t idle; /* guarded by lock, as the next: */
    struct engine_stats stats;
};

/* ---- Tables ---- */

static struct engine_loop *home_of(struct engine *engine, const char *run_id)
{
    return &engine->loops[hash_text(run_id) % engine->loop_count];
}

static struct run **slot_of(struct engine_loop *home, const char *run_id)
{
    return &home->table[(hash_text(run_id) >> 8) % TABLE_SIZE];
}

static struct run *find_run(struct engine_loop *home, const char *run_id)
{
    struct run *run = *slot_of(home, run_id);

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
        engine->options.context_limit = 2000;
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

static void free_bells(struct engine_loop *home)
{
    while (home->bells) {
        struct bell *bell = home->bells;

        home->bells = bell->all;
        free(bell);
    }
}

void engine_free(struct engine *engine)
{
    if (!engine)
        return;
    /* Writes that came back after the loops had ended: their runs are left to others. */
    for (unsigned i = 0; i < engine->loop_count; i++)
        loop_finish(engine->loops[i].loop);
    for (unsigned i = 0; i < engine->loop_count; i++) {
        loop_free(engine->loops[i].loop);
        free_bells(&engine->loops[i]);
        webhook_posts_clear(&engine->loops[i].posts);
    }
    held_leases_free(engine->leases);
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
    return home_of(engine, run_id)->loop;
}

struct loop *engine_any_loop(struct engine *engine)
{
    return engine->loops[atomic_fetch_add(&engine->turn, 1) % engine->loop_count].loop;
}

size_t engine_context_limit(const struct engine *engine)
{
    return engine->options.context_limit;
}

const struct approval_webhook *engine_webhook(const struct engine *engine, const char *project)
{
    for (size_t i = 0; i < engine->options.webhook_count; i++) {
        if (strcmp(engine->options.webhooks[i].project, project) == 0)
            return &engine->options.webhooks[i];
    }
    return NULL;
}

void engine_tell_webhook(struct run *run, const json_t *question)
{
    const struct approval_webhook *webhook = engine_webhook(run->engine, run->row.project);

    if (webhook)
        (void)approval_webhook_tell(&run->home->posts, webhook, question);
}

bool engine_is_draining(const struct engine *engine)
{
    return atomic_load(&engine->draining);
}

/* ---- Bells ---- */

static void bell_heard(struct loop_task *task)
{
    struct bell *bell = CONTAINER_OF(task, struct bell, task);
    struct run *run = bell->run;

    atomic_store(&bell->rung, false);
    if (!run)
        return;
    run_collect_output(run);
    run_pump(run);
}

void bell_ring(void *arg)
{
    struct bell *bell = arg;

    if (!atomic_exchange(&bell->rung, true))
        loop_post(bell->loop, &bell->task);
}

/* A bell that no run listens to any more may still be rung by a late worker: that is why bells
 * are kept, and why hearing one in vain does no harm. */
struct bell *engine_bell(struct run *run)
{
    struct engine_loop *home = run->home;
    struct bell *bell = home->idle_bells;

    if (bell) {
        home->idle_bells = bell->next;
    } else {
        bell = mem_new(struct bell);
        bell->loop = home->loop;
        bell->task.run = bell_heard;
        bell->all = home->bells;
        home->bells = bell;
    }
    bell->run = run;
    return bell;
}

void engine_hang_up(struct run *run)
{
    struct bell *bell = TAKE(run->bell);

    if (!bell)
        return;
    bell->run = NULL;
    bell->next = run->home->idle_bells;
    run->home->idle_bells = bell;
}

/* ---- Waiting for a run to come ---- */

static struct engine_waiter **waiters_of(struct engine_loop *home, const char *run_id)
{
    return &home->waiters[(hash_text(run_id) >> 8) % TABLE_SIZE];
}

void engine_wait_for_run(struct engine *engine, struct engine_waiter *waiter)
{
    struct engine_waiter **bucket = waiters_of(home_of(engine, waiter->run_id), waiter->run_id);

    waiter->next = *bucket;
    waiter->link = bucket;
    if (waiter->next)
        waiter->next->link = &waiter->next;
    *bucket = waiter;
}

static void forget_waiter(struct engine_waiter *waiter)
{
    *waiter->link = waiter->next;
    if (waiter->next)
        waiter->next->link = waiter->link;
    waiter->next = NULL;
    waiter->link = NULL;
}

void engine_wait_no_more(struct engine *engine, struct engine_waiter *waiter)
{
    (void)engine;
    if (waiter->link)
        forget_waiter(waiter);
}

/* Those for that run, or all for NULL. Whoever is woken may wait again. */
static void wake_bucket(struct engine_waiter *first, const char *run_id, enum engine_woken why)
{
    struct engine_waiter *woken = NULL;

    for (struct engine_waiter *waiter = first, *next; waiter; waiter = next) {
        next = waiter->next;
        if (run_id && strcmp(waiter->run_id, run_id) != 0)
            continue;
        forget_waiter(waiter);
        waiter->next = woken;
        woken = waiter;
    }
    while (woken) {
        struct engine_waiter *waiter = woken;

        woken = waiter->next;
        waiter->woken(waiter, why);
    }
}

static void wake_waiters(struct engine_loop *home, const char *run_id, enum engine_woken why)
{
    wake_bucket(*waiters_of(home, run_id), run_id, why);
}

static void wake_all_waiters(struct engine_loop *home, enum engine_woken why)
{
    for (size_t i = 0; i < TABLE_SIZE; i++)
        wake_bucket(home->waiters[i], NULL, why);
}

bool engine_steer(struct engine *engine, const char *run_id, const char *steer_id)
{
    struct engine_loop *home = home_of(engine, run_id);
    struct run *run;

    assert(loop_is_here(home->loop));
    run = find_run(home, run_id);
    if (!run || !run_steer(run, steer_id))
        return false;
    run_pump(run);
    return true;
}

struct run *engine_find(struct engine *engine, const char *run_id)
{
    return find_run(home_of(engine, run_id), run_id);
}

/* ---- Leases ---- */

void engine_lease_add(struct engine *engine, const struct run *run)
{
    struct engine_lease lease = {.fence = run->fence};

    memcpy(lease.run_id, run->row.id, ID_SIZE);
    /* Its questions may be of its first write. */
    held_leases_add(engine->leases, run->row.project, &lease, run->hold != NULL);
}

void engine_lease_drop(struct engine *engine, const struct run *run)
{
    held_leases_drop(engine->leases, run->row.id);
}

bool engine_hold_add(struct engine *engine, const struct run *run)
{
    if (!slots_hold(engine->slots, run->row.project))
        return false;
    held_leases_set_waiting(engine->leases, run->row.id, true);
    return true;
}

void engine_hold_drop(struct engine *engine, const struct run *run)
{
    held_leases_set_waiting(engine->leases, run->row.id, false);
    slots_go_on(engine->slots, run->row.project);
}

size_t engine_holding(struct engine *engine, struct engine_holder **ret_holders)
{
    return held_leases_waiting(engine->leases, ret_holders);
}

size_t engine_leases(struct engine *engine, struct engine_lease **ret_leases)
{
    return held_leases_list(engine->leases, ret_leases);
}

/* ---- Coming and going ---- */

static bool is_laden(struct engine *engine)
{
    bool laden;

    lock_acquire(&engine->lock);
    laden = engine->options.byte_limit && engine->stats.bytes >= engine->options.byte_limit;
    lock_release(&engine->lock);
    return laden;
}

static size_t text_size(const char *text)
{
    return text ? strlen(text) : 0;
}

/* Of what a run keeps for as long as it lives: what it has loaded. What it makes has limits of its
 * own. */
static size_t load_size(const struct run_start *start)
{
    const struct run_load *load = &start->load;
    size_t size = text_size(load->run.config);

    for (size_t i = 0; i < load->item_count; i++)
        size += text_size(load->items[i].body);
    for (size_t i = 0; i < start->variable_count; i++)
        size += text_size(start->variables[i].value);
    return size;
}

void run_start_clear(struct run_start *start)
{
    run_load_clear(&start->load);
    json_decref(TAKE(start->context));
    json_decref(TAKE(start->secrets));
    variable_memory_release(TAKE(start->memory));
    variables_free(TAKE(start->variables), start->variable_count);
    start->variable_count = 0;
}

enum err_code engine_admit(struct engine *engine, struct err *err)
{
    if (engine_is_draining(engine))
        return err_set_api(err, ERR_STORE, NULL, NULL,
                           "The server is shutting down. Please retry your request.");
    if (slots_line_full(engine->slots))
        return err_set_api(err, ERR_LIMIT, "rate_limit_exceeded", NULL,
                           "Too many runs wait on this server. Please retry in a few seconds.");
    if (is_laden(engine))
        return err_set_api(err, ERR_LIMIT, "rate_limit_exceeded", NULL,
                           "The conversations that this server works on are too much at once. "
                           "Please retry in a few seconds.");
    return ERR_OK;
}

struct arrival {
    struct loop_task task;
    struct engine_loop *home;
    struct run_start start;
    size_t bytes;
    struct thread_row thread;
    struct arrival *next; /* behind it, for a run whose last stay is not over */
};

static void sink_gone(struct sink *sink, void *arg);

static void add_run(struct engine_loop *home, struct run *run)
{
    struct engine *engine = home->engine;
    struct run **slot = slot_of(home, run->row.id);

    run->next = *slot;
    *slot = run;
    run->engine = engine;
    run->loop = home->loop;
    run->face = run_is_assistants(run) ? engine->options.assistants : engine->options.responses;
    if (run->fence)
        engine_lease_add(engine, run);
}

static void add_sink(struct run *run, struct sink *sink)
{
    if (!sink)
        return;
    sink->gone = sink_gone;
    sink->gone_arg = run;
    sink->next = run->sinks;
    run->sinks = sink;
}

/* A run may come again before its last stay is over: its client saw in the database that it
 * waits, and answered, before we heard that this was written. Or the lease ran out while the
 * database was away, and is ours again: then the last stay is void. */
static bool must_wait(struct arrival *arrival)
{
    const char *run_id = arrival->start.load.run.id;
    struct run *before = find_run(arrival->home, run_id);
    struct arrival **at;

    if (before && before->life == RUN_ALIVE) {
        run_abandon(before);
        run_pump(before);
        before = find_run(arrival->home, run_id);
    }
    if (!before)
        return false;
    for (at = &before->successors; *at; at = &(*at)->next)
        continue;
    *at = arrival;
    return true;
}

static void admit_successors(struct run *run)
{
    while (run->successors) {
        struct arrival *arrival = run->successors;

        run->successors = arrival->next;
        arrival->next = NULL;
        loop_post(run->loop, &arrival->task);
    }
}

void engine_begin(struct run *run)
{
    struct arrival *arrival = TAKE(run->arriving);
    struct run_load *load;

    if (!arrival)
        return;
    load = &arrival->start.load;
    run_arrive(run, load->calls, load->call_count);
    run_load_clear(load);
    thread_row_clear(&arrival->thread);
    free(arrival);
}

static void slot_came(struct loop_task *task)
{
    struct run *run = CONTAINER_OF(task, struct run, slot_ready);

    run->has_slot = true;
    if (run->life != RUN_ALIVE)
        return; /* it ended while it waited; the slot goes with it */
    engine_begin(run);
    run_pump(run);
}

static void slot_found(struct slot_waiter *waiter)
{
    struct run *run = CONTAINER_OF(waiter, struct run, slot);

    loop_post(run->loop, &run->slot_ready);
}

static bool find_slot(struct run *run)
{
    memcpy(run->slot.project, run->row.project, ID_SIZE);
    run->slot.ready = slot_found;
    run->slot_ready.run = slot_came;
    run->has_slot = slots_take(run->engine->slots, &run->slot);
    return run->has_slot;
}

/* Those that are only to be ended. */
static bool needs_no_slot(const struct run *run)
{
    return run->row.status == RUN_CANCELLING || run->row.status == RUN_REQUIRES_ACTION;
}

static void arrived(struct loop_task *task)
{
    struct arrival *arrival = CONTAINER_OF(task, struct arrival, task);
    struct run *run;

    if (must_wait(arrival))
        return;
    run = run_new(arrival->home, &arrival->start);
    run->arriving = arrival;
    run->bytes = arrival->bytes;
    add_run(arrival->home, run);
    run->drain_wanted = engine_is_draining(run->engine);
    add_sink(run, arrival->start.sink);
    wake_waiters(arrival->home, run->row.id, WOKEN_ARRIVED);
    run_watch_expiry(run);
    if (needs_no_slot(run) || find_slot(run)) {
        engine_begin(run);
        run_pump(run);
    }
}

void engine_run(struct engine *engine, struct run_start *start)
{
    struct arrival *arrival = mem_new(struct arrival);

    arrival->task.run = arrived;
    arrival->home = home_of(engine, start->load.run.id);
    arrival->start = *start;
    arrival->bytes = load_size(start);
    if (start->new_thread) {
        arrival->thread = *start->new_thread;
        arrival->thread.metadata = mem_strdup(start->new_thread->metadata);
        arrival->thread.tool_resources = mem_strdup(start->new_thread->tool_resources);
        arrival->thread.settings = mem_strdup(start->new_thread->settings);
        arrival->start.new_thread = &arrival->thread;
    }
    memset(&start->load, 0, sizeof(start->load));
    start->context = start->secrets = NULL;
    start->variables = NULL;
    start->memory = NULL;
    start->variable_count = 0;
    start->sink = NULL;

    lock_acquire(&engine->lock);
    engine->stats.live++;
    engine->stats.bytes += arrival->bytes;
    engine->stats.started++;
    lock_release(&engine->lock);
    loop_post(arrival->home->loop, &arrival->task);
}

static void count_end(struct engine *engine, const struct run *run)
{
    lock_acquire(&engine->lock);
    engine->stats.live--;
    engine->stats.bytes -= run->bytes;
    engine->stats.ended++;
    engine->stats.failed += run->row.status == RUN_FAILED;
    if (!engine->stats.live)
        pthread_cond_broadcast(&engine->idle);
    lock_release(&engine->lock);
}

/* It was dropped before it had begun. */
static void drop_arrival(struct run *run)
{
    if (!run->arriving)
        return;
    run_load_clear(&run->arriving->start.load);
    thread_row_clear(&run->arriving->thread);
    free(TAKE(run->arriving));
}

static void free_later(struct loop_task *task)
{
    struct run *run = CONTAINER_OF(task, struct run, later);
    struct engine *engine = run->engine;

    if (run->has_slot)
        slots_give(engine->slots, run->row.project);
    count_end(engine, run);
    drop_arrival(run);
    run_free(run);
}

void engine_forget(struct run *run)
{
    struct run **at = slot_of(run->home, run->row.id);

    while (*at != run)
        at = &(*at)->next;
    *at = run->next;
    run_stop_model(run);
    run_stop_tools(run);
    loop_timer_stop(run->loop, &run->expiry);
    loop_timer_stop(run->loop, &run->flush);
    if (run->fence)
        engine_lease_drop(run->engine, run);
    if (!run->has_slot && run->slot.ready)
        (void)slots_leave(run->engine->slots, &run->slot); /* if it has one by now, slot_came()
                                                            * runs before free_later() */
    run->later.run = free_later;
    loop_post(run->loop, &run->later);
    admit_successors(run);
}

/* ---- Messages to a run ---- */

enum message_kind {
    MESSAGE_CANCEL,
    MESSAGE_LEASE_LOST,
    MESSAGE_LOOK,
    MESSAGE_FOLLOWED,
    MESSAGE_WAKE, /* for those who wait for the run */
};

struct message {
    struct loop_task task;
    struct engine_loop *home;
    enum message_kind kind;
    char run_id[ID_LIMIT + 1];
    char node[ID_SIZE]; /* that follows it */
    int64_t fence;      /* of the lease that was lost */
    enum engine_woken why;
};

/* A write that is on its way carries the fence, and will tell: it may be the very one that gave
 * the lease back. */
static void lose_lease(struct run *run, int64_t fence)
{
    if (run->fence == fence && !run->write)
        run_abandon(run);
}

static void tell_run(struct run *run, const struct message *message)
{
    if (message->kind == MESSAGE_CANCEL)
        run_cancel(run);
    else if (message->kind == MESSAGE_LEASE_LOST)
        lose_lease(run, message->fence);
    else if (message->kind == MESSAGE_LOOK)
        run_hold_look(run);
    else
        run_add_peer(run, message->node);
    run_pump(run);
}

static void message_heard(struct loop_task *task)
{
    struct message *message = CONTAINER_OF(task, struct message, task);
    struct run *run = find_run(message->home, message->run_id);

    if (message->kind == MESSAGE_WAKE)
        wake_waiters(message->home, message->run_id, message->why);
    else if (run)
        tell_run(run, message);
    free(message);
}

static struct message *message_new(struct engine *engine, const char *run_id,
                                   enum message_kind kind)
{
    struct message *message = mem_new(struct message);

    message->task.run = message_heard;
    message->home = home_of(engine, run_id);
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

bool engine_look(struct engine *engine, const char *run_id)
{
    bool here = held_leases_has(engine->leases, run_id);

    if (here)
        send_message(message_new(engine, run_id, MESSAGE_LOOK));
    return here;
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

/* A sink may find its client gone in the middle of what the run is telling it: the run hears of
 * it in the loop's next round. */
struct goodbye {
    struct loop_task task;
    struct engine_loop *home;
    char run_id[ID_SIZE];
    struct sink *sink;
};

static void goodbye_heard(struct loop_task *task)
{
    struct goodbye *goodbye = CONTAINER_OF(task, struct goodbye, task);
    struct run *run = find_run(goodbye->home, goodbye->run_id);

    if (run) {
        run_listener_gone(run, goodbye->sink);
        run_pump(run);
    }
    free(goodbye);
}

static void sink_gone(struct sink *sink, void *arg)
{
    struct run *run = arg;
    struct goodbye *goodbye = mem_new(struct goodbye);

    goodbye->task.run = goodbye_heard;
    goodbye->home = run->home;
    memcpy(goodbye->run_id, run->row.id, ID_SIZE);
    goodbye->sink = sink;
    loop_post(run->loop, &goodbye->task);
}

/* ---- Messages to all ---- */

struct broadcast {
    struct loop_task task;
    struct engine_loop *home;
    void (*tell)(struct run *run);
    enum engine_woken why; /* for those who wait */
};

static void broadcast_heard(struct loop_task *task)
{
    struct broadcast *broadcast = CONTAINER_OF(task, struct broadcast, task);

    for (size_t i = 0; i < TABLE_SIZE; i++) {
        for (struct run *run = broadcast->home->table[i], *next; run; run = next) {
            next = run->next;
            broadcast->tell(run);
            run_pump(run);
        }
    }
    wake_all_waiters(broadcast->home, broadcast->why);
    free(broadcast);
}

static void tell_all(struct engine *engine, void (*tell)(struct run *run),
                     enum engine_woken why)
{
    for (unsigned i = 0; i < engine->loop_count; i++) {
        struct broadcast *broadcast = mem_new(struct broadcast);

        broadcast->task.run = broadcast_heard;
        broadcast->home = &engine->loops[i];
        broadcast->tell = tell;
        broadcast->why = why;
        loop_post(engine->loops[i].loop, &broadcast->task);
    }
}

static void tell_nothing(struct run *run)
{
    (void)run;
}

void engine_wake_all(struct engine *engine, enum engine_woken why)
{
    tell_all(engine, tell_nothing, why);
}

/* ---- The end of the server: there is nothing more to wait for on this node ---- */

static void wish_drain(struct run *run)
{
    run->drain_wanted = true;
    run_hold_leave(run);
}

void engine_drain(struct engine *engine)
{
    atomic_store(&engine->draining, true);
    tell_all(engine, wish_drain, WOKEN_ARRIVED);
}

static void end_now(struct run *run)
{
    if (run->life != RUN_ALIVE)
        return;
    if (run_is_resumable(run) && run->exists) {
        run_release(run);
        return;
    }
    run_begin_to_end(run);
    if (run->life == RUN_ALIVE)
        run_fail(run, "server_error", "The server is shutting down.");
}

void engine_abandon(struct engine *engine)
{
    tell_all(engine, end_now, WOKEN_ARRIVED);
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
