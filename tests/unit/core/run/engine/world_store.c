/*
 * The functions of core/store that the engine, a keeper and an endpoint call, over the rows of
 * world_database.h.
 *
 * Each is one transaction and happens within one step, as fast as a call of a function. Blocking on the store
 * therefore costs no time here. What is slow in the server, and so open to a race, are the writes of a run,
 * the reads of its log and the wake-ups: those are actors of their own.
 *
 * Each follows its statements: core/store/tables/runs (runs.c, run_moves.c, load.c, events.c),
 * core/store/cluster/leases.c, core/store/tables/approvals. It must change with them. Parameters that only
 * choose among projects, pages or limits are ignored, because a world has one project and few rows.
 *
 * Three ways to fail. While the database is away, and on a dead node, every call fails without an effect.
 * `call_fails` lets one call fail so. `call_lost` lets one call have its effect, and the caller gets
 * ERR_STORE: the answer to a COMMIT got lost, and the proof that store/pg/commit.c looks for was not found.
 * Every function that changes rows must be safe to call in all three ways, and the schedules show whether
 * its callers are.
 *
 * Texts are copied in and out. A row that is handed out belongs to the caller, as with the real store.
 */

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/withheld.h"
#include "core/store/cluster/leases.h"
#include "core/store/cluster/wakeups.h"
#include "core/store/tables/approvals/approval_holds.h"
#include "core/store/tables/approvals/approvals.h"
#include "core/store/tables/runs/runs.h"
#include "core/store/tables/skills.h"
#include "core/store/tables/threads/variables.h"
#include "tests/unit/core/run/engine/world_database.h"

/* ---- Calls that fail ---- */

/* Before it has had an effect. */
bool store_call_fails(const struct store *store)
{
    if (store->node->dead || database_is_away())
        return true;
    if (!world->fail_calls)
        return false;
    world->fail_calls--;
    return true;
}

/* After it has had its effect: the answer got lost, and no proof was found. */
bool store_call_is_forgotten(void)
{
    if (!world->forget_calls)
        return false;
    world->forget_calls--;
    return true;
}

static enum err_code away(struct err *err)
{
    return err_set(err, ERR_STORE, "the database is away");
}

/* ---- A run with all that belongs to it ---- */

/* Of a thread all items are loaded, of a response its own: no scenario has a history before it. */
static bool is_of(const struct item_row *item, const struct run_row *run)
{
    return run->face == FACE_ASSISTANTS ? strcmp(item->thread_id, run->thread_id) == 0
                                        : strcmp(item->run_id, run->id) == 0;
}

static int by_position(const void *a, const void *b)
{
    const struct item_row *left = a, *right = b;

    if (left->position != right->position)
        return left->position < right->position ? -1 : 1;
    return strcmp(left->id, right->id);
}

static void load_items(const struct run_row *run, struct run_load *load)
{
    const struct database *database = world->database;

    load->items = mem_new_array(struct item_row, database->item_count + 1);
    for (size_t i = 0; i < database->item_count; i++) {
        if (is_of(&database->items[i], run))
            item_row_take_copy(&load->items[load->item_count++], &database->items[i]);
    }
    qsort(load->items, load->item_count, sizeof(*load->items), by_position);
    if (load->item_count)
        load->next_position = load->items[load->item_count - 1].position + 1;
}

static void load_steps(const struct run_row *run, struct run_load *load)
{
    const struct database *database = world->database;

    load->steps = mem_new_array(struct step_row, database->step_count + 1);
    for (size_t i = 0; i < database->step_count; i++) {
        if (strcmp(database->steps[i].run_id, run->id) == 0 &&
            database->steps[i].status == STEP_IN_PROGRESS)
            step_row_take_copy(&load->steps[load->step_count++], &database->steps[i]);
    }
}

static int by_place(const void *a, const void *b)
{
    const struct call_row *left = a, *right = b;

    if (left->position != right->position)
        return left->position < right->position ? -1 : 1;
    return strcmp(left->call_id, right->call_id);
}

static int last_turn(const struct run_row *run)
{
    int turn = -1;

    for (size_t i = 0; i < world->database->call_count; i++) {
        const struct call_row *call = &world->database->calls[i];

        if (strcmp(call->run_id, run->id) == 0 && call->turn > turn)
            turn = call->turn;
    }
    return turn;
}

