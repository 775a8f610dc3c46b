/*
 * main.c -- finds the subcommand and runs it.
 *
 * One binary has the server, the scripted model and the tools of operators, so that one file is
 * copied to a machine and all parts always have the same version and schema.
 */

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "core/base/compiler.h"
#include "handlers/handlers.h"
#include "server/cli/commands.h"
#include "server/fakemodel/server.h"

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} commands[] = {
    {"serve", cmd_serve, "[--SETTING VALUE]...       the server"},
    {"upstream", cmd_upstream, "[--script FILE] [--listen ADDRESS:PORT]   the scripted model"},
    {"migrate", cmd_migrate, "[--SETTING VALUE]...     brings the database up to date"},
    {"sandbox", cmd_sandbox, "[--SETTING VALUE]...     what this machine lets a sandbox do"},
    {"keys", cmd_keys, "create [--project NAME] | list | revoke KEY"},
    {"import", cmd_import,
     "FILE_OR_FOLDER [--project NAME]   assistants and threads from OpenAI"},
    {"routes", cmd_routes, "                          prints the routes"},
    {"settings", cmd_settings, "                        prints the settings"},
};

static void usage(FILE *file)
{
    (void)fputs("runnel COMMAND\n\n", file);
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        if (*commands[i].help)
            (void)fprintf(file, "  runnel %s %s\n", commands[i].name, commands[i].help);
    (void)fputs("  runnel --version\n", file);
}

/* --help of any subcommand prints the same summary, except for the scripted upstream, which prints its own. */
static int run_command(const struct command *command, int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--help") == 0 && command->run != cmd_upstream) {
        usage(stdout);
        return EXIT_DONE;
    }
    return command->run(argc, argv);
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";

    /* Both must happen before a second thread exists: jansson's hash seed, and the registry of tools. */
    json_object_seed(0);
    handlers_register();
    if (strcmp(word, "--version") == 0) {
        puts("runnel " RUNNEL_VERSION);
        return EXIT_DONE;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "help") == 0) {
        usage(stdout);
        return EXIT_DONE;
    }
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        if (strcmp(commands[i].name, word) == 0)
            return run_command(&commands[i], argc - 1, argv + 1);
    usage(stderr);
    return EXIT_USAGE;
}
