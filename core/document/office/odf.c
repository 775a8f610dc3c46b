/*
 * odf.c -- content.xml from beginning to end. Its order is the order of the document.
 *
 * Cells have the text that their program has shown, so formats are no concern here. Spreadsheets say "this cell, a
 * thousand times". Empty ones are counted and not written. Others are written as often as they are there, until the
 * text is full.
 */

#include "core/document/office/odf.h"

#include <stdlib.h>
#include <string.h>

#include "core/document/office/ooxml.h"

/* Columns that programs have; more is a cell that stands once. */
#define COLUMNS_MAX ((size_t)16384)

struct odf {
    struct text_writer *writer;
    enum odf_type type;
    unsigned depth;  /* of paragraphs and headings; text elsewhere is white space */
    unsigned notes;  /* depth of footnotes */
    bool item;       /* the paragraph begins an item of a list */
    bool title;      /* the next paragraph is a slide's title */
    bool chrome;     /* the frame has what all slides have */
    bool spoken;     /* the speaker's notes begin with the next letter */
    size_t columns;  /* how often the cell stands there */
    size_t rows;     /* how often the row does */
    struct buf cell; /* its text, in spreadsheets */
    bool in_cell;
};

static bool is(const char *name, const char *other)
{
    return strcmp(name, other) == 0;
}

static size_t number_in(struct xml *xml, const char *name, size_t otherwise)
{
    const char *value = xml_attribute(xml, name);

    return value ? strtoul(value, NULL, 10) : otherwise;
}

/* ---- Text ---- */

static void add(struct odf *odf, const char *text, size_t length)
{
    if (odf->in_cell) {
        buf_add(&odf->cell, text, length);
        return;
    }
    if (odf->spoken && strspn(text, " \t\r\n") < length) {
        text_writer_break(odf->writer, 2);
        text_writer_mark(odf->writer, "Notes: ");
        odf->spoken = false;
    }
    text_writer_add(odf->writer, text, length);
}

static void begin_paragraph(struct odf *odf, size_t heading)
{
    odf->depth++;
    if (odf->in_cell || odf->notes) {
        add(odf, " ", 1);
    } else if (heading) {
        text_writer_heading(odf->writer, heading > 6 ? 6 : (unsigned)heading);
    } else if (odf->item) {
        text_writer_item(odf->writer, odf->writer->lists);
        odf->item = false;
    }
}

static void end_paragraph(struct odf *odf)
{
    odf->depth--;
    if (!odf->in_cell && !odf->notes)
        text_writer_break(odf->writer, odf->writer->lists ? 1 : 2);
}

/* What stands in a paragraph. */
static bool begin_in_text(struct odf *odf, struct xml *xml, const char *name)
{
    if (is(name, "s") || is(name, "tab")) {
        add(odf, " ", 1);
    } else if (is(name, "line-break")) {
        if (odf->in_cell)
            add(odf, " ", 1);
        else
            text_writer_break(odf->writer, 1);
    } else if (is(name, "note")) {
        add(odf, " [", 2);
        odf->notes++;
    } else if (is(name, "note-citation") || is(name, "annotation") ||
               is(name, "tracked-changes")) {
        xml_skip(xml);
    } else {
        return false;
    }
    return true;
}

/* ---- Tables ---- */

static void begin_sheet(struct odf *odf, struct xml *xml)
{
    const char *title = xml_attribute(xml, "name");

    if (odf->type == ODF_SPREADSHEET && title && !odf->writer->tables) {
        text_writer_heading(odf->writer, 1);
        text_writer_add(odf->writer, title, strlen(title));
    }
    text_writer_table(odf->writer);
}

static void begin_cell(struct odf *odf, struct xml *xml)
{
    odf->columns = number_in(xml, "number-columns-repeated", 1);
    if (odf->columns > COLUMNS_MAX)
        odf->columns = 1;
    odf->in_cell = odf->type == ODF_SPREADSHEET;
    buf_reset(&odf->cell);
}

