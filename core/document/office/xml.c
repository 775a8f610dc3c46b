/*
 * xml.c -- libxml2's pull reader, turned into calls.
 *
 * The parser's own defence stays on: XML_PARSE_HUGE is not set, so that depth, length of texts and the growth of
 * attributes by entities have limits. XML_PARSE_NOENT is not set, so that references in text stay references.
 */

#include "core/document/office/xml.h"

#include <libxml/xmlreader.h>
#include <stdint.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/document/office/late_library.h"

/* clang-format off */
#define CALLS(X) \
    X(xmlReaderForIO) X(xmlFreeTextReader) X(xmlTextReaderRead) X(xmlTextReaderNext) X(xmlTextReaderNodeType) \
    X(xmlTextReaderConstLocalName) X(xmlTextReaderConstName) X(xmlTextReaderConstValue) \
    X(xmlTextReaderConstNamespaceUri) X(xmlTextReaderIsEmptyElement) X(xmlTextReaderMoveToFirstAttribute) \
    X(xmlTextReaderMoveToNextAttribute) X(xmlTextReaderMoveToElement) X(xmlTextReaderSetErrorHandler)
/* clang-format on */

static struct {
    CALLS(LATE_POINTER)
} lib;

static bool load_library(void)
{
    static const char *const names[] = {CALLS(LATE_NAME)};

    return lib.xmlReaderForIO ||
           late_library_load("libxml2.so.2", names, COUNT_OF(names), &lib);
}

struct xml {
    xmlTextReaderPtr reader;
    xml_source *source;
    void *source_arg;
    const struct xml_handler *handler;
    void *arg;
    bool skipping, stopped, broken;
};

/* ---- For the library ---- */

static int read_source(void *arg, char *room, int size)
{
    struct xml *xml = arg;
    long got = xml->source(xml->source_arg, room, (size_t)size);

    if (got < 0)
        xml->broken = true;
    return (int)got;
}

static int close_source(void *arg)
{
    (void)arg;
    return 0;
}

static void ignore_error(void *arg, const char *message, xmlParserSeverities severity,
                         xmlTextReaderLocatorPtr locator)
{
    (void)arg;
    (void)message;
    (void)severity;
    (void)locator;
}

/* ---- For handlers ---- */

static const char *text_of(const xmlChar *text)
{
    return (const char *)text;
}

static bool is_in(const struct xml *xml, const char *space)
{
    const char *uri = text_of(lib.xmlTextReaderConstNamespaceUri(xml->reader));
    size_t length = uri ? strlen(uri) : 0, size = strlen(space);

    return !size || (length >= size && strcmp(uri + length - size, space) == 0);
}

const char *xml_attribute_in(struct xml *xml, const char *space, const char *name)
{
    const char *value = NULL;

    for (int more = lib.xmlTextReaderMoveToFirstAttribute(xml->reader); more == 1 && !value;
         more = lib.xmlTextReaderMoveToNextAttribute(xml->reader)) {
        if (strcmp(text_of(lib.xmlTextReaderConstLocalName(xml->reader)), name) == 0 &&
            is_in(xml, space))
            value = text_of(lib.xmlTextReaderConstValue(xml->reader));
    }
    (void)lib.xmlTextReaderMoveToElement(xml->reader);
    return value;
}

const char *xml_attribute(struct xml *xml, const char *name)
{
    return xml_attribute_in(xml, "", name);
}

void xml_each_attribute(struct xml *xml,
                        void (*attribute)(void *arg, const char *name, const char *value),
                        void *arg)
{
    for (int more = lib.xmlTextReaderMoveToFirstAttribute(xml->reader); more == 1;
         more = lib.xmlTextReaderMoveToNextAttribute(xml->reader))
        attribute(arg, text_of(lib.xmlTextReaderConstName(xml->reader)),
                  text_of(lib.xmlTextReaderConstValue(xml->reader)));
    (void)lib.xmlTextReaderMoveToElement(xml->reader);
}

const char *xml_full_name(struct xml *xml)
{
    return text_of(lib.xmlTextReaderConstName(xml->reader));
}

void xml_skip(struct xml *xml)
{
    xml->skipping = true;
}

void xml_stop(struct xml *xml)
{
    xml->stopped = true;
}

/* ---- Reading ---- */

/* An element begins. Returns what xmlTextReaderRead() returned for the node after it. */
static int begin(struct xml *xml)
{
    const char *name = text_of(lib.xmlTextReaderConstLocalName(xml->reader));
    bool empty = lib.xmlTextReaderIsEmptyElement(xml->reader) == 1;

    xml->skipping = false;
    xml->handler->begin(xml->arg, xml, name);
    if (xml->stopped)
        return 0;
    if (!empty && !xml->skipping)
        return lib.xmlTextReaderRead(xml->reader);
    xml->handler->end(xml->arg, xml, name);
    return xml->skipping ? lib.xmlTextReaderNext(xml->reader)
                         : lib.xmlTextReaderRead(xml->reader);
}

static void text(struct xml *xml, const char *value)
{
    if (value)
        xml->handler->text(xml->arg, value, strlen(value));
}

static void reference(struct xml *xml)
{
    xml->handler->text(xml->arg, "&", 1);
    text(xml, xml_full_name(xml));
    xml->handler->text(xml->arg, ";", 1);
}

/* Returns what xmlTextReaderRead() returned for the node after this one. */
static int take_node(struct xml *xml)
{
    switch (lib.xmlTextReaderNodeType(xml->reader)) {
    case XML_READER_TYPE_ELEMENT: return begin(xml);
    case XML_READER_TYPE_END_ELEMENT:
        xml->handler->end(xml->arg, xml, text_of(lib.xmlTextReaderConstLocalName(xml->reader)));
        break;
    case XML_READER_TYPE_TEXT:
    case XML_READER_TYPE_CDATA:
    case XML_READER_TYPE_WHITESPACE:
    case XML_READER_TYPE_SIGNIFICANT_WHITESPACE:
        text(xml, text_of(lib.xmlTextReaderConstValue(xml->reader)));
        break;
    case XML_READER_TYPE_ENTITY_REFERENCE: reference(xml); break;
    default: break;
    }
    return xml->stopped ? 0 : lib.xmlTextReaderRead(xml->reader);
}

enum reading xml_read(xml_source *source, void *source_arg, const struct xml_handler *handler,
                      void *arg)
{
    struct xml xml = {
        .source = source, .source_arg = source_arg, .handler = handler, .arg = arg};
    int more;

    if (!load_library())
        return READING_NO_READER;
    xml.reader =
        lib.xmlReaderForIO(read_source, close_source, &xml, NULL, NULL, XML_PARSE_NONET);
    if (!xml.reader)
        return READING_DAMAGED;
    lib.xmlTextReaderSetErrorHandler(xml.reader, ignore_error, NULL);
    more = lib.xmlTextReaderRead(xml.reader);
    while (more == 1)
        more = take_node(&xml);
    lib.xmlFreeTextReader(xml.reader);
    return more == 0 && !xml.broken ? READING_DONE : READING_DAMAGED;
}

/* ---- Bytes ---- */

struct span {
    const char *bytes;
    size_t length;
};

static long read_span(void *arg, char *room, size_t size)
{
    struct span *span = arg;
    size_t taken = size < span->length ? size : span->length;

    memcpy(room, span->bytes, taken);
    span->bytes += taken;
    span->length -= taken;
    return (long)taken;
}

enum reading xml_read_bytes(const char *bytes, size_t length, const struct xml_handler *handler,
                            void *arg)
{
    struct span span = {bytes, length};

    return xml_read(read_span, &span, handler, arg);
}
