#ifndef RUNNEL_CORE_DOCUMENT_OFFICE_XML_H
#define RUNNEL_CORE_DOCUMENT_OFFICE_XML_H

#include <stdbool.h>
#include <stddef.h>

#include "core/document/reading.h"

/*
 * xml.h -- XML, element by element, without a tree.
 *
 * Nothing is fetched and no entity is expanded: a reference to one is the text "&name;". Elements may be 256 deep, and
 * a text may have 10 MB, which are limits of libxml2. Names are local names: a prefix is the choice of a program, and
 * the formats that are read here do not reuse a name with another meaning. For compute children.
 */

struct xml;

/* Fills `room`: the bytes that it has filled, 0 at the end, -1 after a problem. */
typedef long xml_source(void *arg, char *room, size_t size);

struct xml_handler {
    void (*begin)(void *arg, struct xml *xml, const char *name);
    void (*end)(void *arg, struct xml *xml, const char *name); /* also after an empty element */
    void (*text)(void *arg, const char *text, size_t length);  /* white space included */
};

/* Reads all of it. READING_DAMAGED: it is not well-formed, or the source had a problem. READING_NO_READER: libxml2 is
 * not installed. */
enum reading xml_read(xml_source *source, void *source_arg, const struct xml_handler *handler,
                      void *arg);

/* The same, of bytes in memory. */
enum reading xml_read_bytes(const char *bytes, size_t length, const struct xml_handler *handler,
                            void *arg);

/* ---- For handlers ---- */

/* An attribute of the element that begins, or NULL. Valid until the next call. */
const char *xml_attribute(struct xml *xml, const char *name);

/* The same, whose namespace ends with that word. */
const char *xml_attribute_in(struct xml *xml, const char *space, const char *name);

/* Calls back with each attribute of the element that begins; names have their prefix. */
void xml_each_attribute(struct xml *xml,
                        void (*attribute)(void *arg, const char *name, const char *value),
                        void *arg);

/* The element's name with its prefix. */
const char *xml_full_name(struct xml *xml);

/* Leaves out what is in the element that begins. Its end comes. */
void xml_skip(struct xml *xml);

/* Ends the reading after this call, as if the XML ended here. */
void xml_stop(struct xml *xml);

#endif
