/*
 * Uploads: parts that become a file.
 *
 * Every transaction that changes an upload begins with a lock of its row, reads the status and follows the table in
 * domain/upload_status.c. So of two requests that end an upload one is second, and sees what the first one did.
 *
 * The bytes of an upload are counted once, when it is made. Parts therefore do not touch the row of the project's
 * bytes, which all its uploads would wait for.
 */

#include "core/store/tables/files/uploads.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/store/pg/db.h"
#include "core/store/tables/files/file_sql.h"
#include "core/store/tables/files/files.h"
#include "core/store/tables/files/storage_sql.h"

#define NOW FILES_NOW

#define UPLOAD_COLUMNS                                                      \
    "u.id, u.filename, u.purpose, u.mime, u.bytes, u.part_bytes, u.status," \
    " u.file_seconds, u.part_ids, u.file_id, u.created_at, u.expires_at,"   \
    " u.part_count, u.expires_at <= " NOW
#define PART_COLUMNS "p.id, p.upload_id, p.blob_id, p.bytes, p.created_at"

static enum err_code not_found(const char *id, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "No upload found with id '%.64s'.", id);
}

/* Which time counts: that of the row, or not yet. */
enum lateness { LATE_IS_EXPIRED, LATE_IS_PENDING };

static void upload_read(const struct db_rows *rows, size_t row, enum lateness lateness,
                        struct upload_row *ret_row)
{
    *ret_row = (struct upload_row){.filename = db_copy(rows, row, 1),
                                   .purpose = db_copy(rows, row, 2),
                                   .mime = db_copy(rows, row, 3),
                                   .bytes = (uint64_t)db_int(rows, row, 4),
                                   .in_parts = (uint64_t)db_int(rows, row, 5),
                                   .status = upload_status_parse(db_text(rows, row, 6)),
                                   .file_seconds = db_int(rows, row, 7),
                                   .part_ids = db_copy(rows, row, 8),
                                   .created_at = db_int(rows, row, 10),
                                   .expires_at = db_int(rows, row, 11)};
    db_id(rows, row, 0, ret_row->id, sizeof(ret_row->id));
    db_id(rows, row, 9, ret_row->file_id, sizeof(ret_row->file_id));
    if (lateness == LATE_IS_EXPIRED && ret_row->status == UPLOAD_PENDING &&
        db_bool(rows, row, 13))
        ret_row->status = UPLOAD_EXPIRED;
}

static void part_read(const struct db_rows *rows, size_t row, struct part_row *ret_part)
{
    *ret_part = (struct part_row){.bytes = (uint64_t)db_int(rows, row, 3),
                                  .created_at = db_int(rows, row, 4)};
    db_id(rows, row, 0, ret_part->id, sizeof(ret_part->id));
    db_id(rows, row, 1, ret_part->upload_id, sizeof(ret_part->upload_id));
    db_id(rows, row, 2, ret_part->blob_id, sizeof(ret_part->blob_id));
}

enum err_code upload_check(const struct upload_row *row, enum upload_event event,
                           enum upload_status *ret_status, struct err *err)
{
    static const char *const impossible[UPLOAD_EV_COUNT] = {
        [UPLOAD_EV_PART] = "no parts can be added to it",
        [UPLOAD_EV_COMPLETE] = "it cannot be completed",
        [UPLOAD_EV_CANCEL] = "it cannot be cancelled",
        [UPLOAD_EV_EXPIRE] = "it cannot expire",
    };
    enum upload_status next = upload_status_next(row->status, event);

    if (next == UPLOAD_STATUS_NONE)
        return err_refuse(err, ERR_CONFLICT, REASON_UPLOAD_ENDED, NULL, "Upload %s is %s; %s.",
                          row->id, upload_status_name(row->status), impossible[event]);
    *ret_status = next;
    return ERR_OK;
}

enum err_code upload_overflow(uint64_t bytes, struct err *err)
{
    return err_refuse(err, ERR_INVALID, REASON_UPLOAD_TOO_LARGE, NULL,
                      "The parts would have more bytes than the upload was made for (%llu).",
                      (unsigned long long)bytes);
}

/* ---- Making ---- */

static enum err_code insert_upload(struct db *db, const struct tenant *tenant,
                                   const struct upload_row *row, struct err *err)
{
    static const struct db_statement insert = {
        "store_upload_create", "INSERT INTO uploads (project_id, id, filename, purpose, mime, "
                               "bytes, status, part_count,"
                               "  part_bytes, file_seconds, created_at, expires_at)"
                               " VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 0, $8, $9, $10)"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, row->id);
    db_arg_text(&args, row->filename);
    db_arg_text(&args, row->purpose);
    db_arg_text(&args, row->mime);
    db_arg_int(&args, (int64_t)row->bytes);
    db_arg_text(&args, upload_status_name(row->status));
    db_arg_time(&args, row->file_seconds);
    db_arg_int(&args, row->created_at);
    db_arg_int(&args, row->expires_at);
    return db_exec(db, &insert, &args, NULL, err);
}

