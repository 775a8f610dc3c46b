#ifndef RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_VECTOR_STORE_SQL_H
#define RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_VECTOR_STORE_SQL_H

#include <stddef.h>

#include "core/store/pg/db.h"
#include "core/store/tables/deletion_marks.h"
#include "core/store/tables/vector_stores/store_files.h"
#include "core/store/tables/vector_stores/vector_stores.h"

/*
 * vector_store_sql.h -- statements that move files in and out of stores. For this room, for files, which leave all
 * stores when they are deleted, and for what is made together with a store.
 *
 * The counters of a store are right because there is no other way to change a file's status than a statement with
 * STORE_COUNTERS in it.
 *
 * Who changes the status of a file in a store holds the store's row. Locks are taken in this order, rows of a kind
 * in the order of their ids:
 *
 *   file, document, store, file in a store, left document
 */

#define VECTOR_STORES_NOW "(extract(epoch FROM statement_timestamp()) * 1000000)::bigint"

/* A use is noted once in so many microseconds. */
#define VECTOR_STORE_USE_US "60000000"

#define VECTOR_STORE_EXPIRED \
    "(v.expired OR coalesce(v.expires_at <= " VECTOR_STORES_NOW ", false))"

#define STORE_COUNT(status)                        \
    "(count(*) FILTER (WHERE d.becomes = '" status \
    "') - count(*) FILTER (WHERE d.was = '" status "'))::integer AS " status

/* A CTE that moves the counters by what the CTE `diff` says of each row: its store (store_id), its status before and
 * after (`was` and `becomes`; NULL: it was not or is no longer there), its bytes (was_bytes, becomes_bytes). The
 * project is $1. Each change of the documents that a store is searched by is such a row, so the store's version grows
 * here, and searches read the set anew (search_set.h). */
#define STORE_COUNTERS                                                                         \
    "counted AS (UPDATE vector_stores v SET in_progress = v.in_progress + c.in_progress,"      \
    "  completed = v.completed + c.completed, failed = v.failed + c.failed,"                   \
    "  cancelled = v.cancelled + c.cancelled, usage_bytes = v.usage_bytes + c.bytes,"          \
    "  version = greatest(v.version + 1, " VECTOR_STORES_NOW ")"                               \
    " FROM (SELECT d.store_id, " STORE_COUNT("in_progress") ", " STORE_COUNT(                  \
        "completed") ", " STORE_COUNT("failed") ", " STORE_COUNT("cancelled") ","              \
                                                                              "  "             \
                                                                              "sum(d.becomes_" \
                                                                              "bytes - "       \
                                                                              "d.was_bytes)::" \
                                                                              "bigint AS "     \
                                                                              "bytes FROM "    \
                                                                              "diff d GROUP "  \
                                                                              "BY "            \
                                                                              "d.store_id) c"  \
                                                                              " WHERE "        \
                                                                              "v.project_id "  \
                                                                              "= $1 AND v.id " \
                                                                              "= c.store_id)"

/* A CTE that notes documents which rows have stopped to name. `names` is a SELECT of their ids. */
#define STORE_LEAVES(names)                                                    \
    "leaves AS (INSERT INTO left_documents (project_id, document_id, left_at)" \
    " SELECT $1, n.id, " VECTOR_STORES_NOW " FROM (" names                     \
    ") n (id) GROUP BY n.id ORDER BY n.id"                                     \
    " ON CONFLICT (project_id, document_id) DO UPDATE SET left_at = excluded.left_at)"

/* Takes files out of stores: the rows f of the project $1 that `which` says. The stores must be locked. One row: how
 * many they were. */
