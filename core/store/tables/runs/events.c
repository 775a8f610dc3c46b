#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/domain/tenant.h"
#include "core/store/pg/db.h"
#include "core/store/tables/runs/runs.h"

/*
 * events.c -- the log of resumable runs: read by followers, partitioned and cleared by the
 * keeper.
 *
 * A run has a chunk of frames for each write, not a row for each frame. The numbers of the
 * first and the last frame stand beside the bytes, so a reader finds the chunk that holds a
 * frame, and skips the frames before it by their empty lines.
 *
 * There is a partition for each day on which runs were made. The frames of a run stay together,
 * however long it lasts, and a day that is past retention is dropped as a table: deleting its
 * rows would cost as much as writing them.
 */

/* ---- Reading ---- */

/* A read returns at most so many chunks, whatever their size. */
#define CHUNKS_LIMIT "256"

/* A window sums up the sizes, and the chunks that begin within the limit are returned: always
 * the first one, however large. run_created_at comes from the run, so that PostgreSQL reads one
 * partition instead of all. */
static const struct db_statement read_chunks = {
    "store_events_read",
    "SELECT first_seq, last_seq, bytes FROM ("
    "  SELECT e.first_seq, e.last_seq, e.bytes,"
    "   sum(octet_length(e.bytes)) OVER (ORDER BY e.first_seq) - octet_length(e.bytes) AS "
    "before"
    "  FROM (SELECT * FROM run_events WHERE project_id = $1 AND run_id = $2"
    "    AND run_created_at = (SELECT created_at FROM runs WHERE project_id = $1 AND id = $2)"
    "    AND last_seq >= $3 ORDER BY first_seq LIMIT " CHUNKS_LIMIT ") e) c"
    " WHERE before < $4 ORDER BY first_seq"};

/* The end of the first `count` frames. A frame ends in an empty line and has no other. */
static size_t skip_frames(const char *bytes, size_t length, int64_t count)
{
    const char *at = bytes;

    while (count-- > 0) {
        const char *end = memmem(at, length - (size_t)(at - bytes), "\n\n", 2);

        if (!end)
            return length;
        at = end + 2;
    }
    return (size_t)(at - bytes);
}

static void add_chunk(const struct db_rows *rows, size_t row, int64_t first_seq,
                      struct buf *frames)
{
    int64_t chunk_first = db_int(rows, row, 0);
    size_t length, skipped = 0;
    AUTO_FREE char *bytes = db_bytes(rows, row, 2, &length);

    if (chunk_first < first_seq)
        skipped = skip_frames(bytes, length, first_seq - chunk_first);
    buf_add(frames, bytes + skipped, length - skipped);
}

enum err_code store_events_read(struct store *store, const struct tenant *tenant,
                                const char *run_id, int64_t first_seq, size_t limit,
                                char **ret_frames, size_t *ret_length, int64_t *ret_next,
                                struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    struct buf frames = {0};
    int64_t next = first_seq;
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, run_id);
    db_arg_int(&args, first_seq);
    db_arg_int(&args, (int64_t)limit);
    rc = db_once(store, &read_chunks, &args, &rows, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < db_count(rows); i++) {
        add_chunk(rows, i, first_seq, &frames);
        next = db_int(rows, i, 1) + 1;
    }
    *ret_length = frames.length;
    *ret_frames = buf_take(&frames);
    *ret_next = next;
    return ERR_OK;
}

/* ---- Partitions, one per day ---- */

#define DAY_US (86400 * US_PER_SECOND)

/* Followers lock the table only while they read. But a long report may lock it for longer, and
 * then all readers would queue behind this statement: PostgreSQL lets none pass a waiting
 * exclusive lock. So it gives up after two seconds and tries again the next time. Partitions are
 * made a day ahead, so there is time for many tries. */
static const struct db_statement limit_wait = {"events_limit_wait",
                                               "SET LOCAL lock_timeout = '2s'"};

/* The server makes the names and numbers, so they need no quoting. DDL takes no parameters. */
static enum err_code run_ddl(struct db *db, const char *sql, struct err *err)
{
    const struct db_statement ddl = {NULL, sql};

    return db_exec(db, &ddl, NULL, NULL, err);
}

static void partition_name(int64_t day, char ret_name[40])
{
    time_t seconds = (time_t)(day * 86400);
    struct tm date;

    gmtime_r(&seconds, &date);
    snprintf(ret_name, 40, "run_events_%04d%02d%02d", date.tm_year + 1900, date.tm_mon + 1,
             date.tm_mday);
}

