/*
 * A transaction of one thread, on the thread's own connection.
 *
 * A function of tables/ begins, executes statements, commits and ends. Between db_begin() and
 * db_end() the connection is that transaction's alone. It stays with the thread afterwards, with
 * everything that it has prepared, until the thread ends (pthread's key) or the store is freed.
 *
 * Round trips. BEGIN is not sent by db_begin(), but travels with the first statement. A
 * transaction that executes nothing costs none. A single statement needs neither BEGIN nor
 * COMMIT: what stands between two Syncs is a transaction (db_once()). So the cheapest function
 * costs one round trip, and one of n statements n + 1.
 *
 * Isolation is PostgreSQL's default, READ COMMITTED: each statement sees what was committed when
 * that statement began. The functions of tables/ count on it in one way everywhere: first a
 * statement that locks the row, then another one that reads. The first may have waited for
 * another transaction, and only the second is sure to see what that one did. One statement that
 * does both would see all rows but the locked one as they were before its wait. SERIALIZABLE was
 * rejected: every function would need a loop for transactions that fail for no fault of theirs,
 * and the locks make the order visible in the code.
 *
 * When something fails, the transaction can only be rolled back; db_end() does that on every way
 * out. When the connection is broken there is nothing to roll back here: the server rolls back
 * what it has not committed when it notices. Only after a lost answer to COMMIT is the outcome
 * unknown (pg/commit.h).
 *
 * Away. A missed deadline marks the whole store as away (state.h). From then on every call fails
 * at once instead of letting each thread wait for a full deadline of its own: a server whose
 * database hangs would otherwise fill all its HTTP workers with waiting requests. The keeper's
 * probe ends that.
 *
 * After the commit. Hints to other nodes (db_wake()) and work in a transaction of its own
 * (db_after_commit()) are noted during the transaction and done when it is committed. Done
 * earlier, another node would look before there is something to see; and what was rolled back is
 * never announced.
 *
 * Decided against: a pool of connections. The threads that call are few and fixed (HTTP workers,
 * keeper, tool workers, log reader), so a connection for each needs no queue, no limit of its
 * own and no lock, and stays warm with its statements.
 */

#include "core/store/pg/db.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/store/pg/batch.h"
#include "core/store/pg/state.h"

/* ---- Parameters ---- */

enum {
    FORMAT_TEXT,
    FORMAT_BINARY,
};

/* The parameters are libpq's three parallel arrays, filled in place. Numbers are printed into
 * the struct itself, so most statements allocate nothing for their parameters. */
static int add_arg(struct db_args *args, const char *value, size_t length, int format)
{
    int i = args->count++;

    assert(i < DB_ARGS_LIMIT && length < INT32_MAX);
    args->values[i] = value;
    args->lengths[i] = (int)length;
    args->formats[i] = format;
    return i;
}

void db_arg_text(struct db_args *args, const char *text)
{
    add_arg(args, text, 0, FORMAT_TEXT);
}

/* An empty project would match no row and so hide the mistake; it ends the program instead. */
void db_arg_tenant(struct db_args *args, const struct tenant *tenant)
{
    assert(*tenant->project);
    db_arg_text(args, tenant->project);
}

void db_arg_id(struct db_args *args, const char *id)
{
    db_arg_text(args, id[0] ? id : NULL);
}

void db_arg_int(struct db_args *args, int64_t number)
{
    int i = add_arg(args, NULL, 0, FORMAT_TEXT);

    snprintf(args->numbers[i], sizeof(args->numbers[i]), "%lld", (long long)number);
    args->values[i] = args->numbers[i];
}

void db_arg_time(struct db_args *args, int64_t microseconds)
{
    if (microseconds)
        db_arg_int(args, microseconds);
    else
        db_arg_text(args, NULL);
}

void db_arg_bool(struct db_args *args, bool value)
{
    db_arg_text(args, value ? "t" : "f");
}

/* bytea goes as binary: as text each byte would take two digits. libpq takes NULL for SQL NULL,
 * so no bytes are the empty string. */
void db_arg_bytes(struct db_args *args, const void *bytes, size_t size)
{
    add_arg(args, size ? bytes : "", size, FORMAT_BINARY);
}

