#ifndef RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_SCENARIO_H
#define RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_SCENARIO_H

#include <stdbool.h>

#include "core/domain/rows.h"
#include "tests/unit/core/run/engine/world_model.h"

/*
 * scenario.h -- one run: the request, the model's answers, what the client does, and how it ends when
 * nothing goes wrong.
 *
 * A scenario has no order and no incidents: schedule.h has those. All scenarios are constant tables.
 */

#define SCENARIO_TURNS   3
#define SCENARIO_EFFECTS 4

/* What the person decides who is asked for an approval. */
enum decision {
    DECISION_NONE, /* no decision comes */
    DECISION_APPROVE,
    DECISION_REJECT,
};

/* When a person elsewhere grants what the plan of a call asks: world_grants.h. */
enum granting_time {
    GRANT_NEVER,
    GRANT_BESIDE, /* when the call beside it begins: the grant and the question meet on their way to the store */
    GRANT_ASKED, /* when the question is stored */
};

/* A call whose handler has an effect: it is executed once when nothing goes wrong. */
struct effect {
    const char *key;  /* its argument `key`, unique in the run; NULL ends the list */
    const char *tool; /* the handler's name */
};

struct scenario {
    const char *name;
    enum row_face face;
    unsigned flags;    /* enum run_flags */
    bool conversation; /* a response in one: it is stored before it comes to its loop */
    const char *config;
    const struct piece *turns[SCENARIO_TURNS]; /* the last one is repeated */
    bool reads;       /* a call reads a variable before its policy is known */
    unsigned clients; /* each makes a run of its own, at the same time; 0: one */
    size_t slots;     /* runs at work on one node at once; 0: any number */

    /* What the client does. */
    bool submits; /* it submits the outputs of its own functions */
    bool decides; /* it decides approval requests one by one, through /v1/runnel/approvals */
    bool asks;    /* a call needs an approval */
    enum decision decision;
    enum granting_time grants;

    /* The result when nothing goes wrong. */
    struct effect effects[SCENARIO_EFFECTS];
    const char *says; /* part of the last message; NULL: it makes no message */
    enum run_status ending;
};

/* The model's answer number `number`, from 0. */
const struct piece *scenario_turn(const struct scenario *scenario, size_t number);
/* NULL: no scenario has that name. */
const struct scenario *scenario_find(const char *name);

/* All scenarios, a list for each test program. Each list ends with NULL. */
extern const struct scenario *const foreground_scenarios[];
extern const struct scenario *const held_scenarios[];
extern const struct scenario *const background_scenarios[];
extern const struct scenario *const run_scenarios[];
extern const struct scenario *const waiting_scenarios[];

#endif
