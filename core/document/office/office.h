#ifndef RUNNEL_CORE_DOCUMENT_OFFICE_OFFICE_H
#define RUNNEL_CORE_DOCUMENT_OFFICE_OFFICE_H

#include <stddef.h>

#include "core/document/reading.h"
#include "core/document/text_writer.h"

/*
 * office.h -- documents that are zip files: DOCX, PPTX, XLSX, ODT, ODP, ODS and EPUB.
 *
 * Slides are pages. Sheets are headings with tables. Which type it is, the package says, and not its name. For compute
 * children.
 */

/* Writes the text of a document. READING_NO_DOCUMENT: the zip file is something else. */
enum reading office_write(struct text_writer *writer, const char *bytes, size_t length);

#endif
