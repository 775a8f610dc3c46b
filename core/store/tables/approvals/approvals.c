/*
 * Questions and their answers, as rows of `approvals`.
 *
 * Two columns say how far a question has come. `status` moves once, from pending to approved or
 * rejected, by the first answer. `used_by` names the run that continues with the answer:
 *
 *   asked by                       used_by until it is answered   with the answer
 *   a run of a thread              NULL                           the run itself
 *   a response                     NULL                           the response that takes it up
 *   a response that waits for it   the response itself            the same, or NULL if it has left
 *
 * Answers come with submit_tool_outputs (a run of a thread), with the next response (a
 * response), by the list of approvals (both), and from a grant that covers the question
 * (approval_cover.c). All of them lock the row first, then look at its status. So of two answers
 * at the same time one is first; the other finds the question decided. The same answer again is
 * no error, because a client whose request had no answer sends it again. Another answer is
 * refused.
 *
 * "Expired" is in no row. A pending question has expired when no run can use its answer any
 * more, and that follows from the rows of its run (APPROVAL_STATUS in columns.h). Stored, it
 * would have to be written wherever a run ends, also where it ends by a crash, and would be
 * wrong until then.
 *
 * Taking up. A response that is made with answers takes them up in its own transaction: used_by
 * is set if and only if the response exists. If that response then fails or is cancelled,
 * another one may take the same answer up; `lost` then says that the tool may have run already,
 * and it is not executed a second time.
 *
 * Locks: questions in the order of their ids, after the thread and the lease, before items and
 * variables. Decided against: SELECT ... FOR UPDATE by whatever order the plan gives. Two
 * responses that take up the same questions would wait for each other.
 */

#include "core/store/tables/approvals/approvals.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/domain/tenant.h"
#include "core/store/pg/batch.h"
#include "core/store/pg/db.h"
#include "core/store/pg/page.h"
#include "core/store/tables/approvals/approval_cover.h"
#include "core/store/tables/approvals/approval_results.h"
#include "core/store/tables/approvals/approval_sql.h"
#include "core/store/tables/approvals/grant_sql.h"
#include "core/store/tables/columns.h"

static enum err_code not_found(const char *id, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "Approval request with id '%.64s' not found.", id);
}

/* ---- Those that wait ---- */

static enum err_code read_all(struct store *store, const struct db_statement *statement,
                              struct db_args *args, struct approval_row **ret_rows,
                              size_t *ret_count, struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = db_once(store, statement, args, &rows, err);

    if (!rc)
        *ret_rows = approval_rows_read(rows, ret_count);
    return rc;
}

/* Without those that the response waits for itself: no other response can answer them. */
enum err_code store_approvals_of_run(struct store *store, const struct tenant *tenant,
                                     const char *run_id, struct approval_row **ret_rows,
                                     size_t *ret_count, struct err *err)
{
    static const struct db_statement select = {
        "store_approvals_of_run", "SELECT " APPROVAL_COLUMNS " FROM approvals a"
                                  " WHERE a.project_id = $1 AND a.run_id = $2"
                                  " AND (a.used_by IS NULL OR a.used_by <> a.run_id)"
                                  " ORDER BY a.id"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, run_id);
    return read_all(store, &select, &args, ret_rows, ret_count, err);
}

enum err_code store_approvals_named(struct store *store, const struct tenant *tenant,
                                    const char *run_id, const char *const *ids, size_t id_count,
                                    struct approval_row **ret_rows, size_t *ret_count,
                                    struct err *err)
{
    static const struct db_statement select = {"store_approvals_named",
                                               "SELECT " APPROVAL_COLUMNS " FROM approvals a"
                                               " WHERE a.project_id = $1 AND a.run_id = $2"
                                               " AND a.id = ANY ($3::text[])"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, run_id);
    db_arg_texts(&args, ids, id_count);
    return read_all(store, &select, &args, ret_rows, ret_count, err);
}

