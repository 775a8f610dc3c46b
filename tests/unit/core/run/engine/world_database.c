/*
 * PostgreSQL as far as the engine can see it: rows, and transactions that happen at once.
 *
 * A commit is one step of the world. Before it nothing of a write is visible, after it everything is, and
 * no other transaction is in between. That is what the engine is promised. What makes it true in the
 * server, locks and their order, is tested with a real PostgreSQL elsewhere.
 *
 * What a write does to the rows follows core/store/writer/group_commit.c and
 * core/store/tables/runs/upserts.c: the fence, rows that are inserted or replaced, the log, the lease. A
 * statement that changes there must change here. Small differences matter. An answer of a client is not
 * overwritten by a later write of its call (put_call()), and neither is a decision (put_approval()): both
 * may be stored while a write is on its way that does not know of them.
 *
 * A write has two steps, commit and report, and between them lies the most fruitful gap of all: the
 * database has it, clients can see it, and its run does not know. An answer may also get lost. Then the
 * node sends the same write again, marked `again`, and the second try must recognise the first, as
 * GROUP_AGAIN does. A node that crashes after the commit never reports.
 *
 * Rules are checked in the step of the commit: a run ends once and stays ended (database_move()), each frame
 * of the log follows the last (put_chunk()), a run is made once, an item belongs to one run. A write with
 * an old fence changes nothing and is no mistake: that is what fences are for.
 *
 * A refused write stands for one that PostgreSQL does not accept, such as a text with a NUL. It is
 * ERR_INTERNAL, and nothing of it is stored. What the run does next may collide with itself, so a key that
 * exists already is then refused again (`world->refused`).
 *
 * What the engine never reads back, such as variables and grants, is not kept.
 */

#include "tests/unit/core/run/engine/world_database.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/domain/status/run_status.h"
#include "core/store/cluster/wakeups.h"
#include "tests/unit/core/run/engine/world_grants.h"

/* ---- Rows ---- */

void row_set(char **text, const char *value)
{
    char *copy = mem_strdup(value);

    free(*text);
    *text = copy;
}

void item_row_take_copy(struct item_row *copy, const struct item_row *row)
{
    *copy = *row;
    copy->body = mem_strdup(row->body);
    copy->metadata = mem_strdup(row->metadata);
    copy->cost = (struct item_cost){0};
    copy->answered = false;
}

void step_row_take_copy(struct step_row *copy, const struct step_row *row)
{
    *copy = *row;
    copy->usage = mem_strdup(row->usage);
    copy->error = mem_strdup(row->error);
}

void call_row_take_copy(struct call_row *copy, const struct call_row *row)
{
    *copy = *row;
    copy->tool = mem_strdup(row->tool);
    copy->arguments = mem_strdup(row->arguments);
    copy->resolved = mem_strdup(row->resolved);
    copy->output = mem_strdup(row->output);
    copy->extra = mem_strdup(row->extra);
}

void approval_row_take_copy(struct approval_row *copy, const struct approval_row *row)
{
    *copy = *row;
    copy->server_label = mem_strdup(row->server_label);
    copy->tool = mem_strdup(row->tool);
    copy->arguments = mem_strdup(row->arguments);
    copy->policy = mem_strdup(row->policy);
    copy->details = mem_strdup(row->details);
    copy->held = mem_strdup(row->held);
    copy->definition = mem_strdup(row->definition);
    copy->memory = mem_strdup(row->memory);
    copy->extra = mem_strdup(row->extra);
    copy->reason = mem_strdup(row->reason);
}

struct database *database_new(void)
{
    return mem_new(struct database);
}

void database_free(struct database *database)
{
    for (size_t i = 0; i < database->record_count; i++) {
        run_row_clear(&database->records[i].row);
        buf_clear(&database->records[i].log);
    }
    for (size_t i = 0; i < database->item_count; i++)
        item_row_clear(&database->items[i]);
    for (size_t i = 0; i < database->step_count; i++)
        step_row_clear(&database->steps[i]);
    for (size_t i = 0; i < database->call_count; i++)
        call_row_clear(&database->calls[i]);
    for (size_t i = 0; i < database->approval_count; i++)
        approval_row_clear(&database->approvals[i]);
    free(database);
}

