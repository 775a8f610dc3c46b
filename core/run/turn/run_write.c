/*
 * Writing and publishing: what happens to a run is stored, and sent to its listeners, in that order
 * where the order matters. This is the rule: what may hold back which bytes, and until when.
 *
 * At most one write of a run is under way. What happens meanwhile gathers and goes with the next
 * write, so a busy database makes larger writes and not longer queues. Writes are numbered as they
 * begin.
 *
 *   resumable (Assistants runs, background)  A frame waits until the write that has it in its log
 *                                            is committed.
 *   foreground, stored                       A frame waits while a barrier stands: until the one
 *                                            write with the barrier's number is committed. Without
 *                                            a barrier it leaves at once, whatever is unwritten.
 *   store:false                              Every frame leaves at once. Nothing is written.
 *
 * A run raises a barrier before it emits what a client can act on: that the response exists, that an
 * approval request can be answered, that the run has ended. A client that acts on one of these finds
 * it in the database. Text, calls and results in between promise nothing: a response that is read
 * before its end shows none of them.
 *
 * Why it is safe. A barrier has the number of the next write to begin, never that of the write under
 * way. That one was filled before, and cannot carry what is emitted now. A write begins in run_pump()
 * only, so everything that the run puts until then is in it.
 *
 * Why no byte waits for ever. A barrier requests its write, and run_pump() begins it: at once, or
 * when the write under way is back. When that write is committed, the barrier is gone. What became
 * unwritten meanwhile does not keep it up: no frame has promised that, and its own write may be due
 * at the end only. A second barrier replaces the first and has the next write again. A log is flushed
 * by a timer at the latest. A write comes back as soon as the database answers. A refused write fails
 * the run, and the end of the run is a barrier of its own. A write that is lost to another owner ends
 * the residency, which closes the listeners. run_pump() asserts that nothing waits for a write that
 * was not requested.
 *
 * After a crash. The database has what was committed, and clients have at most what the rule let
 * out. So the log of a resumable run has every byte that a client can have received, and another node
 * continues it from there (engine/recover.c). Other runs die with their node. If one of them
 * is in the store, the keeper of another node fails it once its lease has run out.
 *
 * Rejected: a barrier that stands until nothing is unwritten. No write of a foreground response is due
 * before its end, so one barrier held back the whole answer. Also rejected: to derive the barrier from
 * the status of the run. Approval requests, and whatever else a client may act on, would each need an
 * exception.
 */

#include "core/run/turn/run.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/memory/variable_memory.h"

/* The log of a resumable run is flushed this often at most, or sooner when this much waits. 25 ms
 * delay no reader, and make one transaction of several tokens. What many streams cost the database is their rows, more
 * than their bytes. So each stream adds its part to the interval of all. */
#define FLUSH_EVERY_NS     (25 * NS_PER_MS)
#define FLUSH_OF_RUN_NS    (NS_PER_MS / 10)
#define FLUSH_AFTER_FRAMES 32
#define FLUSH_AFTER_BYTES  8192

/* Bytes of frames that may wait for a write. The writer repeats it for as long as the database is
 * away, so it may not come back soon. */
#define BACKLOG_LIMIT ((size_t)64 << 20)

/* ---- What the next write must carry ---- */

static bool is_stored(const struct run *run)
{
    return run->row.flags & RUN_STORED && !run->deleted;
}

/* Its frames wait for the write that logs them. */
static bool is_logged(const struct run *run)
{
    return run_is_resumable(run) && !run->deleted;
}

void run_put_item(struct run *run, const struct item_row *row)
{
    if (is_stored(run))
        unwritten_put_item(&run->writing.unwritten, row);
}

void run_put_step(struct run *run, const struct step_row *row)
{
    unwritten_put_step(&run->writing.unwritten, row);
}

/* Only a run that another node can continue needs rows of its calls. Of all others a call is stored
 * as an item, when it has ended. */
void run_put_call(struct run *run, const struct call_row *row)
{
    if (run_is_resumable(run))
        unwritten_put_call(&run->writing.unwritten, row);
}

bool run_put_variable(struct run *run, struct variable *variable)
{
    if (run->variables)
        return variable_memory_add(run->variables, variable);
    unwritten_put_variable(&run->writing.unwritten, variable);
    return true;
}

const char *run_variable_scope(const struct run *run)
{
    if (run->variables)
        return "";
    return *run->row.thread_id ? run->row.thread_id : run->row.id;
}

/* An approval request is stored by the write that stores its item. A store:false run has none: nobody
 * could find it to answer it. */
