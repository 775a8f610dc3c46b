/*
 * The life of a run in memory, from its arrival to its end, as one would tell it:
 *
 *   it arrives, is announced, and the model is asked (run_model.c);
 *   what the model asks for is done (run_tools.c), and the model asked again;
 *   it finishes, is truncated, fails, is cancelled, expires, or waits for its client;
 *   its last write is committed (run_write.c), its listeners are told, and it is forgotten.
 */

#include "core/run/run.h"

#include <assert.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/run/past_calls.h"
#include "core/run/run_approvals.h"
#include "core/run/run_servers.h"
#include "core/run/run_variables.h"
#include "core/run/tool_settings.h"
#include "core/tool/variable_memory.h"

bool run_is_resumable(const struct run *run)
{
    return run->row.flags & RUN_RESUMABLE;
}

bool run_is_assistants(const struct run *run)
{
    return run->row.face == FACE_ASSISTANTS;
}

/* ---- Making and unmaking ---- */

/* A run that waited for a slot is announced before it ends; nobody is asked anything. */
void run_begin_to_end(struct run *run)
{
    run->ending = true;
    engine_begin(run);
}

static void expiry_fired(struct loop_timer *timer)
{
    struct run *run = CONTAINER_OF(timer, struct run, expiry);

    run_begin_to_end(run);
    run_expire(run);
    run_pump(run);
}

static void flush_fired(struct loop_timer *timer)
{
    struct run *run = CONTAINER_OF(timer, struct run, flush);

    run->urgent = true;
    run_pump(run);
}

/* The wall-clock end of the run, on the monotonic clock. */
static uint64_t expiry_moment(const struct run *run)
{
    int64_t left = run->row.expires_at - clock_wall_us();

    return clock_mono_ns() + (left > 0 ? (uint64_t)left * 1000 : 0);
}

/* What the run made before this stay belongs to its output too. */
static int count_shown(const struct run *run)
{
    int shown = 0;

    for (size_t i = 0; i < run->history_count; i++) {
        const struct item_row *item = &run->history[i];

        shown += !item->input && !item->hidden && strcmp(item->run_id, run->row.id) == 0;
    }
    return shown;
}

/* Calls that were shown in a step before this stay: the next one comes behind them. */
static unsigned count_calls(const struct run *run, const char *step_id)
{
    unsigned count = 0;

    for (size_t i = 0; i < run->history_count; i++) {
        const struct item_row *item = &run->history[i];

        count += strcmp(item->step_id, step_id) == 0 && !item->hidden &&
                 !strstr(item->type, "_output");
    }
    return count;
}

static void take_steps(struct run *run, struct run_load *load)
{
    for (size_t i = 0; i < load->step_count; i++) {
        struct step *step = mem_new(struct step);

        step->row = load->steps[i];
        step->calls = count_calls(run, step->row.id);
        step->open = step->row.status == STEP_IN_PROGRESS;
        step->next = run->steps;
        run->steps = step;
        if (step->open)
            run->step = step;
    }
    free(load->steps);
    load->steps = NULL;
    load->step_count = 0;
}

static void take_thread(struct run *run, const struct thread_row *thread)
{
    if (!thread)
        return;
    run->thread = *thread;
    run->thread.metadata = mem_strdup(thread->metadata);
    run->thread.tool_resources = mem_strdup(thread->tool_resources);
    run->thread.settings = mem_strdup(thread->settings);
}

/* What the last turn ended with, if that was a limit. */
static enum chain_stop stop_of(const struct item_row *item)
{
    json_auto_t *body = json_parse_own(item->body);

    return chain_reason_parse(json_get_string(json_object_get(body, "runnel"), "reason", NULL));
}

/* Rounds of earlier stays count on when the run was taken over: a crash must not lift a limit. */
static void take_rounds(struct run *run)
{
    int last_turn = -1;

    for (size_t i = 0; i < run->history_count && run->arrival == ARRIVAL_CLAIMED; i++) {
        const struct item_row *item = &run->history[i];
        bool whole = item->turn < run->row.turn;

        if (item->input || !whole || strcmp(item->run_id, run->row.id) != 0)
            continue;
        if (past_is_output(item->type))
            run->chain.rounds = 0; /* the client's */
        else if (item->turn > last_turn)
            run->chain.rounds++;
        last_turn = item->turn;
        if (item->turn == run->row.turn - 1 && item->status == ITEM_INCOMPLETE)
            run->chain.stop = stop_of(item);
    }
}

