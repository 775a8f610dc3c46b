#ifndef RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_WORLD_GRANTS_H
#define RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_WORLD_GRANTS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/store/writer/writer.h"
#include "tests/unit/core/run/engine/world_database.h"

/*
 * world_grants.h -- the one grant of this world, which covers all that a plan may ask.
 *
 * As core/store/tables/approvals/approval_cover.c has it. A person makes the grant elsewhere, in three steps: the
 * questions that it covers are found, it is committed with them, and then it looks again. A question looks for the
 * grant when it is committed. What is owed such a check is noted with the commit, and keepers make up for it.
 */

struct grants {
    bool made;
    bool looks;                    /* it owes a check at the questions */
    bool owed[DATABASE_APPROVALS]; /* questions that owe a check at the grant, by their place */
    bool under_way;                /* a person is making it */
    /* Since when a client's run waits beside it; 0: it does not. */
    uint64_t beside_ns[WORLD_CLIENTS];
};

/* A person makes the grant through this node. False: it was made, or is being made. */
bool grant_begin(struct node *node);
/* The question at this place was stored. */
void grants_note_question(size_t place);
/* The writer looks before it reports the write. */
void grants_look_for(struct node *node, const struct run_write *write);
/* The keeper's duty: all checks that are owed. */
void grants_look_again(struct node *node);
/* What a buried node was doing. */
void grants_forget(struct node *node);
/* A run that waits for what is granted continues within seconds. In every step. */
void grants_check(void);

#endif