void run_put_approval(struct run *run, const struct approval_row *row)
{
    if (is_stored(run))
        unwritten_put_approval(&run->writing.unwritten, row);
}

/* ---- Publishing ---- */

/* Drops `count` frames from the front. A frame ends with an empty line and contains no other, because
 * its data is one line of JSON. */
static const char *skip_frames(const char *bytes, size_t *length, int64_t count)
{
    const char *end = bytes + *length;

    while (count-- > 0 && bytes < end) {
        const char *stop = memmem(bytes, (size_t)(end - bytes), "\n\n", 2);

        bytes = stop ? stop + 2 : end;
    }
    *length = (size_t)(end - bytes);
    return bytes;
}

/* Sends the frames with the numbers `first` to `last` to every sink. A follower that joined at a later
 * number gets the rest only: it has read the others from the log. */
static void publish(struct run *run, const char *bytes, size_t length, int64_t first,
                    int64_t last)
{
    for (struct sink *sink = run->publishing.sinks, *next; sink; sink = next) {
        const char *wanted = bytes;
        size_t wanted_length = length;

        next = sink->next;
        if (!sink->ops->events || last < sink->from)
            continue;
        if (first < sink->from)
            wanted = skip_frames(bytes, &wanted_length, sink->from - first);
        sink->ops->events(sink, wanted, wanted_length);
    }
    run->publishing.published = last + 1;
}

/* A barrier stands: its write is not committed yet. */
static bool is_held_back(const struct run *run)
{
    return run->writing.barrier > run->writing.committed;
}

/* Frames of a run that is not resumable, unless a barrier stands. The frames of a resumable run leave
 * with the write that logs them, in write_committed(). */
static void publish_free_frames(struct run *run)
{
    if (is_logged(run) || is_held_back(run) || !run->publishing.frames.count)
        return;
    publish(run, run->publishing.frames.bytes.data, run->publishing.frames.bytes.length,
            run->publishing.frames.next - (int64_t)run->publishing.frames.count,
            run->publishing.frames.next - 1);
    frames_clear(&run->publishing.frames);
}

/* The number of the next write, which no longer waits for the flush timer. */
static uint64_t request_write(struct run *run)
{
    run->writing.urgent = true;
    return run->writing.begun + 1;
}

void run_raise_barrier(struct run *run)
{
    publish_free_frames(run);
    if (is_stored(run))
        run->writing.barrier = request_write(run);
}

void run_check_lease(struct run *run)
{
    if (run->writing.exists && run->writing.fence && run->life != RUN_ABANDONED)
        (void)request_write(run);
}

/* The run emits nothing after its end. So those frames are the last ones, wherever they are. */
void run_drop_end(struct run *run, struct run_write *write)
{
    struct run_publishing *publishing = &run->publishing;

    if (publishing->frames.count) {
        publishing->frames.count -= publishing->end_count;
        publishing->frames.bytes.length -= publishing->end_length;
        publishing->frames.bytes.data[publishing->frames.bytes.length] = '\0';
    } else {
        write->log_length -= publishing->end_length;
        write->log_last -= publishing->end_count;
    }
    publishing->frames.next -= publishing->end_count;
    publishing->end_length = publishing->pause_length = 0;
    publishing->end_count = 0;
}

/* The barrier falls: a client that acts on what was behind it finds that the run was deleted. */
void run_publish_unstored(struct run *run, const struct run_write *write)
{
    run->writing.barrier = 0;
    run->writing.then = NULL;
    run->writing.urgent = false;
    unwritten_clear(&run->writing.unwritten);
    if (write->log_length)
        publish(run, write->log_bytes, write->log_length, write->log_first, write->log_last);
    publish_free_frames(run);
}

/* ---- The end of a residency ---- */

static void answer_waiting(const struct run *run, struct sink *sink)
{
    struct sink_answer answer = {.status = 200};

    if (run->face->answer)
        run->face->answer(run, &answer);
    else
        answer.object = run->face->object(run);
    sink->ops->answer(sink, &answer);
}

static void dismiss(struct run *run, struct sink *sink)
{
    const char *end = run->face->stream_end;

    /* A follower continues with the next residency, here or on another node. Only a final status
     * ends it. */
    if (sink->ops->paused) {
        if (run->life == RUN_ENDED && run_status_is_final(run->row.status))
            sink->ops->close(sink);
        else
            sink->ops->paused(sink);
        return;
    }
    /* A run that is released for another node has no result yet: no answer, and not the last line
     * of the stream, which would say that nothing follows. */
    if (run->life == RUN_ENDED && !run->writing.ready) {
        if (sink->ops->events && end)
            sink->ops->events(sink, end, strlen(end));
        if (sink->ops->answer)
            answer_waiting(run, sink);
        if (sink->ops->context) {
            size_t count = 0;
            AUTO_FREE const struct item_row **items = run_gather_items(run, &count);

            sink->ops->context(sink, items, count);
        }
    }
    sink->ops->close(sink);
}