#define STORE_FILES_REMOVE(which)                                                                           \
    "WITH gone AS (DELETE FROM vector_store_files f WHERE f.project_id = $1 AND " which                     \
    "  RETURNING f.vector_store_id AS store_id, f.file_id AS id, f.created_at AS place,"                    \
    "   f.document_id, f.searched_id, f.status, f.usage_bytes),"                                            \
    " diff AS (SELECT g.store_id, g.status AS was, NULL::text AS becomes,"                                  \
    "   g.usage_bytes AS was_bytes, 0 AS becomes_bytes FROM gone g), " STORE_COUNTERS                       \
    ", " STORE_LEAVES(                                                                                      \
        "SELECT g.document_id FROM gone g UNION ALL SELECT g.searched_id"                                   \
        "  FROM gone g WHERE g.searched_id IS NOT NULL") ", marks AS (" DELETION_MARKS_INSERT("g.store_id", \
                                                                                              "gone") ")"   \
                                                                                                      " SELECT count(*) FROM gone"

/* Ends the work on files in stores: the rows f of the project $1 that `which` says become $3, 'completed', 'failed' or
 * 'cancelled', with the error $4, $5 and the bytes $6. The stores must be locked, but for one that was copied from them
 * meanwhile: its rows are looked at again when they are locked. One row: how many they were. */
#define STORE_FILES_END(which)                                                                 \
    "WITH before AS MATERIALIZED (SELECT f.vector_store_id, f.file_id, f.searched_id"          \
    "  FROM vector_store_files f"                                                              \
    "  WHERE f.project_id = $1 AND f.status = 'in_progress' AND " which "),"                   \
    " ended AS (UPDATE vector_store_files f SET status = $3::text, error_code = $4,"           \
    "   error_message = $5, usage_bytes = $6::bigint,"                                         \
    "   searched_id = CASE WHEN $3::text = 'completed' THEN f.document_id END"                 \
    "  FROM before b WHERE f.project_id = $1 AND f.vector_store_id = b.vector_store_id"        \
    "   AND f.file_id = b.file_id AND f.status = 'in_progress' AND " which                     \
    "  RETURNING f.vector_store_id AS store_id),"                                              \
    " diff AS (SELECT e.store_id, 'in_progress'::text AS was, $3::text AS becomes,"            \
    "   0 AS was_bytes, $6::bigint AS becomes_bytes FROM ended e), " STORE_COUNTERS            \
    ", " STORE_LEAVES(                                                                         \
        "SELECT b.searched_id FROM before b WHERE b.searched_id IS NOT NULL") " SELECT "       \
                                                                              "count(*) FROM " \
                                                                              "ended"

enum err_code vector_store_not_found(const char *id, struct err *err);
enum err_code vector_store_expired(const char *id, struct err *err);

/* Inside a transaction that has locked nothing: attaches files to a store. `batch_id` may be NULL. */
enum err_code store_files_attach_in(struct db *db, const struct tenant *tenant,
                                    const char *store_id, const char *batch_id,
                                    const struct store_file_new *files, size_t count,
                                    struct err *err) MUST_CHECK;

/* Inside a transaction that has locked no file: makes the store with its files. NULL: nothing. `thread_id` is the
 * thread that it is made for, or NULL. */
enum err_code store_filling_make(struct db *db, const struct tenant *tenant,
                                 const struct store_filling *filling, const char *thread_id,
                                 struct err *err) MUST_CHECK;

/* Inside a transaction that has locked no store: makes a store with the files of another that was made for a thread.
 * They name the same documents, so nothing is read again; those that failed or were cancelled are left out. The new
 * store has the name, metadata and expiry of the other, and is used now. *ret_copied: false if `from` is not of that
 * thread, has expired or is gone. Then there is no copy. */
struct store_copy {
    const char *from, *from_thread;
    const char *to, *to_thread; /* the copy's id, and the thread that it is for */
};
enum err_code vector_store_copy_in(struct db *db, const struct tenant *tenant,
                                   const struct store_copy *copy, bool *ret_copied,
                                   struct err *err) MUST_CHECK;

/* Locks a store that has not been deleted. */
enum err_code vector_store_lock(struct db *db, const struct tenant *tenant, const char *id,
                                struct err *err) MUST_CHECK;

/* Takes a file out of all stores. The caller has locked it, or deleted it before. */
enum err_code store_files_forget_in(struct db *db, const struct tenant *tenant,
                                    const char *file_id, struct err *err) MUST_CHECK;

#endif
