#ifndef RUNNEL_CORE_BASE_BASE64_H
#define RUNNEL_CORE_BASE_BASE64_H

#include <stddef.h>

#include "core/base/buf.h"

/*
 * base64.h -- bytes in base64, with or without padding at the end. Any thread.
 */

/* The decoded bytes, which the caller frees, and a NUL that does not count. NULL: the text is no base64. */
char *base64_decode(const char *text, size_t length, size_t *ret_length);

/* The bytes in base64, with padding, behind what is in the buffer. Pieces of a multiple of three bytes may follow each
 * other. */
void base64_add(struct buf *text, const void *bytes, size_t length);

#endif
