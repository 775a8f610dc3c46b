/*
 * libpq, used so that no call of this server ever waits longer than it may.
 *
 * The usual way, PQexec(), blocks in the C library. A server process that stands still keeps
 * such a call for ever: its kernel goes on to acknowledge packets, so neither keepalives nor
 * TCP_USER_TIMEOUT end it, and statement_timeout is a promise of the very process that does not
 * run. So the asynchronous half of libpq is driven with poll() and a moment of the monotonic
 * clock. When that has passed, the connection is broken: its answers may still arrive one day,
 * and then they would be taken for those of another statement.
 *
 * The path of a statement. connection_queue() puts it into libpq's pipeline, and its PREPARE
 * before it if this connection has not prepared it yet. connection_run() adds one Sync, then
 * sends and receives in turn until every queued command and the Sync have their answers. Both
 * directions are served at once, because a server that cannot get rid of its answers stops
 * reading: two full socket buffers would wait for each other.
 *
 * Errors. After the first error the server skips everything up to the Sync and rolls back what
 * stands in between. The skipped commands are answered as aborted, so there is still one answer
 * for each, and the connection stays usable. What was prepared before the error stays prepared,
 * also after the rollback; a PREPARE that was itself skipped is forgotten here and sent again.
 *
 * What must hold: the answers are counted. A result too many or too few means that this file and
 * the server do not agree where they are, and the connection is broken rather than read on.
 *
 * Decided against: statement_timeout instead of a deadline here. It would have to be set on
 * every connection, would leak to other clients behind a pooler, and does not help in the cases
 * above. And a Sync for each statement: a group commit would wait for a dozen round trips.
 */

#include "core/store/pg/connection.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"

/* More statements than the whole program has: each is a static struct, and is prepared once on a
 * connection. So the list needs no eviction. */
#define PREPARED_LIMIT 256

/* libpq's buffers grow with the largest message and never shrink. A thread that once read a
 * thread with long messages would keep that memory as long as it lives. A new connection costs
 * some milliseconds: little beside a message of this many bytes. */
#define SWOLLEN_FROM ((size_t)4 << 20)

enum queued_kind {
    QUEUED_PREPARE,
    QUEUED_STATEMENT,
};

struct queued {
    enum queued_kind kind;
    const struct db_statement *statement;
};

struct connection {
    PGconn *pg;
    bool broken;
    bool missed_deadline;
    bool stopped; /* by stop_fd */
    bool pooled;
    int stop_fd;       /* or -1 */
    size_t unanswered; /* bytes of parameters queued since the last Sync */
    size_t largest;    /* that, or a row that was received, at its largest */

    const struct db_statement *prepared[PREPARED_LIMIT];
    size_t prepared_count;

    /* Sent since the last Sync; answers come in this order. A statement may need two places. */
    struct queued queue[2 * CONNECTION_QUEUE_LIMIT];
    size_t queue_count;
    size_t statement_count;
};

/* ---- Waiting ---- */

static int ms_until(uint64_t deadline_ns)
{
    uint64_t now = clock_mono_ns();
    uint64_t ms;

    if (now >= deadline_ns)
        return 0;

    ms = (deadline_ns - now + NS_PER_MS - 1) / NS_PER_MS;
    return ms > 3600000 ? 3600000 : (int)ms;
}

/* False when the deadline has passed and nothing is ready, or when stop_fd is readable. Either
 * ends the use of this connection: a wait that was given up leaves a statement under way. */
static bool wait_socket(struct connection *connection, short events, uint64_t deadline_ns)
{
    struct pollfd watched[] = {{.fd = PQsocket(connection->pg), .events = events},
                               {.fd = connection->stop_fd, .events = POLLIN}};
    int ready;

    do {
        ready = poll(watched, COUNT_OF(watched), ms_until(deadline_ns));
    } while (ready < 0 && errno == EINTR);

    connection->missed_deadline = connection->missed_deadline || ready == 0;
    connection->stopped = connection->stopped || watched[1].revents;
    connection->broken = connection->broken || ready == 0 || connection->stopped;
    return ready != 0 && !connection->stopped;
}

