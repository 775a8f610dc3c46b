/*
 * cli/print.c -- subcommands that print a table of the program: routes and settings.
 *
 * Lints compare the tables with openapi.yaml and the manual, so both are printed from the arrays that
 * the server itself uses.
 */

#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "server/cli/commands.h"
#include "server/config/config.h"
#include "server/http/routes.h"

int command_failed(enum exit_status status, const struct err *err)
{
    (void)fprintf(stderr, "runnel: %s\n", err->text);
    return (int)status;
}

static int no_arguments(int argc, char **argv)
{
    struct err err;

    if (argc < 2)
        return EXIT_DONE;
    err_set(&err, ERR_INVALID, "%s takes no arguments", argv[0]);
    return command_failed(EXIT_USAGE, &err);
}

int cmd_routes(int argc, char **argv)
{
    int rc = no_arguments(argc, argv);

    if (rc)
        return rc;
    for (size_t i = 0; i < route_count; i++)
        printf("%-6s %s %s\n", routes[i].method, routes[i].path, routes[i].operation);
    return EXIT_DONE;
}

int cmd_settings(int argc, char **argv)
{
    int rc = no_arguments(argc, argv);

    if (rc)
        return rc;
    config_print_settings(stdout);
    return EXIT_DONE;
}
