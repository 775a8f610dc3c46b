#ifndef RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_SCENARIO_H
#define RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_SCENARIO_H

#include <stdbool.h>

#include "core/domain/rows.h"
#include "tests/unit/core/run/engine/world_model.h"

/*
 * scenario.h -- one run: what is asked for, what the model says, what the client does, and what comes
 * of it when nothing goes wrong.
 */

#define SCENARIO_TURNS   3
#define SCENARIO_EFFECTS 4

/* What is said to questions. */
enum decision {
    DECISION_NONE, /* nobody is there */
    DECISION_APPROVE,
    DECISION_REJECT,
};

struct effect {
    const char *key;  /* of the call; NULL: there are no more */
    const char *tool; /* the handler's name */
};

struct scenario {
    const char *name;
    enum row_face face;
    unsigned flags;    /* enum run_flags */
    bool conversation; /* a response in one: it is in the store before its loop hears of it */
    const char *config;
    const struct piece *turns[SCENARIO_TURNS]; /* the last one again where there are no more */
    bool reads;       /* a call reads a variable before anything is decided about it */
    unsigned clients; /* who do this at the same time; 0: one */
    size_t slots;     /* runs at work on one node at once; 0: any number */

    /* What the client does. */
    bool submits; /* it answers the calls of its own functions */
    bool decides; /* it answers questions of a run one by one, by way of their list */
    bool asks;    /* it is asked */
    enum decision decision;

    /* What comes of it when nothing goes wrong. */
    struct effect effects[SCENARIO_EFFECTS];
    const char *says; /* the answer; NULL: there is none */
    enum run_status ending;
};

const struct piece *scenario_turn(const struct scenario *scenario, size_t number);
const struct scenario *scenario_find(const char *name);

/* All there are; each list ends with NULL. */
extern const struct scenario *const foreground_scenarios[];
extern const struct scenario *const held_scenarios[];
extern const struct scenario *const background_scenarios[];
extern const struct scenario *const run_scenarios[];
extern const struct scenario *const waiting_scenarios[];

#endif
