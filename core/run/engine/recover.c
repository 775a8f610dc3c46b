/*
 * A run whose owner died is made ready for its new owner; a run whose write is refused is made
 * ready to fail.
 *
 * What there is of the run is what was committed: its rows, and the log of what clients were
 * sent. The row of an item is written when the item opens and when it closes, its text is in
 * the log piece by piece. So the log may say more than the rows.
 *
 * What clients were sent stays true. An item that was open is closed with exactly the text that
 * a client can have received, its open part first. That text is read from the log before the loop has the run,
 * because reading blocks (recover_load()). A client that follows the run sees the item end, and
 * its numbers go on without a gap.
 *
 * The result has only what is whole. A turn that had not ended is requested anew, and its new
 * answer takes the place of the old one. So all items of the old one, and every item that was
 * cut, are marked and hidden: they are in the log, and in no output, list or request to the
 * model. Their places in the stream are not used again (count_shown() in turn/run_new.c). Calls
 * that the model had already made are not requested again: they go on from their rows
 * (calls/restore.c). A run that is taken up only to end is shown as far as it came, like any other
 * that is cancelled or expires.
 *
 * A run may be what brings servers down. Each death of an owner is counted, and after
 * ATTEMPT_LIMIT the run fails instead. A turn that ends sets the count back (group_commit.c).
 *
 * A refused write is a smaller crash. The database does not take something in it, so the run
 * fails without the contents of that write. Frames that were not stored were not sent, and
 * their numbers are used again.
 *
 * Decided against: letting the model continue where it stopped. The APIs have no way to ask for
 * the rest of an answer, and half an answer in a prompt changes what the model says. And
 * against taking back what was shown: clients keep what they have received, and ask for more by
 * its number.
 */

#include "core/run/engine/recover.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/notes.h"
#include "core/net/sse_parser.h"
#include "core/run/approval/run_approvals.h"
#include "core/run/turn/run.h"

/* Deaths of owners that a run may survive. */
#define ATTEMPT_LIMIT 5

/* Pieces of the log that are read at once. */
#define LOG_PIECE ((size_t)1 << 20)

/* ---- Before the loop has it: what clients were sent, from the log ---- */

/* A note for the way to the loop: in which list of the body the last part is open. */
#define OPEN_PART "open_part"

/* One item, put together from the events of the log. */
struct excerpt {
    const struct face *face;
    struct item *item;
    json_int_t index; /* see read_back() in face.h */
};

static bool add_event(void *arg, const char *name, const char *data, size_t length)
{
    struct excerpt *excerpt = arg;
    json_auto_t *event = NULL;

    (void)name;
    if (json_parse(data, length, &event, NULL) == ERR_OK)
        excerpt->face->read_back(event, excerpt->item, &excerpt->index);
    return true;
}

static enum err_code read_log(struct store *store, const struct run_row *run,
                              struct excerpt *excerpt, struct err *err)
{
    const struct tenant tenant = tenant_of_project(run->project);
    struct sse_parser parser = {.limit = SIZE_MAX};
    int64_t next = 0;
    enum err_code rc;

    do {
        AUTO_FREE char *frames = NULL;
        size_t length = 0;

        rc = store_events_read(store, &tenant, run->id, next, LOG_PIECE, &frames, &length,
                               &next, err);
        if (rc || !length)
            break;
        rc = sse_parser_feed(&parser, frames, length, add_event, excerpt);
    } while (!rc);
    sse_parser_clear(&parser);
    return rc;
}

/* The field of a call that is streamed piece by piece. */
static const char *streamed_field(const json_t *body)
{
    static const char *const fields[] = {"arguments", "input", "code"};

    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        if (json_get_string(body, fields[i], NULL))
            return fields[i];
    }
    return NULL;
}

/* The log has of the item only parts that had ended, and those are stored in its row: nothing is missing
 * but its end. */
static bool is_whole(const json_t *body, const struct item *seen)
{
    AUTO_BUF stored = {0};
    AUTO_BUF logged = {0};
    size_t i;
    json_t *part;

    json_array_foreach (json_object_get(body, "content"), i, part)
        buf_add_text(&stored, json_get_string(part, "text", ""));
    for (unsigned k = 0; k < seen->part_count; k++)
        buf_add(&logged, seen->parts[k].text.data, seen->parts[k].text.length);
    return stored.length && stored.length == logged.length &&
           memcmp(stored.data, logged.data, stored.length) == 0;
}

