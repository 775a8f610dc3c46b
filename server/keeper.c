#include "server/keeper.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/base/lock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/blob/blob.h"
#include "core/container/containers.h"
#include "core/ingest/ingest.h"
#include "core/run/engine/engine.h"
#include "core/run/engine/recover.h"
#include "core/store/cluster/document_leases.h"
#include "core/store/cluster/leases.h"
#include "core/store/cluster/wakeups.h"
#include "core/store/store.h"
#include "core/store/tables/approvals/approval_holds.h"
#include "core/store/tables/approvals/approvals.h"
#include "core/store/tables/containers/containers.h"
#include "core/store/tables/files/files.h"
#include "core/store/tables/files/pictures.h"
#include "core/store/tables/files/uploads.h"
#include "core/store/tables/runs/runs.h"
#include "core/store/tables/threads/deleted.h"
#include "core/store/tables/vector_stores/document_counts.h"
#include "core/store/tables/vector_stores/documents.h"
#include "core/store/tables/vector_stores/vector_stores.h"
#include "core/store/wakeup.h"
#include "server/api/responses/chain_cache.h"
#include "server/database.h"
#include "server/encode/faces.h"
#include "server/files/awaited_files.h"
#include "server/pictures/kept_pictures.h"
#include "server/sandbox/container_asks.h"
#include "server/server.h"

#define CLAIM_LIMIT  ((size_t)8)         /* runs of one claim */
#define REVIVE_NS    (5 * NS_PER_SECOND) /* between two attempts to start a private database */
#define SWEEP_LIMIT  ((size_t)20)        /* files, or blobs of up to hundreds of MiB */
#define CHECK_LIMIT  ((size_t)100)       /* checks of questions against grants, of one round */
#define PURGE_LIMIT  ((size_t)100)       /* deleted responses of one statement */
#define LOOK_SECONDS 5 /* between two looks for what a lost hint or a lost check has left */

/*
 * One thread with a list of duties, each with a period. It sleeps until the next duty is due, or until
 * a wake-up of another node makes one due at once. Wake-ups may get lost, so the periods alone must be
 * enough: they decide how long a run is orphaned in the worst case.
 *
 * The danger of taking over is doing it to a node that lives. Leases are times of the database, so
 * clocks of nodes do not matter, but a database that was away lets all leases expire at once, those of
 * healthy nodes too. Hence two conditions, both about this node's own renewals:
 *
 *   fresh    they succeeded within the last two thirds of a lease. Otherwise nothing is claimed: this
 *            node may itself be the one that has fallen silent.
 *   steady   they have succeeded without a gap for a whole lease. Otherwise only runs that were
 *            released, or belong to an earlier boot of this node, are claimed (CLAIM_LEFT). By then
 *            every living node has had time to renew.
 *
 * A mistake would still not damage a run: each claim raises the fence, and a write with an older fence
 * changes nothing. But the clients of the other node would lose their streams.
 *
 * Long work must not cost the leases. Claims are small, the log of each claimed run is read one by
 * one, and renew_if_due() comes before every step. A claimed run that the engine does not have yet is
 * `pending`, and its lease is renewed with the others.
 *
 * A crash of the keeper's node needs nothing here: its leases expire, and the keepers of other nodes
 * do the rest. What a keeper was doing is in the database or was not done.
 *
 * The keeper is also the only thread that probes a database which is away. Hundreds of threads that
 * retry would hit it in the moment in which it comes back.
 */

/* One duty, and when it is due. */
struct duty {
    void (*perform)(struct keeper *keeper);
    double every_seconds;
    uint64_t due_ns;
};

/* Wake-ups make the first three due at once; the others have no names. */
enum { DUTY_RENEW, DUTY_CLAIM, DUTY_FILES, DUTY_COUNT = 14 };

struct keeper {
    struct server *server;
    struct database *database;
    pthread_t thread;
    atomic_bool draining;
    bool drain_shown;   /* this node's row says so */
    bool away;          /* the database; it is logged once */
    uint64_t revive_ns; /* when the next attempt may be made to start a private one */
    struct duty duties[DUTY_COUNT];

    uint64_t lease_ns;
    uint64_t renewed_ns;            /* when leases were last renewed; 0: never */
    uint64_t steady_ns;             /* since when without a gap; 0: since the start */
    const struct run_load *pending; /* claimed runs that the engine does not have yet */
    size_t pending_count;

