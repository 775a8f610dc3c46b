/*
 * The store as a whole: opened, probed, away and back.
 *
 * One struct per server. It owns the threads' connections (pg/db.c), the writers (writer/) and
 * the thread for wake-ups (cluster/), and knows whether the database is there.
 *
 * Up or away is one flag for all threads. A call that misses its deadline clears it, and then
 * every other call fails at once. Only the keeper may set it again: it probes several times a
 * second, with a connection of its own. So an outage costs each client one quick 503 instead of
 * a wait, and a database that comes back meets one probing connection instead of every thread at
 * the same moment.
 *
 * Two kinds of failures are told apart. "Away": a connection was refused, and others may be
 * fine. "Silent": a statement had no answer in time. Then every connection of this process is
 * suspected, because one that hangs looks like one that is idle; `outages` is counted up, and
 * connections from before it are closed at their next use (pg/db.c).
 *
 * A pooler (PgBouncer and others) is detected once, at the start, because what it forbids is
 * decided for each connection: no prepared statements, no settings of the session.
 */

#include "core/store/store.h"

#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/store/cluster/wakeups.h"
#include "core/store/pg/db.h"
#include "core/store/pg/migrations.h"
#include "core/store/pg/state.h"

#define DEADLINE_DEFAULT 10.0
#define LEASE_DEFAULT    15.0
#define WRITERS_DEFAULT  2

static void thread_has_ended(void *db)
{
    db_free(db);
}

/* A server that stops in the middle of a transaction must not keep the rows that it has locked:
 * other nodes could not take over its runs. PostgreSQL counts this time only while it waits for
 * the next command of a session, and not inside a pipeline; store_stalled_end() covers that. */
static enum err_code limit_sleep(struct connection *connection, uint64_t deadline_ns,
                                 struct err *err)
{
    static const struct db_statement set = {
        NULL,
        "SELECT set_config('idle_in_transaction_session_timeout', $1::bigint || 's', false)"};
    AUTO_DB_ARGS args = {0};

    db_arg_int(&args, STORE_SLEEP_SECONDS);
    connection_queue(connection, &set, &args);
    return connection_run(connection, deadline_ns, NULL, NULL, err);
}

/* A pooler would carry the setting over to other clients. It has a limit of its own for that. */
static enum err_code prepare(const struct store *store, struct connection *connection,
                             uint64_t deadline_ns, struct err *err)
{
    if (!store->pooled)
        return limit_sleep(connection, deadline_ns, err);
    connection_set_pooled(connection);
    return ERR_OK;
}

/* Also finds out whether a pooler is in between, for all later connections. */
static enum err_code open_first_connection(struct store *store, struct err *err)
{
    struct db *db = db_of_thread(store);
    uint64_t deadline = clock_mono_ns() + store->deadline_ns;
    enum err_code rc;

    rc = connection_open(store->url, deadline, &db->connection, err);
    if (rc)
        return rc;
    rc = connection_detect_pooler(db->connection, deadline, &store->pooled, err);
    if (rc)
        return rc;
    return prepare(store, db->connection, deadline, err);
}

enum err_code store_open(const struct store_options *options, struct store **ret_store,
                         struct err *err)
{
    double lease_seconds = options->lease_seconds > 0 ? options->lease_seconds : LEASE_DEFAULT;
    struct store *store = mem_new(struct store);
    enum err_code rc;

    store->url = mem_strdup(options->url);
    store->direct_url = mem_strdup(options->direct_url ? options->direct_url : options->url);
    store->node_id = mem_strdup(options->node_id ? options->node_id : "");
    store->deadline_ns = clock_ns_from_seconds(
        options->deadline_seconds > 0 ? options->deadline_seconds : DEADLINE_DEFAULT);
    store->lease_us = (int64_t)(lease_seconds * (double)US_PER_SECOND);
    store->writer_count = options->writers ? options->writers : WRITERS_DEFAULT;
    atomic_store(&store->up, true);
    lock_init(&store->lock, LOCK_STORE_POOL);
    store->wakeups = wakeups_new(store);
    if (pthread_key_create(&store->thread_db, thread_has_ended) != 0)
        abort();

    rc = open_first_connection(store, err);
    if (rc) {
        store_free(store);
        return rc;
    }
    *ret_store = store;
    return ERR_OK;
}

void store_free(struct store *store)
{
    if (!store)
        return;

    /* First the key: a thread that ends from now on leaves its connection to this function. */
    pthread_key_delete(store->thread_db);
    while (store->dbs)
        db_free(store->dbs);
    wakeups_free(store->wakeups);
    lock_destroy(&store->lock);
    free(store->url);
    free(store->direct_url);
    free(store->node_id);
    free(store);
}

void store_thread_end(struct store *store)
{
    struct db *db = pthread_getspecific(store->thread_db);

    if (!db)
        return;
    pthread_setspecific(store->thread_db, NULL);
    db_free(db);
}

enum err_code store_connect(struct store *store, uint64_t deadline_ns,
                            struct connection **ret_connection, struct err *err)
{
    struct connection *connection;
    enum err_code rc = connection_open(store->url, deadline_ns, &connection, err);

    if (rc) {
        store_note_away(store);
        return rc;
    }
    rc = prepare(store, connection, deadline_ns, err);
    if (rc) {
        connection_free(connection);
        return rc;
    }
    *ret_connection = connection;
    return ERR_OK;
}

/* ---- Up and away ---- */

bool store_is_up(const struct store *store)
{
    return atomic_load(&store->up);
}

void store_note_away(struct store *store)
{
    atomic_store(&store->up, false);
}

/* Counted once for an outage: of the many threads that miss their deadlines together only the
 * first finds the flag set. */
void store_note_silent(struct store *store)
{
    if (atomic_exchange(&store->up, false))
        atomic_fetch_add(&store->outages, 1);
}

enum err_code store_probe(struct store *store, struct err *err)
{
    static const struct db_statement nothing = {NULL, "SELECT 1"};
    uint64_t deadline = clock_mono_ns() + store->deadline_ns;
    struct connection *connection;
    enum err_code rc;

    rc = store_connect(store, deadline, &connection, err);
    if (rc)
        return rc;
    /* A proxy may accept connections for a database that is gone, so a statement must be
     * answered too. */
    connection_queue(connection, &nothing, NULL);
    rc = connection_run(connection, deadline, NULL, NULL, err);
    connection_free(connection);
    if (rc)
        store_note_silent(store);
    else
        atomic_store(&store->up, true);
    return rc;
}

/* ---- Schema ---- */

enum err_code store_schema_check(struct store *store, struct err *err)
{
    static const struct db_statement ask = {
        "store_schema_check", "SELECT coalesce(max(version), 0) FROM schema_migrations"};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc;
    long version;

    rc = db_once(store, &ask, NULL, &rows, err);
    if (rc)
        return rc;

    version = (long)db_int(rows, 0, 0);
    /* A newer schema is refused as well: this program's statements may not fit it. */
    if (version != (long)migration_count)
        return err_set(
            err, ERR_STORE,
            "the database has schema %ld, this program needs %zu: run `runnel migrate`",
            version, migration_count);
    return ERR_OK;
}
