/*
 * docx.c -- paragraphs, with what their styles say: heading, item of a list, or neither.
 *
 * The numbers of lists are not in the text, they are counted by programs. So an item has a "-".
 */

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/mem.h"
#include "core/document/office/ooxml.h"

/* Styles are based on styles, and a damaged file may do that in a circle. */
#define BASED_ON_MAX 16

static unsigned number_of(const char *text)
{
    unsigned long number = text ? strtoul(text, NULL, 10) : 0;

    return number > 1000 ? 1000 : (unsigned)number;
}

static bool is(const char *name, const char *other)
{
    return strcmp(name, other) == 0;
}

/* ---- Styles ---- */

struct style {
    char *id;
    char *based_on;
    unsigned heading; /* 0: none */
    bool item;
};

struct styles {
    struct style *list;
    size_t count;
};

/* The level of a heading for an outline level, which counts from 0 and is 9 for plain text. */
static unsigned heading_of(const char *outline)
{
    unsigned level = number_of(outline);

    return outline && level < 9 ? level + 1 : 0;
}

static unsigned heading_named(const char *name)
{
    if (name && strcasecmp(name, "title") == 0)
        return 1;
    return name && strncasecmp(name, "heading ", 8) == 0 ? number_of(name + 8) : 0;
}

static void begin_in_styles(void *arg, struct xml *xml, const char *name)
{
    struct styles *styles = arg;
    struct style *style = styles->count ? &styles->list[styles->count - 1] : NULL;

    if (is(name, "style")) {
        const char *id = xml_attribute(xml, "styleId");

        styles->list = package_room(styles->list, styles->count, sizeof(*styles->list));
        styles->list[styles->count++] = (struct style){.id = mem_strdup(id ? id : "")};
    } else if (style && is(name, "name")) {
        style->heading = heading_named(xml_attribute(xml, "val"));
    } else if (style && is(name, "basedOn") && !style->based_on) {
        style->based_on = mem_strdup(xml_attribute(xml, "val"));
    } else if (style && is(name, "outlineLvl") && !style->heading) {
        style->heading = heading_of(xml_attribute(xml, "val"));
    } else if (style && is(name, "numPr")) {
        style->item = true;
    }
}

static int compare_styles(const void *left, const void *right)
{
    const struct style *a = left, *b = right;

    return strcmp(a->id, b->id);
}

static const struct style *style_named(const struct styles *styles, const char *id)
{
    struct style key = {.id = (char *)(uintptr_t)id};

    return id && styles->count
               ? bsearch(&key, styles->list, styles->count, sizeof(key), compare_styles)
               : NULL;
}

static void clear_styles(struct styles *styles)
{
    for (size_t i = 0; i < styles->count; i++) {
        free(styles->list[i].id);
        free(styles->list[i].based_on);
    }
    free(styles->list);
}

/* ---- The document ---- */

struct docx {
    struct text_writer *writer;
    struct styles styles;

    /* The paragraph, until its first letter. */
    bool begun;
    unsigned heading;
    bool item;
    unsigned level;

    bool noted;  /* a note's first paragraph stands behind its mark */
    bool text;   /* inside of a run's text */
    size_t span; /* columns of the cell */
};

static void take_style(struct docx *docx, const char *id)
{
    for (int step = 0; step < BASED_ON_MAX; step++) {
        const struct style *style = style_named(&docx->styles, id);

        if (!style)
            return;
        if (!docx->heading)
            docx->heading = style->heading;
        docx->item |= style->item;
        id = style->based_on;
    }
}

/* The first letter of a paragraph is near. */
static void begin_text(struct docx *docx)
{
    if (docx->begun)
        return;
    docx->begun = true;
    if (docx->heading)
        text_writer_heading(docx->writer, docx->heading);
    else if (docx->item)
        text_writer_item(docx->writer, docx->level + 1);
    else
        text_writer_break(docx->writer, 2);
}

static void begin_note(struct docx *docx, struct xml *xml)
{
    const char *id = xml_attribute(xml, "id");
    AUTO_FREE char *mark = mem_printf("[^%u]: ", number_of(id));

    /* A note with a type is the line above the notes. */
    if (xml_attribute(xml, "type")) {
        xml_skip(xml);
        return;
    }
    text_writer_break(docx->writer, 2);
    text_writer_mark(docx->writer, mark);
    docx->noted = true;
}

static void refer_to_note(struct docx *docx, struct xml *xml)
{
    AUTO_FREE char *mark = mem_printf("[^%u]", number_of(xml_attribute(xml, "id")));

    begin_text(docx);
    text_writer_add(docx->writer, mark, strlen(mark));
}