static void load_calls(const struct run_row *run, struct call_row **ret_calls,
                       size_t *ret_count)
{
    const struct database *database = world->database;
    struct call_row *calls = mem_new_array(struct call_row, database->call_count + 1);
    int turn = last_turn(run);
    size_t count = 0;

    for (size_t i = 0; i < database->call_count; i++) {
        if (strcmp(database->calls[i].run_id, run->id) == 0 && database->calls[i].turn == turn)
            call_row_take_copy(&calls[count++], &database->calls[i]);
    }
    qsort(calls, count, sizeof(*calls), by_place);
    *ret_calls = calls;
    *ret_count = count;
}

static void load_run(const struct record *record, struct run_load *load)
{
    run_row_copy(&load->run, &record->row);
    load->fence = record->lease.fence;
    load->next_seq = database_last_seq(record) + 1;
    load->log_open = database_last_seq(record) > record->lease.state_seq;
    load_items(&record->row, load);
    load_steps(&record->row, load);
    load_calls(&record->row, &load->calls, &load->call_count);
}

static void take_lease(struct record *record, const struct store *store)
{
    struct lease *lease = &record->lease;

    assert(lease->exists);
    (void)snprintf(lease->owner, sizeof(lease->owner), "%s", store->node->id);
    lease->fence++;
    lease->wait_until = 0;
    lease->until_ns = world->now_ns + WORLD_LEASE_NS;
}

static bool has_expired(const struct lease *lease)
{
    return lease->until_ns < world->now_ns;
}

/* ---- Creating and reading ---- */

enum err_code store_run_create(struct store *store, const struct run_creation *creation,
                               struct run_load *ret_load, struct err *err)
{
    struct record *record;
    int64_t position = 0;

    if (store_call_fails(store))
        return away(err);
    if (database_is_taken(creation->run))
        return err_set(err, ERR_CONFLICT, "the thread has a run already");
    for (size_t i = 0; i < world->database->item_count; i++) {
        const struct item_row *item = &world->database->items[i];

        if (is_of(item, creation->run) && item->position >= position)
            position = item->position + 1;
    }
    for (size_t i = 0; i < creation->message_count; i++) {
        creation->messages[i].position = position + (int64_t)i;
        database_put_item(&creation->messages[i]);
    }
    record = database_add_run(creation->run, store->node->id, -1);
    if (store_call_is_forgotten())
        return away(err);
    load_run(record, ret_load);
    ret_load->next_seq = 0;
    return ERR_OK;
}

enum err_code store_run_get(struct store *store, const struct tenant *tenant,
                            const char *thread_id, const char *run_id, struct run_row *ret_run,
                            struct err *err)
{
    const struct record *record = database_find(run_id);

    (void)tenant;
    (void)thread_id;
    if (store_call_fails(store))
        return away(err);
    if (!record)
        return err_set(err, ERR_NOT_FOUND, "No run found with id '%s'.", run_id);
    run_row_copy(ret_run, &record->row);
    return ERR_OK;
}

/* ---- Answers ---- */

static struct approval_row *find_question(const char *id)
{
    for (size_t i = 0; i < world->database->approval_count; i++) {
        if (strcmp(world->database->approvals[i].id, id) == 0)
            return &world->database->approvals[i];
    }
    return NULL;
}

static struct item_row *find_item(const char *id)
{
    for (size_t i = 0; i < world->database->item_count; i++) {
        if (strcmp(world->database->items[i].id, id) == 0)
            return &world->database->items[i];
    }
    return NULL;
}

/* A decision about a result changes the item of the call, as core/store/tables/approvals/approval_results.c
 * does it. Approval requests about calls have no such item. */
static void deliver_result(const struct approval_row *question,
                           const struct approval_answer *answer)
{
    json_auto_t *held = question->held ? json_parse_own(question->held) : NULL;
    struct item_row *item = find_item(json_get_string(held, "item", ""));
    json_auto_t *body = NULL;

    if (!item)
        return;
    body = json_parse_own(item->body);
    if (answer->approve)
        withheld_deliver(body);
    else
        withheld_refuse(body, answer->reason ? answer->reason : WITHHELD_REFUSED);
    if (!answer->approve)
        item->status = ITEM_INCOMPLETE;
    free(item->body);
    item->body = json_text(body);
}

