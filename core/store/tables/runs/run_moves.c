/*
 * What clients do to a run that is not final: answering its calls, deciding its questions,
 * cancelling it, and looking at it when its time is over.
 *
 * Each function locks the lease first and reads the run afterwards. While it holds the row of
 * the lease neither the owner nor another client can move the run: the owner's writes lock the
 * same row, with their fence. So these functions need no fence of their own, and what they check
 * stays true until they commit.
 *
 * Submitting. A run in requires_action has no owner. Its answers are compared with the calls
 * that wait, questions are decided, outputs stored, and the run is queued again. This node takes
 * the lease (a new fence) and loads the run in the same transaction, so the run continues where
 * the request arrived, on a loop of this node. A crash before the commit changes nothing; after
 * it the run is one of a dead owner, and is claimed like any other.
 *
 * If another node that lives has the container of the run's thread, that node continues the run: the lease is left
 * to it, and the caller treats the submission as a repeated one, which follows the log.
 *
 * Repeating. A client whose request had no answer sends it again, with or without a key of its
 * own. With a key the claim finds it. Without one the SHA-256 of the answers is compared with
 * that of those accepted last: official clients set no key, and repeat on their own. Only a
 * submission that would be refused is compared, so the usual one costs nothing. The repeated one
 * gets the run as it is now, and the number of the first event that followed the outputs
 * (submit_seq), from which it can stream.
 *
 * Deciding one question through the list is a submission of one answer. If the run requires
 * others as well, the answer is stored and the run keeps waiting.
 *
 * Cancelling sets the status and the flag `stopping` in the lease, and leaves the end to the
 * owner: it alone knows what is open, and writes the final events. Where the owner is decides
 * what happens next:
 *
 *   here           the caller notifies the loop
 *   another node   a hint after the commit; it also sees the flag with its next write or renewal
 *   no live owner  this node takes the lease and ends the run
 *
 * Decided against: ending a run directly in the cancel request. Two writers would append to one
 * log, and a client that follows the run would miss events which the owner had not written yet.
 */

#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/tenant.h"
#include "core/store/pg/commit.h"
#include "core/store/pg/state.h"
#include "core/store/tables/approvals/approval_cover.h"
#include "core/store/tables/approvals/approval_sql.h"
#include "core/store/tables/columns.h"
#include "core/store/tables/containers/container_sql.h"
#include "core/store/tables/runs/load.h"
#include "core/store/tables/runs/runs.h"
#include "core/store/wakeup.h"

/* Locks the lease and reads the run, by two statements: the second sees what the last holder of
 * the lock has done. A run that has ended has no lease; then there is nothing to lock, and
 * nothing moves it. */
static enum err_code lock_and_find(struct db *db, const struct tenant *tenant,
                                   const char *thread_id, const char *run_id,
                                   struct lease_row *ret_lease, struct run_load *load,
                                   struct err *err)
{
    enum err_code rc = lease_lock(db, tenant, run_id, ret_lease, err);

    if (rc)
        return rc;
    return run_find(db, tenant, thread_id, run_id, &load->run, err);
}

/* Makes this node the owner, and loads what its loop needs. */
static enum err_code take_and_load(struct db *db, const struct tenant *tenant,
                                   size_t context_limit, struct run_load *load, struct err *err)
{
    enum err_code rc = lease_take(db, tenant, load->run.id, load, err);

    if (rc)
        return rc;
    return load_rest(db, tenant, &(struct load_span){.items = context_limit}, load, err);
}

/* Without a fence, the thing to prove is that a cancellation was noted. */
static enum err_code commit_move(struct db *db, const struct tenant *tenant,
                                 const struct run_load *load, struct err *err)
{
    const struct commit_proof proof = {.tenant = tenant,
                                       .run_id = load->run.id,
                                       .fence = load->fence,
                                       .lease_until = load->lease_until};

    return commit_proven(db, &proof, err);
}

/* ---- Submitting tool outputs ---- */

/* Whether these answers were accepted before, and where the run's events continued then. */
static enum err_code is_repeat(struct db *db, const struct submission *submission,
                               bool *ret_repeat, int64_t *ret_seq, struct err *err)
{
    static const struct db_statement ask = {
        "submit_is_repeat", "SELECT coalesce(submit_hash = $3, false), submit_seq FROM runs"
                            " WHERE project_id = $1 AND id = $2"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, submission->tenant);
    db_arg_text(&args, submission->run_id);
    db_arg_bytes(&args, submission->hash, 32);
    rc = db_exec(db, &ask, &args, &rows, err);
    if (rc)
        return rc;
    *ret_repeat = db_bool(rows, 0, 0);
    *ret_seq = db_int(rows, 0, 1);
    return ERR_OK;
}

