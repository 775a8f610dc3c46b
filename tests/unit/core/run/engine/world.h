#ifndef RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_WORLD_H
#define RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/net/loop.h"
#include "core/run/engine/engine.h"
#include "core/store/cluster/log_reader.h"
#include "core/store/store.h"
#include "core/tool/executor.h"

/*
 * world.h -- a world of one thread, in which the engine runs and a test decides what happens next.
 *
 * The engine is linked against this folder instead of what lies below it. The loop, the clock, the
 * store, the model and the executor have the same headers and other bodies. All that could happen next
 * is an actor: a loop with a task, a write that the database could commit, a piece of the model's
 * answer, a step of a handler, a client. One step of the world lets one ready actor act. Nothing else
 * moves.
 *
 * Time. Each step takes a millisecond. When no actor is ready, time jumps to the next moment for which
 * one waits.
 *
 * There is one world at a time, and the bodies find it here. Only one thread may use it.
 */

/* Nodes that one world may ever have, the dead ones included. */
#define WORLD_NODES 6

/* How long a lease lasts, and how much time a run is given. */
#define WORLD_LEASE_NS  (15 * NS_PER_SECOND)
#define WORLD_EXPIRY_US (60 * US_PER_SECOND)

/* What kind of thing an actor does. A schedule ranks kinds (schedule.h). */
enum thing {
    THING_TASK,   /* a loop runs the next task of its inbox */
    THING_TIMER,  /* a loop fires a timer */
    THING_COMMIT, /* the database commits a write */
    THING_REPORT, /* a finished write or read is posted back to its loop */
    THING_READ,   /* the log reader reads */
    THING_MODEL,  /* the model sends the next piece */
    THING_TOOL,   /* a handler does its next step */
    THING_HINT,   /* a node receives a wake-up of another */
    THING_CLIENT,
    THING_KEEPER,
    THING_COUNT
};
const char *thing_name(enum thing thing);

struct actor;
struct node;

struct actor_ops {
    enum thing thing;
    bool (*is_ready)(struct actor *actor); /* NULL: always */
    void (*act)(struct actor *actor);
    /* The moment at which time alone makes it ready; UINT64_MAX: none is set. NULL: it never waits for
     * time. */
    uint64_t (*due)(struct actor *actor);
};

struct actor {
    const struct actor_ops *ops;
    struct node *node; /* it acts only while this node is up; NULL: it needs no node */
    unsigned number;   /* in the order in which actors joined */
    unsigned acted;    /* the step in which it acted last */
};

struct actor_list {
    struct actor **list;
    size_t count, room;
};

/* The engine knows these by pointer only. Here each says which node is calling. */
struct store {
    struct node *node;
};
struct log_reader {
    struct node *node;
};
struct tool_executor {
    struct node *node;
};

/* One server. */
struct node {
    unsigned number;
    char id[2 * ID_SIZE]; /* "node_a/boot_a": the owner of its leases */
    struct store store;
    struct log_reader reader;
    struct tool_executor executor;
    struct engine *engine;
    bool dead;   /* crashed: nothing that it does has an effect any more */
    bool buried; /* and its memory was released */
    bool draining;
    uint64_t paused_until_ns; /* 0: it is awake */

    struct actor keeper;
    uint64_t renew_ns, claim_ns, foreground_ns, look_ns; /* when its duties are due */
    uint64_t renewed_ns, steady_ns;                      /* as in server/keeper.c */
    struct renewal *renewal; /* what the store has answered to it; NULL: nothing is under way */
};

struct scenario;
struct schedule;
struct database;
struct grants;
struct client;
struct stream;
struct execution;
struct renewal;

/* Clients, each with a run of its own. */
#define WORLD_CLIENTS 2

struct world {
    const struct scenario *scenario;
    const struct schedule *schedule;
    uint64_t random; /* of a schedule in random order */
    uint64_t now_ns;
    unsigned steps;
    unsigned births;
    uint64_t hash;     /* of all that has happened, in order */
    unsigned injected; /* how many of the schedule's incidents were due */
    struct actor_list actors;
    struct node nodes[WORLD_NODES];
    unsigned node_count;
    struct node *booting; /* whose engine is being made */
    struct node *running; /* whose loop is at work */
    struct database *database;
    struct grants *grants;
    struct client *clients[WORLD_CLIENTS];
    unsigned client_count;
    struct stream *streams;
    struct execution *executions;
    uint64_t away_until_ns; /* the database cannot be reached until then */
    uint64_t delays_ns;     /* sum of the times for which nodes or the database stood still */
    unsigned lose_answers; /* of the next writes that are committed, so many answers get lost */
    unsigned refuse_writes; /* the database refuses so many of the next writes */
    unsigned refused;       /* writes that it has refused */
    unsigned fail_calls;    /* so many of the next calls of the store fail, without an effect */
    unsigned forget_calls;  /* so many have their effect, and the answer gets lost */
    uint32_t incidents;     /* those that have happened: bits, 1 << enum incident */
};

