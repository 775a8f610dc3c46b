#ifndef RUNNEL_CORE_STORE_PG_DB_H
#define RUNNEL_CORE_STORE_PG_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/tenant.h"
#include "core/store/wakeup.h"

/*
 * db.h -- one thread's connection, for the functions of core/store only.
 *
 * libpq is used asynchronously under our own deadline: a frozen server would hang its blocking
 * calls for ever in spite of every time-out setting. When the deadline passes, the connection is
 * closed and the store counts as away.
 *
 *     AUTO_DB *db = NULL;            // its end rolls back what was not committed
 *     AUTO_DB_ARGS args = {0};
 *     AUTO_DB_ROWS *rows = NULL;
 *
 *     rc = db_begin(store, &db, err);
 *     if (rc)
 *         return rc;
 *     db_arg_tenant(&args, tenant);
 *     rc = db_exec(db, &thread_lock, &args, &rows, err);
 *     ...
 *     return db_commit(db, err);
 */

struct store;
struct db;
struct db_rows;

/* A statement with parameters $1 and so on. Static. Its name is that of the function that uses
 * it. It is prepared at its first use on each connection, or sent unnamed if a pooler is in
 * between. */
struct db_statement {
    const char *name;
    const char *sql;
};

#define DB_ARGS_LIMIT 40

/* Parameters, in order. Zero it first. Text and bytes are borrowed until the statement is sent. */
struct db_args {
    int count;
    const char *values[DB_ARGS_LIMIT];
    int lengths[DB_ARGS_LIMIT];
    int formats[DB_ARGS_LIMIT];
    char numbers[DB_ARGS_LIMIT][24];
    char *owned[DB_ARGS_LIMIT];
};

void db_arg_tenant(struct db_args *args, const struct tenant *tenant); /* its project */
void db_arg_text(struct db_args *args, const char *text);              /* NULL is SQL NULL */
void db_arg_id(struct db_args *args, const char *id);                  /* "" is SQL NULL */
void db_arg_int(struct db_args *args, int64_t number);
void db_arg_time(struct db_args *args, int64_t microseconds); /* 0 is SQL NULL */
void db_arg_bool(struct db_args *args, bool value);
void db_arg_bytes(struct db_args *args, const void *bytes, size_t size);
void db_arg_bytes_owned(struct db_args *args, char *bytes, size_t size); /* takes the bytes */
void db_arg_texts(struct db_args *args, const char *const *list,
                  size_t count); /* text[] ; NULL elements are NULL */
void db_arg_ints(struct db_args *args, const int64_t *list, size_t count); /* bigint[] */
void db_args_clear(struct db_args *args);
#define AUTO_DB_ARGS CLEANUP(db_args_clear) struct db_args

/* Lends the thread's connection, in a new transaction. ERR_STORE at once when the store is
 * away. */
enum err_code db_begin(struct store *store, struct db **ret_db, struct err *err) MUST_CHECK;
/* Restarts the time that this call may take: for a call of many statements, each of which is
 * bounded. */
void db_allow_time(struct db *db);
enum err_code db_commit(struct db *db, struct err *err) MUST_CHECK;
void db_end(struct db *db); /* NULL is fine */

/* Sends a wake-up to all nodes, this one included, once the transaction is committed. */
void db_wake(struct db *db, enum wakeup_kind kind, const char *run_id);

/* Calls `run` on this thread once the transaction is committed and db_end() was called. It may
 * begin another transaction. Once a transaction. `arg` is taken, and freed with free(). */
void db_after_commit(struct db *db, void (*run)(struct store *store, void *arg), void *arg);

static inline void db_end_local(struct db **db)
{
    db_end(*db);
}
#define AUTO_DB CLEANUP(db_end_local) struct db

/* Runs a statement. ret_rows may be NULL. A unique violation is ERR_CONFLICT, with the
 * constraint's name in err->place. A serialization failure or deadlock is not retried here: it
 * is ERR_STORE, and the caller of the store may try again. */
enum err_code db_exec(struct db *db, const struct db_statement *statement, struct db_args *args,
                      struct db_rows **ret_rows, struct err *err) MUST_CHECK;

/* A single statement as its own transaction, in one round trip. */
enum err_code db_once(struct store *store, const struct db_statement *statement,
                      struct db_args *args, struct db_rows **ret_rows,
                      struct err *err) MUST_CHECK;

/* The same for a statement about one object of a project: the project is $1, the object's id
 * $2. */
enum err_code db_once_by_id(struct store *store, const struct db_statement *statement,
                            const struct tenant *tenant, const char *id,
                            struct db_rows **ret_rows, struct err *err) MUST_CHECK;

/* The same, with the error of `not_found` if the statement found or changed no row. ret_rows may
 * be NULL. */
enum err_code db_find_by_id(struct store *store, const struct db_statement *statement,
                            const struct tenant *tenant, const char *id,
                            enum err_code (*not_found)(const char *id, struct err *err),
                            struct db_rows **ret_rows, struct err *err) MUST_CHECK;

size_t db_count(const struct db_rows *rows);
bool db_is_null(const struct db_rows *rows, size_t row, int column);
const char *db_text(const struct db_rows *rows, size_t row,
                    int column);                                   /* borrowed; "" for NULL */
char *db_copy(const struct db_rows *rows, size_t row, int column); /* owned; NULL for NULL */
void db_id(const struct db_rows *rows, size_t row, int column, char *ret_id,
           size_t size);                                            /* "" for NULL */
int64_t db_int(const struct db_rows *rows, size_t row, int column); /* 0 for NULL */
bool db_bool(const struct db_rows *rows, size_t row, int column);
/* bytea column; the caller frees. */
char *db_bytes(const struct db_rows *rows, size_t row, int column, size_t *ret_size);
/* Rows that a statement changed, or that a SELECT found. */
size_t db_changed(const struct db_rows *rows);
void db_rows_free(struct db_rows *rows);

static inline void db_rows_free_local(struct db_rows **rows)
{
    db_rows_free(*rows);
}
#define AUTO_DB_ROWS CLEANUP(db_rows_free_local) struct db_rows

#endif