enum err_code store_approvals_left(struct store *store, const struct tenant *tenant,
                                   const char *const *ids, size_t id_count,
                                   struct approval_row **ret_rows, size_t *ret_count,
                                   struct err *err)
{
    static const struct db_statement select = {
        "store_approvals_left", "SELECT " APPROVAL_COLUMNS " FROM approvals a"
                                " WHERE a.project_id = $1 AND a.id = ANY ($2::text[])"
                                " AND a.run_id LIKE 'resp%'"
                                " AND (a.used_by IS NULL OR a.used_by <> a.run_id)"
                                " ORDER BY a.id"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_texts(&args, ids, id_count);
    return read_all(store, &select, &args, ret_rows, ret_count, err);
}

/* A run of the same thread waits for submit_tool_outputs and for nothing else. Questions of a
 * response that then ended badly were never shown to a client that could answer them. */
enum err_code store_approvals_of_thread(struct store *store, const struct tenant *tenant,
                                        const char *thread_id, const char *last_run,
                                        struct approval_row **ret_rows, size_t *ret_count,
                                        struct err *err)
{
    static const struct db_statement select = {
        "store_approvals_of_thread",
        "SELECT " APPROVAL_COLUMNS " FROM approvals a"
        " WHERE a.project_id = $1 AND a.thread_id = $2 AND a.used_by IS NULL"
        " AND a.run_id LIKE 'resp%' AND NOT " APPROVAL_RUN_FAILED
        " UNION ALL SELECT " APPROVAL_COLUMNS " FROM approvals a"
        " WHERE a.project_id = $1 AND a.run_id = $3 AND a.thread_id = $2"
        " AND EXISTS (SELECT FROM runs r WHERE r.project_id = a.project_id"
        "  AND r.id = a.used_by AND r.status IN ('failed', 'cancelled'))"
        " ORDER BY id"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, thread_id);
    db_arg_text(&args, last_run);
    return read_all(store, &select, &args, ret_rows, ret_count, err);
}

/* ---- Answers ---- */

static enum approval_event event_of(const struct approval_answer *answer)
{
    return answer->approve ? APPROVAL_EV_APPROVE : APPROVAL_EV_REJECT;
}

static enum err_code already_decided(const char *id, enum approval_status status,
                                     struct err *err)
{
    return err_refuse(err, ERR_TAKEN, REASON_DECIDED, NULL,
                      "Approval request '%.64s' was already decided: it is %s.", id,
                      approval_status_name(status));
}

static enum err_code check_decision(const char *id, enum approval_status status,
                                    const struct approval_answer *answer, struct err *err)
{
    if (approval_status_next(status, event_of(answer)) != APPROVAL_STATUS_NONE)
        return ERR_OK;
    return already_decided(id, status, err);
}

/* Locks the questions and reads what decides about them: the status, who uses it, whether that
 * run may still use it (after one that ended badly, another may take up the same answer), and
 * whose it is. A question that is missing was never stored, or is about to be: the caller counts
 * the rows. */
static enum err_code lock_answered(struct db *db, const struct tenant *tenant,
                                   const char *const *ids, size_t count,
                                   struct db_rows **ret_rows, struct err *err)
{
    static const struct db_statement lock = {
        "approvals_lock",
        "SELECT a.id, " APPROVAL_STATUS ", a.used_by, EXISTS (SELECT FROM runs r"
        "  WHERE r.project_id = a.project_id AND r.id = a.used_by"
        "  AND r.status NOT IN ('failed', 'cancelled')), a.run_id"
        " FROM approvals a WHERE a.project_id = $1 AND a.id = ANY ($2::text[])"
        " ORDER BY a.id FOR UPDATE OF a"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_texts(&args, ids, count);
    return db_exec(db, &lock, &args, ret_rows, err);
}

/* It is among these: the statement selected no other. */
static size_t place_of(const struct approval_answer *answers, size_t count, const char *id)
{
    size_t at = 0;

    while (at + 1 < count && strcmp(answers[at].id, id) != 0)
        at++;
    return at;
}

static bool has_row(const struct db_rows *rows, const char *id)
{
    for (size_t row = 0; row < db_count(rows); row++)
        if (strcmp(db_text(rows, row, 0), id) == 0)
            return true;
    return false;
}

/* The first one that is missing. */
static const char *missing_of(const struct db_rows *rows, const struct approval_answer *answers,
                              size_t count)
{
    size_t i = 0;

    while (i + 1 < count && has_row(rows, answers[i].id))
        i++;
    return answers[i].id;
}

static enum err_code check_locked(const struct db_rows *rows, struct approval_answer *answers,
                                  size_t count, struct err *err)
{
    if (db_count(rows) != count)
        return not_found(missing_of(rows, answers, count), err);
    for (size_t row = 0; row < count; row++) {
        const char *id = db_text(rows, row, 0);
        struct approval_answer *answer = &answers[place_of(answers, count, id)];
        enum err_code rc =
            check_decision(id, approval_status_parse(db_text(rows, row, 1)), answer, err);

        if (!rc && (db_bool(rows, row, 3) || (!answer->seen_used && !db_is_null(rows, row, 2))))
            rc =
                err_refuse(err, ERR_TAKEN, REASON_USED, NULL,
                           "Approval request '%.64s' was already taken up by response '%.64s'.",
                           id, db_text(rows, row, 2));
        if (rc)
            return rc;
        answer->lost = !db_is_null(rows, row, 2);
    }
    return ERR_OK;
}

/* The rows are locked, and the answers fit what they say. An answer that is repeated changes
 * neither the reason nor the time of the first one. What a decided result changes in its item
 * and variables follows in the same transaction. */
static enum err_code put_answers(struct db *db, const struct tenant *tenant,
                                 const char *used_by, const struct approval_answer *answers,
                                 size_t count, struct err *err)
{
    static const struct db_statement put = {
        "approvals_decide",
        "UPDATE approvals a SET status = u.status, used_by = coalesce($5, a.used_by),"
        " reason = CASE a.status WHEN 'pending' THEN u.reason ELSE a.reason END,"
        " decided_at = coalesce(a.decided_at, $6)"
        " FROM unnest($2::text[], $3::text[], $4::text[]) u (id, status, reason)"
        " WHERE a.project_id = $1 AND a.id = u.id"};
    AUTO_FREE const char **ids = mem_new_array(const char *, count + 1);
    AUTO_BATCH batch = {0};
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    if (!count)
        return ERR_OK;
    for (size_t i = 0; i < count; i++) {
        ids[i] = answers[i].id;
        batch_begin(&batch);
        batch_text(&batch, answers[i].id);
        batch_text(&batch, approval_status_name(
                               approval_status_next(APPROVAL_PENDING, event_of(&answers[i]))));
        batch_text(&batch, answers[i].reason);
    }
    db_arg_tenant(&args, tenant);
    batch_finish(&batch, &args);
    db_arg_id(&args, used_by);
    db_arg_int(&args, clock_wall_us());
    rc = db_exec(db, &put, &args, NULL, err);
    return rc ? rc : approval_results_apply(db, tenant, ids, count, err);
}

/* `run_id`: the caller's, as for approvals_cover(). */
static enum err_code put_grants(struct db *db, const struct tenant *tenant,
                                const struct approval_grants *grants, const char *run_id,
                                size_t *ret_own, struct err *err)
{
    enum err_code rc;
    const struct row_owner owner = {.tenant = tenant, .run_id = ""};
    AUTO_BATCH batch = {0};
    AUTO_DB_ARGS args = {0};

    *ret_own = 0;
    if (!grants || !grants->count)
        return ERR_OK;
    for (size_t i = 0; i < grants->count; i++)
        grant_add(&batch, &owner, &grants->rows[i]);
    batch_finish(&batch, &args);
    rc = db_exec(db, &grants_upsert, &args, NULL, err);
    return rc ? rc : approvals_cover(db, tenant, grants, run_id, ret_own, err);
}

/* Checks everything before it writes anything: of several answers either all are taken up or
 * none is, and the error names the first one at fault. */
enum err_code approvals_take(struct db *db, const struct tenant *tenant,
                             const char *response_id, struct approval_answer *answers,
                             size_t count, const struct approval_grants *grants,
                             struct err *err)
{
    AUTO_FREE const char **ids = mem_new_array(const char *, count + 1);
    AUTO_DB_ROWS *rows = NULL;
    size_t none;
    enum err_code rc;