static void begin_in_table(struct docx *docx, struct xml *xml, const char *name)
{
    if (is(name, "tbl")) {
        text_writer_table(docx->writer);
    } else if (is(name, "tr")) {
        text_writer_row(docx->writer);
    } else if (is(name, "tc")) {
        text_writer_cells(docx->writer, 1);
        docx->span = 1;
    } else if (is(name, "gridSpan")) {
        docx->span = number_of(xml_attribute(xml, "val"));
    }
}

/* The same text again for older programs, text that has moved, and how a paragraph was before a change. */
static bool is_left_out(const char *name)
{
    return is(name, "Fallback") || is(name, "moveFrom") || is(name, "pPrChange");
}

static void begin(void *arg, struct xml *xml, const char *name)
{
    struct docx *docx = arg;

    if (text_writer_is_full(docx->writer)) {
        xml_stop(xml);
    } else if (is(name, "p")) {
        docx->begun = docx->noted;
        docx->noted = false;
        docx->heading = docx->level = 0;
        docx->item = false;
    } else if (is(name, "t")) {
        begin_text(docx);
        docx->text = true;
    } else if (is(name, "pStyle")) {
        take_style(docx, xml_attribute(xml, "val"));
    } else if (is(name, "outlineLvl")) {
        docx->heading = heading_of(xml_attribute(xml, "val"));
    } else if (is(name, "numPr")) {
        docx->item = true;
    } else if (is(name, "ilvl")) {
        docx->level = number_of(xml_attribute(xml, "val"));
    } else if (is(name, "tab")) {
        text_writer_add(docx->writer, "\t", 1);
    } else if (is(name, "br") || is(name, "cr")) {
        text_writer_break(docx->writer, 1);
    } else if (is(name, "noBreakHyphen")) {
        text_writer_add(docx->writer, "-", 1);
    } else if (is_left_out(name)) {
        xml_skip(xml);
    } else if (is(name, "footnote") || is(name, "endnote")) {
        begin_note(docx, xml);
    } else if (is(name, "footnoteReference") || is(name, "endnoteReference")) {
        refer_to_note(docx, xml);
    } else {
        begin_in_table(docx, xml, name);
    }
}

static void end(void *arg, struct xml *xml, const char *name)
{
    struct docx *docx = arg;

    (void)xml;
    if (is(name, "t")) {
        docx->text = false;
    } else if (is(name, "p")) {
        text_writer_break(docx->writer, docx->item && !docx->heading ? 1 : 2);
    } else if (is(name, "tc")) {
        if (docx->span > 1)
            text_writer_cells(docx->writer, docx->span - 1);
        docx->span = 1;
    } else if (is(name, "tbl")) {
        text_writer_table_end(docx->writer);
    }
}

static void text(void *arg, const char *text, size_t length)
{
    struct docx *docx = arg;

    if (docx->text)
        text_writer_add(docx->writer, text, length);
}

/* Notes stand behind the text; a document without them is as good. */
static enum reading write_notes(struct docx *docx, struct package *package,
                                const struct relations *relations, const char *type)
{
    static const struct xml_handler handler = {begin, end, text};
    const struct relation *notes = relations_by_type(relations, type);
    enum reading problem =
        notes ? ooxml_read(package, notes->part, &handler, docx) : READING_DONE;

    return problem == READING_INCOMPLETE ? READING_DONE : problem;
}

static enum reading read_styles(struct styles *styles, struct package *package,
                                const struct relations *relations)
{
    static const struct xml_handler handler = {begin_in_styles, xml_ignore_end,
                                               xml_ignore_text};
    const struct relation *part = relations_by_type(relations, "styles");
    enum reading problem =
        part ? ooxml_read(package, part->part, &handler, styles) : READING_DONE;

    if (styles->count)
        qsort(styles->list, styles->count, sizeof(*styles->list), compare_styles);
    return problem == READING_INCOMPLETE ? READING_DONE : problem;
}

enum reading docx_write(struct text_writer *writer, struct package *package, const char *main)
{
    static const struct xml_handler handler = {begin, end, text};
    struct docx docx = {.writer = writer};
    struct relations relations = {0};
    enum reading problem = relations_find(package, main, &relations);

    if (!problem)
        problem = read_styles(&docx.styles, package, &relations);
    if (!problem)
        problem = ooxml_read(package, main, &handler, &docx);
    if (!problem)
        problem = write_notes(&docx, package, &relations, "footnotes");
    if (!problem)
        problem = write_notes(&docx, package, &relations, "endnotes");
    clear_styles(&docx.styles);
    relations_clear(&relations);
    return problem;
}