static bool is_wanted(const struct call_row *call)
{
    return call->client && call->state == CALL_WAITING;
}

static size_t count_answers(const struct submission *submission, const char *call_id)
{
    size_t found = 0;

    for (size_t i = 0; i < submission->count; i++)
        found += strcmp(submission->answers[i].call_id, call_id) == 0;
    return found;
}

static const struct tool_answer *find_answer(const struct submission *submission,
                                             const char *call_id)
{
    for (size_t i = 0; i < submission->count; i++) {
        if (strcmp(submission->answers[i].call_id, call_id) == 0)
            return &submission->answers[i];
    }
    return NULL;
}

static struct approval_answer as_decision(const struct tool_answer *answer)
{
    return (struct approval_answer){
        .id = answer->call_id, .approve = answer->approve, .reason = answer->reason};
}

/* Each wanted call has one answer. Other answers are only for calls that the client has
 * answered before; these are returned. They must be the same answers as then. */
static bool answers_fit(const struct submission *submission, const struct call_row *calls,
                        size_t call_count, struct approval_answer *ret_before,
                        size_t *ret_count)
{
    size_t wanted = 0, before = 0;

    for (size_t i = 0; i < call_count; i++) {
        size_t answers = calls[i].client ? count_answers(submission, calls[i].call_id) : 0;

        if (answers > 1 || (is_wanted(&calls[i]) && !answers))
            return false;
        if (is_wanted(&calls[i]))
            wanted++;
        else if (answers)
            ret_before[before++] = as_decision(find_answer(submission, calls[i].call_id));
    }
    *ret_count = before;
    return wanted + before == submission->count;
}

static void add_listed(struct buf *buf, const char *id)
{
    if (buf->length > 0)
        buf_add_text(buf, ", ");
    buf_addf(buf, "'%s'", id);
}

static enum err_code fail_unfit(const struct submission *submission,
                                const struct call_row *calls, size_t call_count,
                                struct err *err)
{
    AUTO_BUF expected = {0};
    AUTO_BUF got = {0};

    for (size_t i = 0; i < call_count; i++) {
        if (is_wanted(&calls[i]))
            add_listed(&expected, calls[i].call_id);
    }
    for (size_t i = 0; i < submission->count; i++)
        add_listed(&got, submission->answers[i].call_id);
    return err_set(err, ERR_INVALID, "Expected tool outputs for call_ids [%s], got [%s]",
                   expected.data ? expected.data : "", got.data ? got.data : "");
}

static enum err_code check_loaded(struct db *db, const struct submission *submission,
                                  const struct call_row *calls, size_t call_count,
                                  struct err *err)
{
    AUTO_FREE struct approval_answer *before =
        mem_new_array(struct approval_answer, call_count + 1);
    size_t count = 0;
    bool fits = answers_fit(submission, calls, call_count, before, &count);
    enum err_code rc = ERR_OK;

    if (fits && count)
        rc = approvals_repeat(db, submission->tenant, before, count, &fits, err);
    return rc || fits ? rc : fail_unfit(submission, calls, call_count, err);
}

/* An error unless the ids are exactly those that the run waits for. */
static enum err_code check_answers(struct db *db, const struct submission *submission,
                                   struct err *err)
{
    struct call_row *calls;
    enum err_code rc;
    size_t count;

    rc = load_calls(db, submission->tenant, submission->run_id, &calls, &count, err);
    if (rc)
        return rc;
    rc = check_loaded(db, submission, calls, count, err);
    call_rows_free(calls, count);
    return rc;
}

static enum err_code check_status(const struct run_row *run, struct err *err)
{
    bool waiting = run->status == RUN_REQUIRES_ACTION;
    /* Its time is over, although its loop was not notified yet. */
    bool late = waiting && run_row_is_late(run);

    if (waiting && !late)
        return ERR_OK;
    return err_set(err, ERR_CONFLICT, "Runs in status \"%s\" do not accept tool outputs.",
                   run_status_name(late ? RUN_EXPIRED : run->status));
}

/* Only calls that still wait: a question that was decided through the list has its output
 * already. */