    int stop_fd; /* an eventfd: ends the wait for a private database */
    struct lock lock;
    pthread_cond_t changed;
    bool stopping;           /* guarded by lock */
    bool wanted[DUTY_COUNT]; /* guarded by lock: is due now */
};

static void complain(const char *what, const struct err *err)
{
    log_warn("%s: %s", what, err->text);
}

/* ---- Leases ---- */

/* Reports to the engine what a renewal found. */
static void apply_state(struct engine *engine, const struct engine_lease *lease,
                        enum lease_state state)
{
    switch (state) {
    case LEASE_HELD: break;
    case LEASE_LOST: engine_lease_lost(engine, lease); break;
    case LEASE_CANCEL_REQUESTED: engine_cancel(engine, lease->run_id); break;
    }
}

/* The leases of the runs that are here: those in the engine, then the pending ones. */
struct held {
    size_t count;
    size_t pending_at; /* the first pending one */
    struct engine_lease *leases;
    const char **ids;
    int64_t *fences;
    enum lease_state *states;
};

static void held_clear(struct held *held)
{
    free(held->leases);
    free(held->ids);
    free(held->fences);
    free(held->states);
}

static void held_init(struct held *held, const struct keeper *keeper)
{
    size_t most;

    held->pending_at = engine_leases(keeper->server->engine, &held->leases);
    held->count = held->pending_at;
    most = held->count + keeper->pending_count + 1;
    held->ids = mem_new_array(const char *, most);
    held->fences = mem_new_array(int64_t, most);
    held->states = mem_new_array(enum lease_state, most);
    for (size_t i = 0; i < held->count; i++) {
        held->ids[i] = held->leases[i].run_id;
        held->fences[i] = held->leases[i].fence;
    }
    for (size_t i = 0; i < keeper->pending_count; i++) {
        held->ids[held->count] = keeper->pending[i].run.id;
        held->fences[held->count++] = keeper->pending[i].fence;
    }
}

/* Renewals are a third of a lease apart. A gap of two thirds means that the database was away or stood still, or
 * that this process did. In the first case other nodes could not renew their leases either. */
static void note_renewed(struct keeper *keeper)
{
    uint64_t now = clock_mono_ns();

    if (keeper->renewed_ns && now - keeper->renewed_ns > keeper->lease_ns / 3 * 2) {
        log_warn("leases were renewed late; those of other nodes get time for it as well");
        keeper->steady_ns = now;
    }
    keeper->renewed_ns = now;
}

static bool is_fresh(const struct keeper *keeper)
{
    return keeper->renewed_ns &&
           clock_mono_ns() - keeper->renewed_ns <= keeper->lease_ns / 3 * 2;
}

/* After a whole lease without a gap, every living node has renewed its leases. */
static bool is_steady(const struct keeper *keeper)
{
    return is_fresh(keeper) && clock_mono_ns() - keeper->steady_ns >= keeper->lease_ns;
}

/* A lease of this boot without a run in memory: the run could not be made ready, or not be ended. Released, it
 * can be claimed again. */
static void give_back_forgotten(struct keeper *keeper, const struct held *held)
{
    size_t count = 0;
    struct err err;

    if (store_leases_give_back(keeper->server->store, held->ids, held->count, &count, &err))
        complain("leases of runs that are not here were not given back", &err);
    else if (count)
        log_warn("gave back %zu runs that are not here", count);
}

/* A response that holds waits for approvals, and the answer may be stored by another node, whose wake-up may get
 * lost. */
static void poll_answers(struct keeper *keeper)
{
    struct engine *engine = keeper->server->engine;
    AUTO_FREE struct engine_holder *holders = NULL;
    size_t count = engine_holding(engine, &holders);
    AUTO_FREE const char **projects = mem_new_array(const char *, count + 1);
    AUTO_FREE const char **ids = mem_new_array(const char *, count + 1);
    AUTO_FREE bool *answered = mem_new_array(bool, count + 1);
    struct err err;

    for (size_t i = 0; i < count; i++) {
        projects[i] = holders[i].project;
        ids[i] = holders[i].run_id;
    }
    if (!count)
        return;
    if (store_approvals_answered(keeper->server->store, projects, ids, count, answered, &err)) {
        complain("answers to approval requests could not be read", &err);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (answered[i])
            (void)engine_check_approvals(engine, ids[i]);
    }
}

