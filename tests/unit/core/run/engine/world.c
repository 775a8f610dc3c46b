/*
 * Steps, nodes and their keepers: the part of the world that is neither the engine nor below it.
 *
 * Why a world. The engine's bugs are bugs of order: a commit that is reported after the client has
 * acted on it, a lease that is lost between two writes, a crash between an effect and its row. With
 * threads and a real database such an order happens once in ten thousand runs, and never again under
 * a debugger. Here an order is data. A hundred thousand of them take less than a minute, and each one
 * that breaks a rule can be played again, step by step.
 *
 * A step. Before each step the schedule may let an incident happen. Otherwise it chooses one of the
 * actors that are ready, and that one acts until it returns. Nothing depends on addresses, on real
 * time or on the ids of threads, so the same schedule gives the same steps. The hash of the steps
 * shows it, and shows which schedules were the same.
 *
 * Nodes. Each is an engine of its own with a store, a log reader and an executor that know the node.
 * A crash only marks the node as dead: its actors do not act any more, and its calls of the store
 * fail. Its memory stays until the end of the world. Then it is buried, which means that it ends as a
 * server does whose database is away. So leaks and double releases of abandoned runs are found as
 * well, under a sanitizer.
 *
 * The keeper repeats the duties of server/keeper.c, with its rules on when a node is fresh and steady.
 * The server's own cannot be linked: it is a thread that waits for a condition. What is in both must
 * be changed in both.
 *
 * Rejected: real threads with a scheduler between them. Every wait of the code would need a hook, and
 * the interesting orders are those of messages, not of instructions. Each loop has one thread anyway.
 * The orders of instructions in the shared tables are for ThreadSanitizer and the end-to-end tests.
 */

#include "tests/unit/core/run/engine/world.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/run/engine/recover.h"
#include "core/store/cluster/leases.h"
#include "core/store/tables/approvals/approval_holds.h"
#include "core/store/tables/runs/runs.h"
#include "server/encode/faces.h"
#include "tests/support/test.h"
#include "tests/unit/core/run/engine/schedule.h"
#include "tests/unit/core/run/engine/world_client.h"
#include "tests/unit/core/run/engine/world_database.h"
#include "tests/unit/core/run/engine/world_grants.h"
#include "tests/unit/core/run/engine/world_model.h"
#include "tests/unit/core/run/engine/world_tools.h"

/* A world that has something to do after so many steps goes round in circles. */
#define STEP_LIMIT 4000

#define WORLD_BEGIN_NS (1000 * NS_PER_SECOND)

/* All runs have an end when their time is over. After that a world must rest within this time: another
 * lease, a claim and some rounds of the keeper. */
#define PATIENCE_NS (60 * NS_PER_SECOND)

struct world *world;

/* clang-format off */
static const char *const thing_names[THING_COUNT] = {
    [THING_TASK]   = "task",
    [THING_TIMER]  = "timer",
    [THING_COMMIT] = "commit",
    [THING_REPORT] = "report",
    [THING_READ]   = "read",
    [THING_MODEL]  = "model",
    [THING_TOOL]   = "tool",
    [THING_HINT]   = "hint",
    [THING_CLIENT] = "client",
    [THING_KEEPER] = "keeper",
};
/* clang-format on */

const char *thing_name(enum thing thing)
{
    return thing_names[thing];
}

/* ---- What a person reads ---- */

void world_fail(const char *format, ...)
{
    char text[512], schedule[160];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    schedule_text(world->schedule, schedule, sizeof(schedule));
    /* fail() jumps out of the test. The world is not released: it may be in any state. */
    print_error("%s\n  in step %u of RUNNEL_SCHEDULE='%s'\n", text, world->steps, schedule);
    fail();
    abort();
}

void world_note(const char *format, ...)
{
    va_list arguments;

    if (!schedule_is_shown())
        return;
    va_start(arguments, format);
    printf("%5u %9.3fs  ", world->steps, (double)world->now_ns / 1e9);
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
}

/* ---- Actors ---- */

void actor_join(struct actor *actor, const struct actor_ops *ops, struct node *node)
{
    struct actor_list *actors = &world->actors;

    actor->ops = ops;
    actor->node = node;
    actor->number = world->births++;
    actor->acted = world->steps; /* an actor that is new is last in turn */
    if (actors->count == actors->room) {
        actors->room = actors->room ? actors->room * 2 : 64;
        actors->list = mem_resize(actors->list, actors->room, sizeof(struct actor *));
    }
    actors->list[actors->count++] = actor;
}