static enum err_code partition_exists(struct db *db, const char *name, bool *ret_exists,
                                      struct err *err)
{
    static const struct db_statement ask = {"events_partition_exists",
                                            "SELECT to_regclass($1) IS NOT NULL"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_text(&args, name);
    rc = db_exec(db, &ask, &args, &rows, err);
    if (rc)
        return rc;
    *ret_exists = db_bool(rows, 0, 0);
    return ERR_OK;
}

/* Frames of that day that came before it had a partition are in the default partition, and move.
 * The default partition is locked first: a row that came in between the move and the attachment
 * would belong to the new partition, and the attachment would fail. */
static enum err_code make_partition(struct db *db, int64_t day, const char *name,
                                    struct err *err)
{
    long long from = day * DAY_US, to = (day + 1) * DAY_US;
    AUTO_FREE char *create =
        mem_printf("CREATE TABLE %s (LIKE run_events INCLUDING ALL)", name);
    AUTO_FREE char *lock = mem_printf("LOCK TABLE run_events_default IN ACCESS EXCLUSIVE MODE");
    AUTO_FREE char *move =
        mem_printf("WITH moved AS (DELETE FROM run_events_default WHERE run_created_at >= %lld"
                   " AND run_created_at < %lld RETURNING *) INSERT INTO %s SELECT * FROM moved",
                   from, to, name);
    AUTO_FREE char *attach = mem_printf(
        "ALTER TABLE run_events ATTACH PARTITION %s FOR VALUES FROM (%lld) TO (%lld)", name,
        from, to);
    const char *const steps[] = {create, lock, move, attach};
    enum err_code rc = ERR_OK;

    for (size_t i = 0; !rc && i < COUNT_OF(steps); i++)
        rc = run_ddl(db, steps[i], err);
    return rc;
}

static enum err_code begin_with_limit(struct store *store, struct db **ret_db, struct err *err)
{
    enum err_code rc = db_begin(store, ret_db, err);

    if (rc)
        return rc;
    return db_exec(*ret_db, &limit_wait, NULL, NULL, err);
}

/* Two nodes may do this at once, so they take turns. */
static enum err_code ensure_partition(struct store *store, int64_t day, struct err *err)
{
    static const struct db_statement take_turns = {
        "events_take_turns", "SELECT pg_advisory_xact_lock(7310311890119)"};
    AUTO_DB *db = NULL;
    char name[40];
    bool exists;
    enum err_code rc;

    partition_name(day, name);
    rc = begin_with_limit(store, &db, err);
    if (!rc)
        rc = db_exec(db, &take_turns, NULL, NULL, err);
    if (!rc)
        rc = partition_exists(db, name, &exists, err);
    if (rc || exists)
        return rc;
    rc = make_partition(db, day, name, err);
    if (rc)
        return rc;
    return db_commit(db, err);
}

/* A partition may be dropped when its day is past retention, and no run of that time still
 * lasts. */
static enum err_code find_old(struct store *store, int64_t oldest_day,
                              struct db_rows **ret_rows, struct err *err)
{
    static const struct db_statement find = {
        "events_find_old",
        "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid"
        " WHERE i.inhparent = 'run_events'::regclass AND c.relname ~ '^run_events_[0-9]{8}$'"
        " AND c.relname < $1"
        " AND NOT EXISTS (SELECT FROM run_leases WHERE queued_at < $2)"
        " ORDER BY c.relname"};
    AUTO_DB_ARGS args = {0};
    char name[40];

    partition_name(oldest_day, name);
    db_arg_text(&args, name);
    db_arg_int(&args, oldest_day * DAY_US);
    return db_once(store, &find, &args, ret_rows, err);
}

static enum err_code drop_partition(struct store *store, const char *name, struct err *err)
{
    AUTO_FREE char *sql = mem_printf("DROP TABLE IF EXISTS %s", name);
    AUTO_DB *db = NULL;
    enum err_code rc;

    rc = begin_with_limit(store, &db, err);
    if (!rc)
        rc = run_ddl(db, sql, err);
    if (rc)
        return rc;
    return db_commit(db, err);
}

static enum err_code drop_old(struct store *store, int64_t oldest_day, struct err *err)
{
    static const struct db_statement clean_default = {
        "events_clean_default",
        "DELETE FROM run_events_default WHERE run_created_at < $1"
        " AND NOT EXISTS (SELECT FROM run_leases WHERE queued_at < $1)"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    rc = find_old(store, oldest_day, &rows, err);
    for (size_t i = 0; !rc && i < db_count(rows); i++)
        rc = drop_partition(store, db_text(rows, i, 0), err);
    if (rc)
        return rc;
    db_arg_int(&args, oldest_day * DAY_US);
    return db_once(store, &clean_default, &args, NULL, err);
}

/* The day of a partition is that of its runs' making. A run may end a day later, so one more
 * day is kept. */
enum err_code store_events_maintain(struct store *store, double retention_seconds,
                                    struct err *err)
{
    int64_t now = clock_wall_us();
    int64_t kept = (int64_t)(retention_seconds * (double)US_PER_SECOND) + DAY_US;
    enum err_code rc;

    rc = ensure_partition(store, now / DAY_US, err);
    if (!rc)
        rc = ensure_partition(store, now / DAY_US + 1, err);
    if (!rc)
        rc = drop_old(store, (now - kept) / DAY_US, err);
    return rc;
}
