/*
 * After a crash: a run whose owner died comes to a new one with what was committed. What was
 * being said is closed exactly as far as anybody can have heard it, is not told to the model
 * again, and the turn is asked anew. Calls that had been asked for go on (run_tools.c).
 */

#include "core/run/recover.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/net/sse_parser.h"
#include "core/run/run.h"
#include "core/run/run_approvals.h"

/* Deaths of servers that a run may live through. */
#define ATTEMPT_LIMIT 5

/* Pieces of the log that are read at once. */
#define LOG_PIECE ((size_t)1 << 20)

/* ---- Before the loop has it: what was said, from the log ---- */

struct listener {
    const struct face *face;
    const struct item_row *item;
    json_int_t index; /* the face's */
    struct buf text;
};

static bool hear(void *arg, const char *name, const char *data, size_t length)
{
    struct listener *listener = arg;
    json_auto_t *event = NULL;

    (void)name;
    if (json_parse(data, length, &event, NULL) == ERR_OK)
        listener->face->add_delta(event, listener->item, &listener->index, &listener->text);
    return true;
}

static enum err_code read_log(struct store *store, const struct run_row *run,
                              struct listener *listener, struct err *err)
{
    struct sse_parser parser = {.limit = SIZE_MAX};
    int64_t next = 0;
    enum err_code rc;

    do {
        AUTO_FREE char *frames = NULL;
        size_t length = 0;

        rc = store_events_read(store, run->project, run->id, next, LOG_PIECE, &frames, &length,
                               &next, err);
        if (rc || !length)
            break;
        rc = sse_parser_feed(&parser, frames, length, hear, listener);
    } while (!rc);
    sse_parser_clear(&parser);
    return rc;
}

/* Marks a body as not part of what the model will be told. */
static json_t *mark_cut(json_t *body)
{
    json_t *runnel = json_object_get(body, "runnel");

    if (!runnel) {
        json_set(body, "runnel", json_object());
        runnel = json_object_get(body, "runnel");
    }
    json_set_bool(runnel, "cut", true);
    return runnel;
}

/* The field of a call that was told piece by piece. */
static const char *told_field(const json_t *body)
{
    static const char *const fields[] = {"arguments", "input", "code"};

    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        if (json_get_string(body, fields[i], NULL))
            return fields[i];
    }
    return NULL;
}

/* All that was heard of it are parts that had ended, which were stored with it: nothing was cut but its
 * end. */
static bool is_whole(const json_t *body, const struct listener *listener)
{
    AUTO_BUF stored = {0};
    size_t i;
    json_t *part;

    json_array_foreach (json_object_get(body, "content"), i, part)
        buf_add_text(&stored, json_get_string(part, "text", ""));
    return stored.length && stored.length == listener->text.length &&
           memcmp(stored.data, listener->text.data, stored.length) == 0;
}

/* The body of an item that was cut: its shape, as stored when it opened, and what was heard. */
static char *cut_body(const struct item_row *item, const struct listener *listener)
{
    const char *heard = listener->text.data ? listener->text.data : "";
    json_auto_t *body = json_parse_own(item->body);
    const char *field = told_field(body);

    if (is_whole(body, listener))
        return mem_strdup(item->body);
    if (strcmp(item->type, "message") == 0)
        json_set(body, "content",
                 json_build("[{s:s, s:s, s:[], s:[]}]", "type", "output_text", "text", heard,
                            "annotations", "logprobs"));
    else if (strcmp(item->type, "reasoning") == 0 && listener->index >= 0)
        json_set(body, "summary",
                 json_build("[{s:s, s:s}]", "type", "summary_text", "text", heard));
    else if (strcmp(item->type, "reasoning") == 0)
        json_set(body, "content",
                 json_build("[{s:s, s:s}]", "type", "reasoning_text", "text", heard));
    else if (field)
        json_set_string(body, field, heard);
    json_set_string(mark_cut(body), "incomplete_reason", "run_failed");
    return json_text(body);
}

