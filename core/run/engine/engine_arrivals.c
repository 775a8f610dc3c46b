/*
 * How runs come to their loops and leave them.
 *
 * One time in the memory of a loop is a residency. It goes like this:
 *
 *   engine_run()     any thread: counts the run as live, and posts an arrival to its loop
 *   arrived()        the run is made and entered into the table; from here on messages find it
 *   await_files()    its stream begins, and it stays queued until its vector store is searchable
 *   find_slot()      it has a slot, or waits in the queue of slots.c
 *   engine_begin()   it has a slot: run_arrive() (turn/run.c) does the first step
 *   engine_forget()  its last write is done, or it was dropped: out of the table, the lease entry and
 *                    the timers
 *   free_later()     in the loop's next round: the slot is given back, the run is freed
 *
 * A run that waits for files or for a slot is a run already. It can be cancelled, expire, be followed and be
 * released. What it came with stays in its arrival until it begins. A run that is to end before it has
 * a slot begins all the same (run_prepare_end()), so that each run is announced before it ends.
 *
 * Freed in the next round, not at once: engine_forget() is called from within the run's own callbacks,
 * which still touch the run afterwards. And a slot that was given to it at the same moment is a task
 * of the run's in the inbox. It runs before free_later(), because an inbox keeps its order.
 *
 * Two residencies of one run may touch. A client sees in the database that the run waits, and answers
 * before the loop has been notified of that very commit. Then the new arrival waits behind the old
 * run and is admitted by engine_forget(). If the old run believes that it is alive, its lease had run
 * out and this node claimed it again: the old residency is void, and is dropped.
 *
 * What must hold: a loop has at most one run of an id; each engine_run() is counted live exactly once
 * and uncounted once, in free_later(); the slot goes back exactly once.
 *
 * Rejected: refusing runs for which no slot is free. Clients would have to retry in a loop, and a
 * queue that takes turns between projects is fairer than luck. Only beyond a limit of waiting runs
 * are requests refused (engine_admit()).
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/run/engine/engine_internal.h"

static bool has_loaded_too_much(struct engine *engine)
{
    bool too_much;

    lock_acquire(&engine->lock);
    too_much = engine->options.byte_limit && engine->stats.bytes >= engine->options.byte_limit;
    lock_release(&engine->lock);
    return too_much;
}

static size_t text_size(const char *text)
{
    return text ? strlen(text) : 0;
}

/* Bytes of text that the run keeps for its whole residency. Only what it has loaded counts: what it
 * makes has limits of its own. It is measured once, before the run is handed over, so that the sum is
 * the same when it is subtracted. */
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

/* They have no slot either, so as many may wait. */
static bool has_many_file_waits(struct engine *engine)
{
    size_t limit = engine->options.slots.queue;

    return limit && file_waits_count(engine->file_waits) >= limit;
}

