#ifndef RUNNEL_CORE_BASE_BUF_H
#define RUNNEL_CORE_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/base/compiler.h"

/*
 * buf.h -- bytes that grow: text, frames and bodies while they are being made.
 *
 * A zeroed struct buf is an empty one. The bytes are always followed by a NUL
 * that does not count, so that buf->data is a C string once something was added.
 */

struct buf {
    char *data; /* NULL until the first byte */
    size_t length;
    size_t capacity;
};

void buf_clear(struct buf *buf); /* releases the bytes; the buf is empty again */
void buf_reset(struct buf *buf); /* empty, but keeps the memory for what comes next */

/* Room for `size` more bytes; returns where to write them. Follow with buf_added(). */
char *buf_reserve(struct buf *buf, size_t size);
void buf_added(struct buf *buf, size_t size);

void buf_add(struct buf *buf, const void *bytes, size_t size);
void buf_add_char(struct buf *buf, char byte);
void buf_add_int(struct buf *buf, int64_t number);
void buf_addf(struct buf *buf, const char *format, ...) PRINTF_LIKE(2, 3);

/* Adds UTF-8 text escaped for the inside of a JSON string, without the quotes.
 * Control characters, quotes and backslashes are escaped; all else goes as it is. */
void buf_add_json_escaped(struct buf *buf, const char *text, size_t length);

/* Drops the first `size` bytes. */
void buf_consume(struct buf *buf, size_t size);

/* Hands over the bytes, which the caller frees; the buf is empty again. Never NULL. */
char *buf_take(struct buf *buf);

/* Here, so that the length of a literal is known when this is compiled. */
static inline void buf_add_text(struct buf *buf, const char *text)
{
    buf_add(buf, text, strlen(text));
}

#define AUTO_BUF CLEANUP(buf_clear) struct buf

#endif
