#ifndef RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_WORLD_MODEL_H
#define RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_WORLD_MODEL_H

#include "core/model/model.h"
#include "tests/unit/core/run/engine/world.h"

/*
 * world_model.h -- core/model/model.h without an upstream: the model's answers are the scenario's, piece
 * by piece, each a step of the world.
 */

enum piece_kind {
    PIECE_END, /* the turn is over */
    PIECE_TEXT,
    PIECE_REASONING,
    PIECE_CALL,
};

struct piece {
    enum piece_kind kind;
    const char *text; /* of a call: its arguments */
    const char *name; /* of a call: the tool; otherwise NULL */
    const char *id;   /* of a call: its id; otherwise NULL */
};

/* The only upstream. It has every model, and speaks the dialect "chat". */
extern const struct model_upstream world_upstream;

/* One turn that is under way fails, as if its connection broke. False: no turn is under way. */
bool model_break(void);

#endif