/* A log that grows with an answer of the model is counted until a write has none of it, or the run leaves. */
static void note_flow(struct run *run, bool flows)
{
    if (flows == run->writing.flows)
        return;
    run->writing.flows = flows;
    (flows ? engine_flow_add : engine_flow_drop)(run->engine);
}

/* Nothing of the run is to be written or published any more: it leaves memory. */
static void end_residency(struct run *run)
{
    while (run->publishing.sinks) {
        struct sink *sink = run->publishing.sinks;

        run->publishing.sinks = sink->next;
        dismiss(run, sink);
    }
    note_flow(run, false);
    engine_forget(run);
}

/* ---- Writing ---- */

static bool is_input(const struct run *run, const struct item_row *row)
{
    return row->input && strcmp(row->run_id, run->row.id) == 0;
}

/* The input of a run that is not in the store yet is written with it. It may be long, and many such
 * writes may wait for a slow database. So the bodies are lent to the write and not copied. That is
 * safe because the run outlives its write and does not change its history meanwhile. */
static void lend_input(const struct run *run, struct run_write *write)
{
    struct item_row *lent;

    for (size_t i = 0; i < run->history_count; i++)
        write->lent += is_input(run, &run->history[i]);
    write->items =
        mem_resize(write->items, write->item_count + write->lent, sizeof(*write->items));
    lent = write->items + write->item_count;
    write->item_count += write->lent;
    for (size_t i = 0; i < run->history_count; i++) {
        if (!is_input(run, &run->history[i]))
            continue;
        *lent = run->history[i];
        lent->metadata = mem_strdup(lent->metadata);
        lent++;
    }
}

/* The frames become a chunk of the log, and belong to the write until it is committed. */
static void carry_log(struct run *run, struct run_write *write)
{
    write->log_first = run->writing.log_next;
    write->log_last = run->publishing.frames.next - 1;
    write->log_length = run->publishing.frames.bytes.length;
    write->log_bytes = buf_take(&run->publishing.frames.bytes);
    write->log_pause = run->publishing.pause_length;
    run->publishing.pause_length = 0;
    run->publishing.frames.count = 0;
    run->writing.log_next = run->publishing.frames.next;
}

uint64_t run_flush_interval_ns(size_t flows, uint64_t most_ns)
{
    uint64_t wanted = flows * FLUSH_OF_RUN_NS;

    if (wanted > most_ns)
        wanted = most_ns;
    return wanted > FLUSH_EVERY_NS ? wanted : FLUSH_EVERY_NS;
}

static uint64_t flush_interval(const struct run *run)
{
    double most = engine_options(run->engine)->log_flush_max_seconds;

    return run_flush_interval_ns(engine_flows(run->engine), (uint64_t)(most * NS_PER_SECOND));
}

static void write_done(struct loop_task *task);

static void start_write(struct run *run)
{
    struct run_write *write = run_write_new();

    (void)FAULT("run.write"); /* a test may crash here: before anything is written */
    write->tenant = tenant_kept(&run->tenant);
    memcpy(write->run_id, run->row.id, ID_SIZE);
    memcpy(write->thread_id, run->row.thread_id, ID_SIZE);
    write->fence = run->writing.fence;
    write->create = !run->writing.exists;
    write->update = run->writing.unwritten.row && run->writing.exists;
    if (write->create || write->update) {
        write->run = mem_new(struct run_row);
        run_row_copy(write->run, &run->row);
    }
    write->release = run->writing.release;
    write->ready = run->writing.ready;
    unwritten_move(&run->writing.unwritten, write);
    if (write->create)
        lend_input(run, write);
    (void)snprintf(write->variable_scope, sizeof(write->variable_scope), "%s",
                   run_variable_scope(run));
    write->log_last = -1;
    if (run_is_resumable(run) && run->publishing.frames.count)
        carry_log(run, write);
    note_flow(run, write->log_length && run->turn.model);
    run->writing.flush_due_ns = loop_now(run->loop) + flush_interval(run);
    write->loop = run->loop;
    write->arg = run;
    write->done.run = write_done;

    /* From here on all that happens belongs to the next write. */
    json_decref(run->writing.posts_written);
    run->writing.posts_written = TAKE(run->writing.posts);
    run->writing.urgent = false;
    run->writing.write = write;
    run->writing.begun++;
    loop_timer_stop(run->loop, &run->writing.flush);
    store_write(engine_options(run->engine)->store, write);
}

