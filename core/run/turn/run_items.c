/*
 * What a run makes: items, their parts, and the run steps that show them.
 *
 * An item is opened, its parts are filled, it is closed. Each of these is emitted as it happens, so that
 * a client sees text when the model sends it. At most one item is open at a time, and at most one step:
 * opening the next one closes the last. So the events of a stream never interleave.
 *
 * Steps exist for the Assistants API only. A message has a step of its own. Calls that follow each other
 * share one. Reasoning and lists of tools have none: that API does not know them.
 *
 * A row of an item is put when it closes. Items of a resumable run are put when they open, too, with
 * their shape and without text. After a crash the next owner finds that row in progress, reads from the
 * log what was sent of it, and closes it (engine/recover.c). The text itself is not stored while it
 * grows: the log has each piece already.
 */

#include "core/run/turn/run.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/notes.h"
#include "core/tool/registry.h"

/* ---- Steps: for the Assistants API ---- */

static bool is_of_calls(const struct step *step)
{
    return step && step->row.type == STEP_TOOL_CALLS;
}

struct step *run_open_step(struct run *run, enum step_type type)
{
    struct step *step;

    if (!run_is_assistants(run))
        return NULL;
    if (!is_of_calls(run->items.step))
        run_close_step(run, STEP_COMPLETED);
    if (is_of_calls(run->items.step) && type == STEP_TOOL_CALLS)
        return run->items.step;
    if (is_of_calls(run->items.step) && run->turn.model)
        run->items.waiting = TAKE(run->items.step);
    else
        run_close_step(run, STEP_COMPLETED);
    step = mem_new(struct step);
    id_make(step->row.id, "step_");
    memcpy(step->row.run_id, run->row.id, ID_SIZE);
    memcpy(step->row.thread_id, run->row.thread_id, ID_SIZE);
    memcpy(step->row.assistant_id, run->row.assistant_id, ID_SIZE);
    step->row.type = type;
    step->row.status = STEP_IN_PROGRESS;
    step->row.turn = run->row.turn;
    step->row.created_at = clock_wall_us();
    step->open = true;
    step->next = run->items.steps;
    run->items.steps = run->items.step = step;
    run_put_step(run, &step->row);
    return step;
}

/* Tokens are counted for a whole turn, and one of its steps has them all (run_model.c). The usage of the
 * others is zero, and not null: null means that a step still runs. */
static const char no_usage[] = "{\"input_tokens\":0,\"output_tokens\":0,\"total_tokens\":0}";

void run_close_step(struct run *run, enum step_status status)
{
    struct step *step = TAKE(run->items.step);

    if (!step)
        return;
    run->items.step = TAKE(run->items.waiting);
    if (run->turn.usage) {
        free(step->row.usage);
        step->row.usage = TAKE(run->turn.usage);
    }
    if (!step->row.usage)
        step->row.usage = mem_strdup(no_usage);
    if (status == STEP_FAILED && run->row.error)
        step->row.error = mem_strdup(run->row.error);
    step->row.status = status;
    if (status == STEP_COMPLETED)
        step->row.completed_at = clock_wall_us();
    else
        step->row.ended_at = clock_wall_us();
    step->open = false;
    run_emit(run, &(struct run_event){.kind = RUN_EVENT_STEP_CLOSED, .step = step});
    run_put_step(run, &step->row);
}

void run_close_steps(struct run *run, enum step_status status)
{
    while (run->items.step)
        run_close_step(run, status);
}

/* ---- Items ---- */

struct item *run_new_item(struct run *run, enum item_type type)
{
    struct item *item = mem_new(struct item);
    struct item_row *row = &item->row;

    id_make(row->id, item_type_prefix(type));
    row->type = type;
    if (type == ITEM_MESSAGE)
        (void)snprintf(row->role, sizeof(row->role), "assistant");
    memcpy(row->run_id, run->row.id, ID_SIZE);
    /* Items of a response join its conversation when it ends, by the write of its end. */
    if (run_is_assistants(run))
        memcpy(row->thread_id, run->row.thread_id, ID_SIZE);
    memcpy(row->assistant_id, run->row.assistant_id, ID_SIZE);
    row->position = run->writing.next_position++;
    row->turn = run->row.turn;
    row->model_index = run->turn.next_model_index++;
    row->status = ITEM_IN_PROGRESS;
    row->created_at = clock_wall_us();
    item->output_index = -1;

    run->items.list = mem_resize(run->items.list, run->items.count + 1, sizeof(struct item *));
    run->items.list[run->items.count++] = item;
    return item;
}

/* Reasoning and lists of tools belong to no step. */
static bool has_step(const struct item *item)
{
    return item->row.type != ITEM_REASONING && item->row.type != ITEM_MCP_LIST_TOOLS;
}

/* The shape of the open item, which the next owner fills in from the log after a crash. */
void run_store_open_item(struct run *run)
{
    json_auto_t *body = NULL;
    AUTO_FREE char *text = NULL;
    struct item_row row;

    if (!run_is_resumable(run))
        return;
    body = item_body(run->items.open);
    text = json_text(body);
    row = run->items.open->row;
    row.body = text;
    run_put_item(run, &row);
}

void run_open_item(struct run *run, struct item *item)
{
    const struct step *newest = run->items.steps;

    assert(!run->items.open);
    /* The step first: its event comes before the item's, and the row needs its id. */
    if (has_step(item))
        item->step =
            run_open_step(run, item->row.type == ITEM_MESSAGE ? STEP_MESSAGE : STEP_TOOL_CALLS);
    if (item->step) {
        memcpy(item->row.step_id, item->step->row.id, ID_SIZE);
        if (item->step->row.type == STEP_TOOL_CALLS)
            item->step_index = item->step->calls++;
        if (run->items.steps != newest)
            run_emit(run, &(struct run_event){
                              .kind = RUN_EVENT_STEP_OPENED, .step = item->step, .item = item});
    }
    item->open = true;
    item->output_index = run->items.shown++;
    run->items.open = item;
    run_store_open_item(run);
    run_emit(run, &(struct run_event){.kind = RUN_EVENT_ITEM_OPENED, .item = item});
}