/* The documents that this node makes searchable. */
struct held_documents {
    size_t count;
    struct ingest_lease *leases;
    const char **ids;
    int64_t *fences;
};

static void held_documents_clear(struct held_documents *held)
{
    free(held->leases);
    free(held->ids);
    free(held->fences);
}

static void held_documents_init(struct held_documents *held, const struct keeper *keeper)
{
    held->count = ingest_leases(keeper->server->ingest, &held->leases);
    held->ids = mem_new_array(const char *, held->count + 1);
    held->fences = mem_new_array(int64_t, held->count + 1);
    for (size_t i = 0; i < held->count; i++) {
        held->ids[i] = held->leases[i].document_id;
        held->fences[i] = held->leases[i].fence;
    }
}

static void renew_documents(struct keeper *keeper)
{
    CLEANUP(held_documents_clear) struct held_documents held = {0};
    struct err err;

    held_documents_init(&held, keeper);
    if (store_document_leases_renew(keeper->server->store, held.ids, held.fences, held.count,
                                    &err))
        complain("leases of documents were not renewed", &err);
}

static void renew_leases(struct keeper *keeper)
{
    CLEANUP(held_clear) struct held held = {0};
    bool draining = atomic_load(&keeper->draining);
    struct err err;

    held_init(&held, keeper);
    if (store_leases_renew(keeper->server->store, held.ids, held.fences, held.count,
                           held.states, &err)) {
        complain("leases were not renewed", &err);
        return;
    }
    note_renewed(keeper);
    if (draining && !keeper->drain_shown) {
        keeper->drain_shown = true;
        store_wake_others(keeper->server->store, WAKEUP_CLAIM, NULL);
    }
    if (keeper->server->containers)
        containers_set_steady(keeper->server->containers, is_steady(keeper));
    /* Only for runs in the engine. A pending run whose lease was lost fails at its first write. */
    for (size_t i = 0; i < held.pending_at; i++)
        apply_state(keeper->server->engine, &held.leases[i], held.states[i]);
    renew_documents(keeper);
    poll_answers(keeper);
    if (is_steady(keeper))
        give_back_forgotten(keeper, &held);
}

/* For duties that may take longer than a third of a lease. */
static void renew_if_due(struct keeper *keeper)
{
    if (clock_mono_ns() - keeper->renewed_ns > keeper->lease_ns / 3)
        renew_leases(keeper);
}

static enum claim_scope claim_scope(const struct keeper *keeper)
{
    return is_steady(keeper) ? CLAIM_ALL : CLAIM_LEFT;
}

/* ---- Taking over ---- */

/* A run that was left to this node, or released while it was queued, continues like one of this node's own requests:
 * no owner died with it. */
static enum run_arrival arrival_of(const struct run_load *load)
{
    const struct run_row *run = &load->run;

    if (!run->attempts && !load->next_seq && !run->started_at)
        return ARRIVAL_NEW;
    return !run->attempts && run->status == RUN_QUEUED && run->started_at ? ARRIVAL_SUBMITTED
                                                                          : ARRIVAL_CLAIMED;
}

/* A run that cannot be recovered now is left alone: its lease expires, is given back, and the run is claimed
 * again. */
/* The last event of a response has its whole output, and it is made on a loop. */
static enum err_code show_pictures(const struct server *server, struct run_load *load,
                                   struct err *err)
{
    const struct tenant tenant = tenant_of_project(load->run.project);
    enum err_code rc = ERR_OK;

    for (size_t i = 0; !rc && load->run.face == FACE_RESPONSES && i < load->item_count; i++) {
        struct item_row *item = &load->items[i];

        if (!item->input && strcmp(item->run_id, load->run.id) == 0)
            rc = kept_pictures_fill(server, &tenant, item, 1, err);
    }
    return rc;
}

static void take_over(struct keeper *keeper, struct run_load *load)
{
    struct server *server = keeper->server;
    struct run_start start = {.arrival = arrival_of(load)};
    const struct face *face =
        load->run.face == FACE_ASSISTANTS ? &assistants_face : &responses_face;
    struct err err;

    log_info("taking over %s", load->run.id);
    if (recover_load(server->store, face, load, &err)) {
        complain("a run was not taken over", &err);
        run_load_clear(load);
        return;
    }
    if (show_pictures(server, load, &err)) {
        complain("a run was not taken over", &err);
        run_load_clear(load);
        return;
    }
    start.load = *load; /* the engine's now */
    memset(load, 0, sizeof(*load));
    awaited_files_run(server, &start);
}

