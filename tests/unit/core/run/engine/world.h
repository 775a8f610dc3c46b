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
 * The engine is linked against this folder instead of what lies below it: the loop, the clock, the
 * store, the model and the executor have the same headers and other bodies. Whatever could happen
 * next is an actor: a loop that has a task, a write that the database could commit, a chunk of the
 * model, a step of a handler, a client. A step lets one ready actor act. Nothing else moves; time
 * passes a little with every step, and up to the next moment that somebody waits for when nobody
 * can act.
 *
 * There is one world at a time, and the bodies find it here.
 */

#define WORLD_NODES 6

/* How long a node may act for a run without renewing its lease, and how long a run may take. */
#define WORLD_LEASE_NS  (15 * NS_PER_SECOND)
#define WORLD_EXPIRY_US (60 * US_PER_SECOND)

enum thing {
    THING_TASK,   /* a loop runs the next task of its inbox */
    THING_TIMER,  /* a loop fires a timer */
    THING_COMMIT, /* the database commits a write */
    THING_REPORT, /* the writer posts it back to its loop */
    THING_READ,   /* the log reader answers */
    THING_MODEL,  /* the model says the next piece */
    THING_TOOL,   /* a handler does its next step */
    THING_HINT,   /* one node hears another */
    THING_CLIENT,
    THING_KEEPER,
    THING_COUNT
};
const char *thing_name(enum thing thing);

struct actor;
struct node;

struct actor_ops {
    enum thing thing;
    bool (*is_ready)(struct actor *actor);
    void (*act)(struct actor *actor);
    /* When the mere passing of time makes it ready; UINT64_MAX: never. NULL: it does not wait for
     * time. */
    uint64_t (*due)(struct actor *actor);
};

struct actor {
    const struct actor_ops *ops;
    struct node *node; /* acts only while this one lives and is awake; NULL: whatever happens */
    unsigned number;   /* in the order of birth */
    unsigned acted;    /* the step in which it acted last */
};

struct actor_list {
    struct actor **list;
    size_t count, room;
};

/* What core/store, core/tool and core/net call so, as this world has them. */
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
    bool dead;   /* nothing that it does is seen any more */
    bool buried; /* and its memory was released */
    bool draining;
    uint64_t paused_until_ns; /* 0: it is awake */

    struct actor keeper;
    uint64_t renew_ns, claim_ns, foreground_ns; /* when its duties are due */
    uint64_t renewed_ns, steady_ns;             /* as server/keeper.c has them */
};

struct scenario;
struct schedule;
struct database;
struct client;
struct stream;
struct execution;

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
    struct client *clients[WORLD_CLIENTS];
    unsigned client_count;
    struct stream *streams;
    struct execution *executions;
    uint64_t away_until_ns; /* of the database; 0: it is there */
    uint64_t delays_ns;     /* for how long nodes and database stood still, together */
    unsigned lose_answers;  /* so many commits of writes happen, and nobody hears of it */
    unsigned refuse_writes; /* so many writes are refused */
    unsigned refused;       /* writes that were */
    unsigned fail_calls;    /* so many calls of the store fail before they have an effect */
    unsigned forget_calls;  /* and so many after */
    uint32_t incidents;     /* enum incident, as bits: those that have happened */
};

extern struct world *world;

/* Plays one schedule from the first request until everything has come to rest, and checks the
 * rules. Returns the hash of what happened. */
uint64_t world_play(const struct scenario *scenario, const struct schedule *schedule,
                    unsigned *ret_steps);

/* Says which schedule it is, how one sees it again, and fails the test. */
void world_fail(const char *format, ...) PRINTF_LIKE(1, 2) NO_RETURN;
#define world_expect(condition, ...) \
    do {                             \
        if (!(condition))            \
            world_fail(__VA_ARGS__); \
    } while (0)

/* A line of what happens, where one schedule is looked at. */
void world_note(const char *format, ...) PRINTF_LIKE(1, 2);

uint64_t world_random_below(uint64_t limit);

/* ---- Actors ---- */

void actor_join(struct actor *actor, const struct actor_ops *ops, struct node *node);
void actor_leave(struct actor *actor);
bool actor_is_ready(struct actor *actor);

/* ---- Nodes ---- */

struct node *node_boot(void);
bool node_is_up(const struct node *node); /* lives and is awake */

/* One that is up, other than `node` if there is one; made when there is none. */
struct node *node_other(const struct node *node);
/* `node`, or another if that is not up. */
struct node *node_up(struct node *node);

/* Its power is cut. Its connections break, and its writes that are not committed are lost or, with
 * CRASH_LATE, reach the database some time later. */
enum crash { CRASH_NOW, CRASH_LATE };
void node_crash(struct node *node, enum crash crash);
void node_pause(struct node *node, uint64_t ns);
void node_drain(struct node *node);
void node_abandon(struct node *node);

/* The keeper's parts, see server/keeper.c. */
extern const struct actor_ops keeper_ops;
/* The engine has the run that was claimed, or it is left to its lease. */
void node_take_over(struct node *node, struct run_load *load);
const struct face *world_face(enum row_face face);

/* The database, for so long. */
bool database_is_away(void);
void database_go_away(uint64_t ns);

/* ---- The other files ---- */

/* world_loop.c */
struct node *loop_node(const struct loop *loop);
bool loop_is_empty(const struct loop *loop);
void loop_run_all(struct loop *loop); /* of a node that is buried */

/* world_rules.c */
bool world_is_at_rest(void);
void world_describe_unrest(char *ret_text, size_t size);
void world_check_rules(void);
void rules_check_begin(const struct tool_handler *handler, const char *run_id, const char *key);

/* world_store.c: what a buried node has asked for */
void readings_return(struct node *node);
void hints_forget(struct node *node);

#endif
