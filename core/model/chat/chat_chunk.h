#ifndef RUNNEL_CORE_MODEL_CHAT_CHAT_CHUNK_H
#define RUNNEL_CORE_MODEL_CHAT_CHAT_CHUNK_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"

/*
 * chat_chunk.h -- the token path's reader of one streaming chunk.
 *
 * Nearly every chunk of a streamed answer is the same shape: one choice whose delta holds one
 * content string and nothing else of interest. This scanner reads exactly that shape without
 * building a tree, some twenty times faster than jansson, and says "not mine" to anything
 * else, which jansson then reads. The two are held against each other by a fuzz target: what
 * the scanner accepts, jansson reads the same.
 */

/* True when `chunk` is a plain content delta; *text then points at its unescaped text, either
 * inside the chunk or inside `scratch` (reset first). False says nothing about validity. */
bool chat_chunk_scan(const char *chunk, size_t length, struct buf *scratch,
                     const char **ret_text, size_t *ret_length);

#endif
