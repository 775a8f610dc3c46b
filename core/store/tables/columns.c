/*
 * Rows become structs, column by column.
 *
 * The macros FOO_COLUMNS of columns.h say which columns a statement selects, and the readers
 * here take them in that order, with a cursor instead of numbers. A column that is added goes to
 * the same place of both, and of the struct; the tests read back what they have written.
 *
 * SQL NULL becomes NULL, 0 or "", whichever the field's type has.
 */

#include "core/store/tables/columns.h"

#include "core/base/mem.h"

/* Reads the columns of a row one after another. */
struct cursor {
    const struct db_rows *rows;
    size_t row;
    int column;
};

static void next_id(struct cursor *cursor, char *ret_id, size_t size)
{
    db_id(cursor->rows, cursor->row, cursor->column++, ret_id, size);
}

static const char *next_text(struct cursor *cursor)
{
    return db_text(cursor->rows, cursor->row, cursor->column++);
}

static char *next_copy(struct cursor *cursor)
{
    return db_copy(cursor->rows, cursor->row, cursor->column++);
}

static int64_t next_int64(struct cursor *cursor)
{
    return db_int(cursor->rows, cursor->row, cursor->column++);
}

static int next_int(struct cursor *cursor)
{
    return (int)next_int64(cursor);
}

static bool next_bool(struct cursor *cursor)
{
    return db_bool(cursor->rows, cursor->row, cursor->column++);
}

#define NEXT_ID(cursor, field) next_id(cursor, field, sizeof(field))

void thread_read(const struct db_rows *rows, size_t row, struct thread_row *ret_thread)
{
    struct cursor c = {.rows = rows, .row = row};

    *ret_thread = (struct thread_row){0};
    NEXT_ID(&c, ret_thread->id);
    ret_thread->metadata = next_copy(&c);
    ret_thread->tool_resources = next_copy(&c);
    ret_thread->created_at = next_int64(&c);
    ret_thread->settings = next_copy(&c);
}

void run_read(const struct db_rows *rows, size_t row, struct run_row *ret_run)
{
    struct cursor c = {.rows = rows, .row = row};

    *ret_run = (struct run_row){0};
    NEXT_ID(&c, ret_run->id);
    NEXT_ID(&c, ret_run->project);
    NEXT_ID(&c, ret_run->thread_id);
    NEXT_ID(&c, ret_run->assistant_id);
    NEXT_ID(&c, ret_run->parent_id);
    ret_run->face = row_face_parse(next_text(&c));
    ret_run->flags = (unsigned)next_int(&c);
    ret_run->status = run_status_parse(next_text(&c));
    ret_run->cancel_requested = next_bool(&c);
    ret_run->turn = next_int(&c);
    ret_run->attempts = next_int(&c);
    ret_run->config = next_copy(&c);
    ret_run->metadata = next_copy(&c);
    ret_run->required_action = next_copy(&c);
    ret_run->usage = next_copy(&c);
    ret_run->error = next_copy(&c);
    ret_run->incomplete = next_copy(&c);
    ret_run->created_at = next_int64(&c);
    ret_run->started_at = next_int64(&c);
    ret_run->expires_at = next_int64(&c);
    ret_run->completed_at = next_int64(&c);
    ret_run->failed_at = next_int64(&c);
    ret_run->cancelled_at = next_int64(&c);
    ret_run->incomplete_at = next_int64(&c);
}

void item_read(const struct db_rows *rows, size_t row, struct item_row *ret_item)
{
    struct cursor c = {.rows = rows, .row = row};

    *ret_item = (struct item_row){0};
    NEXT_ID(&c, ret_item->id);
    NEXT_ID(&c, ret_item->run_id);
    NEXT_ID(&c, ret_item->thread_id);
    NEXT_ID(&c, ret_item->step_id);
    NEXT_ID(&c, ret_item->assistant_id);
    ret_item->position = next_int64(&c);
    ret_item->input = next_bool(&c);
    ret_item->hidden = next_bool(&c);
    ret_item->turn = next_int(&c);
    ret_item->model_index = next_int(&c);
    ret_item->status = item_status_parse(next_text(&c));
    item_row_set_type(ret_item, next_text(&c));
    NEXT_ID(&c, ret_item->role);
    NEXT_ID(&c, ret_item->call_id);
    ret_item->body = next_copy(&c);
    ret_item->metadata = next_copy(&c);
    ret_item->created_at = next_int64(&c);
    ret_item->completed_at = next_int64(&c);
}

