/*
 * What a new grant answers besides the question that it was made for.
 *
 * "Always allow reads below /data" is given as the answer to one question. Others of the same
 * project may be pending at that moment for which it is just as good an answer: of other calls
 * of the run, of other runs, of responses. They are approved at once, so that no person is asked
 * what has been answered.
 *
 * The steps, each a statement in the transaction that stores the grant:
 *
 *   find     questions for a permission that the new grants touch and all grants together cover
 *   lock     the leases of their runs of threads, if those can be had without waiting
 *   decide   the questions that are still pending, if those can be had without waiting
 *   move     the runs: their calls have an output; a run that requires nothing else is queued
 *
 * A question is covered only if each of its patterns is covered by an approving grant and by no
 * refusing one. At least one of the new grants must be about the question's tool; the rest may
 * be older.
 *
 * Why nothing waits. The caller holds locks already, those of its own run and questions. The
 * runs found here come in no order relative to them: two answers that cover each other's
 * questions would wait for each other for ever. With SKIP LOCKED a row that another transaction
 * holds is passed over. That transaction is deciding the question itself, or moving its run. A
 * question that is missed all the same stays pending: a person is asked once too often, and
 * nothing is approved that should not be.
 *
 * The recheck. A question may be committed after find_questions() and before the grant's commit,
 * when its run has looked for grants already: neither has seen the other. So the grant looks
 * again after its commit (plan_recheck()), and so does a stored question
 * (store_approvals_cover_run()). Of the two commits one is later, and the check after it sees
 * both.
 *
 * Checks that are owed. A check may be lost: its node dies between the two commits, the store does not answer, or a row
 * is passed over and the transaction that holds it is rolled back. So each commit notes in approval_checks that a check
 * is owed. The check removes the note if it has missed nothing. A keeper makes up for those that are left
 * (store_approvals_check_again()).
 *
 * Runs are moved but not loaded. An answer may release hundreds of them, and the request that
 * brought it must not build their contexts. They are queued without an owner, and any keeper
 * claims them. A crash in between changes nothing: they are in the database, claimable.
 *
 * Decided against: an advisory lock of the project, held shared by grants and exclusively by
 * questions. That made a store writer, and with it all runs of its group, wait for a person's
 * request.
 *
 * Decided against: to look at grants only when a run resumes or holds. A run that requires an action is in no node's
 * memory, and only an answer resumes it. So it would stay pending beside a grant that covers it, until a person answers
 * what has been answered. The statements here run only when an answer is remembered, which is rare.
 */

#include "core/store/tables/approvals/approval_cover.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/domain/tenant.h"
#include "core/store/tables/approvals/grant_sql.h"

/* The output that a client would have submitted. */
#define APPROVAL "{\"approve\":true}"

/* clang-format off */

/* The memory of a question is read once, and only for questions about one of these tools. */
#define QUESTIONS "approvals w CROSS JOIN LATERAL (SELECT w.memory::jsonb AS memory OFFSET 0) m"

/* Questions that wait for a permission and for nothing else. */
#define IS_WAITING \
    "w.project_id = $1 AND w.status = 'pending' AND w.kind = 'permission' AND w.policy = 'auto'"

#define IS_FOR_QUESTION \
    "g.project_id = $1 AND g.match = 'pattern' AND g.definition = w.definition" \
    " AND g.tool = m.memory ->> 'tool' AND g.type = m.memory ->> 'type'" \
    " AND g.scope_id = m.memory -> 'scopes' ->> g.scope" \
    " AND (g.expires_at IS NULL OR g.expires_at > $3)"

/* One of the grants $2 is for the question, and together they cover it at the time $3: no
 * pattern is left for which no grant is found (bool_and of no rows is NULL) or for which one
 * refuses. */
#define IS_COVERED \
    "EXISTS (SELECT FROM approval_grants g WHERE g.id = ANY ($2::text[])" \
    "  AND g.approve AND " IS_FOR_QUESTION ")" \
    " AND NOT EXISTS (SELECT FROM" \
    "  jsonb_array_elements_text(m.memory -> 'patterns') p (words)" \
    "  WHERE NOT coalesce((SELECT bool_and(g.approve) FROM approval_grants g" \
    "   WHERE " IS_FOR_QUESTION " AND " GRANT_COVERS("p.words") "), false))"

