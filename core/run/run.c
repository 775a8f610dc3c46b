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
#include "core/run/run_servers.h"
#include "core/run/tool_settings.h"

bool run_is_resumable(const struct run *run)
{
    return run->row.flags & RUN_RESUMABLE;
}

bool run_is_assistants(const struct run *run)
{
    return run->row.face == FACE_ASSISTANTS;
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
    run->unwritten.row = true;
}

/* ---- Arrival ---- */

/* The wall-clock end of the run, on the monotonic clock. */
static uint64_t expiry_moment(const struct run *run)
{
    int64_t left = run->row.expires_at - clock_wall_us();

    return clock_mono_ns() + (left > 0 ? (uint64_t)left * 1000 : 0);
}

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
        run->unwritten.row = true;
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
                      json_object_get(run->config, TOOL_SETTINGS_KEY), &err) == ERR_OK) {
        tool_set_load_items(&run->tools, run->history, run->history_count);
        if (tool_set_check_permissions(&run->tools, permissions, &err) == ERR_OK) {
            run_open_servers(run);
            return true;
        }
    }
    run_fail(run, "server_error", err.text);
    return false;
}

static void take_limits(struct run *run)
{
    const struct engine_options *options = engine_options(run->engine);

    chain_set_limits(&run->chain, options->round_limit, options->call_limit);
}

/* It comes only to be ended. */
static bool ends_on_arrival(struct run *run)
{
    if (run->row.status == RUN_CANCELLING) {
        tell_status(run);
        run_recover(run, NULL, 0);
        run_cancel(run);
        return true;
    }
    if (run->row.status == RUN_REQUIRES_ACTION) {
        run_expire(run); /* claimed only when its time is over */
        return true;
    }
    if (run->arrival == ARRIVAL_CLAIMED && run_is_poison(run)) {
        run_recover(run, NULL, 0);
        run_fail(run, "server_error",
                 "The server stopped several times while it was working on this.");
        return true;
    }
    return false;
}

void run_arrive(struct run *run, const struct call_row *calls, size_t call_count)
{
    take_limits(run);
    if (run->arrival == ARRIVAL_NEW)
        announce_new(run);
    if (ends_on_arrival(run))
        return;
    if (run->arrival == ARRIVAL_SUBMITTED) {
        run_take_answers(run, calls, call_count);
        tell_status(run);
    }
    if (run->arrival == ARRIVAL_CLAIMED && run->row.status == RUN_QUEUED)
        tell_status(run);
    if (run->arrival != ARRIVAL_CLAIMED || run->row.status == RUN_QUEUED)
        start(run);
    if (run->ending && run->arrival == ARRIVAL_CLAIMED)
        run_recover(run, NULL, 0); /* only to close what its last owner left open */
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

/* A run that waited for a slot is announced before it ends; nobody is asked anything. */
void run_begin_to_end(struct run *run)
{
    run->ending = true;
    engine_begin(run);
}

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
    for (size_t i = run->history_count; i-- > 0 && run_has_made(run, &run->history[i]);) {
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
    run->unwritten.row = true;
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
}

void run_release(struct run *run)
{
    stop_work(run);
    run->life = RUN_ENDED;
    run->release = run->ready = true;
    run->unwritten.row = true;
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
    unwritten_clear(&run->unwritten);
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
