#ifndef RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_WORLD_MODEL_H
#define RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_WORLD_MODEL_H

#include "core/model/model.h"
#include "tests/unit/core/run/engine/world.h"

/*
 * world_model.h -- core/model/model.h without an upstream: what the model says is the scenario's, piece
 * by piece, each a step of the world.
 *
 * A model remembers nothing. Which turn it is, the request says: as many assistant messages with
 * calls as it has, so many turns are over. Every request is checked as an upstream would check it:
 * each call has exactly one output, right behind it.
 */

enum piece_kind {
    PIECE_END, /* of the turn */
    PIECE_TEXT,
    PIECE_REASONING,
    PIECE_CALL,
};

struct piece {
    enum piece_kind kind;
    const char *text; /* of a call: its arguments */
    const char *name; /* of a call: the tool, */
    const char *id;   /* and its id */
};

extern const struct model_upstream world_upstream;

/* The model of some turn that is under way breaks down; false when none is. */
bool model_break(void);

#endif
