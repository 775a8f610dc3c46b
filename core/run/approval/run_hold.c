/*
 * A response that holds.
 *
 *   questions stored --> begin --> notice, timer --> notice ...
 *                                     |    ^
 *                  an answer, timeout |    | not all answered
 *                      or drain       v    |
 *                                 a worker reads the answers --> all: walk the stages again
 *                                                            --> leaving: show the questions
 *
 * The questions are rows with used_by = this run, from the write that stores them. So no other
 * response can take them up while this one waits (approval_holds.h). Any node may store an
 * answer. It notifies the run's loop, which may miss that; the keeper polls for answers that
 * were missed (server/keeper.c). A notification carries no answer: the store alone knows, and a
 * worker reads it there.
 *
 * The end is a race between the last answer and the timeout. The store decides it: the last
 * read locks the rows, and in one transaction either finds all answers or gives the questions
 * back (HOLD_LEAVE). Deciding here instead would lose an answer that is stored between the last
 * read and the end of the response.
 *
 * At most one read is under way, because a run has one offload. What happens meanwhile sets
 * `again`.
 *
 * A crash ends the response, as it ends every foreground response. Nothing of a hold is
 * restored.
 */

#include "core/run/approval/run_hold.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/approval/run_approvals.h"
#include "core/run/calls/offload.h"
#include "core/run/calls/run_variables.h"
#include "core/store/tables/approvals/approval_holds.h"

/* Until the last read is tried again, after an error of the store. */
#define RETRY_NS NS_PER_SECOND

struct run_hold {
    struct run *run;
    struct loop_timer timer; /* of the next notice, of the timeout, or of a retry */
    uint64_t until_ns;       /* the timeout, on the monotonic clock */
    int64_t expires_at;      /* the same in Unix seconds, for the client */
    bool begun;              /* the questions are committed */
    bool shown;    /* a notice had the whole questions: later ones have the ids only */
    bool leaving;  /* timeout or drain: the next read decides */
    bool again;    /* another read is needed after the one under way */
    bool deciding; /* the read under way is the last one: HOLD_LEAVE */
    json_t *found; /* {"answers", "goes_on"} of the last read; NULL: it failed */
};

/* ---- How long ---- */

static bool can_hold(const struct run *run)
{
    enum approval_channel channel = run->settings.approval.channel;
    bool wanted = channel == APPROVAL_HOLD || channel == APPROVAL_WEBHOOK;

    return wanted && run->row.flags & RUN_STORED && !run_is_resumable(run) &&
           !run->drain_wanted;
}

/* Microseconds. The response has a time limit of its own, and a tenth of what is left is kept:
 * it must end with its questions shown before it expires. */
static int64_t patience_us(const struct run *run)
{
    int64_t wanted = run->settings.approval.hold_seconds * US_PER_SECOND;
    int64_t left = (run->row.expires_at - clock_wall_us()) / 10 * 9;

    if (run->row.expires_at && wanted > left)
        wanted = left > 0 ? left : 0;
    return wanted;
}

/* ---- Notices ---- */

static void emit_notice(struct run *run)
{
    struct run_hold *hold = run->calls.hold;
    json_auto_t *notice =
        json_build("{s:s, s:I, s:o}", "event", "approval.pending", "expires_at",
                   (json_int_t)hold->expires_at, "approval_requests",
                   run_open_questions(run, hold->shown ? QUESTION_ID : QUESTION_WHOLE));

    hold->shown = true;
    run_emit(run, &(struct run_event){.kind = RUN_EVENT_HELD, .fields = notice});
}

static void start_timer(struct run *run)
{
    struct run_hold *hold = run->calls.hold;
    double seconds = engine_options(run->engine)->notice_seconds;
    uint64_t next = clock_mono_ns() + (uint64_t)(seconds * (double)NS_PER_SECOND);

    loop_timer_start(run->loop, &hold->timer, next < hold->until_ns ? next : hold->until_ns);
}

static void tick(struct loop_timer *timer)
{
    struct run_hold *hold = CONTAINER_OF(timer, struct run_hold, timer);
    struct run *run = hold->run;

    if (hold->leaving || clock_mono_ns() >= hold->until_ns) {
        run_hold_leave(run);
    } else {
        emit_notice(run);
        start_timer(run);
    }
    run_pump(run);
}

/* ---- Reading the answers, on a worker ---- */

static json_t *answers_of(const struct approval_row *rows, size_t count)
{
    json_t *answers = json_object();

    for (size_t i = 0; i < count; i++) {
        json_t *answer = json_build("{s:b}", "approve", rows[i].status == APPROVAL_APPROVED);

        json_set_string(answer, "reason", rows[i].reason);
        json_set(answers, rows[i].id, answer);
    }
    return answers;
}

