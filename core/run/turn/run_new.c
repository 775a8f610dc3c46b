/*
 * How a run comes into memory, and is freed.
 *
 * A run_start has what the store has of the run, or what a request has just made: its row, the items of
 * its context, its steps, the number of its next frame. run_new() takes that over and counts again what
 * no row says: how many items the response has shown, which call of a step comes next, how many rounds
 * in a row the model has taken. A residency therefore continues where the last one ended, whether that
 * was a pause or a crash. Counters that are derived from rows cannot contradict them.
 *
 * Nothing here emits, writes or starts anything. The engine then adds the run to its loop and calls
 * run_arrive(), at once or when the run gets a slot.
 */

#include "core/domain/notes.h"
#include "core/run/turn/run.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/regex.h"
#include "core/memory/variable_memory.h"
#include "core/run/catalog/tool_settings.h"
#include "core/run/context/past/past_text.h"
#include "core/run/context/past_calls.h"

static void expiry_fired(struct loop_timer *timer)
{
    struct run *run = CONTAINER_OF(timer, struct run, expiry);

    run_prepare_end(run);
    run_expire(run);
    run_pump(run);
}

/* A client may have joined meanwhile, here or on another node. */
static void grace_fired(struct loop_timer *timer)
{
    struct run *run = CONTAINER_OF(timer, struct run, grace);

    if (run->publishing.sinks)
        return;
    if (run_has_peers(run)) {
        run_watch_listeners(run);
        return;
    }
    run_cancel(run);
    run_pump(run);
}

static void flush_fired(struct loop_timer *timer)
{
    struct run *run = CONTAINER_OF(timer, struct run, writing.flush);

    run->writing.urgent = true;
    run_pump(run);
}

/* Items that were cut are hidden now, but clients have seen them. */
static bool was_shown(const struct item_row *item)
{
    return !item->hidden || item_row_is_cut(item);
}

/* The next item is numbered behind all that the run has shown in earlier residencies. */
static int count_shown(const struct run *run)
{
    int shown = 0;

    for (size_t i = 0; i < run->history_count; i++) {
        const struct item_row *item = &run->history[i];

        shown += run_has_made(run, item) && was_shown(item);
    }
    return shown;
}

/* Calls that the step has from earlier residencies: the next one is numbered behind them. */
static unsigned count_calls(const struct run *run, const char *step_id)
{
    unsigned count = 0;

    for (size_t i = 0; i < run->history_count; i++) {
        const struct item_row *item = &run->history[i];

        count += strcmp(item->step_id, step_id) == 0 && was_shown(item) &&
                 !item_type_is_output(item->type);
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
        step->next = run->items.steps;
        run->items.steps = step;
        if (step->open) {
            run->items.waiting = run->items.step;
            run->items.step = step;
        }
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

/* The limit that an incomplete item of the last turn names in its notes, if it was one. */
static enum chain_stop stop_of(const struct item_row *item)
{
    json_auto_t *body = json_parse_own(item->body);

    return chain_reason_parse(json_get_string(notes_of(body), "reason", NULL));
}

/* A run that was claimed after a crash continues the count of its rounds: a crash must not lift a limit.
 * Only whole turns count, because the turn that was cut is requested again. After a pause the count
 * starts from zero: the client was in between. */
static void take_rounds(struct run *run)
{
    int last_turn = -1;

    for (size_t i = 0; i < run->history_count && run->arrival == ARRIVAL_CLAIMED; i++) {
        const struct item_row *item = &run->history[i];
        bool whole = item->turn < run->row.turn;

        if (!whole || !run_has_made(run, item))
            continue;
        if (item_type_is_output(item->type))
            run->chain.rounds = 0; /* the client has executed this call */
        else if (item->turn > last_turn)
            run->chain.rounds++;
        last_turn = item->turn;
        if (item->turn == run->row.turn - 1 && item->status == ITEM_INCOMPLETE)
            run->chain.stop = stop_of(item);
    }
}

struct run *run_new(struct engine_loop *home, const struct tenant_limits *limits,
                    struct run_start *start)
{
    struct run *run = mem_new(struct run);
    struct run_load *load = &start->load;

    run->taint = mem_new(struct run_taint);
    run->home = home;
    run->arrival = start->arrival;
    run->row = load->run;
    memset(&load->run, 0, sizeof(load->run));
    run->writing.fence = load->fence;
    run->writing.exists = load->fence != 0;
    run->publishing.frames.next = run->writing.log_next = run->publishing.published =
        load->next_seq;
    run->writing.next_position = load->next_position;
    run->history = TAKE(load->items);
    run->history_count = load->item_count;
    load->item_count = 0;
    run->past = TAKE(start->past);
    run_retell_searches(run);
    run->items.shown = count_shown(run);
    take_steps(run, load);
    take_thread(run, start->new_thread);
    run->settings = start->settings;
    start->settings = (struct run_settings){0};
    if (!run->settings.snapshot)
        run_settings_load(&run->settings, run->row.config);
    run->tenant = tenant_of_project(run->row.project);
    run->tenant.user = run_settings_user(&run->settings);
    run->tenant.limits = *limits;
    chain_init(&run->chain, &run->settings, run->row.usage);
    take_rounds(run);
    budget_init(&run->budget, &run->settings, run->row.usage);
    run->without_model = start->without_model;
    run->context = TAKE(start->context);
    run->remote.secrets = TAKE(start->secrets);
    run_open_variables(run, start);
    run->expiry.fire = expiry_fired;
    run->grace.fire = grace_fired;
    run->writing.flush.fire = flush_fired;
    return run;
}

void run_free(struct run *run)
{
    if (!run)
        return;
    run_clear_calls(run);
    call_rows_free(run->calls.answered, run->calls.answered_count);
    json_decref(run->writing.posts);
    json_decref(run->writing.posts_written);
    run_forget_held(run);
    chain_clear(&run->chain);
    run_citations_free(run->citations);
    run_made_free(run->made);
    run_links_free(run->links);
    free(run->taint);
    buf_clear(&run->turn.summary);
    free(run->turn.usage);
    free(run->publishing.peers);
    for (size_t i = 0; i < run->items.count; i++)
        item_free(run->items.list[i]);
    free(run->items.list);
    while (run->items.steps) {
        struct step *step = run->items.steps;

        run->items.steps = step->next;
        step_row_clear(&step->row);
        free(step);
    }
    unwritten_clear(&run->writing.unwritten);
    past_text_release(run->past);
    item_rows_free(run->history, run->history_count);
    run_free_servers(run);
    tool_set_clear(&run->tools);
    thread_row_clear(&run->thread);
    run_row_clear(&run->row);
    frames_clear(&run->publishing.frames);
    run_settings_clear(&run->settings);
    json_decref(run->context);
    json_decref(run->calls.files);
    regex_budget_release(run->calls.searches);
    json_decref(run->turn.logprobs);
    variable_memory_release(run->variables);
    message_cache_release(run->messages);
    free(run);
}
