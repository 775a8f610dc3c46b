#ifndef RUNNEL_CORE_DOCUMENT_PLAIN_TEXT_H
#define RUNNEL_CORE_DOCUMENT_PLAIN_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"

/*
 * plain_text.h -- bytes of some encoding as UTF-8 that a model and PostgreSQL can take. Pure.
 *
 * The encoding is found like this: a byte order mark of UTF-8 or UTF-16; else UTF-8, if all of it is
 * valid, or nearly all of a text that was damaged; else GB18030 or Shift-JIS, if most bytes above 127 stand side by
 * side and all of it decodes; else Windows-1252, in which every byte is a character.
 */

/* Adds the text. Line ends become "\n", and control characters other than tab and newline are left out. */
void plain_text_add(struct buf *text, const char *bytes, size_t length);

/* The same for text whose encoding was named by others, such as "gb2312". A byte order mark knows better; a name that
 * is unknown, and one that the bytes do not fit (plain_text_may_be()), count as none. `encoding` may be NULL. */
void plain_text_add_as(struct buf *text, const char *encoding, const char *bytes,
                       size_t length);

/* False: it is of another encoding. What its server says does not count: servers name
 * UTF-8 or Latin-1 for pages of all kinds. */
bool plain_text_may_be(const char *encoding, const char *bytes, size_t length);

/* The name behind "charset=" in a content type or in the head of a page; NULL without one. The caller frees. */
char *plain_text_charset(const char *text);

/* The same for text that should be UTF-8 already, from a child that may lie: what is invalid becomes U+FFFD.
 * Form feeds stay, they end pages. */
void plain_text_add_pages(struct buf *text, const char *bytes, size_t length);

#endif
