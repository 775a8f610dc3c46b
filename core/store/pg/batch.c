/*
 * Arrays in the binary form of PostgreSQL, grown value by value.
 *
 * `unnest($1::text[], $2::bigint[])` turns arrays into rows, so one statement with a fixed text
 * inserts any number of rows. A VALUES list would need another text, and another prepared
 * statement, for each number of rows; COPY cannot say ON CONFLICT, and libpq refuses it in a
 * pipeline.
 *
 * The binary form is that of array_recv() in PostgreSQL's arrayfuncs.c, all numbers in network
 * order:
 *
 *   int32 dimensions (1), int32 whether there are NULLs, int32 type of the elements,
 *   int32 length, int32 lower bound (1), then for each element int32 size (-1: NULL), bytes
 *
 * As text, values would have to be quoted and escaped here and parsed there, which for the
 * frames of thousands of streams is work on every byte. Every array claims to have NULLs: the
 * flag only allows them, and whether there are any is known at the end. The length is filled in
 * at the end too, by batch_finish().
 *
 * The first row fixes the columns and their types. Each later row is checked against them by
 * assertions, because a value in the wrong column would be stored without any error if the types
 * fit.
 */

#include "core/store/pg/batch.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

/* Types of elements, as PostgreSQL numbers them. */
enum {
    OID_BOOL = 16,
    OID_BYTEA = 17,
    OID_INT8 = 20,
    OID_TEXT = 25,
};

/* What stands before the elements of a one-dimensional array. */
struct array_head {
    uint32_t dimensions;
    uint32_t has_null;
    uint32_t element_type;
    uint32_t length;
    uint32_t lower_bound;
};

static void add_be32(struct buf *buf, uint32_t number)
{
    uint32_t bytes = htobe32(number);

    buf_add(buf, &bytes, sizeof(bytes));
}

void batch_begin(struct batch *batch)
{
    assert(batch->next == batch->columns);
    batch->rows++;
    batch->next = 0;
}

/* The column of the next value. The first row creates the columns. */
static struct buf *next_column(struct batch *batch, uint32_t element_type)
{
    struct array_head head = {htobe32(1), htobe32(1), htobe32(element_type), 0, htobe32(1)};
    struct buf *column = &batch->column[batch->next++];

    assert(batch->next <= DB_ARGS_LIMIT);
    if (batch->rows == 1) {
        buf_add(column, &head, sizeof(head));
        batch->columns = batch->next;
    }
    assert(batch->next <= batch->columns);
    assert(memcmp(column->data + offsetof(struct array_head, element_type), &head.element_type,
                  sizeof(head.element_type)) == 0);
    return column;
}

static void add_element(struct batch *batch, uint32_t element_type, const void *bytes,
                        size_t size)
{
    struct buf *column = next_column(batch, element_type);

    if (!bytes) {
        add_be32(column, UINT32_MAX);
        return;
    }
    add_be32(column, (uint32_t)size);
    buf_add(column, bytes, size);
}

void batch_text(struct batch *batch, const char *text)
{
    add_element(batch, OID_TEXT, text, text ? strlen(text) : 0);
}

void batch_tenant(struct batch *batch, const struct tenant *tenant)
{
    assert(*tenant->project);
    batch_text(batch, tenant->project);
}

void batch_id(struct batch *batch, const char *id)
{
    batch_text(batch, id[0] ? id : NULL);
}

void batch_int(struct batch *batch, int64_t number)
{
    uint64_t bytes = htobe64((uint64_t)number);

    add_element(batch, OID_INT8, &bytes, sizeof(bytes));
}

void batch_time(struct batch *batch, int64_t microseconds)
{
    if (microseconds)
        batch_int(batch, microseconds);
    else
        add_element(batch, OID_INT8, NULL, 0);
}

void batch_bool(struct batch *batch, bool value)
{
    char byte = value ? 1 : 0;

    add_element(batch, OID_BOOL, &byte, sizeof(byte));
}

void batch_bytes(struct batch *batch, const void *bytes, size_t size)
{
    add_element(batch, OID_BYTEA, size ? bytes : "", size);
}

void batch_finish(struct batch *batch, struct db_args *args)
{
    uint32_t length = htobe32((uint32_t)batch->rows);

    assert(batch->rows > 0 && batch->next == batch->columns);
    for (int i = 0; i < batch->columns; i++) {
        struct buf *column = &batch->column[i];
        size_t size = column->length;

        memcpy(column->data + offsetof(struct array_head, length), &length, sizeof(length));
        db_arg_bytes_owned(args, buf_take(column), size);
    }
    batch->rows = 0;
    batch->columns = 0;
    batch->next = 0;
}

void batch_clear(struct batch *batch)
{
    for (int i = 0; i < batch->columns; i++)
        buf_clear(&batch->column[i]);
    batch->rows = 0;
    batch->columns = 0;
    batch->next = 0;
}
