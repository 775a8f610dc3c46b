#ifndef RUNNEL_CORE_STORE_TABLES_COLUMNS_H
#define RUNNEL_CORE_STORE_TABLES_COLUMNS_H

#include "core/domain/rows.h"
#include "core/store/pg/db.h"

/*
 * columns.h -- which columns make a row, in which order, and how they become the struct.
 *
 * A statement selects FOO_COLUMNS, with the table under the alias that the macro names.
 * foo_read() then reads row `row` of the result, whose first columns these must be.
 * foo_rows_read() reads all rows; the caller frees the array with foo_rows_free().
 */

/* clang-format off */

/* FROM threads */
#define THREAD_COLUMNS "id, metadata, tool_resources, created_at, settings"

/* FROM runs r */
#define RUN_COLUMNS \
    "r.id, r.project_id, r.thread_id, r.assistant_id, r.parent_run_id, r.face, r.flags," \
    " r.status, r.cancel_requested, r.turn, r.attempts, r.config, r.metadata," \
    " r.required_action, r.usage, r.error, r.incomplete, r.created_at, r.started_at," \
    " r.expires_at, r.completed_at, r.failed_at, r.cancelled_at, r.incomplete_at"
#define RUN_COLUMN_COUNT 24

/* FROM items i */
#define ITEM_COLUMNS \
    "i.id, i.run_id, i.thread_id, i.step_id, i.assistant_id, i.position, i.input, i.hidden," \
    " i.turn, i.model_index, i.status, i.type, i.role, i.call_id, i.body, i.metadata," \
    " i.created_at, i.completed_at"

#define ITEM_STEP_ID      3 /* its index among them */
#define ITEM_COLUMN_COUNT 18

/* FROM run_steps s */
#define STEP_COLUMNS \
    "s.id, s.run_id, s.thread_id, s.assistant_id, s.type, s.status, s.turn, s.usage, s.error," \
    " s.created_at, s.completed_at, s.ended_at"

/* FROM tool_calls c */
#define CALL_COLUMNS \
    "c.run_id, c.call_id, c.item_id, c.step_id, c.turn, c.position, c.client, c.state, c.tool," \
    " c.arguments, c.output, c.attempts, c.resolved_arguments, c.extra_content"

/* FROM approvals a. A question has expired when its run no longer waits for it, when its
 * response waited for the answer itself and does so no more, or when its response ended badly:
 * then no run can use an answer. */
#define APPROVAL_RUN(statuses) \
    "EXISTS (SELECT FROM runs w WHERE w.project_id = a.project_id AND w.id = a.run_id" \
    " AND w.status IN (" statuses "))"
#define APPROVAL_RUN_FAILED APPROVAL_RUN("'failed', 'cancelled', 'expired'")
#define APPROVAL_STATUS \
    "CASE WHEN a.status = 'pending' AND CASE WHEN a.run_id LIKE 'run%' OR a.used_by = a.run_id" \
    " THEN NOT " APPROVAL_RUN("'queued', 'in_progress', 'requires_action'") \
    " ELSE " APPROVAL_RUN_FAILED " END THEN 'expired' ELSE a.status END"
#define APPROVAL_COLUMNS \
    "a.id, a.run_id, a.thread_id, a.call_id, a.server_label, a.tool, a.arguments, a.policy, " \
    APPROVAL_STATUS ", a.reason, a.used_by, a.created_at, a.decided_at, a.kind, a.details," \
    " a.definition, a.memory, a.extra_content"

/* clang-format on */

void thread_read(const struct db_rows *rows, size_t row, struct thread_row *ret_thread);
void run_read(const struct db_rows *rows, size_t row, struct run_row *ret_run);
void item_read(const struct db_rows *rows, size_t row, struct item_row *ret_item);
void step_read(const struct db_rows *rows, size_t row, struct step_row *ret_step);
void call_read(const struct db_rows *rows, size_t row, struct call_row *ret_call);

void approval_read(const struct db_rows *rows, size_t row, struct approval_row *ret_approval);

struct run_row *run_rows_read(const struct db_rows *rows, size_t *ret_count);
struct item_row *item_rows_read(const struct db_rows *rows, size_t *ret_count);
struct step_row *step_rows_read(const struct db_rows *rows, size_t *ret_count);
struct call_row *call_rows_read(const struct db_rows *rows, size_t *ret_count);
struct approval_row *approval_rows_read(const struct db_rows *rows, size_t *ret_count);

#endif
