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
 *
 *   _insert          the rows are new, and nothing else writes for their run
 *   _insert_missing  rows that exist stay as they are
 *   _upsert          inserted, or replaced by key
 *
 * An upsert, and each statement about events, writes only for a run whose lease has the fence
 * that was added with the row. Fence 0 asks for no lease: the run was made by the same write.
 */

/* True when the row of unnest() `u` may be written. A subquery for each row, and not a join:
 * with fence 0 there is no look at leases. */
#define UPSERT_FENCE_HOLDS                                                               \
    "(u.fence = 0 OR EXISTS (SELECT FROM run_leases l WHERE l.project_id = u.project_id" \
    " AND l.run_id = u.owner_run AND l.fence = u.fence))"

/* The run that a row is written for, and the fence of its lease. */
struct row_owner {
    const struct tenant *tenant;
    const char *run_id;
    int64_t fence;
};

extern const struct db_statement runs_insert;
extern const struct db_statement runs_insert_missing;
void run_add(struct batch *batch, const struct run_row *run);

/* Their last two parameters, after the batch: the owner, and the length of the lease in
 * microseconds. */
extern const struct db_statement leases_insert;
extern const struct db_statement leases_insert_missing;
void lease_add(struct batch *batch, const struct run_row *run, int64_t last_seq);

extern const struct db_statement items_insert;
extern const struct db_statement items_upsert;
void item_add(struct batch *batch, const struct row_owner *owner, const struct item_row *item);

/* Adds the items of a response to its conversation, behind the items there. */
extern const struct db_statement items_append;
void append_add(struct batch *batch, const struct row_owner *owner, const char *thread_id);

extern const struct db_statement steps_upsert;
void step_add(struct batch *batch, const struct row_owner *owner, const struct step_row *step);

extern const struct db_statement calls_upsert;
void call_add(struct batch *batch, const struct row_owner *owner, const struct call_row *call);

/* A question that was decided keeps its answer. */
extern const struct db_statement approvals_upsert;
void approval_add(struct batch *batch, const struct row_owner *owner,
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
extern const struct db_statement events_insert_missing;
void event_add(struct batch *batch, const struct row_owner *owner,
               const struct log_chunk *chunk);

#endif
