/*
 * Who may act for a run, for how long, and what happens when no node does.
 *
 * A run that is not final has a row in run_leases: its owner ("node_x/boot_y"), a fence, and
 * until when the owner may act. The fence grows each time the run changes hands, and every
 * write carries it (group_commit.c). Safety is the fence's alone: an owner that was too slow
 * cannot write any more, whatever it believes. The time only decides how soon another node
 * takes the run over.
 *
 * Time. The clock of the database decides whether a lease has expired, because those of nodes
 * may differ. A keeper renews all leases of its node in one statement, each third of a lease.
 *
 * A database that stood still. Every lease expires then, although every owner is alive. Three
 * rules keep the nodes from taking each other's runs once it goes on:
 *
 *   - A node never claims what its own boot holds.
 *   - It claims from other nodes only after its own renewals have succeeded for a whole lease
 *     (server/keeper.c): nodes that are alive have renewed theirs by then. Until then it claims
 *     only what no node holds.
 *   - A claim that took longer than a third of a lease is undone (lease_refuse_late()). It may have
 *     waited in the database while owners had no chance to renew.
 *
 * What an earlier boot of this node held is claimed at once: two servers cannot share a
 * data_dir, so that boot is dead.
 *
 * Claiming. Nodes that claim at once skip each other's rows, and so share the work. A resumable
 * run is loaded and continued by this node. A foreground response of a dead node fails: its
 * client was connected there, and has gone with it.
 *
 * A run may have been made for a node: the one whose disk has the container that its tools use. Its lease then has
 * no owner and the name of that node, which claims it like any other run. If that node dies, any other claims it as
 * soon as it claims the runs that the dead one had: the row in `nodes` is as old as their leases.
 *
 * Locks. A statement that locks several leases does so in the order of their run ids, or skips
 * those that are locked.
 *
 * Decided against: locks that a session of PostgreSQL holds. A broken connection would give up
 * runs that are well, a frozen server would keep its runs for as long as its socket lasts, and
 * behind a pooler no session belongs to a node. And against a leader that assigns runs: it
 * would have to be elected, and every node would wait for it when it dies.
 */

#include "core/store/cluster/leases.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/store/cluster/wakeups.h"
#include "core/store/pg/state.h"
#include "core/store/tables/columns.h"
#include "core/store/tables/runs/load.h"

/* ---- Renewing ---- */

/* Other nodes count as there if the database's clock saw them within two leases; the nodes' own
 * clocks may differ. Rows of nodes that were not seen for a day are deleted: servers that ran
 * for a moment only. */
static enum err_code note_node(struct db *db, enum wakeup_peers *ret_peers, struct err *err)
{
    static const struct db_statement note = {
        "note_node",
        "WITH clock AS (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS "
        "us),"
        " gone AS (DELETE FROM nodes WHERE id IN (SELECT n.id FROM nodes n, clock c"
        "  WHERE n.id <> $1 AND n.seen_at < c.us - 86400000000 FOR UPDATE OF n SKIP LOCKED))"
        " INSERT INTO nodes (id, boot, started_at, seen_at, draining)"
        "  SELECT $1, $2, c.us, c.us, $4 FROM clock c"
        " ON CONFLICT (id) DO UPDATE SET boot = excluded.boot, seen_at = excluded.seen_at,"
        "  draining = excluded.draining,"
        "  started_at = CASE WHEN nodes.boot = excluded.boot THEN nodes.started_at"
        "   ELSE excluded.started_at END"
        " RETURNING EXISTS (SELECT FROM nodes o, clock c"
        "  WHERE o.id <> $1 AND o.seen_at > c.us - $3::bigint)"};
    const char *id = db->store->node_id;
    AUTO_FREE char *node = node_of(id);
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_text(&args, node);
    db_arg_text(&args, id[strlen(node)] ? id + strlen(node) + 1 : "");
    db_arg_int(&args, 2 * db->store->lease_us);
    db_arg_bool(&args, atomic_load(&db->store->draining));
    rc = db_exec(db, &note, &args, &rows, err);
    if (!rc)
        *ret_peers = db_bool(rows, 0, 0) ? PEERS_THERE : PEERS_NONE;
    return rc;
}

/* The leases are locked in the order of their runs before they are updated: an UPDATE that joins
 * an array locks in the order of its plan, and could wait for a group commit that waits for it.
 * MATERIALIZED keeps PostgreSQL from folding the two together. */
