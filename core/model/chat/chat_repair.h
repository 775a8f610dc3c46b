#ifndef RUNNEL_CORE_MODEL_CHAT_CHAT_REPAIR_H
#define RUNNEL_CORE_MODEL_CHAT_CHAT_REPAIR_H

#include <stddef.h>

#include "core/model/chat/chat_split_char.h"

/*
 * chat_repair.h -- repairs text from an upstream, for JSON and for people.
 */

/* A copy of JSON text in which everything that JSON readers refuse in strings became U+FFFD: bytes that are
 * not UTF-8, NUL in either spelling, and escapes of half a surrogate pair. (A server that streams token
 * by token may cut an emoji in two.) Surrogates at the ends of strings are noted in `surrogates`, which
 * may be NULL. The caller frees. */
char *chat_repair_json(const char *text, size_t length, struct chat_surrogates *surrogates);

/* Fills `ret_line` with `text` as one line of valid UTF-8: control characters become blanks, and what
 * does not fit is cut off behind a whole character. `size` counts the NUL. */
void chat_repair_line(char *ret_line, size_t size, const char *text, size_t length);

#endif
