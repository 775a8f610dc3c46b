/*
 * The threads of the group commit: loops hand writes over, and writers commit those of many
 * runs at once.
 *
 * A commit makes the database flush its log, which costs as much as dozens of rows. Thousands
 * of streams that committed one by one would spend it on flushes. So a writer makes one
 * transaction of what many runs have to store (group_commit.c), and sends it through a pipeline
 * with one Sync.
 *
 * The queue. A run always has the same writer, chosen by the hash of its id, and a group has
 * one write of a run at most. That alone keeps the writes of a run in order. While one group is
 * under way the next one gathers, so a slow database makes larger groups, and not more of them.
 *
 * Waiting for company. A writer whose last group was a single write sends the next one at once:
 * a server with little traffic is as fast as its database. Otherwise it waits for more, 1 ms,
 * or 4 ms after a large group.
 *
 * Failure. A group is repeated until the database has answered; its statements are made for
 * that.
 *
 *   the database is away        the same group again, with back-off, until it is back or the server stops
 *   the answer was lost         the same group again, as one that may be committed already
 *   the deadline passed         each half by itself: it may have been too much at once
 *   a statement was refused     each write by itself, so that only the run at fault fails
 *
 * A run whose lease is lost is not a failure of the group: its statements change no rows. A
 * query afterwards finds out whether such a run was deleted.
 *
 * Decided against: a connection for each loop, used asynchronously. Every loop would commit by
 * itself, where now the runs of all loops meet in a few writers. And against reporting success
 * before the commit, however much sooner that is: what was acknowledged must survive a crash.
 */

#include "core/store/writer/writer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/hash.h"
#include "core/base/lock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/store/pg/state.h"
#include "core/store/tables/approvals/approvals.h"
#include "core/store/wakeup.h"
#include "core/store/writer/group_commit.h"

/* How long a writer waits for company once there is some traffic. Where many streams are
 * logged, a few milliseconds halve the number of commits. */
#define GATHER_NS        NS_PER_MS
#define GATHER_LONGER_NS (4 * NS_PER_MS)
#define MANY_WRITES      48 /* in the last group */
#define ENOUGH_WRITES    128

/* Between tries while the database is away. */
#define BACKOFF_FIRST_NS (20 * NS_PER_MS)
#define BACKOFF_LIMIT_NS (1000 * NS_PER_MS)

/* Time that a group has for each MiB, beyond the store's deadline. */
#define NS_PER_MIB NS_PER_SECOND

/* The size of the table of runs in a group, so large that look-ups hardly ever collide. */
#define SLOTS ((size_t)4 * WRITER_GROUP_LIMIT)

/* How many queued writes are looked at for a group: behind many of one run there may be others. */
#define LOOK_AHEAD (4 * WRITER_GROUP_LIMIT)

struct writer {
    struct store *store;
    pthread_t thread;

    struct lock lock;
    pthread_cond_t changed;
    struct run_write *first, **end; /* guarded by lock */
    size_t waiting;                 /* guarded by lock: how many writes are in the queue */
    bool idle;                      /* guarded by lock: the thread waits for `changed` */
    bool stopping;                  /* guarded by lock */

    /* The thread's own. */
    struct connection *connection;
    size_t last_count; /* writes of the last group */
    /* The runs of the group that is being gathered, by hash: 1 + the index, or 0. */
    uint16_t slots[SLOTS];
    bool gave_up; /* set when the writer is to stop and the database is away */
};

/* ---- The queue ---- */

static size_t text_size(const char *text)
{
    return text ? strlen(text) : 0;
}

/* The members that may be large. */
static size_t size_of(const struct run_write *write)
{
    const struct run_row *run = write->run;
    size_t size = write->log_length;

    if (write->create)
        size += text_size(run->config) + text_size(run->metadata);
    if (write->create || write->update)
        size += text_size(run->required_action) + text_size(run->error);
    for (size_t i = 0; i < write->item_count; i++)
        size += text_size(write->items[i].body);
    for (size_t i = 0; i < write->step_count; i++)
        size += text_size(write->steps[i].error);
    for (size_t i = 0; i < write->call_count; i++)
        size += text_size(write->calls[i].arguments) + text_size(write->calls[i].output) +
                text_size(write->calls[i].resolved) + text_size(write->calls[i].extra);
    for (size_t i = 0; i < write->variable_count; i++)
        size += text_size(write->variables[i].value);
    for (size_t i = 0; i < write->approval_count; i++)
        size += text_size(write->approvals[i].arguments) +
                text_size(write->approvals[i].reason) + text_size(write->approvals[i].details) +
                text_size(write->approvals[i].held) + text_size(write->approvals[i].extra);
    return size;
}