static enum err_code read_answers(struct tool_call *call, struct tool_result *ret_result,
                                  struct err *err)
{
    const json_t *args = tool_call_args(call);
    const json_t *list = json_object_get(args, "ids");
    size_t count = json_array_size(list);
    AUTO_FREE const char **ids = mem_new_array(const char *, count + 1);
    enum hold_action look = json_get_bool(args, "leave", false) ? HOLD_LEAVE : HOLD_READ;
    struct variable_access access;
    struct approval_row *rows = NULL;
    size_t found = 0;
    bool goes_on = false;
    json_t *answers;
    enum err_code rc = tool_call_variables(call, &access, err);

    (void)ret_result;
    for (size_t i = 0; i < count; i++)
        ids[i] = json_string_value(json_array_get(list, i));
    if (!rc)
        rc = store_approvals_held(access.store, tool_call_tenant(call), tool_call_run(call),
                                  ids, count, look, &rows, &found, &goes_on, err);
    if (rc)
        return rc;
    answers = answers_of(rows, found);
    approval_rows_free(rows, found);
    return tool_call_emit_stage(
        call, "looked", json_build("{s:o, s:b}", "answers", answers, "goes_on", goes_on));
}

static const struct tool_handler reader = {
    .name = "look",
    .description = "",
    .parameters = "{}",
    .run = read_answers,
};

static json_t *question_ids(const struct run *run)
{
    json_auto_t *questions = run_open_questions(run, QUESTION_ID);
    json_t *ids = json_array();
    size_t i;
    json_t *question;

    json_array_foreach (questions, i, question)
        json_array_append(ids, json_object_get(question, "id"));
    return ids;
}

static void keep_found(struct run *run, unsigned job, const struct offload_result *result)
{
    (void)job;
    json_decref(run->calls.hold->found);
    run->calls.hold->found = json_incref((json_t *)(uintptr_t)result->fields);
}

/* If the read failed, nothing is known. An ordinary read is left to the next notification or
 * poll; the last one is repeated, because the questions must be given back before the response
 * ends. */
static void take_found(struct run *run)
{
    struct run_hold *hold = run->calls.hold;
    json_auto_t *found = TAKE(hold->found);

    if (json_get_bool(found, "goes_on", false)) {
        run_take_held_answers(run, json_object_get(found, "answers"));
        run_stop_hold(run);
        run_walk_stages(run);
    } else if (found && hold->deciding) {
        run_stop_hold(run);
        run_pass_stage(run);
    } else if (hold->again) {
        run_hold_check(run);
    } else if (hold->deciding) {
        loop_timer_start(run->loop, &hold->timer, clock_mono_ns() + RETRY_NS);
    }
}

void run_hold_check(struct run *run)
{
    struct run_hold *hold = run->calls.hold;
    json_auto_t *args = NULL;

    if (!hold || run->life != RUN_ALIVE)
        return;
    hold->again = !hold->begun || run->calls.offload;
    if (hold->again)
        return;
    hold->deciding = hold->leaving;
    args = json_build("{s:o, s:b}", "ids", question_ids(run), "leave", hold->deciding);
    run_offload(run, 1, keep_found, take_found);
    run_offload_job(run, 0,
                    (struct tool_call_spec){
                        .handler = &reader,
                        .call_id = "",
                        .args = args,
                        .variables = run_variable_access(run),
                    });
}

void run_hold_leave(struct run *run)
{
    if (!run->calls.hold)
        return;
    run->calls.hold->leaving = true;
    run_hold_check(run);
}

/* ---- Beginning and end ---- */

/* The questions are committed, so an answer may come from now on. The timeout begins here and
 * not when the tools were called: a slow write must not shorten it. */
static void begin(struct run *run)
{
    struct run_hold *hold = run->calls.hold;
    int64_t patience;

    if (!hold || run->life != RUN_ALIVE)
        return;
    patience = patience_us(run);
    hold->begun = true;
    hold->until_ns = clock_mono_ns() + (uint64_t)patience * 1000;
    hold->expires_at = (clock_wall_us() + patience) / US_PER_SECOND;
    emit_notice(run);
    start_timer(run);
    if (run->drain_wanted)
        run_hold_leave(run);
    else if (hold->again)
        run_hold_check(run);
}

enum stage_step run_hold_calls(struct run *run)
{
    if (!can_hold(run) || !run_has_questions(run) || !engine_hold_add(run->engine, run))
        return STAGE_PASSED;
    run->calls.hold = mem_new(struct run_hold);
    run->calls.hold->run = run;
    run->calls.hold->timer.fire = tick;
    run_store_questions(run, run->row.id);
    run_after_write(run, begin);
    return STAGE_WAITS;
}

void run_stop_hold(struct run *run)
{
    if (!run->calls.hold)
        return;
    run_stop_offload(run);
    loop_timer_stop(run->loop, &run->calls.hold->timer);
    engine_hold_drop(run->engine, run);
    json_decref(run->calls.hold->found);
    free(TAKE(run->calls.hold));
}
