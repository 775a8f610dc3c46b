/*
 * A COMMIT without an answer: did it happen?
 *
 * The connection broke after COMMIT was sent, or while it was. The database may have committed,
 * may have rolled back, or may still be at it. For most calls ERR_STORE is a good answer,
 * because their clients repeat them without harm. But a client that is sent 503 for a run which
 * was made comes back and finds its thread busy, or pays for two responses. So making a run,
 * submitting outputs and cancelling look for what they would have written.
 *
 * The path. commit_proven() is db_commit(). If the connection is gone, the row is looked up on a
 * new one, again and again until the database has answered, or no time is left: as long as the
 * call had, and a second at least. A proof that is found makes the call a success, with its
 * wake-ups.
 *
 * Waiting for the transaction. "No row" means nothing while the transaction may still commit. It
 * holds locks until it ends, so the look-up takes the same locks first and thereby waits for its
 * end:
 *
 *   the thread     was locked, or made, by the transaction that makes a run in it
 *   the lease      was locked by a submission or a cancellation
 *   a new lease    cannot be locked, as no other transaction sees it. But an INSERT of the same
 *                  key waits until the other one has ended, and then does nothing or succeeds
 *
 * Then the proof is read by a statement of its own, which sees everything committed by then. The
 * whole look-up is rolled back: it must leave neither locks nor the lease that it may have
 * inserted.
 *
 * What counts as a proof is the lease with this owner and the fence to which this transaction
 * raised it. If another node has taken the run over since, the fence is another one and the
 * answer is "no": that node executes the run, and this one must not. Another request of this node
 * may have raised it to the same fence, after this transaction was rolled back. So the time until
 * which the lease was taken must be the same, too. It is renewed only while the run is in memory,
 * which is later. A cancellation takes the lease only of a run without a live owner; else its proof
 * is the flag in the run.
 *
 * Decided against: a table of transaction ids to look commits up in. It would cost every commit
 * a row, for something that happens only in an outage. txid_status() needs the id of the
 * transaction, which every transaction would have to read beforehand, and it does not wait.
 */

#include "core/store/pg/commit.h"

#include <poll.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/log.h"
#include "core/store/pg/connection.h"
#include "core/store/pg/state.h"

/* How long to look at least, if the deadline of the call leaves less time: the connection often
 * breaks because that deadline has passed. */
#define LOOK_AT_LEAST_NS NS_PER_SECOND

/* The fence of a run that was just made. */
#define FENCE_MADE 1

/* Between two looks. A failover takes seconds, a broken connection is replaced at once. */
#define PAUSE_FIRST_MS 20
#define PAUSE_LIMIT_MS 500

/* Locked in the order of all transactions: the thread, then the lease. */
static const struct db_statement lock_thread = {
    "commit_lock_thread", "SELECT 1 FROM threads WHERE project_id = $1 AND id = $2 FOR UPDATE"};
static const struct db_statement lock_lease = {
    "commit_lock_lease",
    "SELECT 1 FROM run_leases WHERE project_id = $1 AND run_id = $2 FOR UPDATE"};
/* DO NOTHING waits for a transaction that has inserted the same key, too. Fence 0 and no owner:
 * the row proves nothing, should it ever outlast this transaction. */
static const struct db_statement make_lease = {
    "commit_make_lease",
    "INSERT INTO run_leases (project_id, run_id, fence, lease_until, foreground, queued_at,"
    "  last_seq, state_seq) VALUES ($1, $2, 0, clock_timestamp(), false, 0, -1, -1)"
    " ON CONFLICT (project_id, run_id) DO NOTHING"};
static const struct db_statement begin = {"commit_begin", "BEGIN"};
static const struct db_statement rollback = {"commit_rollback", "ROLLBACK"};
/* $4 > 0: the fence of a lease that this node took. Below 0: the run itself. 0: the client's request to stop, which
 * stays in the run for good. */
