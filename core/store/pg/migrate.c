#include <nettle/base16.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/sha256.h"
#include "core/store/pg/connection.h"
#include "core/store/pg/migrations.h"
#include "core/store/store.h"

/*
 * migrate.c -- brings a database to the schema that this program knows.
 *
 * Several servers may start at once. Each takes the advisory lock inside its transaction (a lock
 * of the session would get lost in a pooler), looks what is missing, and applies the next one
 * file; so a waiting server finds the work done.
 *
 * Before the first release the schema was made in nineteen other steps. The files of today are the
 * same schema, sorted by topic. A database with all of the old steps gets the rows of today's files
 * instead of its own, and nothing else changes in it. One that lacks a step would need the old
 * files, which are gone; so it is refused.
 */

/* An index on a large table takes long to create, and so does waiting for another server that
 * does. */
#define MIGRATION_SECONDS 1800

#define CHECKSUM_SIZE (BASE16_ENCODE_LENGTH(SHA256_DIGEST_SIZE) + 1)

/* The first of the old steps, all of them, and the files of today that they amount to. */
#define OLD_FIRST "800d5b481cd22e8b8f6e3a7a3409e0a40b05ab0f0ef8e33617867172db3483ba"
#define OLD_ALL \
    "2c38095e32883d10dabed70405e0170383d4b0703dc9f75c124a11495bbfa16f" /* of their checksums */
#define OLD_LAST_NAME "0019_extra_content"
#define OLD_BECAME    8

static const char lock_sql[] = "BEGIN;"
                               "SELECT pg_advisory_xact_lock(7310311890118);"
                               "CREATE TABLE IF NOT EXISTS schema_migrations ("
                               "    version integer PRIMARY KEY,"
                               "    name text NOT NULL,"
                               "    checksum text NOT NULL,"
                               "    applied_at bigint NOT NULL);";

static void checksum(const char *sql, char ret_text[CHECKSUM_SIZE])
{
    uint8_t hash[SHA256_DIGEST_SIZE];

    sha256_text(sql, hash);
    base16_encode_update(ret_text, sizeof(hash), hash);
    ret_text[CHECKSUM_SIZE - 1] = '\0';
}

/* The migrations that were applied; the caller clears the result. */
static enum err_code read_applied(struct connection *connection, uint64_t deadline_ns,
                                  PGresult **ret_applied, struct err *err)
{
    static const struct db_statement read = {
        NULL, "SELECT version, name, checksum FROM schema_migrations ORDER BY version"};

    connection_queue(connection, &read, NULL);
    return connection_run(connection, deadline_ns, ret_applied, NULL, err);
}

static enum err_code check_one(const PGresult *applied, int row, struct err *err)
{
    int version = (int)strtol(PQgetvalue(applied, row, 0), NULL, 10);
    char expected[CHECKSUM_SIZE];

    if ((size_t)version > migration_count)
        return err_set(err, ERR_STORE,
                       "the database has schema %s, this program knows %zu: it is newer",
                       PQgetvalue(applied, PQntuples(applied) - 1, 0), migration_count);
    if (version != row + 1)
        return err_set(err, ERR_STORE, "the database lacks migration %d but has %d", row + 1,
                       version);
    checksum(migrations[row].sql, expected);
    if (strcmp(PQgetvalue(applied, row, 2), expected) != 0)
        return err_set(err, ERR_STORE,
                       "migration %s was applied to this database in another version",
                       migrations[row].name);
    return ERR_OK;
}

static enum err_code check_applied(const PGresult *applied, struct err *err)
{
    enum err_code rc = ERR_OK;

    for (int row = 0; !rc && row < PQntuples(applied); row++)
        rc = check_one(applied, row, err);
    return rc;
}

static enum err_code note_applied(struct connection *connection, uint64_t deadline_ns,
                                  const struct migration *migration, struct err *err)
{
    static const struct db_statement note = {
        NULL, "INSERT INTO schema_migrations VALUES ($1, $2, $3, $4)"};
    char sum[CHECKSUM_SIZE];
    AUTO_DB_ARGS args = {0};

    checksum(migration->sql, sum);
    db_arg_int(&args, migration->version);
    db_arg_text(&args, migration->name);
    db_arg_text(&args, sum);
    db_arg_int(&args, clock_wall_us());
    connection_queue(connection, &note, &args);
    return connection_run(connection, deadline_ns, NULL, NULL, err);
}

