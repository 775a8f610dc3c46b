#include "tests/support/answer_pieces.h"

#include <string.h>

#include "core/base/mem.h"

enum err_code answer_feed_pieces(struct answer *answer, const char *bytes, size_t length,
                                 size_t first, size_t step, struct chat_failure *failure)
{
    enum err_code rc = ERR_OK;

    for (size_t at = 0, size = first; !rc && at < length; at += size, size = step) {
        AUTO_FREE char *piece = NULL;

        if (size > length - at)
            size = length - at;
        piece = mem_new_array(char, size);
        memcpy(piece, bytes + at, size);
        rc = answer_feed(answer, piece, size, failure);
    }
    return rc;
}