/* Shows what the first request under a key has made, as it is now. */
static enum err_code reread(struct store *store, const struct tenant *tenant, const char *id,
                            struct upload_row *row, struct err *err)
{
    struct upload_row made;
    enum err_code rc = store_upload_get(store, tenant, id, &made, err);

    if (rc)
        return rc;
    upload_row_clear(row);
    *row = made;
    return ERR_OK;
}

enum err_code store_upload_create(struct store *store, const struct tenant *tenant,
                                  const struct idempotency *idempotency, uint64_t limit,
                                  struct upload_row *row, struct err *err)
{
    char first[ID_LIMIT + 1];
    AUTO_DB *db = NULL;
    enum err_code rc = idempotency_begin(store, tenant, idempotency, row->id, &db, first, err);

    if (rc)
        return rc;
    if (!db)
        return reread(store, tenant, first, row, err);
    rc = insert_upload(db, tenant, row, err);
    if (!rc)
        rc = storage_count(db, tenant, (int64_t)row->bytes, limit, err);
    return rc ? rc : db_commit(db, err);
}

enum err_code store_upload_get(struct store *store, const struct tenant *tenant, const char *id,
                               struct upload_row *ret_row, struct err *err)
{
    static const struct db_statement select = {
        "store_upload_get",
        "SELECT " UPLOAD_COLUMNS " FROM uploads u WHERE u.project_id = $1 AND u.id = $2"};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = db_find_by_id(store, &select, tenant, id, not_found, &rows, err);

    if (!rc)
        upload_read(rows, 0, LATE_IS_EXPIRED, ret_row);
    return rc;
}

/* ---- Changing ---- */

/* The upload, which nothing else changes until the transaction ends. *ret_parts: how many have come. */
static enum err_code lock_upload(struct db *db, const struct tenant *tenant, const char *id,
                                 enum lateness lateness, struct upload_row *ret_row,
                                 size_t *ret_parts, struct err *err)
{
    static const struct db_statement select = {
        "store_upload_lock", "SELECT " UPLOAD_COLUMNS " FROM uploads u WHERE u.project_id = $1"
                             " AND u.id = $2 FOR UPDATE"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    rc = db_exec(db, &select, &args, &rows, err);
    if (rc)
        return rc;
    if (!db_count(rows))
        return not_found(id, err);
    upload_read(rows, 0, lateness, ret_row);
    if (ret_parts)
        *ret_parts = (size_t)db_int(rows, 0, 12);
    return ERR_OK;
}

/* The row in its end. Its parts let go of their blobs. */
static enum err_code end_upload(struct db *db, const struct tenant *tenant, const char *id,
                                enum upload_status status, const char *part_ids,
                                const char *file_id, struct err *err)
{
    static const struct db_statement update = {
        "store_upload_end", "UPDATE uploads SET status = $3, part_ids = $4, file_id = $5"
                            " WHERE project_id = $1 AND id = $2"};
    static const struct db_statement release = {
        "store_upload_release",
        "WITH gone AS (DELETE FROM upload_parts p WHERE p.project_id = $1 AND p.upload_id = $2"
        "  RETURNING p.blob_id)"
        " UPDATE blobs b SET holders = b.holders - 1, changed_at = " NOW
        " FROM gone g WHERE b.project_id = $1 AND b.id = g.blob_id"};
    AUTO_DB_ARGS args = {0};
    AUTO_DB_ARGS by_id = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    db_arg_text(&args, upload_status_name(status));
    db_arg_text(&args, part_ids);
    db_arg_text(&args, file_id);
    rc = db_exec(db, &update, &args, NULL, err);
    if (rc)
        return rc;
    db_arg_tenant(&by_id, tenant);
    db_arg_text(&by_id, id);
    return db_exec(db, &release, &by_id, NULL, err);
}

/* ---- Parts ---- */

static enum err_code insert_part(struct db *db, const struct tenant *tenant,
                                 const struct part_row *part, struct err *err)
{
    static const struct db_statement insert = {
        "store_upload_part_add",
        "WITH counted AS (UPDATE uploads SET part_count = part_count + 1,"
        "  part_bytes = part_bytes + $5 WHERE project_id = $1 AND id = $2)"
        " INSERT INTO upload_parts (project_id, upload_id, id, blob_id, bytes, created_at)"
        " VALUES ($1, $2, $3, $4, $5, $6)"};
    AUTO_DB_ARGS args = {0};
    enum err_code rc = blob_hold(db, tenant, part->blob_id, err);

    if (rc)
        return rc;
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, part->upload_id);
    db_arg_text(&args, part->id);
    db_arg_text(&args, part->blob_id);
    db_arg_int(&args, (int64_t)part->bytes);
    db_arg_int(&args, part->created_at);
    return db_exec(db, &insert, &args, NULL, err);
}

