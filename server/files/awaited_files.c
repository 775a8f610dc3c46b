/*
 * awaited_files.c -- the store is checked before a run goes to its loop, and again behind that.
 *
 * The first check spares nearly all runs the wait. A file may end between that check and the moment in which the engine
 * knows that the run waits: its hint then finds no run. The second check finds that file. All that ends later finds
 * the run.
 *
 * A store that cannot be asked counts as one with files in progress. The keeper looks again, and the wait has an end.
 */

#include "server/files/awaited_files.h"

#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/run/engine/engine.h"
#include "core/store/tables/vector_stores/vector_stores.h"
#include "server/sandbox/listed_files.h"
#include "server/server.h"

static bool is_busy(const struct server *server, const struct engine_file_wait *wait)
{
    const char *projects[] = {wait->project};
    const char *ids[] = {wait->store_id};
    bool busy = true;
    struct err err;

    return store_vector_stores_busy(server->store, projects, ids, 1, &busy, &err) || busy;
}

/* NULL for a run that has begun or need not wait. A claimed run has its settings in its row. */
static const char *store_of(struct run_start *start)
{
    const struct run_row *run = &start->load.run;

    if (run->face != FACE_ASSISTANTS || run->status != RUN_QUEUED || run->started_at)
        return NULL;
    if (!start->settings.snapshot)
        run_settings_load(&start->settings, run->config);
    return start->settings.awaited_store;
}

void awaited_files_run(struct server *server, struct run_start *start)
{
    const char *store_id = store_of(start);
    struct engine_file_wait wait = {.project = ""};
    bool waits;

    listed_files_add(server, start);
    if (!store_id) {
        engine_run(server->engine, start);
        return;
    }
    memcpy(wait.project, start->load.run.project, sizeof(wait.project));
    memcpy(wait.run_id, start->load.run.id, sizeof(wait.run_id));
    (void)snprintf(wait.store_id, sizeof(wait.store_id), "%s", store_id);
    if (is_busy(server, &wait))
        memcpy(start->awaited_store, wait.store_id, sizeof(wait.store_id));
    waits = start->awaited_store[0];
    engine_run(server->engine, start);
    if (waits && !is_busy(server, &wait))
        engine_files_settled(server->engine, wait.run_id);
}

enum err_code awaited_files_look(struct server *server, struct err *err)
{
    AUTO_FREE struct engine_file_wait *waits = NULL;
    size_t count = engine_file_waits(server->engine, &waits);
    AUTO_FREE const char **projects = mem_new_array(const char *, count + 1);
    AUTO_FREE const char **ids = mem_new_array(const char *, count + 1);
    AUTO_FREE bool *busy = mem_new_array(bool, count + 1);
    enum err_code rc;

    for (size_t i = 0; i < count; i++) {
        projects[i] = waits[i].project;
        ids[i] = waits[i].store_id;
    }
    if (!count)
        return ERR_OK;
    rc = store_vector_stores_busy(server->store, projects, ids, count, busy, err);
    for (size_t i = 0; !rc && i < count; i++) {
        if (!busy[i])
            engine_files_settled(server->engine, waits[i].run_id);
    }
    return rc;
}