/* A decision is final. The same one again changes nothing, another one is refused. */
static enum err_code decide(struct approval_row *question, const struct approval_answer *answer,
                            const char *used_by, struct err *err)
{
    enum approval_event event = answer->approve ? APPROVAL_EV_APPROVE : APPROVAL_EV_REJECT;
    enum approval_status next = approval_status_next(question->status, event);

    if (next == APPROVAL_STATUS_NONE)
        return err_set(err, ERR_TAKEN, "it was decided before");
    if (question->status == APPROVAL_PENDING)
        row_set(&question->reason, answer->reason);
    if (question->status == APPROVAL_PENDING)
        deliver_result(question, answer);
    question->status = next;
    if (*used_by)
        (void)snprintf(question->used_by, sizeof(question->used_by), "%s", used_by);
    if (!question->decided_at)
        question->decided_at = clock_wall_us();
    return ERR_OK;
}

enum err_code store_approval_decide(struct store *store, const struct tenant *tenant,
                                    const struct approval_answer *answer,
                                    const struct approval_grants *grants,
                                    struct approval_row *ret_row, struct err *err)
{
    struct approval_row *question = find_question(answer->id);
    enum err_code rc;

    (void)tenant;
    (void)grants;
    if (store_call_fails(store))
        return away(err);
    if (!question)
        return err_set(err, ERR_NOT_FOUND, "there is no such question");
    rc = decide(question, answer, "", err);
    if (rc)
        return rc;
    if (store_call_is_forgotten())
        return away(err);
    approval_row_take_copy(ret_row, question);
    return ERR_OK;
}

static bool is_wanted(const struct call_row *call)
{
    return call->client && call->state == CALL_WAITING;
}

static const struct tool_answer *find_answer(const struct submission *submission,
                                             const char *call_id)
{
    const struct tool_answer *answer = submission->answers;

    for (const struct tool_answer *end = answer + submission->count; answer < end; answer++)
        if (strcmp(answer->call_id, call_id) == 0)
            return answer;
    return NULL;
}

/* Every answer is for a call that waits. *ret_partly: some calls that wait have no answer. */
static bool answers_fit(const struct submission *submission, const struct record *record,
                        bool *ret_partly)
{
    struct call_row *calls;
    size_t count, wanted = 0, answered = 0;

    load_calls(&record->row, &calls, &count);
    for (size_t i = 0; i < count; i++) {
        wanted += is_wanted(&calls[i]);
        answered += is_wanted(&calls[i]) && find_answer(submission, calls[i].call_id);
    }
    call_rows_free(calls, count);
    *ret_partly = answered < wanted;
    return answered == submission->count;
}

static enum err_code store_answers(const struct submission *submission, struct record *record,
                                   struct err *err)
{
    struct database *database = world->database;

    for (size_t i = 0; i < submission->count; i++) {
        const struct tool_answer *answer = &submission->answers[i];
        struct approval_row *question = find_question(answer->call_id);
        const struct approval_answer decision = {
            .id = answer->call_id, .approve = answer->approve, .reason = answer->reason};

        if (question && decide(question, &decision, record->row.id, err))
            return ERR_TAKEN;
    }
    for (size_t i = 0; i < database->call_count; i++) {
        struct call_row *call = &database->calls[i];
        const struct tool_answer *answer = find_answer(submission, call->call_id);

        if (!answer || !is_wanted(call) || strcmp(call->run_id, record->row.id) != 0)
            continue;
        row_set(&call->output, answer->output);
        call->state = CALL_DONE;
    }
    return ERR_OK;
}

static enum err_code check_waits(const struct record *record, struct err *err)
{
    const struct run_row *run = &record->row;
    bool late = run->expires_at && run->expires_at <= clock_wall_us();

    if (run->status == RUN_REQUIRES_ACTION && !late)
        return ERR_OK;
    return err_set(err, ERR_CONFLICT, "the run waits for nothing");
}

/* The run is queued again, and this node becomes its owner. */
static void continue_run(const struct submission *submission, struct record *record,
                         struct store *store, struct run_load *ret_load)
{
    record->submitted = true;
    record->submit_seq = database_last_seq(record) + 1;
    memcpy(record->submit_hash, submission->hash, sizeof(record->submit_hash));
    row_set(&record->row.required_action, NULL);
    database_move(record, RUN_QUEUED);
    take_lease(record, store);
    load_run(record, ret_load);
}

enum err_code store_run_submit(struct store *store, const struct submission *submission,
                               struct run_load *ret_load, bool *ret_repeated, struct err *err)
{
    struct record *record = database_find(submission->run_id);
    bool partly = false;
    enum err_code rc;

