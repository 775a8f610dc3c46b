/*
 * pgvector_index.c -- the index of a model, which may take hours to make.
 *
 * The first index of an empty table is there in a moment. One for another model reads all rows of the first, and that
 * may be a hundred million. So it is made CONCURRENTLY, which holds up neither writers nor readers, on a connection of
 * its own whose statements have no deadline. What a crash has left of one is invalid, and PostgreSQL would keep it for
 * ever: it is dropped first. A lock of that session says who makes it, and goes with the session.
 */

#include "core/store/tables/vector_stores/pgvector.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/store/pg/connection.h"
#include "core/store/pg/db.h"
#include "core/store/pg/state.h"

#define TABLE           "pgvector_chunks"
#define OPEN_SECONDS    10
#define BUILD_SECONDS   (24 * 3600)
#define FAILED_PAUSE_NS (60 * NS_PER_SECOND)

/* "t" or "f" of a statement that asks one question. */
static enum err_code ask(struct connection *connection, const struct db_statement *statement,
                         const struct db_args *args, bool *ret_yes, struct err *err)
{
    uint64_t deadline_ns = clock_mono_ns() + OPEN_SECONDS * NS_PER_SECOND;
    PGresult *result = NULL;
    enum err_code rc;

    connection_queue(connection, statement, args);
    rc = connection_run(connection, deadline_ns, &result, NULL, err);
    if (rc)
        return rc;
    *ret_yes = PQntuples(result) && PQgetvalue(result, 0, 0)[0] == 't';
    PQclear(result);
    return ERR_OK;
}

static enum err_code take_turn(struct connection *connection, bool *ret_mine, struct err *err)
{
    static const struct db_statement lock = {
        NULL, "SELECT pg_try_advisory_lock(hashtext('" TABLE " index'))"};

    return ask(connection, &lock, NULL, ret_mine, err);
}

static enum err_code is_there(struct connection *connection, const char *name, bool *ret_there,
                              struct err *err)
{
    static const struct db_statement find = {
        NULL, "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)"};
    AUTO_DB_ARGS args = {0};

    db_arg_text(&args, name);
    return ask(connection, &find, &args, ret_there, err);
}

/* Names and numbers are this program's own. */
static enum err_code run(struct connection *connection, char *sql, struct err *err)
{
    uint64_t deadline_ns = clock_mono_ns() + (uint64_t)BUILD_SECONDS * NS_PER_SECOND;
    enum err_code rc = connection_script(connection, sql, deadline_ns, err);

    free(sql);
    return rc;
}

static enum err_code build(struct connection *connection, const char *name, int model,
                           uint32_t dimensions, struct err *err)
{
    enum err_code rc = run(connection, mem_strdup("SET statement_timeout = 0"), err);

    if (!rc)
        rc = run(connection, mem_printf("DROP INDEX CONCURRENTLY IF EXISTS %s", name), err);
    if (!rc && FAULT("pgvector.index"))
        rc = err_set(err, ERR_STORE, "a fault before an index was made");
    if (!rc)
        rc = run(connection,
                 mem_printf("CREATE INDEX CONCURRENTLY %s ON " TABLE
                            " USING hnsw ((vector::halfvec(%u)) halfvec_cosine_ops)"
                            " WHERE model_id = %d",
                            name, dimensions, model),
                 err);
    return rc;
}

/* *ret_there is false if another session makes it now. */
static enum err_code find_or_build(struct connection *connection, int model,
                                   uint32_t dimensions, bool *ret_there, struct err *err)
{
    AUTO_FREE char *name = mem_printf(TABLE "_%d", model);
    bool mine = false;
    enum err_code rc = is_there(connection, name, ret_there, err);

    if (!rc && !*ret_there)
        rc = take_turn(connection, &mine, err);
    if (rc || *ret_there || !mine)
        return rc;
    rc = is_there(connection, name, ret_there, err); /* it was made meanwhile */
    if (!rc && !*ret_there) {
        rc = build(connection, name, model, dimensions, err);
        *ret_there = !rc;
    }
    return rc;
}

static enum err_code make(struct store *store, int model, uint32_t dimensions, int stop_fd,
                          bool *ret_there, struct err *err)
{
    struct connection *connection;
    enum err_code rc = connection_open(
        store->direct_url, clock_mono_ns() + OPEN_SECONDS * NS_PER_SECOND, &connection, err);

    if (rc)
        return rc;
    connection_set_stop(connection, stop_fd);
    rc = find_or_build(connection, model, dimensions, ret_there, err);
    connection_free(connection);
    return rc;
}

bool store_pgvector_is_indexed(struct store *store, int model)
{
    return atomic_load(&store->pgvector_indexed) == model;
}

enum err_code store_pgvector_index(struct store *store, int model, uint32_t dimensions,
                                   int stop_fd, struct err *err)
{
    uint64_t now_ns = clock_mono_ns(), due_ns = atomic_load(&store->pgvector_index_ns);
    bool there = false;
    struct err why;
    enum err_code rc;

    if (atomic_load(&store->pgvector_indexed) == model ||
        dimensions > PGVECTOR_INDEXED_DIMENSIONS)
        return ERR_OK;
    /* Until this call ends, no other thread tries. */
    if (now_ns < due_ns ||
        !atomic_compare_exchange_strong(&store->pgvector_index_ns, &due_ns, UINT64_MAX))
        return ERR_OK;
    rc = make(store, model, dimensions, stop_fd, &there, &why);
    if (there)
        atomic_store(&store->pgvector_indexed, model);
    atomic_store(&store->pgvector_index_ns, there ? 0 : clock_mono_ns() + FAILED_PAUSE_NS);
    if (rc == ERR_CANCELLED) {
        if (err)
            *err = why;
        return rc;
    }
    if (rc)
        log_warn("the index of pgvector is still to be made: %s", why.text);
    return ERR_OK;
}
