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
    char key[24]; /* the argument `key` of the call, which no other has */
    unsigned begun, ended;
};

const struct execution *execution_of(const char *key); /* NULL: it was never begun */
void executions_free(void);

/* Once, before the first world. */
void tools_register(void);

/* Of a node that is buried: nobody runs its calls. */
void tools_forget(struct node *node);

/* A handler under way is late: the timekeeper ends its call. False when none is. */
bool tools_time_out(void);

bool tools_are_idle(void); /* on nodes that live */

#endif