void db_arg_bytes_owned(struct db_args *args, char *bytes, size_t size)
{
    int i = add_arg(args, bytes, size, FORMAT_BINARY);

    args->owned[i] = bytes;
}

void db_arg_texts(struct db_args *args, const char *const *list, size_t count)
{
    AUTO_BATCH batch = {0};

    if (count == 0) {
        db_arg_text(args, "{}");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        batch_begin(&batch);
        batch_text(&batch, list[i]);
    }
    batch_finish(&batch, args);
}

void db_arg_ints(struct db_args *args, const int64_t *list, size_t count)
{
    AUTO_BATCH batch = {0};

    if (count == 0) {
        db_arg_text(args, "{}");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        batch_begin(&batch);
        batch_int(&batch, list[i]);
    }
    batch_finish(&batch, args);
}

void db_args_clear(struct db_args *args)
{
    for (int i = 0; i < args->count; i++) {
        free(args->owned[i]);
        args->owned[i] = NULL;
    }
    args->count = 0;
}

/* ---- The thread's connection ---- */

/* The list store->dbs exists for store_free() only: it closes the connections of threads that
 * still run, or whose destructor was not called. */
struct db *db_of_thread(struct store *store)
{
    struct db *db = pthread_getspecific(store->thread_db);

    if (db)
        return db;

    db = mem_new(struct db);
    db->store = store;
    lock_acquire(&store->lock);
    db->next = store->dbs;
    db->link = &store->dbs;
    if (db->next)
        db->next->link = &db->next;
    store->dbs = db;
    lock_release(&store->lock);
    pthread_setspecific(store->thread_db, db);
    return db;
}

void db_free(struct db *db)
{
    struct store *store = db->store;

    lock_acquire(&store->lock);
    *db->link = db->next;
    if (db->next)
        db->next->link = db->link;
    lock_release(&store->lock);
    connection_free(db->connection);
    free(db);
}

static void drop_connection(struct db *db)
{
    connection_free(db->connection);
    db->connection = NULL;
}

/* At the end of a call. */
static void release_connection(struct db *db)
{
    if (db->connection && connection_is_swollen(db->connection))
        drop_connection(db);
}

/* After a failed statement: the transaction cannot go on, and the connection may be unusable. */
static enum err_code note_failure(struct db *db, enum err_code rc)
{
    db->failed = true;
    if (connection_missed_deadline(db->connection))
        store_note_silent(db->store);
    if (connection_is_broken(db->connection))
        drop_connection(db);
    return rc;
}

/* A connection from before the last outage is not tried, whichever thread had missed its
 * deadline: it may be as dead. Otherwise each thread would wait for its own deadline once more
 * after the database is back. The counter is read before connecting, so that an outage meanwhile
 * counts against the new connection. */
static enum err_code ensure_connection(struct db *db, struct err *err)
{
    unsigned outages = atomic_load(&db->store->outages);

    if (db->connection && (db->outage != outages || !connection_usable(db->connection)))
        drop_connection(db);
    if (db->connection)
        return ERR_OK;

    db->outage = outages;
    return store_connect(db->store, db->deadline_ns, &db->connection, err);
}

/* Begins a call: the connection is open, and nothing is under way on it. */
static enum err_code prepare_call(struct store *store, struct db **ret_db, struct err *err)
{
    struct db *db;
    enum err_code rc;

    if (FAULT("store.begin"))
        return err_set(err, ERR_STORE, "the database is away (fault)");
    if (!store_is_up(store))
        return err_set(err, ERR_STORE, "the database is away");

    db = db_of_thread(store);
    assert(!db->begun);
    db->failed = false;
    db->deadline_ns = clock_mono_ns() + store->deadline_ns;
    rc = ensure_connection(db, err);
    if (rc)
        return rc;

    *ret_db = db;
    return ERR_OK;
}

/* ---- Transactions ---- */

static const struct db_statement begin_statement = {"begin", "BEGIN"};
static const struct db_statement commit_statement = {"commit", "COMMIT"};
static const struct db_statement rollback_statement = {"rollback", "ROLLBACK"};

/* BEGIN is sent together with the first statement. */
enum err_code db_begin(struct store *store, struct db **ret_db, struct err *err)
{
    struct db *db;
    enum err_code rc = prepare_call(store, &db, err);