/* Messages of libpq end in a newline and may have several lines. Only the first line is kept. */
static enum err_code fail_text(struct err *err, enum err_code code, const char *what,
                               const char *text)
{
    size_t length = strcspn(text, "\n");

    return err_set(err, code, "%s: %.*s", what, (int)length, text);
}

static enum err_code fail_broken(struct connection *connection, struct err *err)
{
    connection->broken = true;
    if (connection->stopped)
        return err_set(err, ERR_CANCELLED, "the wait for the database was cancelled");
    if (connection->missed_deadline)
        return err_set(err, ERR_STORE, "the database did not answer in time");
    return fail_text(err, ERR_STORE, "the database connection broke",
                     PQerrorMessage(connection->pg));
}

/* ---- Opening ---- */

static void take_notice(void *arg, const char *message)
{
    (void)arg;
    log_debug("database: %.*s", (int)strcspn(message, "\n"), message);
}

/* PQconnectPoll() says which direction it waits for. One thing escapes the deadline: libpq looks
 * up the name of the host itself, and that blocks while a name server is silent. An address or a
 * socket needs no look-up. */
static enum err_code finish_connecting(struct connection *connection, uint64_t deadline_ns,
                                       struct err *err)
{
    PostgresPollingStatusType wanted = PGRES_POLLING_WRITING;

    while (wanted != PGRES_POLLING_OK) {
        if (wanted == PGRES_POLLING_FAILED)
            return fail_text(err, ERR_STORE, "cannot reach the database",
                             PQerrorMessage(connection->pg));
        if (!wait_socket(connection, wanted == PGRES_POLLING_READING ? POLLIN : POLLOUT,
                         deadline_ns))
            return err_set(err, ERR_STORE, "the database did not accept a connection in time");
        wanted = PQconnectPoll(connection->pg);
    }
    return ERR_OK;
}

enum err_code connection_open(const char *url, uint64_t deadline_ns,
                              struct connection **ret_connection, struct err *err)
{
    /* A connection that only listens would never notice that its server has vanished, so the
     * kernel probes after 30 s of silence. Of duplicates the last counts, and the URL is
     * expanded where `dbname` stands: it may override the keepalives in front of it, and not the
     * encoding behind it, since every text here is UTF-8. */
    const char *const names[] = {"keepalives_idle",
                                 "keepalives_interval",
                                 "keepalives_count",
                                 "dbname",
                                 "fallback_application_name",
                                 "client_encoding",
                                 NULL};
    const char *const values[] = {"30", "10", "3", url, "runnel", "UTF8", NULL};
    struct connection *connection = mem_new(struct connection);
    enum err_code rc;

    connection->stop_fd = -1;
    connection->pg = PQconnectStartParams(names, values, 1);
    if (!connection->pg)
        abort();
    if (PQstatus(connection->pg) == CONNECTION_BAD) {
        rc = fail_text(err, ERR_STORE, "cannot reach the database",
                       PQerrorMessage(connection->pg));
        connection_free(connection);
        return rc;
    }
    PQsetNoticeProcessor(connection->pg, take_notice, NULL);
    rc = finish_connecting(connection, deadline_ns, err);
    if (rc) {
        connection_free(connection);
        return rc;
    }
    /* Otherwise a large parameter would block in send() while the server waits for its answers
     * to be read. */
    PQsetnonblocking(connection->pg, 1);
    *ret_connection = connection;
    return ERR_OK;
}

void connection_free(struct connection *connection)
{
    if (!connection)
        return;
    PQfinish(connection->pg);
    free(connection);
}

void connection_set_stop(struct connection *connection, int stop_fd)
{
    connection->stop_fd = stop_fd;
}

void connection_set_pooled(struct connection *connection)
{
    connection->pooled = true;
}

