#ifndef RUNNEL_CORE_DOCUMENT_OFFICE_XML_TEXT_H
#define RUNNEL_CORE_DOCUMENT_OFFICE_XML_TEXT_H

#include <stddef.h>

#include "core/document/reading.h"
#include "core/document/text_writer.h"

/*
 * xml_text.h -- XML of any kind as text.
 *
 * Its tags say what the words mean, so they stay. It becomes UTF-8, an element within elements begins a line, and
 * comments, instructions and the document type are left out. References to entities are not followed. For compute
 * children.
 */

enum reading xml_text_write(struct text_writer *writer, const char *bytes, size_t length);

#endif
