#ifndef RUNNEL_CORE_DOCUMENT_OFFICE_ODF_H
#define RUNNEL_CORE_DOCUMENT_OFFICE_ODF_H

#include "core/document/office/package.h"
#include "core/document/text_writer.h"

/*
 * odf.h -- OpenDocument: text, spreadsheets and presentations are one format with one reader.
 */

enum odf_type { ODF_TEXT, ODF_SPREADSHEET, ODF_PRESENTATION };

enum reading odf_write(struct text_writer *writer, struct package *package, enum odf_type type);

#endif