    *ret_repeated = false;
    if (store_call_fails(store))
        return away(err);
    rc = check_waits(record, err);
    if (!rc && (!answers_fit(submission, record, &partly) || partly))
        rc = err_set(err, ERR_INVALID, "these are not the answers that it waits for");
    if (rc && record->submitted &&
        memcmp(record->submit_hash, submission->hash, sizeof(record->submit_hash)) == 0) {
        *ret_repeated = true;
        run_row_copy(&ret_load->run, &record->row);
        ret_load->next_seq = record->submit_seq;
        return ERR_OK;
    }
    if (!rc)
        rc = store_answers(submission, record, err);
    if (rc)
        return rc;
    continue_run(submission, record, store, ret_load);
    if (!store_call_is_forgotten())
        return ERR_OK;
    run_load_clear(ret_load);
    return away(err);
}

/* Shows the calls that are still open as the run's required action. */
static void require_rest(struct record *record)
{
    json_auto_t *list = json_array();
    json_auto_t *action = NULL;
    AUTO_FREE char *text = NULL;
    struct call_row *calls;
    size_t count;

    load_calls(&record->row, &calls, &count);
    for (size_t i = 0; i < count; i++) {
        if (is_wanted(&calls[i]))
            json_array_append_new(list,
                                  json_build("{s:s, s:s, s:{s:s, s:s}}", "id", calls[i].call_id,
                                             "type", "function", "function", "name",
                                             calls[i].tool, "arguments", calls[i].arguments));
    }
    call_rows_free(calls, count);
    action = json_build("{s:s, s:{s:O}}", "type", "submit_tool_outputs", "submit_tool_outputs",
                        "tool_calls", list);
    text = json_text(action);
    row_set(&record->row.required_action, text);
}

enum err_code store_run_decide(struct store *store, const struct submission *submission,
                               struct run_load *ret_load, bool *ret_goes_on, struct err *err)
{
    struct record *record = database_find(submission->run_id);
    const struct approval_row *question = find_question(submission->answers[0].call_id);
    bool partly = false;
    enum err_code rc;

    *ret_goes_on = false;
    if (store_call_fails(store))
        return away(err);
    run_row_copy(&ret_load->run, &record->row);
    if (question->status != APPROVAL_PENDING) {
        bool approved = question->status == APPROVAL_APPROVED;

        return approved == submission->answers[0].approve
                   ? ERR_OK
                   : err_set(err, ERR_TAKEN, "it was decided before");
    }
    rc = check_waits(record, err);
    if (!rc)
        (void)answers_fit(submission, record, &partly);
    if (!rc)
        rc = store_answers(submission, record, err);
    if (!rc && partly)
        require_rest(record);
    if (!rc && !partly) {
        run_row_clear(&ret_load->run);
        continue_run(submission, record, store, ret_load);
        *ret_goes_on = true;
    }
    if (!rc && store_call_is_forgotten())
        rc = away(err);
    if (rc)
        run_load_clear(ret_load);
    return rc;
}

/* ---- Cancelling ---- */

enum err_code store_run_cancel(struct store *store, const struct tenant *tenant,
                               const char *thread_id, const char *run_id, size_t context_limit,
                               enum cancel_outcome *ret_outcome, struct run_load *ret_load,
                               struct err *err)
{
    struct record *record = database_find(run_id);
    struct lease *lease;

    (void)tenant;
    (void)thread_id;
    (void)context_limit;
    if (store_call_fails(store))
        return away(err);
    if (!record)
        return err_set(err, ERR_NOT_FOUND, "No run found with id '%s'.", run_id);
    if (run_status_next(record->row.status, RUN_EV_CANCEL) == RUN_STATUS_NONE)
        return err_set(err, ERR_CONFLICT, "Cannot cancel run with status '%s'.",
                       run_status_name(record->row.status));
    lease = &record->lease;
    lease->stopping = true;
    record->row.cancel_requested = true;
    row_set(&record->row.required_action, NULL);
    database_move(record, RUN_CANCELLING);
    *ret_outcome = strcmp(lease->owner, store->node->id) == 0 ? CANCEL_OWNED_HERE
                   : *lease->owner && !has_expired(lease)     ? CANCEL_OWNED_AWAY
                                                              : CANCEL_CLAIMED;
    if (*ret_outcome == CANCEL_CLAIMED) {
        take_lease(record, store);
        load_run(record, ret_load);
    } else {
        run_row_copy(&ret_load->run, &record->row);
    }
    if (*ret_outcome == CANCEL_OWNED_AWAY)
        store_wake_node(store, lease->owner, WAKEUP_CANCEL, run_id);
    if (!store_call_is_forgotten())
        return ERR_OK;
    run_load_clear(ret_load);
    return away(err);
}

