#ifndef RUNNEL_SERVER_DATABASE_H
#define RUNNEL_SERVER_DATABASE_H

#include "core/base/err.h"
#include "core/store/store.h"
#include "server/config/config.h"

/*
 * database.h -- from the settings to an open store, for serve and for the other subcommands.
 *
 * start, open, use, close; all on the main thread. database_revive() is the keeper's.
 */

struct embedded;

struct database {
    struct embedded *embedded; /* NULL: an external database */
    const char *url;        /* borrowed from the settings or from `embedded`, as is the next */
    const char *direct_url; /* without a pooler between: for migrations and LISTEN */
    struct store *store;    /* NULL until database_open() */
};

/* Finds the database. An embedded cluster is started if it does not run, which may take long after a crash; see
 * embedded_open(), also for stop_fd. Borrows `config` until database_close(). */
enum err_code database_start(const struct config *config, int stop_fd,
                             struct database *ret_database, struct err *err) MUST_CHECK;

/* Applies migrations and opens the store. ERR_CANCELLED once stop_fd (-1: none) is readable. */
enum err_code database_open(struct database *database, const struct config *config,
                            const char *node_id, int stop_fd, struct err *err) MUST_CHECK;

/* Starts an embedded cluster again if it has ended; see embedded_revive(). Does nothing for an external one. */
enum err_code database_revive(struct database *database, int stop_fd,
                              struct err *err) MUST_CHECK;

/* Closes what was opened, also after an error of the functions above. A zeroed struct is fine. */
void database_close(struct database *database);

#endif