/* Reading the logs of all may take longer than a lease. */
static void take_over_all(struct keeper *keeper, struct run_load *loads, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        keeper->pending = &loads[i];
        keeper->pending_count = count - i;
        renew_if_due(keeper);
        take_over(keeper, &loads[i]);
    }
    keeper->pending_count = 0;
}

/* How many runs this node may take over now. A full node leaves them to others. */
static size_t room_for_runs(const struct keeper *keeper)
{
    struct engine_stats stats;
    size_t limit = keeper->server->config->max_runs;
    size_t byte_limit = keeper->server->config->max_run_bytes;

    engine_stats(keeper->server->engine, &stats);
    if (atomic_load(&keeper->draining) || stats.live >= limit || stats.bytes >= byte_limit)
        return 0;
    return limit - stats.live < CLAIM_LIMIT ? limit - stats.live : CLAIM_LIMIT;
}

/* Repeats until nothing is left, so that after a restart all runs continue at once. */
static void claim_runs(struct keeper *keeper)
{
    struct server *server = keeper->server;

    for (;;) {
        struct run_load *loads = NULL;
        size_t wanted = room_for_runs(keeper);
        size_t count = 0;
        struct err err;

        renew_if_due(keeper);
        if (!wanted || !is_fresh(keeper))
            return;
        if (store_runs_claim(server->store, claim_scope(keeper), wanted,
                             engine_context_limit(server->engine), &loads, &count, &err)) {
            complain("runs were not claimed", &err);
            return;
        }
        take_over_all(keeper, loads, count);
        free(loads);
        if (count < wanted)
            return;
    }
}

/* A server that was suspended in the middle of a transaction keeps its rows locked, and its runs could not be
 * taken over. */
static void end_stalled(struct keeper *keeper)
{
    size_t count = 0;
    struct err err;

    if (store_stalled_end(keeper->server->store, STORE_SLEEP_SECONDS, &count, &err))
        complain("stalled transactions were not ended", &err);
    else if (count)
        log_warn("ended %zu transactions of servers that do not respond", count);
}

static void look_for_awaited_files(struct keeper *keeper)
{
    struct err err;

    if (!engine_has_file_waits(keeper->server->engine))
        return;
    renew_if_due(keeper);
    if (awaited_files_look(keeper->server, &err))
        complain("runs that wait for files were not looked at", &err);
}

/* Runs that wait beside a grant, because neither could look for the other. What is left is for the next time. */
static void look_for_granted(struct keeper *keeper)
{
    size_t count = 0;
    struct err err;

    renew_if_due(keeper);
    if (store_approvals_check_again(keeper->server->store, CHECK_LIMIT, &count, &err))
        complain("pending approvals were not compared with grants", &err);
    else if (count)
        log_info("made up for %zu checks of approvals", count);
}

/* A foreground response cannot continue elsewhere: its client was connected to the node that died. */
static void fail_foreground(struct keeper *keeper)
{
    size_t count = 0;
    struct err err;

    renew_if_due(keeper);
    if (!is_fresh(keeper))
        return;
    if (store_runs_fail_foreground(keeper->server->store, claim_scope(keeper), &count, &err))
        complain("responses of dead nodes were not closed", &err);
    else if (count)
        log_info("closed %zu responses whose node died", count);
}

int64_t keeper_grace_us(const struct config *config)
{
    return (int64_t)(config->response_timeout * 2 * (double)US_PER_SECOND);
}

static void purge_responses(struct keeper *keeper)
{
    size_t count = PURGE_LIMIT;
    struct err err;

    while (count == PURGE_LIMIT) {
        renew_if_due(keeper);
        if (store_responses_purge(keeper->server->store, PURGE_LIMIT,
                                  keeper_grace_us(keeper->server->config), &count, &err)) {
            complain("deleted responses were not purged", &err);
            return;
        }
    }
}