static enum err_code renew(struct db *db, const char *const *run_ids, const int64_t *fences,
                           size_t count, struct db_rows **ret_rows, struct err *err)
{
    static const struct db_statement statement = {
        "store_leases_renew",
        "WITH held AS MATERIALIZED (SELECT u.n, l.project_id, l.run_id, l.stopping"
        "  FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY u (run_id, fence, n)"
        "  JOIN run_leases l ON l.owner = $3 AND l.run_id = u.run_id AND l.fence = u.fence"
        "  ORDER BY l.run_id FOR UPDATE OF l),"
        " renewed AS (UPDATE run_leases l"
        "  SET lease_until = clock_timestamp() + $4::bigint * interval '1 microsecond'"
        "  FROM held h WHERE l.project_id = h.project_id AND l.run_id = h.run_id)"
        " SELECT h.n, h.stopping FROM held h"};
    AUTO_DB_ARGS args = {0};

    db_arg_texts(&args, run_ids, count);
    db_arg_ints(&args, fences, count);
    db_arg_text(&args, db->store->node_id);
    db_arg_int(&args, db->store->lease_us);
    return db_exec(db, &statement, &args, ret_rows, err);
}

static void read_states(const struct db_rows *rows, size_t count, enum lease_state *ret_states)
{
    for (size_t i = 0; i < count; i++)
        ret_states[i] = LEASE_LOST;
    for (size_t i = 0; i < db_count(rows); i++) {
        size_t n = (size_t)db_int(rows, i, 0) - 1;

        ret_states[n] = db_bool(rows, i, 1) ? LEASE_CANCEL_REQUESTED : LEASE_HELD;
    }
}

void store_begin_draining(struct store *store)
{
    atomic_store(&store->draining, true);
}

enum err_code store_leases_renew(struct store *store, const char *const *run_ids,
                                 const int64_t *fences, size_t count,
                                 enum lease_state *ret_states, struct err *err)
{
    AUTO_DB *db = NULL;
    AUTO_DB_ROWS *rows = NULL;
    unsigned received = store_hints_received(store);
    enum wakeup_peers peers;
    enum err_code rc;

    rc = db_begin(store, &db, err);
    if (rc)
        return rc;
    rc = note_node(db, &peers, err);
    if (!rc && count > 0)
        rc = renew(db, run_ids, fences, count, &rows, err);
    if (!rc)
        rc = db_commit(db, err);
    if (rc)
        return rc;
    store_note_peers(store, peers, received);
    if (count > 0)
        read_states(rows, count, ret_states);
    return ERR_OK;
}

/* Ends sessions with this server's application name only. A session that waits for its client
 * in the middle of a pipeline is "active". It has changed something if it has a transaction id. */
enum err_code store_stalled_end(struct store *store, double seconds, size_t *ret_count,
                                struct err *err)
{
    static const struct db_statement end = {
        "store_stalled_end",
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND usename = current_user"
        "  AND application_name = current_setting('application_name')"
        "  AND state = 'active' AND wait_event_type = 'Client' AND backend_xid IS NOT NULL"
        "  AND query_start <= clock_timestamp() - $1::bigint * interval '1 microsecond'"};
    AUTO_DB *db = NULL;
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    rc = db_begin(store, &db, err);
    if (rc)
        return rc;
    db_arg_int(&args, (int64_t)(seconds * (double)US_PER_SECOND));
    rc = db_exec(db, &end, &args, &rows, err);
    if (rc)
        return rc;
    *ret_count = db_count(rows);
    return db_commit(db, err);
}

/* A run that the list does not name is not in this node's memory, although its lease says so. It
 * could not be made ready after it was claimed, or its end could not be stored. Only an expired
 * lease is given up: a run that was made or claimed just now is on its way to the engine and not
 * listed yet. */