/* A run always has the same writer, so its writes stay in order. */
void store_write(struct store *store, struct run_write *write)
{
    struct writer *writer;
    bool wake;

    write->hash = hash_text(write->run_id);
    write->size = size_of(write);
    writer = &store->writers[write->hash % store->writer_count];
    write->next = NULL;
    lock_acquire(&writer->lock);
    assert(!writer->stopping);
    *writer->end = write;
    writer->end = &write->next;
    writer->waiting++;
    wake = writer->idle && (writer->waiting == 1 || writer->waiting == ENOUGH_WRITES);
    lock_release(&writer->lock);
    if (wake)
        pthread_cond_signal(&writer->changed);
}

/* Two runs with the same hash are never in one group, which is harmless. */
static bool group_has(const struct writer *writer, const struct group *group, uint32_t hash,
                      size_t *ret_slot)
{
    size_t slot = hash / 2 % SLOTS; /* the hashes that reach one of two writers are all even, or
                                     * all odd */

    for (; writer->slots[slot] > 0; slot = (slot + 1) % SLOTS) {
        if (group->writes[writer->slots[slot] - 1]->hash == hash)
            return true;
    }
    *ret_slot = slot;
    return false;
}

static bool has_room(const struct group *group, size_t bytes, const struct run_write *next)
{
    return group->count == 0 ||
           (group->count < WRITER_GROUP_LIMIT && bytes + next->size <= WRITER_GROUP_BYTES);
}

/* Takes the first write of each run, in order. A second write of a run waits, and so does
 * everything behind it of that run. A write for which there is no room ends the group, so that
 * it comes next. */
static void take_queued_locked(struct writer *writer, struct group *ret_group)
    REQUIRES(writer->lock)
{
    struct run_write **link = &writer->first;
    size_t bytes = 0;

    ret_group->count = 0;
    memset(writer->slots, 0, sizeof(writer->slots));
    for (size_t seen = 0; *link && seen < LOOK_AHEAD; seen++) {
        struct run_write *write = *link;
        size_t slot;

        if (group_has(writer, ret_group, write->hash, &slot)) {
            link = &write->next;
            continue;
        }
        if (!has_room(ret_group, bytes, write))
            break;
        bytes += write->size;
        *link = write->next;
        if (writer->end == &write->next)
            writer->end = link;
        write->next = NULL;
        writer->waiting--;
        ret_group->writes[ret_group->count++] = write;
        writer->slots[slot] = (uint16_t)ret_group->count;
    }
}

static void await_work_locked(struct writer *writer) REQUIRES(writer->lock)
{
    uint64_t deadline;

    writer->idle = true;
    while (!writer->first && !writer->stopping)
        lock_wait(&writer->lock, &writer->changed);
    deadline =
        clock_mono_ns() + (writer->last_count >= MANY_WRITES ? GATHER_LONGER_NS : GATHER_NS);
    while (writer->last_count > 1 && writer->waiting < ENOUGH_WRITES && !writer->stopping) {
        if (!lock_wait_until(&writer->lock, &writer->changed, deadline))
            break;
    }
    writer->idle = false;
}

/* False when the writer is to stop and the queue is empty. */
static bool take_group(struct writer *writer, struct group *ret_group)
{
    lock_acquire(&writer->lock);
    await_work_locked(writer);
    take_queued_locked(writer, ret_group);
    lock_release(&writer->lock);
    writer->last_count = ret_group->count;
    return ret_group->count > 0;
}

/* ---- Writing ---- */

static void drop_connection(struct writer *writer)
{
    connection_free(writer->connection);
    writer->connection = NULL;
}

static enum err_code ensure_connection(struct writer *writer, uint64_t deadline_ns,
                                       struct err *err)
{
    if (writer->connection && !connection_usable(writer->connection))
        drop_connection(writer);
    if (writer->connection)
        return ERR_OK;
    return store_connect(writer->store, deadline_ns, &writer->connection, err);
}

static uint64_t deadline_for(const struct writer *writer, const struct group *group)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < group->count; i++)
        bytes += group->writes[i]->size;
    return clock_mono_ns() + writer->store->deadline_ns + (bytes * (NS_PER_MIB >> 20));
}

