/* Programs that the spawner and the first process of a box are asked to start: what is read is in the message, and is
 * written again as the same bytes. */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/sandbox/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *bytes = mem_zeroed(size + 1, 1), *again = mem_zeroed(size + 1, 1);
    struct program program;

    memcpy(bytes, data, size);
    if (!program_read(bytes, size, &program))
        return 0;
    assert(program.folder >= bytes && program.folder < bytes + size);
    assert(program_write(&program, again, size) == size);
    assert(memcmp(again, data, size) == 0);
    return 0;
}