static enum err_code give_back(struct db *db, const char *const *run_ids, size_t count,
                               size_t *ret_count, struct err *err)
{
    static const struct db_statement statement = {
        "store_leases_give_back",
        "UPDATE run_leases SET owner = NULL WHERE owner = $1 AND run_id <> ALL ($2::text[])"
        " AND lease_until < clock_timestamp()"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_text(&args, db->store->node_id);
    db_arg_texts(&args, run_ids, count);
    rc = db_exec(db, &statement, &args, &rows, err);
    if (rc)
        return rc;
    *ret_count = db_changed(rows);
    return ERR_OK;
}

/* While the database stands still, leases expire that their owners had no chance to renew. What
 * a statement finds after it has waited for that must not count. */
enum err_code lease_refuse_late(const struct db *db, uint64_t begun_ns, struct err *err)
{
    uint64_t third_ns = (uint64_t)db->store->lease_us * (NS_PER_MS / 1000) / 3;

    if (clock_mono_ns() - begun_ns > third_ns)
        return err_set(err, ERR_STORE, "the database stood still for a while");
    return ERR_OK;
}

enum err_code store_leases_give_back(struct store *store, const char *const *run_ids,
                                     size_t count, size_t *ret_count, struct err *err)
{
    uint64_t begun = clock_mono_ns();
    AUTO_DB *db = NULL;
    enum err_code rc;

    rc = db_begin(store, &db, err);
    if (!rc)
        rc = give_back(db, run_ids, count, ret_count, err);
    if (!rc)
        rc = lease_refuse_late(db, begun, err);
    return rc ? rc : db_commit(db, err);
}

/* ---- Claiming ---- */

/* The owner is dead: it is an earlier boot of this very node, or, if $3 is true, another node
 * whose lease has expired. $1 and $2 are this owner and its node. This owner is never dead:
 * when the database stood still for longer than a lease, its runs simply go on here. */
#define IS_ORPHAN                                                            \
    "(owner IS NOT NULL AND owner <> $1 AND (split_part(owner, '/', 1) = $2" \
    " OR ($3::bool AND lease_until < clock_timestamp())))"

/* A run that was made for a node is left to it, unless $3 is true and that node is dead as well, or going down: nodes
 * renew their own rows with their leases. */
#define IS_FOR_THIS                                                                \
    "(wanted_node IS NULL OR wanted_node = $2 OR ($3::bool AND NOT EXISTS (SELECT" \
    "  FROM nodes WHERE id = wanted_node AND NOT draining AND seen_at >= "         \
    "  (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - $4::bigint)))"

/* Orphans come first (owner IS NULL is false for them): they were at work when their node died,
 * so clients wait for them. Then the order is that of the runs' making. By the end of the lease
 * instead, a steady flow of new runs would keep the orphans behind it. */
static enum err_code claim_leases(struct db *db, enum claim_scope scope, size_t limit,
                                  struct db_rows **ret_rows, struct err *err)
{
    static const struct db_statement claim = {
        "claim_leases",
        "WITH picked AS MATERIALIZED (SELECT project_id, run_id, queued_at, " IS_ORPHAN
        " AS orphan"
        "  FROM run_leases WHERE NOT foreground AND (" IS_ORPHAN
        "   OR (owner IS NULL AND wait_until IS NULL)"
        "   OR wait_until < (extract(epoch FROM statement_timestamp()) * 1000000)::bigint)"
        "  AND " IS_FOR_THIS
        "  ORDER BY (owner IS NULL), queued_at, run_id LIMIT $5 FOR UPDATE SKIP LOCKED)"
        " UPDATE run_leases l SET owner = $1, fence = l.fence + 1, wait_until = NULL,"
        "  lease_until = clock_timestamp() + $4::bigint * interval '1 microsecond'"
        " FROM picked p WHERE l.project_id = p.project_id AND l.run_id = p.run_id"
        " RETURNING l.project_id, l.run_id, l.fence, p.orphan"};
    AUTO_FREE char *node = node_of(db->store->node_id);
    AUTO_DB_ARGS args = {0};

    db_arg_text(&args, db->store->node_id);
    db_arg_text(&args, node);
    db_arg_bool(&args, scope == CLAIM_ALL);
    db_arg_int(&args, db->store->lease_us);
    db_arg_int(&args, (int64_t)limit);
    return db_exec(db, &claim, &args, ret_rows, err);
}

/* A run that has ended should have no lease. One that does loses it here. */
static enum err_code drop_lease(struct db *db, const struct tenant *tenant, const char *run_id,
                                struct err *err)
{
    static const struct db_statement drop = {
        "drop_lease", "DELETE FROM run_leases WHERE project_id = $1 AND run_id = $2"};
    AUTO_DB_ARGS args = {0};

    log_warn("run %s had a lease although it has ended", run_id);
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, run_id);
    return db_exec(db, &drop, &args, NULL, err);
}

/* attempts counts the owners that died with this run; a run that kills its servers is given up
 * in recovery. One that was released or waited for its client costs no attempt. */
static enum err_code claim_run(struct db *db, const struct db_rows *leases, size_t row,
                               struct run_load *load, struct err *err)
{
    static const struct db_statement take = {
        "claim_run",
        "UPDATE runs r SET attempts = r.attempts + $3 WHERE r.project_id = $1"
        " AND r.id = $2 AND r.status IN ('queued', 'in_progress', 'requires_action',"
        "  'cancelling') RETURNING " RUN_COLUMNS};
    const struct tenant tenant = tenant_of_project(db_text(leases, row, 0));
    const char *run_id = db_text(leases, row, 1);
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, &tenant);
    db_arg_text(&args, run_id);
    db_arg_int(&args, db_bool(leases, row, 3));
    rc = db_exec(db, &take, &args, &rows, err);
    if (rc)
        return rc;
    if (db_count(rows) == 0)
        return drop_lease(db, &tenant, run_id, err);
    run_read(rows, 0, &load->run);
    load->fence = db_int(leases, row, 2);
    return lease_read_log(db, &tenant, run_id, load, err);
}