/* Keeps the order of the list, on which a choice between equal actors depends. */
void actor_leave(struct actor *actor)
{
    struct actor_list *actors = &world->actors;
    size_t at = 0;

    while (actors->list[at] != actor)
        at++;
    actors->count--;
    memmove(actors->list + at, actors->list + at + 1,
            (actors->count - at) * sizeof(struct actor *));
}

bool actor_is_ready(struct actor *actor)
{
    return (!actor->node || node_is_up(actor->node)) &&
           (!actor->ops->is_ready || actor->ops->is_ready(actor));
}

/* ---- Chance ---- */

uint64_t world_random_below(uint64_t limit)
{
    /* xorshift64: Marsaglia, "Xorshift RNGs", 2003. */
    world->random ^= world->random << 13;
    world->random ^= world->random >> 7;
    world->random ^= world->random << 17;
    return world->random % limit;
}

/* ---- Nodes ---- */

static void perform_duties(struct actor *actor);
static void end_renewal(struct node *node);

bool node_is_up(const struct node *node)
{
    return !node->dead && world->now_ns >= node->paused_until_ns;
}

const struct face *world_face(enum row_face face)
{
    return face == FACE_ASSISTANTS ? &assistants_face : &responses_face;
}

struct node *node_boot(void)
{
    struct node *node = &world->nodes[world->node_count];
    struct engine_options options = {
        .store = &node->store,
        .log_reader = &node->reader,
        .executor = &node->executor,
        .assistants = &assistants_face,
        .responses = &responses_face,
        .upstreams = &world_upstream,
        .upstream_count = 1,
        .loops = 1,
        .slots = {.node = world->scenario->slots},
    };

    assert(world->node_count < WORLD_NODES);
    *node = (struct node){.number = world->node_count++};
    (void)snprintf(node->id, sizeof(node->id), "node_%c/boot_%c", 'a' + (int)node->number,
                   'a' + (int)node->number);
    node->store.node = node->reader.node = node->executor.node = node;
    world->booting = node;
    node->engine = engine_new(&options);
    actor_join(&node->keeper, &keeper_ops, node);
    perform_duties(&node->keeper); /* it must have renewed before it may claim */
    return node;
}

struct node *node_other(const struct node *node)
{
    for (unsigned i = 0; i < world->node_count; i++) {
        if (&world->nodes[i] != node && node_is_up(&world->nodes[i]) &&
            !world->nodes[i].draining)
            return &world->nodes[i];
    }
    return node_boot();
}

struct node *node_up(struct node *node)
{
    return node && node_is_up(node) && !node->draining ? node : node_other(node);
}

void node_crash(struct node *node, enum crash crash)
{
    node->dead = true;
    /* A crash that is late leaves its writes with the database, which commits them as others. */
    if (crash == CRASH_NOW)
        database_forget_writes(node);
    streams_break(node);
    (void)node_up(NULL);
}

void node_pause(struct node *node, uint64_t ns)
{
    node->paused_until_ns = world->now_ns + ns;
    world->delays_ns += ns;
    (void)node_other(node);
}

void node_drain(struct node *node)
{
    node->draining = true;
    engine_drain(node->engine);
    (void)node_other(node);
}

void node_abandon(struct node *node)
{
    node_drain(node);
    engine_abandon(node->engine);
}

/* Releases the memory of a node. Its engine ends as in a server whose database is away: writes and reads
 * come back as failed until nothing is under way. Nothing that it still emits is seen. */
static void bury(struct node *node)
{
    struct loop *loop = engine_any_loop(node->engine);
    struct engine_stats stats;
    unsigned rounds = 0;

    node->dead = node->buried = true;
    world->running = node;
    engine_drain(node->engine);
    engine_abandon(node->engine);
    /* Each answer may cause the next task, which may write or read again. */
    do {
        assert(++rounds < 1000);
        loop_run_all(loop);
        database_return_writes(node);
        readings_return(node);
        tools_forget(node);
        engine_stats(node->engine, &stats);
    } while (stats.live || !database_is_done_with(node) || !streams_are_closed(node));
    hints_forget(node);
    grants_forget(node);
    end_renewal(node);
    engine_stop(node->engine);
    actor_leave(&node->keeper);
    engine_free(node->engine);
    node->engine = NULL;
}

/* ---- Steps ---- */

static void note_happened(struct actor *actor)
{
    uint64_t what = (uint64_t)actor->ops->thing << 32 | actor->number;

    world->hash = (world->hash ^ what) * 1099511628211u; /* FNV-1a, by words */
}

