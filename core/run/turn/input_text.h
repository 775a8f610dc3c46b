#ifndef RUNNEL_CORE_RUN_TURN_INPUT_TEXT_H
#define RUNNEL_CORE_RUN_TURN_INPUT_TEXT_H

#include <stddef.h>

#include "core/base/buf.h"

/*
 * input_text.h -- the input of a custom tool, read while the model still writes it.
 *
 * A model writes the input of a custom tool as arguments of a function: {"input": "..."}. The client is to
 * see the text inside, piece by piece. This reader takes the arguments as they come and gives the text.
 * It knows this shape only. Arguments of any other shape give no text from the place on where they
 * differ; the caller parses them when they are complete.
 *
 * A value that belongs to its caller. No allocation, no thread.
 */

enum input_stage {
    INPUT_OBJECT, /* before its brace */
    INPUT_KEY,
    INPUT_COLON,
    INPUT_QUOTE,
    INPUT_TEXT,
    INPUT_OVER, /* the text has ended, or the shape is another */
};

struct input_text { /* starts as zeros */
    enum input_stage stage;
    char pending[16];      /* of an escape that is not complete */
    size_t pending_length; /* of the escape, or of the key so far */
};

/* Appends to `out` the text in the next piece of the arguments. A piece is UTF-8 and may end anywhere,
 * also inside an escape. */
void input_text_feed(struct input_text *input, const char *piece, size_t length,
                     struct buf *out);

#endif
