#include "core/document/office/xml_text.h"

#include <string.h>

#include "core/document/office/xml.h"

struct xml_text {
    struct text_writer *writer;
    bool open; /* a start tag without its ">" */
    bool text; /* text stands before what comes */
};

static void put(struct xml_text *xml_text, const char *text)
{
    text_writer_mark(xml_text->writer, text);
}

static void close_tag(struct xml_text *xml_text)
{
    if (xml_text->open)
        put(xml_text, ">");
    xml_text->open = false;
}

/* A tag beside another tag begins a line. */
static void begin_line(struct xml_text *xml_text)
{
    close_tag(xml_text);
    if (!xml_text->text)
        text_writer_break(xml_text->writer, 1);
    xml_text->text = false;
}

static void add_attribute(void *arg, const char *name, const char *value)
{
    struct xml_text *xml_text = arg;

    put(xml_text, " ");
    put(xml_text, name);
    put(xml_text, "=\"");
    put(xml_text, value);
    put(xml_text, "\"");
}

static void begin(void *arg, struct xml *xml, const char *name)
{
    struct xml_text *xml_text = arg;

    (void)name;
    if (text_writer_is_full(xml_text->writer)) {
        xml_stop(xml);
        return;
    }
    begin_line(xml_text);
    put(xml_text, "<");
    put(xml_text, xml_full_name(xml));
    xml_each_attribute(xml, add_attribute, xml_text);
    xml_text->open = true;
}

static void end(void *arg, struct xml *xml, const char *name)
{
    struct xml_text *xml_text = arg;

    (void)name;
    if (xml_text->open) {
        put(xml_text, "/>");
        xml_text->open = false;
        return;
    }
    begin_line(xml_text);
    put(xml_text, "</");
    put(xml_text, xml_full_name(xml));
    put(xml_text, ">");
}

static void text(void *arg, const char *text, size_t length)
{
    struct xml_text *xml_text = arg;

    if (strspn(text, " \t\r\n") >= length)
        return;
    close_tag(xml_text);
    text_writer_add(xml_text->writer, text, length);
    xml_text->text = true;
}

enum reading xml_text_write(struct text_writer *writer, const char *bytes, size_t length)
{
    static const struct xml_handler handler = {begin, end, text};
    struct xml_text xml_text = {.writer = writer};

    writer->exact++;
    return xml_read_bytes(bytes, length, &handler, &xml_text);
}
