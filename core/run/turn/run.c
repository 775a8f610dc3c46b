/*
 * The life of a run in memory, from its arrival to its end.
 *
 *   run_arrive()          it is announced and its tools are resolved
 *   run_begin_turn()      a turn of the model (run_model.c)
 *   run_dispatch_tools()  the calls of the turn (calls/stages.c), then the next turn
 *
 * and then one of
 *
 *   run_finish(), run_truncate(), run_fail(), run_cancel(), run_expire()
 *                         it ends: its last write is committed, its listeners receive the end
 *   run_require_action()  it pauses for its client, whose answer begins another residency
 *   run_release()         the server drains: another node continues it
 *   run_delete()          its row is gone: it ends, and only its listeners learn how
 *   run_abandon()         it is no longer this node's, because it was claimed elsewhere
 *
 * The status is what clients see and the store keeps. It moves through the table of
 * domain/run_status.c only. `life` is about this residency: a pause and a release end it, too. Two
 * ends may meet in one step, for example a timer and a failure of the model. The first one sets
 * `life`, and all others find that the run is no longer alive.
 *
 * Every end has the same order. Work stops. What is open is closed as far as it came, so that clients
 * see no item without an end. A barrier goes up. The status moves and is emitted behind the barrier.
 * So a client that sees the end finds it in the store.
 *
 * An end that is not stored has not happened, because nothing has left: the database may refuse its
 * write, or a cancel request may be stored before a pause is, or the run is deleted. Such an end is
 * taken back, and the run goes another way (run_take_back_end(), run_take_back_pause(), run_delete()).
 *
 * After a crash another node claims the run, and it arrives there as ARRIVAL_CLAIMED: with the rows
 * and the log that were committed (engine/recover.c).
 */

#include "core/run/turn/run.h"

#include <assert.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/run/catalog/tool_settings.h"
#include "core/run/catalog/unavailable.h"

bool run_is_resumable(const struct run *run)
{
    return run->row.flags & RUN_RESUMABLE;
}

bool run_is_assistants(const struct run *run)
{
    return run->row.face == FACE_ASSISTANTS;
}

/* ---- Events ---- */

/* Frames of a run that is neither logged nor streamed would have no reader: they are not rendered. */
static bool has_reader(const struct run *run)
{
    return run_is_resumable(run) || run->row.flags & RUN_STREAMED;
}

void run_emit(struct run *run, const struct run_event *event)
{
    if (has_reader(run))
        run->face->event(run, event, &run->publishing.frames);
}

static void emit_status(struct run *run)
{
    run_emit(run, &(struct run_event){.kind = RUN_EVENT_STATUS});
}

/* The only place where a status changes by something that happened. An event that the table does not
 * allow in this status is a mistake of the engine. run_take_back_end() undoes such a change. */
static void run_move(struct run *run, enum run_status_event event)
{
    enum run_status next = run_status_next(run->row.status, event);

    assert(next != RUN_STATUS_NONE);
    log_debug("run %s: %s -> %s", run->row.id, run_status_name(run->row.status),
              run_status_name(next));
    run->row.status = next;
    run->writing.unwritten.row = true;
}

/* ---- Arrival ---- */

/* The end of the run's time. It is stored as wall-clock time, which all nodes share. The timer needs
 * the monotonic clock, which nobody sets. */
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

void run_watch_listeners(struct run *run)
{
    double seconds = engine_options(run->engine)->idempotency_grace_seconds;

    if (run_is_assistants(run) || run->row.flags & RUN_BACKGROUND || !run_is_resumable(run) ||
        run->publishing.sinks || run->life != RUN_ALIVE)
        return;
    loop_timer_start(run->loop, &run->grace,
                     loop_now(run->loop) + (uint64_t)(seconds * (double)NS_PER_SECOND));
}

/* A streamed response is in the store before its first event leaves: its client may use the id at
 * once. A response that is not streamed sends nothing before its end, and is stored then. */