bool database_is_away(void)
{
    return world->now_ns < world->away_until_ns;
}

void database_go_away(uint64_t ns)
{
    world->away_until_ns = world->now_ns + ns;
    world->delays_ns += ns;
}

struct record *database_find(const char *run_id)
{
    struct database *database = world->database;

    for (size_t i = 0; i < database->record_count; i++) {
        if (strcmp(database->records[i].row.id, run_id) == 0)
            return &database->records[i];
    }
    return NULL;
}

struct record *database_add_run(const struct run_row *row, const char *owner, int64_t last_seq)
{
    struct database *database = world->database;
    struct record *record = &database->records[database->record_count++];

    assert(database->record_count <= DATABASE_RUNS);
    run_row_copy(&record->row, row);
    record->ends = run_status_is_final(row->status);
    if (record->ends)
        return record;
    record->lease = (struct lease){
        .exists = true,
        .fence = 1,
        .until_ns = world->now_ns + WORLD_LEASE_NS,
        .foreground = !(row->flags & RUN_RESUMABLE),
        .queued_at = row->created_at,
        .last_seq = last_seq,
        .state_seq = last_seq,
    };
    (void)snprintf(record->lease.owner, sizeof(record->lease.owner), "%s", owner);
    return record;
}

void database_move(struct record *record, enum run_status status)
{
    enum run_status before = record->row.status;

    if (status == before)
        return;
    world_note("    run %s -> %s", run_status_name(before), run_status_name(status));
    world_expect(!run_status_is_final(before), "a run that is %s became %s",
                 run_status_name(before), run_status_name(status));
    record->row.status = status;
    record->ends += run_status_is_final(status);
}

int64_t database_last_seq(const struct record *record)
{
    int64_t logged = record->next_frame - 1;

    return logged > record->lease.last_seq ? logged : record->lease.last_seq;
}

void database_put_item(const struct item_row *row)
{
    struct database *database = world->database;
    struct item_row *place = NULL;

    for (size_t i = 0; i < database->item_count && !place; i++) {
        if (strcmp(database->items[i].id, row->id) == 0)
            place = &database->items[i];
    }
    if (place) {
        world_expect(strcmp(place->run_id, row->run_id) == 0, "item %s is of two runs",
                     row->id);
        item_row_clear(place);
    } else {
        place = &database->items[database->item_count++];
        assert(database->item_count <= DATABASE_ITEMS);
    }
    item_row_take_copy(place, row);
}

static void put_step(const struct step_row *row)
{
    struct database *database = world->database;
    size_t i = 0;

    while (i < database->step_count && strcmp(database->steps[i].id, row->id) != 0)
        i++;
    if (i < database->step_count)
        step_row_clear(&database->steps[i]);
    else
        database->step_count++;
    assert(database->step_count <= DATABASE_STEPS);
    step_row_take_copy(&database->steps[i], row);
}

static void put_call(const struct call_row *row)
{
    struct database *database = world->database;
    size_t i = 0;

    while (i < database->call_count && (strcmp(database->calls[i].run_id, row->run_id) != 0 ||
                                        strcmp(database->calls[i].call_id, row->call_id) != 0 ||
                                        database->calls[i].turn != row->turn))
        i++;
    if (i < database->call_count) {
        world_expect(database->calls[i].client || database->calls[i].state != CALL_DONE ||
                         row->state == CALL_DONE,
                     "the end of %s is taken back", row->call_id);
        if (database->calls[i].client && database->calls[i].state == CALL_DONE)
            return; /* the client's answer stays */
        call_row_clear(&database->calls[i]);
    } else {
        database->call_count++;
    }
    assert(database->call_count <= DATABASE_CALLS);
    call_row_take_copy(&database->calls[i], row);
}

/* A decision stays. */
static void put_approval(const struct approval_row *row)
{
    struct database *database = world->database;
    size_t i = 0;

    while (i < database->approval_count && strcmp(database->approvals[i].id, row->id) != 0)
        i++;
    if (i == database->approval_count) {
        database->approval_count++;
        assert(database->approval_count <= DATABASE_APPROVALS);
        approval_row_take_copy(&database->approvals[i], row);
        grants_note_question(i);
        return;
    }
    if (database->approvals[i].status != APPROVAL_PENDING)
        return;
    approval_row_clear(&database->approvals[i]);
    approval_row_take_copy(&database->approvals[i], row);
    grants_note_question(i);
}

