#include "server/database.h"

#include <string.h>

#include "core/store/embedded/embedded.h"

/*
 * The setting database_url is a libpq URL or the word "embedded". Only this file knows the difference:
 * a private cluster is started and then has a URL like any other.
 *
 * Finding the database and opening it are two steps, because `runnel migrate` needs only the first. The
 * other commands migrate too, and then open the store.
 *
 * Migrations and LISTEN use direct_url. A pooler in front of PostgreSQL (PgBouncer in transaction
 * mode) hands each transaction to another session, and both need a session of their own.
 */

enum err_code database_start(const struct config *config, int stop_fd,
                             struct database *ret_database, struct err *err)
{
    enum err_code rc;

    *ret_database = (struct database){0};
    if (strcmp(config->database_url, "embedded") == 0) {
        rc = embedded_open(config->data_dir, stop_fd, &ret_database->embedded, err);
        if (rc)
            return rc;
        ret_database->url = embedded_url(ret_database->embedded);
    } else {
        ret_database->url = config->database_url;
    }
    ret_database->direct_url =
        config->database_direct_url ? config->database_direct_url : ret_database->url;
    return ERR_OK;
}

enum err_code database_revive(struct database *database, int stop_fd, struct err *err)
{
    return database->embedded ? embedded_revive(database->embedded, stop_fd, err) : ERR_OK;
}

enum err_code database_open(struct database *database, const struct config *config,
                            const char *node_id, int stop_fd, struct err *err)
{
    struct store_options options = {
        .url = database->url,
        .direct_url = database->direct_url,
        .node_id = node_id,
        .deadline_seconds = config->store_timeout,
        .lease_seconds = config->lease_ttl,
        .writers = config->store_writers,
    };
    enum err_code rc = store_migrate(database->direct_url, stop_fd, err);

    if (rc)
        return rc;
    return store_open(&options, &database->store, err);
}

void database_close(struct database *database)
{
    if (database->store)
        store_free(database->store);
    if (database->embedded)
        embedded_close(database->embedded);
    *database = (struct database){0};
}