static void announce_new(struct run *run)
{
    if (!run->writing.exists && has_reader(run) && run->row.flags & RUN_STORED) {
        run_raise_barrier(run);
        run->writing.unwritten.row = true;
    }
    if (run->row.status == RUN_QUEUED)
        emit_status(run);
}

void run_announce(struct run *run)
{
    if (run->announced || run->arrival != ARRIVAL_NEW)
        return;
    run->announced = true;
    announce_new(run);
}

/* A run that waited for files when its owner died: its log has the announcement and nothing else. */
static bool was_announced(const struct run *run)
{
    return run->publishing.frames.next && !run->row.started_at;
}

static void start(struct run *run)
{
    if (run->row.status == RUN_QUEUED)
        run_move(run, RUN_EV_START);
    if (!run->row.started_at)
        run->row.started_at = clock_wall_us();
    emit_status(run);
}

/* The tools of a response were checked when its request came. Those of an assistant are kept as they are
 * and checked only here. */
static bool resolve_tools(struct run *run)
{
    struct err err;

    if (run->settings.expired_store) {
        AUTO_FREE char *why =
            mem_printf("The vector store %s has expired.", run->settings.expired_store);

        run_fail(run, "invalid_prompt", why);
        return false;
    }
    if (unavailable_tools_check(&run->settings, run->settings.tools, &err)) {
        run_fail(run, "invalid_prompt", err.text);
        return false;
    }
    if (tool_set_init(&run->tools, run->settings.tools, &run->settings, &err) == ERR_OK) {
        tool_set_load_items(&run->tools, run->history, run->history_count);
        if (tool_set_check_permissions(&run->tools, &err) == ERR_OK) {
            run_open_servers(run);
            return true;
        }
    }
    run_fail(run, "server_error", err.text);
    return false;
}