/* ---- Leases ---- */

enum err_code store_leases_renew(struct store *store, const char *const *run_ids,
                                 const int64_t *fences, size_t count,
                                 enum lease_state *ret_states, struct err *err)
{
    if (store_call_fails(store))
        return away(err);
    for (size_t i = 0; i < count; i++) {
        struct record *record = database_find(run_ids[i]);

        ret_states[i] = LEASE_LOST;
        if (!record || record->lease.fence != fences[i] ||
            strcmp(record->lease.owner, store->node->id) != 0)
            continue;
        record->lease.until_ns = world->now_ns + WORLD_LEASE_NS;
        ret_states[i] = record->lease.stopping || record->row.status == RUN_CANCELLING
                            ? LEASE_CANCEL_REQUESTED
                            : LEASE_HELD;
    }
    return ERR_OK;
}

static bool is_named(const char *run_id, const char *const *run_ids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(run_ids[i], run_id) == 0)
            return true;
    }
    return false;
}

enum err_code store_leases_give_back(struct store *store, const char *const *run_ids,
                                     size_t count, size_t *ret_count, struct err *err)
{
    *ret_count = 0;
    if (store_call_fails(store))
        return away(err);
    for (size_t i = 0; i < world->database->record_count; i++) {
        struct record *record = &world->database->records[i];

        if (!record->lease.exists || strcmp(record->lease.owner, store->node->id) != 0 ||
            !has_expired(&record->lease) || is_named(record->row.id, run_ids, count))
            continue;
        record->lease.owner[0] = '\0';
        ++*ret_count;
    }
    return ERR_OK;
}

/* The lease of another node has run out. No node of this world boots twice. */
static bool is_orphan(const struct lease *lease, const struct store *store,
                      enum claim_scope scope)
{
    return *lease->owner && strcmp(lease->owner, store->node->id) != 0 && scope == CLAIM_ALL &&
           has_expired(lease);
}

static bool is_claimable(const struct lease *lease, const struct store *store,
                         enum claim_scope scope)
{
    if (!lease->exists || lease->foreground)
        return false;
    return is_orphan(lease, store, scope) || (!*lease->owner && !lease->wait_until) ||
           (lease->wait_until && lease->wait_until < clock_wall_us());
}

enum err_code store_runs_claim(struct store *store, enum claim_scope scope, size_t limit,
                               size_t context_limit, struct run_load **ret_loads,
                               size_t *ret_count, struct err *err)
{
    struct database *database = world->database;
    struct run_load *loads;

    (void)limit;
    (void)context_limit;
    if (store_call_fails(store))
        return away(err);
    loads = mem_new_array(struct run_load, database->record_count + 1);
    *ret_count = 0;
    for (size_t i = 0; i < database->record_count; i++) {
        struct record *record = &database->records[i];

        if (!is_claimable(&record->lease, store, scope))
            continue;
        record->row.attempts += is_orphan(&record->lease, store, scope);
        take_lease(record, store);
        load_run(record, &loads[(*ret_count)++]);
        world_note("    %s takes the run, fence %lld", store->node->id,
                   (long long)record->lease.fence);
    }
    if (store_call_is_forgotten()) {
        for (size_t i = 0; i < *ret_count; i++)
            run_load_clear(&loads[i]);
        free(loads);
        return away(err);
    }
    for (size_t i = 0; i < *ret_count; i++)
        store_wake_others(store, WAKEUP_MOVED, loads[i].run.id);
    *ret_loads = loads;
    return ERR_OK;
}

enum err_code store_runs_fail_foreground(struct store *store, enum claim_scope scope,
                                         size_t *ret_count, struct err *err)
{
    *ret_count = 0;
    if (store_call_fails(store))
        return away(err);
    for (size_t i = 0; i < world->database->record_count; i++) {
        struct record *record = &world->database->records[i];
        struct lease *lease = &record->lease;

        if (!lease->exists || !lease->foreground ||
            !(is_orphan(lease, store, scope) || !*lease->owner))
            continue;
        *lease = (struct lease){0};
        record->row.failed_at = clock_wall_us();
        database_move(record, RUN_FAILED);
        ++*ret_count;
    }
    return ERR_OK;
}