static void let_act(struct actor *actor)
{
    note_happened(actor);
    if (schedule_is_shown())
        world_note("%s %u%s%s", thing_name(actor->ops->thing), actor->number,
                   actor->node ? " of " : "", actor->node ? actor->node->id : "");
    actor->acted = world->steps;
    world->running = actor->node;
    actor->ops->act(actor);
    world->running = NULL;
}

/* Up to the next moment for which an actor waits. False when none does. */
static bool let_time_pass(void)
{
    uint64_t next = UINT64_MAX;

    for (size_t i = 0; i < world->actors.count; i++) {
        struct actor *actor = world->actors.list[i];
        uint64_t due = actor->ops->due ? actor->ops->due(actor) : UINT64_MAX;

        if (actor->node && actor->node->dead)
            continue;
        /* What is due on a paused node waits for the end of the pause. */
        if (actor->node && due < actor->node->paused_until_ns)
            due = actor->node->paused_until_ns;
        if (due < next)
            next = due;
    }
    if (database_is_away() && world->away_until_ns < next)
        next = world->away_until_ns;
    if (next == UINT64_MAX)
        return false;
    if (next > world->now_ns)
        world->now_ns = next;
    return true;
}

static void step(void)
{
    struct actor *actor = NULL;

    world->steps++;
    world->now_ns += NS_PER_MS;
    rules_check_quiet();
    grants_check();
    if (schedule_inject())
        return;
    actor = schedule_choose();
    if (actor)
        let_act(actor);
    else
        (void)let_time_pass();
    streams_check_gone();
}

static void check_patience(void)
{
    uint64_t limit =
        WORLD_BEGIN_NS + (uint64_t)WORLD_EXPIRY_US * 1000 + PATIENCE_NS + world->delays_ns;
    char text[256];

    if (world->steps < STEP_LIMIT && world->now_ns < limit)
        return;
    world_describe_unrest(text, sizeof(text));
    world_fail("the world never comes to rest: %s", text);
}

/* ---- From the first step to the last ---- */

static void begin(const struct scenario *scenario, const struct schedule *schedule)
{
    world = mem_new(struct world);
    world->scenario = scenario;
    world->schedule = schedule;
    world->random = schedule->seed * 2654435761u + 88172645463325252u;
    world->now_ns = WORLD_BEGIN_NS;
    world->hash = 14695981039346656037u;
    world->database = database_new();
    world->grants = mem_new(struct grants);
    clients_join(node_boot());
}

static void end(void)
{
    for (unsigned i = 0; i < world->node_count; i++) {
        if (!world->nodes[i].buried)
            bury(&world->nodes[i]);
    }
    clients_free();
    streams_free();
    executions_free();
    database_free(world->database);
    free(world->grants);
    free(world->actors.list);
    free(TAKE(world));
}

uint64_t world_play(const struct scenario *scenario, const struct schedule *schedule,
                    unsigned *ret_steps)
{
    uint64_t hash;

    begin(scenario, schedule);
    while (!world_is_at_rest()) {
        step();
        check_patience();
    }
    world_check_rules();
    hash = world->hash;
    if (ret_steps)
        *ret_steps = world->steps;
    end();
    return hash;
}

/* ---- The keeper ---- */

static uint64_t keeper_due(struct actor *actor)
{
    const struct node *node = CONTAINER_OF(actor, struct node, keeper);
    uint64_t due = node->renewal ? 0 : node->renew_ns;

    if (node->claim_ns < due)
        due = node->claim_ns;
    if (node->look_ns < due)
        due = node->look_ns;
    return node->foreground_ns < due ? node->foreground_ns : due;
}

static bool keeper_is_due(struct actor *actor)
{
    return keeper_due(actor) <= world->now_ns;
}

/* After a gap of two rounds the database was away, or the node stood still. Other nodes may not have
 * renewed either, so this one claims nothing of theirs for the time of a lease. */
static void note_renewed(struct node *node)
{
    if (node->renewed_ns && world->now_ns - node->renewed_ns > WORLD_LEASE_NS / 3 * 2)
        node->steady_ns = world->now_ns;
    node->renewed_ns = world->now_ns;
}

static bool is_fresh(const struct node *node)
{
    return node->renewed_ns && world->now_ns - node->renewed_ns <= WORLD_LEASE_NS / 3 * 2;
}

static bool is_steady(const struct node *node)
{
    return is_fresh(node) && world->now_ns - node->steady_ns >= WORLD_LEASE_NS;
}

static void obey(struct node *node, const struct engine_lease *lease, enum lease_state state)
{
    if (state == LEASE_LOST)
        engine_lease_lost(node->engine, lease);
    else if (state == LEASE_CANCEL_REQUESTED)
        engine_cancel(node->engine, lease->run_id);
}