static void check_pictures(struct keeper *keeper)
{
    size_t count = PURGE_LIMIT;
    struct err err;

    while (count == PURGE_LIMIT) {
        renew_if_due(keeper);
        if (store_pictures_check(keeper->server->store, PURGE_LIMIT, &count, &err)) {
            complain("pictures of deleted responses were not removed", &err);
            return;
        }
    }
}

/* A quiet node puts no history, which would drop the old ones. */
static void forget_histories(struct keeper *keeper)
{
    chain_cache_evict(keeper->server->chain_cache, clock_mono_ns());
}

static void maintain_events(struct keeper *keeper)
{
    struct err err;

    if (store_idempotency_forget(keeper->server->store, &err))
        complain("old idempotency keys were not forgotten", &err);
    if (store_deletion_marks_forget(keeper->server->store, &err))
        complain("old deletion marks were not forgotten", &err);
    if (store_events_maintain(keeper->server->store, keeper->server->config->event_retention,
                              &err))
        complain("the event log was not maintained", &err);
}

/* Work on files without an owner: its owner died, or a hint was lost, or it is time to try again. */
static void look_for_documents(struct keeper *keeper)
{
    CLEANUP(held_documents_clear) struct held_documents held = {0};
    struct document_queue queue;
    size_t count = 0;
    struct err err;

    renew_if_due(keeper);
    held_documents_init(&held, keeper);
    if (is_fresh(keeper) && store_documents_recover(keeper->server->store, claim_scope(keeper),
                                                    held.ids, held.count, &count, &err))
        complain("documents of dead nodes were not taken over", &err);
    else if (count)
        log_info("took over %zu documents", count);
    if (store_document_queue(keeper->server->store, &queue, &err))
        complain("the documents that wait were not counted", &err);
    else
        ingest_note_queue(keeper->server->ingest, queue.count, queue.oldest_us);
    ingest_kick(keeper->server->ingest);
}

/* Vector stores that have expired, and documents that no store names any more. */
static void sweep_stores(struct keeper *keeper)
{
    struct store *store = keeper->server->store;
    size_t expired = SWEEP_LIMIT, swept = SWEEP_LIMIT;
    struct err err;

    while (expired == SWEEP_LIMIT) {
        renew_if_due(keeper);
        if (store_vector_stores_expire(store, SWEEP_LIMIT, &expired, &err)) {
            complain("vector stores did not expire", &err);
            return;
        }
    }
    while (swept == SWEEP_LIMIT) {
        renew_if_due(keeper);
        if (store_documents_sweep(store, BLOB_GRACE_SECONDS * US_PER_SECOND, SWEEP_LIMIT,
                                  &swept, &err)) {
            complain("what was made of files was not removed", &err);
            return;
        }
    }
}

static void sweep_files(struct keeper *keeper)
{
    const struct server *server = keeper->server;
    size_t late = SWEEP_LIMIT, expired = SWEEP_LIMIT, swept = SWEEP_LIMIT;
    struct err err;

    sweep_stores(keeper);
    while (late == SWEEP_LIMIT) {
        renew_if_due(keeper);
        if (store_uploads_expire(server->store, SWEEP_LIMIT, &late, &err)) {
            complain("expired uploads were not ended", &err);
            return;
        }
    }
    while (expired == SWEEP_LIMIT) {
        renew_if_due(keeper);
        if (store_files_expire(server->store, SWEEP_LIMIT, &expired, &err)) {
            complain("expired files were not deleted", &err);
            return;
        }
    }
    while (swept == SWEEP_LIMIT) {
        renew_if_due(keeper);
        if (blobs_sweep(server->blobs, BLOB_GRACE_SECONDS * US_PER_SECOND, SWEEP_LIMIT, &swept,
                        &err)) {
            complain("bytes of deleted files were not removed", &err);
            return;
        }
    }
}

/* Containers that have expired, and folders of this node that have ended. Trash may be large, so leases come
 * between. */
static void tend_containers(struct keeper *keeper)
{
    const struct server *server = keeper->server;
    struct err err;

    if (!server->containers)
        return;
    renew_if_due(keeper);
    if (containers_tend(server->containers, &err)) {
        complain("containers were not looked after", &err);
        return;
    }
    do
        renew_if_due(keeper);
    while (containers_empty_trash(server->containers));
}

/* What they ask is in rows, and the hint may have been lost. */
static void look_for_asked(struct keeper *keeper)
{
    if (store_has_peers(keeper->server->store))
        container_asks_look(keeper->server->container_asks);
}