static enum err_code store_answers(struct db *db, const struct submission *submission,
                                   struct err *err)
{
    static const struct db_statement put = {
        "submit_answers", "UPDATE tool_calls c SET output = u.output, state = 'done'"
                          " FROM unnest($3::text[], $4::text[]) u (call_id, output)"
                          " WHERE c.project_id = $1 AND c.run_id = $2 AND c.call_id = u.call_id"
                          " AND c.client AND c.state = 'waiting'"};
    const char **ids = mem_new_array(const char *, submission->count + 1);
    const char **outputs = mem_new_array(const char *, submission->count + 1);
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    for (size_t i = 0; i < submission->count; i++) {
        ids[i] = submission->answers[i].call_id;
        outputs[i] = submission->answers[i].output;
    }
    db_arg_tenant(&args, submission->tenant);
    db_arg_text(&args, submission->run_id);
    db_arg_texts(&args, ids, submission->count);
    db_arg_texts(&args, outputs, submission->count);
    rc = db_exec(db, &put, &args, NULL, err);
    free(ids);
    free(outputs);
    return rc;
}

/* The lease is locked, so the end of the log does not move: the next event is the first one
 * after the outputs. */
static enum err_code queue_again(struct db *db, const struct submission *submission,
                                 struct run_row *run, struct err *err)
{
    static const struct db_statement move = {
        "submit_queue_again",
        "UPDATE runs r SET status = 'queued', required_action = NULL, submit_hash = $3,"
        "  submit_seq = (SELECT " LEASE_LAST_SEQ " + 1 FROM run_leases l"
        "   WHERE l.project_id = $1 AND l.run_id = $2)"
        " WHERE r.project_id = $1 AND r.id = $2 RETURNING " RUN_COLUMNS};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, submission->tenant);
    db_arg_text(&args, submission->run_id);
    db_arg_bytes(&args, submission->hash, 32);
    rc = db_exec(db, &move, &args, &rows, err);
    if (rc)
        return rc;
    run_row_clear(run);
    run_read(rows, 0, run);
    return ERR_OK;
}

/* Without a proof: a client whose request had no answer repeats it. */
static enum err_code leave_to(struct db *db, const struct tenant *tenant, const char *node,
                              struct run_load *load, struct err *err)
{
    static const struct db_statement leave = {
        "submit_leave_to",
        "UPDATE run_leases SET owner = NULL, wait_until = NULL, wanted_node = $3"
        " WHERE project_id = $1 AND run_id = $2"};
    AUTO_DB_ARGS args = {0};
    enum err_code rc = lease_read_log(db, tenant, load->run.id, load, err);

    if (rc)
        return rc;
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, load->run.id);
    db_arg_text(&args, node);
    rc = db_exec(db, &leave, &args, NULL, err);
    if (!rc)
        rc = db_commit(db, err);
    if (!rc)
        store_wake_node(db->store, node, WAKEUP_CLAIM, NULL);
    return rc;
}

/* The run continues here or, without a fence in the load, on the node that has the container of its thread. */
static enum err_code accept(struct db *db, const struct submission *submission,
                            struct run_load *load, struct err *err)
{
    char node[ID_SIZE] = "";
    enum err_code rc;

    rc = store_answers(db, submission, err);
    if (rc)
        return rc;
    rc = queue_again(db, submission, &load->run, err);
    if (rc)
        return rc;
    if (store_has_peers(db->store))
        rc = container_node_find(db, submission->tenant, "", load->run.thread_id, node, err);
    if (!rc && *node)
        return leave_to(db, submission->tenant, node, load, err);
    if (!rc)
        rc = take_and_load(db, submission->tenant, submission->context_limit, load, err);
    if (rc)
        return rc;
    rc = commit_move(db, submission->tenant, load, err);
    if (!rc)
        store_wake_others(db->store, WAKEUP_MOVED, load->run.id);
    return rc;
}

/* Refuses the answers, unless they are those that were accepted before. */
static enum err_code refuse(struct db *db, const struct submission *submission,
                            const struct err *refusal, struct run_load *load,
                            bool *ret_repeated, struct err *err)
{
    enum err_code rc = ERR_OK;

    if (refusal->code == ERR_CONFLICT || refusal->code == ERR_INVALID)
        rc = is_repeat(db, submission, ret_repeated, &load->next_seq, err);
    if (rc || *ret_repeated)
        return rc;
    if (err)
        *err = *refusal;
    return refusal->code;
}

/* The questions are decided together with the run's move, so nobody sees an open question of a
 * run that continues. Most runs have no questions: their answers are to functions of the
 * client. */
