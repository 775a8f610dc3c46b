/*
 * cli/keys.c -- `runnel keys create [--project NAME] | list | revoke KEY`
 *
 * The command works on the database directly and needs no running server. There is no API for keys.
 *
 * The store has only the hash of a key, so `create` is the only moment at which it can be shown. The
 * list has an id and the first characters, which are enough to recognise and revoke one.
 *
 * stdout is for scripts: a new key and nothing else, or the list. Everything else goes to stderr.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "core/store/tables/keys.h"
#include "server/cli/commands.h"
#include "server/config/config.h"
#include "server/database.h"

struct keys_call {
    struct store *store;
    const char *project_name;
    const char *argument; /* the one after the verb, or NULL */
};

static enum err_code create(const struct keys_call *call, struct err *err)
{
    char key[KEY_SIZE];
    enum err_code rc = store_key_create(call->store, call->project_name, key, err);

    if (!rc)
        printf("%s\n", key);
    return rc;
}

static void print_row(const struct key_row *row)
{
    time_t seconds = (time_t)(row->created_at / US_PER_SECOND);
    struct tm utc;
    char text[32];

    gmtime_r(&seconds, &utc);
    (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
    printf("%s  %-20s  %-20s  %s\n", row->id, row->project, row->prefix, text);
}

static enum err_code list(const struct keys_call *call, struct err *err)
{
    AUTO_FREE struct key_row *rows = NULL;
    size_t count = 0;
    enum err_code rc = store_key_list(call->store, &rows, &count, err);

    for (size_t i = 0; !rc && i < count; i++)
        print_row(&rows[i]);
    return rc;
}

static enum err_code revoke(const struct keys_call *call, struct err *err)
{
    return store_key_revoke(call->store, call->argument, err);
}

static const struct verb {
    const char *name;
    enum err_code (*run)(const struct keys_call *call, struct err *err);
    int words; /* arguments, the verb included */
} verbs[] = {{"create", create, 1}, {"list", list, 1}, {"revoke", revoke, 2}};

static const struct verb *find_verb(int argc, char **argv)
{
    for (size_t i = 0; argc > 0 && i < COUNT_OF(verbs); i++)
        if (strcmp(verbs[i].name, argv[0]) == 0 && verbs[i].words == argc)
            return &verbs[i];
    return NULL;
}

/* --project is no setting: it says what this command works on, and the server has no use for it. */
enum err_code command_take_project(int *argc, char **argv, const char **ret_name,
                                   struct err *err)
{
    const char *name = DEFAULT_PROJECT;
    int kept = 0;

    for (int i = 0; i < *argc; i++) {
        if (strncmp(argv[i], "--project=", 10) == 0)
            name = argv[i] + 10;
        else if (strcmp(argv[i], "--project") == 0)
            name = ++i < *argc ? argv[i] : "";
        else
            argv[kept++] = argv[i];
    }
    *argc = kept;
    if (!*name)
        return err_set(err, ERR_INVALID, "--project needs a value: the name of a project");
    *ret_name = name;
    return ERR_OK;
}

static enum err_code with_store(const struct config *config, const struct verb *verb,
                                struct keys_call *call, struct err *err)
{
    struct database database = {0};
    enum err_code rc = database_start(config, -1, &database, err);

    if (!rc)
        rc = database_open(&database, config, "keys", -1, err);
    if (!rc) {
        call->store = database.store;
        rc = verb->run(call, err);
        store_thread_end(database.store);
    }
    database_close(&database);
    return rc;
}

int cmd_keys(int argc, char **argv)
{
    struct keys_call call = {0};
    struct config *config = NULL;
    const struct verb *verb;
    struct err err;
    enum err_code rc;

    argc--;
    argv++;
    if (command_take_project(&argc, argv, &call.project_name, &err) ||
        config_read_some(argc, argv, &argc, &config, &err))
        return command_failed(EXIT_USAGE, &err);
    verb = find_verb(argc, argv);
    call.argument = argc > 1 ? argv[1] : NULL;
    if (verb)
        rc = with_store(config, verb, &call, &err);
    else
        rc = err_set(&err, ERR_INVALID, "keys create [--project NAME] | list | revoke KEY");
    config_free(config);
    if (!rc)
        return EXIT_DONE;
    return command_failed(verb ? EXIT_CANNOT : EXIT_USAGE, &err);
}
