#include "core/store/tables/vector_stores/vector_bytes.h"

#include <endian.h>
#include <stdint.h>
#include <string.h>

#include "core/base/mem.h"

void vector_bytes_arg(struct db_args *args, const float *numbers, size_t count)
{
    char *bytes = mem_new_array(char, count * sizeof(float) + 1);

    for (size_t i = 0; i < count; i++) {
        uint32_t bits;

        memcpy(&bits, &numbers[i], sizeof(bits));
        bits = htole32(bits);
        memcpy(bytes + i * sizeof(bits), &bits, sizeof(bits));
    }
    db_arg_bytes_owned(args, bytes, count * sizeof(float));
}

bool vector_bytes_read(const struct db_rows *rows, size_t row, int column, float *ret_numbers,
                       size_t count)
{
    size_t size = 0;
    AUTO_FREE char *bytes = db_bytes(rows, row, column, &size);

    if (!bytes || size != count * sizeof(float))
        return false;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;

        memcpy(&bits, bytes + i * sizeof(bits), sizeof(bits));
        bits = le32toh(bits);
        memcpy(&ret_numbers[i], &bits, sizeof(bits));
    }
    return true;
}
