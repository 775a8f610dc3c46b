#ifndef RUNNEL_CORE_BASE_UTF8_H
#define RUNNEL_CORE_BASE_UTF8_H

#include <stddef.h>

/*
 * utf8.h -- a text that is cut stays a text.
 */

/* How long the beginning of `text` is that has at most `limit` bytes and no half letter at its end: a letter
 * that does not fit is left out. What lies behind those bytes is not looked at, and of bytes that are no
 * UTF-8 only what may have been the beginning of a letter is left out. Pure. */
size_t utf8_fit(const char *text, size_t limit);

#endif
