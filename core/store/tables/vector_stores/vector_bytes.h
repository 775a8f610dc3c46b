#ifndef RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_VECTOR_BYTES_H
#define RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_VECTOR_BYTES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/store/pg/db.h"

/*
 * vector_bytes.h -- numbers of vectors in a column: float32, little-endian. For this room.
 */

void vector_bytes_arg(struct db_args *args, const float *numbers, size_t count);

/* False: the column does not have exactly so many. */
bool vector_bytes_read(const struct db_rows *rows, size_t row, int column, float *ret_numbers,
                       size_t count);

#endif