static void poll_approvals(struct node *node)
{
    AUTO_FREE struct engine_holder *holders = NULL;
    size_t count = engine_holding(node->engine, &holders);

    for (size_t i = 0; i < count; i++) {
        const char *project = holders[i].project, *id = holders[i].run_id;
        bool answered = false;

        if (store_approvals_answered(&node->store, &project, &id, 1, &answered, NULL))
            return;
        if (answered)
            (void)engine_check_approvals(node->engine, id);
    }
}

/* The leases of a node as they were listed, and what the store has answered about them. */
struct renewal {
    struct engine_lease *leases;
    size_t count;
    const char **ids;
    int64_t *fences;
    enum lease_state *states;
};

static void end_renewal(struct node *node)
{
    struct renewal *renewal = TAKE(node->renewal);

    if (!renewal)
        return;
    free(renewal->leases);
    free(renewal->ids);
    free(renewal->fences);
    free(renewal->states);
    free(renewal);
}

bool node_renew(struct node *node)
{
    struct renewal *renewal;

    if (node->renewal)
        return false;
    renewal = node->renewal = mem_new(struct renewal);
    renewal->count = engine_leases(node->engine, &renewal->leases);
    renewal->ids = mem_new_array(const char *, renewal->count + 1);
    renewal->fences = mem_new_array(int64_t, renewal->count + 1);
    renewal->states = mem_new_array(enum lease_state, renewal->count + 1);
    for (size_t i = 0; i < renewal->count; i++) {
        renewal->ids[i] = renewal->leases[i].run_id;
        renewal->fences[i] = renewal->leases[i].fence;
    }
    if (store_leases_renew(&node->store, renewal->ids, renewal->fences, renewal->count,
                           renewal->states, NULL))
        end_renewal(node);
    else
        note_renewed(node);
    return true;
}

/* In a later step than the store's answer: the keeper is a thread of its own, and a run may have given its
 * lease back and returned under another fence in between. */
static void take_renewal(struct node *node)
{
    const struct renewal *renewal = node->renewal;
    size_t given_back;

    for (size_t i = 0; i < renewal->count; i++)
        obey(node, &renewal->leases[i], renewal->states[i]);
    poll_approvals(node);
    if (is_steady(node))
        (void)!store_leases_give_back(&node->store, renewal->ids, renewal->count, &given_back,
                                      NULL);
    end_renewal(node);
}

void node_take_over(struct node *node, struct run_load *load)
{
    struct run_start start = {.arrival = ARRIVAL_CLAIMED};

    if (recover_load(&node->store, world_face(load->run.face), load, NULL)) {
        run_load_clear(load);
        return;
    }
    start.load = *load;
    memset(load, 0, sizeof(*load));
    engine_run(node->engine, &start);
}

static enum claim_scope scope_of(const struct node *node)
{
    return is_steady(node) ? CLAIM_ALL : CLAIM_LEFT;
}

static void claim(struct node *node)
{
    AUTO_FREE struct run_load *loads = NULL;
    size_t count = 0;

    if (node->draining || !is_fresh(node))
        return;
    if (store_runs_claim(&node->store, scope_of(node), 8, 100, &loads, &count, NULL))
        return;
    for (size_t i = 0; i < count; i++)
        node_take_over(node, &loads[i]);
}

static void fail_foreground(struct node *node)
{
    size_t count;

    if (is_fresh(node))
        (void)!store_runs_fail_foreground(&node->store, scope_of(node), &count, NULL);
}

static bool is_due(uint64_t *due_ns, uint64_t every_ns)
{
    if (world->now_ns < *due_ns)
        return false;
    *due_ns = world->now_ns + every_ns;
    return true;
}

static void perform_duties(struct actor *actor)
{
    struct node *node = CONTAINER_OF(actor, struct node, keeper);

    if (node->renewal)
        take_renewal(node);
    if (is_due(&node->renew_ns, WORLD_LEASE_NS / 3))
        (void)node_renew(node);
    if (is_due(&node->claim_ns, WORLD_LEASE_NS / 15))
        claim(node);
    if (is_due(&node->foreground_ns, WORLD_LEASE_NS))
        fail_foreground(node);
    if (is_due(&node->look_ns, WORLD_LEASE_NS / 3))
        grants_look_again(node);
}

const struct actor_ops keeper_ops = {
    .thing = THING_KEEPER,
    .is_ready = keeper_is_due,
    .act = perform_duties,
    .due = keeper_due,
};
