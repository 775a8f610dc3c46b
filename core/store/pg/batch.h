#ifndef RUNNEL_CORE_STORE_PG_BATCH_H
#define RUNNEL_CORE_STORE_PG_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/store/pg/db.h"

/*
 * batch.h -- many rows as the parameters of one statement: an array per column, for unnest().
 *
 * Values are added row by row, column by column. The first row decides the types of the
 * columns. The arrays grow in PostgreSQL's binary form, in which nothing is escaped.
 */

struct batch {
    size_t rows;
    int columns;
    int next; /* column of the next value */
    struct buf column[DB_ARGS_LIMIT];
};

void batch_begin(struct batch *batch);                               /* the next row */
void batch_tenant(struct batch *batch, const struct tenant *tenant); /* its project */
void batch_text(struct batch *batch, const char *text);              /* NULL is SQL NULL */
void batch_id(struct batch *batch, const char *id);                  /* "" is SQL NULL */
void batch_int(struct batch *batch, int64_t number);
void batch_time(struct batch *batch, int64_t microseconds); /* 0 is SQL NULL */
void batch_bool(struct batch *batch, bool value);
void batch_bytes(struct batch *batch, const void *bytes, size_t size);

/* Adds the columns to `args`, which owns them from then on. Afterwards the batch is empty. */
void batch_finish(struct batch *batch, struct db_args *args);
void batch_clear(struct batch *batch);
#define AUTO_BATCH CLEANUP(batch_clear) struct batch

#endif