enum err_code recover_load(struct store *store, const struct face *face, struct run_load *load,
                           struct err *err)
{
    for (size_t i = 0; i < load->item_count; i++) {
        struct item_row *item = &load->items[i];
        struct listener listener = {.face = face, .item = item, .index = -1};
        enum err_code rc;

        if (item->status != ITEM_IN_PROGRESS || strcmp(item->run_id, load->run.id) != 0)
            continue;
        rc = read_log(store, &load->run, &listener, err);
        if (!rc) {
            char *body = cut_body(item, &listener);

            free(item->body);
            item->body = body;
        }
        buf_clear(&listener.text);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

/* ---- On the loop ---- */

static struct step *step_of(struct run *run, const struct item_row *row)
{
    for (struct step *step = run->steps; step; step = step->next) {
        if (strcmp(step->row.id, row->step_id) == 0)
            return step;
    }
    return NULL;
}

static bool was_cut(const struct item_row *row)
{
    json_auto_t *body = json_parse_own(row->body);

    return json_get_bool(json_object_get(body, "runnel"), "cut", false);
}

/* The item opens again for a moment, with all that was heard of it, and is closed. */
static void close_cut_item(struct run *run, struct item_row *row)
{
    struct item past;

    row->status = was_cut(row) ? ITEM_INCOMPLETE : ITEM_COMPLETED;
    if (row->status == ITEM_COMPLETED)
        row->completed_at = clock_wall_us();
    past = (struct item){.row = *row, .open = false};
    past.step = step_of(run, row);
    past.output_index = run->output_count - 1;
    run_tell(run, &(struct run_event){.kind = RUN_EVENT_ITEM_CLOSED, .item = &past});
    run_put_item(run, row);
}

/* Whole items of a turn that did not end are not part of what the model will be told. */
static void set_aside(struct run *run, struct item_row *row)
{
    json_auto_t *body = json_parse_own(row->body);

    mark_cut(body);
    free(row->body);
    row->body = json_text(body);
    run_put_item(run, row);
}

static void close_turn(struct run *run)
{
    for (size_t i = 0; i < run->history_count; i++) {
        struct item_row *row = &run->history[i];

        if (!run_has_made(run, row))
            continue;
        if (row->status == ITEM_IN_PROGRESS)
            close_cut_item(run, row);
        else if (row->turn == run->row.turn && strcmp(row->type, "mcp_list_tools") != 0)
            set_aside(run, row);
    }
    run_close_step(run, STEP_FAILED);
}

static void close_open_items(struct run *run)
{
    for (size_t i = 0; i < run->history_count; i++) {
        struct item_row *row = &run->history[i];

        if (run_has_made(run, row) && row->status == ITEM_IN_PROGRESS)
            close_cut_item(run, row);
    }
}

/* The client had answered, and the answers had not become items yet. */
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
    bool asked = call_count && calls[0].turn == run->row.turn;

    if (run->ending || run->row.status == RUN_CANCELLING || run_is_poison(run)) {
        close_open_items(run);
        return;
    }
    if (asked && client_has_answered(calls, call_count)) {
        close_open_items(run);
        run_take_answers(run, calls, call_count);
        run_list_tools(run);
        return;
    }
    if (asked) {
        close_open_items(run);
        run_resume_calls(run, calls, call_count);
        return;
    }
    close_turn(run);
    run_list_tools(run);
}

/* ---- When the database does not take a write ---- */

/* Whatever it was that it did not like, it was in here. */
static void blank(struct item_row *row)
{
    json_auto_t *body = json_parse_own(row->body);
    const char *field = told_field(body);

    if (json_object_get(body, "content"))
        json_set(body, "content", json_array());
    if (json_object_get(body, "output"))
        json_set(body, "output", json_null());
    if (field)
        json_set_string(body, field, "");
    mark_cut(body);
    free(row->body);
    row->body = json_text(body);
    row->status = ITEM_INCOMPLETE;
}

/* The input comes again by itself with a run that is made again. */
static void put_blank_items(struct run *run, const struct run_write *write)
{
    for (size_t i = 0; i < write->item_count; i++) {
        if (!write->create || !write->items[i].input)
            run_put_item(run, &write->items[i]);
    }
    for (size_t i = 0; i < run->unwritten.item_count; i++) {
        if (!run->unwritten.items[i].input)
            blank(&run->unwritten.items[i]);
    }
}

/* Frames that were not stored are not told, and their numbers are free again. */
static void forget_untold(struct run *run, int64_t first)
{
    frames_clear(&run->frames);
    run->pause_length = 0;
    run->frames.next = run->log_next = first;
}

void run_take_refusal(struct run *run, const struct run_write *write)
{
    int64_t first =
        write->log_length ? write->log_first : run->frames.next - (int64_t)run->frames.count;

    forget_untold(run, first);
    run_fail(run, "server_error", "The server could not store this run.");
    /* What is closed now was perhaps never heard of: only the end is told. Its number comes behind
     * those that have left. */
    forget_untold(run, first < run->published ? run->published : first);
    run_tell(run, &(struct run_event){.kind = RUN_EVENT_STATUS});
    put_blank_items(run, write);
    for (struct step *step = run->steps; step; step = step->next)
        run_put_step(run, &step->row);
}