    if (rc)
        return rc;
    db->begun = true;
    db->sent = false;
    *ret_db = db;
    return ERR_OK;
}

void db_allow_time(struct db *db)
{
    db->deadline_ns = clock_mono_ns() + db->store->deadline_ns;
}

static enum err_code run_one(struct db *db, const struct db_statement *statement,
                             struct db_args *args, PGresult **ret_result, struct err *err)
{
    PGresult *results[2];
    size_t count = 0;
    enum err_code rc;

    if (db->begun && !db->sent) {
        connection_queue(db->connection, &begin_statement, NULL);
        db->sent = true;
        count++;
    }
    connection_queue(db->connection, statement, args);
    rc = connection_run(db->connection, db->deadline_ns, results, NULL, err);
    if (rc)
        return note_failure(db, rc);
    if (count)
        PQclear(results[0]);
    *ret_result = results[count];
    return ERR_OK;
}

void db_wake(struct db *db, enum wakeup_kind kind, const char *run_id)
{
    struct wakeup *wake;

    assert(db->begun);
    db->wakes = mem_resize(db->wakes, db->wake_count + 1, sizeof(*db->wakes));
    wake = &db->wakes[db->wake_count++];
    *wake = (struct wakeup){.kind = kind};
    (void)snprintf(wake->run_id, sizeof(wake->run_id), "%s", run_id ? run_id : "");
}

static void forget_wakes(struct db *db)
{
    free(TAKE(db->wakes));
    db->wake_count = 0;
}

void db_after_commit(struct db *db, void (*run)(struct store *store, void *arg), void *arg)
{
    assert(db->begun && !db->after);
    db->after = run;
    db->after_arg = arg;
}

/* The callback may begin a transaction of its own, so everything about this one is cleared
 * before. */
static void do_after(struct db *db)
{
    void (*after)(struct store * store, void *arg) = db->committed ? db->after : NULL;
    AUTO_FREE void *arg = TAKE(db->after_arg);

    db->after = NULL;
    db->committed = false;
    if (after)
        after(db->store, arg);
}

void db_note_committed(struct db *db)
{
    db->committed = true;
    for (size_t i = 0; i < db->wake_count; i++)
        store_wake_all(db->store, db->wakes[i].kind, db->wakes[i].run_id);
    forget_wakes(db);
}

/* For faults: COMMIT was sent, and may take effect after the connection is closed. That is the
 * case which pg/commit.c must resolve, and which a test cannot hit by closing sockets at the
 * right moment. */
static enum err_code commit_and_break(struct db *db, struct err *err)
{
    connection_queue(db->connection, &commit_statement, NULL);
    if (connection_run(db->connection, clock_mono_ns() + 100 * NS_PER_MS, NULL, NULL, NULL))
        log_debug("a COMMIT is left under way (fault)");
    drop_connection(db);
    return err_set(err, ERR_STORE, "the database connection broke at COMMIT (fault)");
}

enum err_code db_commit(struct db *db, struct err *err)
{
    PGresult *result;
    enum err_code rc;

    assert(db->begun);
    if (db->failed)
        return err_set(err, ERR_STORE, "the transaction has already failed");
    if (FAULT("store.commit")) {
        drop_connection(db);
        return err_set(err, ERR_STORE, "the database connection broke (fault)");
    }
    if (db->sent && FAULT("store.commit_under_way"))
        return commit_and_break(db, err);
    if (db->sent) {
        rc = run_one(db, &commit_statement, NULL, &result, err);
        if (rc)
            return rc;
        PQclear(result);
    }
    db->sent = false;
    /* The other half of the doubt: it is committed, and the caller is not to know. */
    if (FAULT("store.commit_unanswered")) {
        drop_connection(db);
        return err_set(err, ERR_STORE, "the database connection broke at COMMIT (fault)");
    }
    db_note_committed(db);
    return ERR_OK;
}

/* ROLLBACK uses up what is left of the call's deadline. If that fails too the connection is
 * dropped (note_failure()), which rolls back as well. */
void db_end(struct db *db)
{
    PGresult *result;

    if (!db)
        return;
    if (db->sent && db->connection && !run_one(db, &rollback_statement, NULL, &result, NULL))
        PQclear(result);
    db->begun = false;
    db->sent = false;
    forget_wakes(db);
    release_connection(db);
    do_after(db);
}

