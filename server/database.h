#ifndef RUNNEL_SERVER_DATABASE_H
#define RUNNEL_SERVER_DATABASE_H

#include "core/base/err.h"
#include "core/store/store.h"
#include "server/config/config.h"

/*
 * database.h -- from the settings to an open store, for serve and for the commands beside it.
 */

struct embedded;

struct database {
    struct embedded *embedded; /* NULL: an external one */
    const char *url;
    const char *direct_url;
    struct store *store; /* NULL until database_open() */
};

/* Finds the database; an embedded cluster is started if it does not run, see embedded_open(), also for
 * stop_fd. */
enum err_code database_start(const struct config *config, int stop_fd,
                             struct database *ret_database, struct err *err) MUST_CHECK;

/* Applies migrations, as long as stop_fd is not readable, and opens the store. */
enum err_code database_open(struct database *database, const struct config *config,
                            const char *node_id, int stop_fd, struct err *err) MUST_CHECK;

/* An embedded cluster that has ended is started again, see embedded_revive(); others look after
 * themselves. */
enum err_code database_revive(struct database *database, int stop_fd,
                              struct err *err) MUST_CHECK;

/* Closes what was opened; also of a zeroed one. */
void database_close(struct database *database);

#endif
