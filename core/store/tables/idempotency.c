/*
 * Requests that carry a key of their client's, and may be repeated under it.
 *
 * The claim is an INSERT in the transaction that carries the request out. So the key is stored
 * if and only if the request had its effect: one that was refused or rolled back may be repeated
 * under its key, and one that succeeded never has its effect twice, whatever became of its
 * answer.
 *
 * Two requests with one key at the same time. The second INSERT waits until the first
 * transaction has ended. If that was rolled back, the second one carries the request out. If it
 * was committed, the second does nothing, and a statement that begins after the wait finds what
 * the first one made.
 *
 * The key alone is not enough: clients make mistakes with keys. The SHA-256 of the request is
 * stored with it, and a different request under the same key is refused instead of getting the
 * answer of another.
 *
 * A replacement is an UPDATE that names the object which gives way. Of two requests that replace the
 * same object at the same time, the second one waits, and then finds the object of the first.
 *
 * What is stored is the object's id and not the answer. A repeated request gets the object in
 * its present state, as a GET would, and streams continue from the event where the first one
 * began (first_seq). Stored answers would have to be kept for a day each, and would show a state
 * that is over.
 */

#include "core/store/tables/idempotency.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/domain/tenant.h"
#include "core/store/pg/db.h"
#include "core/store/tables/runs/load.h"

static void arg_key(struct db_args *args, const struct tenant *tenant,
                    const struct idempotency *idempotency)
{
    db_arg_tenant(args, tenant);
    db_arg_text(args, idempotency->key);
    db_arg_bytes(args, idempotency->hash, sizeof(idempotency->hash));
}

/* first_seq is the end of the log before this request, 0 for an object without a lease. A run
 * that is being made has none yet at this point. */
static enum err_code take_key(struct db *db, const struct tenant *tenant,
                              const struct idempotency *idempotency, const char *object_id,
                              bool *ret_taken, struct err *err)
{
    static const struct db_statement take = {
        "idempotency_take",
        "INSERT INTO idempotency_keys (project_id, key, hash, object_id, first_seq, created_at)"
        " VALUES ($1, $2, $3, $4, coalesce((SELECT " LEASE_LAST_SEQ " + 1 FROM run_leases l"
        "  WHERE l.project_id = $1 AND l.run_id = $4), 0), $5)"
        " ON CONFLICT (project_id, key) DO NOTHING"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    arg_key(&args, tenant, idempotency);
    db_arg_text(&args, object_id);
    db_arg_int(&args, clock_wall_us());
    rc = db_exec(db, &take, &args, &rows, err);
    if (rc)
        return rc;
    *ret_taken = db_changed(rows) == 1;
    return ERR_OK;
}

/* The new object takes the place of idempotency->replaces, unless another has taken it already. */
static enum err_code replace(struct db *db, const struct tenant *tenant,
                             const struct idempotency *idempotency, const char *object_id,
                             bool *ret_replaced, struct err *err)
{
    static const struct db_statement statement = {
        "idempotency_replace",
        "UPDATE idempotency_keys SET object_id = $4, first_seq = 0, created_at = $5"
        " WHERE project_id = $1 AND key = $2 AND hash = $3 AND object_id = $6"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    arg_key(&args, tenant, idempotency);
    db_arg_text(&args, object_id);
    db_arg_int(&args, clock_wall_us());
    db_arg_text(&args, idempotency->replaces);
    rc = db_exec(db, &statement, &args, &rows, err);
    if (rc)
        return rc;
    *ret_replaced = db_changed(rows) == 1;
    return ERR_OK;
}

static const struct db_statement find_key = {
    "idempotency_find", "SELECT object_id, first_seq, hash = $3 FROM idempotency_keys"
                        " WHERE project_id = $1 AND key = $2"};

static enum err_code read_first(const struct db_rows *rows,
                                const struct idempotency *idempotency,
                                struct idempotency_claim *ret_claim, struct err *err)
{
    if (!db_bool(rows, 0, 2))
        return err_refuse(err, ERR_INVALID, REASON_KEY_REUSED, NULL,
                          "The Idempotency-Key '%.255s' was used before for a different "
                          "request.",
                          idempotency->key);
    ret_claim->repeated = true;
    db_id(rows, 0, 0, ret_claim->object_id, sizeof(ret_claim->object_id));
    ret_claim->first_seq = db_int(rows, 0, 1);
    return ERR_OK;
}

static enum err_code find_first(struct db *db, const struct tenant *tenant,
                                const struct idempotency *idempotency,
                                struct idempotency_claim *ret_claim, struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    arg_key(&args, tenant, idempotency);
    rc = db_exec(db, &find_key, &args, &rows, err);
    if (rc)
        return rc;
    if (db_count(rows) == 0) /* the keeper forgot it between the two statements */
        return err_set(err, ERR_STORE, "the idempotency key was just forgotten");
    return read_first(rows, idempotency, ret_claim, err);
}

enum err_code idempotency_claim(struct db *db, const struct tenant *tenant,
                                const struct idempotency *idempotency, const char *object_id,
                                struct idempotency_claim *ret_claim, struct err *err)
{
    bool taken = false;
    enum err_code rc;

    *ret_claim = (struct idempotency_claim){0};
    if (!idempotency || !*idempotency->key)
        return ERR_OK;
    rc = take_key(db, tenant, idempotency, object_id, &taken, err);
    if (!rc && !taken && idempotency->replaces)
        rc = replace(db, tenant, idempotency, object_id, &taken, err);
    if (rc || taken)
        return rc;
    return find_first(db, tenant, idempotency, ret_claim, err);
}

enum err_code idempotency_begin(struct store *store, const struct tenant *tenant,
                                const struct idempotency *idempotency, const char *object_id,
                                struct db **ret_db, char ret_first[ID_LIMIT + 1],
                                struct err *err)
{
    struct idempotency_claim claim;
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = idempotency_claim(db, tenant, idempotency, object_id, &claim, err);
    if (rc)
        return rc;
    if (claim.repeated)
        memcpy(ret_first, claim.object_id, sizeof(claim.object_id));
    *ret_db = claim.repeated ? NULL : TAKE(db);
    return ERR_OK;
}

enum err_code store_idempotency_find(struct store *store, const struct tenant *tenant,
                                     const struct idempotency *idempotency,
                                     char ret_object[ID_LIMIT + 1], struct err *err)
{
    struct idempotency_claim claim = {0};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    arg_key(&args, tenant, idempotency);
    rc = db_once(store, &find_key, &args, &rows, err);
    if (!rc && db_count(rows))
        rc = read_first(rows, idempotency, &claim, err);
    if (rc)
        return rc;
    (void)snprintf(ret_object, ID_LIMIT + 1, "%s", claim.object_id);
    return ERR_OK;
}

enum err_code store_idempotency_forget(struct store *store, struct err *err)
{
    static const struct db_statement forget = {
        "idempotency_forget", "DELETE FROM idempotency_keys WHERE created_at < $1"};
    AUTO_DB_ARGS args = {0};

    db_arg_int(&args, clock_wall_us() - IDEMPOTENCY_SECONDS * US_PER_SECOND);
    return db_once(store, &forget, &args, NULL, err);
}