void step_read(const struct db_rows *rows, size_t row, struct step_row *ret_step)
{
    struct cursor c = {.rows = rows, .row = row};

    *ret_step = (struct step_row){0};
    NEXT_ID(&c, ret_step->id);
    NEXT_ID(&c, ret_step->run_id);
    NEXT_ID(&c, ret_step->thread_id);
    NEXT_ID(&c, ret_step->assistant_id);
    ret_step->type = step_type_parse(next_text(&c));
    ret_step->status = step_status_parse(next_text(&c));
    ret_step->turn = next_int(&c);
    ret_step->usage = next_copy(&c);
    ret_step->error = next_copy(&c);
    ret_step->created_at = next_int64(&c);
    ret_step->completed_at = next_int64(&c);
    ret_step->ended_at = next_int64(&c);
}

void call_read(const struct db_rows *rows, size_t row, struct call_row *ret_call)
{
    struct cursor c = {.rows = rows, .row = row};

    *ret_call = (struct call_row){0};
    NEXT_ID(&c, ret_call->run_id);
    NEXT_ID(&c, ret_call->call_id);
    NEXT_ID(&c, ret_call->item_id);
    NEXT_ID(&c, ret_call->step_id);
    ret_call->turn = next_int(&c);
    ret_call->position = next_int(&c);
    ret_call->client = next_bool(&c);
    ret_call->state = call_state_parse(next_text(&c));
    ret_call->tool = next_copy(&c);
    ret_call->arguments = next_copy(&c);
    ret_call->output = next_copy(&c);
    ret_call->attempts = next_int(&c);
    ret_call->resolved = next_copy(&c);
    ret_call->extra = next_copy(&c);
}

void approval_read(const struct db_rows *rows, size_t row, struct approval_row *ret_approval)
{
    struct cursor c = {.rows = rows, .row = row};

    *ret_approval = (struct approval_row){0};
    NEXT_ID(&c, ret_approval->id);
    NEXT_ID(&c, ret_approval->run_id);
    NEXT_ID(&c, ret_approval->thread_id);
    NEXT_ID(&c, ret_approval->call_id);
    ret_approval->server_label = next_copy(&c);
    ret_approval->tool = next_copy(&c);
    ret_approval->arguments = next_copy(&c);
    ret_approval->policy = next_copy(&c);
    ret_approval->status = approval_status_parse(next_text(&c));
    ret_approval->reason = next_copy(&c);
    NEXT_ID(&c, ret_approval->used_by);
    ret_approval->created_at = next_int64(&c);
    ret_approval->decided_at = next_int64(&c);
    ret_approval->kind = approval_kind_parse(next_text(&c));
    ret_approval->details = next_copy(&c);
    ret_approval->definition = next_copy(&c);
    ret_approval->memory = next_copy(&c);
    ret_approval->extra = next_copy(&c);
}

/* One element more than there are rows, so that an empty result is an array too. */
struct run_row *run_rows_read(const struct db_rows *rows, size_t *ret_count)
{
    struct run_row *list = mem_new_array(struct run_row, db_count(rows) + 1);

    *ret_count = db_count(rows);
    for (size_t i = 0; i < *ret_count; i++)
        run_read(rows, i, &list[i]);
    return list;
}

struct item_row *item_rows_read(const struct db_rows *rows, size_t *ret_count)
{
    struct item_row *list = mem_new_array(struct item_row, db_count(rows) + 1);

    *ret_count = db_count(rows);
    for (size_t i = 0; i < *ret_count; i++)
        item_read(rows, i, &list[i]);
    return list;
}

struct step_row *step_rows_read(const struct db_rows *rows, size_t *ret_count)
{
    struct step_row *list = mem_new_array(struct step_row, db_count(rows) + 1);

    *ret_count = db_count(rows);
    for (size_t i = 0; i < *ret_count; i++)
        step_read(rows, i, &list[i]);
    return list;
}

struct call_row *call_rows_read(const struct db_rows *rows, size_t *ret_count)
{
    struct call_row *list = mem_new_array(struct call_row, db_count(rows) + 1);

    *ret_count = db_count(rows);
    for (size_t i = 0; i < *ret_count; i++)
        call_read(rows, i, &list[i]);
    return list;
}

struct approval_row *approval_rows_read(const struct db_rows *rows, size_t *ret_count)
{
    struct approval_row *list = mem_new_array(struct approval_row, db_count(rows) + 1);

    *ret_count = db_count(rows);
    for (size_t i = 0; i < *ret_count; i++)
        approval_read(rows, i, &list[i]);
    return list;
}