static bool has_parts(const struct item *item)
{
    return item->row.type == ITEM_MESSAGE || item->row.type == ITEM_REASONING;
}

/* The body of an item that was cut: its shape, as stored when it opened, and what the log has of it. */
static char *cut_body(const char *opened, struct item *seen)
{
    json_auto_t *body = json_parse_own(opened);
    json_auto_t *made = NULL;
    const char *field = streamed_field(body);

    if (is_whole(body, seen))
        return mem_strdup(opened);
    notes_mark_cut(body);
    json_set_string(notes_of(body), "incomplete_reason", "run_failed");
    if (seen->part_open)
        json_set_string(notes_of(body), OPEN_PART,
                        seen->parts[seen->part_count - 1].kind == PART_SUMMARY ? "summary"
                                                                               : "content");
    else if (seen->row.type == ITEM_MESSAGE && !seen->part_count)
        item_add_part(seen, PART_TEXT); /* nobody has seen it, but a message has one */
    if (has_parts(seen)) {
        made = item_body(seen);
        json_object_update(body, made);
    } else if (field) {
        json_set_string(body, field, seen->arguments.data ? seen->arguments.data : "");
    }
    return json_text(body);
}

/* The item with nothing but its row, and no body. item_free() */
static struct item *new_excerpt(const struct item_row *row)
{
    struct item *item = mem_new(struct item);

    item->row = *row;
    item->row.body = item->row.metadata = NULL;
    return item;
}