    if (!count)
        return ERR_OK;
    for (size_t i = 0; i < count; i++)
        ids[i] = answers[i].id;
    rc = lock_answered(db, tenant, ids, count, &rows, err);
    if (!rc)
        rc = check_locked(rows, answers, count, err);
    if (!rc)
        rc = put_answers(db, tenant, response_id, answers, count, err);
    return rc ? rc : put_grants(db, tenant, grants, "", &none, err);
}

enum err_code store_approvals_take(struct store *store, const struct tenant *tenant,
                                   const char *response_id, struct approval_answer *answers,
                                   size_t count, const struct approval_grants *grants,
                                   struct err *err)
{
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = approvals_take(db, tenant, response_id, answers, count, grants, err);
    return rc ? rc : db_commit(db, err);
}

/* ---- One, and lists ---- */

enum err_code store_approval_get(struct store *store, const struct tenant *tenant,
                                 const char *id, struct approval_row *ret_row, struct err *err)
{
    static const struct db_statement select = {"store_approval_get",
                                               "SELECT " APPROVAL_COLUMNS " FROM approvals a"
                                               " WHERE a.project_id = $1 AND a.id = $2"};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = db_find_by_id(store, &select, tenant, id, not_found, &rows, err);

    if (!rc)
        approval_read(rows, 0, ret_row);
    return rc;
}

#define APPROVAL_LIST(condition, order)                         \
    "SELECT " APPROVAL_COLUMNS " FROM approvals a"              \
    " WHERE a.project_id = $1 AND " condition                   \
    " AND a.id > coalesce($3, '') AND a.id < coalesce($4, '~')" \
    " ORDER BY a.id " order " LIMIT $5"

#define OF_ALL "$2::text = ''"
/* The stored status leads to few rows by the index approvals_status. */
#define OF_STATUS                                                    \
    "a.status = (CASE $2 WHEN 'expired' THEN 'pending' ELSE $2 END)" \
    " AND ($2 = " APPROVAL_STATUS ")"

/* A cursor may have another status than the list: a client that pages answers meanwhile. */
enum err_code store_approval_list(struct store *store, const struct tenant *tenant,
                                  enum approval_status status, const struct page *page,
                                  struct approval_row **ret_rows, size_t *ret_count,
                                  bool *ret_more, struct err *err)
{
    static const struct db_statement all[] = {
        {"store_approval_list_desc", APPROVAL_LIST(OF_ALL, "DESC")},
        {"store_approval_list_asc", APPROVAL_LIST(OF_ALL, "ASC")},
    };
    static const struct db_statement some[] = {
        {"store_approval_list_status_desc", APPROVAL_LIST(OF_STATUS, "DESC")},
        {"store_approval_list_status_asc", APPROVAL_LIST(OF_STATUS, "ASC")},
    };
    static const struct page_list cursor = {
        {"store_approval_list_cursor",
         "SELECT 1 FROM approvals WHERE project_id = $1 AND $2::text IS NOT NULL AND id = $3"},
        "mcpr_"};
    const char *wanted = status ? approval_status_name(status) : "";
    AUTO_DB_ROWS *rows = NULL;
    struct page_scan scan;
    enum err_code rc =
        page_read(store, status ? some : all, &cursor, tenant, wanted, page, &scan, &rows, err);

    if (!rc)
        page_unroll(&scan, rows, approval_read, ret_rows, ret_count, ret_more);
    return rc;
}

/* ---- Deciding ---- */

static enum err_code lock_one(struct db *db, const struct tenant *tenant,
                              const struct approval_answer *answer,
                              enum approval_status *ret_status, struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = lock_answered(db, tenant, &answer->id, 1, &rows, err);

    if (rc)
        return rc;
    if (db_count(rows) == 0)
        return not_found(answer->id, err);
    *ret_status = approval_status_parse(db_text(rows, 0, 1));
    return check_decision(answer->id, *ret_status, answer, err);
}

static enum err_code decide(struct store *store, const struct tenant *tenant,
                            const struct approval_answer *answer,
                            const struct approval_grants *grants, struct err *err)
{
    enum approval_status status;
    AUTO_DB *db = NULL;
    size_t none;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = lock_one(db, tenant, answer, &status, err);
    if (!rc)
        rc = put_answers(db, tenant, "", answer, 1, err);
    if (!rc)
        rc = put_grants(db, tenant, grants, "", &none, err);
    return rc ? rc : db_commit(db, err);
}

enum err_code store_approval_decide(struct store *store, const struct tenant *tenant,
                                    const struct approval_answer *answer,
                                    const struct approval_grants *grants,
                                    struct approval_row *ret_row, struct err *err)
{
    enum err_code rc = decide(store, tenant, answer, grants, err);

