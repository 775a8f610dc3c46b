#ifndef RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_SCENARIO_H
#define RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_SCENARIO_H

#include <stdbool.h>

#include "core/store/rows.h"
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
    unsigned flags; /* enum run_flags */
    const char *config;
    const struct piece *turns[SCENARIO_TURNS]; /* the last one again where there are no more */
    bool submits; /* the client answers the calls of its own functions */
    bool
        decides; /* questions of an Assistants run are answered one by one, by way of the list */
    enum decision decision;
    struct effect effects[SCENARIO_EFFECTS];
    const char *says;       /* the answer; NULL: there is none */
    enum run_status ending; /* when nothing goes wrong */
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