enum err_code recover_load(struct store *store, const struct face *face, struct run_load *load,
                           struct err *err)
{
    for (size_t i = 0; i < load->item_count; i++) {
        struct item_row *item = &load->items[i];
        struct excerpt excerpt = {.face = face, .index = -1};
        enum err_code rc;

        if (item->status != ITEM_IN_PROGRESS || strcmp(item->run_id, load->run.id) != 0)
            continue;
        excerpt.item = new_excerpt(item);
        rc = read_log(store, &load->run, &excerpt, err);
        if (!rc) {
            char *body = cut_body(item->body, excerpt.item);

            free(item->body);
            item->body = body;
        }
        item_free(excerpt.item);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

/* ---- On the loop ---- */

static struct step *step_of(struct run *run, const struct item_row *row)
{
    for (struct step *step = run->items.steps; step; step = step->next) {
        if (strcmp(step->row.id, row->step_id) == 0)
            return step;
    }
    return NULL;
}

/* The part that was open, if any: it ends before its item. The note about it goes. */
static void close_part(struct run *run, struct item *past, json_t *body)
{
    const char *list = json_get_string(notes_of(body), OPEN_PART, "");
    const json_t *parts = json_object_get(body, list);
    const json_t *last = json_array_get(parts, json_array_size(parts) - 1);
    struct part part = {.kind = part_kind_of(last),
                        .annotations = json_object_get(last, "annotations")};

    if (!last)
        return;
    part.index = (unsigned)json_array_size(parts) - 1;
    buf_add_text(&part.text,
                 json_get_string(last, part.kind == PART_REFUSAL ? "refusal" : "text", ""));
    past->parts = &part;
    past->part_count = 1;
    run_emit(run, &(struct run_event){.kind = RUN_EVENT_PART_CLOSED, .item = past});
    past->parts = NULL;
    past->part_count = 0;
    buf_clear(&part.text);
    json_object_del(notes_of(body), OPEN_PART);
}

/* Emits the end of an item that the dead owner opened, with the text that recover_load() gave it.
 * run->items does not know the item, so the events are made by hand. */
static void close_item(struct run *run, struct item_row *row)
{
    json_auto_t *body = json_parse_own(row->body);
    struct item past;

    row->status = notes_say_cut(body) ? ITEM_INCOMPLETE : ITEM_COMPLETED;
    if (row->status == ITEM_COMPLETED)
        row->completed_at = clock_wall_us();
    past = (struct item){.row = *row, .open = false};
    past.step = step_of(run, row);
    past.output_index = run->items.shown - 1;
    close_part(run, &past, body);
    free(row->body);
    past.row.body = row->body = json_text(body);
    run_emit(run, &(struct run_event){.kind = RUN_EVENT_ITEM_CLOSED, .item = &past});
    run_put_item(run, row);
}

static void close_open_items(struct run *run)
{
    for (size_t i = 0; i < run->history_count; i++) {
        struct item_row *row = &run->history[i];

        if (run_has_made(run, row) && row->status == ITEM_IN_PROGRESS)
            close_item(run, row);
    }
}

static void hide(struct run *run, struct item_row *row)
{
    row->hidden = true;
    run_put_item(run, row);
}

/* What was cut is no part of the result: the run makes it again. */
static void hide_cut_items(struct run *run)
{
    for (size_t i = 0; i < run->history_count; i++) {
        struct item_row *row = &run->history[i];

        if (run_has_made(run, row) && !row->hidden && item_row_is_cut(row))
            hide(run, row);
    }
}

/* Whole items of a turn that did not end: its new answer has others in their place. */
static void mark_turn(struct run *run)
{
    for (size_t i = 0; i < run->history_count; i++) {
        struct item_row *row = &run->history[i];
        json_auto_t *body = NULL;

        if (!run_has_made(run, row) || row->turn != run->row.turn || row->hidden ||
            row->type == ITEM_MCP_LIST_TOOLS)
            continue;
        body = json_parse_own(row->body);
        notes_mark_cut(body);
        free(row->body);
        row->body = json_text(body);
    }
}

/* The client had submitted all outputs, and the dead owner had not made items of them. */
static bool client_has_answered(const struct call_row *calls, size_t count)
{
    bool any = false;

    for (size_t i = 0; i < count; i++) {
        if (calls[i].client && calls[i].state != CALL_DONE)
            return false;
        any |= calls[i].client;
    }
    return any;
}

bool run_is_poison(const struct run *run)
{
    return run->row.attempts > ATTEMPT_LIMIT;
}

void run_recover(struct run *run, const struct call_row *calls, size_t call_count)
{
    /* The rows are the calls of the last turn that made any. If that turn is not over, the model's
     * part of it is complete, and only the calls are left to do. */
    bool has_calls = call_count && calls[0].turn == run->row.turn;

    if (run->ending || run->row.status == RUN_CANCELLING) {
        close_open_items(run);
        return;
    }
    close_open_items(run);
    if (!has_calls && !run_is_poison(run))
        mark_turn(run);
    hide_cut_items(run);
    if (run_is_poison(run))
        return;
    if (!has_calls) {
        run_close_steps(run, STEP_FAILED);
        run_list_tools(run);
    } else if (client_has_answered(calls, call_count)) {
        run_take_answers(run, calls, call_count);
        run_list_tools(run);
    } else {
        run_resume_calls(run, calls, call_count);
    }
}

/* ---- When the database does not take a write ---- */

/* Takes out of an item every text that the database may have refused. */
static void blank(struct item_row *row)
{
    json_auto_t *body = json_parse_own(row->body);
    const char *field = streamed_field(body);

    if (json_object_get(body, "content"))
        json_set(body, "content", json_array());
    if (json_object_get(body, "output"))
        json_set(body, "output", json_null());
    if (field)
        json_set_string(body, field, "");
    notes_mark_cut(body);
    free(row->body);
    row->body = json_text(body);
    row->status = ITEM_INCOMPLETE;
}

/* A write that creates the run carries the input by itself (lend_input() in run_write.c), so that is
 * not put again. Items of the refused write are put first and blanked with the others. */
static void put_blank_items(struct run *run, const struct run_write *write)
{
    for (size_t i = 0; i < write->item_count; i++) {
        if (!write->create || !write->items[i].input)
            run_put_item(run, &write->items[i]);
    }
    for (size_t i = 0; i < run->writing.unwritten.item_count; i++) {
        if (!run->writing.unwritten.items[i].input)
            blank(&run->writing.unwritten.items[i]);
    }
}

/* Frames that were not stored are not sent. The next frame gets the number `first`. */
static void drop_unsent_frames(struct run *run, int64_t first)
{
    frames_clear(&run->publishing.frames);
    run->publishing.pause_length = 0;
    run->publishing.frames.next = run->writing.log_next = first;
}

void run_take_refusal(struct run *run, const struct run_write *write)
{
    int64_t first = write->log_length
                        ? write->log_first
                        : run->publishing.frames.next - (int64_t)run->publishing.frames.count;

    drop_unsent_frames(run, first);
    run_fail(run, "server_error", "The server could not store this run.");
    /* run_fail() has closed items that no client may know of. Those events are dropped, and only the end
     * is emitted, with the number behind the frames that have been published. */
    drop_unsent_frames(run,
                       first < run->publishing.published ? run->publishing.published : first);
    run_emit(run, &(struct run_event){.kind = RUN_EVENT_STATUS});
    put_blank_items(run, write);
    for (struct step *step = run->items.steps; step; step = step->next)
        run_put_step(run, &step->row);
}