static bool has_unwritten(const struct run *run)
{
    return !unwritten_is_empty(&run->writing.unwritten) ||
           (is_logged(run) && run->publishing.frames.count);
}

/* Whether the next write begins now. If it has to wait for the flush timer, starts the timer. A
 * foreground response has no timer: without a barrier its rows wait for its end. */
static bool write_is_due(struct run *run)
{
    if (!is_stored(run) || run->writing.write || run->life == RUN_ABANDONED)
        return false;
    if (run->writing.urgent)
        return true;
    if (!run_is_resumable(run) || !run->publishing.frames.count)
        return false;
    if (run->publishing.frames.count >= FLUSH_AFTER_FRAMES ||
        run->publishing.frames.bytes.length >= FLUSH_AFTER_BYTES ||
        loop_now(run->loop) >= run->writing.flush_due_ns)
        return true;
    if (!run->writing.flush.slot)
        loop_timer_start(run->loop, &run->writing.flush, run->writing.flush_due_ns);
    return false;
}

/* The client left before anything was written, and the run was cancelled for that. */
static bool nothing_to_store(const struct run *run)
{
    return !run->writing.exists && !run->publishing.sinks && run->row.status == RUN_CANCELLED &&
           !run->writing.write;
}

/* The number of the write that commits the last of what has happened so far: the write under way, or
 * one that is requested here. */
static uint64_t write_of_all(struct run *run)
{
    bool is_under_way = run->writing.write && !has_unwritten(run);

    return is_under_way ? run->writing.begun : request_write(run);
}

void run_after_commit(struct run *run, void (*then)(struct run *run))
{
    if (!run_is_resumable(run)) {
        then(run);
        return;
    }
    run->writing.then = then;
    run->writing.then_after = write_of_all(run);
}

void run_after_write(struct run *run, void (*then)(struct run *run))
{
    if (!is_stored(run) ||
        (run->writing.exists && !has_unwritten(run) && !run->writing.write)) {
        then(run);
        return;
    }
    run->writing.then = then;
    run->writing.then_after = write_of_all(run);
}

/* A barrier or a continuation waits for a write that has not begun and was not requested: nothing
 * would ever end the wait. */
static bool waits_in_vain(const struct run *run)
{
    bool waits = run->writing.barrier > run->writing.begun ||
                 (run->writing.then && run->writing.then_after > run->writing.begun);

    return waits && !run->writing.urgent;
}

/* There are frames, and no flush timer that will send them. Only for when no write is under way. */
static bool has_forgotten_frames(const struct run *run)
{
    return run->publishing.frames.count && !run->writing.flush.slot;
}

void run_pump(struct run *run)
{
    /* The database has been away for so long that too much waits for it. */
    if (run->life == RUN_ALIVE && run->publishing.frames.bytes.length > BACKLOG_LIMIT)
        run_fail(run, "server_error", "The server could not store this run.");
    publish_free_frames(run);
    assert(run->life == RUN_ABANDONED || !waits_in_vain(run));
    if (run->writing.write)
        return;
    if (run->life == RUN_ENDED && nothing_to_store(run)) {
        end_residency(run);
        return;
    }
    if (write_is_due(run)) {
        start_write(run);
        return;
    }
    if (run->life == RUN_ABANDONED || (run->life == RUN_ENDED && !is_stored(run))) {
        end_residency(run);
        return;
    }
    assert(!has_forgotten_frames(run));
}

/* ---- When a write has come back ---- */

/* The run as the write has stored it: with that status, and without the items since. The face reads
 * the run, so both are set for the call and then set back. A copy of the whole run would do the same at
 * a higher price. */
static json_t *stored_object(struct run *run, const struct run_write *write)
{
    enum run_status status = run->row.status;
    size_t items = run->items.count;
    json_t *object;

    run->row.status = write->run->status;
    run->items.count = 0;
    object = run->face->object(run);
    run->row.status = status;
    run->items.count = items;
    return object;
}

/* The request for a background response is answered when the run cannot be lost any more. A follower
 * may have joined already, because its node saw the row before this loop knew of the commit. It has no
 * answer(), and stays. */