enum err_code engine_admit(struct engine *engine, struct err *err)
{
    if (engine_is_draining(engine))
        return err_refuse(err, ERR_STORE, REASON_UNSET, NULL,
                          "The server is shutting down. Please retry your request.");
    if (slots_queue_full(engine->slots) || has_many_file_waits(engine))
        return err_refuse(err, ERR_LIMIT, REASON_BUSY, NULL,
                          "Too many runs wait on this server. Please retry in a few seconds.");
    if (has_loaded_too_much(engine))
        return err_refuse(err, ERR_LIMIT, REASON_BUSY, NULL,
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
    struct arrival *next; /* the arrival behind it, when the run's last residency is not over */
};

static void add_run(struct engine_loop *home, struct run *run)
{
    struct engine *engine = home->engine;
    struct run **slot = engine_slot(home, run->row.id);

    run->next = *slot;
    *slot = run;
    run->engine = engine;
    run->loop = home->loop;
    run->face = run_is_assistants(run) ? engine->options.assistants : engine->options.responses;
    if (run->writing.fence)
        engine_lease_add(engine, run);
}

static void add_sink(struct run *run, struct sink *sink)
{
    if (!sink)
        return;
    sink->gone = engine_sink_gone;
    sink->gone_arg = run;
    sink->next = run->publishing.sinks;
    run->publishing.sinks = sink;
}

/* True: the arrival was put behind the residency before it (see above). */
static bool must_wait(struct arrival *arrival)
{
    const char *run_id = arrival->start.load.run.id;
    struct run *before = engine_find_here(arrival->home, run_id);
    struct arrival **at;

    /* The old residency does not know that its lease was lost. It may have a write under way, whose
     * fence is too old to change anything: then it leaves the table when that write comes back. */
    if (before && before->life == RUN_ALIVE) {
        run_abandon(before);
        run_pump(before);
        before = engine_find_here(arrival->home, run_id);
    }
    if (!before)
        return false;
    for (at = &before->successors; *at; at = &(*at)->next)
        continue;
    *at = arrival;
    return true;
}

/* Posted again, not run: the first of them makes a run, behind which the others wait once more. */
static void admit_successors(struct run *run)
{
    while (run->successors) {
        struct arrival *arrival = run->successors;

        run->successors = arrival->next;
        arrival->next = NULL;
        loop_post(run->loop, &arrival->task);
    }
}

static void stop_awaiting(struct run *run)
{
    if (!run->awaits_files)
        return;
    run->awaits_files = false;
    loop_timer_stop(run->loop, &run->files_patience);
    file_waits_drop(run->engine->file_waits, run->row.id);
}

void engine_begin(struct run *run)
{
    struct arrival *arrival = TAKE(run->arriving);
    struct run_load *load;

    if (!arrival)
        return;
    stop_awaiting(run);
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
        return; /* it ended while it waited; free_later() gives the slot back */
    engine_begin(run);
    run_pump(run);
}

/* On any thread, under the lock of the slots: only posts. */
static void slot_found(struct slot_waiter *waiter)
{
    struct run *run = CONTAINER_OF(waiter, struct run, slot);

    loop_post(run->loop, &run->slot_ready);
}

static bool find_slot(struct run *run)
{
    run->slot.tenant = &run->tenant;
    run->slot.ready = slot_found;
    run->slot_ready.run = slot_came;
    run->has_slot = slots_take(run->engine->slots, &run->slot);
    return run->has_slot;
}

/* The run was claimed only to be ended: cancelled, or expired while it waited for its client. */
static bool needs_no_slot(const struct run *run)
{
    return run->row.status == RUN_CANCELLING || run->row.status == RUN_REQUIRES_ACTION;
}

static void enter(struct run *run)
{
    if (needs_no_slot(run) || find_slot(run)) {
        engine_begin(run);
        run_pump(run);
    }
}

/* ---- Files that are not searchable yet ---- */

static void enter_wait(struct engine *engine, const struct run_row *run, const char *store_id)
{
    struct engine_file_wait wait;

    if (!store_id[0])
        return;
    memcpy(wait.project, run->project, sizeof(wait.project));
    memcpy(wait.run_id, run->id, sizeof(wait.run_id));
    (void)snprintf(wait.store_id, sizeof(wait.store_id), "%s", store_id);
    file_waits_add(engine->file_waits, &wait);
}

/* Its patience counts from its creation, in the time that all nodes share: a crash does not renew it. The clock of
 * the node that made the run may be ahead. That lengthens no wait. */
static int64_t patience_left_us(const struct run *run)
{
    int64_t limit = FILES_WAIT_SECONDS * US_PER_SECOND;
    int64_t left = run->row.created_at + limit - clock_wall_us();

    return left < limit ? left : limit;
}

void engine_end_file_wait(struct run *run)
{
    if (!run->awaits_files || run->life != RUN_ALIVE)
        return;
    stop_awaiting(run);
    enter(run);
}

static void patience_is_over(struct loop_timer *timer)
{
    engine_end_file_wait(CONTAINER_OF(timer, struct run, files_patience));
}

/* True: it waits, or it leaves this node because that may take long. A residency before it may have dropped its entry,
 * so it enters again. The keeper then finds files that ended in between. */
static bool await_files(struct run *run)
{
    int64_t left;

    if (!run->arriving->start.awaited_store[0])
        return false;
    left = patience_left_us(run);
    if (run->row.status != RUN_QUEUED || left <= 0) {
        file_waits_drop(run->engine->file_waits, run->row.id);
        return false;
    }
    enter_wait(run->engine, &run->row, run->arriving->start.awaited_store);
    run->awaits_files = true;
    run->files_patience.fire = patience_is_over;
    loop_timer_start(run->loop, &run->files_patience,
                     loop_now(run->loop) + (uint64_t)left * 1000);
    run_announce(run);
    if (run->drain_wanted)
        run_release(run);
    run_pump(run);
    return true;
}

static void arrived(struct loop_task *task)
{
    struct arrival *arrival = CONTAINER_OF(task, struct arrival, task);
    struct run *run;

    if (must_wait(arrival))
        return;
    run =
        run_new(arrival->home, &arrival->home->engine->options.tenant_limits, &arrival->start);
    run->arriving = arrival;
    run->bytes = arrival->bytes;
    add_run(arrival->home, run);
    run->drain_wanted = engine_is_draining(run->engine);
    add_sink(run, arrival->start.sink);
    waiters_wake(&arrival->home->waiters, run->row.id, WOKEN_ARRIVED);
    run_watch_expiry(run); /* time passes in the queue as well */
    if (!await_files(run))
        enter(run);
}

void engine_run(struct engine *engine, struct run_start *start)
{
    struct arrival *arrival = mem_new(struct arrival);

    arrival->task.run = arrived;
    arrival->home = engine_home(engine, start->load.run.id);
    arrival->start = *start;
    arrival->bytes = load_size(start);
    /* Before the vector store is checked for the last time, so that the end of a file in between reaches it. */
    enter_wait(engine, &start->load.run, start->awaited_store);
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

    /* Before the task is posted: it could otherwise end, and be uncounted, before it was counted, and
     * engine_wait_idle() would miss it on its way. */
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

/* A run that never began still has what it came with. */
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
        slots_give(engine->slots, &run->tenant);
    count_end(engine, run);
    drop_arrival(run);
    run_free(run);
}

void engine_forget(struct run *run)
{
    struct run **at = engine_slot(run->home, run->row.id);

    while (*at != run)
        at = &(*at)->next;
    *at = run->next;
    run_stop_model(run);
    run_stop_tools(run);
    stop_awaiting(run);
    loop_timer_stop(run->loop, &run->expiry);
    loop_timer_stop(run->loop, &run->writing.flush);
    if (run->writing.fence)
        engine_lease_drop(run->engine, run);
    if (!run->has_slot && run->slot.ready)
        /* False: it was given a slot a moment ago, and slot_came() runs before free_later(). */
        (void)slots_leave(run->engine->slots, &run->slot);
    run->later.run = free_later;
    loop_post(run->loop, &run->later);
    admit_successors(run);
}
