#ifndef RUNNEL_CORE_DOCUMENT_OFFICE_EPUB_H
#define RUNNEL_CORE_DOCUMENT_OFFICE_EPUB_H

#include "core/document/office/package.h"
#include "core/document/text_writer.h"

/*
 * epub.h -- a book: its chapters, which are HTML, in the order of its spine.
 */

enum reading epub_write(struct text_writer *writer, struct package *package);

#endif