/* ---- Statements ---- */

struct db_rows {
    PGresult *result;
};

static enum err_code exec(struct db *db, const struct db_statement *statement,
                          struct db_args *args, struct db_rows **ret_rows, struct err *err)
{
    PGresult *result;
    enum err_code rc;

    if (FAULT("store.exec") || (statement->name && FAULT(statement->name))) {
        db->failed = true;
        drop_connection(db);
        return err_set(err, ERR_STORE, "the database connection broke (fault)");
    }
    rc = run_one(db, statement, args, &result, err);
    if (rc)
        return rc;
    if (ret_rows) {
        *ret_rows = mem_new(struct db_rows);
        (*ret_rows)->result = result;
    } else {
        PQclear(result);
    }
    return ERR_OK;
}

enum err_code db_exec(struct db *db, const struct db_statement *statement, struct db_args *args,
                      struct db_rows **ret_rows, struct err *err)
{
    assert(db->begun);
    if (db->failed)
        return err_set(err, ERR_STORE, "the transaction has already failed");
    return exec(db, statement, args, ret_rows, err);
}

/* Not begun, so run_one() sends no BEGIN, and the Sync behind the statement commits it. */
enum err_code db_once(struct store *store, const struct db_statement *statement,
                      struct db_args *args, struct db_rows **ret_rows, struct err *err)
{
    struct db *db;
    enum err_code rc = prepare_call(store, &db, err);

    if (rc)
        return rc;
    rc = exec(db, statement, args, ret_rows, err);
    release_connection(db);
    return rc;
}

enum err_code db_once_by_id(struct store *store, const struct db_statement *statement,
                            const struct tenant *tenant, const char *id,
                            struct db_rows **ret_rows, struct err *err)
{
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    return db_once(store, statement, &args, ret_rows, err);
}

enum err_code db_find_by_id(struct store *store, const struct db_statement *statement,
                            const struct tenant *tenant, const char *id,
                            enum err_code (*not_found)(const char *id, struct err *err),
                            struct db_rows **ret_rows, struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = db_once_by_id(store, statement, tenant, id, &rows, err);

    if (rc)
        return rc;
    if (db_changed(rows) == 0)
        return not_found(id, err);
    if (ret_rows)
        *ret_rows = TAKE(rows);
    return ERR_OK;
}

/* ---- Rows ---- */

size_t db_count(const struct db_rows *rows)
{
    return (size_t)PQntuples(rows->result);
}

bool db_is_null(const struct db_rows *rows, size_t row, int column)
{
    return PQgetisnull(rows->result, (int)row, column);
}

const char *db_text(const struct db_rows *rows, size_t row, int column)
{
    assert(column < PQnfields(rows->result));
    return PQgetvalue(rows->result, (int)row, column);
}

char *db_copy(const struct db_rows *rows, size_t row, int column)
{
    if (db_is_null(rows, row, column))
        return NULL;
    return mem_strndup(db_text(rows, row, column),
                       (size_t)PQgetlength(rows->result, (int)row, column));
}

void db_id(const struct db_rows *rows, size_t row, int column, char *ret_id, size_t size)
{
    const char *text = db_text(rows, row, column);
    size_t length = strlen(text);

    assert(length < size);
    memcpy(ret_id, text, length + 1);
}

int64_t db_int(const struct db_rows *rows, size_t row, int column)
{
    return strtoll(db_text(rows, row, column), NULL, 10);
}

bool db_bool(const struct db_rows *rows, size_t row, int column)
{
    return db_text(rows, row, column)[0] == 't';
}

char *db_bytes(const struct db_rows *rows, size_t row, int column, size_t *ret_size)
{
    const char *text = db_text(rows, row, column);
    unsigned char *decoded = PQunescapeBytea((const unsigned char *)text, ret_size);
    char *bytes;

    if (!decoded)
        abort();
    bytes = mem_strndup((const char *)decoded, *ret_size);
    PQfreemem(decoded);
    return bytes;
}

size_t db_changed(const struct db_rows *rows)
{
    return strtoul(PQcmdTuples(rows->result), NULL, 10);
}

void db_rows_free(struct db_rows *rows)
{
    if (!rows)
        return;
    PQclear(rows->result);
    free(rows);
}