/* ---- What a committed write does, as core/store/writer/group_commit.c has it ---- */

static bool has_log(const struct run_write *write)
{
    return write->log_last >= write->log_first && write->log_length > 0;
}

static bool ends_run(const struct run_write *write)
{
    bool has_status = write->create || write->update;

    return has_status && run_status_is_final(write->run->status);
}

static bool has_lease(const struct run_write *write)
{
    return !write->create || !ends_run(write);
}

static bool has_state(const struct run_write *write)
{
    return (write->create || write->update) || write->item_count || write->step_count ||
           write->call_count || write->approval_count;
}

static int64_t last_seq(const struct run_write *write)
{
    return has_log(write) ? write->log_last : -1;
}

/* Chunks have their first number as a key. */
static bool has_chunk(const struct record *record, int64_t first)
{
    for (size_t i = 0; i < world->database->chunk_count; i++) {
        const struct chunk *chunk = &world->database->chunks[i];

        if (chunk->record == record && chunk->first == first)
            return true;
    }
    return false;
}

static void put_chunk(struct record *record, int64_t first, int64_t last, const char *bytes,
                      size_t length)
{
    struct database *database = world->database;

    if (!length || has_chunk(record, first))
        return;
    world_expect(first == record->next_frame, "frame %lld is logged where %lld was due",
                 (long long)first, (long long)record->next_frame);
    assert(database->chunk_count < DATABASE_CHUNKS);
    database->chunks[database->chunk_count++] =
        (struct chunk){.record = record, .first = first, .last = last};
    record->next_frame = last + 1;
    buf_add(&record->log, bytes, length);
}

/* The frame that says that a run waits is a chunk of its own. It is not logged when the run was cancelled
 * meanwhile, and so does not wait. */
static void put_log(struct record *record, const struct run_write *write)
{
    size_t length = write->log_length - write->log_pause;

    if (!has_log(write))
        return;
    put_chunk(record, write->log_first, write->log_last - (write->log_pause > 0),
              write->log_bytes, length);
    if (write->log_pause && record->row.status == RUN_REQUIRES_ACTION)
        put_chunk(record, write->log_last, write->log_last, write->log_bytes + length,
                  write->log_pause);
}

/* A cancel that was stored while the write was on its way wins over all but an end. */
static void update_run(struct record *record, const struct run_row *run)
{
    bool stops = record->row.status == RUN_CANCELLING && !run_status_is_final(run->status);
    struct run_row *row = &record->row;

    if (run->turn > row->turn)
        row->attempts = 0;
    row->turn = run->turn;
    row_set(&row->required_action, row->status == RUN_CANCELLING ? NULL : run->required_action);
    row_set(&row->usage, run->usage);
    row_set(&row->error, run->error);
    row_set(&row->incomplete, run->incomplete);
    row->started_at = run->started_at;
    row->expires_at = run->expires_at;
    row->completed_at = run->completed_at;
    row->failed_at = run->failed_at;
    row->cancelled_at = run->cancelled_at;
    row->incomplete_at = run->incomplete_at;
    if (!stops)
        database_move(record, run->status);
}

/* The items of a response that completed are appended to its conversation. */
static void append_items(const struct record *record, const struct run_write *write)
{
    const struct run_row *run = &record->row;

    if (!ends_run(write) || run->face != FACE_RESPONSES || !*run->thread_id ||
        (run->status != RUN_COMPLETED && run->status != RUN_INCOMPLETE))
        return;
    for (size_t i = 0; i < world->database->item_count; i++) {
        struct item_row *item = &world->database->items[i];

        if (strcmp(item->run_id, run->id) == 0)
            memcpy(item->thread_id, run->thread_id, sizeof(item->thread_id));
    }
}