/* The outcome of a try. */
struct outcome {
    enum group_try next; /* GROUP_AGAIN when it may have been committed although it failed */
    bool late;           /* the deadline passed */
};

/* A broken connection leaves the last try in doubt, so the next one must expect its rows. */
static void note_broken(struct writer *writer, struct outcome *outcome)
{
    outcome->next = GROUP_AGAIN;
    if (connection_missed_deadline(writer->connection)) {
        outcome->late = true;
        store_note_silent(writer->store);
    }
    drop_connection(writer);
}

/* One attempt. A group may have a lot of data, and gets more time for it: a deadline that is too
 * short for a large group would be missed again with every repetition. */
static enum err_code try_group(struct writer *writer, const struct group *group,
                               struct outcome *outcome, struct err *err)
{
    struct store *store = writer->store;
    uint64_t deadline = deadline_for(writer, group);
    enum err_code rc;

    rc = ensure_connection(writer, deadline, err);
    if (rc)
        return rc;
    if (FAULT("writer.send")) {
        drop_connection(writer);
        return err_set(err, ERR_STORE, "the database connection broke (fault)");
    }
    if (FAULT("writer.refused"))
        return err_set(err, ERR_INTERNAL, "the database refused a statement (fault)");
    rc = group_write(group, outcome->next, writer->connection, store->node_id, store->lease_us,
                     deadline, err);
    if (!rc && FAULT("writer.result")) {
        drop_connection(writer);
        outcome->next = GROUP_AGAIN;
        return err_set(err, ERR_STORE, "the database connection broke (fault)");
    }
    if (!rc && FAULT("writer.late")) {
        drop_connection(writer);
        *outcome = (struct outcome){.next = GROUP_AGAIN, .late = true};
        return err_set(err, ERR_STORE, "the database did not answer in time (fault)");
    }
    if (rc && connection_is_broken(writer->connection))
        note_broken(writer, outcome);
    return rc;
}

/* False when the writer is to stop. */
static bool back_off(struct writer *writer, uint64_t *delay_ns)
{
    uint64_t deadline = clock_mono_ns() + *delay_ns;
    bool stopping;

    *delay_ns = *delay_ns * 2 > BACKOFF_LIMIT_NS ? BACKOFF_LIMIT_NS : *delay_ns * 2;
    lock_acquire(&writer->lock);
    while (!writer->stopping && lock_wait_until(&writer->lock, &writer->changed, deadline))
        ;
    stopping = writer->stopping;
    lock_release(&writer->lock);
    return !stopping;
}

/* ---- What became of an unanswered commit ---- */

/* An expired run has no time of its end: another owner may have come to the same end. What was logged
 * is this write's alone. */
static void ask_status(struct connection *connection, const struct run_write *write)
{
    static const struct db_statement ask = {
        "writer_was_committed",
        "SELECT r.status = $3 AND r.turn = $4 AND coalesce(r.completed_at, r.failed_at,"
        "  r.cancelled_at, r.incomplete_at, 0) = $5"
        " AND ($6::bigint < 0 OR EXISTS (SELECT FROM run_events e WHERE e.project_id ="
        "  r.project_id AND e.run_id = r.id AND e.run_created_at = r.created_at"
        "  AND e.first_seq = $6 AND e.bytes = $7))"
        " FROM runs r WHERE r.project_id = $1 AND r.id = $2"};
    const struct run_row *run = write->run;
    int64_t ended = run->completed_at   ? run->completed_at
                    : run->failed_at    ? run->failed_at
                    : run->cancelled_at ? run->cancelled_at
                                        : run->incomplete_at;
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, &write->tenant);
    db_arg_text(&args, write->run_id);
    db_arg_text(&args, run_status_name(run->status));
    db_arg_int(&args, run->turn);
    db_arg_int(&args, ended);
    db_arg_int(&args, write->log_length ? write->log_first : -1);
    db_arg_bytes(&args, write->log_length ? write->log_bytes : "", write->log_length);
    connection_queue(connection, &ask, &args);
}

