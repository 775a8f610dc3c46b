#ifndef RUNNEL_CORE_STORE_PG_CONNECTION_H
#define RUNNEL_CORE_STORE_PG_CONNECTION_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/store/pg/db.h"

/*
 * connection.h -- a libpq connection that keeps deadlines.
 *
 * libpq's blocking calls hang for ever when a server stops without closing its sockets,
 * whatever its time-out settings are. So only its asynchronous half is used. Every function
 * that may wait takes a moment of the monotonic clock. When that has passed, the connection is
 * broken and nothing is known about the statements under way.
 *
 * Statements are queued, then all of them are sent with one Sync and answered together. What
 * stands between two Syncs, without a BEGIN, is one transaction. An SQL error leaves the
 * connection usable; any other error breaks it.
 *
 * One thread at a time. Only connection.c sends anything through libpq.
 */

struct connection;

/* At most this many statements between two Syncs, BEGIN and COMMIT included. */
#define CONNECTION_QUEUE_LIMIT 64

/* ERR_STORE when the server cannot be reached. `url` is a libpq URL or key=value string. */
enum err_code connection_open(const char *url, uint64_t deadline_ns,
                              struct connection **ret_connection, struct err *err) MUST_CHECK;
void connection_free(struct connection *connection);

/* Once this descriptor is readable, waiting ends with ERR_CANCELLED, and the connection is
 * broken. Borrowed, never read. -1, the value at first: none. */
void connection_set_stop(struct connection *connection, int stop_fd);

/* Statements are not prepared from now on: a pooler may run each transaction in another server
 * process. */
void connection_set_pooled(struct connection *connection);

/* Compares the process id that the server announced at connecting with that of the process that
 * answers. A pooler in between makes up the first one. */
enum err_code connection_detect_pooler(struct connection *connection, uint64_t deadline_ns,
                                       bool *ret_pooled, struct err *err) MUST_CHECK;

/* False when it is broken, or when the server has closed it meanwhile. Never waits. */
bool connection_usable(struct connection *connection);
bool connection_is_broken(const struct connection *connection);

/* True when its buffers have grown so much that a new connection is cheaper. libpq keeps the
 * memory of its largest message for as long as the connection lasts. */
bool connection_is_swollen(const struct connection *connection);

/* True if it broke because a deadline passed. */
bool connection_missed_deadline(const struct connection *connection);

/* For poll(): readable when the server sends a notification. connection_usable() reads it. */
int connection_socket(const struct connection *connection);

/* The next notification that another session has sent to a channel that this one listens to, of
 * those read so far. NULL after the last one; the caller frees. */
char *connection_take_notice(struct connection *connection);

/* Queues a statement. `args` may be freed afterwards; NULL for no parameters. */
void connection_queue(struct connection *connection, const struct db_statement *statement,
                      const struct db_args *args);

/* Sends the queue and a Sync, and waits for all answers. ret_results, if not NULL, has room for
 * one result for each queued statement; the caller clears them with PQclear(). On failure they
 * are untouched, and *ret_failed, if not NULL, is the number of the failed statement, from 0. */
enum err_code connection_run(struct connection *connection, uint64_t deadline_ns,
                             PGresult **ret_results, size_t *ret_failed,
                             struct err *err) MUST_CHECK;

/* Several statements as one text, in one transaction unless the text says otherwise. For
 * migrations. */
enum err_code connection_script(struct connection *connection, const char *sql,
                                uint64_t deadline_ns, struct err *err) MUST_CHECK;

#endif
