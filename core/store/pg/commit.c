#include "core/store/pg/commit.h"

#include <poll.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/log.h"
#include "core/store/pg/connection.h"
#include "core/store/pg/state.h"

/* How long to look at least, if the deadline of the call leaves less time. */
#define LOOK_AT_LEAST_NS NS_PER_SECOND

/* The fence of a run that was just made. */
#define FENCE_MADE 1

#define PAUSE_FIRST_MS 20
#define PAUSE_LIMIT_MS 500

/* The transaction may still be under way in the database. It holds these rows, so a statement
 * that has locked them sees how it ended. Each statement sees what is committed when it begins. */
static const struct db_statement lock_thread = {
    "commit_lock_thread", "SELECT 1 FROM threads WHERE project_id = $1 AND id = $2 FOR UPDATE"};
static const struct db_statement lock_lease = {
    "commit_lock_lease",
    "SELECT 1 FROM run_leases WHERE project_id = $1 AND run_id = $2 FOR UPDATE"};
/* While a run is being made, no other transaction sees a row that it could lock. But an insert
 * of the same row waits for that transaction, and succeeds only if it was rolled back. This
 * transaction is then rolled back as well. */
static const struct db_statement make_lease = {
    "commit_make_lease",
    "INSERT INTO run_leases (project_id, run_id, fence, lease_until, foreground, queued_at,"
    "  last_seq, state_seq) VALUES ($1, $2, 0, clock_timestamp(), false, 0, -1, -1)"
    " ON CONFLICT (project_id, run_id) DO NOTHING"};
static const struct db_statement begin = {"commit_begin", "BEGIN"};
static const struct db_statement rollback = {"commit_rollback", "ROLLBACK"};
static const struct db_statement look_at = {
    "commit_look_at",
    "SELECT CASE WHEN $4::bigint > 0 THEN EXISTS (SELECT 1 FROM run_leases"
    "  WHERE project_id = $1 AND run_id = $2 AND owner = $3 AND fence = $4)"
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
    db_arg_int(&args, proof->fence);
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
    /* Any other lease existed before. */
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
