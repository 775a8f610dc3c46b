#ifndef RUNNEL_CORE_DOCUMENT_OFFICE_OOXML_H
#define RUNNEL_CORE_DOCUMENT_OFFICE_OOXML_H

#include <stddef.h>

#include "core/document/office/package.h"
#include "core/document/office/xml.h"
#include "core/document/text_writer.h"

/*
 * ooxml.h -- what DOCX, PPTX and XLSX have in common: parts that refer to parts.
 *
 * A part has relations: beside `word/document.xml` lies `word/_rels/document.xml.rels` with an id, a type and a
 * target for each. Where the parts lie is the business of the program that wrote them, so readers follow relations.
 */

struct relation {
    char *id;
    char *type; /* the last word of its URI: "styles", "slide" ... */
    char *part; /* the name of the target's entry */
};

struct relations {
    struct relation *list; /* by id */
    size_t count;
};

/* The name of the entry with a part's relations. The caller frees it. */
char *relations_name(const char *part);

/* Reads the relations of `part` from their entry. Those that lead out of the package are left out. */
enum reading relations_read(struct package_entry *entry, const char *part,
                            struct relations *ret_relations);

/* The same, of an entry that has to be found. A part without one has no relations. */
enum reading relations_find(struct package *package, const char *part,
                            struct relations *ret_relations);

const struct relation *relations_by_id(const struct relations *relations, const char *id);
const struct relation *relations_by_type(const struct relations *relations, const char *type);
void relations_clear(struct relations *relations);

/* Reads a part as XML. READING_INCOMPLETE: the package does not have it. */
enum reading ooxml_read(struct package *package, const char *part,
                        const struct xml_handler *handler, void *arg);

/* The same of an entry during its visit, whose problem counts before that of its XML. */
enum reading ooxml_read_entry(struct package *package, struct package_entry *entry,
                              const struct xml_handler *handler, void *arg);

/* The three types. `main` is the part where the document begins. */
enum reading docx_write(struct text_writer *writer, struct package *package, const char *main);
enum reading pptx_write(struct text_writer *writer, struct package *package, const char *main);
enum reading xlsx_write(struct text_writer *writer, struct package *package, const char *main);

/* A handler's function that does nothing. */
void xml_ignore_end(void *arg, struct xml *xml, const char *name);
void xml_ignore_text(void *arg, const char *text, size_t length);

#endif
