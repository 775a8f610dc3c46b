#ifndef RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_WORLD_TOOLS_H
#define RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_WORLD_TOOLS_H

#include "tests/unit/core/run/engine/world.h"

/*
 * world_tools.h -- core/tool/executor.h without threads, and the handlers of this world.
 *
 * Each call is an actor. A handler of the engine's own (one that asks the store) runs in one step.
 * One of the world's runs in several: it begins, which is when it has its effect, says what its
 * call's `say` is, a letter a step, and ends. Channel and calls are the real ones.
 *
 *   t  a text        s  a stage        m  metadata
 */

/* The effect of a call: what a test counts. */
struct execution {
    struct execution *next;
    char run_id[ID_SIZE];
    char key[24]; /* the argument `key` of the call, which no other of the run has */
    unsigned begun, ended;
};

/* NULL: it was never begun. */
const struct execution *execution_of(const char *run_id, const char *key);
void executions_free(void);

/* Once, before the first world. */
void tools_register(void);

/* Whether a person is asked before such a tool runs; whether it may run again after a crash. */
bool tool_asks(const char *name);
bool tool_repeats(const char *name);

/* Of a node that is buried: nobody runs its calls. */
void tools_forget(struct node *node);

/* A handler under way is late: the timekeeper ends its call. False when none is. */
bool tools_time_out(void);

bool tools_are_idle(void); /* on nodes that live */

#endif