/* ---- The thread ---- */

static void revive_database(struct keeper *keeper)
{
    struct err err;
    enum err_code rc;

    if (clock_mono_ns() < keeper->revive_ns)
        return;
    rc = database_revive(keeper->database, keeper->stop_fd, &err);
    if (!rc || rc == ERR_CANCELLED)
        return;
    complain("the private database was not started again", &err);
    keeper->revive_ns = clock_mono_ns() + REVIVE_NS;
}

/* While the database is away, the keeper probes it, at each of its rounds, and performs no duty. */
static bool probe_store(struct keeper *keeper)
{
    struct store *store = keeper->server->store;
    struct err err;

    if (store_is_up(store))
        return true;
    if (!keeper->away)
        log_warn("the database is away");
    keeper->away = true;
    revive_database(keeper);
    if (store_probe(store, &err))
        return false;
    log_info("the database is back");
    keeper->away = false;
    return true;
}

static void perform_due(struct keeper *keeper)
{
    for (size_t i = 0; i < DUTY_COUNT; i++) {
        struct duty *duty = &keeper->duties[i];

        if (clock_mono_ns() < duty->due_ns)
            continue;
        if (!probe_store(keeper))
            return; /* still due when it is back */
        duty->due_ns = clock_mono_ns() + clock_ns_from_seconds(duty->every_seconds);
        duty->perform(keeper);
    }
}

static uint64_t next_due(const struct keeper *keeper)
{
    uint64_t next = clock_mono_ns() + NS_PER_SECOND;

    for (size_t i = 0; i < DUTY_COUNT; i++)
        if (keeper->duties[i].due_ns < next)
            next = keeper->duties[i].due_ns;
    /* A duty that is overdue because the database is away must not make this a busy loop. */
    if (next < clock_mono_ns() + 100 * NS_PER_MS)
        next = clock_mono_ns() + 100 * NS_PER_MS;
    return next;
}

/* Makes the wanted duties due. True if there was one. */
static bool hasten_wanted_locked(struct keeper *keeper) REQUIRES(keeper->lock)
{
    bool any = false;

    for (size_t i = 0; i < DUTY_COUNT; i++) {
        if (!keeper->wanted[i])
            continue;
        keeper->wanted[i] = false;
        keeper->duties[i].due_ns = 0;
        any = true;
    }
    return any;
}

static bool wait_for_next(struct keeper *keeper)
{
    uint64_t next = next_due(keeper);
    bool stopping;

    lock_acquire(&keeper->lock);
    while (!keeper->stopping && !hasten_wanted_locked(keeper) &&
           lock_wait_until(&keeper->lock, &keeper->changed, next))
        continue;
    stopping = keeper->stopping;
    lock_release(&keeper->lock);
    return !stopping;
}

static void *run_keeper(void *arg)
{
    struct keeper *keeper = arg;

    do {
        (void)probe_store(keeper);
        perform_due(keeper);
    } while (wait_for_next(keeper));
    store_thread_end(keeper->server->store);
    return NULL;
}

/* ---- Wake-ups of other nodes, on the store's own thread ---- */

static void want(struct keeper *keeper, size_t duty)
{
    lock_acquire(&keeper->lock);
    keeper->wanted[duty] = true;
    pthread_cond_broadcast(&keeper->changed);
    lock_release(&keeper->lock);
}

