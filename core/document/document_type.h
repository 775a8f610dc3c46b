#ifndef RUNNEL_CORE_DOCUMENT_DOCUMENT_TYPE_H
#define RUNNEL_CORE_DOCUMENT_DOCUMENT_TYPE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * document_type.h -- what kind of document some bytes are. Pure.
 *
 * The bytes decide, because names and media types of uploads are often wrong. The name decides only
 * between kinds that look alike: HTML that begins without a tag of its own is read as HTML if it is called so, and
 * text between commas as a table.
 */

enum document_type {
    DOCUMENT_TEXT, /* also Markdown, code, JSON: text as it is */
    DOCUMENT_CSV,
    DOCUMENT_HTML,
    DOCUMENT_XML,
    DOCUMENT_PDF,
    DOCUMENT_RTF,
    DOCUMENT_OFFICE, /* a zip file; what is in it, only its reader knows */
    DOCUMENT_DOC,
    DOCUMENT_LOCKED,  /* an Office document with a password, of any type */
    DOCUMENT_UNKNOWN, /* a picture, an archive, an executable: nothing that is read as text */
    DOCUMENT_TYPES
};

/* The beginning of the bytes is enough: DOCUMENT_TYPE_BYTES, or all of them. `filename` may be NULL. */
#define DOCUMENT_TYPE_BYTES ((size_t)64 * 1024)

enum document_type document_type_of(const char *bytes, size_t length, const char *filename);

/* Its bytes are its text, markup included. */
bool document_type_is_plain(enum document_type type);

/* What bytes that no reader takes seem to be: "a PNG picture". */
const char *document_type_guess(const char *bytes, size_t length);

#endif