static void end_cell(struct odf *odf)
{
    if (!odf->in_cell)
        return;
    odf->in_cell = false;
    if (!odf->cell.length) {
        text_writer_cells(odf->writer, odf->columns);
        return;
    }
    for (size_t i = 0; i < odf->columns && !text_writer_is_full(odf->writer); i++) {
        text_writer_cells(odf->writer, 1);
        text_writer_add(odf->writer, odf->cell.data, odf->cell.length);
    }
}

static bool begin_in_table(struct odf *odf, struct xml *xml, const char *name)
{
    if (is(name, "table")) {
        begin_sheet(odf, xml);
    } else if (is(name, "table-row")) {
        odf->rows = number_in(xml, "number-rows-repeated", 1);
        text_writer_row(odf->writer);
    } else if (is(name, "table-cell") || is(name, "covered-table-cell")) {
        begin_cell(odf, xml);
        if (!odf->in_cell)
            text_writer_cells(odf->writer, 1);
    } else {
        return false;
    }
    return true;
}

/* ---- Slides ---- */

static void begin_frame(struct odf *odf, struct xml *xml)
{
    const char *class = xml_attribute_in(xml, "presentation:1.0", "class");

    odf->title = class && is(class, "title");
    odf->chrome = class && (is(class, "page-number") || is(class, "date-time") ||
                            is(class, "footer") || is(class, "header"));
}

/* ---- All of it ---- */

static void begin(void *arg, struct xml *xml, const char *name)
{
    struct odf *odf = arg;

    if (text_writer_is_full(odf->writer)) {
        xml_stop(xml);
    } else if (is(name, "h")) {
        begin_paragraph(odf, number_in(xml, "outline-level", 1));
    } else if (is(name, "p")) {
        begin_paragraph(odf, odf->title);
        odf->title = false;
    } else if (is(name, "list")) {
        odf->writer->lists++;
    } else if (is(name, "list-item")) {
        odf->item = true;
    } else if (is(name, "frame")) {
        begin_frame(odf, xml);
    } else if (is(name, "notes")) {
        odf->spoken = true;
    } else if (!begin_in_text(odf, xml, name)) {
        (void)begin_in_table(odf, xml, name);
    }
}

static void end(void *arg, struct xml *xml, const char *name)
{
    struct odf *odf = arg;

    (void)xml;
    if (is(name, "p") || is(name, "h")) {
        end_paragraph(odf);
    } else if (is(name, "list")) {
        odf->item = false;
        if (--odf->writer->lists == 0)
            text_writer_break(odf->writer, 2);
    } else if (is(name, "note")) {
        add(odf, "]", 1);
        odf->notes--;
    } else if (is(name, "frame")) {
        odf->title = odf->chrome = false;
        text_writer_break(odf->writer, 2);
    } else if (is(name, "table-cell") || is(name, "covered-table-cell")) {
        end_cell(odf);
    } else if (is(name, "table-row")) {
        text_writer_repeat_row(odf->writer, odf->rows);
    } else if (is(name, "table")) {
        text_writer_table_end(odf->writer);
    } else if (is(name, "page") && odf->type == ODF_PRESENTATION) {
        odf->spoken = false;
        text_writer_page_end(odf->writer);
    }
}

static void text(void *arg, const char *text, size_t length)
{
    struct odf *odf = arg;

    if (odf->depth && !odf->chrome)
        add(odf, text, length);
}

/* A manifest that describes encryption means a content that is encrypted. */
static void begin_in_manifest(void *arg, struct xml *xml, const char *name)
{
    bool *encrypted = arg;

    if (!is(name, "encryption-data"))
        return;
    *encrypted = true;
    xml_stop(xml);
}

enum reading odf_write(struct text_writer *writer, struct package *package, enum odf_type type)
{
    static const struct xml_handler manifest = {begin_in_manifest, xml_ignore_end,
                                                xml_ignore_text};
    static const struct xml_handler content = {begin, end, text};
    struct odf odf = {.writer = writer, .type = type};
    bool encrypted = false;
    enum reading problem = ooxml_read(package, "META-INF/manifest.xml", &manifest, &encrypted);

    if (encrypted)
        return READING_ENCRYPTED;
    if (!problem || problem == READING_INCOMPLETE)
        problem = ooxml_read(package, "content.xml", &content, &odf);
    buf_clear(&odf.cell);
    return problem;
}