/* Whether the run was taken up only to be ended: then it has ended here. */
static bool ends_on_arrival(struct run *run)
{
    if (run->row.status == RUN_CANCELLING) {
        emit_status(run);
        run_recover(run, NULL, 0);
        run_cancel(run);
        return true;
    }
    if (run->row.status == RUN_REQUIRES_ACTION) {
        run_expire(run); /* such a run is claimed only when its time is over */
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
    const struct engine_options *options = engine_options(run->engine);

    chain_set_limits(&run->chain, options->round_limit, options->call_limit);
    run_announce(run);
    if (ends_on_arrival(run))
        return;
    if (run->arrival == ARRIVAL_SUBMITTED) {
        run_take_answers(run, calls, call_count);
        emit_status(run);
    }
    if (run->arrival == ARRIVAL_CLAIMED && run->row.status == RUN_QUEUED && !was_announced(run))
        emit_status(run);
    /* A run that was in progress when its owner died has been started and announced before, unless its
     * log is empty: a foreground response is in progress from its creation on. */
    if (run->arrival != ARRIVAL_CLAIMED || run->row.status == RUN_QUEUED ||
        !run->publishing.frames.next)
        start(run);
    run_watch_listeners(run);
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

/* A run may end while it waits for a slot. Its client must see it begin first, so it arrives here,
 * without a slot: `ending` keeps it from requesting a model or a tool. */
void run_prepare_end(struct run *run)
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
    loop_timer_stop(run->loop, &run->grace);
}

/* The open item and step are closed as they are, and say why. Calls that have ended behind it are shown: what
 * they did is done. */
static void cut_short(struct run *run, const char *reason, enum step_status step_status)
{
    stop_work(run);
    run->end_reason = reason;
    run_close_item(run, ITEM_INCOMPLETE);
    run->end_reason = NULL;
    run_show_ended_calls(run);
    run_cut_programs(run);
    run->end_reason = reason;
    run_close_steps(run, step_status);
}

static void store_usage(struct run *run)
{
    json_auto_t *tokens = budget_object(&run->budget);

    chain_note(&run->chain, tokens);
    free(run->row.usage);
    run->row.usage = json_text(tokens);
}

/* Whether an item has this turn number already. A final tool's message has the number after its
 * call's, so that it is ordered behind the call (calls/run_output.c). The search goes backwards, and
 * stops at items that are older than the turn that ends. */
static bool is_turn_taken(const struct run *run, int turn)
{
    for (size_t i = run->items.count; i-- > 0;) {
        if (run->items.list[i]->row.turn == turn)
            return true;
        if (run->items.list[i]->row.turn < turn - 1)
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

/* The number moves only when all calls of the turn have ended. Another node that claims the run
 * recognizes open calls by it: their rows have the run's own turn (engine/recover.c). */
void run_end_turn(struct run *run)
{
    run->row.turn++;
    if (is_turn_taken(run, run->row.turn))
        run->row.turn++;
    store_usage(run);
    run->writing.unwritten.row = true;
}

/* Notes which frames it makes: until they are published, the end may be replaced by another. */
static void emit_end(struct run *run)
{
    const struct frames *frames = &run->publishing.frames;
    size_t length = frames->bytes.length;
    unsigned count = frames->count;

    emit_status(run);
    run->publishing.end_length = frames->bytes.length - length;
    run->publishing.end_count = frames->count - count;
}

/* The status event leaves when everything of the run is committed, this end included. */
static void end(struct run *run, enum run_status_event event)
{
    run_raise_barrier(run);
    run_move(run, event);
    store_usage(run);
    free(TAKE(run->row.required_action));
    emit_end(run);
    run->life = RUN_ENDED;
    run->writing.release = true;
}

void run_finish(struct run *run)
{
    stop_work(run);
    run_close_item(run, ITEM_COMPLETED);
    run_close_steps(run, STEP_COMPLETED);
    run->row.completed_at = clock_wall_us();
    end(run, RUN_EV_FINISH);
}

void run_truncate(struct run *run, const char *reason)
{
    json_auto_t *details = json_build("{s:s}", "reason", reason);

    stop_work(run);
    run->end_reason = strcmp(reason, "content_filter") == 0 ? reason : "max_tokens";
    run_close_item(run, ITEM_INCOMPLETE);
    run_close_steps(run, STEP_COMPLETED);
    run->row.incomplete = json_text(details);
    run->row.incomplete_at = clock_wall_us();
    end(run, RUN_EV_TRUNCATE);
}

void run_fail_as(struct run *run, const struct run_failure *failure)
{
    json_auto_t *error =
        json_build("{s:s, s:s}", "code", failure->code, "message", failure->message);

    if (run->life != RUN_ALIVE)
        return;
    log_info("run %s failed: %s: %s", run->row.id, failure->code, failure->message);
    if (!run->chain.failed)
        run->chain.failed = CHAIN_EXECUTION;
    free(run->row.error);
    run->row.error = json_text(error);
    run->failure = failure->kind;
    run->retry_after_ns = failure->retry_after_ns;
    cut_short(run, "run_failed", STEP_FAILED);
    run->row.failed_at = clock_wall_us();
    end(run, RUN_EV_FAIL);
}

void run_fail(struct run *run, const char *code, const char *message)
{
    run_fail_as(run,
                &(struct run_failure){.kind = ERR_UPSTREAM, .code = code, .message = message});
}

/* If the write of a pause is under way, the run is no longer alive here. The cancel request is in its
 * row then, and the write brings it back (run_write.cancel_requested). */
void run_cancel(struct run *run)
{
    if (run->life == RUN_ENDED && run->publishing.pause_length)
        run_take_back_pause(run);
    if (run->life != RUN_ALIVE)
        return;
    run_prepare_end(run);
    if (run->life != RUN_ALIVE)
        return;
    if (run->row.status != RUN_CANCELLING) {
        run_move(run, RUN_EV_CANCEL);
        emit_status(run);
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

    for (unsigned i = 0; i < run->calls.count; i++) {
        const struct call *call = &run->calls.list[i];

        if (call->status != CALL_OPEN)
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
    emit_end(run);
    run->publishing.pause_length =
        run->publishing.frames.bytes.length - run->publishing.frames.frame_start;
    run->life = RUN_ENDED; /* only the residency: a paused run is not kept in memory */
    run->writing.release = true;
}

void run_release(struct run *run)
{
    stop_work(run);
    store_usage(run);
    run->life = RUN_ENDED;
    run->writing.release = run->writing.ready = true;
    run->writing.unwritten.row = true;
    run->writing.urgent = true;
}

/* Allowed as long as this node has the lease and the pause was not published. */
void run_take_back_pause(struct run *run)
{
    assert(run->life == RUN_ENDED && run->row.status == RUN_REQUIRES_ACTION);
    if (run->publishing.pause_length)
        frames_drop_last(&run->publishing.frames);
    run->publishing.pause_length = 0;
    run->life = RUN_ALIVE;
    run->writing.release = false;
}

static void take_back_end(struct run *run)
{
    run->life = RUN_ALIVE;
    run->writing.release = false;
    run->row.status = run_status_next(run->row.status, RUN_EV_TAKE_BACK);
    assert(run->row.status != RUN_STATUS_NONE);
    run->row.completed_at = run->row.failed_at = run->row.incomplete_at = 0;
    free(TAKE(run->row.required_action));
    free(TAKE(run->row.incomplete));
}

bool run_take_back_end(struct run *run)
{
    if (run->life == RUN_ALIVE)
        return true;
    if (run->life != RUN_ENDED || run->writing.ready || run->row.status == RUN_CANCELLED)
        return false;
    take_back_end(run);
    return true;
}

/* It may have ended, or be released for another node, and the deletion was stored first. A run that
 * was cancelled stays so. */
static void revive(struct run *run, struct run_write *write)
{
    if (run->life == RUN_ALIVE || run->row.status == RUN_CANCELLED)
        return;
    if (!run->writing.ready) {
        run_drop_end(run, write);
        take_back_end(run);
    }
    run->life = RUN_ALIVE;
    run->writing.release = run->writing.ready = false;
}

void run_delete(struct run *run, struct run_write *write)
{
    revive(run, write);
    run->deleted = write->thread_deleted ? RUN_CONVERSATION_DELETED : RUN_RESPONSE_DELETED;
    run_publish_unstored(run, write);
    run_prepare_end(run);
    if (run_is_assistants(run))
        run_cancel(run);
    else
        run_fail(run, "server_error", run->deleted);
}

void run_abandon(struct run *run)
{
    if (run->life == RUN_ABANDONED)
        return;
    log_info("run %s: abandoned", run->row.id);
    stop_work(run);
    run->life = RUN_ABANDONED;
    unwritten_clear(&run->writing.unwritten);
    run->writing.urgent = false;
    frames_clear(&run->publishing.frames);
}

/* ---- Steering ---- */

bool run_steer(struct run *run, const char *steer_id)
{
    if (run->life != RUN_ALIVE || run->arriving || run->row.status != RUN_IN_PROGRESS)
        return false;
    run->steered = true;
    run_emit(run, &(struct run_event){.kind = RUN_EVENT_STEERED, .name = steer_id});
    return true;
}

/* ---- Listeners ---- */

/* A follower is no client of this node alone: it can read the log instead. */
static bool has_client(const struct run *run)
{
    for (const struct sink *sink = run->publishing.sinks; sink; sink = sink->next) {
        if (!sink->ops->paused)
            return true;
    }
    return false;
}

void run_listener_gone(struct run *run, struct sink *sink)
{
    struct sink **at = &run->publishing.sinks;

    while (*at && *at != sink)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = sink->next;
    sink->ops->close(sink);
    if (!has_client(run) && !run_is_resumable(run) && run->life == RUN_ALIVE)
        run_cancel(run);
    run_watch_listeners(run);
}
