#ifndef RUNNEL_CORE_RUN_TURN_UNWRITTEN_H
#define RUNNEL_CORE_RUN_TURN_UNWRITTEN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/domain/rows.h"
#include "core/store/writer/writer.h"

/*
 * unwritten.h -- what happened to a run since its last write began: the next one must carry it.
 *
 * The last state of each row waits. A row that is put twice is written once, at the place of the first.
 * Rows are copied when they are put. Belongs to the run, and so to its loop. Starts as zeros.
 */
struct unwritten {
    bool row; /* the run's own row has changed */
    struct item_row *items;
    size_t item_count;
    json_t *places; /* index of each item by its id; NULL: they are few, and searched */
    struct step_row *steps;
    size_t step_count;
    struct call_row *calls;
    size_t call_count;
    struct variable *variables;
    size_t variable_count;
    struct approval_row *approvals;
    size_t approval_count;
};

/* Frees everything; the struct may be used again. */
void unwritten_clear(struct unwritten *unwritten);
bool unwritten_is_empty(const struct unwritten *unwritten);

void unwritten_put_item(struct unwritten *unwritten, const struct item_row *row);
void unwritten_put_step(struct unwritten *unwritten, const struct step_row *row);
void unwritten_put_call(struct unwritten *unwritten, const struct call_row *row);
/* A variable and an approval request are put once each. Takes what the variable owns, and zeroes it. */
void unwritten_put_variable(struct unwritten *unwritten, struct variable *variable);
void unwritten_put_approval(struct unwritten *unwritten, const struct approval_row *row);

/* Hands all rows to the write, whose lists must be empty. Nothing is unwritten afterwards. */
void unwritten_move(struct unwritten *unwritten, struct run_write *write);

#endif