/* May it have this part, too? */
static enum err_code check_part(const struct upload_row *row, size_t parts,
                                const struct part_row *part, struct err *err)
{
    enum upload_status status;
    enum err_code rc = upload_check(row, UPLOAD_EV_PART, &status, err);

    if (rc)
        return rc;
    if (part->bytes > row->bytes || row->in_parts > row->bytes - part->bytes)
        return upload_overflow(row->bytes, err);
    if (parts >= UPLOAD_PARTS_LIMIT)
        return err_refuse(err, ERR_INVALID, REASON_LIST_TOO_LONG, NULL,
                          "Upload %s has %zu parts, and cannot have more.", row->id, parts);
    return ERR_OK;
}

/* The part that an earlier request made. Those of an upload that has ended are gone. */
static enum err_code repeat_part(struct db *db, const struct tenant *tenant,
                                 const struct upload_row *row, const char *id,
                                 struct part_row *part, struct err *err)
{
    static const struct db_statement select = {
        "store_upload_part_get", "SELECT " PART_COLUMNS " FROM upload_parts p"
                                 " WHERE p.project_id = $1 AND p.upload_id = $2 AND p.id = $3"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum upload_status status;
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, row->id);
    db_arg_text(&args, id);
    rc = db_exec(db, &select, &args, &rows, err);
    if (rc)
        return rc;
    if (db_count(rows)) {
        part_read(rows, 0, part);
        return ERR_OK;
    }
    rc = upload_check(row, UPLOAD_EV_PART, &status, err);
    return rc ? rc : not_found(row->id, err);
}

enum err_code store_upload_part_add(struct store *store, const struct tenant *tenant,
                                    const struct idempotency *idempotency,
                                    struct part_row *part, struct err *err)
{
    CLEANUP(upload_row_clear) struct upload_row row = {0};
    struct idempotency_claim claim;
    AUTO_DB *db = NULL;
    size_t parts;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = idempotency_claim(db, tenant, idempotency, part->id, &claim, err);
    if (!rc)
        rc = lock_upload(db, tenant, part->upload_id, LATE_IS_EXPIRED, &row, &parts, err);
    if (rc)
        return rc;
    if (claim.repeated)
        return repeat_part(db, tenant, &row, claim.object_id, part, err);
    rc = check_part(&row, parts, part, err);
    if (!rc)
        rc = insert_part(db, tenant, part, err);
    return rc ? rc : db_commit(db, err);
}

enum err_code store_upload_parts(struct store *store, const struct tenant *tenant,
                                 const char *id, struct part_row **ret_parts, size_t *ret_count,
                                 struct err *err)
{
    static const struct db_statement select = {
        "store_upload_parts", "SELECT " PART_COLUMNS " FROM upload_parts p"
                              " WHERE p.project_id = $1 AND p.upload_id = $2 ORDER BY p.id"};
    AUTO_DB_ROWS *rows = NULL;
    struct part_row *parts;
    enum err_code rc = db_once_by_id(store, &select, tenant, id, &rows, err);

    if (rc)
        return rc;
    parts = mem_new_array(struct part_row, db_count(rows) + 1);
    for (size_t i = 0; i < db_count(rows); i++)
        part_read(rows, i, &parts[i]);
    *ret_parts = parts;
    *ret_count = db_count(rows);
    return ERR_OK;
}

/* ---- Ends ---- */

/* The file that the upload has become, if it still exists. */
static enum err_code repeat_complete(struct store *store, const struct tenant *tenant,
                                     const struct upload_row *row, const char *part_ids,
                                     struct file_row *file, struct err *err)
{
    struct file_row made = {0};
    enum err_code rc;

    if (!row->part_ids || strcmp(row->part_ids, part_ids) != 0)
        return err_refuse(err, ERR_CONFLICT, REASON_UPLOAD_ENDED, NULL,
                          "Upload %s was completed with other parts.", row->id);
    rc = store_file_get(store, tenant, row->file_id, &made, err);
    if (rc && rc != ERR_NOT_FOUND)
        return rc;
    file_row_clear(file);
    *file = made;
    return ERR_OK;
}