static bool has_old_steps(const PGresult *applied)
{
    return PQntuples(applied) > 0 && strcmp(PQgetvalue(applied, 0, 2), OLD_FIRST) == 0;
}

static bool has_all_old_steps(const PGresult *applied)
{
    AUTO_BUF sums = {0};
    char sum[CHECKSUM_SIZE];

    for (int row = 0; row < PQntuples(applied); row++)
        buf_add_text(&sums, PQgetvalue(applied, row, 2));
    checksum(sums.data, sum);
    return strcmp(sum, OLD_ALL) == 0;
}

/* Inside a transaction with the lock: the schema stays, its rows become those of today's files. */
static enum err_code replace_old_steps(struct connection *connection, uint64_t deadline_ns,
                                       const PGresult *applied, struct err *err)
{
    enum err_code rc;

    if (!has_all_old_steps(applied))
        return err_set(
            err, ERR_STORE,
            "the database was made before the first release and stops at migration %s: "
            "run `runnel migrate` of a build that has " OLD_LAST_NAME ", then this one",
            PQgetvalue(applied, PQntuples(applied) - 1, 1));
    rc = connection_script(connection, "DELETE FROM schema_migrations", deadline_ns, err);
    for (size_t i = 0; !rc && i < OLD_BECAME; i++)
        rc = note_applied(connection, deadline_ns, &migrations[i], err);
    if (rc)
        return rc;
    log_info("database: its migrations from before the first release are recorded as this "
             "program's");
    return ERR_OK;
}

/* Inside a transaction with the lock: applies the next migration, if there is one. */
static enum err_code apply_next(struct connection *connection, uint64_t deadline_ns,
                                size_t *ret_applied, struct err *err)
{
    const struct migration *next;
    PGresult *applied;
    enum err_code rc;

    rc = read_applied(connection, deadline_ns, &applied, err);
    if (rc)
        return rc;
    if (has_old_steps(applied)) {
        rc = replace_old_steps(connection, deadline_ns, applied, err);
        PQclear(applied);
        *ret_applied = OLD_BECAME;
        return rc;
    }
    *ret_applied = (size_t)PQntuples(applied);
    rc = check_applied(applied, err);
    PQclear(applied);
    if (rc || *ret_applied >= migration_count)
        return rc;

    next = &migrations[*ret_applied];
    rc = connection_script(connection, next->sql, deadline_ns, err);
    if (rc)
        return rc;
    rc = note_applied(connection, deadline_ns, next, err);
    if (rc)
        return rc;
    log_info("database: applied migration %s", next->name);
    ++*ret_applied;
    return ERR_OK;
}

/* After a failure the transaction ends with its connection. */
static enum err_code step(struct connection *connection, uint64_t deadline_ns,
                          size_t *ret_applied, struct err *err)
{
    enum err_code rc;

    rc = connection_script(connection, lock_sql, deadline_ns, err);
    if (rc)
        return rc;
    rc = apply_next(connection, deadline_ns, ret_applied, err);
    if (rc)
        return rc;
    return connection_script(connection, "COMMIT", deadline_ns, err);
}

/* One round trip for the usual case. False when in doubt, also when the table is missing. */
static bool is_current(struct connection *connection, uint64_t deadline_ns)
{
    PGresult *applied;
    bool current;

    if (read_applied(connection, deadline_ns, &applied, NULL))
        return false;
    current = (size_t)PQntuples(applied) == migration_count && !check_applied(applied, NULL);
    PQclear(applied);
    return current;
}

enum err_code store_migrate(const char *direct_url, int stop_fd, struct err *err)
{
    uint64_t deadline = clock_mono_ns() + MIGRATION_SECONDS * NS_PER_SECOND;
    uint64_t connect_deadline = clock_mono_ns() + 10 * NS_PER_SECOND;
    struct connection *connection;
    size_t applied = 0;
    enum err_code rc;

    rc = connection_open(direct_url, connect_deadline, &connection, err);
    if (rc)
        return rc;
    connection_set_stop(connection, stop_fd);
    if (!is_current(connection, connect_deadline)) {
        do {
            rc = step(connection, deadline, &applied, err);
        } while (!rc && applied < migration_count);
    }
    connection_free(connection);
    return rc;
}
