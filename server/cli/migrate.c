/*
 * cli/migrate.c -- `runnel migrate`: brings the database's schema up to this version.
 *
 * serve does the same when it starts. The command is for operators who want it apart from a start:
 * before an upgrade of many nodes, or with a database user that has more rights than the server's.
 */

#include "server/cli/commands.h"
#include "server/config/config.h"
#include "server/database.h"

int cmd_migrate(int argc, char **argv)
{
    struct config *config = NULL;
    struct database database = {0};
    struct err err;
    enum err_code rc;

    if (config_read(argc - 1, argv + 1, &config, &err))
        return command_failed(EXIT_USAGE, &err);
    rc = database_start(config, -1, &database, &err);
    if (!rc)
        rc = store_migrate(database.direct_url, -1, &err);
    database_close(&database);
    config_free(config);
    return rc ? command_failed(EXIT_CANNOT, &err) : EXIT_DONE;
}