#define RUN_OF_IT "SELECT FROM runs r WHERE r.project_id = w.project_id AND r.id = w.run_id"

/* A response: its questions are left for the next one, or held by itself. A held one is open
 * only while its response still waits. */
#define IS_OPEN \
    "CASE WHEN w.used_by IS NULL" \
    " THEN NOT EXISTS (" RUN_OF_IT " AND r.status IN ('failed', 'cancelled', 'expired'))" \
    " ELSE w.used_by = w.run_id" \
    "  AND EXISTS (" RUN_OF_IT " AND r.status IN ('queued', 'in_progress')) END"

/* A run of a thread that is not about to expire. */
#define IS_REQUIRED \
    "EXISTS (" RUN_OF_IT " AND r.status = 'requires_action'" \
    " AND (r.expires_at IS NULL OR r.expires_at > $3))"

/* clang-format on */

/* Sized for the answers that fill them; the texts belong to the rows. */
struct covered {
    const char **call_ids; /* the questions of runs of threads */
    const char **call_runs;
    size_t call_count;
    const char **others; /* these runs without the caller's, each once */
    size_t other_count;
};

static void covered_clear(struct covered *covered)
{
    free(covered->call_ids);
    free(covered->call_runs);
    free(covered->others);
}

/* The grants that hold from now on. */
struct allowed {
    const char **grants;
    const char **definitions; /* the definitions of the grants' tools */
    size_t count;
};

/* The checks that a transaction makes up for: ids of questions and grants. Sized by their maker. */
struct owed {
    const char **ids;
    size_t count;
};

static void owed_clear(struct owed *owed)
{
    free(owed->ids);
}

static void allowed_clear(struct allowed *allowed)
{
    free(allowed->grants);
    free(allowed->definitions);
}

static void allowed_init(struct allowed *allowed, size_t room)
{
    allowed->grants = mem_new_array(const char *, room + 1);
    allowed->definitions = mem_new_array(const char *, room + 1);
    allowed->count = 0;
}

static void allow(struct allowed *allowed, const char *grant, const char *definition)
{
    allowed->grants[allowed->count] = grant;
    allowed->definitions[allowed->count++] = definition;
}

/* ---- What is covered ---- */