struct run *run_new(struct engine_loop *home, struct run_start *start)
{
    struct run *run = mem_new(struct run);
    struct run_load *load = &start->load;

    run->home = home;
    run->arrival = start->arrival;
    run->row = load->run;
    memset(&load->run, 0, sizeof(load->run));
    run->fence = load->fence;
    run->exists = load->fence != 0;
    run->frames.next = run->log_next = run->published = load->next_seq;
    run->next_position = load->next_position;
    run->history = TAKE(load->items);
    run->history_count = load->item_count;
    load->item_count = 0;
    run->output_count = count_shown(run);
    take_steps(run, load);
    take_thread(run, start->new_thread);
    run->config = json_parse_own(run->row.config);
    chain_init(&run->chain, run->config, run->row.usage);
    take_rounds(run);
    budget_init(&run->budget, run->config, run->row.usage);
    run->without_model = start->without_model;
    run->context = TAKE(start->context);
    run->secrets = TAKE(start->secrets);
    run_open_variables(run, start);
    run->expiry.fire = expiry_fired;
    run->flush.fire = flush_fired;
    return run;
}

static void clear_dirty(struct run *run)
{
    item_rows_free(TAKE(run->dirty_items), run->dirty_item_count);
    json_decref(TAKE(run->dirty_places));
    step_rows_free(TAKE(run->dirty_steps), run->dirty_step_count);
    call_rows_free(TAKE(run->dirty_calls), run->dirty_call_count);
    variables_free(TAKE(run->dirty_variables), run->dirty_variable_count);
    approval_rows_free(TAKE(run->dirty_approvals), run->dirty_approval_count);
    run->dirty_item_count = run->dirty_step_count = run->dirty_call_count = 0;
    run->dirty_variable_count = run->dirty_approval_count = 0;
}

void run_free(struct run *run)
{
    if (!run)
        return;
    run_clear_calls(run);
    call_rows_free(run->answered, run->answered_count);
    json_decref(run->posts);
    json_decref(run->posts_written);
    run_forget_held(run);
    chain_clear(&run->chain);
    buf_clear(&run->summary);
    free(run->turn_usage);
    free(run->peers);
    for (size_t i = 0; i < run->item_count; i++)
        item_free(run->items[i]);
    free(run->items);
    while (run->steps) {
        struct step *step = run->steps;

        run->steps = step->next;
        step_row_clear(&step->row);
        free(step);
    }
    clear_dirty(run);
    item_rows_free(run->history, run->history_count);
    run_free_servers(run);
    tool_set_clear(&run->tools);
    thread_row_clear(&run->thread);
    run_row_clear(&run->row);
    frames_clear(&run->frames);
    json_decref(run->config);
    json_decref(run->context);
    json_decref(run->files);
    json_decref(run->logprobs);
    variable_memory_release(run->variables);
    message_cache_release(run->messages);
    free(run);
}

/* ---- Telling ---- */

/* Events that are neither logged nor streamed would be rendered for nobody. */
static bool is_told(const struct run *run)
{
    return run_is_resumable(run) || run->row.flags & RUN_STREAMED;
}

void run_tell(struct run *run, const struct run_event *event)
{
    if (is_told(run))
        run->face->event(run, event, &run->frames);
}

static void tell_status(struct run *run)
{
    run_tell(run, &(struct run_event){.kind = RUN_EVENT_STATUS});
}

/* The only place where a status changes. */
static void run_move(struct run *run, enum run_status_event event)
{
    enum run_status next = run_status_next(run->row.status, event);

    assert(next != RUN_STATUS_NONE);
    log_debug("run %s: %s -> %s", run->row.id, run_status_name(run->row.status),
              run_status_name(next));
    run->row.status = next;
    run->dirty_row = true;
}

/* ---- Steps: for the face that has them ---- */

struct step *run_open_step(struct run *run, enum step_type type)
{
    struct step *step;

    if (!run_is_assistants(run))
        return NULL;
    if (run->step && run->step->row.type == STEP_TOOL_CALLS && type == STEP_TOOL_CALLS)
        return run->step;
    if (run->step)
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
    step->next = run->steps;
    run->steps = run->step = step;
    run_put_step(run, &step->row);
    return step;
}

/* Tokens are counted for a whole turn; they stand in the step that ends with the turn. */
static const char no_usage[] = "{\"input_tokens\":0,\"output_tokens\":0,\"total_tokens\":0}";

