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
 * libpq's blocking calls hang for ever when a server stops without closing its sockets, in
 * spite of all its time-out settings, so only its asynchronous half is used. Every function that
 * may wait takes a moment of the monotonic clock. When that passes, the connection is broken and
 * nothing is known about what was under way.
 *
 * Statements are queued, then all of them are sent with one Sync and answered together. What
 * stands between two Syncs, without a BEGIN, is one transaction. An SQL error leaves the
 * connection usable; any other breaks it.
 *
 * One thread at a time. Only connection.c calls libpq.
 */

struct connection;

/* At most this many statements between two Syncs, BEGIN and COMMIT included. */
#define CONNECTION_QUEUE_LIMIT 64

/* ERR_STORE when the server cannot be reached. `url` is a libpq URL or key=value string. */
enum err_code connection_open(const char *url, uint64_t deadline_ns,
                              struct connection **ret_connection, struct err *err) MUST_CHECK;
void connection_free(struct connection *connection);

/* Nothing is waited for any more once that descriptor is readable: ERR_CANCELLED, and the connection is
 * broken. Borrowed, never read; -1, as at first: none. */
void connection_set_stop(struct connection *connection, int stop_fd);

/* A pooler hands each transaction to another server process, so nothing may be prepared by name. */
void connection_set_pooled(struct connection *connection);

/* Asks the server's process whether it is the one that we were promised at connecting; a pooler
 * in between makes up that number. */
enum err_code connection_detect_pooler(struct connection *connection, uint64_t deadline_ns,
                                       bool *ret_pooled, struct err *err) MUST_CHECK;

/* False when it is broken, or when the server has closed it meanwhile. Does not wait. */
bool connection_usable(struct connection *connection);
bool connection_is_broken(const struct connection *connection);

/* libpq keeps the room that its largest message took, for as long as the connection lasts. True
 * when that is so much that a new connection is the better bargain. */
bool connection_is_swollen(const struct connection *connection);

/* True if it broke because a deadline passed. */
bool connection_missed_deadline(const struct connection *connection);

/* To be watched for what the server says unasked; connection_usable() takes it in. */
int connection_socket(const struct connection *connection);

/* What another session has told a channel that this one listens to, the next of what was taken in.
 * NULL when there is nothing; the caller frees. */
char *connection_take_notice(struct connection *connection);

/* Queues a statement. Nothing of `args` is needed afterwards; NULL for no parameters. */
void connection_queue(struct connection *connection, const struct db_statement *statement,
                      const struct db_args *args);

/* Sends the queue and a Sync, and waits for all answers. ret_results, if not NULL, has room for
 * as many results as were queued; the caller clears them with PQclear(). On failure they are
 * untouched and *ret_failed, if not NULL, is the number of the statement at fault, from 0. */
enum err_code connection_run(struct connection *connection, uint64_t deadline_ns,
                             PGresult **ret_results, size_t *ret_failed,
                             struct err *err) MUST_CHECK;

/* Several statements as one text, one transaction unless it says otherwise: for migrations. */
enum err_code connection_script(struct connection *connection, const char *sql,
                                uint64_t deadline_ns, struct err *err) MUST_CHECK;

#endif
