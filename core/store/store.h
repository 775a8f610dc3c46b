#ifndef RUNNEL_CORE_STORE_STORE_H
#define RUNNEL_CORE_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/ids.h"

/*
 * store.h -- what is kept, as functions and structs instead of SQL.
 *
 * Each function of core/store is one transaction: all of it happened, or nothing. No caller
 * builds a statement or sees a PGresult. All SQL is in core/store, as statements prepared under
 * the name of the function that uses them.
 *
 * Functions here block for as long as the database takes, within `deadline` of the options.
 * HTTP workers and the keeper call them. Run loops never do: they hand writes to
 * core/store/writer/writer.h. Each calling thread has its own connection. It is made at the
 * thread's first call and closed by store_thread_end() or with the store. The caller must hold
 * no lock.
 *
 * Errors: ERR_NOT_FOUND and ERR_CONFLICT are answers. ERR_STORE is an outage: the call had no
 * effect or, if the connection broke at COMMIT, all of its effect. After a missed deadline the
 * store counts as away. Every call then fails at once with ERR_STORE until store_probe()
 * reaches the database again. Only the keeper calls that.
 */

struct store;

/* A server that stops in the middle of a transaction loses it after this time, so that other
 * nodes can take over what it has locked. */
#define STORE_SLEEP_SECONDS 10

struct store_options {
    const char
        *url; /* libpq URL or key=value string; that of the private cluster if embedded */
    const char *direct_url; /* for migrations and LISTEN */
    const char *node_id; /* this node with its boot, "node_x/boot_y": the owner of its leases */
    double deadline_seconds; /* of one call; 10 when 0 */
    double lease_seconds;    /* 15 when 0 */
    unsigned writers;        /* 2 when 0 */
};

enum err_code store_open(const struct store_options *options, struct store **ret_store,
                         struct err *err) MUST_CHECK;
void store_free(struct store *store); /* after store_writers_stop() */

/* Closes the calling thread's connection. */
void store_thread_end(struct store *store);

/* False after a missed deadline, until a probe succeeds. Never blocks. */
bool store_is_up(const struct store *store);

/* For the keeper: tries to reach the database, and notes the outcome. */
enum err_code store_probe(struct store *store, struct err *err) MUST_CHECK;

/* Applies the migrations that are missing, under an advisory lock, each in its own transaction.
 * ERR_STORE, with both versions, when the database is newer than this program. ERR_CANCELLED
 * once stop_fd (-1: none) is readable: another server may migrate for half an hour. */
enum err_code store_migrate(const char *direct_url, int stop_fd, struct err *err) MUST_CHECK;

/* ERR_OK if the schema is the one that this program knows. */
enum err_code store_schema_check(struct store *store, struct err *err) MUST_CHECK;

#endif