void run_store_silently(struct run *run, struct item *item, enum item_status status)
{
    item_close(item, status);
    run_put_item(run, &item->row);
}

void run_open_part(struct run *run, enum part_kind kind)
{
    struct item *item = run->items.open;

    run_close_part(run);
    item_add_part(item, kind);
    run_emit(run, &(struct run_event){.kind = RUN_EVENT_PART_OPENED,
                                      .item = item,
                                      .part = item->part_count - 1});
}

void run_add_picture(struct run *run, const char *file_id)
{
    struct item *item = run->items.open;

    run_close_part(run);
    buf_add_text(&item_add_part(item, PART_PICTURE)->text, file_id);
    run_emit(run, &(struct run_event){.kind = RUN_EVENT_PART_OPENED,
                                      .item = item,
                                      .part = item->part_count - 1});
}

void run_add_text(struct run *run, const char *text, size_t length)
{
    struct item *item = run->items.open;
    struct part *part = &item->parts[item->part_count - 1];

    json_auto_t *logprobs = part->kind == PART_TEXT ? TAKE(run->turn.logprobs) : NULL;

    buf_add(&part->text, text, length);
    if (logprobs)
        part_add_logprobs(part, logprobs);
    run_emit(run, &(struct run_event){.kind = RUN_EVENT_TEXT,
                                      .item = item,
                                      .part = item->part_count - 1,
                                      .text = text,
                                      .length = length,
                                      .fields = logprobs});
}

/* `mark` is NULL, or text that was added to the part with it. */
static void annotate(struct run *run, json_t *annotation, const char *mark)
{
    struct item *item = run->items.open;
    size_t number = item_annotate(item, annotation);

    run_emit(run, &(struct run_event){.kind = RUN_EVENT_ANNOTATION,
                                      .item = item,
                                      .part = item->part_count - 1,
                                      .number = number,
                                      .text = mark,
                                      .length = mark ? strlen(mark) : 0,
                                      .fields = annotation});
}

void run_annotate(struct run *run, json_t *annotation)
{
    annotate(run, annotation, NULL);
}

void run_add_mark(struct run *run, const char *mark, json_t *annotation)
{
    struct item *item = run->items.open;

    buf_add_text(&item->parts[item->part_count - 1].text, mark);
    annotate(run, annotation, mark);
}

void run_close_part(struct run *run)
{
    struct item *item = run->items.open;

    if (!item || !item->part_open)
        return;
    run_end_cited_text(run);
    run_cite_made(run);
    run_cite_links(run);
    item->part_open = false;
    run_emit(run, &(struct run_event){.kind = RUN_EVENT_PART_CLOSED,
                                      .item = item,
                                      .part = item->part_count - 1});
}

/* Clients have seen it begin, and it says nothing. */
static void hide_cut(struct item *item)
{
    json_auto_t *body = json_object();

    notes_mark_cut(body);
    if (!item->metadata)
        item->metadata = json_object();
    json_object_update(item->metadata, notes_of(body));
    item->row.hidden = true;
}

void run_close_item(struct run *run, enum item_status status)
{
    struct item *item = run->items.open;

    if (!item)
        return;
    run_close_part(run);
    if (item->row.type == ITEM_REASONING && status == ITEM_COMPLETED)
        run_finish_reasoning(run);
    if (status == ITEM_INCOMPLETE && run->end_reason)
        item_note(item, "incomplete_reason", run->end_reason);
    if (status == ITEM_INCOMPLETE && item->row.type == ITEM_COMPACTION)
        hide_cut(item);
    item_close(item, status);
    run->items.open = NULL;
    run_emit(run, &(struct run_event){.kind = RUN_EVENT_ITEM_CLOSED, .item = item});
    run_put_item(run, &item->row);
}

bool run_has_made(const struct run *run, const struct item_row *past)
{
    return !past->input && strcmp(past->run_id, run->row.id) == 0;
}

json_t *run_item_object(const struct run *run, const struct item *item)
{
    json_t *object = item_object(item);

    tool_registry_show(object, run->settings.includes);
    return object;
}

json_t *run_output(const struct run *run)
{
    json_t *output = json_array();

    for (size_t i = 0; i < run->history_count; i++) {
        const struct item_row *row = &run->history[i];
        struct item past = {.row = *row};

        if (run_has_made(run, row) && !row->hidden)
            json_array_append_new(output, run_item_object(run, &past));
    }
    for (size_t i = 0; i < run->items.count; i++) {
        const struct item *item = run->items.list[i];

        if (item->output_index >= 0 && !item->row.hidden)
            json_array_append_new(output, run_item_object(run, item));
    }
    return output;
}

const struct item_row **run_step_items(const struct run *run, const struct step *step,
                                       size_t *ret_count)
{
    const struct item_row **rows =
        mem_new_array(const struct item_row *, run->history_count + run->items.count);
    size_t count = 0;

    for (size_t i = 0; i < run->history_count; i++) {
        if (strcmp(run->history[i].step_id, step->row.id) == 0)
            rows[count++] = &run->history[i];
    }
    for (size_t i = 0; i < run->items.count; i++) {
        if (strcmp(run->items.list[i]->row.step_id, step->row.id) == 0)
            rows[count++] = &run->items.list[i]->row;
    }
    *ret_count = count;
    return rows;
}