bool connection_usable(struct connection *connection)
{
    struct pollfd watched = {.fd = PQsocket(connection->pg), .events = POLLIN};

    /* On an idle connection there can only be a notice, or the last message before the server
     * closes it. */
    while (!connection->broken && poll(&watched, 1, 0) > 0) {
        if (!PQconsumeInput(connection->pg) || PQstatus(connection->pg) == CONNECTION_BAD)
            connection->broken = true;
    }
    return !connection->broken;
}

bool connection_is_broken(const struct connection *connection)
{
    return connection->broken;
}

bool connection_is_swollen(const struct connection *connection)
{
    return connection->largest >= SWOLLEN_FROM;
}

bool connection_missed_deadline(const struct connection *connection)
{
    return connection->missed_deadline;
}

/* ---- What the server says unasked ---- */

int connection_socket(const struct connection *connection)
{
    return PQsocket(connection->pg);
}

char *connection_take_notice(struct connection *connection)
{
    PGnotify *notify;
    char *payload = NULL;

    while (!payload && (notify = PQnotifies(connection->pg))) {
        if (notify->be_pid != PQbackendPID(connection->pg))
            payload = mem_strdup(notify->extra);
        PQfreemem(notify);
    }
    return payload;
}

/* ---- Sending ---- */

/* A linear search by address. A connection has seldom prepared more than some dozens, and
 * comparing pointers is nothing beside the round trip that follows. */
static bool is_prepared(const struct connection *connection,
                        const struct db_statement *statement)
{
    for (size_t i = 0; i < connection->prepared_count; i++) {
        if (connection->prepared[i] == statement)
            return true;
    }
    return false;
}

static void enqueue(struct connection *connection, enum queued_kind kind,
                    const struct db_statement *statement)
{
    assert(connection->queue_count < COUNT_OF(connection->queue));
    connection->queue[connection->queue_count++] =
        (struct queued){.kind = kind, .statement = statement};
}

static void note_size(struct connection *connection, size_t size)
{
    if (size > connection->largest)
        connection->largest = size;
}

/* Parameters stay in libpq's output buffer until they are sent, those of all queued statements
 * together. So what counts is their sum since the last Sync. */
static void note_args(struct connection *connection, const struct db_args *args)
{
    for (int i = 0; i < args->count; i++) {
        if (args->values[i])
            connection->unanswered +=
                args->formats[i] ? (size_t)args->lengths[i] : strlen(args->values[i]);
    }
    note_size(connection, connection->unanswered);
}

/* libpq buffers one row at a time, as it was received. */
static void note_result(struct connection *connection, const PGresult *result)
{
    int rows = PQntuples(result);

    note_size(connection, PQresultMemorySize(result) / (size_t)(rows > 0 ? rows : 1));
}

/* A failure to send is reported when the answers are read: the connection is broken then. */
static void send_unnamed(struct connection *connection, const struct db_statement *statement,
                         const struct db_args *args)
{
    if (!PQsendQueryParams(connection->pg, statement->sql, args->count, NULL, args->values,
                           args->lengths, args->formats, 0))
        connection->broken = true;
}

/* The statement counts as prepared as soon as the PREPARE is queued: both travel in one
 * pipeline, and the server executes them in order. take_answers() forgets it again if the
 * PREPARE failed. */
static void send_prepared(struct connection *connection, const struct db_statement *statement,
                          const struct db_args *args)
{
    if (!is_prepared(connection, statement)) {
        assert(connection->prepared_count < PREPARED_LIMIT);
        enqueue(connection, QUEUED_PREPARE, statement);
        if (!PQsendPrepare(connection->pg, statement->name, statement->sql, 0, NULL))
            connection->broken = true;
        connection->prepared[connection->prepared_count++] = statement;
    }
    if (!PQsendQueryPrepared(connection->pg, statement->name, args->count, args->values,
                             args->lengths, args->formats, 0))
        connection->broken = true;
}