static const struct db_statement look_at = {
    "commit_look_at",
    "SELECT CASE WHEN $4::bigint > 0 THEN EXISTS (SELECT 1 FROM run_leases"
    "  WHERE project_id = $1 AND run_id = $2 AND owner = $3 AND fence = $4"
    "  AND ($5::bigint = 0 OR " LEASE_UNTIL_US " = $5))"
    " WHEN $4::bigint < 0 THEN EXISTS (SELECT 1 FROM runs WHERE project_id = $1 AND id = $2)"
    " ELSE EXISTS (SELECT 1 FROM runs WHERE project_id = $1 AND id = $2 AND cancel_requested)"
    " END"};

static void queue_row(struct connection *connection, const struct db_statement *statement,
                      const struct tenant *tenant, const char *id)
{
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    connection_queue(connection, statement, &args);
}

static void queue_look(struct connection *connection, const char *owner,
                       const struct commit_proof *proof)
{
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, proof->tenant);
    db_arg_text(&args, proof->run_id);
    db_arg_text(&args, owner);
    db_arg_int(&args, proof->for_another ? -1 : proof->fence);
    db_arg_int(&args, proof->lease_until);
    connection_queue(connection, &look_at, &args);
}

static enum err_code look(struct connection *connection, const char *owner,
                          const struct commit_proof *proof, uint64_t deadline_ns,
                          bool *ret_there, struct err *err)
{
    PGresult *results[6] = {NULL};
    const size_t looked = 4;
    enum err_code rc;

    connection_queue(connection, &begin, NULL);
    queue_row(connection, &lock_thread, proof->tenant, proof->thread_id);
    queue_row(connection, &lock_lease, proof->tenant, proof->run_id);
    /* Any other lease existed before, and is locked already: the second lock costs nothing and
     * keeps the number of answers the same. */
    queue_row(connection, proof->fence == FENCE_MADE ? &make_lease : &lock_lease, proof->tenant,
              proof->run_id);
    queue_look(connection, owner, proof);
    connection_queue(connection, &rollback, NULL);
    rc = connection_run(connection, deadline_ns, results, NULL, err);
    if (rc)
        return rc;
    *ret_there = PQgetvalue(results[looked], 0, 0)[0] == 't';
    for (size_t i = 0; i < COUNT_OF(results); i++)
        PQclear(results[i]);
    return ERR_OK;
}

/* Not on the thread's connection: that is gone, and store_connect() would count a failure as an
 * outage of the store. */
static enum err_code look_once(struct store *store, const struct commit_proof *proof,
                               uint64_t deadline_ns, bool *ret_there, struct err *err)
{
    struct connection *connection;
    enum err_code rc;

    if (FAULT("commit.look"))
        return err_set(err, ERR_STORE, "the database is away (fault)");
    rc = connection_open(store->url, deadline_ns, &connection, err);
    if (rc)
        return rc;
    if (store->pooled)
        connection_set_pooled(connection);
    rc = look(connection, store->node_id, proof, deadline_ns, ret_there, err);
    connection_free(connection);
    return rc;
}

/* Repeats until there is an answer, or no time left. */
static bool was_committed(struct store *store, const struct commit_proof *proof,
                          uint64_t deadline_ns)
{
    uint64_t at_least = clock_mono_ns() + LOOK_AT_LEAST_NS;
    uint64_t deadline = deadline_ns > at_least ? deadline_ns : at_least;
    int pause_ms = PAUSE_FIRST_MS;
    bool there = false;
    struct err err;

    while (look_once(store, proof, deadline, &there, &err)) {
        if (clock_mono_ns() + (uint64_t)pause_ms * NS_PER_MS >= deadline) {
            log_warn("whether run %s was stored is not known: %s", proof->run_id, err.text);
            return false;
        }
        (void)poll(NULL, 0, pause_ms);
        pause_ms = pause_ms * 2 > PAUSE_LIMIT_MS ? PAUSE_LIMIT_MS : pause_ms * 2;
    }
    return there;
}

/* Only a connection that was dropped leaves a doubt. An error that the database reported, or a
 * transaction that had failed before, is certain. */
enum err_code commit_proven(struct db *db, const struct commit_proof *proof, struct err *err)
{
    bool failed_before = db->failed;
    enum err_code rc = db_commit(db, err);

    if (rc != ERR_STORE || failed_before || db->connection)
        return rc;
    if (!was_committed(db->store, proof, db->deadline_ns))
        return rc;
    db_note_committed(db);
    return ERR_OK;
}
