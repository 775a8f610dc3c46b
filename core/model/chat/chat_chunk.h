#ifndef RUNNEL_CORE_MODEL_CHAT_CHAT_CHUNK_H
#define RUNNEL_CORE_MODEL_CHAT_CHAT_CHUNK_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"

/*
 * chat_chunk.h -- reads one streaming chunk on the token path.
 *
 * Nearly every chunk of a streamed answer has the same shape: one choice whose delta holds one
 * content string and nothing else of interest. This scanner reads exactly that shape without
 * building a tree, some twenty times faster than jansson. It refuses anything else, which jansson
 * then reads. A fuzz target compares the two: what the scanner accepts, jansson reads the same.
 */

/* True when `chunk` is a plain content delta; *text then points at its unescaped text, either
 * inside the chunk or inside `scratch` (reset first). False does not mean that the chunk is invalid. */
bool chat_chunk_scan(const char *chunk, size_t length, struct buf *scratch,
                     const char **ret_text, size_t *ret_length);

#endif