static enum err_code decide_questions(struct db *db, const struct submission *submission,
                                      size_t *ret_first, struct err *err)
{
    AUTO_FREE struct approval_answer *answers =
        mem_new_array(struct approval_answer, submission->count + 1);
    size_t count = 0;

    for (size_t i = 0; i < submission->count; i++) {
        if (id_has_prefix(submission->answers[i].call_id, "mcpr_"))
            answers[count++] = as_decision(&submission->answers[i]);
    }
    *ret_first = 0;
    if (!count)
        return ERR_OK;
    return approvals_decide_of_run(db, submission->tenant, submission->run_id, answers, count,
                                   submission->grants, ret_first, err);
}

static enum err_code submit_in(struct db *db, const struct submission *submission,
                               struct run_load *load, bool *ret_repeated, struct err *err)
{
    struct idempotency_claim claim;
    struct lease_row lease;
    struct err refusal = {0};
    size_t first = 0;
    enum err_code rc;

    /* The key is claimed under the lock of the lease, so the number that it notes (first_seq) is
     * the end of the log before this submission. */
    rc = lock_and_find(db, submission->tenant, submission->thread_id, submission->run_id,
                       &lease, load, err);
    if (!rc)
        rc = idempotency_claim(db, submission->tenant, submission->idempotency,
                               submission->run_id, &claim, err);
    if (rc)
        return rc;
    *ret_repeated = claim.repeated;
    load->next_seq = claim.first_seq;
    if (claim.repeated)
        return ERR_OK;
    rc = check_status(&load->run, &refusal);
    if (!rc)
        rc = check_answers(db, submission, &refusal);
    if (rc)
        return refuse(db, submission, &refusal, load, ret_repeated, err);
    rc = decide_questions(db, submission, &first, err);
    if (!rc)
        rc = accept(db, submission, load, err);
    *ret_repeated = !rc && !load->fence;
    return rc;
}

enum err_code store_run_submit(struct store *store, const struct submission *submission,
                               struct run_load *ret_load, bool *ret_repeated, struct err *err)
{
    struct run_load load = {0};
    AUTO_DB *db = NULL;
    enum err_code rc;

    rc = db_begin(store, &db, err);
    if (rc)
        return rc;
    rc = submit_in(db, submission, &load, ret_repeated, err);
    if (rc)
        run_load_clear(&load);
    else
        *ret_load = load;
    return rc;
}

/* ---- Deciding one question ---- */

/* Whether the run also waits for other answers than this one. */
static enum err_code waits_for_others(struct db *db, const struct submission *submission,
                                      bool *ret_waits, struct err *err)
{
    struct call_row *calls;
    size_t count;
    enum err_code rc =
        load_calls(db, submission->tenant, submission->run_id, &calls, &count, err);

    if (rc)
        return rc;
    *ret_waits = false;
    for (size_t i = 0; i < count; i++)
        *ret_waits = *ret_waits ||
                     (is_wanted(&calls[i]) && count_answers(submission, calls[i].call_id) == 0);
    call_rows_free(calls, count);
    return ERR_OK;
}

/* The run stays as it is, except that its client is no longer asked for this answer. */
static enum err_code require_others(struct db *db, const struct submission *submission,
                                    struct err *err)
{
    enum err_code rc = store_answers(db, submission, err);

    if (!rc)
        rc = runs_require_rest(db, submission->tenant, &submission->run_id, 1, err);
    return rc ? rc : db_commit(db, err);
}

static enum err_code decide_in(struct db *db, const struct submission *submission,
                               struct run_load *load, bool *ret_continues, struct err *err)
{
    bool others = false;
    struct lease_row lease;
    size_t first = 0;
    enum err_code rc = lock_and_find(db, submission->tenant, submission->thread_id,
                                     submission->run_id, &lease, load, err);

    *ret_continues = false;
    if (!rc)
        rc = decide_questions(db, submission, &first, err);
    if (rc)
        return rc;
    /* A repeated answer: the grants that it may have brought are kept. */
    if (!first)
        return db_commit(db, err);
    rc = check_status(&load->run, err);
    if (!rc)
        rc = waits_for_others(db, submission, &others, err);
    if (rc)
        return rc;
    rc = others ? require_others(db, submission, err) : accept(db, submission, load, err);
    *ret_continues = !rc && load->fence;
    return rc;
}

enum err_code store_run_decide(struct store *store, const struct submission *submission,
                               struct run_load *ret_load, bool *ret_continues, struct err *err)
{
    struct run_load load = {0};
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = decide_in(db, submission, &load, ret_continues, err);
    if (rc)
        run_load_clear(&load);
    else
        *ret_load = load;
    return rc;
}

/* ---- Cancelling ---- */

