#ifndef RUNNEL_CORE_RUN_TURN_INPUT_TEXT_H
#define RUNNEL_CORE_RUN_TURN_INPUT_TEXT_H

#include <stddef.h>

#include "core/base/buf.h"

/*
 * input_text.h -- what a custom tool is told, while the model is still writing it.
 *
 * The model writes a function's arguments, {"input": "..."}; the client is to see the text inside,
 * piece by piece. This reads exactly that shape. Whatever else the model writes says nothing here,
 * and is made sense of when all of it has come.
 */

enum input_stage {
    INPUT_OBJECT, /* its brace is awaited */
    INPUT_KEY,
    INPUT_COLON,
    INPUT_QUOTE,
    INPUT_TEXT,
    INPUT_OVER, /* the text has ended, or the shape is another */
};

struct input_text { /* zeroed: at the beginning */
    enum input_stage stage;
    char pending[16]; /* of a key or an escape that is not complete */
    size_t pending_length;
};

/* Adds to `out` what the next piece of the arguments says of the text. Pieces are UTF-8. */
void input_text_feed(struct input_text *input, const char *piece, size_t length,
                     struct buf *out);

#endif