/* An ended run has no lease that could prove its commit, so its row does. */
static enum err_code was_committed(struct writer *writer, const struct run_write *write,
                                   bool *ret_same, struct err *err)
{
    uint64_t deadline = clock_mono_ns() + writer->store->deadline_ns;
    PGresult *result;
    enum err_code rc = ensure_connection(writer, deadline, err);

    if (rc)
        return rc;
    if (FAULT("writer.resolve")) {
        drop_connection(writer);
        return err_set(err, ERR_STORE, "the database connection broke (fault)");
    }
    ask_status(writer->connection, write);
    rc = connection_run(writer->connection, deadline, &result, NULL, err);
    if (rc) {
        if (connection_is_broken(writer->connection))
            note_broken(writer, &(struct outcome){0});
        return rc;
    }
    *ret_same = PQntuples(result) == 1 && PQgetvalue(result, 0, 0)[0] == 't';
    PQclear(result);
    return ERR_OK;
}

/* Repeats like a group, until the database has answered or the writer is to stop. */
static void resolve(struct writer *writer, struct run_write *write)
{
    uint64_t delay = BACKOFF_FIRST_NS;
    enum err_code rc = ERR_STORE;
    bool same = false;
    struct err err;

    while (rc == ERR_STORE && !writer->gave_up) {
        rc = was_committed(writer, write, &same, &err);
        if (rc == ERR_STORE)
            writer->gave_up = !back_off(writer, &delay);
    }
    if (rc)
        write->rc = rc;
    else if (same)
        write->rc = ERR_OK;
}

static void resolve_all(struct writer *writer, const struct group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        struct run_write *write = group->writes[i];

        if (write->rc == ERR_CONFLICT && write->update &&
            run_status_is_final(write->run->status))
            resolve(writer, write);
    }
}

/* ---- Deleted runs ---- */

static bool has_conflict(const struct group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        if (group->writes[i]->rc == ERR_CONFLICT && !group->writes[i]->create)
            return true;
    }
    return false;
}

static enum err_code try_to_find_deleted(struct writer *writer, const struct group *group)
{
    uint64_t deadline = clock_mono_ns() + writer->store->deadline_ns;
    struct err err;
    enum err_code rc = ensure_connection(writer, deadline, &err);

    if (rc)
        return rc;
    rc = group_find_deleted(group, writer->connection, deadline, &err);
    if (rc && connection_is_broken(writer->connection))
        note_broken(writer, &(struct outcome){0});
    return rc;
}

/* The group is committed. So this is repeated by itself, until the database has answered or the writer
 * is to stop. */
static void find_deleted(struct writer *writer, const struct group *group)
{
    uint64_t delay = BACKOFF_FIRST_NS;

    while (has_conflict(group) && !writer->gave_up &&
           try_to_find_deleted(writer, group) == ERR_STORE)
        writer->gave_up = !back_off(writer, &delay);
}

/* ---- Until it is done ---- */

/* Repeats until the database has answered one way or the other, or the writer is to stop; or
 * until the group turns out to be too large. */
static enum err_code persist(struct writer *writer, const struct group *group,
                             struct outcome *outcome, struct err *err)
{
    uint64_t delay = BACKOFF_FIRST_NS;
    enum err_code rc = ERR_STORE;

    while (rc == ERR_STORE && !writer->gave_up && !(outcome->late && group->count > 1)) {
        rc = try_group(writer, group, outcome, err);
        if (rc == ERR_STORE)
            writer->gave_up = !back_off(writer, &delay);
    }
    if (!rc && outcome->next == GROUP_AGAIN)
        resolve_all(writer, group);
    if (!rc)
        find_deleted(writer, group);
    return rc;
}

/* A unique violation of runs_active is an answer: the thread has an active run. Any other one is
 * a mistake of this server. */
static void write_alone(struct writer *writer, struct run_write *write, enum group_try try)
{
    const struct group alone = {.writes = {write}, .count = 1};
    struct outcome outcome = {.next = try};
    struct err err = {0};
    enum err_code rc = persist(writer, &alone, &outcome, &err);

    if (rc == ERR_CONFLICT && strcmp(err.place, "runs_active") != 0)
        rc = ERR_INTERNAL;
    if (rc == ERR_INTERNAL)
        log_error("writing run %s: %s", write->run_id, err.text);
    if (rc)
        write->rc = rc;
}

static struct group part_of(const struct group *group, size_t from, size_t to)
{
    struct group part = {.count = to - from};

    memcpy(part.writes, group->writes + from, part.count * sizeof(part.writes[0]));
    return part;
}

/* Halving finds the size that the database manages in time. Errors of statements go straight to
 * single writes: usually one of them is at fault, and the others must not wait for more
 * tries. */
