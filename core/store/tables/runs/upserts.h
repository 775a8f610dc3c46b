#ifndef RUNNEL_CORE_STORE_TABLES_RUNS_UPSERTS_H
#define RUNNEL_CORE_STORE_TABLES_RUNS_UPSERTS_H

#include <stdint.h>

#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/pg/batch.h"

/*
 * upserts.h -- rows on their way into the database, many at once.
 *
 * A batch is filled with foo_add() and becomes the parameters of a statement:
 *   _insert  the rows are new, and nobody else writes for their run
 *   _put     inserted, or replaced by key; only for a run whose lease has the fence that was
 *            added with the row. Fence 0 asks nothing: the run was made in the same write
 */

/* True when the row of unnest() `u` may be written. A subquery for each row, and not a join: with
 * fence 0 it is not asked. */
#define PUT_FENCE_HOLDS                                                                  \
    "(u.fence = 0 OR EXISTS (SELECT FROM run_leases l WHERE l.project_id = u.project_id" \
    " AND l.run_id = u.owner_run AND l.fence = u.fence))"

/* For whom a row is written. */
struct put_owner {
    const struct tenant *tenant;
    const char *run_id;
    int64_t fence;
};

extern const struct db_statement runs_insert;
extern const struct db_statement runs_put; /* leaves a run alone that is there */
void run_add(struct batch *batch, const struct run_row *run);

/* Their last two parameters, after the batch: the owner, and how long, in microseconds. */
extern const struct db_statement leases_insert;
extern const struct db_statement leases_put; /* leaves a lease alone that is there */
void lease_add(struct batch *batch, const struct run_row *run, int64_t last_seq);

extern const struct db_statement items_insert;
extern const struct db_statement items_put;
void item_add(struct batch *batch, const struct put_owner *owner, const struct item_row *item);

/* What a response made becomes its conversation's, behind what is there. */
extern const struct db_statement items_append;
void append_add(struct batch *batch, const struct put_owner *owner, const char *thread_id);

extern const struct db_statement steps_put;
void step_add(struct batch *batch, const struct put_owner *owner, const struct step_row *step);

extern const struct db_statement calls_put;
void call_add(struct batch *batch, const struct put_owner *owner, const struct call_row *call);

/* An answer that is there already stays. */
extern const struct db_statement approvals_put;
void approval_add(struct batch *batch, const struct put_owner *owner,
                  const struct approval_row *approval);

/* A chunk of the log. */
struct log_chunk {
    int64_t run_created_at; /* needed with fence 0 only */
    int64_t first_seq, last_seq;
    const char *bytes;
    size_t length;
    bool pause; /* stored only if the run waits for its client */
};
extern const struct db_statement events_insert;
extern const struct db_statement events_put;
void event_add(struct batch *batch, const struct put_owner *owner,
               const struct log_chunk *chunk);

#endif