/* Must not block: it only notifies loops and the keeper's thread. */
static void on_wakeup(void *arg, const struct wakeup *wakeup)
{
    struct keeper *keeper = arg;
    struct engine *engine = keeper->server->engine;

    switch (wakeup->kind) {
    case WAKEUP_HELLO: break;
    case WAKEUP_MISSED: /* the connection was interrupted: assume one of each */
        want(keeper, DUTY_RENEW);
        want(keeper, DUTY_CLAIM);
        engine_wake_all(engine, WOKEN_MOVED);
        want(keeper, DUTY_FILES);
        ingest_kick(keeper->server->ingest);
        break;
    case WAKEUP_CLAIM: want(keeper, DUTY_CLAIM); break;
    case WAKEUP_CANCEL: engine_cancel(engine, wakeup->run_id); break;
    case WAKEUP_FOLLOW: engine_followed_at(engine, wakeup->run_id, wakeup->node); break;
    case WAKEUP_EVENTS: engine_wake(engine, wakeup->run_id, WOKEN_MORE); break;
    case WAKEUP_MOVED: engine_wake(engine, wakeup->run_id, WOKEN_MOVED); break;
    case WAKEUP_DELETED: engine_deleted(engine, wakeup->run_id); break;
    case WAKEUP_CONTAINER:
        if (keeper->server->containers)
            containers_answered(keeper->server->containers);
        container_asks_look(keeper->server->container_asks);
        break;
    case WAKEUP_INGEST: ingest_kick(keeper->server->ingest); break;
    case WAKEUP_FILES: /* of many documents, while nearly always no run waits */
        if (engine_has_file_waits(engine))
            want(keeper, DUTY_FILES);
        break;
    case WAKEUP_ANSWERED: (void)engine_check_approvals(engine, wakeup->run_id); break;
    }
}

/* Often enough that what is in use does not expire. */
static double container_seconds(const struct config *config)
{
    double quarter = config->sandbox_idle / 4;

    return quarter < CONTAINER_TOUCH_SECONDS ? quarter : CONTAINER_TOUCH_SECONDS;
}

enum err_code keeper_start(struct server *server, struct database *database,
                           struct keeper **ret_keeper, struct err *err)
{
    struct keeper *keeper = mem_new(struct keeper);
    double lease = server->config->lease_ttl;
    const struct duty duties[DUTY_COUNT] = {
        [DUTY_RENEW] = {.perform = renew_leases, .every_seconds = lease / 3},
        [DUTY_CLAIM] = {.perform = claim_runs, .every_seconds = lease / 15},
        [DUTY_FILES] = {.perform = look_for_awaited_files, .every_seconds = LOOK_SECONDS},
        {.perform = end_stalled, .every_seconds = lease},
        {.perform = fail_foreground, .every_seconds = lease},
        {.perform = maintain_events, .every_seconds = 3600},
        {.perform = sweep_files, .every_seconds = 60},
        {.perform = forget_histories, .every_seconds = 60},
        {.perform = tend_containers, .every_seconds = container_seconds(server->config)},
        {.perform = look_for_asked, .every_seconds = lease / 15},
        {.perform = look_for_granted, .every_seconds = LOOK_SECONDS},
        {.perform = look_for_documents, .every_seconds = LOOK_SECONDS},
        {.perform = check_pictures, .every_seconds = server->config->response_timeout / 4},
        {.perform = purge_responses, .every_seconds = server->config->response_timeout / 4},
    };

    keeper->server = server;
    keeper->database = database;
    keeper->lease_ns = clock_ns_from_seconds(lease);
    memcpy(keeper->duties, duties, sizeof(duties));
    lock_init(&keeper->lock, LOCK_KEEPER);
    lock_cond_init(&keeper->changed);
    /* Today's partition is made before the first run. If it were made while rows go into the default partition,
     * PostgreSQL would refuse those rows. */
    maintain_events(keeper);
    store_thread_end(server->store);
    keeper->stop_fd = eventfd(0, EFD_CLOEXEC);
    if (keeper->stop_fd < 0 || pthread_create(&keeper->thread, NULL, run_keeper, keeper) != 0) {
        if (keeper->stop_fd >= 0)
            close(keeper->stop_fd);
        free(keeper);
        return err_set(err, ERR_INTERNAL, "cannot start the keeper's thread");
    }
    *ret_keeper = keeper;
    return store_wakeups_start(server->store, on_wakeup, keeper, err);
}

void keeper_drain(struct keeper *keeper)
{
    atomic_store(&keeper->draining, true);
    store_begin_draining(keeper->server->store);
    want(keeper, DUTY_RENEW);
}

void keeper_stop(struct keeper *keeper)
{
    if (!keeper)
        return;
    store_wakeups_stop(keeper->server->store);
    lock_acquire(&keeper->lock);
    keeper->stopping = true;
    pthread_cond_broadcast(&keeper->changed);
    lock_release(&keeper->lock);
    (void)eventfd_write(keeper->stop_fd, 1);
    pthread_join(keeper->thread, NULL);
    close(keeper->stop_fd);
    pthread_cond_destroy(&keeper->changed);
    lock_destroy(&keeper->lock);
    free(keeper);
}