extern struct world *world;

/* Plays one schedule from the first request until nothing is left to do, and checks the rules. Returns
 * the hash of what happened: the same schedule always has the same. */
uint64_t world_play(const struct scenario *scenario, const struct schedule *schedule,
                    unsigned *ret_steps);

/* Fails the test with this message, and prints the schedule as RUNNEL_SCHEDULE takes it. */
void world_fail(const char *format, ...) PRINTF_LIKE(1, 2) NO_RETURN;
#define world_expect(condition, ...) \
    do {                             \
        if (!(condition))            \
            world_fail(__VA_ARGS__); \
    } while (0)

/* A line about what happens. Printed when RUNNEL_SCHEDULE is set. */
void world_note(const char *format, ...) PRINTF_LIKE(1, 2);

/* 0 to limit - 1, from the seed of the schedule. */
uint64_t world_random_below(uint64_t limit);

/* ---- Actors ---- */

/* An actor is part of a struct of the caller's, and must leave before that is freed. */
void actor_join(struct actor *actor, const struct actor_ops *ops, struct node *node);
void actor_leave(struct actor *actor);
bool actor_is_ready(struct actor *actor);

/* ---- Nodes ---- */

struct node *node_boot(void);
bool node_is_up(const struct node *node); /* neither dead nor paused */

/* A node other than `node` that is up and does not drain. It is booted if the world has none. */
struct node *node_other(const struct node *node);
/* `node` itself if it is up and does not drain; otherwise another. NULL is fine. */
struct node *node_up(struct node *node);

/* The power is cut. Connections break. Writes that are not committed are lost or, with CRASH_LATE, reach
 * the database some time later. */
enum crash { CRASH_NOW, CRASH_LATE };
void node_crash(struct node *node, enum crash crash);
/* The whole node stands still and then continues, as under a debugger or a frozen disk. */
void node_pause(struct node *node, uint64_t ns);
void node_drain(struct node *node);
void node_abandon(struct node *node);

/* The keeper renews the leases of its node now, before that is due. False: it does so already. */
bool node_renew(struct node *node);

/* The duties of server/keeper.c. */
extern const struct actor_ops keeper_ops;
/* Recovers a run that the node has claimed and hands it to its engine. If the store fails, the run is
 * left to its lease. Takes what *load owns. */
void node_take_over(struct node *node, struct run_load *load);
const struct face *world_face(enum row_face face);

/* Whether the database can be reached, and making it unreachable for a time. */
bool database_is_away(void);
void database_go_away(uint64_t ns);

/* ---- The other files ---- */

/* world_loop.c */
struct node *loop_node(const struct loop *loop);
bool loop_has_task(const struct loop *loop);
bool loop_is_empty(const struct loop *loop); /* neither tasks nor timers */
/* No task, and no timer that is due soon: nothing waits to be written. */
bool loop_is_quiet(const struct loop *loop);
void loop_run_all(struct loop *loop); /* runs the tasks of a node that is buried */

/* world_rules.c */
/* Nothing is left to do: all clients have what they want, all runs have ended, all is written. */
bool world_is_at_rest(void);
/* What is left to do, for the message of a world that never rests. */
void world_describe_unrest(char *ret_text, size_t size);
/* The rules that can be checked in the end only. */
void world_check_rules(void);
/* The rules of calls that have begun, when nothing else happens before the next step. */
void rules_check_quiet(void);
/* The rules of a call, in the step in which its handler begins. */
void rules_check_begin(const struct tool_handler *handler, const char *run_id, const char *key);

/* world_store.c: whether a call fails before it has an effect, or its answer gets lost behind it */
bool store_call_fails(const struct store *store);
bool store_call_is_forgotten(void);
/* reads and wake-ups of a node that is buried */
void readings_return(struct node *node);
void hints_forget(struct node *node);

#endif