static enum err_code check_cancellable(const struct run_row *run, struct err *err)
{
    if (run_status_next(run->status, RUN_EV_CANCEL) != RUN_STATUS_NONE)
        return ERR_OK;
    return err_set(err, ERR_CONFLICT, "Cannot cancel run with status '%s'.",
                   run_status_name(run->status));
}

/* Both in one statement. The flag in the lease is what group commits and renewals read, so that
 * a token's write need not look at the run. */
static enum err_code note_cancelling(struct db *db, const struct tenant *tenant,
                                     struct run_row *run, struct err *err)
{
    static const struct db_statement note = {
        "cancel_note", "WITH noted AS (UPDATE run_leases SET stopping = true"
                       "  WHERE project_id = $1 AND run_id = $2)"
                       " UPDATE runs r SET status = 'cancelling', cancel_requested = true,"
                       "  required_action = NULL"
                       " WHERE r.project_id = $1 AND r.id = $2 RETURNING " RUN_COLUMNS};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, run->id);
    rc = db_exec(db, &note, &args, &rows, err);
    if (rc)
        return rc;
    run_row_clear(run);
    run_read(rows, 0, run);
    return ERR_OK;
}

static enum cancel_outcome outcome_for(const struct store *store, const struct lease_row *lease)
{
    if (strcmp(lease->owner, store->node_id) == 0)
        return CANCEL_OWNED_HERE;
    if (lease->owner[0] && !lease->expired)
        return CANCEL_OWNED_AWAY;
    return CANCEL_CLAIMED;
}

static enum err_code cancel_in(struct db *db, const struct tenant *tenant,
                               const char *thread_id, const char *run_id, size_t context_limit,
                               enum cancel_outcome *ret_outcome, struct run_load *load,
                               struct err *err)
{
    enum cancel_outcome outcome;
    struct lease_row lease;
    enum err_code rc;

    rc = lock_and_find(db, tenant, thread_id, run_id, &lease, load, err);
    if (rc)
        return rc;
    rc = check_cancellable(&load->run, err);
    if (rc)
        return rc;
    rc = note_cancelling(db, tenant, &load->run, err);
    if (rc)
        return rc;
    outcome = outcome_for(db->store, &lease);
    if (outcome == CANCEL_CLAIMED) {
        rc = take_and_load(db, tenant, context_limit, load, err);
        if (rc)
            return rc;
    }
    *ret_outcome = outcome;
    rc = commit_move(db, tenant, load, err);
    if (!rc && outcome == CANCEL_OWNED_AWAY)
        store_wake_node(db->store, lease.owner, WAKEUP_CANCEL, run_id);
    if (!rc && outcome == CANCEL_CLAIMED)
        store_wake_others(db->store, WAKEUP_MOVED, run_id);
    return rc;
}

enum err_code store_run_cancel(struct store *store, const struct tenant *tenant,
                               const char *thread_id, const char *run_id, size_t context_limit,
                               enum cancel_outcome *ret_outcome, struct run_load *ret_load,
                               struct err *err)
{
    struct run_load load = {0};
    AUTO_DB *db = NULL;
    enum err_code rc;

    rc = db_begin(store, &db, err);
    if (rc)
        return rc;
    rc = cancel_in(db, tenant, thread_id, run_id, context_limit, ret_outcome, &load, err);
    if (rc)
        run_load_clear(&load);
    else
        *ret_load = load;
    return rc;
}

/* ---- Expiring ---- */

/* The keeper of some node claims such a run, too, at its next round. The second of the two finds
 * that it has an owner. */
static enum err_code claim_late(struct db *db, const struct tenant *tenant,
                                const char *thread_id, const char *run_id, size_t context_limit,
                                struct run_load *load, struct err *err)
{
    struct lease_row lease;
    enum err_code rc = lock_and_find(db, tenant, thread_id, run_id, &lease, load, err);

    if (rc || lease.owner[0] || load->run.status != RUN_REQUIRES_ACTION ||
        !run_row_is_late(&load->run))
        return rc;
    rc = take_and_load(db, tenant, context_limit, load, err);
    if (!rc)
        rc = commit_move(db, tenant, load, err);
    if (!rc)
        store_wake_others(db->store, WAKEUP_MOVED, run_id);
    return rc;
}

enum err_code store_run_claim_late(struct store *store, const struct tenant *tenant,
                                   const char *thread_id, const char *run_id,
                                   size_t context_limit, struct run_load *ret_load,
                                   struct err *err)
{
    struct run_load load = {0};
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = claim_late(db, tenant, thread_id, run_id, context_limit, &load, err);
    if (rc)
        run_load_clear(&load);
    else
        *ret_load = load;
    return rc;
}