static void answer_stored(struct run *run, const struct run_write *write)
{
    for (struct sink **at = &run->publishing.sinks, *sink; (sink = *at);) {
        if (!sink->ops->answer) {
            at = &sink->next;
            continue;
        }
        *at = sink->next;
        sink->ops->answer(
            sink, &(struct sink_answer){.status = 200, .object = stored_object(run, write)});
        sink->ops->close(sink);
    }
}

/* The run was to pause, and another request cancelled it in the meantime. The writer has left the frame
 * that announces the pause out of the log (run_write.log_pause). So that frame is not published either,
 * and its number is used again. No later frame exists: a run that pauses emits nothing more. */
static void forget_pause(struct run *run, struct run_write *write)
{
    assert(!run->publishing.frames.count);
    write->log_length -= write->log_pause;
    write->log_last--;
    run->publishing.frames.next--;
    run->writing.log_next--;
}

/* Approval requests go to the webhook when they are stored: an answer finds them from here on. */
static void post_questions(struct run *run)
{
    json_auto_t *questions = TAKE(run->writing.posts_written);
    size_t i;
    json_t *question;

    json_array_foreach (questions, i, question)
        engine_post_question(run, question);
}

static void write_committed(struct run *run, struct run_write *write)
{
    run->writing.committed = run->writing.begun; /* only one write is under way */
    post_questions(run);
    if (write->cancel_requested && write->log_pause)
        forget_pause(run, write);
    if (!run->writing.exists) {
        if (run->row.flags & RUN_BACKGROUND && !(run->row.flags & RUN_STREAMED))
            answer_stored(run, write);
        run->writing.exists = true;
        /* As the writer has created it: leased with fence 1, unless it had ended already. */
        run->writing.fence = run_status_is_final(write->run->status) ? 0 : 1;
        if (run->writing.fence)
            engine_lease_add(run->engine, run);
    }
    if (write->log_length) {
        publish(run, write->log_bytes, write->log_length, write->log_first, write->log_last);
        run_notify_peers(run);
    }
    publish_free_frames(run);
}

/* What the run does next, now that the write is committed. A cancel request comes first: the
 * writer has read it from the row, where any node may have put it. */
static void continue_run(struct run *run, const struct run_write *write)
{
    void (*then)(struct run *) = run->writing.then;

    if (write->cancel_requested && run->life == RUN_ENDED &&
        run->row.status == RUN_REQUIRES_ACTION)
        run_take_back_pause(run);
    if (run->life == RUN_ENDED && !has_unwritten(run)) {
        end_residency(run);
        return;
    }
    if (run->life == RUN_ALIVE && write->cancel_requested)
        run_cancel(run);
    else if (then && run->writing.then_after <= run->writing.committed) {
        run->writing.then = NULL;
        then(run);
    }
    run_pump(run);
}

/* Not even the failure of the run could be stored with all that belongs to it. The last attempt stores
 * nothing but the failed status. Nothing more is published. */
static void give_up(struct run *run, const struct run_write *refused)
{
    run_abandon(run);
    run->writing.write = run_write_failure(refused, &run->row);
    if (run->writing.write)
        store_write(engine_options(run->engine)->store, run->writing.write);
    else
        end_residency(run);
}

/* The database has refused a statement: a mistake of this server, and the end of the run. What the
 * write contained was not published. So an end or a pause in it has not happened, and the run can
 * still fail, without the contents of that write. */
static void write_refused(struct run *run, const struct run_write *write)
{
    log_error("run %s: the store refused a write", write->run_id);
    if (run->writing.failures++ || !run_take_back_end(run)) {
        give_up(run, write);
        return;
    }
    run_take_refusal(run, write);
    run_pump(run);
}

/* The write is back from the writer. Always runs on the loop, and exactly once for each write. */
static void write_done(struct loop_task *task)
{
    struct run_write *write = CONTAINER_OF(task, struct run_write, done);
    struct run *run = write->arg;

    (void)FAULT("run.committed"); /* a test may crash here: written, and not published */
    run->writing.write = NULL;
    if (run->life == RUN_ABANDONED) {
        end_residency(run);
    } else if (write->rc == ERR_OK) {
        write_committed(run, write);
        continue_run(run, write);
    } else if (write->rc == ERR_INTERNAL) {
        write_refused(run, write);
    } else if (write->rc == ERR_NOT_FOUND) {
        run_delete(run, write);
        run_pump(run);
    } else {
        /* Another node has the lease, or the writers have stopped. */
        run_abandon(run);
        end_residency(run);
    }
    run_write_free(write);
}
