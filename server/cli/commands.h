#ifndef RUNNEL_SERVER_CLI_COMMANDS_H
#define RUNNEL_SERVER_CLI_COMMANDS_H

#include "core/base/err.h"

/*
 * commands.h -- the subcommands of the program.
 *
 * argv[0] of each is its own name. Each runs on the main thread, and returns the exit status of the process.
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
int cmd_sandbox(int argc, char **argv);  /* cli/sandbox.c */
int cmd_import(int argc, char **argv);   /* cli/import.c */

/* Removes --project NAME, the only flag that is not a setting, from the arguments. Without it *ret_name is the
 * default project. Borrowed. */
enum err_code command_take_project(int *argc, char **argv, const char **ret_name,
                                   struct err *err) MUST_CHECK;

/* Prints the error on stderr and returns the status. */
int command_failed(enum exit_status status, const struct err *err);

#endif