static void write_group(struct writer *writer, const struct group *group, enum group_try try)
{
    struct outcome outcome = {.next = try};
    enum err_code rc = ERR_INTERNAL;
    size_t half = group->count / 2;
    struct err err = {0};

    if (group->count > 1)
        rc = persist(writer, group, &outcome, &err);
    if (!rc)
        return;
    if (rc == ERR_STORE && outcome.late && !writer->gave_up) {
        const struct group first = part_of(group, 0, half);
        const struct group second = part_of(group, half, group->count);

        write_group(writer, &first, outcome.next);
        write_group(writer, &second, outcome.next);
        return;
    }
    for (size_t i = 0; i < group->count; i++) {
        if (rc == ERR_STORE)
            group->writes[i]->rc = rc;
        else
            write_alone(writer, group->writes[i], outcome.next);
    }
}

static int by_run_id(const void *a, const void *b)
{
    struct run_write *const *left = a, *const *right = b;

    return strcmp((*left)->run_id, (*right)->run_id);
}

static bool requests_permission(const struct run_write *write)
{
    if (write->rc)
        return false;
    for (size_t i = 0; i < write->approval_count; i++) {
        if (write->approvals[i].kind == APPROVAL_OF_PERMISSION &&
            write->approvals[i].status == APPROVAL_PENDING)
            return true;
    }
    return false;
}

/* A permission may have been granted while the question was on its way to the store. */
static void cover(struct store *store, const struct run_write *write)
{
    struct err err;

    if (store_approvals_cover_run(store, &write->tenant, write->run_id, &err))
        log_warn("run %s may wait a little for a permission that was granted: %s",
                 write->run_id, err.text);
}

/* So other nodes need not wait for their next poll. */
static void offer(struct store *store, const struct run_write *write)
{
    if (!write->rc && write->release && write->ready)
        store_wake_others(store, WAKEUP_CLAIM, NULL);
}

static void post(struct run_write *write)
{
    loop_post(write->loop, &write->done);
}

/* Writes with questions are posted last: the others need not wait for the look at grants. */
static void give_back(struct store *store, const struct group *group)
{
    struct group asking = {0};

    for (size_t i = 0; i < group->count; i++) {
        struct run_write *write = group->writes[i];

        offer(store, write);
        if (requests_permission(write))
            asking.writes[asking.count++] = write;
        else
            post(write);
    }
    for (size_t i = 0; i < asking.count; i++) {
        cover(store, asking.writes[i]);
        post(asking.writes[i]);
    }
}

static void *writer_thread(void *arg)
{
    struct writer *writer = arg;
    struct group group;

    while (take_group(writer, &group)) {
        qsort(group.writes, group.count, sizeof(group.writes[0]), by_run_id);
        write_group(writer, &group, GROUP_FIRST);
        give_back(writer->store, &group);
        if (writer->connection && connection_is_swollen(writer->connection))
            drop_connection(writer);
    }
    drop_connection(writer);
    return NULL;
}

/* ---- Start and stop ---- */

static void stop_writer(struct writer *writer)
{
    lock_acquire(&writer->lock);
    writer->stopping = true;
    lock_release(&writer->lock);
    pthread_cond_signal(&writer->changed);
    pthread_join(writer->thread, NULL);
    pthread_cond_destroy(&writer->changed);
    lock_destroy(&writer->lock);
}

static bool start_writer(struct store *store, struct writer *writer)
{
    writer->store = store;
    writer->end = &writer->first;
    lock_init(&writer->lock, LOCK_STORE_QUEUE);
    lock_cond_init(&writer->changed);
    if (pthread_create(&writer->thread, NULL, writer_thread, writer) != 0)
        return false;
    pthread_setname_np(writer->thread, "store-writer");
    return true;
}

enum err_code store_writers_start(struct store *store, struct err *err)
{
    store->writers = mem_new_array(struct writer, store->writer_count);
    for (unsigned i = 0; i < store->writer_count; i++) {
        if (start_writer(store, &store->writers[i]))
            continue;
        store->writer_count = i;
        store_writers_stop(store);
        return err_set(err, ERR_INTERNAL, "cannot start a store writer");
    }
    return ERR_OK;
}

void store_writers_stop(struct store *store)
{
    if (!store->writers)
        return;
    for (unsigned i = 0; i < store->writer_count; i++)
        stop_writer(&store->writers[i]);
    free(store->writers);
    store->writers = NULL;
}