/* The caller's own run comes first, so that the limit never cuts its questions off. */
static enum err_code find_questions(struct db *db, const struct tenant *tenant,
                                    const struct allowed *allowed, const char *run_id,
                                    struct db_rows **ret_rows, struct err *err)
{
    static const struct db_statement find = {
        "cover_find",
        "SELECT w.id, w.run_id FROM " QUESTIONS " WHERE " IS_WAITING
        " AND w.definition = ANY ($4::text[]) AND " IS_COVERED
        " AND CASE WHEN w.run_id LIKE 'run%' THEN " IS_REQUIRED " ELSE " IS_OPEN " END"
        " ORDER BY w.run_id <> $5, w.run_id LIMIT $6"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_texts(&args, allowed->grants, allowed->count);
    db_arg_int(&args, clock_wall_us());
    db_arg_texts(&args, allowed->definitions, allowed->count);
    db_arg_text(&args, run_id);
    db_arg_int(&args, COVER_QUESTION_LIMIT);
    return db_exec(db, &find, &args, ret_rows, err);
}

static void add_column(struct db_args *args, const struct db_rows *rows, int column)
{
    AUTO_FREE const char **texts = mem_new_array(const char *, db_count(rows) + 1);

    for (size_t i = 0; i < db_count(rows); i++)
        texts[i] = db_text(rows, i, column);
    db_arg_texts(args, texts, db_count(rows));
}

/* A statement of its own: what is read of a run afterwards stays true while this transaction
 * holds its lease. Only a run without an owner waits for its client. One that has been claimed
 * meanwhile has its answer, or is being ended. */
static enum err_code lock_runs(struct db *db, const struct tenant *tenant,
                               const struct db_rows *found, const char *run_id,
                               struct db_rows **ret_rows, struct err *err)
{
    static const struct db_statement lock = {
        "cover_lock_runs",
        "SELECT l.run_id FROM run_leases l WHERE l.project_id = $1 AND l.owner IS NULL"
        " AND l.run_id = ANY ($2::text[]) AND l.run_id LIKE 'run%'"
        " ORDER BY l.run_id <> $3, l.run_id LIMIT $4 FOR UPDATE SKIP LOCKED"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    add_column(&args, found, 1);
    db_arg_text(&args, run_id);
    db_arg_int(&args, COVER_RUN_LIMIT);
    return db_exec(db, &lock, &args, ret_rows, err);
}

/* Decides them like an answer, if they still wait; what find_questions() saw may be over by now.
 * A run of a thread takes its own answers up. A response leaves them to the next one. */
static enum err_code decide(struct db *db, const struct tenant *tenant,
                            const struct db_rows *found, const struct db_rows *runs,
                            struct db_rows **ret_rows, struct err *err)
{
    static const struct db_statement cover = {
        "approvals_cover",
        "UPDATE approvals a SET status = 'approved', decided_at = $3,"
        "  used_by = CASE WHEN a.run_id LIKE 'run%' THEN a.run_id ELSE a.used_by END"
        " WHERE a.project_id = $1 AND a.id = ANY (ARRAY(SELECT w.id FROM approvals w"
        "  WHERE w.project_id = $1 AND w.id = ANY ($2::text[]) AND w.status = 'pending'"
        "   AND CASE WHEN w.run_id LIKE 'run%' THEN w.run_id = ANY ($4::text[])"
        "    AND " IS_REQUIRED " ELSE " IS_OPEN " END FOR UPDATE OF w SKIP LOCKED))"
        " RETURNING a.id, a.run_id, a.run_id LIKE 'run%', coalesce(a.used_by = a.run_id, "
        "false)"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    add_column(&args, found, 0);
    db_arg_int(&args, clock_wall_us());
    add_column(&args, runs, 0);
    return db_exec(db, &cover, &args, ret_rows, err);
}

static void sort_covered(struct db *db, const struct db_rows *rows, struct covered *covered)
{
    size_t count = db_count(rows);

    covered->call_ids = mem_new_array(const char *, count + 1);
    covered->call_runs = mem_new_array(const char *, count + 1);
    for (size_t i = 0; i < count; i++) {
        if (db_bool(rows, i, 2)) {
            covered->call_ids[covered->call_count] = db_text(rows, i, 0);
            covered->call_runs[covered->call_count++] = db_text(rows, i, 1);
        } else if (db_bool(rows, i, 3)) {
            db_wake(db, WAKEUP_ANSWERED, db_text(rows, i, 1));
        }
    }
}

/* ---- Runs of threads ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t split_own(struct covered *covered, const char *run_id)
{
    size_t own = 0;

    covered->others = mem_new_array(const char *, covered->call_count + 1);
    memcpy(covered->others, covered->call_runs, covered->call_count * sizeof(*covered->others));
    qsort(covered->others, covered->call_count, sizeof(*covered->others), by_text);
    for (size_t i = 0; i < covered->call_count; i++) {
        const char *one = covered->others[i];

        if (strcmp(one, run_id) == 0)
            own++;
        else if (i == 0 || strcmp(one, covered->others[i - 1]) != 0)
            covered->others[covered->other_count++] = one;
    }
    return own;
}

static enum err_code answer_calls(struct db *db, const struct tenant *tenant,
                                  const struct covered *covered, struct err *err)
{
    static const struct db_statement answer = {
        "cover_answer_calls",
        "UPDATE tool_calls c SET output = $4, state = 'done'"
        " FROM unnest($2::text[], $3::text[]) u (run_id, call_id)"
        " WHERE c.project_id = $1 AND c.run_id = u.run_id AND c.call_id = u.call_id"
        " AND c.client AND c.state = 'waiting'"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_texts(&args, covered->call_runs, covered->call_count);
    db_arg_texts(&args, covered->call_ids, covered->call_count);
    db_arg_text(&args, APPROVAL);
    return db_exec(db, &answer, &args, NULL, err);
}

/* Runs that require nothing else continue. submit_hash is cleared, because no client has
 * submitted anything: a later submission must not be taken for a repetition of an earlier
 * one. */
static enum err_code queue_runs(struct db *db, const struct tenant *tenant,
                                const struct covered *covered, struct err *err)
{
    static const struct db_statement move = {
        "cover_queue_runs",
        "WITH moved AS (UPDATE runs r SET status = 'queued', required_action = NULL,"
        "   submit_hash = NULL"
        "  WHERE r.project_id = $1 AND r.id = ANY ($2::text[]) AND r.status = 'requires_action'"
        "   AND NOT EXISTS (SELECT FROM tool_calls c WHERE c.project_id = r.project_id"
        "    AND c.run_id = r.id AND c.client AND c.state = 'waiting')"
        "  RETURNING r.project_id, r.id)"
        " UPDATE run_leases l SET wait_until = NULL FROM moved m"
        " WHERE l.project_id = m.project_id AND l.run_id = m.id RETURNING l.run_id"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_texts(&args, covered->others, covered->other_count);
    rc = db_exec(db, &move, &args, &rows, err);
    if (!rc && db_count(rows))
        db_wake(db, WAKEUP_CLAIM, NULL);
    return rc;
}

/* Filters the list that the client sees, and keeps the order and the objects in it. Done in SQL
 * because it concerns many runs at once, whose rows this node does not have. */
enum err_code runs_require_rest(struct db *db, const struct tenant *tenant,
                                const char *const *run_ids, size_t count, struct err *err)
{
    static const struct db_statement put = {
        "runs_require_rest",
        "UPDATE runs r SET required_action = json_build_object('type', 'submit_tool_outputs',"
        "  'submit_tool_outputs', json_build_object('tool_calls', coalesce("
        "   (SELECT json_agg(a.call ORDER BY a.n) FROM json_array_elements("
        "     r.required_action::json #> '{submit_tool_outputs,tool_calls}')"
        "     WITH ORDINALITY a (call, n)"
        "    WHERE EXISTS (SELECT FROM tool_calls c WHERE c.project_id = r.project_id"
        "     AND c.run_id = r.id AND c.call_id = a.call ->> 'id'"
        "     AND c.client AND c.state = 'waiting')), '[]')))::text"
        " WHERE r.project_id = $1 AND r.id = ANY ($2::text[]) AND r.status = "
        "'requires_action'"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_texts(&args, run_ids, count);
    return db_exec(db, &put, &args, NULL, err);
}

static enum err_code move_runs(struct db *db, const struct tenant *tenant,
                               struct covered *covered, const char *run_id, size_t *ret_own,
                               struct err *err)
{
    enum err_code rc = ERR_OK;

    *ret_own = split_own(covered, run_id);
    if (covered->call_count)
        rc = answer_calls(db, tenant, covered, err);
    if (rc || !covered->other_count)
        return rc;
    rc = queue_runs(db, tenant, covered, err);
    return rc ? rc : runs_require_rest(db, tenant, covered->others, covered->other_count, err);
}

/* ---- All ---- */

/* *ret_all: no question was passed over, and none is left for the limits. */
static enum err_code cover(struct db *db, const struct tenant *tenant,
                           const struct allowed *allowed, const char *run_id, size_t *ret_own,
                           bool *ret_all, struct err *err)
{
    CLEANUP(covered_clear) struct covered covered = {0};
    AUTO_DB_ROWS *found = NULL;
    AUTO_DB_ROWS *runs = NULL;
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = find_questions(db, tenant, allowed, run_id, &found, err);

    if (!rc)
        *ret_all = db_count(found) == 0;
    if (rc || *ret_all)
        return rc;
    rc = lock_runs(db, tenant, found, run_id, &runs, err);
    if (!rc)
        rc = decide(db, tenant, found, runs, &rows, err);
    if (rc)
        return rc;
    *ret_all = db_count(found) < COVER_QUESTION_LIMIT && db_count(rows) == db_count(found);
    sort_covered(db, rows, &covered);
    return move_runs(db, tenant, &covered, run_id, ret_own, err);
}

/* Only grants by pattern answer other questions. */
static void read_allowed(const struct approval_grants *grants, struct allowed *allowed)
{
    allowed_init(allowed, grants->count);
    for (size_t i = 0; i < grants->count; i++) {
        const struct grant_row *grant = &grants->rows[i];

        if (grant->approve && strcmp(grant->match, "pattern") == 0)
            allow(allowed, grant->id, grant->definition);
    }
}

static enum err_code forget(struct db *db, const struct tenant *tenant, const struct owed *owed,
                            struct err *err)
{
    static const struct db_statement remove = {
        "cover_forget",
        "DELETE FROM approval_checks WHERE project_id = $1 AND id = ANY ($2::text[])"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_texts(&args, owed->ids, owed->count);
    return db_exec(db, &remove, &args, NULL, err);
}

/* In a transaction of its own; its caller moves no run. */
static enum err_code cover_alone(struct store *store, const struct tenant *tenant,
                                 const struct allowed *allowed, const struct owed *owed,
                                 struct err *err)
{
    AUTO_DB *db = NULL;
    size_t none = 0;
    bool all = false;
    enum err_code rc = FAULT("cover.check")
                           ? err_set(err, ERR_STORE, "the database broke (fault)")
                           : db_begin(store, &db, err);

    if (!rc)
        rc = cover(db, tenant, allowed, "", &none, &all, err);
    if (!rc && all)
        rc = forget(db, tenant, owed, err);
    return rc ? rc : db_commit(db, err);
}

/* ---- Once more, when the grants are visible to others ---- */

struct recheck {
    const struct tenant *tenant;
    const struct approval_grants *grants;
};

static void recheck_after_commit(struct store *store, void *arg)
{
    const struct recheck *recheck = arg;
    CLEANUP(allowed_clear) struct allowed allowed = {0};
    struct owed owed;
    struct err err;

    read_allowed(recheck->grants, &allowed);
    owed = (struct owed){.ids = allowed.grants, .count = allowed.count};
    if (cover_alone(store, recheck->tenant, &allowed, &owed, &err))
        log_warn("a new grant has not yet answered all pending questions: %s", err.text);
}

static void plan_recheck(struct db *db, const struct tenant *tenant,
                         const struct approval_grants *grants)
{
    struct recheck *recheck = mem_new(struct recheck);

    *recheck = (struct recheck){.tenant = tenant, .grants = grants};
    db_after_commit(db, recheck_after_commit, recheck);
}

static enum err_code owe_checks(struct db *db, const struct tenant *tenant,
                                const struct allowed *allowed, struct err *err)
{
    static const struct db_statement owe = {"cover_owe",
                                            "INSERT INTO approval_checks (project_id, id)"
                                            " SELECT $1, u.id FROM unnest($2::text[]) u (id)"
                                            " ON CONFLICT (project_id, id) DO NOTHING"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_texts(&args, allowed->grants, allowed->count);
    return db_exec(db, &owe, &args, NULL, err);
}

enum err_code approvals_cover(struct db *db, const struct tenant *tenant,
                              const struct approval_grants *grants, const char *run_id,
                              size_t *ret_own, struct err *err)
{
    CLEANUP(allowed_clear) struct allowed allowed = {0};
    bool all = false;
    enum err_code rc;

    *ret_own = 0;
    read_allowed(grants, &allowed);
    if (!allowed.count)
        return ERR_OK;
    rc = owe_checks(db, tenant, &allowed, err);
    if (rc)
        return rc;
    plan_recheck(db, tenant, grants);
    return cover(db, tenant, &allowed, run_id, ret_own, &all, err);
}

/* ---- Questions that come later ---- */

/* Grants that may cover the questions of this run, and then its checks that are owed, without a definition. Without
 * such grants, which is the rule, the checks are over with this statement. All of it sees the same rows: a question
 * that is stored meanwhile keeps its own check. */
static enum err_code find_grants(struct store *store, const struct tenant *tenant,
                                 const char *run_id, struct db_rows **ret_rows, struct err *err)
{
    static const struct db_statement find = {
        "cover_grants",
        "WITH found AS (SELECT DISTINCT g.id, g.definition FROM " QUESTIONS
        " CROSS JOIN approval_grants g WHERE " IS_WAITING
        " AND w.run_id = $2 AND g.approve AND " IS_FOR_QUESTION "),"
        " gone AS (DELETE FROM approval_checks l WHERE l.project_id = $1 AND l.run_id = $2"
        "  AND NOT EXISTS (SELECT FROM found))"
        " SELECT f.id, f.definition FROM found f UNION ALL"
        " SELECT l.id, NULL FROM approval_checks l WHERE l.project_id = $1 AND l.run_id = $2"
        "  AND EXISTS (SELECT FROM found)"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, run_id);
    db_arg_int(&args, clock_wall_us());
    return db_once(store, &find, &args, ret_rows, err);
}

enum err_code store_approvals_cover_run(struct store *store, const struct tenant *tenant,
                                        const char *run_id, struct err *err)
{
    CLEANUP(allowed_clear) struct allowed allowed = {0};
    CLEANUP(owed_clear) struct owed owed = {0};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = find_grants(store, tenant, run_id, &rows, err);

    if (rc || db_count(rows) == 0)
        return rc;
    allowed_init(&allowed, db_count(rows));
    owed.ids = mem_new_array(const char *, db_count(rows));
    for (size_t i = 0; i < db_count(rows); i++) {
        if (db_is_null(rows, i, 1))
            owed.ids[owed.count++] = db_text(rows, i, 0);
        else
            allow(&allowed, db_text(rows, i, 0), db_text(rows, i, 1));
    }
    return cover_alone(store, tenant, &allowed, &owed, err);
}

/* ---- Checks that were lost ---- */

/* What is younger is being made up for by its own node. */
#define YOUNG_SECONDS "2"

static enum err_code find_owed(struct store *store, size_t limit, struct db_rows **ret_rows,
                               struct err *err)
{
    static const struct db_statement find = {
        "checks_find",
        "SELECT l.project_id, l.id, l.run_id, g.definition FROM approval_checks l"
        " LEFT JOIN approval_grants g ON g.project_id = l.project_id AND g.id = l.id"
        " WHERE l.made_at < clock_timestamp() - interval '" YOUNG_SECONDS " s'"
        " ORDER BY l.made_at LIMIT $1"};
    AUTO_DB_ARGS args = {0};

    db_arg_int(&args, (int64_t)limit);
    return db_once(store, &find, &args, ret_rows, err);
}

/* A grant that was revoked allows nothing: its check is over. */
static enum err_code look_again(struct store *store, const struct db_rows *rows, size_t i,
                                struct err *err)
{
    const struct tenant tenant = tenant_of_project(db_text(rows, i, 0));
    CLEANUP(allowed_clear) struct allowed allowed = {0};
    const char *id = db_text(rows, i, 1);
    const struct owed owed = {.ids = &id, .count = 1};

    if (!db_is_null(rows, i, 2))
        return store_approvals_cover_run(store, &tenant, db_text(rows, i, 2), err);
    allowed_init(&allowed, 1);
    if (!db_is_null(rows, i, 3))
        allow(&allowed, id, db_text(rows, i, 3));
    return cover_alone(store, &tenant, &allowed, &owed, err);
}

enum err_code store_approvals_check_again(struct store *store, size_t limit, size_t *ret_count,
                                          struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = find_owed(store, limit, &rows, err);

    /* One that fails does not hold up the others, which may be of other projects. */
    for (size_t i = 0; i < db_count(rows); i++) {
        struct err why = {0};
        enum err_code failed = look_again(store, rows, i, &why);

        if (!failed || rc)
            continue;
        rc = failed;
        if (err)
            *err = why;
    }
    if (!rc)
        *ret_count = db_count(rows);
    return rc;
}
