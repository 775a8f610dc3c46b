/*
 * How runs come to their loops and leave them: what may come, who waits for a slot or for the end of
 * its own last stay, and what is given back when one goes.
 */

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/memory/variable_memory.h"
#include "core/run/engine/engine_internal.h"

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
    run_settings_clear(&start->settings);
    json_decref(TAKE(start->context));
    json_decref(TAKE(start->secrets));
    variable_memory_release(TAKE(start->memory));
    variables_free(TAKE(start->variables), start->variable_count);
    start->variable_count = 0;
}

enum err_code engine_admit(struct engine *engine, struct err *err)
{
    if (engine_is_draining(engine))
        return err_refuse(err, ERR_STORE, REASON_UNSET, NULL,
                          "The server is shutting down. Please retry your request.");
    if (slots_queue_full(engine->slots))
        return err_refuse(err, ERR_LIMIT, REASON_BUSY, NULL,
                          "Too many runs wait on this server. Please retry in a few seconds.");
    if (is_laden(engine))
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
    struct arrival *next; /* behind it, for a run whose last stay is not over */
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

/* A run may come again before its last stay is over: its client saw in the database that it
 * waits, and answered, before we heard that this was written. Or the lease ran out while the
 * database was away, and is ours again: then the last stay is void. */
static bool must_wait(struct arrival *arrival)
{
    const char *run_id = arrival->start.load.run.id;
    struct run *before = engine_find_here(arrival->home, run_id);
    struct arrival **at;

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
    run->slot.tenant = &run->tenant;
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
    run =
        run_new(arrival->home, &arrival->home->engine->options.tenant_limits, &arrival->start);
    run->arriving = arrival;
    run->bytes = arrival->bytes;
    add_run(arrival->home, run);
    run->drain_wanted = engine_is_draining(run->engine);
    add_sink(run, arrival->start.sink);
    waiters_wake(&arrival->home->waiters, run->row.id, WOKEN_ARRIVED);
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
    arrival->home = engine_home(engine, start->load.run.id);
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
    loop_timer_stop(run->loop, &run->expiry);
    loop_timer_stop(run->loop, &run->writing.flush);
    if (run->writing.fence)
        engine_lease_drop(run->engine, run);
    if (!run->has_slot && run->slot.ready)
        (void)slots_leave(run->engine->slots, &run->slot); /* if it has one by now, slot_came()
                                                            * runs before free_later() */
    run->later.run = free_later;
    loop_post(run->loop, &run->later);
    admit_successors(run);
}
