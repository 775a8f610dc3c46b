#ifndef RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_WORLD_TOOLS_H
#define RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_WORLD_TOOLS_H

#include "tests/unit/core/run/engine/world.h"

/*
 * world_tools.h -- core/tool/executor.h without threads, and the handlers of this world.
 *
 * Each call is an actor. A handler of the engine's own, such as one that reads the store, runs in one
 * step. A handler of the world's runs in several: it begins, which is when it has its effect; it does
 * what the call's argument `say` says, a letter a step; and it ends. Channel and calls are the real
 * ones.
 *
 *   t  emits a text        s  emits a stage        m  sets metadata
 *   w  is silent for a while, in which all others come to rest
 */

/* How often the effect of a call has happened. */
struct execution {
    struct execution *next;
    char run_id[ID_SIZE];
    char key[24]; /* the argument `key` of the call, unique in its run */
    unsigned begun, ended;
    const struct node *node; /* where it ended; NULL: its end was not accepted there */
};

/* NULL: the call has never begun. */
const struct execution *execution_of(const char *run_id, const char *key);
void executions_free(void);

/* Makes the handlers known to the registry. Once, before the first world. */
void tools_register(void);

/* Whether the tool needs an approval; whether it may be executed again after a crash. */
bool tool_asks(const char *name);
bool tool_repeats(const char *name);

/* Frees the calls of a node that is buried. */
void tools_forget(struct node *node);

/* Ends one call whose handler has begun as timed out. False: no handler has begun. */
bool tools_time_out(void);

/* A handler of the run is at work on that node, and clients see its calls while they work. */
bool tools_are_seen(const char *run_id, const struct node *node);

/* No handler is at work on a node that lives. */
bool tools_are_idle(void);

#endif