    return rc ? rc : store_approval_get(store, tenant, answer->id, ret_row, err);
}

/* The pending ones among the locked questions of the run; the caller has room for all. Questions
 * of other runs are skipped: an id of a function's call may look like one. An expired question
 * accepts a repeated answer, but no grant: nothing new is to be remembered after its end. */
static enum err_code find_first(const struct db_rows *rows, const char *run_id,
                                const struct approval_answer *answers, size_t count,
                                const struct approval_grants *grants,
                                struct approval_answer *ret_first, size_t *ret_count,
                                struct err *err)
{
    *ret_count = 0;
    for (size_t row = 0; row < db_count(rows); row++) {
        const char *id = db_text(rows, row, 0);
        const struct approval_answer *answer = &answers[place_of(answers, count, id)];
        enum approval_status status = approval_status_parse(db_text(rows, row, 1));
        enum err_code rc;

        if (strcmp(db_text(rows, row, 4), run_id) != 0)
            continue;
        rc = check_decision(id, status, answer, err);
        if (!rc && status == APPROVAL_EXPIRED && grants && grants->count)
            rc = already_decided(id, status, err);
        if (rc)
            return rc;
        if (status == APPROVAL_PENDING)
            ret_first[(*ret_count)++] = *answer;
    }
    return ERR_OK;
}

enum err_code approvals_decide_of_run(struct db *db, const struct tenant *tenant,
                                      const char *run_id, const struct approval_answer *answers,
                                      size_t count, const struct approval_grants *grants,
                                      size_t *ret_first, struct err *err)
{
    AUTO_FREE const char **ids = mem_new_array(const char *, count + 1);
    AUTO_FREE struct approval_answer *first = mem_new_array(struct approval_answer, count + 1);
    AUTO_DB_ROWS *rows = NULL;
    size_t own = 0;
    enum err_code rc;

    for (size_t i = 0; i < count; i++)
        ids[i] = answers[i].id;
    rc = lock_answered(db, tenant, ids, count, &rows, err);
    if (!rc)
        rc = find_first(rows, run_id, answers, count, grants, first, ret_first, err);
    if (!rc)
        rc = put_answers(db, tenant, run_id, first, *ret_first, err);
    if (!rc)
        rc = put_grants(db, tenant, grants, run_id, &own, err);
    if (!rc)
        *ret_first += own;
    return rc;
}

static enum err_code check_repeat(const struct db_rows *rows,
                                  const struct approval_answer *answers, size_t count,
                                  bool *ret_decided, struct err *err)
{
    *ret_decided = db_count(rows) == count;
    for (size_t row = 0; row < db_count(rows); row++) {
        const char *id = db_text(rows, row, 0);
        enum approval_status status = approval_status_parse(db_text(rows, row, 1));
        enum err_code rc =
            check_decision(id, status, &answers[place_of(answers, count, id)], err);

        if (rc)
            return rc;
        if (status == APPROVAL_PENDING)
            *ret_decided = false;
    }
    return ERR_OK;
}

enum err_code approvals_repeat(struct db *db, const struct tenant *tenant,
                               const struct approval_answer *answers, size_t count,
                               bool *ret_decided, struct err *err)
{
    AUTO_FREE const char **ids = mem_new_array(const char *, count + 1);
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc;

    for (size_t i = 0; i < count; i++)
        ids[i] = answers[i].id;
    rc = lock_answered(db, tenant, ids, count, &rows, err);
    return rc ? rc : check_repeat(rows, answers, count, ret_decided, err);
}