void connection_queue(struct connection *connection, const struct db_statement *statement,
                      const struct db_args *args)
{
    static const struct db_args no_args;

    if (connection->broken)
        return;
    assert(connection->statement_count < CONNECTION_QUEUE_LIMIT);
    if (PQpipelineStatus(connection->pg) == PQ_PIPELINE_OFF &&
        !PQenterPipelineMode(connection->pg)) {
        connection->broken = true;
        return;
    }
    if (!args)
        args = &no_args;
    note_args(connection, args);
    if (connection->pooled || !statement->name)
        send_unnamed(connection, statement, args);
    else
        send_prepared(connection, statement, args);
    enqueue(connection, QUEUED_STATEMENT, statement);
    connection->statement_count++;
}

/* ---- Answers ---- */

static bool state_is(const char *state, const char *wanted)
{
    return strncmp(state, wanted, strlen(wanted)) == 0;
}

/* SQLSTATE prefixes that say that the database, and not the statement, is the problem: the
 * caller gets ERR_STORE and may try again. Everything else is a mistake of this server.
 *
 *   08, 57        the connection or the server goes away: a shutdown, a failover
 *   53, 58        it is full (connections, memory, disk), or its system failed
 *   25006         it has become a replica and refuses to write
 *   40            a deadlock or a serialization failure: the session itself is fine
 *   0A000, 26000  of a prepared statement: the schema was migrated, or a pooler is in between
 *
 * Of these only class 40 leaves the connection in use. A new one may reach the new primary, and
 * prepares its statements again. */
static bool is_outage(const char *state)
{
    static const char *const states[] = {"08",    "53", "57",    "58",
                                         "25006", "40", "0A000", "26000"};

    for (size_t i = 0; i < COUNT_OF(states); i++) {
        if (state_is(state, states[i]))
            return true;
    }
    return false;
}

static enum err_code fail_sql(struct connection *connection,
                              const struct db_statement *statement, const PGresult *result,
                              struct err *err)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char *constraint = PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME);
    const char *name = statement->name ? statement->name : "statement";

    /* libpq makes errors of its own, without a SQLSTATE, when the connection is lost. */
    if (!state || !text)
        return fail_broken(connection, err);
    if (state_is(state, "23505"))
        return err_refuse(err, ERR_CONFLICT, REASON_UNSET, constraint, "%s: %s", name, text);
    if (!is_outage(state))
        return err_set(err, ERR_INTERNAL, "%s: %s (SQLSTATE %s)", name, text, state);
    if (!state_is(state, "40"))
        connection->broken = true;
    fail_text(err, ERR_STORE, "the database refused", text);
    if (err && state_is(state, "53100"))
        err->reason = REASON_STORAGE_FULL;
    return ERR_STORE;
}

/* Sends what the socket takes and reads what has come. While something is unsent it waits for
 * either direction, so that a server which stopped reading because its answers are not read gets
 * going again. */
static bool flush_and_wait(struct connection *connection, uint64_t deadline_ns)
{
    int unsent = PQflush(connection->pg);

    if (unsent < 0 ||
        !wait_socket(connection, (short)(POLLIN | (unsent ? POLLOUT : 0)), deadline_ns))
        return false;
    return PQconsumeInput(connection->pg);
}

/* The next result. NULL at the end of a statement's results, or when the connection broke. */
static PGresult *next_result(struct connection *connection, uint64_t deadline_ns)
{
    if (PQflush(connection->pg) < 0)
        connection->broken = true;
    while (!connection->broken && PQisBusy(connection->pg)) {
        if (!flush_and_wait(connection, deadline_ns))
            connection->broken = true;
    }
    return connection->broken ? NULL : PQgetResult(connection->pg);
}

static bool is_success(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);

    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

/* Takes the result of one queued command; NULL when the connection broke. */
static PGresult *take_answer(struct connection *connection, uint64_t deadline_ns)
{
    PGresult *result = next_result(connection, deadline_ns);
    PGresult *end;

    if (!result)
        return NULL;
    end = next_result(connection, deadline_ns);
    if (connection->broken || end) {
        connection->broken = true;
        PQclear(end);
        PQclear(result);
        return NULL;
    }
    return result;
}