/* A lease whose run has ended leaves an empty place, which the next run fills. */
static enum err_code claim_in(struct db *db, enum claim_scope scope, size_t limit,
                              size_t context_limit, struct run_load *loads, size_t *ret_count,
                              struct err *err)
{
    uint64_t begun = clock_mono_ns();
    AUTO_DB_ROWS *leases = NULL;
    enum err_code rc;

    rc = claim_leases(db, scope, limit, &leases, err);
    if (!rc)
        rc = lease_refuse_late(db, begun, err);
    if (rc)
        return rc;
    for (size_t i = 0; !rc && i < db_count(leases); i++) {
        struct run_load *load = &loads[*ret_count];
        struct tenant tenant;

        rc = claim_run(db, leases, i, load, err);
        if (load->run.id[0])
            ++*ret_count;
        if (rc || !load->run.id[0])
            continue;
        tenant = tenant_of_project(load->run.project);
        rc = load_rest(db, &tenant, &(struct load_span){.items = context_limit}, load, err);
    }
    return rc ? rc : db_commit(db, err);
}

static int by_age(const void *a, const void *b)
{
    const struct run_load *left = a, *right = b;

    if (left->run.created_at != right->run.created_at)
        return left->run.created_at < right->run.created_at ? -1 : 1;
    return strcmp(left->run.id, right->run.id);
}

enum err_code store_runs_claim(struct store *store, enum claim_scope scope, size_t limit,
                               size_t context_limit, struct run_load **ret_loads,
                               size_t *ret_count, struct err *err)
{
    struct run_load *loads = mem_new_array(struct run_load, limit + 1);
    AUTO_DB *db = NULL;
    size_t count = 0;
    enum err_code rc;

    rc = db_begin(store, &db, err);
    if (!rc)
        rc = claim_in(db, scope, limit, context_limit, loads, &count, err);
    if (rc) {
        for (size_t i = 0; i < count; i++)
            run_load_clear(&loads[i]);
        free(loads);
        return rc;
    }
    qsort(loads, count, sizeof(*loads), by_age);
    for (size_t i = 0; i < count; i++)
        store_wake_others(store, WAKEUP_MOVED, loads[i].run.id);
    *ret_loads = loads;
    *ret_count = count;
    return ERR_OK;
}

/* ---- Foreground responses of a dead node ---- */

static enum err_code fail_foreground(struct db *db, enum claim_scope scope, size_t *ret_count,
                                     struct err *err)
{
    static const struct db_statement fail = {
        "store_runs_fail_foreground",
        "WITH dead AS MATERIALIZED (SELECT project_id, run_id FROM run_leases"
        "  WHERE foreground AND (" IS_ORPHAN " OR owner IS NULL)"
        "  ORDER BY run_id FOR UPDATE SKIP LOCKED),"
        " dropped AS (DELETE FROM run_leases l USING dead d"
        "  WHERE l.project_id = d.project_id AND l.run_id = d.run_id)"
        " UPDATE runs r SET status = 'failed', failed_at = $4, required_action = NULL,"
        "  error = '{\"code\":\"server_error\",\"message\":"
        "\"The server stopped while it was working on this response.\"}'"
        " FROM dead d WHERE r.project_id = d.project_id AND r.id = d.run_id"
        "  AND r.status IN ('queued', 'in_progress', 'requires_action', 'cancelling')"};
    AUTO_FREE char *node = node_of(db->store->node_id);
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_text(&args, db->store->node_id);
    db_arg_text(&args, node);
    db_arg_bool(&args, scope == CLAIM_ALL);
    db_arg_int(&args, clock_wall_us());
    rc = db_exec(db, &fail, &args, &rows, err);
    if (rc)
        return rc;
    *ret_count = db_changed(rows);
    return ERR_OK;
}

enum err_code store_runs_fail_foreground(struct store *store, enum claim_scope scope,
                                         size_t *ret_count, struct err *err)
{
    uint64_t begun = clock_mono_ns();
    AUTO_DB *db = NULL;
    enum err_code rc;

    rc = db_begin(store, &db, err);
    if (!rc)
        rc = fail_foreground(db, scope, ret_count, err);
    if (!rc)
        rc = lease_refuse_late(db, begun, err);
    return rc ? rc : db_commit(db, err);
}
