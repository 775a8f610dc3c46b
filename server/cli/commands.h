#ifndef RUNNEL_SERVER_CLI_COMMANDS_H
#define RUNNEL_SERVER_CLI_COMMANDS_H

#include "core/base/err.h"

/*
 * commands.h -- the subcommands of the one binary.
 *
 * Each gets its arguments from its own name on and returns the exit status.
 */

enum exit_status {
    EXIT_DONE = 0,     /* also: drained, stopped */
    EXIT_CANNOT = 1,   /* one sentence on stderr says why */
    EXIT_USAGE = 2,    /* usage or configuration, before anything was opened */
    EXIT_DATA_DIR = 3, /* another server uses data_dir */
};

int cmd_serve(int argc, char **argv);    /* serve.c */
int cmd_keys(int argc, char **argv);     /* cli/keys.c */
int cmd_migrate(int argc, char **argv);  /* cli/migrate.c */
int cmd_routes(int argc, char **argv);   /* cli/print.c */
int cmd_settings(int argc, char **argv); /* cli/print.c */
int cmd_import(int argc, char **argv);   /* cli/import.c */

/* Takes --project NAME out of the arguments, the only flag that is not a setting; without it the
 * default project is meant. */
enum err_code command_take_project(int *argc, char **argv, const char **ret_name,
                                   struct err *err) MUST_CHECK;

/* Says why on stderr and returns the status. */
int command_failed(enum exit_status status, const struct err *err);

#endif