/* ---- Approvals of held runs ---- */

enum err_code store_approvals_held(struct store *store, const struct tenant *tenant,
                                   const char *run_id, const char *const *ids, size_t count,
                                   enum hold_action action, struct approval_row **ret_rows,
                                   size_t *ret_count, bool *ret_goes_on, struct err *err)
{
    struct approval_row *rows;
    size_t found = 0;
    bool all = true;

    (void)tenant;
    if (store_call_fails(store))
        return away(err);
    rows = mem_new_array(struct approval_row, count + 1);
    for (size_t i = 0; i < count; i++) {
        const struct approval_row *question = find_question(ids[i]);

        if (!question)
            continue;
        approval_row_take_copy(&rows[found++], question);
        all = all && question->status != APPROVAL_PENDING &&
              strcmp(question->used_by, run_id) == 0;
    }
    *ret_goes_on = all && found == count;
    for (size_t i = 0; action == HOLD_LEAVE && !*ret_goes_on && i < count; i++) {
        struct approval_row *question = find_question(ids[i]);

        if (question && strcmp(question->used_by, run_id) == 0)
            question->used_by[0] = '\0';
    }
    if (store_call_is_forgotten()) {
        approval_rows_free(rows, found);
        return away(err);
    }
    *ret_rows = rows;
    *ret_count = found;
    return ERR_OK;
}

enum err_code store_approvals_answered(struct store *store, const char *const *projects,
                                       const char *const *run_ids, size_t count,
                                       bool *ret_answered, struct err *err)
{
    (void)projects;
    if (store_call_fails(store))
        return away(err);
    for (size_t i = 0; i < count; i++) {
        ret_answered[i] = false;
        for (size_t k = 0; k < world->database->approval_count; k++) {
            const struct approval_row *row = &world->database->approvals[k];

            ret_answered[i] = ret_answered[i] || (strcmp(row->run_id, run_ids[i]) == 0 &&
                                                  strcmp(row->used_by, run_ids[i]) == 0 &&
                                                  row->status != APPROVAL_PENDING);
        }
    }
    return ERR_OK;
}

/* ---- Variables: every name has the same value, and none is stored ---- */

static enum err_code missing(struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "there is no such thing in this world");
}

enum err_code store_variable_get(struct store *store, const struct tenant *tenant,
                                 const char *scope, const char *name,
                                 enum variable_reading reading, struct variable *ret_variable,
                                 struct err *err)
{
    (void)tenant, (void)scope, (void)reading;
    if (store_call_fails(store))
        return away(err);
    *ret_variable = (struct variable){.value = mem_strdup("t"), .length = 1, .bytes = 1};
    (void)snprintf(ret_variable->name, sizeof(ret_variable->name), "%s", name);
    return ERR_OK;
}

enum err_code store_variable_list(struct store *store, const struct tenant *tenant,
                                  const char *scope, const struct variable_query *query,
                                  struct variable **ret_variables, size_t *ret_count,
                                  int64_t *ret_total, struct err *err)
{
    (void)store, (void)tenant, (void)scope, (void)query;
    (void)ret_variables, (void)ret_count, (void)ret_total;
    return missing(err);
}

enum err_code store_variable_put(struct store *store, const struct tenant *tenant,
                                 const char *scope, const struct variable_change *change,
                                 enum variable_put how, bool *ret_created, struct err *err)
{
    (void)store, (void)tenant, (void)scope, (void)change, (void)how, (void)ret_created;
    return missing(err);
}

enum err_code store_variables_remove(struct store *store, const struct tenant *tenant,
                                     const char *scope, const char *const *names, size_t count,
                                     const char *type, json_t **ret_removed, struct err *err)
{
    (void)store, (void)tenant, (void)scope, (void)names, (void)count, (void)type;
    (void)ret_removed;
    return missing(err);
}

enum err_code store_skill_prompt(struct store *store, const struct tenant *tenant,
                                 const char *id, char **ret_prompt, json_t **ret_files,
                                 struct err *err)
{
    (void)store, (void)tenant, (void)id, (void)ret_prompt, (void)ret_files;
    return missing(err);
}