void run_close_step(struct run *run, enum step_status status)
{
    struct step *step = TAKE(run->step);

    if (!step)
        return;
    if (run->turn_usage) {
        free(step->row.usage);
        step->row.usage = TAKE(run->turn_usage);
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
    run_tell(run, &(struct run_event){.kind = RUN_EVENT_STEP_CLOSED, .step = step});
    run_put_step(run, &step->row);
}

/* ---- Items ---- */

struct item *run_new_item(struct run *run, const char *type)
{
    struct item *item = mem_new(struct item);
    struct item_row *row = &item->row;

    id_make(row->id, item_id_prefix(type));
    (void)snprintf(row->type, sizeof(row->type), "%s", type);
    if (strcmp(type, "message") == 0)
        (void)snprintf(row->role, sizeof(row->role), "assistant");
    memcpy(row->run_id, run->row.id, ID_SIZE);
    if (run_is_assistants(run)) /* a response's become its conversation's when it ends */
        memcpy(row->thread_id, run->row.thread_id, ID_SIZE);
    memcpy(row->assistant_id, run->row.assistant_id, ID_SIZE);
    row->position = run->next_position++;
    row->turn = run->row.turn;
    row->model_index = run->next_model_index++;
    row->status = ITEM_IN_PROGRESS;
    row->created_at = clock_wall_us();
    item->output_index = -1;

    run->items = mem_resize(run->items, run->item_count + 1, sizeof(struct item *));
    run->items[run->item_count++] = item;
    return item;
}

static enum step_type step_type_of(const struct item *item)
{
    return strcmp(item->row.type, "message") == 0 ? STEP_MESSAGE : STEP_TOOL_CALLS;
}

/* Reasoning and lists of tools belong to no step. */
static bool has_step(const struct item *item)
{
    return strcmp(item->row.type, "reasoning") != 0 &&
           strcmp(item->row.type, "mcp_list_tools") != 0;
}

/* So that a crash finds out what was being said: its shape, to be filled in from the log. */
void run_store_open_item(struct run *run)
{
    json_auto_t *body = NULL;
    AUTO_FREE char *text = NULL;
    struct item_row row;

    if (!run_is_resumable(run))
        return;
    body = item_body(run->open);
    text = json_text(body);
    row = run->open->row;
    row.body = text;
    run_put_item(run, &row);
}

void run_open_item(struct run *run, struct item *item)
{
    struct step *before = run->step;

    assert(!run->open);
    if (has_step(item))
        item->step = run_open_step(run, step_type_of(item));
    if (item->step) {
        memcpy(item->row.step_id, item->step->row.id, ID_SIZE);
        if (item->step->row.type == STEP_TOOL_CALLS)
            item->step_index = item->step->calls++;
        if (item->step != before)
            run_tell(run, &(struct run_event){
                              .kind = RUN_EVENT_STEP_OPENED, .step = item->step, .item = item});
    }
    item->open = true;
    item->output_index = run->output_count++;
    run->open = item;
    run_store_open_item(run);
    run_tell(run, &(struct run_event){.kind = RUN_EVENT_ITEM_OPENED, .item = item});
}

void run_store_silently(struct run *run, struct item *item, enum item_status status)
{
    item_close(item, status);
    run_put_item(run, &item->row);
}

void run_open_part(struct run *run, enum part_kind kind)
{
    struct item *item = run->open;

    run_close_part(run);
    item_add_part(item, kind);
    run_tell(run, &(struct run_event){.kind = RUN_EVENT_PART_OPENED,
                                      .item = item,
                                      .part = item->part_count - 1});
}

void run_add_text(struct run *run, const char *text, size_t length)
{
    struct item *item = run->open;
    struct part *part = &item->parts[item->part_count - 1];

    json_auto_t *logprobs = part->kind == PART_TEXT ? TAKE(run->logprobs) : NULL;

    buf_add(&part->text, text, length);
    if (logprobs)
        part_add_logprobs(part, logprobs);
    run_tell(run, &(struct run_event){.kind = RUN_EVENT_TEXT,
                                      .item = item,
                                      .part = item->part_count - 1,
                                      .text = text,
                                      .length = length,
                                      .fields = logprobs});
}

void run_annotate(struct run *run, json_t *annotation)
{
    struct item *item = run->open;
    size_t number = item_annotate(item, annotation);

    run_tell(run, &(struct run_event){.kind = RUN_EVENT_ANNOTATION,
                                      .item = item,
                                      .part = item->part_count - 1,
                                      .number = number,
                                      .fields = annotation});
}

void run_close_part(struct run *run)
{
    struct item *item = run->open;

    if (!item || !item->part_open)
        return;
    item->part_open = false;
    run_tell(run, &(struct run_event){.kind = RUN_EVENT_PART_CLOSED,
                                      .item = item,
                                      .part = item->part_count - 1});
}

/* Why an item is not complete, for the faces that say so. */
static void note_end_reason(struct run *run, struct item *item)
{
    if (run->end_reason)
        item_note(item, "incomplete_reason", run->end_reason);
}

void run_close_item(struct run *run, enum item_status status)
{
    struct item *item = run->open;

    if (!item)
        return;
    run_close_part(run);
    if (status == ITEM_INCOMPLETE)
        note_end_reason(run, item);
    item_close(item, status);
    run->open = NULL;
    run_tell(run, &(struct run_event){.kind = RUN_EVENT_ITEM_CLOSED, .item = item});
    run_put_item(run, &item->row);
}

json_t *run_output(const struct run *run)
{
    json_t *output = json_array();

    for (size_t i = 0; i < run->history_count; i++) {
        const struct item_row *row = &run->history[i];
        struct item past = {.row = *row};

        if (!row->input && !row->hidden && strcmp(row->run_id, run->row.id) == 0)
            json_array_append_new(output, item_object(&past));
    }
    for (size_t i = 0; i < run->item_count; i++) {
        if (run->items[i]->output_index >= 0)
            json_array_append_new(output, item_object(run->items[i]));
    }
    return output;
}

const struct item_row **run_step_items(const struct run *run, const struct step *step,
                                       size_t *ret_count)
{
    const struct item_row **rows =
        mem_new_array(const struct item_row *, run->history_count + run->item_count);
    size_t count = 0;

    for (size_t i = 0; i < run->history_count; i++) {
        if (strcmp(run->history[i].step_id, step->row.id) == 0)
            rows[count++] = &run->history[i];
    }
    for (size_t i = 0; i < run->item_count; i++) {
        if (strcmp(run->items[i]->row.step_id, step->row.id) == 0)
            rows[count++] = &run->items[i]->row;
    }
    *ret_count = count;
    return rows;
}

/* ---- Arrival ---- */

void run_watch_expiry(struct run *run)
{
    if (run->row.expires_at)
        loop_timer_start(run->loop, &run->expiry, expiry_moment(run));
}

/* A response that is streamed is in the store before its first event; one that is not tells
 * nothing before its end, and is stored then. */
static void announce_new(struct run *run)
{
    if (!run->exists && is_told(run) && run->row.flags & RUN_STORED) {
        run_raise_barrier(run);
        run->dirty_row = true;
        run->urgent = true;
    }
    if (run->row.status == RUN_QUEUED)
        tell_status(run);
}

static void start(struct run *run)
{
    if (run->row.status == RUN_QUEUED)
        run_move(run, RUN_EV_START);
    if (!run->row.started_at)
        run->row.started_at = clock_wall_us();
    tell_status(run);
}

/* The tools were checked when the request came; for Assistants, tools that nobody here executes
 * are accepted and kept, and fail the run that would need them. */
static bool resolve_tools(struct run *run)
{
    struct err err;
    json_t *tools = json_object_get(run->config, "tools");
    const json_t *permissions =
        json_object_get(json_object_get(run->config, "runnel"), "permissions");

    if (tool_set_init(&run->tools, json_is_array(tools) ? tools : NULL,
                      json_object_get(run->config, "runnel"),
                      json_object_get(run->config, TOOL_SETTINGS_KEY), &err) == ERR_OK &&
        tool_set_check_permissions(&run->tools, permissions, &err) == ERR_OK) {
        tool_set_load_items(&run->tools, run->history, run->history_count);
        run_open_servers(run);
        return true;
    }
    run_fail(run, "server_error", err.text);
    return false;
}

static void take_limits(struct run *run)
{
    const struct engine_options *options = engine_options(run->engine);

    chain_set_limits(&run->chain, options->round_limit, options->call_limit);
}

void run_arrive(struct run *run, const struct call_row *calls, size_t call_count)
{
    take_limits(run);
    if (run->arrival == ARRIVAL_NEW)
        announce_new(run);
    if (run->row.status == RUN_CANCELLING) {
        tell_status(run);
        run_recover(run, NULL, 0);
        run_cancel(run);
        return;
    }
    if (run->row.status == RUN_REQUIRES_ACTION) {
        run_expire(run); /* claimed only when its time is over */
        return;
    }
    if (run->arrival == ARRIVAL_CLAIMED && run_is_poison(run)) {
        run_recover(run, NULL, 0);
        run_fail(run, "server_error",
                 "The server stopped several times while it was working on this.");
        return;
    }
    if (run->arrival == ARRIVAL_SUBMITTED) {
        run_take_answers(run, calls, call_count);
        tell_status(run);
    }
    if (run->arrival == ARRIVAL_CLAIMED && run->row.status == RUN_QUEUED)
        tell_status(run);
    if (run->arrival != ARRIVAL_CLAIMED || run->row.status == RUN_QUEUED)
        start(run);
    if (run->life != RUN_ALIVE || run->ending || !resolve_tools(run))
        return;
    if (run->without_model) {
        run_finish(run);
        return;
    }
    if (run->arrival == ARRIVAL_CLAIMED) {
        run_recover(run, calls, call_count);
        return;
    }
    run_list_tools(run);
}

/* ---- The end ---- */

static void stop_work(struct run *run)
{
    run_stop_model(run);
    run_stop_tools(run);
    run_close_servers(run);
    loop_timer_stop(run->loop, &run->expiry);
}

/* What is open is closed as far as it came. */
static void cut_short(struct run *run, const char *reason, enum step_status step_status)
{
    stop_work(run);
    run->end_reason = reason;
    run_close_item(run, ITEM_INCOMPLETE);
    run_close_step(run, step_status);
}

static void store_usage(struct run *run)
{
    json_auto_t *tokens = budget_object(&run->budget);

    chain_note(&run->chain, tokens);
    free(run->row.usage);
    run->row.usage = json_text(tokens);
}

static bool is_own(const struct run *run, const struct item_row *item)
{
    return !item->input && strcmp(item->run_id, run->row.id) == 0;
}

/* Whether what a final tool has said has this number already: the one behind its call's. What is older
 * than the turn that ends is not looked at. */
static bool is_turn_taken(const struct run *run, int turn)
{
    for (size_t i = run->item_count; i-- > 0;) {
        if (run->items[i]->row.turn == turn)
            return true;
        if (run->items[i]->row.turn < turn - 1)
            return false;
    }
    for (size_t i = run->history_count; i-- > 0 && is_own(run, &run->history[i]);) {
        if (run->history[i].turn == turn)
            return true;
        if (run->history[i].turn < turn - 1)
            return false;
    }
    return false;
}

/* As long as calls are open the turn is theirs: whoever takes the run up sees by it that they are. */
void run_end_turn(struct run *run)
{
    run->row.turn++;
    if (is_turn_taken(run, run->row.turn))
        run->row.turn++;
    store_usage(run);
    run->dirty_row = true;
}

/* The last thing that is told waits for the last thing that is written. */
static void end(struct run *run, enum run_status_event event)
{
    run_raise_barrier(run);
    run_move(run, event);
    store_usage(run);
    free(TAKE(run->row.required_action));
    tell_status(run);
    run->life = RUN_ENDED;
    run->release = true;
    run->urgent = true;
}

void run_finish(struct run *run)
{
    stop_work(run);
    run_close_item(run, ITEM_COMPLETED);
    run_close_step(run, STEP_COMPLETED);
    run->row.completed_at = clock_wall_us();
    end(run, RUN_EV_FINISH);
}

void run_truncate(struct run *run, const char *reason)
{
    json_auto_t *details = json_build("{s:s}", "reason", reason);

    stop_work(run);
    run->end_reason = strcmp(reason, "content_filter") == 0 ? reason : "max_tokens";
    run_close_item(run, ITEM_INCOMPLETE);
    run_close_step(run, STEP_COMPLETED);
    run->row.incomplete = json_text(details);
    run->row.incomplete_at = clock_wall_us();
    end(run, RUN_EV_TRUNCATE);
}

void run_fail(struct run *run, const char *code, const char *message)
{
    json_auto_t *error = json_build("{s:s, s:s}", "code", code, "message", message);

    if (run->life != RUN_ALIVE)
        return;
    log_info("run %s failed: %s: %s", run->row.id, code, message);
    if (!run->chain.failed)
        run->chain.failed = CHAIN_EXECUTION;
    free(run->row.error);
    run->row.error = json_text(error);
    cut_short(run, "run_failed", STEP_FAILED);
    run->row.failed_at = clock_wall_us();
    end(run, RUN_EV_FAIL);
}

/* A pause whose write is on its way hears of the wish when it comes back. */
void run_cancel(struct run *run)
{
    if (run->life == RUN_ENDED && run->pause_length)
        run_take_back_pause(run);
    if (run->life != RUN_ALIVE)
        return;
    run_begin_to_end(run);
    if (run->life != RUN_ALIVE)
        return;
    if (run->row.status != RUN_CANCELLING) {
        run_move(run, RUN_EV_CANCEL);
        tell_status(run);
    }
    cut_short(run, "run_cancelled", STEP_CANCELLED);
    run->row.cancelled_at = clock_wall_us();
    end(run, RUN_EV_STOPPED);
}

void run_expire(struct run *run)
{
    if (run->life != RUN_ALIVE)
        return;
    if (!run_is_assistants(run)) {
        run_fail(run, "server_error", RUN_TOOK_TOO_LONG);
        return;
    }
    cut_short(run, "run_expired", STEP_EXPIRED);
    end(run, RUN_EV_EXPIRE);
}

/* ---- Waiting for the client ---- */

static json_t *required_calls(const struct run *run)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < run->call_count; i++) {
        const struct call *call = &run->calls[i];

        if (!call->client || call->settled)
            continue;
        json_array_append_new(
            list, json_build("{s:s, s:s, s:{s:s, s:s}}", "id", call->id, "type", "function",
                             "function", "name", call->name, "arguments",
                             call->arguments.data ? call->arguments.data : ""));
    }
    return list;
}