static void forget_prepared(struct connection *connection, const struct db_statement *statement)
{
    for (size_t i = 0; i < connection->prepared_count; i++) {
        if (connection->prepared[i] == statement) {
            connection->prepared[i] = connection->prepared[--connection->prepared_count];
            return;
        }
    }
}

static void take_sync(struct connection *connection, uint64_t deadline_ns)
{
    PGresult *result = next_result(connection, deadline_ns);

    if (PQresultStatus(result) != PGRES_PIPELINE_SYNC)
        connection->broken = true;
    PQclear(result);
}

/* One answer per queued command, then that of the Sync. */
static enum err_code take_answers(struct connection *connection, uint64_t deadline_ns,
                                  PGresult **results, size_t *ret_failed, struct err *err)
{
    enum err_code rc = ERR_OK;
    size_t taken = 0;

    for (size_t i = 0; i < connection->queue_count; i++) {
        const struct queued *queued = &connection->queue[i];
        PGresult *result = take_answer(connection, deadline_ns);

        if (!result)
            return fail_broken(connection, err);
        if (queued->kind == QUEUED_PREPARE && !is_success(result))
            forget_prepared(connection, queued->statement);
        /* Only the first error counts: everything after it up to the Sync is answered as
         * aborted. */
        if (!rc && !is_success(result)) {
            rc = fail_sql(connection, queued->statement, result, err);
            if (ret_failed)
                *ret_failed = taken;
            if (connection->broken) {
                PQclear(result);
                return rc;
            }
        }
        note_result(connection, result);
        if (queued->kind == QUEUED_STATEMENT)
            results[taken++] = result;
        else
            PQclear(result);
    }
    take_sync(connection, deadline_ns);
    if (!rc && connection->broken)
        return fail_broken(connection, err);
    return rc;
}

enum err_code connection_run(struct connection *connection, uint64_t deadline_ns,
                             PGresult **ret_results, size_t *ret_failed, struct err *err)
{
    PGresult *results[CONNECTION_QUEUE_LIMIT] = {0};
    size_t count = connection->statement_count;
    enum err_code rc;

    if (!connection->broken && !PQpipelineSync(connection->pg))
        connection->broken = true;
    if (connection->broken)
        rc = fail_broken(connection, err);
    else
        rc = take_answers(connection, deadline_ns, results, ret_failed, err);
    connection->queue_count = 0;
    connection->statement_count = 0;
    connection->unanswered = 0;
    for (size_t i = 0; i < count; i++) {
        if (!rc && ret_results)
            ret_results[i] = results[i];
        else
            PQclear(results[i]);
    }
    return rc;
}

enum err_code connection_detect_pooler(struct connection *connection, uint64_t deadline_ns,
                                       bool *ret_pooled, struct err *err)
{
    /* Unnamed, because the question is whether names are allowed. */
    static const struct db_statement ask = {NULL, "SELECT pg_backend_pid()"};
    PGresult *result;
    enum err_code rc;

    connection_queue(connection, &ask, NULL);
    rc = connection_run(connection, deadline_ns, &result, NULL, err);
    if (rc)
        return rc;
    *ret_pooled = strtol(PQgetvalue(result, 0, 0), NULL, 10) != PQbackendPID(connection->pg);
    PQclear(result);
    return ERR_OK;
}

enum err_code connection_script(struct connection *connection, const char *sql,
                                uint64_t deadline_ns, struct err *err)
{
    struct db_statement script = {"migration", sql};
    enum err_code rc = ERR_OK;
    PGresult *result;

    if (PQpipelineStatus(connection->pg) != PQ_PIPELINE_OFF)
        PQexitPipelineMode(connection->pg);
    if (!PQsendQuery(connection->pg, sql))
        return fail_broken(connection, err);
    while ((result = next_result(connection, deadline_ns))) {
        if (!rc && !is_success(result))
            rc = fail_sql(connection, &script, result, err);
        PQclear(result);
    }
    if (!rc && connection->broken)
        rc = fail_broken(connection, err);
    return rc;
}