enum err_code store_upload_complete(struct store *store, const struct tenant *tenant,
                                    const char *id, const char *part_ids, struct file_row *file,
                                    struct err *err)
{
    CLEANUP(upload_row_clear) struct upload_row row = {0};
    enum upload_status status;
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = lock_upload(db, tenant, id, LATE_IS_PENDING, &row, NULL, err);
    if (!rc)
        rc = upload_check(&row, UPLOAD_EV_COMPLETE, &status, err);
    if (rc)
        return rc;
    if (row.status == status) {
        db_end(TAKE(db));
        return repeat_complete(store, tenant, &row, part_ids, file, err);
    }
    rc = file_insert(db, tenant, file, err);
    if (!rc)
        rc = end_upload(db, tenant, id, status, part_ids, file->id, err);
    return rc ? rc : db_commit(db, err);
}

/* Without a file: the project gets its bytes back. */
static enum err_code drop_upload(struct store *store, const struct tenant *tenant,
                                 const char *id, enum upload_event event,
                                 enum lateness lateness, struct upload_row *ret_row,
                                 struct err *err)
{
    CLEANUP(upload_row_clear) struct upload_row row = {0};
    enum upload_status status;
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = lock_upload(db, tenant, id, lateness, &row, NULL, err);
    if (!rc)
        rc = upload_check(&row, event, &status, err);
    if (rc)
        return rc;
    if (row.status != status) {
        rc = end_upload(db, tenant, id, status, NULL, NULL, err);
        if (!rc)
            rc = storage_count(db, tenant, -(int64_t)row.bytes, 0, err);
        if (!rc)
            rc = db_commit(db, err);
        if (rc)
            return rc;
        row.status = status;
    }
    *ret_row = row;
    row = (struct upload_row){0};
    return ERR_OK;
}

enum err_code store_upload_cancel(struct store *store, const struct tenant *tenant,
                                  const char *id, struct upload_row *ret_row, struct err *err)
{
    return drop_upload(store, tenant, id, UPLOAD_EV_CANCEL, LATE_IS_EXPIRED, ret_row, err);
}

/* ---- The keeper's ---- */

/* Uploads that are due, of all projects, by a statement with an age and a limit. */
static enum err_code find_due(struct store *store, const struct db_statement *select,
                              int64_t seconds, size_t limit, struct db_rows **ret_rows,
                              struct err *err)
{
    AUTO_DB_ARGS args = {0};

    db_arg_int(&args, seconds * US_PER_SECOND);
    db_arg_int(&args, (int64_t)limit);
    return db_once(store, select, &args, ret_rows, err);
}

/* One that was completed meanwhile is a conflict, and no failure. */
static enum err_code expire_upload(struct store *store, const struct tenant *tenant,
                                   const char *id, struct err *err)
{
    struct upload_row row = {0};
    enum err_code rc =
        drop_upload(store, tenant, id, UPLOAD_EV_EXPIRE, LATE_IS_PENDING, &row, err);

    upload_row_clear(&row);
    return rc == ERR_CONFLICT || rc == ERR_NOT_FOUND ? ERR_OK : rc;
}

static enum err_code forget_upload(struct store *store, const struct tenant *tenant,
                                   const char *id, struct err *err)
{
    static const struct db_statement delete = {
        "store_upload_forget", "DELETE FROM uploads WHERE project_id = $1 AND id = $2"
                               " AND status <> 'pending'"};

    return db_once_by_id(store, &delete, tenant, id, NULL, err);
}

enum err_code store_uploads_expire(struct store *store, size_t limit, size_t *ret_count,
                                   struct err *err)
{
    static const struct {
        struct db_statement due;
        int64_t seconds;
        enum err_code (*end)(struct store *store, const struct tenant *tenant, const char *id,
                             struct err *err);
    } steps[] = {
        {{"store_uploads_late",
          "SELECT project_id, id FROM uploads WHERE status = 'pending' AND expires_at <= " NOW
          " - $1::bigint ORDER BY expires_at LIMIT $2"},
         UPLOAD_FINISH_SECONDS,
         expire_upload},
        {{"store_uploads_old",
          "SELECT project_id, id FROM uploads WHERE status <> 'pending' AND expires_at <= " NOW
          " - $1::bigint ORDER BY expires_at LIMIT $2"},
         UPLOAD_KEPT_SECONDS,
         forget_upload},
    };
    size_t most = 0;

    for (size_t step = 0; step < COUNT_OF(steps); step++) {
        AUTO_DB_ROWS *rows = NULL;
        enum err_code rc =
            find_due(store, &steps[step].due, steps[step].seconds, limit, &rows, err);

        if (rc)
            return rc;
        for (size_t i = 0; i < db_count(rows); i++) {
            const struct tenant tenant = tenant_of_project(db_text(rows, i, 0));

            rc = steps[step].end(store, &tenant, db_text(rows, i, 1), err);
            if (rc)
                return rc;
        }
        most = db_count(rows) > most ? db_count(rows) : most;
    }
    *ret_count = most;
    return ERR_OK;
}