static void put_rows(struct record *record, const struct run_write *write)
{
    for (size_t i = 0; i < write->approval_count; i++)
        put_approval(&write->approvals[i]);
    for (size_t i = 0; i < write->item_count; i++)
        database_put_item(&write->items[i]);
    append_items(record, write);
    for (size_t i = 0; i < write->step_count; i++)
        put_step(&write->steps[i]);
    for (size_t i = 0; i < write->call_count; i++)
        put_call(&write->calls[i]);
    put_log(record, write);
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void count_events(struct record *record, const struct run_write *write, int64_t seq)
{
    struct lease *lease = &record->lease;
    int64_t before = database_last_seq(record);

    lease->last_seq = larger(lease->last_seq, seq);
    if (has_state(write))
        lease->state_seq = larger(before, seq);
}

static int64_t wait_of(const struct run_write *write)
{
    if (write->ready || !(write->create || write->update))
        return 0;
    return write->run->expires_at ? write->run->expires_at : INT64_MAX;
}

/* A run that would wait but is to be cancelled keeps its owner: this write notifies it of the cancel. */
static void give_lease_back(struct record *record, const struct run_write *write)
{
    struct lease *lease = &record->lease;
    bool stops = record->row.status == RUN_CANCELLING;

    if (!wait_of(write) || !stops)
        lease->owner[0] = '\0';
    lease->wait_until = stops ? 0 : wait_of(write);
    count_events(record, write, last_seq(write) - (stops && write->log_pause > 0));
}

static void settle_lease(struct record *record, const struct run_write *write)
{
    if (!has_lease(write))
        return;
    if (ends_run(write))
        record->lease = (struct lease){0};
    else if (write->release)
        give_lease_back(record, write);
    else if (!write->create)
        count_events(record, write, last_seq(write));
}

bool database_is_taken(const struct run_row *run)
{
    const struct database *database = world->database;

    for (size_t i = 0; i < database->record_count; i++) {
        const struct run_row *other = &database->records[i].row;

        if (*run->thread_id && strcmp(other->thread_id, run->thread_id) == 0 &&
            strcmp(other->id, run->id) != 0 && !run_status_is_final(other->status))
            return true;
    }
    return false;
}

/* `again`: an earlier try may have been committed, and this node does not know. */
static enum err_code create(struct run_write *write, const struct node *node, bool again,
                            struct record **ret_record)
{
    *ret_record = database_find(write->run_id);
    if (*ret_record) {
        world_expect(again || world->refused, "run %s is made twice", write->run_id);
        if (!again)
            return ERR_INTERNAL; /* its key is there; the write before this one was refused */
        return has_lease(write) &&
                       (!(*ret_record)->lease.exists || (*ret_record)->lease.fence != 1)
                   ? ERR_CONFLICT
                   : ERR_OK;
    }
    if (database_is_taken(write->run))
        return ERR_CONFLICT;
    *ret_record = database_add_run(write->run, node->id, last_seq(write));
    return ERR_OK;
}

/* The log has exactly the frames of the write. */
static bool was_logged(const struct run_write *write, const struct record *record)
{
    const char *at = record->log.data;

    for (int64_t i = 0; i < write->log_first && at; i++)
        at = (const char *)memmem(at, strlen(at), "\n\n", 2) + 2;
    return !has_log(write) || (write->log_last < record->next_frame &&
                               memcmp(at, write->log_bytes, write->log_length) == 0);
}

/* An ended run has no lease, so no fence proves that this write ended it. Its row and its log do. */
static bool was_committed(const struct run_write *write, const struct record *record)
{
    const struct run_row *ours = write->run, *row = record ? &record->row : NULL;

    return row && write->update && ends_run(write) && row->status == ours->status &&
           row->turn == ours->turn && row->completed_at == ours->completed_at &&
           row->failed_at == ours->failed_at && row->cancelled_at == ours->cancelled_at &&
           row->incomplete_at == ours->incomplete_at && was_logged(write, record);
}

static enum err_code commit(struct run_write *write, const struct node *node, bool again)
{
    struct record *record = database_find(write->run_id);
    enum err_code rc = ERR_OK;

    if (write->create)
        rc = create(write, node, again, &record);
    else if (!record || !record->lease.exists || record->lease.fence != write->fence)
        rc = ERR_CONFLICT;
    if (rc)
        return again && was_committed(write, record) ? ERR_OK : rc;
    if (!again && has_log(write) && has_chunk(record, write->log_first)) {
        world_expect(world->refused, "frame %lld is logged twice", (long long)write->log_first);
        return ERR_INTERNAL; /* its key is there, as of a run above */
    }
    write->cancel_requested = record->lease.stopping;
    if (write->update && !write->create) {
        if (run_status_is_final(record->row.status))
            return ERR_CONFLICT;
        update_run(record, write->run);
        write->cancel_requested = record->row.status == RUN_CANCELLING;
    }
    put_rows(record, write);
    settle_lease(record, write);
    if (ends_run(write))
        write->cancel_requested = false;
    return ERR_OK;
}

/* ---- A write on its way, as core/store/writer/writer.c has it ---- */

/* Without a node as long as the database has it: what is sent is committed even if the sender dies. */
struct pending {
    struct actor actor; /* commits, then reports */
    struct run_write *write;
    struct node *node;
    bool again; /* it may have been committed: the answer got lost */
    struct pending *next;
};

static struct pending *pendings; /* the writes under way of the one world */

static void leave(struct pending *pending)
{
    struct pending **at = &pendings;

    while (*at != pending)
        at = &(*at)->next;
    *at = pending->next;
    actor_leave(&pending->actor);
    free(pending);
}

static void report(struct actor *actor)
{
    struct pending *pending = CONTAINER_OF(actor, struct pending, actor);
    struct run_write *write = pending->write;

    if (!write->rc && write->release && write->ready)
        store_wake_others(&pending->node->store, WAKEUP_CLAIM, NULL);
    grants_look_for(pending->node, write);
    loop_post(write->loop, &write->done);
    leave(pending);
}

static const struct actor_ops report_ops = {
    .thing = THING_REPORT,
    .act = report,
};

static bool can_commit(struct actor *actor)
{
    (void)actor;
    return !database_is_away();
}

static bool takes(unsigned *count)
{
    if (!*count)
        return false;
    --*count;
    return true;
}

static void try_commit(struct actor *actor)
{
    struct pending *pending = CONTAINER_OF(actor, struct pending, actor);
    struct node *node = pending->node;

    if (takes(&world->refuse_writes)) {
        world_note("    refused");
        pending->write->rc = ERR_INTERNAL;
    } else {
        pending->write->rc = commit(pending->write, node, pending->again);
        world_note("    committed: %d%s", (int)pending->write->rc,
                   pending->write->cancel_requested ? ", is to stop" : "");
    }
    world->refused += pending->write->rc == ERR_INTERNAL;
    if (takes(&world->lose_answers)) {
        pending->again = true;
        actor->node = node; /* the node tries again, if it lives */
        return;
    }
    actor_leave(actor);
    actor_join(actor, &report_ops, node);
}

/* The database commits what it was sent, whether or not the sender still lives. */
static const struct actor_ops commit_ops = {
    .thing = THING_COMMIT,
    .is_ready = can_commit,
    .act = try_commit,
};

void store_write(struct store *store, struct run_write *write)
{
    struct pending *pending = mem_new(struct pending);

    pending->write = write;
    pending->node = store->node;
    pending->next = pendings;
    pendings = pending;
    actor_join(&pending->actor, &commit_ops, NULL);
}

void database_forget_writes(struct node *node)
{
    for (struct pending *pending = pendings; pending; pending = pending->next) {
        if (pending->node != node || pending->actor.ops != &commit_ops)
            continue;
        actor_leave(&pending->actor);
        actor_join(&pending->actor, &report_ops, node); /* a dead node never reports */
        pending->write->rc = ERR_STORE;
    }
}

void database_return_writes(struct node *node)
{
    for (struct pending *pending = pendings, *next; pending; pending = next) {
        next = pending->next;
        if (pending->node != node)
            continue;
        pending->write->rc = ERR_STORE;
        report(&pending->actor);
    }
}

bool database_is_done_with(const struct node *node)
{
    for (const struct pending *pending = pendings; pending; pending = pending->next) {
        if (pending->node == node)
            return false;
    }
    return true;
}

bool database_has_writes(void)
{
    for (const struct pending *pending = pendings; pending; pending = pending->next) {
        if (!pending->actor.node || !pending->actor.node->dead)
            return true;
    }
    return false;
}