void run_require_action(struct run *run)
{
    json_auto_t *action = json_build("{s:s, s:{s:o}}", "type", "submit_tool_outputs",
                                     "submit_tool_outputs", "tool_calls", required_calls(run));

    loop_timer_stop(run->loop, &run->expiry);
    run_close_servers(run);
    run_raise_barrier(run);
    run_move(run, RUN_EV_ASK);
    store_usage(run);
    run->row.required_action = json_text(action);
    tell_status(run);
    run->pause_length = run->frames.bytes.length - run->frames.frame_start;
    run->life = RUN_ENDED; /* for this stay: nothing waits in memory */
    run->release = true;
    run->urgent = true;
}

void run_release(struct run *run)
{
    stop_work(run);
    run->life = RUN_ENDED;
    run->release = run->ready = true;
    run->dirty_row = true;
    run->urgent = true;
}

/* The lease is still ours, and nobody was told anything. */
void run_take_back_pause(struct run *run)
{
    assert(run->life == RUN_ENDED && run->row.status == RUN_REQUIRES_ACTION);
    if (run->pause_length)
        frames_drop_last(&run->frames);
    run->pause_length = 0;
    run->life = RUN_ALIVE;
    run->release = false;
}

bool run_take_back_end(struct run *run)
{
    if (run->life == RUN_ALIVE)
        return true;
    if (run->life != RUN_ENDED || run->ready || run->row.status == RUN_CANCELLED)
        return false;
    run->life = RUN_ALIVE;
    run->release = false;
    run->row.status = RUN_IN_PROGRESS; /* no event leads back from an end: it was none */
    run->row.completed_at = run->row.failed_at = run->row.incomplete_at = 0;
    free(TAKE(run->row.required_action));
    free(TAKE(run->row.incomplete));
    return true;
}

void run_abandon(struct run *run)
{
    if (run->life == RUN_ABANDONED)
        return;
    log_info("run %s: left to others", run->row.id);
    stop_work(run);
    run->life = RUN_ABANDONED;
    clear_dirty(run);
    run->dirty_row = false;
    run->urgent = false;
    frames_clear(&run->frames);
}

/* ---- Steering ---- */

bool run_steer(struct run *run, const char *steer_id)
{
    if (run->life != RUN_ALIVE || run->arriving || run->row.status != RUN_IN_PROGRESS)
        return false;
    run->steered = true;
    run_tell(run, &(struct run_event){.kind = RUN_EVENT_STEERED, .name = steer_id});
    return true;
}

/* ---- Listeners ---- */

void run_listener_gone(struct run *run, struct sink *sink)
{
    struct sink **at = &run->sinks;

    while (*at && *at != sink)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = sink->next;
    sink->ops->close(sink);
    if (!run->sinks && !run_is_resumable(run) && run->life == RUN_ALIVE)
        run_cancel(run);
}
